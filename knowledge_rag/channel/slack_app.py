"""Answers questions in Slack: mentions, the command ``/runbook``, follow-ups in the thread of an answer, and buttons.

Slack's own library acknowledges each event before anything is looked up. An event that Slack sends again is
recognised by its id. Each thread has a subject, so that "how do I undo it?" refers to the same procedure.

Only the signed value of a pressed button is trusted, and only if its message has that button: the offer is looked up
in the receipt of the answer.
"""

from __future__ import annotations

import html
import logging
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from slack_bolt import App
from slack_sdk.errors import SlackApiError

from knowledge_rag.channel.buttons import NOT_OURS, Act, Buttons
from knowledge_rag.channel.message import place, where
from knowledge_rag.channel.receipts import citation_in, offer_in
from knowledge_rag.channel.slack import (
    ACTION,
    MAX_MESSAGES,
    MAX_WHOLE,
    TEXT_ERRORS,
    citations_blocks,
    commands_blocks,
    commands_in,
    notice_blocks,
    refused_part,
    to_slack,
)
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS
from knowledge_rag.orchestrator.retrieval import log_defect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor

    from slack_bolt import Ack, Respond
    from slack_sdk import WebClient

    from knowledge_rag.channel.buttons import Pressed
    from knowledge_rag.channel.message import Message
    from knowledge_rag.channel.receipts import Offered, Receipts
    from knowledge_rag.core.citations import Citation

MAX_STORED: Final = 1000
"""Maximum stored threads, and ids of events."""

USAGE: Final = "Ask a question or name an alert, such as: SQS queue is backing up"
NOT_HERE: Final = "Invite the app to this channel first."
FAILED: Final = "The look-up failed; the app's log says why. Nobody knows whether it is documented."
ALREADY: Final = "It is in this thread already, or will be in a moment."
NO_RECEIPT: Final = (
    "The app has no receipt of this answer, so it can't check the button. Ask again."
)
CHANGED_RECEIPT: Final = (
    "The receipt of this answer was changed, so the button can't be checked. Ask again."
)

_logger: Final = logging.getLogger(__name__)
_MENTION: Final = re.compile(r"<@[A-Z0-9]+(?:\|[^>]*)?>")
_MARKED: Final = re.compile(r"<(?:[^|>]*\|)?([^>]*)>")
"""Slack's form of an address or a channel: ``<URL|words>``."""


@dataclass(slots=True)
class Conversations:
    """Looks questions up, one at a time, and stores each thread's subject.

    Args:
        ask: looks a question up, and returns the message with its receipt; for an offer of a posted answer, the
            offered procedure.
        receipts: of posted answers.
        key: the bot's token, which signs buttons.
        clock: returns the seconds since 1970.
    """

    ask: Callable[[str, Offered | None], Message]
    receipts: Receipts
    key: str = field(repr=False)
    clock: Callable[[], float]
    _threads: OrderedDict[tuple[str, str], str] = field(default_factory=OrderedDict)
    _seen: OrderedDict[str, None] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def is_new(self, event_id: str) -> bool:
        """Whether an event is new."""
        with self._lock:
            return _store(self._seen, event_id, None)

    def forget(self, event_id: str) -> None:
        """Let an event count as new again."""
        with self._lock:
            self._seen.pop(event_id, None)

    def answer(self, question: str, channel: str, thread: str) -> list[dict[str, Any]]:
        """Return the messages that answer a question in a thread."""
        with self._lock:
            about = self._threads.get((channel, thread), "")
            # the thread's subject names the procedure, and the question asks for a part of it
            message = self.ask(f"{about}: {question}" if about else question, None)
            _store(self._threads, (channel, thread), about or question)
        return to_slack(message, self.buttons(channel))

    def given(self, act: Act, value: object, channel: str, thread: str) -> list[dict[str, Any]]:
        """Return the messages for a procedure that an answer in a thread offered.

        Raises:
            InvalidRequest: it wasn't offered there, or its document has changed.
        """
        pressed = self.buttons(channel).read(act, value)
        offered = offer_in(self._says(pressed.receipt), pressed.number)
        with self._lock:
            message = self.ask(offered.question, offered)
            about = self._threads.get((channel, thread), offered.question)
            _store(self._threads, (channel, thread), about)
        if act is Act.ALL:
            return to_slack(replace(message, offers=()), self.buttons(channel), MAX_WHOLE)
        return to_slack(message, self.buttons(channel), MAX_MESSAGES)

    def cited(self, act: Act, value: object, channel: str) -> tuple[Pressed, list[Citation]]:
        """Return a button's target, and the citations of its answer.

        Raises:
            InvalidRequest: it doesn't belong there.
        """
        pressed = self.buttons(channel).read(act, value)
        return pressed, list(map(citation_in, self._says(pressed.receipt)["evidence"]))

    def report(self, receipt: str, citation: Citation, channel: str, user: str) -> str:
        """Record that a person reports a citation of a receipt as wrong, and return the confirmation."""
        now = datetime.fromtimestamp(self.clock(), UTC).isoformat(timespec="seconds")
        self.receipts.report(receipt, citation, self.buttons(channel).person(user), now)
        return f"Recorded as wrong, with receipt {receipt}: {where(place(citation))}"

    def buttons(self, channel: str) -> Buttons:
        """Return the signer of a channel's buttons."""
        return Buttons(self.key, channel)

    def _says(self, receipt: str) -> Mapping[str, Any]:
        try:
            found = self.receipts.find(receipt)
        except InvalidRequest as error:  # its message names a folder of this machine
            raise InvalidRequest(NO_RECEIPT) from error
        if found.problems:
            raise InvalidRequest(CHANGED_RECEIPT)
        return found.says


