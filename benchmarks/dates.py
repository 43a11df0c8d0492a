"""Compares found and false dates with other libraries', on the same sentences in one run.

The sentences are this project's own, and half of them are traps: they show what each finder mistakes for a
date, not how well it works on other documents. A peer that isn't installed is left out and named. The time
of the source policy per query is measured too.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.core.policy import Candidate, arrange
from knowledge_rag.core.policy_settings import PRIMARY_RESULTS
from knowledge_rag.evaluation.datasets import read_lines, read_rows
from knowledge_rag.extract.dates import DateOrder, find_dates

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Find = Callable[[str, DateOrder | None], set[date]]
"""Returns the dates in a sentence, given the order of day and month if known."""

_STRICT: Final[dict[str, Any]] = {
    "STRICT_PARSING": True,
    "REQUIRE_PARTS": ["day", "month", "year"],
    "PARSERS": ["absolute-time"],
}
"""Complete dates only, none relative to today: dateparser's best settings for this task."""


def _dateparser(settings: dict[str, Any], languages: list[str] | None) -> Find:
    from dateparser.search import search_dates  # noqa: PLC0415

    def find(text: str, order: DateOrder | None) -> set[date]:
        chosen = settings | ({"DATE_ORDER": order.value.upper()} if order else {})
        found = search_dates(text, languages=languages, settings=chosen or None)
        return {moment.date() for _, moment in found or ()}

    return find


def _datefinder() -> Find:
    import datefinder  # noqa: PLC0415

    def find(text: str, order: DateOrder | None) -> set[date]:
        first = "day" if order is DateOrder.DMY else "month"
        return {moment.date() for moment in datefinder.find_dates(text, first=first)}

    return find


def _dateutil() -> Find:
    from dateutil import parser  # noqa: PLC0415

    def find(text: str, order: DateOrder | None) -> set[date]:
        try:
            with warnings.catch_warnings(action="ignore"):  # words mistaken for time zones
                moment = parser.parse(text, fuzzy=True, dayfirst=order is DateOrder.DMY)
        except (ValueError, OverflowError):
            return set()
        return {moment.date()}

    return find


PEERS: Final[dict[str, Callable[[], Find]]] = {
    "dateparser search_dates": lambda: _dateparser({}, None),
    "dateparser search_dates, strict": lambda: _dateparser(_STRICT, ["en"]),
    "datefinder": _datefinder,
    "dateutil parse, fuzzy": _dateutil,
}
"""Name -> a function that creates the finder; it raises ImportError if the library isn't installed."""

OURS: Final = "knowledge-rag"
MIN_RECALL: Final = 0.95
"""Minimum share of the sentences' dates; no false date may be found."""
MAX_POLICY_MS: Final = 2.0
"""Maximum milliseconds to arrange a query's results by the policy."""

MAX_SENTENCES_BYTES: Final = 64 * 1024 * 1024

_QUESTION: Final = "When is the next parent-teacher conference?"
_TURNS: Final = 200


@dataclass(frozen=True, slots=True)
class Sentence:
    """One labelled sentence.

    Args:
        text: the sentence.
        dates: the dates in it.
        order: order of day and month, if its author intended one.
    """

    text: str
    dates: frozenset[date]
    order: DateOrder | None


@dataclass(frozen=True, slots=True)
class Row:
    """One finder's figures.

    Args:
        name: name of the finder.
        right: number of the sentences' dates that were found.
        wrong: number of other dates that were found.
        missed: number of dates that were not found.
        ms_per_sentence: processor time, best round.
    """

    name: str
    right: int
    wrong: int
    missed: int
    ms_per_sentence: float

    @property
    def precision(self) -> float:
        """Share of the found dates that is right, 1 if none was found."""
        found = self.right + self.wrong
        return self.right / found if found else 1.0

    @property
    def recall(self) -> float:
        """Share of the dates that was found, 1 if there are none."""
        dates = self.right + self.missed
        return self.right / dates if dates else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"precision": self.precision, "recall": self.recall}


@dataclass(frozen=True, slots=True)
class DatesReport:
    """A run of the benchmark.

    Args:
        sentences: number of sentences.
        traps: number of those without a date.
        rows: one per finder, ours first.
        missing: peers that are not installed.
        policy_ms: median milliseconds to arrange a query's candidates.
    """

    sentences: int
    traps: int
    rows: tuple[Row, ...]
    missing: tuple[str, ...]
    policy_ms: float

    @property
    def reached(self) -> bool:
        """Whether our finder finds no false date and enough true ones, and the policy is fast enough."""
        ours = self.rows[0]
        sound = not ours.wrong and ours.recall >= MIN_RECALL
        return sound and self.policy_ms < MAX_POLICY_MS

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        rows = [row.to_dict() for row in self.rows]
        return asdict(self) | {"rows": rows, "reached": self.reached}


