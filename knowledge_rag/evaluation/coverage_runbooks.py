"""Finds an alert's own runbook: from the map, else by its link, else by its name."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.documents import parse_front_matter
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.headings import names_only_kind
from knowledge_rag.core.markdown import find_headings
from knowledge_rag.core.metadata import ALERTS, SOURCE_URL, listed_in
from knowledge_rag.evaluation.coverage_rules import MAX_BYTES
from knowledge_rag.evaluation.datasets import Target, read_text
from knowledge_rag.extract.yaml_nodes import read_yaml
from knowledge_rag.local.corpus_files import read_extracted
from knowledge_rag.orchestrator.links import INDEXES, Link, contradicts, fit, fold, folded_parts
from knowledge_rag.orchestrator.naming import is_under

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from knowledge_rag.core.chunks import Document
    from knowledge_rag.core.citations import Citation
    from knowledge_rag.evaluation.coverage_rules import Alert
    from knowledge_rag.evaluation.evaluation_corpus import Documents

_NOT_IN_SLUG: Final = re.compile(r"[^\w\- ]")
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_GIVEN: Final = re.compile(r"\s*\{:?\s*#([\w.:-]+)[^}]*\}\s*$")
_TAG: Final = re.compile(
    r"<a\s[^>]*?\b(?:id|name)\s*=\s*[\"']?([\w.:-]+)[^>]*>(?:\s*</a>)?", re.IGNORECASE
)
_ALERT: Final = re.compile(r"^(?:alert|alarm)(?:[\s-]*name)?\b[\s:\"'`]*", re.IGNORECASE)

_ABOVE: Final = 300
"""Characters above a heading that are searched for a name."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the lines (1-based, inclusive) down to the next one of the same or a higher level."""

    heading: str
    anchors: tuple[str, ...]
    lines: tuple[int, int]

    @property
    def names(self) -> frozenset[str]:
        """Return its possible names, folded; ``Alert Name: "Foo"`` may be called ``Foo``."""
        return frozenset({fold(self.heading), fold(_ALERT.sub("", self.heading))}) - {""}

    def is_at(self, anchor: str) -> bool:
        """Whether a link's anchor is exactly this section's."""
        return anchor.casefold() in self.anchors


def sections_of(text: str) -> tuple[Section, ...]:
    """Return the sections of a Markdown text, in order.

    Anchors are GitHub's (a repeated heading has ``-1`` appended), and those set by ``{#name}`` on the heading's
    line, or by ``<a name="...">`` there or right above.
    """
    headings = list(find_headings(text, parse_front_matter(text)[1]))
    last = text.count("\n") + (not text.endswith("\n"))
    starts = _line_numbers(text, [heading[0] for heading in headings])
    taken: dict[str, int] = {}
    sections = []
    for number, (offset, _, _, level, written) in enumerate(headings):
        behind = (starts[n] for n in range(number + 1, len(headings)) if headings[n][3] <= level)
        end = next(behind, last + 1) - 1
        above = text[max(0, offset - _ABOVE) : offset].rstrip().rpartition("\n")[2]
        names = _given_names(written, above)
        heading = _TAG.sub("", _GIVEN.sub("", written)).strip()
        sections.append(
            Section(heading, (_slug(heading, taken), *names), (starts[number], max(end, 1)))
        )
    return tuple(sections)


def _given_names(written: str, above: str) -> tuple[str, ...]:
    given = _GIVEN.search(written)
    tags = [*_TAG.findall(written), *_TAG.findall(above)]
    return tuple(name.casefold() for name in (*([given[1]] if given else ()), *tags))


def _slug(heading: str, taken: dict[str, int]) -> str:
    """Return GitHub's anchor for a heading; ``taken`` counts those above it."""
    plain = _LINK.sub(r"\1", heading).casefold().strip()
    slug = _NOT_IN_SLUG.sub("", plain).replace(" ", "-")
    count = taken.get(slug, 0)
    taken[slug] = count + 1
    return f"{slug}-{count}" if count else slug


def _line_numbers(text: str, offsets: Sequence[int]) -> list[int]:
    """Return the 1-based lines of ascending offsets."""
    lines, line, before = [], 1, 0
    for offset in offsets:
        line += text.count("\n", before, offset)
        before = offset
        lines.append(line)
    return lines


_LOGICAL_ID_HASH: Final = re.compile(r"[0-9A-F]{8}$")
"""The CDK's suffix of a resource name."""
_SHOWN: Final = 3


class Gap(StrEnum):
    """Why an alert is not covered; the names are those of the findings."""

    NO_RUNBOOK = "alert-without-runbook"
    MISSING = "runbook-missing"
    AMBIGUOUS = "runbook-ambiguous"
    NOT_FOUND = "runbook-not-found"
    NO_STEPS = "runbook-without-steps"

    @property
    def description(self) -> str:
        """Return the rule's description in reports."""
        return _DESCRIPTIONS[self]


