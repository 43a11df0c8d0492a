"""Finds the question of a conversation: its last turn, with earlier turns that it refers to.

The turns come from the client, so none is trusted. An earlier turn of the user is asked again like a new question; the
assistant's last turn only counts if it shows the names that the knowledge base offers now.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypedDict

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.orchestrator.follow_ups import is_no_question, refers
from knowledge_rag.orchestrator.incident import Incident, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knowledge_rag.core.citations import Citation

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

    Args:
        asked: the user's last turn.
        before: the user's turn that it may refer to; ``""`` if there is none.
        offered: the assistant's turn right before the last one; ``""`` if there is none.
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

        Args:
            offered: names and lines that the knowledge base now offers for :attr:`before`. Only these can be
                chosen, and only if the assistant's turn shows the same name at the same number.
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

    Args:
        turns: from the request; earlier entries that aren't turns of the user or the assistant are left out.
        where: their place in the request, for errors.

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
