"""The requests for each destination, and the meaning of its responses.

Requests to send and readings of responses are values; only :func:`sender` does I/O.

"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

import botocore.session
import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from knowledge_rag.channel.buttons import Buttons
from knowledge_rag.channel.markdown import to_note
from knowledge_rag.channel.markdown import words as in_markdown
from knowledge_rag.channel.message import shortened, words_within
from knowledge_rag.channel.queue import Post
from knowledge_rag.channel.settings import Kind
from knowledge_rag.channel.slack import TEXT_ERRORS, notice_blocks, to_slack
from knowledge_rag.channel.text import MAX_SHORT, calmed, chat_block, in_block, to_short, to_text
from knowledge_rag.core.version import VERSION
from knowledge_rag.orchestrator.pager_formats import at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from botocore.credentials import Credentials as BotocoreCredentials
    from botocore.credentials import ReadOnlyCredentials

    from knowledge_rag.channel.message import Message
    from knowledge_rag.channel.settings import Destination

MAX_NOTE: Final = {
    Kind.PAGERDUTY: 25_000,
    Kind.OPSGENIE: 25_000,
    Kind.INCIDENT_IO: 25_000,
    Kind.GITHUB: 65_536,
}
"""Maximum characters of a note. Opsgenie and GitHub document theirs; the others should allow at least Opsgenie's."""

MAX_CHAT: Final = 2_500
"""Maximum characters of an answer in chat: a Slack section has 3,000, and escapes count."""
MAX_EMAIL: Final = 60_000
"""Maximum characters of an e-mail: an SNS message has 262,144 bytes for all its forms together."""
MAX_SUBJECT: Final = 100
MAX_DESCRIPTION: Final = 2_048
"""Maximum characters of an OpsItem's description."""
MAX_TITLE: Final = 1_024

METADATA: Final = "knowledge_rag_answer"
"""Type of the metadata that identifies a message in Slack."""

PLAIN: Final = (Kind.PAGERDUTY, Kind.OPSGENIE)
"""Kinds that show a note as written; the others render Markdown."""

MAX_PAGES: Final = 10
"""Maximum pages of a list to search for a post."""

TIMEOUT: Final = httpx.Timeout(10.0, connect=5.0)
MAX_RESPONSE: Final = 4_000_000
_OF_TRANSFER: Final = ("content-encoding", "content-length", "transfer-encoding")

_PAGE: Final = 100
_AROUND: Final = 600
"""Seconds before and after a post in which to look for it: clocks differ."""
_NO_JSON: Final = "no JSON"


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request.

    Args:
        keys: headers with a secret; never shown.
        aws: the service and region to sign for.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    keys: Mapping[str, str] = field(repr=False)
    body: bytes = b""
    aws: tuple[str, str] | None = None


Send = Callable[[Call], httpx.Response]
"""Sends a request; raises the same as httpx."""

Credentials = Callable[[], "ReadOnlyCredentials"]


def sender(client: httpx.Client, credentials: Credentials | None = None) -> Send:
    """Return a function that sends requests, those to AWS signed with ``credentials``, by default this machine's.

    Redirects aren't followed, since a key would go with them.
    """
    signing = credentials or (lambda: _session_credentials().get_frozen_credentials())

    def send(call: Call) -> httpx.Response:
        headers = {**call.headers, **call.keys}
        if call.aws is not None:
            request = AWSRequest(call.method, call.url, headers, call.body)
            SigV4Auth(signing(), *call.aws).add_auth(request)
            headers = dict(request.headers.items())
        with client.stream(
            call.method,
            call.url,
            headers=headers,
            content=call.body or None,
            follow_redirects=False,
        ) as response:
            body = bytearray()
            for part in response.iter_bytes():
                body += part
                if len(body) > MAX_RESPONSE:
                    break
            headers = {
                name: it for name, it in response.headers.items() if name not in _OF_TRANSFER
            }
            return httpx.Response(response.status_code, headers=headers, content=bytes(body))

    return send


@lru_cache(maxsize=1)
def _session_credentials() -> BotocoreCredentials:
    if found := botocore.session.get_session().get_credentials():
        return found
    raise httpx.ConnectError("no AWS credentials")  # they may come: the post waits


class Ended(StrEnum):
    """How a call ended."""

    DONE = "done"
    LATER = "later"
    """It was not accepted: send it again, after the time that the destination names."""
    KEY = "key refused"
    """A person has to fix the key; it waits for that."""
    UNSURE = "unsure"
    """It is unknown whether it was accepted: check before sending it again."""
    NO_THREAD = "thread gone"
    """The message that heads its thread was deleted."""
    TEXT = "text refused"
    """Posts are accepted, but not this one's text."""
    NEVER = "refused"


