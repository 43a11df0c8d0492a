"""The promises of a deployment (documents ingested, citations exact, relevance, latency), and their report."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.text import Text

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.lines import slice_lines
from knowledge_rag.core.metadata import DOCUMENT_SHA256
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Status
from knowledge_rag.deployment.aws import CallFailed, read_object
from knowledge_rag.deployment.smoke.questions import Topic
from knowledge_rag.evaluation.evaluation_report import percentiles
from knowledge_rag.extract.documents import extract

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.smoke.clients import Answer


class Verdict(StrEnum):
    """Whether a promise was kept."""

    KEPT = "kept"
    BROKEN = "broken"
    DEGRADED = "degraded"
    """Kept as far as it could be tested: something was temporarily unavailable."""
    UNKNOWN = "unknown"
    """It could not be checked."""
    NOTE = "note"
    """Not a promise, but worth knowing."""


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise."""

    name: str
    verdict: Verdict
    detail: str
    action: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the JSON form."""
        return {
            "promise": self.name,
            "verdict": self.verdict.value,
            "detail": self.detail,
            "action": self.action,
        }


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial of a deployment."""

    deployment: str
    region: str
    promises: tuple[Promise, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def broken(self) -> bool:
        """Whether any promise was broken."""
        return any(promise.verdict is Verdict.BROKEN for promise in self.promises)

    @property
    def doubtful(self) -> bool:
        """Whether something was unavailable, or could not be checked."""
        doubts = (Verdict.DEGRADED, Verdict.UNKNOWN)
        return any(promise.verdict in doubts for promise in self.promises)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "deployment": self.deployment,
            "region": self.region,
            "promises": [promise.to_dict() for promise in self.promises],
            **self.figures,
        }


_COLOURS: Final = {
    Verdict.KEPT: "green",
    Verdict.BROKEN: "bold red",
    Verdict.DEGRADED: "yellow",
    Verdict.UNKNOWN: "magenta",
    Verdict.NOTE: "cyan",
}
_VERDICT_WIDTH: Final = max(map(len, Verdict)) + 2
_NAME_WIDTH: Final = 16


def as_text(trial: Trial) -> Text:
    """Lay out a trial."""
    return Text("\n").join([*_lines(trial), Text(_verdict(trial))])


def _lines(trial: Trial) -> Iterator[Text]:
    for promise in trial.promises:
        word = Text(f"{promise.verdict.value:<{_VERDICT_WIDTH}}", _COLOURS[promise.verdict])
        detail = neutralise(" ".join(promise.detail.split()))
        yield Text.assemble(word, f"{promise.name:<{_NAME_WIDTH}}", detail)
        if promise.action:
            yield Text(" " * _VERDICT_WIDTH + "-> " + neutralise(promise.action))


def _verdict(trial: Trial) -> str:
    where = f"{trial.deployment} in {trial.region}"
    if trial.broken:
        return f"{where} breaks a promise."
    if trial.doubtful:
        return f"{where} keeps the promises that could be tested; some could not."
    return f"{where} keeps its promises."


# ingestion

INGESTION: Final = "ingestion"
NOTHING_INGESTED: Final = "no document has been ingested"
_RUNNING: Final = ("STARTING", "IN_PROGRESS", "STOPPING")


def check_ingestion(aws: Aws, knowledge_base_id: str, data_source_id: str) -> Promise:
    """Check the latest ingestion job."""
    source: dict[str, Any] = {"knowledgeBaseId": knowledge_base_id, "dataSourceId": data_source_id}
    again = (
        f"aws bedrock-agent start-ingestion-job --knowledge-base-id {knowledge_base_id}"
        f" --data-source-id {data_source_id} --region {aws.region}"
    )
    try:
        jobs = aws.call(
            "bedrock-agent",
            "list_ingestion_jobs",
            expect="ingestionJobSummaries",
            **source,
            sortBy={"attribute": "STARTED_AT", "order": "DESCENDING"},
            maxResults=1,
        )["ingestionJobSummaries"]
        if not jobs:
            action = f"Wait ten minutes after the first document arrived, then run `{again}`."
            return Promise(INGESTION, Verdict.BROKEN, NOTHING_INGESTED, action)
        return _judge_job(aws, source, jobs[0], again)
    except CallFailed as error:
        return Promise(INGESTION, Verdict.UNKNOWN, str(error))