def read_sentences(path: Path) -> list[Sentence]:
    """Read labelled sentences: JSON Lines with ``sentence``, ``dates`` and optionally ``order``.

    Raises:
        InvalidRequest: a line isn't a labelled sentence, or there are no lines.
        UnreadableDocument: the file can't be read.
    """
    sentences = read_rows(
        read_lines(path, MAX_SENTENCES_BYTES),
        _sentence,
        lambda number: InvalidRequest(f"{path}:{number}: no labelled sentence"),
    )
    if not sentences:
        raise InvalidRequest(f"{path}: no sentences")
    return sentences


def _sentence(_: int, row: dict[str, Any]) -> Sentence:
    if not isinstance(row["sentence"], str):
        raise TypeError("sentence is text")
    order = row.get("order")
    dates = frozenset(date.fromisoformat(day) for day in row["dates"])
    return Sentence(row["sentence"], dates, DateOrder(order) if order else None)


def run_dates_bench(sentences: Sequence[Sentence], *, rounds: int = 3) -> DatesReport:
    """Run every finder on every sentence.

    Args:
        sentences: at least one.
        rounds: number of runs of each finder; the time of the best counts.
    """
    finders: dict[str, Find] = {OURS: _ours}
    missing = []
    for name, make in PEERS.items():
        try:
            finders[name] = make()
        except ImportError:
            missing.append(name)
    rows = tuple(_row(name, find, sentences, rounds) for name, find in finders.items())
    traps = sum(not sentence.dates for sentence in sentences)
    return DatesReport(len(sentences), traps, rows, tuple(missing), policy_milliseconds())


def as_table(report: DatesReport) -> Table:
    """Return a report as a table."""
    table = Table(title=f"{report.sentences} sentences, {report.traps} of them without a date")
    for heading in ("finder", "precision", "recall", "right", "wrong", "missed", "ms a sentence"):
        table.add_column(heading, justify="left" if heading == "finder" else "right")
    for row in report.rows:
        counts = (row.right, row.wrong, row.missed)
        shares = (f"{row.precision:.1%}", f"{row.recall:.1%}")
        table.add_row(row.name, *shares, *map(str, counts), f"{row.ms_per_sentence:.3f}")
    verdict = "reached" if report.reached else "missed"
    lines = [
        f"source policy on {PRIMARY_RESULTS} results: {report.policy_ms:.3f} ms",
        f"aim: none wrong, recall {MIN_RECALL:.0%}, policy under {MAX_POLICY_MS:.0f} ms: {verdict}",
    ]
    if report.missing:
        lines.append(f"not installed: {', '.join(report.missing)} (`make bench` installs them)")
    table.caption = "\n".join(lines)
    return table


def policy_milliseconds(turns: int = _TURNS) -> float:
    """Time the policy on a query's number of candidates, half of them dated.

    Returns:
        The median of ``turns`` turns, in milliseconds.
    """
    today = date(2026, 11, 21)
    candidates = [_candidate(number, today) for number in range(PRIMARY_RESULTS)]
    taken = []
    for _ in range(turns):
        started = time.perf_counter()
        arrange(candidates, _QUESTION, today)
        taken.append(time.perf_counter() - started)
    return median(taken) * 1000


def _candidate(number: int, today: date) -> Candidate:
    days = [str(today + timedelta((number * 37) % 400 - 200))] if number % 2 else []
    is_pdf = number % 3 == 0
    suffix = ".pdf" if is_pdf else ""
    metadata = {
        "document_type": "pdf" if is_pdf else "web",
        "source_url": f"https://school.example/pages/{number}{suffix}?from=search#top",
        "dates": days,
    }
    citation = Citation(f"site/{number}.html", 1, 9, "")
    uri = f"s3://corpus/site/{number}.html"
    return Candidate(RetrievalResult("text", citation, 0.5, metadata), uri)


def _ours(text: str, order: DateOrder | None) -> set[date]:
    return {found.day for found in find_dates(text, order)}


def _row(name: str, find: Find, sentences: Sequence[Sentence], rounds: int) -> Row:
    best = float("inf")
    found: list[set[date]] = []
    for _ in range(rounds):
        started = time.process_time()
        found = [find(sentence.text, sentence.order) for sentence in sentences]
        best = min(best, time.process_time() - started)
    pairs = list(zip(sentences, found, strict=True))
    return Row(
        name,
        sum(len(sentence.dates & dates) for sentence, dates in pairs),
        sum(len(dates - sentence.dates) for sentence, dates in pairs),
        sum(len(sentence.dates - dates) for sentence, dates in pairs),
        best / len(sentences) * 1000,
    )
