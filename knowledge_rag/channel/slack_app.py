"""Answers questions in Slack: a mention, the command ``/runbook``, and follow-ups in the thread of an answer.

Slack's own library acknowledges each event before anything is looked up. An event that Slack sends again is known by
its id. The thread remembers what it is about, so that "how do I undo it?" is asked of the same procedure.
"""

from __future__ import annotations

import html
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from slack_bolt import App
from slack_sdk.errors import SlackApiError

from knowledge_rag.channel.slack import notice_blocks, to_slack
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS
from knowledge_rag.orchestrator.retrieval import log_defect

if TYPE_CHECKING:
    from collections.abc import Callable

    from slack_bolt import Ack, Respond
    from slack_sdk import WebClient

    from knowledge_rag.channel.message import Message

MAX_REMEMBERED: Final = 1000
"""Threads, and ids of events."""

USAGE: Final = "Ask a question or name an alert, such as: SQS queue is backing up"
NOT_HERE: Final = "Invite the app to this channel first."
FAILED: Final = "The look-up failed; the app's log says why. Nobody knows whether it is documented."

_MENTION: Final = re.compile(r"<@[A-Z0-9]+(?:\|[^>]*)?>")
_MARKED: Final = re.compile(r"<(?:[^|>]*\|)?([^>]*)>")
"""What Slack makes of an address or a channel: ``<URL|words>``."""


@dataclass(slots=True)
class Conversations:
    """Looks questions up, one at a time, and remembers what each thread is about.

    Args:
        ask: looks a question up, and returns the message with its receipt.
    """

    ask: Callable[[str], Message]
    _threads: OrderedDict[tuple[str, str], str] = field(default_factory=OrderedDict)
    _seen: OrderedDict[str, None] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def is_new(self, event_id: str) -> bool:
        """Whether an event comes for the first time."""
        with self._lock:
            return _remember(self._seen, event_id, None)

    def answer(self, question: str, channel: str, thread: str) -> list[dict[str, Any]]:
        """Return the messages that answer a question in a thread."""
        with self._lock:
            about = self._threads.get((channel, thread), "")
            # what the thread is about names the procedure, and the question says which part of it
            message = self.ask(f"{about}: {question}" if about else question)
            self.about(channel, thread, about or question)
        return to_slack(message)

    def about(self, channel: str, thread: str, what: str) -> None:
        """Remember what a thread is about."""
        _remember(self._threads, (channel, thread), what)


def create_app(client: WebClient, conversations: Conversations) -> App:
    """Create the app; the caller connects it.

    Args:
        client: of Slack's API, with the bot's token.
        conversations: looks questions up.
    """
    app = App(client=client, token_verification_enabled=False, request_verification_enabled=False)
    listeners = _Listeners(client, conversations)
    app.event("app_mention")(listeners.mentioned)
    app.event("message")(listeners.said)
    app.command("/runbook")(listeners.asked)
    return app


@dataclass(frozen=True, slots=True)
class _Listeners:
    client: WebClient
    conversations: Conversations

    def mentioned(self, event: dict[str, Any], body: dict[str, Any]) -> None:
        """Answer in the thread of the message that mentions the app, or begin one."""
        if not self.conversations.is_new(str(body.get("event_id", ""))):
            return
        channel, thread = event["channel"], event.get("thread_ts") or event["ts"]
        if question := question_in(event["text"]):
            self._answer(question, channel, thread)
        else:
            self._post(channel, thread, notice_blocks(USAGE))

    def said(self, event: dict[str, Any], body: dict[str, Any]) -> None:
        """Answer in a conversation with the app alone; elsewhere it has to be mentioned."""
        is_a_persons = not event.get("bot_id") and not event.get("subtype")
        if event.get("channel_type") == "im" and is_a_persons:
            self.mentioned(event, body)

    def asked(self, ack: Ack, respond: Respond, command: dict[str, Any]) -> None:
        """Answer the command in a thread that shows what was asked."""
        ack()
        question, channel = question_in(command.get("text") or ""), command["channel_id"]
        if not question:
            respond(USAGE)
            return
        shown = notice_blocks(f"/runbook {question}")
        try:
            head = self.client.chat_postMessage(channel=channel, **shown)
        except SlackApiError as error:
            if error.response.get("error") not in {"not_in_channel", "channel_not_found"}:
                raise
            respond(NOT_HERE)
            return
        self._answer(question, channel, str(head["ts"]))

    def _answer(self, question: str, channel: str, thread: str) -> None:
        try:
            posts = self.conversations.answer(question, channel, thread)
        except Exception as error:  # noqa: BLE001 - logged without its message; the asker is told
            log_defect(error, "a question in Slack could not be answered")
            posts = [notice_blocks(FAILED)]
        for post in posts:
            self._post(channel, thread, post)

    def _post(self, channel: str, thread: str, post: dict[str, Any]) -> None:
        self.client.chat_postMessage(channel=channel, thread_ts=thread, **post)


def question_in(text: str) -> str:
    """Return what was asked, without the mention and Slack's marks.

    >>> question_in("<@U012AB3CD> is <https://a.example|a.example> &lt;down&gt;?")
    'is a.example <down>?'
    """
    words = _MARKED.sub(r"\1", _MENTION.sub(" ", text))
    return " ".join(html.unescape(words).split())[:MAX_QUERY_CHARACTERS]


def _remember(kept: OrderedDict[Any, Any], key: object, value: object) -> bool:
    """Keep a value, the oldest ones go; return whether its key is new."""
    is_new = key not in kept
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > MAX_REMEMBERED:
        kept.popitem(last=False)
    return is_new
