"""Procedures as Agent Skills: one ``SKILL.md`` for each runbook, or for each alert of a page with several.

A host lists many skills by name and description and loads one. Its body is the same as an answer of ``ask``: the
procedure in its author's order, each step with its lines. The bytes depend only on the documents. Secrets are
masked; lint finds text aimed at a model in a skill's lines and description, and the caller decides.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.channel.markdown import rewritten, words
from knowledge_rag.channel.message import masked, one_line
from knowledge_rag.core.chunks import SKILL_FILE, DocumentType, split_words
from knowledge_rag.core.findings import CAUTIONS
from knowledge_rag.core.metadata import DOCUMENT_SHA256
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.extract.lint.check import lint_text
from knowledge_rag.orchestrator.choosing import is_superseded
from knowledge_rag.orchestrator.composition import state
from knowledge_rag.orchestrator.consultation import Consultation, answer_parts
from knowledge_rag.orchestrator.cross_references import links_out
from knowledge_rag.orchestrator.extent import procedures_at, top_of, with_rules
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.links import stem
from knowledge_rag.orchestrator.naming import is_camel_case, listed_names
from knowledge_rag.orchestrator.outline import outline_of
from knowledge_rag.orchestrator.planning import Block, Plan, with_elsewhere
from knowledge_rag.orchestrator.procedures import asks_for_something, introduction_of, procedure_of
from knowledge_rag.orchestrator.retrieval import Asked, Findings
from knowledge_rag.orchestrator.wanted import Place, Wanted
from knowledge_rag.orchestrator.wording import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.extract.lint.patterns import Finding
    from knowledge_rag.local.knowledge_base import KnowledgeBaseDocuments
    from knowledge_rag.orchestrator.outline import Outline, Section
    from knowledge_rag.orchestrator.procedures import Procedure

MAX_NAME: Final = 64
"""Maximum characters of a name, by the Agent Skills specification: lower-case letters, digits and single hyphens."""
MAX_DESCRIPTION: Final = 1_024
_TAG: Final = 6
"""Hexadecimal digits that distinguish skills of the same name."""
_MAX_SYMPTOMS: Final = 400
_MAX_ALERTS: Final = 10
_MIN_ALERTS: Final = 2
"""Minimum number of sections named after alerts for a page to have a skill for each."""

_NO_NAME: Final = re.compile(r"[^a-z0-9]+")
_PLAIN_NAME: Final = re.compile(r"(?!(?:null|true|false|yes|no|on|off|y|n)$)[a-z].*")
"""Names that YAML reads as text without quotes."""
_SYMPTOMS: Final = re.compile(
    r"symptom|signs?\b|meaning|anzeichen|síntoma|симптом|症状|증상", re.IGNORECASE
)
_MARKS: Final = re.compile(r"^[ \t]*(?:[-+>#]+|\d+[.)])[ \t]+|\*|`", re.MULTILINE)
_NAVIGATION: Final = re.compile(r"[^|›»·.]{1,30}(?: [|›»·] [^|›»·.]{1,30}){2,}")
"""A page's links to others: "Home | Spaces | People"."""
_MARKUP: Final = re.compile(r"<([^<>]*+)>")
"""Text in a description that a host would read as a tag."""
_NESTED: Final = 3
"""Maximum depth of nested tags; in deeper ones, all angle brackets are removed."""
_ROUND: Final = str.maketrans("<>", "()")
_LIKE_TAGGED: Final = re.compile(r"(?:.*-)?[0-9a-f]{6}")
"""A name that could be another document's with its tag."""
_HEADING_LEVELS: Final = -1
"""Levels by which the answer's headings are raised: the title is the page's."""


