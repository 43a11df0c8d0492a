"""Procedures as Agent Skills: one ``SKILL.md`` for each runbook, or for each alert of a page with several.

A host lists many skills by name and description and loads one. Its body is the same as an answer of ``ask``: the
procedure in its author's order, each step with its lines. The bytes depend only on the documents. Secrets are
masked; lint finds text aimed at a model in a skill's lines and description, and the caller decides.

:func:`find_skill` finds the one for an alert, by the search and the choice of every answer.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.channel.markdown import rewritten, words
from knowledge_rag.channel.message import evidence_line, masked, one_line, outcome_line
from knowledge_rag.core.chunks import SKILL_FILE, DocumentType, split_words
from knowledge_rag.core.findings import CAUTIONS
from knowledge_rag.core.metadata import DOCUMENT_SHA256
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.core.tokens import token_bound
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
from knowledge_rag.orchestrator.wording import UNCLEAR, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.extract.lint.patterns import Finding
    from knowledge_rag.local.knowledge_base import KnowledgeBaseDocuments
    from knowledge_rag.orchestrator.outline import Outline, Section
    from knowledge_rag.orchestrator.procedures import Procedure

MAX_NAME: Final = 64
"""Maximum characters of a name, by the Agent Skills specification: lower-case letters, digits and single hyphens."""
MAX_DESCRIPTION: Final = 1_024
MAX_TOKENS: Final = 500
"""Default maximum tokens of an answer, see :func:`~knowledge_rag.core.tokens.token_bound`."""

MAX_SKILLS: Final = 5
"""Maximum skills that are named."""

_SHOWN: Final = 100
"""Maximum characters of a skill's description when there are several."""
_BY_WORDS: Final = frozenset({"", "found"})
"""Reasons for choosing a procedure other than a name or a link."""

_TAG: Final = 6
"""Hexadecimal digits that distinguish skills of the same name."""
_MAX_SYMPTOMS: Final = 400
_MAX_ALERTS: Final = 10
_MIN_ALERTS: Final = 2
"""Minimum number of sections named after alerts for a page to have a skill for each."""

_RECENT: Final = 10
"""Documents whose skills are cached: search results are often in the same few."""
_PAGE: Final = 200
"""Documents read from the knowledge base at once."""
_MORE: Final = "... and more. `skills find` searches all of them by an alert's text."
_FLAGGED: Final = "lint found text aimed at a model"

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


@dataclass(frozen=True)
class Skill:
    """A procedure as a skill; its name is unique in its knowledge base.

    Args:
        section: of its steps; the root of the outline for a page.
        passages: all of the document, proven.
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
        """Its runbook."""
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
    def place(self) -> str:
        """``FILE:FIRST-LAST`` of its section."""
        return f"{self.source_file}:{self.start}-{self.end}"

    @property
    def front_matter(self) -> dict[str, Any]:
        """The front matter, as a host parses it."""
        source = {"source": self.place}
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
        body += rewritten(kept, levels=-1)  # the title is the page's
        return neutralise("\n".join(body).rstrip("\n")) + "\n"


class Skills:
    """The skills of a knowledge base, each created on demand.

    A name that headings or titles of two documents could share gets a tag from the document's path, in both. So a name
    neither depends on the other skills nor is ambiguous.
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
        text = outline.text(1, max(outline.lines))
        lint = cache(partial(lint_text, source_file, text))
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
            name = slug if is_own else _tagged(slug, source_file, skill.heading, numbers[slug])
            named.append(replace(skill, name=name))
        return tuple(sorted(named, key=lambda it: it.start))


def _of_alerts(outline: Outline) -> list[Section]:
    """Return the sections that become skills of their own."""
    named = [
        it
        for it in outline.sections()
        if it.level > 0
        and is_camel_case(it.heading.strip(" `*:"))
        and asks_for_something(outline, it)
    ]
    return named if len(named) >= _MIN_ALERTS else []


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


def _tagged(slug: str, source_file: str, heading: str, number: int) -> str:
    """Return a name that no other document can have."""
    place = json.dumps([source_file, heading, number], ensure_ascii=False)
    cut = slug[: MAX_NAME - _TAG - 1].rstrip("-") or "runbook"
    return f"{cut}-{hashlib.sha256(place.encode()).hexdigest()[:_TAG]}"


def _description(outline: Outline, procedures: Sequence[Procedure], heading: str) -> str:
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


# the skill for an alert


@dataclass(frozen=True, slots=True)
class Found:
    """The skills for an alert, most likely first.

    Args:
        status: with ``ok``, the first one should be loaded, or, if lint found text aimed at a model in it, a person
            should read its lines; ``no_match`` if none is certain or nothing is documented.
        is_documented: whether each of the skills is a candidate, and not just the closest.
        said: how good the evidence is, or why there is no skill.
    """

    status: Status
    skills: tuple[Skill, ...]
    is_documented: bool
    said: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        named = [described(it) for it in self.skills]
        given = named[: self.status is Status.OK]
        others = named[len(given) :]
        key = "read" if given and self.skills[0].flagged else "load"
        return {
            "status": self.status.value,
            "reasoning": self.said,
            **({key: given[0]} if given else {}),
            "could_be": others if self.is_documented else [],
            "closest": [] if self.is_documented else others,
        }


