"""Scores whole answers to labelled alerts: how much of the author's own procedure they show.

Every alert is asked with its name, without it, and with its name and a link to the document that
answers it, with the anchor of its own link. The target of its label is its *place*: the lines, or the
whole file; a file under ``also_acceptable`` is another. An answer is compared with the place of which
it shows the most action lines (:mod:`knowledge_rag.evaluation.answers_actions`).

A *near miss* is an alert that is asked of a knowledge base without its project, that is, without the
documents in the same top-level folder. Nothing there is about it, so every step is wrong. Alerts whose name is
a heading, a word of one, or a file's name in another project are left out, and so are those whose label also
names another project's document.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.neutral import neutralise
from knowledge_rag.evaluation.answers_actions import ParsedDocument
from knowledge_rag.evaluation.answers_cases import LabelledLines
from knowledge_rag.evaluation.answers_eval import (
    CITED_SHARE,
    Question,
    Tally,
    ask_all,
    citations,
    cited_lines,
)
from knowledge_rag.evaluation.evaluation_report import (
    auroc,
    grouped,
    laid_out,
    missed_of,
    new_table,
)
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.local.store import Tables, ingest_transaction
from knowledge_rag.orchestrator.incident import Incident

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from rich.console import Group
    from rich.table import Table

    from knowledge_rag.core.retrieval import SearchType
    from knowledge_rag.evaluation.answers_actions import Actions
    from knowledge_rag.evaluation.answers_cases import Line
    from knowledge_rag.evaluation.answers_eval import Answer
    from knowledge_rag.evaluation.datasets import Row
    from knowledge_rag.evaluation.evaluation_corpus import CitationCheck, Documents
    from knowledge_rag.local.embeddings import Embedder
    from knowledge_rag.local.ingest import Progress
    from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
    from knowledge_rag.orchestrator.budget import Budget

NAMED: Final = "named"
UNNAMED: Final = "unnamed"
LINKED: Final = "linked"
RUNS: Final = (NAMED, UNNAMED, LINKED)
"""Information about an alert in addition to its text: its name, nothing, or its name and a link."""
NEAR_MISS_RUNS: Final = (NAMED, UNNAMED)
ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Rated:
    """An answer to a labelled alert. Shares are 0..1, ``None`` if there is nothing to measure.

    Args:
        row: the alert.
        run: one of RUNS.
        steps: number of steps.
        first: whether the first citation of the first step is in one of the alert's places.
        line_recall: share of the place's action lines that are cited.
        code_recall: the same of its code lines.
        precision: share of the cited lines that are in one of the alert's places.
        confidence: as stated in the answer, 0..1.
        strength: of its evidence, as stated in the answer; ``""`` if it states none.
    """

    row: Row
    run: str
    steps: int
    first: bool
    line_recall: float | None
    code_recall: float | None
    precision: float | None
    confidence: float
    strength: str

    @property
    def whole(self) -> bool:
        """Whether the author's procedure is complete in the answer."""
        return self.line_recall is not None and self.line_recall >= CITED_SHARE

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"id": self.row.id, "dataset": self.row.dataset, **_figures(self)}


class Places:
    """The places of labelled alerts."""

    def __init__(self, lines: LabelledLines) -> None:
        self._lines = lines
        self._parsed: dict[str, ParsedDocument] = {}

    def rate(self, row: Row, run: str, recommendation: Mapping[str, Any]) -> Rated:
        """Compare an answer with its alert's places."""
        places = _places_of(row)
        cited = cited_lines(recommendation)
        shown = list(filter(self._lines.is_counted, cited))
        steps = recommendation["recommendation"]["guidance"]
        first = steps[0]["citation"] if steps else None
        # of several accepted documents, the one that the answer is from counts
        drawn_on = [place for place in places if first and place[0] == first["source_file"]]
        found = (self._actions(*place) for place in drawn_on or places)
        recalls = [_recalls(name, actions, cited) for name, actions in found if actions.lines]
        line_recall, code_recall = max(recalls, key=lambda it: it[0], default=(None, None))
        return Rated(
            row,
            run,
            steps=len(steps),
            first=first is not None
            and _inside((first["source_file"], first["start_line"]), places),
            line_recall=line_recall,
            code_recall=code_recall,
            precision=_mean(_inside(line, places) for line in shown),
            confidence=recommendation["confidence"],
            strength=recommendation.get("evidence", {}).get("strength", ""),
        )

    def _actions(self, source_file: str, place: range | None) -> tuple[str, Actions]:
        if source_file not in self._parsed:
            self._parsed[source_file] = ParsedDocument(self._lines.text(source_file))
        return source_file, self._parsed[source_file].actions(place)


