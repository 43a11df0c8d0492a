"""All checks of drift on a set of documents."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from dataclasses import astuple, dataclass, field, replace
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.drift.actions import Item, check_items, items_in
from knowledge_rag.drift.agreement import Statement, check_agreement, statements_in
from knowledge_rag.drift.cache import afresh, digest
from knowledge_rag.drift.commands import check_commands
from knowledge_rag.drift.figures import Alerts
from knowledge_rag.drift.findings import Check, Finding, Kind
from knowledge_rag.drift.links import check_links, check_superseded
from knowledge_rag.drift.names import Mention, Names, mentions_in
from knowledge_rag.drift.page import Code as Span
from knowledge_rag.drift.page import Link, Page, read_page
from knowledge_rag.drift.resources import Place, Resource, resources_in
from knowledge_rag.drift.settings import Setting, check_settings, settings_in
from knowledge_rag.drift.shell import is_shell, script_of
from knowledge_rag.drift.upkeep import check_age, check_owners
from knowledge_rag.guardrails.danger import dangers_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from knowledge_rag.drift.code import Code
    from knowledge_rag.drift.upkeep import Ages, Owners

    Recall = Callable[[Sequence[bytes | str], Callable[[], Any]], Any]


@dataclass(frozen=True, slots=True)
class World:
    """What documents are compared with; nothing is compared with what is ``None``.

    Args:
        exists: whether there is, or may be, a file of a path relative to the documents' folder.
        code: reads the code for the words and settings that it is given.
        warns: whether a text tells to take care.
        live: looks resources up in an account.
        recall: returns a value that was made of the same parts before, or makes it.
    """

    exists: Callable[[str], bool]
    checks: frozenset[Check] = field(default=frozenset(Check))
    code: Callable[[frozenset[str], frozenset[str]], Code] | None = None
    ages: Ages | None = None
    owners: Owners | None = None
    warns: Callable[[str], bool] | None = None
    live: Callable[[Sequence[Resource]], Iterable[Finding]] | None = None
    recall: Recall = afresh

    @property
    def of_facts(self) -> str:
        """Return what the facts of a document depend on besides the document."""
        owners = self.owners and (sorted(self.owners.names.items()), self.owners.handles_only)
        has = (self.code is not None, self.warns is not None, self.live is not None)
        return json.dumps([sorted(self.checks), owners, has])


@dataclass(frozen=True, slots=True)
class Facts:
    """What one document says that other documents, code or an account may contradict, and what it shows by itself.

    Facts are all that is kept of a document, so memory stays flat; as JSON they are what the cache keeps.

    Args:
        page: the document without its text: front matter, links, anchors, and spans that may be paths.
        findings: that need nothing but the document and a list of owners.
        statements: figures to compare with those of the code's alerts.
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
        page = Page(
            path,
            front,
            tuple(Span(text, tuple(map(tuple, places)), of) for text, places, of in wire["spans"]),
            tuple(Link(*link) for link in wire["links"]),
            frozenset(wire["anchors"]),
            front_matter_lines=len(front),
            retired=wire["retired"],
            is_report=wire["is_report"],
        )
        return cls(
            page,
            _findings_of(path, wire["findings"]),
            tuple(Mention(path, *it) for it in wire["mentions"]),
            tuple(Statement.of_wire(path, it) for it in wire["statements"]),
            tuple(Resource(Place(path, *place), *of) for place, *of in wire["resources"]),
            tuple(Setting(path, *it) for it in wire["settings"]),
            tuple(Item.of_wire(path, it) for it in wire["items"]),
        )


def check_documents(documents: Iterable[tuple[str, str]], world: World) -> list[Finding]:
    """Return the findings of all documents, in the order of their places, see :func:`facts_of`."""
    return check_facts((facts_of(path, text, world) for path, text in documents), world)


def facts_of(path: str, text: str, world: World) -> Facts:
    """Return the facts of a document, which are all that the checks need of it.

    The path is relative to the folder, ``/``-separated; the text is Markdown, line for line.
    """
    page = read_page(path, text)
    findings: list[Finding] = []
    if Check.COMMANDS in world.checks:
        findings += check_commands(page)
    if Check.DANGER in world.checks and world.warns is not None:
        findings += _unguarded(page, world.warns)
    if Check.OWNERS in world.checks and world.owners is not None:
        findings += check_owners(page, world.owners)
    has_names = Check.NAMES in world.checks and world.code is not None
    has_statements = Check.AGREEMENT in world.checks and world.code is not None
    return Facts(
        _without_text(page),
        tuple(findings),
        tuple(mentions_in(page)) if has_names else (),
        tuple(statements_in(page)) if has_statements else (),
        tuple(resources_in(page)) if world.live else (),
        tuple(settings_in(page)) if has_statements else (),
        tuple(items_in(page)) if Check.AGREEMENT in world.checks else (),
    )


def check_facts(facts: Iterable[Facts], world: World) -> list[Finding]:
    """Return the findings of all documents, in the order of their places."""
    return sorted(_findings(list(facts), world))