def _judge_job(aws: Aws, source: Mapping[str, Any], job: Mapping[str, Any], again: str) -> Promise:
    status, counts = job["status"], job.get("statistics", {})
    scanned = counts.get("numberOfDocumentsScanned", 0)
    failed = counts.get("numberOfDocumentsFailed", 0)
    detail = f"the last job is {status}: {scanned} documents, {failed} failed"
    if status in _RUNNING:
        return Promise(INGESTION, Verdict.DEGRADED, detail, "Wait until it has ended.")
    if status == "COMPLETE" and not failed:
        return Promise(INGESTION, Verdict.KEPT, detail)
    reasons = _reasons(aws, source, job["ingestionJobId"])
    action = f"Fix what it names and run `{again}`."
    return Promise(INGESTION, Verdict.BROKEN, f"{detail}{reasons}", action)


def _reasons(aws: Aws, source: Mapping[str, Any], job_id: str) -> str:
    try:
        answer = aws.call(
            "bedrock-agent",
            "get_ingestion_job",
            expect="ingestionJob",
            **source,
            ingestionJobId=job_id,
        )
    except CallFailed as error:
        return f" (reason unknown: {error})"
    reasons = answer["ingestionJob"].get("failureReasons", [])
    return "".join(f"; {' '.join(reason.split())[:300]}" for reason in reasons[:3])


class Fit(StrEnum):
    """How a citation matches its file."""

    EXACT = "exact"
    CHANGED = "changed"
    """The file differs from the ingested one, by its sha256."""
    GONE = "gone"
    WRONG = "wrong"
    """The file is the ingested one, but those lines don't have the content."""
    UNKNOWN = "unknown"
    """The file could not be read."""


class Checked(NamedTuple):
    """One citation, compared with its file."""

    citation: str
    fit: Fit
    detail: str = ""


# citations, and answers


class CorpusBucket:
    """The cited files; each is read once."""

    def __init__(self, aws: Aws, bucket: str, prefix: str = "") -> None:
        self._aws = aws
        self._bucket = bucket
        self._prefix = prefix
        self._read: dict[str, bytes | CallFailed | None] = {}

    def holds(self, source_file: str) -> bool:
        """Return whether the corpus has a file."""
        return self._bytes(source_file) is not None

    def check(self, result: RetrievalResult) -> Checked:
        """Compare one result with its file."""
        citation = result.citation
        try:
            data = self._bytes(citation.source_file)
        except CallFailed as error:
            return Checked(str(citation), Fit.UNKNOWN, str(error))
        if data is None:
            return Checked(str(citation), Fit.GONE)
        if hashlib.sha256(data).hexdigest() != result.metadata.get(DOCUMENT_SHA256):
            return Checked(str(citation), Fit.CHANGED)
        try:
            text = extract(citation.source_file, data).text
            lines = slice_lines(text, citation.start_line, citation.end_line)
        except (IndexError, UnreadableDocument) as error:
            return Checked(str(citation), Fit.WRONG, str(error))
        return Checked(str(citation), Fit.EXACT if lines == result.content else Fit.WRONG)

    def _bytes(self, key: str) -> bytes | None:
        if key not in self._read:
            try:
                self._read[key] = read_object(self._aws, self._bucket, self._prefix + key)
            except CallFailed as error:
                self._read[key] = error
        found = self._read[key]
        if isinstance(found, CallFailed):
            raise found
        return found


CITATIONS: Final = "citations"
LATENCY: Final = "latency"
RELEVANCE: Final = "relevance"

BUDGET_MS: Final = 2000
"""Maximum latency of a query, at the 95th percentile."""

ENOUGH_FOUND: Final = 0.8
"""Minimum share of questions whose results include the named document."""

_SHOWN: Final = 5


def judge_client(name: str, answers: Sequence[Answer]) -> Promise:
    """Judge whether a client gets answers."""
    failures = [answer for answer in answers if answer.status is None]
    statuses = _statuses(answers)
    for failure in failures:
        if not failure.passing:
            return Promise(name, Verdict.BROKEN, f"{failure.failure} ({statuses})")
    if failures:
        return Promise(name, Verdict.DEGRADED, f"{failures[0].failure} ({statuses})", "Try again.")
    reasons = Counter(each.reason for each in answers if each.status is Status.DEGRADED)
    if reasons:
        why = ", ".join(f"{reason} {count} times" for reason, count in reasons.most_common())
        action = "Look at the dashboard, and at docs/operations/alarms.md."
        return Promise(name, Verdict.DEGRADED, f"{statuses}: {why}", action)
    return Promise(name, Verdict.KEPT, statuses)