_Place = tuple[str, "range | None"]


def _places_of(row: Row) -> list[_Place]:
    targets: list[_Place] = [
        (it.source_file, range(it.lines[0], it.lines[1] + 1) if it.lines else None)
        for it in row.targets
    ]
    return targets + [(name, None) for name in row.also_acceptable]


def _inside(line: Line, places: Iterable[_Place]) -> bool:
    return any(line[0] == name and (it is None or line[1] in it) for name, it in places)


def _recalls(name: str, actions: Actions, cited: frozenset[Line]) -> tuple[float, float | None]:
    numbers = {number for source_file, number in cited if source_file == name}
    code = len(actions.code & numbers) / len(actions.code) if actions.code else None
    return len(actions.lines & numbers) / len(actions.lines), code


@dataclass(frozen=True, slots=True)
class Completeness:
    """The figures of some alerts. Shares are 0..1, ``None`` if there is nothing to measure.

    Args:
        alerts: number of alerts.
        first: share whose first step is from the author's own place.
        lost: share without steps.
        measured: alerts whose place has action lines.
        lines: mean share of the place's action lines that are shown.
        code: the same of its code lines.
        whole: share of the measured alerts with at least CITED_SHARE of those lines.
        precision: mean share of the shown lines that are from the place.
    """

    alerts: int
    first: float | None
    lost: float | None
    measured: int
    lines: float | None
    code: float | None
    whole: float | None
    precision: float | None

    @classmethod
    def of(cls, rated: Sequence[Rated]) -> Completeness:
        """Sum up answers."""
        measured = [it for it in rated if it.line_recall is not None]
        return cls(
            alerts=len(rated),
            first=_mean(it.first for it in rated),
            lost=_mean(not it.steps for it in rated),
            measured=len(measured),
            lines=_mean(it.line_recall for it in measured if it.line_recall is not None),
            code=_mean(it.code_recall for it in measured if it.code_recall is not None),
            whole=_mean(it.whole for it in measured),
            precision=_mean(it.precision for it in rated if it.precision is not None),
        )


@dataclass(frozen=True, slots=True)
class NearMiss:
    """An alert asked of the other projects' documents; each step of the answer is wrong.

    ``first`` is the first step's citation, ``file:first-last``.
    """

    row: Row
    run: str
    project: str
    steps: int
    first: str
    confidence: float
    strength: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"id": self.row.id, **_figures(self)}


