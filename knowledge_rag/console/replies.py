"""Replies to conversations, for programs: the answer as Markdown, with the positions of its citations."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.channel.markdown import note_from
from knowledge_rag.channel.message import document_of, lines_of, masked, message_from
from knowledge_rag.console.addresses import document_url
from knowledge_rag.console.exports import message_of
from knowledge_rag.console.questions import LATE, read_question
from knowledge_rag.core.outcome import Status

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from knowledge_rag.channel.message import Place
    from knowledge_rag.console.answers import Answer
    from knowledge_rag.console.conversation import Conversation
    from knowledge_rag.console.events import Event
    from knowledge_rag.console.questions import Asker, Question
    from knowledge_rag.core.citations import Citation
    from knowledge_rag.orchestrator.consultation import Consultation

CHOOSE: Final = "Answer with a number or a name to get its steps."


@dataclass(frozen=True, slots=True)
class Annotation:
    """A citation in a reply's text.

    Args:
        start: offset of its first character.
        end: offset after its last one.
        number: the one that it shows, from 1; the same lines have the same number.
        place: document and lines.
        url: opens the cited lines; this server makes it.
        title: file and lines, as ``runbooks/rds.md:3-9``.
        cited: the lines themselves, with secrets masked.
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

    Args:
        key: of the stored answer.
        model: as requested.
        created: seconds since 1970, UTC.
        text: Markdown.
        annotations: in order, none overlapping another.
        status: of the answer.
        by_model: whether a model wrote it.
        choices: names that the next turn can choose from; their numbers start at 1.
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

    Args:
        model: as requested.
        base: the console's address, for links to cited lines.
        asked: the last turn's words; an answer to another question begins with that question.
    """

    model: str = ""
    base: str = ""
    asked: str = ""

    def reply(self, key: str, answer: Answer) -> Reply:
        """Return the reply for an answer.

        Args:
            key: of the answer.
            answer: the stored one.
        """
        message = message_of(answer)
        is_said = answer.question == " ".join(self.asked.split())
        is_open = message.status is not Status.OK and message.reading
        message = replace(
            message,
            title="" if is_said else message.title,
            choose=CHOOSE if is_open else "",
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
    """Answers conversations.

    Args:
        asker: answers questions.
    """

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
    for one in sources:
        citation = one["citation"]
        start = citation["start_line"]
        if citation["source_file"] == name and start <= first <= last <= citation["end_line"]:
            return "\n".join(one["content"].split("\n")[first - start : last - start + 1])
    return ""
