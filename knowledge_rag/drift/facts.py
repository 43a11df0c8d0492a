"""What one document says that other documents, code or an account may contradict, and what it shows by itself.

Facts are all that is kept of a document, so memory stays flat; as JSON they are what the cache keeps.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any

from knowledge_rag.drift.actions import Item
from knowledge_rag.drift.agreement import Statement
from knowledge_rag.drift.findings import Finding, Kind
from knowledge_rag.drift.names import Mention
from knowledge_rag.drift.page import Code, Link, Page
from knowledge_rag.drift.resources import Place, Resource
from knowledge_rag.drift.settings import Setting

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one document.

    Args:
        page: the document without its text: front matter, links, anchors, and spans that may be paths.
        findings: that need nothing but the document and a list of owners.
        mentions: names to compare with code.
        statements: figures to compare with those of the code's alerts.
        resources: to look up in an account.
        settings: values to compare with those of the code.
        items: action items to compare with the runbooks' history.
    """

    page: Page
    findings: tuple[Finding, ...] = ()
    mentions: tuple[Mention, ...] = ()
    statements: tuple[Statement, ...] = ()
    resources: tuple[Resource, ...] = ()
    settings: tuple[Setting, ...] = ()
    items: tuple[Item, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        """Return the facts as JSON, without the document's path."""
        page = self.page
        return {
            "front": page.lines,
            "spans": [(code.text, code.places, code.language) for code in page.codes],
            "links": [astuple(link) for link in page.links],
            "anchors": sorted(page.anchors),
            "retired": page.retired,
            "findings": [astuple(it)[1:] for it in self.findings],
            "mentions": [astuple(it)[1:] for it in self.mentions],
            "statements": [it.to_wire() for it in self.statements],
            "settings": [astuple(it)[1:] for it in self.settings],
            "is_report": page.is_report,
            "items": [astuple(it)[1:] for it in self.items],
            "resources": [
                (it.place[1:], it.kind, it.name, it.region, it.account, it.within, it.unknown)
                for it in self.resources
            ],
        }

    @classmethod
    def of_wire(cls, path: str, wire: dict[str, Any]) -> Facts:
        """Return the facts of a document of this path."""
        front = tuple(wire["front"])
        spans = tuple(
            Code(text, tuple((line, column) for line, column in places), language)
            for text, places, language in wire["spans"]
        )
        links = tuple(Link(*link) for link in wire["links"])
        return cls(
            Page(
                path,
                front,
                spans,
                links,
                frozenset(wire["anchors"]),
                front_matter_lines=len(front),
                retired=wire["retired"],
                is_report=wire["is_report"],
            ),
            findings_of(path, wire["findings"]),
            tuple(Mention(path, *it) for it in wire["mentions"]),
            tuple(Statement.of_wire(path, it) for it in wire["statements"]),
            tuple(Resource(Place(path, *place), *of) for place, *of in wire["resources"]),
            tuple(Setting(path, *it) for it in wire["settings"]),
            tuple(Item.of_wire(path, it) for it in wire["items"]),
        )


def without_text(page: Page) -> Page:
    """Return what of a page is compared with other pages and with code."""
    spans = tuple(code for code in page.codes if not code.is_block and "/" in code.text)
    front = tuple(page.lines[: page.front_matter_lines])
    return replace(page, lines=front, codes=spans, headings=(), paragraphs=(), sections=(), rows=())


def findings_of(path: str, wire: Sequence[Sequence[Any]]) -> tuple[Finding, ...]:
    """Return findings of a document of this path, each as JSON holds it without the path."""
    return tuple(
        Finding(path, line, column, end, Kind(kind), *texts)
        for line, column, end, kind, *texts in wire
    )
