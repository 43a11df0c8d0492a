"""The advisory format, described by ``schemas/recommendation.schema.json`` and docs/recommendation.md."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.headings import Kind
from knowledge_rag.core.outcome import Status
from knowledge_rag.guardrails.support.report import Verdict
from knowledge_rag.orchestrator.wording import NO_MATCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.core.outcome import Reason
    from knowledge_rag.guardrails.rules import Kind as WordingKind
    from knowledge_rag.orchestrator.governing import Governs
    from knowledge_rag.orchestrator.procedures import NotShown, Part, Procedure

AGENT_ID: Final = "knowledge-rag"
"""Key of this agent's output in a graph's state."""

MAX_STEPS: Final = 200
"""Maximum steps; further ones are named by their lines."""

MAX_SIMILAR: Final = 30

PART_MISSING: Final = "part of it is not shown"
"""Why the evidence for a procedure that isn't shown in full is not strong."""

MAX_INCOMPLETE: Final = 0.5
"""Maximum confidence if any part of a procedure is missing."""

MAX_WARNINGS: Final = 100


class Shortfall(StrEnum):
    """Why there is no recommendation although the search succeeded."""

    UNVERIFIED_ADVICE = "unverified_advice"
    """The advisor returned steps, but none of them cites lines that retrieval returned."""
    ADVICE_FAILED = "advice_failed"
    """No advisor could write an answer."""


class Concern(StrEnum):
    """Kinds of warnings, in addition to those about an answer's wording."""

    UNCITED_STEPS = "uncited_steps"
    """Steps were left out, since none of their references could be proven."""
    UNSUPPORTED = "unsupported"
    """The cited lines do not say what the step says."""
    NEGATION = "negation"
    """The step denies what the cited lines say, or says what they deny."""
    FILLED_PLACEHOLDER = "filled_placeholder"
    """The cited lines leave a value open that the step fills in."""
    NOT_SHOWN = "not_shown"
    """Lines of a procedure aren't shown."""
    READ_AS = "read_as"
    """How a payload was read."""
    INCOMPLETE_SEARCH = "incomplete_search"
    """A query could not be answered: more may be documented."""
    LINKED_RUNBOOK = "linked_runbook"
    """Nothing from the runbook that the alert links was found, or none of its steps is shown."""
    NOTICE = "notice"
    """A notice from retrieval, such as that all dates found are in the past."""
    SUSPICIOUS_TEXT = "suspicious_text"
    """Cited lines contain text aimed at a model, hidden characters or text that a browser would run."""
    DRIFT = "drift"
    """Cited lines contain a command that its tool no longer accepts."""
    UNREADABLE_STATE = "unreadable_state"
    """Part of the incident's state could not be read."""
    TRUNCATED = "truncated"
    """There was more than fits in a recommendation."""


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning: one sentence, and the step that it is about, if there is a single one."""

    kind: Concern | WordingKind
    message: str
    step: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form."""
        wire: dict[str, Any] = {"kind": self.kind.value, "message": self.message}
        return wire if self.step is None else {**wire, "step": self.step}


@dataclass(frozen=True, slots=True)
class CitedLines:
    """A citation with its hashes, in hexadecimal: of the lines' text, and of the ingested document.

    ``document_sha256`` is ``""`` if retrieval returned none.
    """

    citation: Citation
    text_sha256: str
    document_sha256: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form: the citation's four keys and the known hashes."""
        wire = {**self.citation.to_dict(), "text_sha256": self.text_sha256}
        return wire | ({"document_sha256": self.document_sha256} if self.document_sha256 else {})


@dataclass(frozen=True, slots=True)
class CitedDocument:
    """A document that a recommendation cites, and its freshness, as far as retrieval knows it.

    Args:
        source_file: its path.
        commit: the last one that changed it.
        last_changed: the ISO day of that commit.
        last_reviewed: as stated in the document.
    """

    source_file: str
    commit: str = ""
    last_changed: str = ""
    last_reviewed: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the wire form; unknown values are absent."""
        return {name: value for name, value in asdict(self).items() if value}


class Strength(StrEnum):
    """How good the evidence for a recommendation is."""

    STRONG = "strong"
    """The alert links the procedure, or it is filed under the alert's name; and it is complete."""
    PARTIAL = "partial"
    """Any other procedure, such as one that search found or that lacks a part."""
    THIN = "thin"
    """It may be about something else: check before following it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The strength of a recommendation's evidence, and why, one sentence each."""

    strength: Strength
    reasons: tuple[str, ...] = ()

    def lacking(self, why: str) -> Evidence:
        """Return the evidence of an answer in which something is missing: partial at most."""
        strength = Strength.THIN if self.strength is Strength.THIN else Strength.PARTIAL
        return Evidence(strength, tuple(dict.fromkeys((*self.reasons, why))))

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form."""
        return {"strength": self.strength.value, "reasons": list(self.reasons)}


@dataclass(frozen=True, slots=True)
class Guard:
    """Lines that govern a step: a caution, condition or prohibition, before or after it."""

    text: str
    kind: Governs
    after: bool
    citations: tuple[CitedLines, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form."""
        position = "after" if self.after else "before"
        wire = {"text": self.text, "kind": self.kind.value, "position": position}
        return wire | {"citation": self.citations[0].to_dict()}