@dataclass(frozen=True, slots=True)
class AlertsReport:
    """A run over labelled alerts: the answers of every run, the near misses, and a tally of the answers."""

    rated: tuple[Rated, ...]
    near: tuple[NearMiss, ...]
    tally: Tally

    def completeness(self, run: str) -> Mapping[str, Completeness]:
        """Return the figures of each dataset, and of all under ``all``."""
        rated = [it for it in self.rated if it.run == run]
        parts = grouped(rated, lambda it: it.row.dataset) | {ALL: rated}
        return {name: Completeness.of(those) for name, those in parts.items()}

    def near_misses(self, run: str) -> Mapping[str, Mapping[str, int]]:
        """Return how many near misses of each project, and of all, were asked and got steps."""
        near = [it for it in self.near if it.run == run]
        parts = grouped(near, lambda it: it.project) | {ALL: near}
        return {
            name: {"asked": len(those), "given": sum(it.steps > 0 for it in those)}
            for name, those in parts.items()
        }

    def auroc(self, run: str) -> float | None:
        """Return how well confidence separates right answers from wrong ones, near misses included.

        That is the chance that a right answer's confidence is higher than a wrong one's (a tie counts
        half); .5 is chance. Answers without steps don't count. ``None`` without right or wrong ones.
        """
        answered = [it for it in self.rated if it.run == run and it.steps]
        near = [it.confidence for it in self.near if it.run == run and it.steps]
        wrong = [it.confidence for it in answered if not it.first] + near
        return auroc([it.confidence for it in answered if it.first], wrong)

    @property
    def reliability(self) -> list[dict[str, Any]]:
        """Return how reliable each strength of evidence is, run by run; empty if answers state none.

        ``right`` is the share of answers whose first step is from the author's own place; ``whole`` that of
        those with action lines that also show the complete procedure; all answers to near misses are wrong.
        """
        found = []
        for run in NEAR_MISS_RUNS:
            answered = [it for it in self.rated if it.run == run and it.steps and it.strength]
            near = [it for it in self.near if it.run == run and it.steps]
            stated = [it.strength for it in answered] + [it.strength for it in near]
            for strength in dict.fromkeys(filter(None, stated)):
                those = [it for it in answered if it.strength == strength]
                measured = [it for it in those if it.line_recall is not None]
                found.append(
                    {
                        "run": run,
                        "strength": strength,
                        "answers": len(those),
                        "right": _rounded(_mean(it.first for it in those)),
                        "whole": _rounded(_mean(it.first and it.whole for it in measured)),
                        "near_misses": sum(it.strength == strength for it in near),
                    }
                )
        return found

    @property
    def missed(self) -> tuple[str, ...]:
        """Return the name of the target that every citation is exact, if it is missed."""
        return missed_of([self.tally.goal])

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; shares are rounded to six places."""
        return {
            "runs": {
                run: {name: _figures(each) for name, each in self.completeness(run).items()}
                for run in RUNS
            },
            "near_misses": {run: self.near_misses(run) for run in NEAR_MISS_RUNS},
            "auroc": {run: _rounded(self.auroc(run)) for run in NEAR_MISS_RUNS},
            "reliability": self.reliability,
            **self.tally.to_dict(),
            "reached": not self.missed,
            "missed": list(self.missed),
            "answers": [each.to_dict() for each in self.rated],
            "near_miss_answers": [each.to_dict() for each in self.near],
        }


def _figures(found: Rated | NearMiss | Completeness) -> dict[str, Any]:
    names = (each.name for each in fields(found) if each.name != "row")
    return {name: _rounded(getattr(found, name)) for name in names}


def _rounded(value: Any) -> Any:  # noqa: ANN401 - figures of several kinds
    return round(value, 6) if isinstance(value, float) else value


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return fmean(known) if known else None


_SITE: Final = "https://runbooks.example"
_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t]+(.+)")
_NOT_IN_NAMES: Final = re.compile(r"\W|_")


@dataclass(frozen=True, slots=True)
class Local:
    """A knowledge base of all documents on this machine, and the means to make one like it."""

    knowledge_base: KnowledgeBase
    embedder: Embedder
    search_type: SearchType
    budget: Budget | None = None

    def retrieval(self, knowledge_base: KnowledgeBase) -> AbstractContextManager[BoundedRetrieval]:
        """Return a retrieval from a knowledge base, this one or one like it."""
        return local_retrieval(knowledge_base, search_type=self.search_type, budget=self.budget)


def run_alerts(
    local: Local, rows: Sequence[Row], check: CitationCheck, progress: Progress
) -> AlertsReport:
    """Ask every alert (at least one, each with a name) in every run, then as a near miss, and score the answers."""
    lines = LabelledLines(check)
    with local.retrieval(local.knowledge_base) as retrieval:
        answers = _asked(retrieval, rows, RUNS, progress)
    places = Places(lines)
    rated = tuple(places.rate(row, run, answer.recommendation) for row, run, answer in answers)
    near = []
    for project, its_rows in near_misses(rows, lines, check.documents).items():
        with without(project, local) as others, local.retrieval(others) as retrieval:
            for row, run, answer in _asked(retrieval, its_rows, NEAR_MISS_RUNS, progress):
                near.append(_near_miss(row, run, project, answer.recommendation))
    return AlertsReport(rated, tuple(near), Tally.of([it for _, _, it in answers], check))


def near_misses(
    rows: Sequence[Row], lines: LabelledLines, documents: Documents
) -> dict[str, list[Row]]:
    """Return the alerts that aren't covered by any other project's documents, by their project.

    Alerts of top-level documents are in no project.
    """
    names: dict[str, set[str]] = {}
    for source_file in documents.sha256:
        names.setdefault(_project(source_file), set()).update(_names(source_file, lines))
    found: dict[str, list[Row]] = {}
    for row in rows:
        files = [*(it.source_file for it in row.targets), *row.also_acceptable]
        projects = {_project(name) for name in files}
        own = _project(files[0])
        elsewhere = (known for project, known in names.items() if project != own)
        alert = _folded(row.alert)
        if (
            own
            and len(projects) == 1
            and len(names) > 1
            and not any(alert in it for it in elsewhere)
        ):
            found.setdefault(own, []).append(row)
    return found


@contextmanager
def without(project: str, local: Local) -> Iterator[KnowledgeBase]:
    """Open a copy of a knowledge base without the documents of one top-level folder, while the block runs."""
    with tempfile.TemporaryDirectory(prefix="knowledge-rag-eval-") as folder:
        path = Path(folder, "others.kb")
        shutil.copyfile(local.knowledge_base.path, path)
        with ingest_transaction(path) as connection:
            tables = Tables(connection)
            known = tables.documents().items()
            gone = [document for name, document in known if _project(name) == project]
            tables.replace(gone, [], local.embedder.fingerprint)
        with KnowledgeBase(path, local.embedder) as others:
            yield others


def _asked(
    retrieval: BoundedRetrieval, rows: Sequence[Row], runs: Sequence[str], progress: Progress
) -> list[tuple[Row, str, Answer]]:
    asked = [(row, run) for run in runs for row in rows]
    answers = ask_all(retrieval, [Question(_incident(*each)) for each in asked], progress)
    return [(row, run, answer) for (row, run), answer in zip(asked, answers, strict=True)]


def _incident(row: Row, run: str) -> Incident:
    named = {"alert_name": row.alert} if run != UNNAMED else {}
    state: dict[str, Any] = {"incident": {**named, "description": row.query}}
    if run == LINKED:
        anchor = f"#{row.anchor}" if row.anchor else ""
        state["annotations"] = {"runbook_url": f"{_SITE}/{row.targets[0].source_file}{anchor}"}
    return Incident.from_state(state)


def _near_miss(row: Row, run: str, project: str, recommendation: Any) -> NearMiss:  # noqa: ANN401
    steps = recommendation["recommendation"]["guidance"]
    first = next(citations(recommendation), None) if steps else None
    return NearMiss(
        row,
        run,
        project,
        steps=len(steps),
        first=f"{first['source_file']}:{first['start_line']}-{first['end_line']}" if first else "",
        confidence=recommendation["confidence"],
        strength=recommendation.get("evidence", {}).get("strength", ""),
    )


def _project(source_file: str) -> str:
    folder, slash, _ = source_file.partition("/")
    return folder if slash else ""


def _names(source_file: str, lines: LabelledLines) -> Iterator[str]:
    """Yield a document's names: its file, and its headings with their single words."""
    yield _folded(Path(source_file).name.split(".")[0])
    for line in lines.text(source_file):
        if heading := _HEADING.match(line):
            yield _folded(heading[1])
            yield from map(_folded, heading[1].split())