def find_skill(consultation: Consultation, skills: Skills) -> Found:
    """Return the skills for a consultation's choice and results.

    One should be loaded if the alert's name or link decides it, or if the chosen procedure and the best passage are in
    the same one. Otherwise the possible skills are named, or a statement that nothing is documented.
    """
    given = consultation.recommendation
    whole = given.to_dict()
    said = one_line(f"{outcome_line(whole)} {evidence_line(whole)}")
    passages = [
        it.citation for one in consultation.findings.asked[:1] for it in one.outcome.results
    ]
    reading = [it.citation for it in given.reading]
    if given.status is not Status.OK or not given.guidance:
        made = _skills_at((*passages, *reading) if given.meant else (*reading, *passages), skills)
        return Found(given.status, made, bool(given.meant), said)
    chosen = given.guidance[0].citations[0].citation
    plan = consultation.findings.plan
    is_decided = plan is not None and not _BY_WORDS & {block.why for block in plan.blocks}
    made = _skills_at((chosen, *passages) if is_decided else (*passages, chosen), skills)
    own = {it.name for it in _skills_at((chosen,), skills)}
    if made and (is_decided or made[0].name in own):
        return Found(Status.OK, made, is_documented=True, said=said)
    return Found(Status.NO_MATCH, made, is_documented=True, said=UNCLEAR)


def _skills_at(places: Iterable[Citation], skills: Skills) -> tuple[Skill, ...]:
    made: dict[str, Skill] = {}
    for at in places:
        if skill := skills.at(at.source_file, at.start_line, at.end_line):
            made.setdefault(skill.name, skill)
    return tuple(itertools.islice(made.values(), MAX_SKILLS))


@dataclass(frozen=True, slots=True)
class Listing:
    """As many skills as fit, one per line; ``refused`` are those in which lint found text aimed at a model."""

    lines: tuple[str, ...]
    names: tuple[str, ...]
    refused: tuple[str, ...]
    is_whole: bool

    @property
    def text(self) -> str:
        """The lines, and a note if there are more skills."""
        return "\n".join((*self.lines, *(() if self.is_whole else (_MORE,)))) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        refused = {"refused": list(self.refused)} if self.refused else {}
        return {"skills": list(self.names), **refused, "complete": self.is_whole}


def listing(skills: Iterable[Skill], max_tokens: int) -> Listing:
    """List as many skills as fit in ``max_tokens``."""
    left = max_tokens - token_bound(_MORE) - 1
    lines: list[str] = []
    names: list[str] = []
    refused: list[str] = []
    for skill in skills:
        mark = f" (for a person to read: {_FLAGGED})" if skill.flagged else ""
        line = neutralise(f"{skill.name}: {skill.source_file}{mark}")
        left -= token_bound(f"{line}\n")
        if left < 0:
            return Listing(tuple(lines), tuple(names), tuple(refused), is_whole=False)
        lines.append(line)
        (refused if skill.flagged else names).append(skill.name)
    return Listing(tuple(lines), tuple(names), tuple(refused), is_whole=True)


def described(skill: Skill) -> dict[str, Any]:
    """Return the data with which a host loads a skill."""
    return {
        "name": skill.name,
        "description": "" if skill.flagged else skill.description,
        "source_file": skill.source_file,
        "start_line": skill.start,
        "end_line": skill.end,
        "digest": f"sha256:{skill.digest}",
        "flagged": sorted({it.kind.value for it in skill.flagged}),
    }


def in_words(it: Found, max_tokens: int = MAX_TOKENS) -> str:
    """Return the result as text of at most ``max_tokens``.

    The skill to load comes first, then its procedure, whole or not at all, then as many others as fit.
    """
    lines, others = [it.said], it.skills
    if it.status is Status.OK:
        first, *rest = it.skills
        others = tuple(rest)
        lines = [it.said, _refused(first)] if first.flagged else _loaded(first, it.said, max_tokens)
        heading = "If it is not that:"
    else:
        heading = "It could be:" if it.is_documented else "Closest, to read, not to follow:"
    kept = _fitting([*lines, "", heading], [_other(one) for one in others], max_tokens)
    return neutralise("\n".join(kept or lines)) + "\n"


def _fitting(lines: Sequence[str], others: Sequence[str], most: int) -> list[str]:
    """Return lines with as many others as fit; nothing if none do."""
    kept = [*lines]
    for line in others:
        if _cost((*kept, line)) > most:
            break
        kept.append(line)
    return kept if len(kept) > len(lines) else []


def _cost(lines: Iterable[str]) -> float:
    return token_bound("".join(f"{line}\n" for line in lines))


def _loaded(skill: Skill, said: str, max_tokens: int) -> list[str]:
    """Return the skill to load, and its procedure if it fits."""
    lines = [f"Load the skill {skill.name} ({skill.place}).", said]
    whole = [*lines, "", skill.body.rstrip("\n")]
    if (needed := math.ceil(_cost(whole))) <= max_tokens:
        return whole
    return [*lines, f"Its procedure doesn't fit in {max_tokens} tokens: it takes {needed}."]


def _refused(skill: Skill) -> str:
    """Return why a skill can't be loaded, and where a person can read it; nothing of its text."""
    found = skill.flagged[0]
    return f"A person has to read {skill.place}: {_FLAGGED} in it (line {found.line}: {found.message})."


def _other(skill: Skill) -> str:
    if skill.flagged:
        return f"- {_refused(skill)}"
    said = skill.description
    short = said if len(said) <= _SHOWN else said[:_SHOWN].rpartition(" ")[0] + " ..."
    return f"- {skill.name} ({skill.place}): {short}"