@dataclass(frozen=True, slots=True)
class Reply:
    """The meaning of a response.

    Args:
        reference: Slack's ``ts`` of the posted message.
        after: seconds to wait, as the destination asks.
        reason: a word for the log.
    """

    ended: Ended
    reason: str = ""
    reference: str = ""
    after: float = 0.0


def posts_of(destination: Destination, message: Message, subject: str = "") -> list[Post]:
    """Return the posts for a message, in order."""
    kind, key = destination.kind, message.receipt
    if kind is Kind.SLACK:
        signed = Buttons(destination.secret, destination.channel) if destination.buttons else None
        pages = to_slack(message, signed)
        return [
            Post({**page, "channel": destination.channel}, f"{key}-{number}")
            for number, page in enumerate(pages, start=1)
        ]
    if kind is Kind.WEBHOOK:
        body = {
            "id": key,
            "title": message.title,
            "status": message.status.value,
            "text": to_text(message, for_chat=True),
            "markdown": to_note(message),
            "sources": [
                {"number": number, "source_file": it[0], "start_line": it[1], "end_line": it[2], "url": message.url(it)}
                for number, it in enumerate(message.places, start=1)
            ],
        }  # fmt: skip
        return [Post(body, key)]
    if kind is Kind.SNS:
        text = shortened(message, to_text, MAX_EMAIL)
        chat = shortened(message, chat_block, MAX_CHAT)
        return [Post(topic_message(message.title, text, chat, to_short(message), key), key)]
    if kind is Kind.OPS_ITEM:
        text = shortened(message, to_text, MAX_DESCRIPTION)
        return [Post(_ops_item(message.title, text, key), key)]
    writer = to_text if kind in PLAIN else to_note
    return [note_of(destination, shortened(message, writer, MAX_NOTE[kind]), key, subject)]


def topic_message(title: str, text: str, chat: str, short: str, key: str) -> dict[str, Any]:
    """Return the message for an SNS topic, whose subscribers get different texts.

    E-mail gets the whole ``text``, an SMS the ``short`` line, and HTTPS the schema of custom notifications, which
    Amazon Q Developer (Chatbot) shows in Slack and Teams. Chat interprets markup, so ``chat`` is one code block.
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


def _ops_item(title: str, text: str, key: str) -> dict[str, Any]:
    """Return the request to Systems Manager; an OpsItem is created once per key."""
    same = json.dumps({"dedupString": key})
    return {
        "Title": title[:MAX_TITLE],
        "Description": text.strip("\n"),
        "Source": "Knowledge RAG",
        "OperationalData": {"/aws/dedup": {"Value": same, "Type": "SearchableString"}},
    }


def notice_of(destination: Destination, words: str, key: str) -> Post:
    """Return a post of one line that isn't an answer."""
    if destination.kind is Kind.SLACK:
        return Post(notice_blocks(words) | {"channel": destination.channel}, key)
    if destination.kind is Kind.WEBHOOK:
        return Post({"id": key, "title": words, "status": "summary", "text": calmed(words)}, key)
    if destination.kind is Kind.SNS:
        short = words_within(words, MAX_SHORT)
        chat = words_within(f"{words} Receipt {key}", MAX_CHAT, in_block)
        return Post(topic_message(words, f"{words}\n\nReceipt {key}", chat, short, key), key)
    if destination.kind is Kind.OPS_ITEM:
        return Post(_ops_item(words, f"{words}\n\nReceipt {key}", key), key)
    said = words if destination.kind in PLAIN else in_markdown(words)
    return note_of(destination, f"{said}\n\nReceipt {key}\n", key)


def note_of(destination: Destination, text: str, key: str, subject: str = "") -> Post:
    """Return a note to add to an incident, an alert or an issue."""
    kind = destination.kind
    if kind is Kind.PAGERDUTY:
        return Post({"note": {"content": text}}, key, subject)
    if kind is Kind.OPSGENIE:
        return Post({"note": text, "source": "Knowledge RAG"}, key, subject)
    if kind is Kind.INCIDENT_IO:
        body = {"incident_id": subject, "message": text, "idempotency_key": key}
        return Post(body, key, subject)
    return Post({"body": text}, key)


