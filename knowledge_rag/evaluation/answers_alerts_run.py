"""Asks labelled alerts, and asks them again of knowledge bases that lack their project."""

from __future__ import annotations

import re
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.evaluation.answers_alerts import (
    LINKED,
    NEAR_MISS_RUNS,
    RUNS,
    UNNAMED,
    AlertsReport,
    NearMiss,
    Places,
)
from knowledge_rag.evaluation.answers_lines import LabelledLines
from knowledge_rag.evaluation.answers_run import Question, ask_all, citations, is_exact
from knowledge_rag.evaluation.timing import percentiles
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.local.store import ingest_transaction
from knowledge_rag.local.tables import Tables
from knowledge_rag.orchestrator.incident import Incident

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from knowledge_rag.core.retrieval import SearchType
    from knowledge_rag.evaluation.answers_run import Answer
    from knowledge_rag.evaluation.datasets import Row
    from knowledge_rag.evaluation.evaluation_corpus import CitationCheck, Documents
    from knowledge_rag.local.embeddings import Embedder
    from knowledge_rag.local.ingest import Progress
    from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
    from knowledge_rag.orchestrator.retrieval import Budget

_SITE: Final = "https://runbooks.example"
_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t]+(.+)")
_NOT_IN_NAMES: Final = re.compile(r"\W|_")


@dataclass(frozen=True, slots=True)
class Local:
    """A knowledge base on this machine, and what it takes to make one like it.

    Args:
        knowledge_base: of all documents.
        embedder: of it.
        search_type: how to search.
        budget: of each query; ``None`` for the default.
    """

    knowledge_base: KnowledgeBase
    embedder: Embedder
    search_type: SearchType
    budget: Budget | None = None

    def retrieval(self, knowledge_base: KnowledgeBase) -> AbstractContextManager[BoundedRetrieval]:
        """Return the way to a knowledge base, this one or one like it."""
        return local_retrieval(knowledge_base, search_type=self.search_type, budget=self.budget)


def run_alerts(
    local: Local, rows: Sequence[Row], check: CitationCheck, progress: Progress
) -> AlertsReport:
    """Ask every alert in every run, then as a near miss, and rate the answers.

    Args:
        local: what to ask.
        rows: the alerts, at least one; each has a name.
        check: compares citations with the documents on disk.
        progress: called before each question.
    """
    lines = LabelledLines(check)
    with local.retrieval(local.knowledge_base) as retrieval:
        answers = _asked(retrieval, rows, RUNS, progress)
    places = Places(lines)
    rated = tuple(places.rate(row, run, answer.recommendation) for row, run, answer in answers)
    near = []
    for project, its_rows in near_misses(rows, lines, check.documents).items():
        with (
            without(project, local) as others,
            local.retrieval(others) as retrieval,
        ):
            for row, run, answer in _asked(retrieval, its_rows, NEAR_MISS_RUNS, progress):
                near.append(_near_miss(row, run, project, answer.recommendation))
    given = [answer for _, _, answer in answers]
    exact = [is_exact(each, check) for it in given for each in citations(it.recommendation)]
    return AlertsReport(
        rated,
        tuple(near),
        citations=len(exact),
        exact=sum(exact),
        p50_ms=percentiles([answer.seconds for answer in given]).p50,
        again=sum(answer.tries > 1 for answer in given),
    )


def near_misses(
    rows: Sequence[Row], lines: LabelledLines, documents: Documents
) -> dict[str, list[Row]]:
    """Return the alerts that no other project's documents are about, by their project.

    Alerts of documents outside any folder are in no project.
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
    """Open a copy of a knowledge base without the documents of one folder, while the block runs.

    Args:
        project: the folder's name, at the first level.
        local: the knowledge base of all documents.
    """
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
        state["annotations"] = {"runbook_url": f"{_SITE}/{row.targets[0].source_file}"}
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
    """Yield what a document is named after: its file, and its headings with their single words."""
    yield _folded(Path(source_file).name.split(".")[0])
    for line in lines.text(source_file):
        if heading := _HEADING.match(line):
            yield _folded(heading[1])
            yield from map(_folded, heading[1].split())


def _folded(name: str) -> str:
    return _NOT_IN_NAMES.sub("", name).casefold()
