"""Looks an atom up in the lines: as it stands, in another spelling, or as what fills a placeholder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.support.dates import Date
from knowledge_rag.guardrails.support.lexemes import folded, holds_placeholder, literals
from knowledge_rag.guardrails.support.report import AtomKind

if TYPE_CHECKING:
    from knowledge_rag.guardrails.support.atoms import Atom
    from knowledge_rag.guardrails.support.evidence_index import EvidenceIndex
    from knowledge_rag.guardrails.support.quantities import Quantity
    from knowledge_rag.guardrails.support.report import SupportSettings

_CASE_COUNTS: Final = (AtomKind.FLAG, AtomKind.PATH)
_OPPOSITE: Final = {">": "<", "<": ">"}


class Matcher:
    """Finds atoms in lines.

    Args:
        index: of the lines.
        settings: its bound on templates.
    """

    def __init__(self, index: EvidenceIndex, settings: SupportSettings) -> None:
        self._index = index
        self._max_templates = settings.max_templates
        self._open_names = 0

    def line_of(self, atom: Atom) -> int | None:
        """Give the index of the first line that states an atom; ``None`` if none does."""
        if isinstance(atom.value, str):
            return self._name(atom, atom.value)
        if isinstance(atom.value, Date):
            return self._index.dates.get(atom.value)
        lines = [self._quantity(it, atom.value.direction) for it in atom.value.quantities]
        return None if None in lines else lines[0]

    def filled_by(self, atom: Atom) -> tuple[int, str] | None:
        """Give the line and the placeholder that an atom fills in; ``None`` if there is none."""
        if slot := self._index.slots.get(atom.before):
            return slot
        if isinstance(atom.value, str):
            for before, behind, line, placeholder in self._index.templates[: self._max_templates]:
                whole = len(atom.value) > len(before) + len(behind)
                if whole and atom.value.startswith(before) and atom.value.endswith(behind):
                    return line, placeholder
        return None

    def _name(self, atom: Atom, name: str) -> int | None:
        index = self._index
        line = index.names.get(name)
        if line is None:
            line = index.parts.get(name)
        # a sentence begins with a capital, whatever it begins with
        if line is None and (atom.kind not in _CASE_COUNTS or not atom.before):
            line = index.folded.get(folded(name))
        if line is None and holds_placeholder(name):
            line = self._around_placeholders(name)
        return line

    def _around_placeholders(self, name: str) -> int | None:
        """Find a name of which the claim leaves a part open."""
        self._open_names += 1
        if self._open_names > self._max_templates:
            return None
        lines = [self._index.line_with(part) for part in literals(name)]
        return lines[0] if lines and None not in lines else None

    def _quantity(self, quantity: Quantity, direction: str) -> int | None:
        """Find a number with its unit, or a number of which one side leaves the unit out."""
        index = self._index
        where = index.quantities.get(quantity.key)
        if where is None:
            if quantity.dimension:
                where = index.quantities.get((quantity.written, ""))
            else:
                return index.written_numbers.get(quantity.written)
        if where is None or where.keys() == {_OPPOSITE.get(direction)}:
            return None
        return min(where.values())