def call_for(destination: Destination, post: Post, now: float) -> Call:
    """Return the request that sends a post."""
    kind = destination.kind
    body = dict(post.body)
    if kind is Kind.SLACK:
        payload = {"event_type": METADATA, "event_payload": {"id": post.key}}
        body |= {"metadata": payload} | ({"thread_ts": post.thread} if post.thread else {})
    data = json.dumps(body, ensure_ascii=True).encode()
    if kind is Kind.SNS:
        data = urlencode(
            {"Action": "Publish", "Version": "2010-03-31", "TopicArn": destination.topic, **body}
        ).encode()
    headers = _headers(destination) | {"Idempotency-Key": post.key}
    keys = _keys(destination)
    if kind is Kind.WEBHOOK:
        signed = b"%d.%s" % (now, data)
        digest = hmac.digest(destination.secret.encode(), signed, hashlib.sha256).hex()
        keys = {"X-Knowledge-RAG-Signature": f"t={int(now)},v1={digest}"}
    return Call("POST", _url(destination, post), headers, keys, data, destination.aws)


def _url(destination: Destination, post: Post) -> str:
    """Return the address for a post; for a pager and GitHub it also lists posts."""
    base, subject = destination.url, quote(post.subject, safe="")
    return {
        Kind.SLACK: f"{base}/chat.postMessage",
        Kind.PAGERDUTY: f"{base}/incidents/{subject}/notes",
        Kind.OPSGENIE: f"{base}/v2/alerts/{subject}/notes?identifierType=id",
        Kind.INCIDENT_IO: f"{base}/v2/incident_updates",
        Kind.GITHUB: f"{base}/repos/{destination.repository}/issues/{destination.issue}/comments",
        Kind.WEBHOOK: base,
        Kind.SNS: f"{base}/",
        Kind.OPS_ITEM: f"{base}/",
    }[destination.kind]


def look_up(destination: Destination, post: Post, sent: float, page: str = "") -> Call | None:
    """Return the request for a list of the posts around the time when a post was last sent.

    ``None`` if repeating is safe, since the receiver recognises a post's key: incident.io and OpsItems do, and a webhook's
    receiver should. A topic can't be asked.

    Args:
        destination: to ask.
        post: to find.
        sent: when it was last sent.
        page: from :func:`page_after`; ``""`` for the first one.
    """
    kind, url = destination.kind, _url(destination, post)
    oldest = max(0, int(sent) - _AROUND)
    if kind is Kind.SLACK:
        asked = {"channel": destination.channel, "limit": _PAGE, "include_all_metadata": "true"}
        asked |= {"oldest": oldest, "latest": int(sent) + _AROUND}
        method = "conversations.replies" if post.thread else "conversations.history"
        asked |= {"ts": post.thread} if post.thread else {}
        asked |= {"cursor": page} if page else {}
        url = f"{destination.url}/{method}?{urlencode(asked)}"
    elif kind is Kind.OPSGENIE:
        url += f"&order=desc&limit={_PAGE}"
    elif kind is Kind.GITHUB:
        since = datetime.fromtimestamp(oldest, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        url += f"?per_page={_PAGE}&since={since}&page={page or 1}"
    elif kind is not Kind.PAGERDUTY:
        return None
    return Call("GET", url, _headers(destination), _keys(destination))


def page_after(destination: Destination, page: str, body: bytes) -> str:
    """Return the id of the page after one of a list, ``""`` for the first or if that was the last one."""
    wire = _json(body)
    if destination.kind is Kind.SLACK:
        return str(at(wire, "response_metadata.next_cursor") or "")
    if destination.kind is Kind.GITHUB and len(_listed(wire.get(""))) >= _PAGE:
        return str(int(page or 1) + 1)
    return ""


def found_in(destination: Destination, post: Post, body: bytes) -> str | None:
    """Return the reference of a post in a list; ``None`` if it isn't there."""
    wire = _json(body)
    if destination.kind is Kind.SLACK:
        for one in _listed(wire.get("messages")):
            if at(one, "metadata.event_payload.id") == post.key:
                return str(one.get("ts", ""))
        return None
    notes = wire.get("notes") or wire.get("data") or wire.get("")
    texts = [str(it.get("content") or it.get("note") or it.get("body")) for it in _listed(notes)]
    return "" if any(f"Receipt {post.key}" in it for it in texts) else None


def _listed(value: object) -> list[Mapping[str, Any]]:
    """Return the objects in a list; none for anything else."""
    return [it for it in value if isinstance(it, dict)] if isinstance(value, list) else []


def reply_of(
    destination: Destination, status: int, headers: Mapping[str, str], body: bytes
) -> Reply:
    """Return the meaning of a response."""
    after = _seconds(headers)
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.TOO_EARLY):
        return Reply(Ended.LATER, str(status), after=after or 1.0)
    if destination.aws is not None:
        return _aws(status, body, after)
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        limited = destination.kind is Kind.GITHUB and (
            after or headers.get("x-ratelimit-remaining") == "0"
        )
        return Reply(Ended.LATER if limited else Ended.KEY, str(status), after=after)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
        refused = status == HTTPStatus.SERVICE_UNAVAILABLE and after
        return Reply(Ended.LATER if refused else Ended.UNSURE, str(status), after=after)
    if status >= HTTPStatus.MULTIPLE_CHOICES:
        return Reply(Ended.NEVER, str(status))
    return _slack(_json(body), after) if destination.kind is Kind.SLACK else Reply(Ended.DONE)