def _findings(facts: Sequence[Facts], world: World) -> Iterator[Finding]:
    for each in facts:
        yield from each.findings
    pages = [each.page for each in facts]
    if Check.LINKS in world.checks:
        anchors = {page.path: page.anchors for page in pages}
        for page in pages:
            yield from check_links(page, anchors, world.exists)
    if Check.AGREEMENT in world.checks:
        retired = {page.path: page.retired for page in pages}
        for page in pages:
            yield from check_superseded(page, retired)
    if world.code is not None and world.checks & {Check.NAMES, Check.AGREEMENT}:
        names = frozenset(it.name for each in facts for it in each.mentions)
        keys = frozenset(it.key for each in facts for it in each.settings)
        code = world.code(names, keys)
        yield from _of_code(facts, code, world)
    if Check.AGREEMENT in world.checks and world.ages is not None:
        items = [it for each in facts for it in each.items]
        runbooks = [page.path for page in pages if not page.is_report and page.retired is None]
        yield from check_items(items, runbooks, world.ages.changed, world.ages.today)
    if Check.AGE in world.checks and world.ages is not None:
        yield from check_age(pages, world.ages)
    if world.live is not None:
        yield from world.live(list(chain.from_iterable(each.resources for each in facts)))


def _of_code(facts: Sequence[Facts], code: Code, world: World) -> Iterator[Finding]:
    if Check.NAMES in world.checks:
        yield from _of_names(facts, code, world.recall)
    if Check.AGREEMENT in world.checks:
        alerts = Alerts(code.alerts)
        for each in facts:
            yield from check_agreement(each.statements, alerts)
        yield from check_settings([it for each in facts for it in each.settings], code.values)


def _of_names(facts: Sequence[Facts], code: Code, recall: Recall) -> Iterator[Finding]:
    """Compare names again where the document's or the code's that matter to it changed."""
    names = Names(code)
    # in their order: of two files that define a name, the first is named
    defined = digest(json.dumps(code.names))
    of_documents: dict[str, list[Mention]] = defaultdict(list)
    for each in facts:
        of_documents[each.page.path] += each.mentions
    for path, mentions in of_documents.items():
        if not mentions:
            continue
        own = {mention.name for mention in mentions}
        parts = (
            "names",
            defined,
            json.dumps([astuple(mention)[1:] for mention in mentions]),
            json.dumps(sorted(own & code.words)),
            json.dumps({name: astuple(code.removed[name]) for name in sorted(own & code.removed.keys())}),
        )  # fmt: skip
        wire = recall(parts, lambda of=mentions: [astuple(it)[1:] for it in names.check(of)])  # type: ignore[misc]
        yield from _findings_of(path, wire)


def unreadable(path: str, reason: str) -> Finding:
    """Return the finding of a document that can't be read."""
    return Finding(path, 1, 1, 1, Kind.UNREADABLE, "", reason)


def _without_text(page: Page) -> Page:
    """Return what of a page is compared with other pages and with code."""
    spans = tuple(code for code in page.codes if not code.is_block and "/" in code.text)
    front = tuple(page.lines[: page.front_matter_lines])
    return replace(page, lines=front, codes=spans, headings=(), paragraphs=(), sections=(), rows=())


def _findings_of(path: str, wire: Sequence[Sequence[Any]]) -> tuple[Finding, ...]:
    """Return findings of a document of this path, each as JSON holds it without the path."""
    return tuple(
        Finding(path, line, column, end, Kind(kind), *texts)
        for line, column, end, kind, *texts in wire
    )


# destructive commands

BEHIND: Final = 3
"""Lines behind a block in which a warning still counts."""


def _unguarded(page: Page, warns: Callable[[str], bool]) -> Iterator[Finding]:
    """Find destructive commands in code blocks that nothing near them warns of.

    One is no finding if its section up to a few lines behind the block, or the introduction of a section that
    holds it, tells to take care.
    """
    warnings = _Warnings(page, warns)
    for code in page.codes:
        if not code.is_block or not is_shell(code):
            continue
        dangers = dangers_in(script_of(code))
        last = code.places[-1][0] + BEHIND
        if not dangers or warnings.around(code.places[0][0], last):
            continue
        for danger in dangers:
            line, column = code.place(danger.start)
            command = " ".join(code.text[danger.start : danger.end].split())
            end = column + len(code.text[danger.start : danger.end].split("\n")[0])
            yield Finding(
                page.path, line, column, end, Kind.UNGUARDED, command[:200],
                f"{danger.label}: nothing near it warns",
            )  # fmt: skip


class _Warnings:
    """Where a document's sections warn; each line is read once, or twice behind a block."""

    def __init__(self, page: Page, warns: Callable[[str], bool]) -> None:
        self._page = page
        self._warns = warns
        self._starts = [line for line, _, _ in page.headings]
        self._read: dict[int, tuple[int, bool]] = {}
        self._parents: list[int] = []
        inside: list[int] = []
        for at, (_, level, _) in enumerate(page.headings):
            while inside and page.headings[inside[-1]][1] >= level:
                inside.pop()
            self._parents.append(inside[-1] if inside else -1)
            inside.append(at)
        self._above = cache(self._warn_above)

    def around(self, first: int, last: int) -> bool:
        """Whether the section of a line warns up to another, or the introduction of a section that holds it."""
        own = bisect_right(self._starts, first) - 1
        return self._own(own, last) or (own >= 0 and self._above(self._parents[own]))

    def _start(self, section: int) -> int:
        return self._page.front_matter_lines if section < 0 else self._starts[section] - 1

    def _own(self, section: int, last: int) -> bool:
        start = self._start(section)
        end, warned = self._read.get(section, (start, False))
        if not warned:
            lines = self._page.lines[max(start, end - BEHIND) : last]
            warned = self._warns("\n".join(lines))
            self._read[section] = max(end, last), warned
        return warned

    def _warn_above(self, section: int) -> bool:
        following = self._starts[section + 1] - 1 if section + 1 < len(self._starts) else None
        lines = self._page.lines[self._start(section) : following]
        return self._warns("\n".join(lines)) or (
            section >= 0 and self._above(self._parents[section])
        )