def _statuses(answers: Sequence[Answer]) -> str:
    counts = Counter(each.status.value if each.status else "no answer" for each in answers)
    return ", ".join(f"{count} {status}" for status, count in counts.most_common())


_WORDS: Final = {
    Fit.CHANGED: "has another version of the file",
    Fit.GONE: "names a file that is gone",
    Fit.WRONG: "does not equal those lines",
}


def judge_citations(checked: Sequence[Checked]) -> Promise:
    """Judge whether every citation's content equals its lines."""
    counts = Counter(each.fit for each in checked)
    if not checked:
        return Promise(CITATIONS, Verdict.UNKNOWN, "no result to check")
    if wrong := [each for each in checked if each.fit in _WORDS]:
        shown = "; ".join(f"{each.citation} {_WORDS[each.fit]}" for each in wrong[:_SHOWN])
        detail = f"{len(wrong)} of {len(checked)} do not match the corpus bucket: {shown}"
        repair = (
            "Trust no citation until this is explained: keep the report, and tell the maintainers."
            if counts[Fit.WRONG]
            else "Ingest again: the bucket changed after the last ingestion."
        )
        return Promise(CITATIONS, Verdict.BROKEN, detail, repair)
    if counts[Fit.UNKNOWN]:
        why = next(each.detail for each in checked if each.fit is Fit.UNKNOWN)
        detail = f"{counts[Fit.UNKNOWN]} of {len(checked)} could not be checked: {why}"
        return Promise(CITATIONS, Verdict.UNKNOWN, detail)
    detail = f"{len(checked)} of {len(checked)} equal the cited lines byte for byte"
    return Promise(CITATIONS, Verdict.KEPT, detail)


def latency_figures(answers: Sequence[Answer]) -> dict[str, float]:
    """Return the times of answers in milliseconds, as seen from here; ``{}`` for fewer than two.

    The first one may start the function, so it is reported separately. Degraded queries are left out: giving up
    early must not look fast.
    """
    times = [each.seconds for each in answers if each.status in (Status.OK, Status.NO_MATCH)]
    if len(times) < 2:
        return {}
    found = percentiles(times[1:])
    named = {"first_ms": times[0] * 1000, "p50_ms": found.p50, "p95_ms": found.p95}
    return {name: round(value, 1) for name, value in named.items()}


def judge_latency(answers: Sequence[Answer]) -> Promise:
    """Judge the time of searched queries."""
    ms = latency_figures(answers)
    if not ms:
        return Promise(LATENCY, Verdict.UNKNOWN, "too few questions were searched")
    kept = ms["p95_ms"] <= BUDGET_MS
    return Promise(
        LATENCY,
        Verdict.KEPT if kept else Verdict.BROKEN,
        f"p50 {ms['p50_ms']:.0f} ms, p95 {ms['p95_ms']:.0f} ms of {BUDGET_MS}, as seen from here"
        f" (first {ms['first_ms']:.0f} ms)",
        "" if kept else "Compare the dashboard's latency: these times include the network.",
    )


def judge_relevance(answers: Sequence[Answer]) -> Promise | None:
    """Judge whether the named documents are found; ``None`` if no question names one."""
    labelled = [
        each
        for each in answers
        if each.question.source_file
        and each.question.topic is Topic.ON
        and each.status in (Status.OK, Status.NO_MATCH)
    ]
    if not labelled:
        return None
    missed = [
        each.question
        for each in labelled
        if each.question.source_file not in {found.citation.source_file for found in each.results}
    ]
    hits = len(labelled) - len(missed)
    detail = f"{hits} of {len(labelled)} questions found the document that answers them"
    if hits >= ENOUGH_FOUND * len(labelled):
        return Promise(RELEVANCE, Verdict.KEPT, detail)
    names = ", ".join(question.id for question in missed[:_SHOWN])
    return Promise(
        RELEVANCE, Verdict.BROKEN, f"{detail}; missed: {names}", "Look at the search type."
    )