def create_app(client: WebClient, conversations: Conversations, workers: Executor) -> App:
    """Create the app; the caller connects it. The ``workers`` keep Slack's own few threads free to acknowledge events."""
    app = App(client=client, token_verification_enabled=False, request_verification_enabled=False)
    listeners = _Listeners(client, conversations, workers)
    app.event("app_mention")(listeners.mentioned)
    app.event("message")(listeners.said)
    app.command("/runbook")(listeners.asked)
    app.action(re.compile(f"{ACTION}.+"))(listeners.pressed)
    return app


@dataclass(frozen=True, slots=True)
class _Listeners:
    client: WebClient
    conversations: Conversations
    workers: Executor

    def _later(self, work: Callable[..., None], *args: object) -> None:
        """Run something when a worker is free; a failure is logged without its message."""

        def do() -> None:
            try:
                work(*args)
            except Exception as error:  # noqa: BLE001 - nobody waits for it
                log_defect(error, "a Slack event could not be answered")

        self.workers.submit(do)

    def mentioned(self, event: dict[str, Any], body: dict[str, Any]) -> None:
        """Answer in the thread of the message that mentions the app, or begin one."""
        self._later(self._mentioned, event, body)

    def _mentioned(self, event: dict[str, Any], body: dict[str, Any]) -> None:
        if not self.conversations.is_new(str(body.get("event_id", ""))):
            return
        channel, thread = event["channel"], event.get("thread_ts") or event["ts"]
        if question := question_in(event["text"]):
            self._answer(question, channel, thread)
        else:
            self._post(channel, thread, notice_blocks(USAGE))

    def said(self, event: dict[str, Any], body: dict[str, Any]) -> None:
        """Answer in a direct conversation with the app; elsewhere it has to be mentioned."""
        is_a_persons = not event.get("bot_id") and not event.get("subtype")
        if event.get("channel_type") == "im" and is_a_persons:
            self.mentioned(event, body)

    def asked(self, ack: Ack, respond: Respond, command: dict[str, Any]) -> None:
        """Answer the command in a thread that shows the question."""
        ack()
        self._later(self._asked, respond, command)

    def _asked(self, respond: Respond, command: dict[str, Any]) -> None:
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

    def pressed(
        self, ack: Ack, respond: Respond, action: dict[str, Any], body: dict[str, Any]
    ) -> None:
        """Run a button's action; report an error only to the person who pressed it."""
        ack()
        self._later(self._pressed, respond, action, body)

    def _pressed(self, respond: Respond, action: dict[str, Any], body: dict[str, Any]) -> None:
        message = body.get("message") or {}
        # in a thread only if the message is in one: elsewhere Slack would not show it
        show = partial(_show, respond, thread_ts=message.get("thread_ts"))
        try:
            self._do(_Press.of(action, body), show)
        except InvalidRequest as error:
            show(notice_blocks(str(error)))
        except SlackApiError as error:
            show(notice_blocks(f"Slack refused the answer: {error.response.get('error')}."))
        except Exception as error:  # noqa: BLE001 - logged without its message; who pressed is told
            log_defect(error, "a Slack button could not be answered")
            show(notice_blocks(FAILED))

    def _do(self, press: _Press, show: Callable[..., None]) -> None:
        """Run a button's action; raises InvalidRequest if that is impossible."""
        talk, channel = self.conversations, press.channel
        match press.act:
            case Act.CHOOSE | Act.ALL:
                self._give(press)
            case Act.COPY:
                show(commands_blocks(*press.commands(talk.buttons(channel))))
            case Act.WRONG | Act.WHICH:
                pressed, cited = talk.cited(press.act, press.value, channel)
                number = pressed.number or (1 if len(cited) == 1 else 0)
                if not number:
                    places = list(map(place, cited))
                    show(citations_blocks(places, pressed.receipt, talk.buttons(channel)))
                    return
                words = talk.report(pressed.receipt, cited[number - 1], channel, press.user)
                show(notice_blocks(words), replace_original=press.act is Act.WHICH)

    def _give(self, press: _Press) -> None:
        pressed = f"{press.channel}/{press.thread}/{press.value}"
        receipts = self.conversations.receipts
        if receipts.was_pressed(pressed) or not self.conversations.is_new(pressed):
            raise InvalidRequest(ALREADY)
        try:
            for post in self.conversations.given(
                press.act, press.value, press.channel, press.thread
            ):
                self._post(press.channel, press.thread, post)
            receipts.pressed(pressed)
        except BaseException:
            self.conversations.forget(pressed)
            raise

    def _answer(self, question: str, channel: str, thread: str) -> None:
        try:
            posts = self.conversations.answer(question, channel, thread)
        except Exception as error:  # noqa: BLE001 - logged without its message; the asker is told
            log_defect(error, "a Slack question could not be answered")
            posts = [notice_blocks(FAILED)]
        for post in posts:
            self._post(channel, thread, post)

    def _post(self, channel: str, thread: str, post: dict[str, Any]) -> None:
        try:
            self.client.chat_postMessage(channel=channel, thread_ts=thread, **post)
        except SlackApiError as error:
            if (code := error.response.get("error")) not in TEXT_ERRORS:
                raise
            _logger.error("an answer's text was refused by Slack: %s", code)  # noqa: TRY400 - its text has the answer
            self.client.chat_postMessage(channel=channel, thread_ts=thread, **refused_part(code))


