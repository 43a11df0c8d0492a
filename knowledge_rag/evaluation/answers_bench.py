"""Recommendations for labelled alerts: are their steps from the documents that answer them, and exact?

Each alert goes the whole way that an incident does, from three queries to lifted steps, and every line
that a step or a similar incident cites is read from disk again.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from knowledge_rag.core.outcome import Status
from knowledge_rag.evaluation.timing import percentiles
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.incident import Incident

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.evaluation.datasets import Row as Labelled
    from knowledge_rag.evaluation.evaluation_corpus import CitationCheck
    from knowledge_rag.local.ingest import Progress
    from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
    from knowledge_rag.orchestrator.recommendation import CitedLines, Recommendation

ALL: Final = "all"
_SITE: Final = "https://runbooks.example"
ENOUGH: Final = 3
"""Steps that a person on call can begin with."""


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one file of alerts, or of all; shares are 0..1.

    Args:
        name: of the file.
        alerts: how many.
        answered: share that got a recommendation.
        first: share whose first step is from a document (or lines) that answers the alert.
        any: share with any such step.
        enough: share with ENOUGH such steps.
        steps: given, all in all.
        right: share of them that are from such a document.
        cited: lines that are cited, in ranges, all in all.
        exact: share of the ranges that are on disk what they were cited for, byte for byte.
        p50_ms: an alert's time at the median.
    """

    name: str
    alerts: int
    answered: float
    first: float
    any: float
    enough: float
    steps: int
    right: float
    cited: int
    exact: float
    p50_ms: float


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of each alert beside its text.

    Args:
        name: its name, as it is to whoever is paged.
        link: one to the first document that answers it, as most alerts carry.
    """

    name: bool = True
    link: bool = False


@dataclass(frozen=True, slots=True)
class AnswersReport:
    """A run of the benchmark.

    Args:
        rows: one a file of alerts, then all of them together.
        known: of the alerts.
    """

    rows: tuple[Row, ...]
    known: Known

    @property
    def reached(self) -> bool:
        """Whether every citation is exact, which nothing less than all will do for."""
        return all(row.exact == 1 for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON form."""
        return asdict(self) | {"reached": self.reached}


_NAME_ALONE: Final = Known()


def run_answers_bench(
    retrieval: BoundedRetrieval,
    labelled: Sequence[Labelled],
    check: CitationCheck,
    progress: Progress,
    known: Known = _NAME_ALONE,
) -> AnswersReport:
    """Get a recommendation for every alert, with the advisor that needs no model.

    Args:
        retrieval: the way to the knowledge base.
        labelled: the alerts and what answers them, at least one.
        check: reads cited lines from disk.
        progress: called before each alert.
        known: of the alerts beside their texts.
    """
    incidents = [_incident(row, known) for row in labelled]
    answers = asyncio.run(_answers(retrieval, labelled, incidents, progress))
    datasets = dict.fromkeys(row.dataset for row in labelled)
    parts = {name: [it for it in answers if it.labelled.dataset == name] for name in datasets}
    rows = [_row(name, part, check) for name, part in (*parts.items(), (ALL, answers))]
    return AnswersReport(tuple(rows), known)


def as_table(report: AnswersReport) -> Table:
    """Lay a report out for a terminal."""
    named = "with" if report.known.name else "without"
    link = " and a link" if report.known.link else ""
    table = Table(title=f"recommendations for alerts, {named} their names{link}")
    heads = ("alerts", "of", "answered", "first", "any", f"{ENOUGH}+", "steps", "right", "exact")
    for heading in heads:
        table.add_column(heading, justify="left" if heading == "alerts" else "right")
    for row in report.rows:
        shares = (row.answered, row.first, row.any, row.enough)
        told = (f"{share:.0%}" for share in shares)
        table.add_row(
            row.name,
            str(row.alerts),
            *told,
            str(row.steps),
            f"{row.right:.0%}",
            _exactly(row.exact),
        )
    whole = report.rows[-1]
    table.caption = (
        f"first, any, {ENOUGH}+: alerts with such steps from what answers them; right: of the steps."
        f" {whole.cited:,} ranges of lines read from disk again; {whole.p50_ms:.0f} ms an alert"
    )
    return table


@dataclass(frozen=True, slots=True)
class _Answer:
    labelled: Labelled
    given: Recommendation
    seconds: float

    @property
    def right(self) -> list[bool]:
        """Whether each step cites what answers the alert."""
        return [
            any(_answers_it(cited.citation, self.labelled) for cited in step.citations)
            for step in self.given.guidance
        ]

    @property
    def cited(self) -> list[CitedLines]:
        """All that it cites."""
        steps = [cited for step in self.given.guidance for cited in step.citations]
        return steps + [it for past in self.given.similar_incidents for it in past.citations]


def _incident(row: Labelled, known: Known) -> Incident:
    told = {"alert_name": row.alert} if known.name and row.alert else {}
    state: dict[str, Any] = {"incident": {**told, "description": row.query}}
    if known.link:
        state["annotations"] = {"runbook_url": f"{_SITE}/{row.targets[0].source_file}"}
    return Incident.from_state(state)


async def _answers(
    retrieval: BoundedRetrieval,
    labelled: Sequence[Labelled],
    incidents: Sequence[Incident],
    progress: Progress,
) -> list[_Answer]:
    await retrieval.prepare()
    answers = []
    for done, (row, incident) in enumerate(zip(labelled, incidents, strict=True)):
        progress(done, len(labelled), "asking")
        started = time.perf_counter()
        given = (await consult(incident, retrieval)).recommendation
        answers.append(_Answer(row, given, time.perf_counter() - started))
    return answers


def _answers_it(citation: Citation, row: Labelled) -> bool:
    return citation.source_file in row.also_acceptable or any(
        target.reached_by(citation) for target in row.targets
    )


def _row(name: str, answers: Sequence[_Answer], check: CitationCheck) -> Row:
    rights = [answer.right for answer in answers]
    steps = sum(map(len, rights))
    cited = [each for answer in answers for each in answer.cited]
    return Row(
        name=name,
        alerts=len(answers),
        answered=_share([answer.given.status is Status.OK for answer in answers]),
        first=_share([any(right[:1]) for right in rights]),
        any=_share([any(right) for right in rights]),
        enough=_share([sum(right) >= ENOUGH for right in rights]),
        steps=steps,
        right=_share([each for right in rights for each in right]),
        cited=len(cited),
        exact=_share([_is_exact(each, check) for each in cited]),
        p50_ms=percentiles([answer.seconds for answer in answers]).p50,
    )


def _is_exact(cited: CitedLines, check: CitationCheck) -> bool:
    lines = check.lines(cited.citation)
    return lines is not None and hashlib.sha256(lines).hexdigest() == cited.text_sha256


def _exactly(share: float) -> str:
    """Show a share of citations so that no rounding makes it whole."""
    return f"{share:.0%}" if share == 1 else f"{share:.3%}"


def _share(told: Sequence[bool]) -> float:
    return sum(told) / len(told) if told else 1.0