_SLACK_ERRORS: Final = {
    Ended.KEY: (
        "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope",
        "no_permission", "not_in_channel", "ekm_access_denied", "org_login_required", "team_access_not_granted",
    ),
    Ended.LATER: (
        "ratelimited", "rate_limited", "message_limit_exceeded", "service_unavailable", "team_added_to_org",
    ),
    Ended.UNSURE: ("fatal_error", "internal_error", "request_timeout", _NO_JSON),
    Ended.TEXT: TEXT_ERRORS,
    Ended.NO_THREAD: ("thread_not_found", "message_not_found", "cannot_reply_to_message"),
}  # fmt: skip
"""Meanings of Slack's error codes; any other one is a refusal."""


def _slack(wire: Mapping[str, Any], after: float) -> Reply:
    """Return the meaning of Slack's response, which always has status 200."""
    if wire.get("ok") is True:
        return Reply(Ended.DONE, reference=str(wire.get("ts", "")))
    error = str(wire.get("error", _NO_JSON))[:80]
    meant = (ended for ended, codes in _SLACK_ERRORS.items() if error in codes)
    ended = next(meant, Ended.NEVER)
    return Reply(ended, error, after=after)


_AWS_ERRORS: Final = (
    (Ended.DONE, re.compile("OpsItemAlreadyExistsException")),
    (Ended.LATER, re.compile("Throttl|LimitExceeded|RequestExpired")),
    (Ended.KEY, re.compile("AccessDenied|Authorization|ExpiredToken|InvalidClientToken|Signature")),
)
"""Meanings of AWS's error codes; they are in the body, and most have status 400."""


def _aws(status: int, body: bytes, after: float) -> Reply:
    """Return the meaning of a response from AWS."""
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return Reply(Ended.DONE)
    text = body[:2_000].decode("utf-8", "replace")
    for ended, codes in _AWS_ERRORS:
        if code := codes.search(text):
            return Reply(ended, code[0], after=after)
    unsure = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return Reply(Ended.UNSURE if unsure else Ended.NEVER, str(status), after=after)


def _headers(destination: Destination) -> dict[str, str]:
    own = {
        Kind.PAGERDUTY: {"Accept": "application/json", "From": destination.sender},
        Kind.GITHUB: {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"},
        Kind.SNS: {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"},
        Kind.OPS_ITEM: {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "AmazonSSM.CreateOpsItem"},
    }  # fmt: skip
    usual = {"Content-Type": "application/json; charset=utf-8"} | own.get(destination.kind, {})
    return {"User-Agent": f"knowledge-rag/{VERSION}", **usual}


def _keys(destination: Destination) -> dict[str, str]:
    schemes = {Kind.PAGERDUTY: "Token token=", Kind.OPSGENIE: "GenieKey "}
    if destination.kind is Kind.WEBHOOK or destination.aws:
        return {}
    return {"Authorization": schemes.get(destination.kind, "Bearer ") + destination.secret}


def _seconds(headers: Mapping[str, str]) -> float:
    """Return the seconds to wait: ``Retry-After``, or PagerDuty's and Opsgenie's own headers."""
    for name in ("retry-after", "ratelimit-reset", "x-ratelimit-period-in-sec"):
        value = headers.get(name, "")
        if value.isdecimal() and len(value) <= 6:
            return float(value)
    return 0.0


def _json(body: bytes) -> dict[str, Any]:
    try:
        wire = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return wire if isinstance(wire, dict) else {"": wire} if isinstance(wire, list) else {}
