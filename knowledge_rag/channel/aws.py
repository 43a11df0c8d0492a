"""Formats answers for AWS's own services: an SNS message, a Systems Manager OpsItem.

An SNS topic's subscribers get different texts of one message: e-mail the whole answer, an SMS its short form,
and HTTPS the schema of custom notifications, which Amazon Q Developer (Chatbot) shows in Slack and Teams. Chat
interprets markup, so the answer is in one code block there, with escaped characters: it can't contain a link or
a mention.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CHAT: Final = 2_500
"""Maximum characters of an answer in chat: a Slack section has 3,000, and escapes count."""
MAX_EMAIL: Final = 60_000
"""Maximum characters of an e-mail: an SNS message has 262,144 bytes for all its forms together."""
MAX_SUBJECT: Final = 100
MAX_DESCRIPTION: Final = 2_048
"""Maximum characters of an OpsItem's description."""
MAX_TITLE: Final = 1_024

FORM: Final = "application/x-www-form-urlencoded; charset=utf-8"
JSON: Final = "application/x-amz-json-1.1"
ALREADY: Final = "OpsItemAlreadyExistsException"
"""An OpsItem of the same key is open."""


def topic_message(title: str, text: str, chat: str, short: str, key: str) -> dict[str, Any]:
    """Return the message to publish to a topic.

    Args:
        title: one line.
        text: the answer as plain text, at most MAX_EMAIL characters.
        chat: the same as one code block, at most MAX_CHAT.
        short: the answer in one line.
        key: of the post.
    """
    ascii_title = title.encode("ascii", "replace").decode()[:MAX_SUBJECT].strip()
    starts = ascii_title[:1].isalnum()
    custom = {
        "version": "1.0",
        "source": "custom",
        "id": key,
        "content": {"textType": "client-markdown", "title": "Runbook", "description": chat},
    }
    forms = {
        "default": text.strip("\n"),
        "sms": short,
        "https": json.dumps(custom, ensure_ascii=False),
    }
    return {
        "Subject": ascii_title if starts else f"Alert {ascii_title}"[:MAX_SUBJECT],
        "Message": json.dumps(forms),
        "MessageStructure": "json",
    }


def ops_item(title: str, text: str, key: str) -> dict[str, Any]:
    """Return the request to Systems Manager; an OpsItem is created once per key.

    Args:
        title: one line.
        text: the answer, at most MAX_DESCRIPTION characters.
        key: of the post.
    """
    same = json.dumps({"dedupString": key})
    return {
        "Title": title[:MAX_TITLE],
        "Description": text.strip("\n"),
        "Source": "Knowledge RAG",
        "OperationalData": {"/aws/dedup": {"Value": same, "Type": "SearchableString"}},
    }


def published(topic: str, body: Mapping[str, Any]) -> bytes:
    """Return the body of an SNS Publish request."""
    return urlencode(
        {"Action": "Publish", "Version": "2010-03-31", "TopicArn": topic, **body}
    ).encode()
