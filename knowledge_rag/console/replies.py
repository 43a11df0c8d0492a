"""Replies to conversations, for programs: the answer as Markdown, with the positions of its citations."""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypedDict

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.channel.markdown import note_from
from knowledge_rag.channel.message import document_of, lines_of, masked, message_from
from knowledge_rag.console.documents import document_url, retrieved_lines
from knowledge_rag.console.exports import message_of
from knowledge_rag.console.questions import LATE, read_question
from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.follow_ups import is_no_question, refers
from knowledge_rag.orchestrator.incident import Incident, name_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from knowledge_rag.channel.message import Place
    from knowledge_rag.console.answers import Answer
    from knowledge_rag.console.events import Event
    from knowledge_rag.console.questions import Asker, Question
    from knowledge_rag.core.citations import Citation
    from knowledge_rag.orchestrator.consultation import Consultation


MAX_TURNS: Final = 1_000

USER: Final = "user"
ASSISTANT: Final = "assistant"
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
"""Types of text parts in a turn, in any of the APIs."""

_NUMBER: Final = re.compile(r"\W*(\d{1,2})\W*")
_OFFERED: Final = re.compile(r"^(\d{1,2})\. (.+)$", re.MULTILINE)
_LONGEST_NAME: Final = 500
"""Maximum characters of a name that makes a choice."""


class Turn(TypedDict):
    """One side's words."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation whose last turn needs an answer.

    ``asked`` is the user's last turn, ``before`` the user's turn that it may refer to, and ``offered`` the assistant's
    turn right before the last one; ``""`` if there is none.
    """

    asked: str
    before: str = ""
    offered: str = ""

    @property
    def may_choose(self) -> bool:
        """Whether the last turn is the number or the name of an entry in the assistant's list."""
        if not self.before or len(self.asked) > _LONGEST_NAME:
            return False
        number, name, listed = _number(self.asked), _folded(self.asked), self._listed
        return number in listed or any(_folded(it).startswith(name) for it in listed.values())

    def choice(self, offered: Sequence[tuple[str, Citation]]) -> tuple[str, int] | None:
        """Return document and line of the last turn's choice; ``None`` if it makes none.

        Only names that the knowledge base now offers for :attr:`before` can be chosen, and only if the assistant's turn
        shows the same name at the same number.
        """
        listed, number = self._listed, _number(self.asked)
        found = [
            (citation.source_file, citation.end_line)
            for at, (name, citation) in enumerate(offered, start=1)
            if at == number or (number is None and _folded(self.asked) == _folded(name))
            if _folded(listed.get(at, "")).startswith(_folded(name))
        ]
        return found[0] if len(found) == 1 else None

    @property
    def is_number(self) -> bool:
        """Whether the last turn is a number and nothing else."""
        return _number(self.asked) is not None

    @property
    def is_follow_up(self) -> bool:
        """Whether the last turn refers to the one before."""
        return bool(self.before) and refers(self.asked)

    @property
    def question(self) -> str:
        """The last turn; if it refers to the turn before, with the topic of that."""
        if not self.is_follow_up:
            return self.asked
        pasted = Incident.pasted_in(self.before)
        topic = self.before if pasted is None else name_of(pasted)
        return f"{' '.join(topic.split())}: {self.asked}"

    def turns_with(self, reply: str) -> list[Turn]:
        """Return the turns that a server must store: the topic, and the reply, which may offer a choice."""
        topic = _topic([(USER, self.before), (USER, self.asked)])
        return [{"role": USER, "content": topic}, {"role": ASSISTANT, "content": reply}]

    @property
    def _listed(self) -> dict[int | None, str]:
        """The entries of the assistant's list, by number."""
        return {int(number): shown for number, shown in _OFFERED.findall(self.offered)}


def read_conversation(turns: object, where: str) -> Conversation:
    """Read the turns of a request, oldest first.

    Earlier entries that aren't turns of the user or the assistant are left out; ``where`` names the turns in errors.

    Raises:
        Refused: they aren't a list of turns or are too many, or the last one isn't the user's or isn't text.
    """
    if not isinstance(turns, list) or not turns:
        raise Refused(400, f"{where} must be a list of turns, and not an empty one")
    if len(turns) > MAX_TURNS:
        raise Refused(400, f"{where} has {len(turns)} turns, allowed: {MAX_TURNS}")
    last = turns[-1]
    if not isinstance(last, dict) or last.get("role") != USER:
        raise Refused(400, f"the last of {where} must be the user's")
    earlier = [it for it in turns[:-1] if isinstance(it, dict)]
    said = [(it["role"], _text(it)) for it in earlier if it.get("role") in (USER, ASSISTANT)]
    offered = said[-1][1] if said and said[-1][0] != USER else ""
    return Conversation(_text(last, strict=where), _topic(said), offered)


def _topic(said: Iterable[tuple[str, str]]) -> str:
    """Return the user's last turn that names its topic itself."""
    topic = ""
    for role, text in said:
        is_own = role == USER and text.strip() and _number(text) is None
        if is_own and not (is_no_question(text) or (topic and refers(text))):
            topic = text
    return topic


def _text(turn: Mapping[str, Any], strict: str = "") -> str:
    """Return the words of a turn; with ``strict``, the name of the turns, refuse any other content."""
    content = turn.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = [
        it["text"]
        for it in parts
        if isinstance(it, dict)
        and str(it.get("type")) in _TEXTS
        and isinstance(it.get("text"), str)
    ]
    if strict and len(texts) < len(parts):
        raise Refused(400, f"the last of {strict} must be text: images and files aren't read")
    return "\n".join(texts)