@dataclass(frozen=True)
class Skill:
    """A procedure as a skill.

    Args:
        name: unique in its knowledge base.
        heading: of its section or page.
        section: of its steps; the root for a page.
        outline: of its document.
        passages: all of that document, proven.
        left_out: sections that are skills of their own.
        lint: returns the findings in the document, which are computed once for all of its skills.
    """

    name: str
    heading: str
    section: Section = field(repr=False)
    outline: Outline = field(repr=False)
    passages: Sequence[RetrievalResult] = field(repr=False)
    left_out: Sequence[Section] = field(repr=False)
    lint: Callable[[], Sequence[Finding]] = field(repr=False)

    @cached_property
    def procedures(self) -> Sequence[Procedure]:
        """Its procedures; the first one names sections in other documents that it refers to. Empty without steps."""
        outline, section = self.outline, self.section
        if section is not outline.root:
            made = procedures_at(Place(outline, section), Wanted())
        else:
            page = procedure_of(outline, section, leave_out=self.left_out)
            made = [with_rules(outline, section, page)] if page else []
        if not made:
            return ()
        return with_elsewhere(outline, made, links_out(outline, made[0]), {}, Wanted())

    @property
    def source_file(self) -> str:
        """The runbook."""
        return self.outline.source_file

    @property
    def start(self) -> int:
        """First line of its section."""
        return max(self.section.start, min(self.outline.lines))

    @property
    def end(self) -> int:
        """Last line of its section, inclusive."""
        return self.section.end

    @cached_property
    def lines(self) -> frozenset[int]:
        """Numbers of its runbook's lines with its steps."""
        own = (it for it in self.procedures if it.source_file == self.source_file)
        ranges = (range(it.start, it.end + 1) for one in own for it in one.items)
        return frozenset(itertools.chain.from_iterable(ranges))

    @cached_property
    def description(self) -> str:
        """Its purpose in one line: title, alert names, symptoms; at most MAX_DESCRIPTION characters."""
        return _description(self.outline, self.procedures, self.heading)

    @property
    def front_matter(self) -> dict[str, Any]:
        """The front matter, as a host parses it."""
        source = {"source": f"{self.source_file}:{self.start}-{self.end}"}
        digest = self.passages[0].metadata.get(DOCUMENT_SHA256)
        known = {"document_sha256": digest} if isinstance(digest, str) else {}
        return {"name": self.name, "description": self.description, "metadata": source | known}

    @cached_property
    def data(self) -> bytes:
        """The bytes of its file."""
        fields = [
            f"name: {self.name if _PLAIN_NAME.fullmatch(self.name) else _scalar(self.name)}",
            f"description: {_scalar(self.description)}",
            "metadata:",
            *(f"  {key}: {_scalar(it)}" for key, it in self.front_matter["metadata"].items()),
        ]
        return "\n".join(("---", *fields, "---", "", self.body)).encode()

    @property
    def digest(self) -> str:
        """The SHA-256 of its file, in hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def flagged(self) -> tuple[Finding, ...]:
        """Lint findings aimed at a model, in its lines and its description."""
        own = {number for it in self.procedures for number in it.lines}
        shown = [it for it in self.lint() if not own.isdisjoint(range(it.line, it.end_line + 1))]
        shown += lint_text(f"{self.name}/{SKILL_FILE}", self.description)
        return tuple(it for it in shown if it.kind in CAUTIONS)

    @cached_property
    def body(self) -> str:
        """Its Markdown below the front matter."""
        found = RetrievalOutcome(Status.OK, tuple(self.passages))
        plan = Plan((Block(procedures=tuple(self.procedures), why="chosen"),))
        findings = Findings((Asked(Query(self.source_file), found),), plan=plan)
        recommendation = state(Incident(), findings, "extractive")
        parts, _ = answer_parts(Consultation(recommendation, findings))
        kept = [it if it.get("citations") else {"text": masked(it["text"])} for it in parts[1:]]
        warnings = [f"> {words(one_line(it.message))}\n" for it in recommendation.warnings]
        about = f"From {words(self.source_file)}. Each step ends with its lines there.\n"
        body = [f"# {words(one_line(self.heading))}\n", about, *warnings]
        body += rewritten(kept, levels=_HEADING_LEVELS)
        return neutralise("\n".join(body).rstrip("\n")) + "\n"


class Skills:
    """The skills of a knowledge base, each created on demand.

    A name that headings or titles of two documents could share gets a tag from the document's path, in both. So a name
    neither depends on the other skills nor is ambiguous.

    Args:
        documents: of the knowledge base.
    """

    def __init__(self, documents: KnowledgeBaseDocuments) -> None:
        self._documents = documents
        used: defaultdict[str, set[str]] = defaultdict(set)
        for source_file, *headings in documents.headings():
            for heading in (*headings, stem(source_file)):
                used[_slug(heading)].add(source_file)
        self._shared = frozenset(name for name, files in used.items() if len(files) > 1)
        self._recent = lru_cache(_RECENT)(self._named)

    def __iter__(self) -> Iterator[Skill]:
        """Yield all skills, by document and line."""
        return self.after("")

    def after(self, source_file: str) -> Iterator[Skill]:
        """Yield the skills of the documents whose paths sort after one, by document and line."""
        while page := self._documents.after(source_file, _PAGE):
            for document in page:
                yield from self.of(document.source_file)
            source_file = page[-1].source_file

    def of(self, source_file: str) -> tuple[Skill, ...]:
        """Return a document's skills in line order; none for a postmortem, or without steps."""
        return tuple(it for it in self._named(source_file) if it.procedures)

    def at(self, source_file: str, start: int, end: int) -> Skill | None:
        """Return the skill of the innermost section with any of these lines; ``None`` if there is none."""
        around = (it for it in self._recent(source_file) if start <= it.end and it.start <= end)
        narrowest = sorted(around, key=lambda it: it.end - it.start)
        return next((it for it in narrowest if it.procedures), None)

    def _named(self, source_file: str) -> tuple[Skill, ...]:
        """Return a document's skills in line order, and sections named after alerts that have no steps."""
        passages = self._documents.passages(source_file)
        if not passages:
            return ()
        outline = outline_of(passages, whole=True)
        if outline.document_type == DocumentType.POSTMORTEM or is_superseded(outline):
            return ()
        sections = _of_alerts(outline)
        lint = cache(partial(_linted, outline))
        made = [Skill("", it.heading, it, outline, passages, (), lint) for it in sections]
        title = outline.title or stem(source_file)
        rest = Skill("", title, outline.root, outline, passages, sections, lint)
        if rest.procedures:
            made.append(rest)
        often = Counter(_slug(it.heading) for it in made)
        numbers: Counter[str] = Counter()
        named = []
        for skill in made:
            slug = _slug(skill.heading)
            numbers[slug] += 1
            is_own = (
                often[slug] == 1 and slug not in self._shared and _needs_no_tag(skill.heading, slug)
            )
            tag = "" if is_own else _tag(source_file, skill.heading, numbers[slug])
            named.append(replace(skill, name=_name(slug, tag)))
        return tuple(sorted(named, key=lambda it: it.start))


