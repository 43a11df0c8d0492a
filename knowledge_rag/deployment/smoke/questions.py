"""The questions for testing a deployment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.files import shipped
from knowledge_rag.evaluation.datasets import numbered, read_rows, read_text
from knowledge_rag.evaluation.floor import in_choosing_half

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MAX_FILE_BYTES: Final = 4_000_000
_SHIPPED: Final = "questions.jsonl"


class Topic(StrEnum):
    """Whether the corpus answers a question."""

    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, with its topic and document.

    Args:
        id: for the report.
        query: the question itself.
        topic: whether the corpus answers it.
        source_file: a document that does, ``""`` if none is named.
    """

    id: str
    query: str
    topic: Topic = Topic.ON
    source_file: str = ""

    @property
    def chooses(self) -> bool:
        """Whether it is in the half on which a floor is chosen, by its id."""
        return in_choosing_half(self.id)


def shipped_questions() -> list[Question]:
    """Return the questions about the sample corpus, and some that no runbook answers."""
    text = (resources.files(__package__) / _SHIPPED).read_text(encoding="utf-8")
    return _parse(text, _SHIPPED)


def floor_questions() -> list[Question]:
    """Return this project's labelled questions: 223 about the sample corpus, and 160 off-topic ones."""
    return [question for topic in Topic for question in _labelled(topic)]


def _labelled(topic: Topic) -> list[Question]:
    path = shipped(f"tests/data/questions/{topic.value}_topic.jsonl")
    found = _parse(path.read_text(encoding="utf-8"), path.name)
    return [replace(question, topic=topic) for question in found]


def load_questions(path: Path, usual: Sequence[Question] = ()) -> list[Question]:
    """Read questions from JSON Lines, and add the usual off-topic ones if the file has none.

    A line has ``query`` and may have ``id``, ``topic`` (``on``, unless set, or ``off``) and
    ``source_file``.

    Raises:
        UnreadableDocument: the file can't be read, or a line is not such a question.
    """
    questions = _parse(read_text(path, MAX_FILE_BYTES), str(path))
    if not any(question.topic is Topic.ON for question in questions):
        raise UnreadableDocument(str(path), "no question of topic on")
    if not any(question.topic is Topic.OFF for question in questions):
        questions += [each for each in usual if each.topic is Topic.OFF]
    return questions


def _parse(text: str, name: str) -> list[Question]:
    reason = "is not a JSON object with query, and optionally topic on or off"
    return read_rows(
        numbered(text),
        _question,
        lambda number: UnreadableDocument(name, f"line {number} {reason}"),
    )


def _question(number: int, row: dict[str, Any]) -> Question:
    relevant = row.get("relevant") or [{}]
    query, source = row["query"], row.get("source_file", relevant[0].get("source_file", ""))
    if not (isinstance(query, str) and query.strip() and isinstance(source, str)):
        raise ValueError("query and source_file must be text")
    identity = str(row.get("id", f"line {number}"))
    return Question(identity, query, Topic(row.get("topic", "on")), source)