def _folded(name: str) -> str:
    return _NOT_IN_NAMES.sub("", name).casefold()


_RUNS: Final = {
    NAMED: "alerts with their names",
    UNNAMED: "alerts without their names",
    LINKED: "alerts with their names and a link",
}
_COMPLETENESS: Final = (
    "first: the first step is from the author's place; lost: no steps; lines, code: action lines shown, "
    "mean over {measured} alerts that have some; whole: at least 90 % of them; "
    "own: shown lines that are from the author's place"
)


def as_tables(report: AlertsReport) -> Group:
    """Lay out a report: completeness by run, near misses, confidence, the targets."""
    return laid_out(_tables(report), [report.tally.goal])


def _tables(report: AlertsReport) -> Iterator[Table]:
    for run in RUNS:
        yield _completeness(report, run)
    if report.near:
        yield _near_misses(report)
    yield _confidence(report)
    if report.reliability:
        yield _reliability(report)


def _completeness(report: AlertsReport, run: str) -> Table:
    figures = ("of", "first", "lost", "lines", "code", "whole", "own")
    table = new_table(_RUNS[run], "dataset", *figures)
    found = report.completeness(run)
    table.caption = _COMPLETENESS.format(measured=found[ALL].measured)
    for name, of_it in found.items():
        shares = [of_it.first, of_it.lost, of_it.lines, of_it.code, of_it.whole, of_it.precision]
        table.add_row(neutralise(name), str(of_it.alerts), *map(_share, shares))
    return table


def _near_misses(report: AlertsReport) -> Table:
    table = new_table("near misses: asked without their project", "project", "run", "asked", "steps", "share")  # fmt: skip
    for run in NEAR_MISS_RUNS:
        for project, found in report.near_misses(run).items():
            asked, given = found["asked"], found["given"]
            share = _share(given / asked if asked else None)
            table.add_row(neutralise(project), run, str(asked), str(given), share)
    return table


def _confidence(report: AlertsReport) -> Table:
    table = new_table("confidence: AUROC, right against wrong first step", "run", "AUROC")
    for run in NEAR_MISS_RUNS:
        found = report.auroc(run)
        table.add_row(run, "-" if found is None else f"{found:.3f}")
    return table


def _reliability(report: AlertsReport) -> Table:
    table = new_table(
        "strength of the evidence", "strength", "run", "answers", "right", "right and whole", "near misses"
    )  # fmt: skip
    for found in report.reliability:
        table.add_row(
            neutralise(found["strength"]),
            found["run"],
            str(found["answers"]),
            _share(found["right"]),
            _share(found["whole"]),
            str(found["near_misses"]),
        )
    return table


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"