@dataclass(frozen=True, slots=True)
class _Press:
    """A pressed button, as Slack reports it, with the thread and the blocks of its message."""

    act: Act
    value: str
    channel: str
    thread: str
    user: str
    blocks: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, action: Mapping[str, Any], body: Mapping[str, Any]) -> _Press:
        """Read Slack's report.

        Raises:
            InvalidRequest: it is not one of our buttons, or its message doesn't have it.
        """
        try:
            name = str(action["action_id"]).removeprefix(ACTION)
            act = Act(name.partition("-")[0])
            user, channel = str(body["user"]["id"]), str(body["channel"]["id"])
            if act is Act.WHICH:  # in a message that one person sees, which Slack doesn't include
                return cls(act, str(action["selected_option"]["value"]), channel, "", user)
            message, value = body["message"], str(action["value"])
            thread, blocks = str(message.get("thread_ts") or message["ts"]), message["blocks"]
            own = [it for one in blocks if one["type"] == "actions" for it in one["elements"]]
            is_there = any(
                (it["action_id"], it.get("value")) == (action["action_id"], value) for it in own
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidRequest(NOT_OURS) from error
        if not is_there:
            raise InvalidRequest(NOT_OURS)
        return cls(act, value, channel, thread, user, blocks)

    def commands(self, buttons: Buttons) -> tuple[list[str], int]:
        """Return the commands of its message, if they are those that were posted, see `commands_in`.

        Raises:
            InvalidRequest: they aren't.
        """
        found, destructive = commands_in(self.blocks)
        try:
            buttons.read(self.act, self.value, found)
        except InvalidRequest:
            # Slack writes some texts with entities
            found, destructive = commands_in(self.blocks, html.unescape)
            buttons.read(self.act, self.value, found)
        return found, destructive


def _show(
    respond: Respond,
    post: Mapping[str, Any],
    *,
    thread_ts: str | None,
    replace_original: bool = False,
) -> None:
    """Show something only to the person who pressed a button."""
    response = respond(
        text=post["text"],
        blocks=post["blocks"],
        response_type="ephemeral",
        replace_original=replace_original,
        thread_ts=thread_ts,
    )
    if response.status_code != HTTPStatus.OK:
        _logger.warning("a response to a button was refused: %s", response.status_code)


def question_in(text: str) -> str:
    """Return the question, without the mention and Slack's marks.

    >>> question_in("<@U012AB3CD> is <https://a.example|a.example> &lt;down&gt;?")
    'is a.example <down>?'
    """
    words = _MARKED.sub(r"\1", _MENTION.sub(" ", text))
    return " ".join(html.unescape(words).split())[:MAX_QUERY_CHARACTERS]


def _store(kept: OrderedDict[Any, Any], key: object, value: object) -> bool:
    """Store a value and drop the oldest ones; return whether its key is new."""
    is_new = key not in kept
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > MAX_STORED:
        kept.popitem(last=False)
    return is_new