_DESCRIPTIONS: Final = {
    Gap.NO_RUNBOOK: "An alert names no runbook, and no document or heading has its name.",
    Gap.MISSING: "The runbook that an alert names is not among the documents.",
    Gap.AMBIGUOUS: "The runbook that an alert names may be one of several documents.",
    Gap.NOT_FOUND: "An agent's questions about the alert do not find its runbook.",
    Gap.NO_STEPS: "An agent finds the runbook of an alert, but no step in it.",
}


class NamedBy(StrEnum):
    """How an alert's runbook was found."""

    MAP = "map"
    LINK = "link"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Runbook:
    """An alert's own runbook: one of the targets has to be found; its steps may be ``around`` them."""

    targets: tuple[Target, ...]
    by: NamedBy
    around: tuple[Target, ...] = ()

    @property
    def named(self) -> str:
        """Return its name in messages."""
        first = self.targets[0]
        lines = f", lines {first.lines[0]}-{first.lines[1]}" if first.lines else ""
        return f"{first.source_file}{lines}" + (
            " or a similar one" if len(self.targets) > 1 else ""
        )

    def is_reached_by(self, citation: Citation) -> bool:
        """Whether a citation has one of its lines."""
        return any(target.reached_by(citation) for target in self.targets)

    def may_say(self, citation: Citation) -> bool:
        """Whether a step with this citation is one of its steps."""
        return any(target.reached_by(citation) for target in self.around or self.targets)


@dataclass(frozen=True, slots=True)
class NoRunbook:
    """Why an alert has no runbook."""

    gap: Gap
    message: str


