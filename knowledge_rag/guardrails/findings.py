"""What a scan finds in an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knowledge_rag.guardrails.ledger import Evidence
    from knowledge_rag.guardrails.resolve import Why


@dataclass(frozen=True, slots=True)
class Kept:
    """A reference that stays.

    Args:
        start: offset of its first character in the answer as it goes out.
        end: offset behind its last one.
        evidence: what it refers to.
    """

    start: int
    end: int
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Taken:
    """A reference that went.

    Args:
        start: offset of its first character in the text as written.
        end: offset behind its last one.
        text: as written.
        why: the reason.
        mark: what stands in its place, "" for nothing.
    """

    start: int
    end: int
    text: str
    why: Why
    mark: str


@dataclass(slots=True)
class Findings:
    """What a scan has found so far.

    Args:
        kept: references that stay, in order.
        taken: references that went, in the order in which that was decided.
        unchecked: offsets, as it goes out, of brackets that read like references where none can be.
        code: offsets, as it goes out, of code: whole lines of blocks, and spans; in order.
    """

    kept: list[Kept] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    unchecked: list[tuple[int, int]] = field(default_factory=list)
    code: list[tuple[int, int]] = field(default_factory=list)

    def add_code(self, start: int, end: int, moved: int) -> None:
        """Note code; what begins where the last code ends goes on with it.

        Args:
            start: index of its first character.
            end: index behind it.
            moved: what leads from indexes to offsets as the answer goes out.
        """
        start, end = start + moved, end + moved
        if self.code and self.code[-1][1] == start:
            start = self.code.pop()[0]
        if end > start:
            self.code.append((start, end))