def _number(text: str) -> int | None:
    found = _NUMBER.fullmatch(text)
    return int(found[1]) if found else None


def _folded(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


CHOOSE: Final = "Answer with a number or a name to get its steps."


@dataclass(frozen=True, slots=True)
class Annotation:
    """A citation in a reply's text.

    ``start`` and ``end`` are offsets in the text; the same lines have the same ``number``, from 1. ``title`` is file
    and lines, as ``runbooks/rds.md:3-9``; ``cited`` are the lines themselves, with secrets masked.
    """

    start: int
    end: int
    number: int
    place: Place
    url: str
    title: str
    cited: str


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to send.

    ``annotations`` are in order, none overlapping another; ``created`` is in seconds since 1970, UTC. The next turn can
    choose from ``choices``, whose numbers start at 1.
    """

    key: str
    model: str
    created: int
    text: str
    annotations: tuple[Annotation, ...] = ()
    status: Status = Status.OK
    by_model: bool = False
    choices: tuple[str, ...] = ()

    def lines(self) -> Iterator[tuple[str, Sequence[Annotation]]]:
        """Yield the text line by line, each with the citations in it."""
        start = 0
        for line in self.text.splitlines(keepends=True):
            end = start + len(line)
            yield line, [it for it in self.annotations if start <= it.start < end]
            start = end


@dataclass(frozen=True, slots=True)
class Page:
    """Writes answers as Markdown.

    ``base`` is the console's address, for links to cited lines. An answer to another question than ``asked``, the last
    turn's words, begins with that question.
    """

    model: str = ""
    base: str = ""
    asked: str = ""

    def reply(self, key: str, answer: Answer) -> Reply:
        """Return the reply for a stored answer."""
        message = message_of(answer)
        is_said = answer.question == " ".join(self.asked.split())
        is_open = message.status is not Status.OK and message.reading
        message = replace(
            message, title="" if is_said else message.title, choose=CHOOSE if is_open else ""
        )
        note = note_from(message, self._address)
        annotations = tuple(
            Annotation(
                start,
                end,
                message.places.index(place) + 1,
                place,
                self._address(place),
                f"{document_of(place)}:{lines_of(place)}",
                masked(_lines(answer.sources, place)),
            )
            for start, end, place in note.cited
        )
        return Reply(
            key,
            self.model,
            int(datetime.fromisoformat(answer.asked_at).timestamp()),
            note.text,
            annotations,
            message.status,
            message.by_model,
            tuple(name for name, _ in message.reading) if is_open else (),
        )

    def _address(self, place: Place) -> str:
        return self.base + document_url(*place)


@dataclass(frozen=True, slots=True)
class Replies:
    """Answers conversations."""

    asker: Asker

    async def question(self, conversation: Conversation, advisor: str) -> Question:
        """Return the question to ask: for a procedure that the last turn chooses, otherwise for its words.

        A number alone is never looked up: it makes a choice, or the turn before it is answered again.

        Raises:
            Refused: it isn't a question, or the server is busy or late.
        """
        if conversation.is_follow_up and not await self._found(conversation, advisor):
            conversation = replace(conversation, before="", offered="")
        asked = self._read(conversation.question, advisor)
        if not conversation.may_choose and not conversation.is_number:
            return asked
        if not conversation.before:
            raise Refused(400, "a number alone isn't a question: ask in words")
        before = self._read(conversation.before, advisor)
        at = conversation.choice(await self._offered(before))
        return replace(before, at=at) if at or conversation.is_number else asked

    async def reply(self, events: AsyncGenerator[Event], page: Page) -> Reply:
        """Return the reply at the end of an answer's events.

        Raises:
            Refused: there is no answer.
        """
        async with aclosing(events):
            async for name, data in events:
                if name == "error":
                    raise Refused(504 if data["reason"] == "timeout" else 500, data["message"])
                if name == "done":
                    key = data["answerId"]
        answer = await asyncio.to_thread(self.asker.answers.get, key)
        if answer is None:
            raise Refused(500, "the answer could not be kept; ask again")
        return page.reply(key, answer)

    async def _found(self, conversation: Conversation, advisor: str) -> bool:
        """Whether the turn before now finds anything; otherwise it gives no context."""
        given = (await self._consulted(self._read(conversation.before, advisor))).recommendation
        return given.status is not Status.NO_MATCH or bool(given.meant)

    def _read(self, question: str, advisor: str) -> Question:
        return read_question({"question": question, "advisor": advisor}, self.asker.advisors)

    async def _offered(self, question: Question) -> tuple[tuple[str, Citation], ...]:
        consultation = await self._consulted(question)
        whole = consultation.recommendation.to_dict()
        message = message_from(question.text, whole, (), by_model=False)
        return () if message.status is Status.OK else message.reading

    async def _consulted(self, question: Question) -> Consultation:
        try:
            return await self.asker.offered(question)
        except TimeoutError as error:
            raise Refused(504, LATE) from error


def _lines(sources: Iterable[Mapping[str, Any]], place: Place) -> str:
    """Return cited lines as retrieved; ``""`` if no source has them all."""
    name, first, last = place
    found = retrieved_lines([one for one in sources if one["source"] == name], first, last)
    return found.content if found else ""