@dataclass(frozen=True, slots=True)
class Section:
    """A procedure of a recommendation.

    Args:
        path: headings, outermost first.
        complete: whether everything that its author wants done is shown.
        alert: the alert of a group that it is for; ``""`` if there is only one.
    """

    source_file: str
    path: tuple[str, ...]
    kind: Kind
    start: int
    end: int
    not_shown: tuple[NotShown, ...] = ()
    complete: bool = True
    alert: str = ""

    @classmethod
    def of(cls, procedure: Procedure, not_shown: Sequence[NotShown]) -> Section:
        """Return a procedure's section, with the lines that aren't shown."""
        it, lines = procedure, procedure.lines
        complete = not any(left.is_missed for left in not_shown)
        left = tuple(not_shown)
        return cls(
            it.source_file, it.path, it.kind, min(lines), max(lines), left, complete, it.alert
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form."""
        wire: dict[str, Any] = {
            "source_file": self.source_file,
            "section": list(self.path),
            "kind": self.kind.value,
            "start_line": self.start,
            "end_line": self.end,
            "complete": self.complete,
            "not_shown": [not_shown_dict(it) for it in self.not_shown],
        }
        return wire | ({"alert": self.alert} if self.alert else {})


def not_shown_dict(it: NotShown) -> dict[str, Any]:
    """Return the wire form of lines that aren't shown."""
    wire: dict[str, Any] = {
        "source_file": it.source_file,
        "start_line": it.start,
        "end_line": it.end,
        "reason": it.why.value,
    }
    return wire | ({"heading": it.heading} if it.heading else {})


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do.

    Args:
        action: what to do, in Markdown, without references.
        citations: the lines that say so, at least one, the main one first.
        commands: to run or to look at, one text per code block, verbatim.
        support: whether the cited lines support the step.
        procedure: which of the recommendation's procedures it belongs to, 1-based; 0 for a model's step.
        number: the author's own mark, ``""`` if there is none.
        parts: text and code in the author's order; empty for a model's step.
        destructive: what its commands may destroy, one label each.

    Raises:
        ValueError: there is no action or no citation.
    """

    action: str
    citations: tuple[CitedLines, ...]
    commands: tuple[str, ...] = ()
    support: Verdict = Verdict.NOTHING_TO_CHECK
    procedure: int = 0
    number: str = ""
    kind: Kind = Kind.OTHER
    path: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    guards: tuple[Guard, ...] = ()
    destructive: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.action.strip():
            raise ValueError("a step without an action")
        if not self.citations:
            raise ValueError(f"a step without a citation: {self.action[:60]!r}")

    def to_dict(self, number: int, section: Section | None = None) -> dict[str, Any]:
        """Return the wire form of step ``number``, 1-based, of a procedure, if it belongs to one."""
        wire: dict[str, Any] = {"step": number, "action": self.action}
        if self.commands:
            wire["commands"] = list(self.commands)
        wire |= _cited(self.citations) | {"support": _wire_verdict(self.support)}
        if section is not None:
            wire |= {
                "procedure": self.procedure,
                "kind": self.kind.value,
                "complete": section.complete,
            }
            wire["not_shown"] = [not_shown_dict(it) for it in section.not_shown]
        if self.number:
            wire["number"] = self.number
        if self.guards:
            wire["warnings"] = [it.to_dict() for it in self.guards]
        return wire | ({"destructive": list(self.destructive)} if self.destructive else {})


@dataclass(frozen=True, slots=True)
class SimilarIncident:
    """An earlier incident like this one.

    Args:
        resolution: what resolved it, in Markdown, without references.
        citations: the lines that say so, at least one, the main one first.
        support: whether the cited lines support the resolution.

    Raises:
        ValueError: there is no resolution or no citation.
    """

    resolution: str
    citations: tuple[CitedLines, ...]
    incident_id: str = ""
    support: Verdict = Verdict.NOTHING_TO_CHECK

    def __post_init__(self) -> None:
        if not self.resolution.strip():
            raise ValueError("a similar incident without a resolution")
        if not self.citations:
            raise ValueError(f"a similar incident without a citation: {self.incident_id!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form; ``incident_id`` is null where none is known."""
        wire = {"incident_id": self.incident_id or None, "resolution": self.resolution}
        return wire | _cited(self.citations) | {"support": _wire_verdict(self.support)}


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Advice for an incident, and its evidence.

    Args:
        status: ``ok`` with guidance or a similar incident; ``no_match`` if nothing is documented;
            ``degraded`` if that could not be determined or none of the advice could be proven.
        analysis: the advisor's own words without a source; ``""`` for none.
        confidence: 0..1, computed from the evidence, see docs/recommendation.md; 0 unless ok.
        reason: why it is degraded; else ``None``.
        reading: the closest sections if nothing is documented or the question is ambiguous; never advice.
        meant: names of the procedures that the question may mean, one for each of ``reading``.
        alerts: for each alert of a group, whether anything is documented for it.
        unknown: words of the incident that occur in no cited line, heading or title.
        documents: the cited ones, and how fresh each is.

    Raises:
        ValueError: the arguments contradict each other.
    """

    status: Status
    summary: str
    reasoning: str
    guidance: tuple[Step, ...] = ()
    similar_incidents: tuple[SimilarIncident, ...] = ()
    analysis: str = ""
    confidence: float = 0.0
    warnings: tuple[Warned, ...] = ()
    advisor: str = ""
    reason: Reason | Shortfall | None = None
    procedures: tuple[Section, ...] = ()
    reading: tuple[CitedLines, ...] = ()
    alerts: tuple[tuple[str, Status], ...] = ()
    unknown: tuple[str, ...] = ()
    meant: tuple[str, ...] = ()
    evidence: Evidence | None = None
    documents: tuple[CitedDocument, ...] = ()

    def __post_init__(self) -> None:
        given = bool(self.guidance or self.similar_incidents or self.procedures)
        if given != (self.status is Status.OK):
            raise ValueError(f"{self.status} with {len(self.guidance)} steps")
        if (self.reason is not None) != (self.status is Status.DEGRADED):
            raise ValueError(f"{self.status} with reason {self.reason}")
        if not 0.0 <= self.confidence <= (1.0 if given else 0.0):
            raise ValueError(f"{self.status} with confidence {self.confidence}")
        if len(self.guidance) > MAX_STEPS or len(self.similar_incidents) > MAX_SIMILAR:
            raise ValueError(f"more than {MAX_STEPS} steps or {MAX_SIMILAR} similar incidents")
        if len(self.warnings) > MAX_WARNINGS:
            raise ValueError(f"more than {MAX_WARNINGS} warnings")
        if not self.summary.strip() or not self.reasoning.strip():
            raise ValueError("a recommendation without a summary or reasoning")
        if (self.summary == NO_MATCH) != (self.status is Status.NO_MATCH):
            raise ValueError(f"{self.status} with summary {self.summary!r}")

    @property
    def shown(self) -> list[Citation]:
        """All cited lines."""
        cited = [step.citations for step in self.guidance]
        cited += [guard.citations for step in self.guidance for guard in step.guards]
        cited += [similar.citations for similar in self.similar_incidents]
        return [it.citation for lines in (*cited, self.reading) for it in lines]

    @property
    def left_out(self) -> tuple[Section, ...]:
        """Procedures without any step here, since they don't fit in the token limit."""
        given = {step.procedure for step in self.guidance}
        return tuple(it for n, it in enumerate(self.procedures, start=1) if n not in given)

    def section_of(self, step: Step) -> Section | None:
        """Return the procedure that a step belongs to; ``None`` for a model's own step."""
        return self.procedures[step.procedure - 1] if step.procedure else None

    def to_dict(self) -> dict[str, Any]:
        """Return the advisory format of ``schemas/recommendation.schema.json``."""
        wire: dict[str, Any] = {"agent_id": AGENT_ID, "status": self.status.value}
        if self.reason is not None:
            wire["reason"] = self.reason.value
        wire["recommendation"] = {
            "summary": self.summary,
            "guidance": [
                step.to_dict(number, self.section_of(step))
                for number, step in enumerate(self.guidance, 1)
            ],
            "similar_incidents": [similar.to_dict() for similar in self.similar_incidents],
        }
        more: dict[str, Any] = {
            "procedures": [it.to_dict() for it in self.procedures],
            "reading": [it.to_dict() for it in self.reading],
            "meant": list(self.meant),
            "alerts": [{"alert": name, "status": status.value} for name, status in self.alerts],
            "unknown_words": list(self.unknown),
        }
        wire["recommendation"] |= {key: value for key, value in more.items() if value}
        if self.evidence is not None:
            wire["evidence"] = self.evidence.to_dict()
        if self.analysis:
            wire["analysis"] = self.analysis
        wire |= {"confidence": self.confidence, "reasoning": self.reasoning}
        if self.documents:
            wire["documents"] = [document.to_dict() for document in self.documents]
        wire["warnings"] = [warned.to_dict() for warned in self.warnings]
        return wire | ({"advisor": self.advisor} if self.advisor else {})


def _cited(citations: tuple[CitedLines, ...]) -> dict[str, Any]:
    first, *further = (lines.to_dict() for lines in citations)
    return {"citation": first} | ({"further_citations": further} if further else {})


def _wire_verdict(verdict: Verdict) -> str:
    return verdict.value.replace(" ", "_")