_RECENT: Final = 10
"""Documents whose skills are cached: search results are often in the same few."""
_PAGE: Final = 200
"""Documents read from the knowledge base at once."""


def _linted(outline: Outline) -> tuple[Finding, ...]:
    text = outline.text(1, max(outline.lines))
    return lint_text(outline.source_file, text)


def _of_alerts(outline: Outline) -> list[Section]:
    """Return the sections that become skills of their own."""
    named = [it for it in outline.sections() if _is_alert(it) and asks_for_something(outline, it)]
    return named if len(named) >= _MIN_ALERTS else []


def _is_alert(section: Section) -> bool:
    return section.level > 0 and is_camel_case(section.heading.strip(" `*:"))


# names and descriptions


def _slug(heading: str) -> str:
    """Return a heading as a name.

    >>> _slug("KubePodCrashLooping"), _slug("ElastiCache: Redis memory")
    ('kube-pod-crash-looping', 'elasticache-redis-memory')
    """
    split = (split_words(it) if is_camel_case(it) else it for it in masked(heading).split())
    return _NO_NAME.sub("-", " ".join(split).lower()).strip("-")


def _needs_no_tag(heading: str, slug: str) -> bool:
    """Whether a name needs no tag: it has all of its heading, uncut and unmasked, and doesn't end in a tag."""
    if _LIKE_TAGGED.fullmatch(slug) or masked(heading) != heading:
        return False
    kept = sum(map(str.isalnum, slug))
    return 0 < len(slug) <= MAX_NAME and kept * 2 > sum(map(str.isalnum, heading))


def _tag(source_file: str, heading: str, number: int) -> str:
    place = json.dumps([source_file, heading, number], ensure_ascii=False)
    return hashlib.sha256(place.encode()).hexdigest()[:_TAG]


def _name(slug: str, tag: str) -> str:
    if not tag:
        return slug
    cut = slug[: MAX_NAME - _TAG - 1].rstrip("-") or "runbook"
    return f"{cut}-{tag}"


def _description(outline: Outline, procedures: Sequence[Procedure], heading: str) -> str:
    """Return a skill's purpose in one line: title, alert names, symptoms."""
    title = outline.title if outline.title and outline.title != heading else ""
    said = [": ".join(filter(None, (title, heading)))]
    path = procedures[0].path
    others = [it for it in _of_alerts(outline) if it.path[: len(path)] == path and it.path != path]
    sections = [
        it
        for it in outline.sections()
        if it.path[: len(path)] == path and not any(other.holds(it) for other in others)
    ]
    names = (*outline.alerts, *(name for it in sections for name in listed_names(outline, it)))
    if alerts := list(dict.fromkeys(it for it in names if it != heading))[:_MAX_ALERTS]:
        said.append(f"For the alert{'s' if len(alerts) > 1 else ''} {listed(alerts)}")
    told = (_words_of(outline, it) for it in sections if _SYMPTOMS.search(it.heading))
    opener = sections[0] if path else top_of(outline)
    said_first = (_said(it.text) for it in introduction_of(outline, opener))
    opening = " ".join(it for it in said_first if not _NAVIGATION.fullmatch(it))
    symptoms = next(filter(None, told), opening)
    if symptoms:
        said.append(_shortened(symptoms, _MAX_SYMPTOMS))
    line = ". ".join(it.rstrip(" .:") for it in said if it) + "."
    return _shortened(one_line(line), MAX_DESCRIPTION)


def _words_of(outline: Outline, section: Section) -> str:
    return " ".join(_said(outline.text(it.start, it.end)) for it in section.blocks)


def _said(text: str) -> str:
    return " ".join(_MARKS.sub("", text).split())


def _shortened(text: str, most: int) -> str:
    """Cut a text between words; quotes become those that no YAML parser has to unescape."""
    for _ in range(_NESTED):
        text = _MARKUP.sub(r"(\1)", text)
    if _MARKUP.search(text):
        text = text.translate(_ROUND)
    plain = text.replace('"', "'").replace("\\", "/").strip()
    if len(plain) <= most:
        return plain
    return plain[: most - 4].rpartition(" ")[0].rstrip(" ,;:.") + " ..."


_NOT_IN_YAML: Final = re.compile("[\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")


def _scalar(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