class Runbooks:
    """The documents of a folder; ``mapping`` of alerts to ``file#heading`` takes precedence over links and names."""

    def __init__(self, documents: Documents, mapping: Mapping[str, str] | None = None) -> None:
        self._documents = documents
        self._mapping = mapping or {}
        self._root = documents.root.resolve().name
        self._pages: dict[str, tuple[Document, tuple[Section, ...]]] = {}
        self._by_stem: defaultdict[str, list[str]] = defaultdict(list)
        for name in sorted(documents.sha256):
            *folders, stem = folded_parts(name, self._root)
            self._by_stem[stem].append(name)
            if stem in INDEXES:
                self._by_stem[folders[-1]].append(name)

    def own(self, alert: Alert) -> Runbook | NoRunbook:
        """Return an alert's own runbook, or why it has none; a document of its name can't replace a broken link."""
        mapped = self._mapping.get(alert.name)
        if mapped is not None:
            return self._linked([mapped], alert, NamedBy.MAP)
        if alert.links:
            return self._linked(alert.links, alert, NamedBy.LINK)
        targets = self._named(alert.name)
        if targets:
            return Runbook(targets, NamedBy.NAME)
        message = (
            f"alert {alert.name} has no runbook: no link, and no document or heading has its name"
        )
        return NoRunbook(Gap.NO_RUNBOOK, message)

    def _linked(self, links: Iterable[str], alert: Alert, by: NamedBy) -> Runbook | NoRunbook:
        """Follow the first valid link, or return the problem with the first one."""
        first: NoRunbook | None = None
        for text in links:
            for link in (Link.of(text),) if by is NamedBy.MAP else Link.readings(text):
                found = self._followed(link, text, alert, by)
                if isinstance(found, Runbook):
                    return found
                first = first or found
        return first or NoRunbook(Gap.NO_RUNBOOK, f"alert {alert.name} has no runbook")

    def _followed(self, link: Link, text: str, alert: Alert, by: NamedBy) -> Runbook | NoRunbook:
        files = self._best(link)
        named = f"alert {alert.name} names {' '.join(text.split())[:200]}"
        if not files:
            named_after = self._anchored(link.anchor, alert.name)
            if named_after:
                return Runbook(named_after, by)
            return NoRunbook(Gap.MISSING, f"{named}, and {self._why_none(link)}")
        if not link.anchor:
            targets = tuple(Target(name) for name in files)
        else:
            targets = tuple(target for name in files for target in self._at(name, link.anchor))
        if not targets:
            return NoRunbook(Gap.MISSING, f"{named}, and {files[0]} has no heading of that name")
        if len({self._documents.sha256[target.source_file] for target in targets}) > 1:
            which = ", ".join(files[:_SHOWN]) + (", ..." if len(files) > _SHOWN else "")
            return NoRunbook(Gap.AMBIGUOUS, f"{named}, which may be {which}; choose one with --map")
        around = tuple(self._around(target, alert.name) for target in targets)
        return Runbook(targets, by, () if around == targets else around)

    def _why_none(self, link: Link) -> str:
        candidates = self._by_stem.get(link.stem, ()) if link.parts else ()
        elsewhere = [name for name in candidates if contradicts(link, name, self._root)][:_SHOWN]
        hint = f"; another folder has {', '.join(elsewhere)}" if elsewhere else ""
        return f"no document in {self._documents.root} matches that{hint}"

    def _best(self, link: Link) -> list[str]:
        """Return the files that match a link best; several only if they match equally well."""
        for address in link.addresses:
            if address in self._addresses:
                return self._addresses[address]
        if not link.parts:
            return []
        candidates = self._by_stem.get(link.stem, [])
        fits = [(found, name) for name in candidates if (found := fit(link, name, self._root))]
        best = max((found for found, _ in fits), default=None)
        return [name for found, name in fits if found == best]

    def _at(self, name: str, anchor: str) -> list[Target]:
        sections = self._page(name)[1]
        found = [section for section in sections if section.is_at(anchor)][:1]
        found = found or [section for section in sections if fold(anchor) in section.names]
        return [Target(name, section.lines) for section in found]

    def _around(self, target: Target, alert_name: str) -> Target:
        """Return where the steps may be if a link leads to a section that every runbook has, such as Symptoms.

        That is the section around it, or the document; otherwise it is the section itself, since those beside it
        are for other alerts.
        """
        if target.lines is None:
            return target
        first, last = target.lines
        sections = self._page(target.source_file)[1]
        above = [it for it in sections if it.lines[0] <= first and it.lines[1] >= last]
        if fold(alert_name) in fold(above[-1].heading):
            return target
        # of the headings above, the first one is the title, which doesn't indicate the kind
        titles = sections[:1] if len(above) > 1 else ()
        around = [it for it in above if it in titles or not names_only_kind(it.heading)]
        return Target(target.source_file, around[-1].lines if around else None)

    def _anchored(self, anchor: str, alert_name: str) -> tuple[Target, ...]:
        """Return the sections that an anchor means, wherever they are, if it has the alert's name."""
        if not fold(alert_name) or fold(alert_name) not in fold(anchor):
            return ()
        return self._headings.get(fold(alert_name), ())

    def _named(self, alert_name: str) -> tuple[Target, ...]:
        """Return the documents and sections with an alert's name."""
        names = (fold(alert_name), fold(_LOGICAL_ID_HASH.sub("", alert_name)))
        for name in filter(None, dict.fromkeys(names)):
            files = [file for file in self._by_stem.get(name, ()) if self._may_be_runbook(file)]
            targets = [Target(file) for file in files if folded_parts(file)[-1] == name]
            whole = {target.source_file for target in targets}
            sections = self._headings.get(name, ())
            targets += [target for target in sections if target.source_file not in whole]
            # as in `ask`: a document with the alert's name precedes one that only lists the alert
            targets = targets or [Target(file) for file in self._filed_under(name)]
            if targets:
                return tuple(targets)
        return ()

    def _filed_under(self, alert_name: str) -> Iterator[str]:
        """Yield the documents that list an alert's name, as `ask` determines it."""
        for file in sorted(self._documents.sha256):
            document = self._page(file)[0]
            alerts = listed_in(ALERTS, document.front_matter)
            if self._may_be_runbook(file) and is_under(alert_name, alerts, document.title, file):
                yield file

    @cached_property
    def _headings(self) -> dict[str, tuple[Target, ...]]:
        """All sections by their names, except those of postmortems."""
        found: defaultdict[str, list[Target]] = defaultdict(list)
        for file in sorted(self._documents.sha256):
            if self._may_be_runbook(file):
                for section in self._page(file)[1]:
                    for name in section.names:
                        found[name].append(Target(file, section.lines))
        return {name: tuple(targets) for name, targets in found.items()}

    @cached_property
    def _addresses(self) -> dict[str, list[str]]:
        """All documents with a source URL, by its address."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for file in sorted(self._documents.sha256):
            url = self._page(file)[0].front_matter.get(SOURCE_URL)
            if isinstance(url, str):
                for address in Link.of(url).addresses[:1]:
                    found[address].append(file)
        return dict(found)

    def _may_be_runbook(self, name: str) -> bool:
        """Whether it may be a runbook without a link: an incident report may not."""
        return self._page(name)[0].document_type is not DocumentType.POSTMORTEM

    def _page(self, name: str) -> tuple[Document, tuple[Section, ...]]:
        if name not in self._pages:
            extracted = read_extracted(self._documents.files[name])
            self._pages[name] = extracted.document, sections_of(extracted.shape or extracted.text)
        return self._pages[name]


def read_map(path: Path) -> dict[str, str]:
    """Read a map of alerts to files, YAML or JSON, or raise :exc:`InvalidRequest` with the line."""
    documents = read_yaml(read_text(path, MAX_BYTES), str(path))
    mapping: dict[str, str] = {}
    for document in documents:
        if document.kind != "mapping":
            raise InvalidRequest(
                f"{path}:{document.place.line}: a map has entries `AlertName: file#heading`"
            )
        for alert, node in document.entries.items():
            if not node.text:
                raise InvalidRequest(f"{path}:{node.place.line}: {alert[:80]!r} has no file")
            mapping[alert] = node.text
    return mapping
