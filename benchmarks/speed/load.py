"""``retrieve_knowledge`` under load: threads that share it, healthy and faulty answers mixed.

The local server derives each answer from its question, which reveals an answer that belongs to
another call. The handler logs to a file, which reveals a line that isn't a complete record.
"""

from __future__ import annotations

import json
import os
import resource
import tempfile
import threading
import time
from array import array
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from rich.table import Table

from benchmarks.speed.server import FAULT_MARK, FAULTS, bench_server, results_for
from knowledge_rag.evaluation.evaluation_report import percentiles
from knowledge_rag.local.action_group import local_action_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knowledge_rag.evaluation.evaluation_report import Percentiles

    Handler = Callable[[object, object], dict[str, Any]]

MARKS: Final = (10, 50, 100)
"""Percentages of the calls after which the memory is measured."""


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """The load on the handler.

    Args:
        calls: total number of calls, at least one.
        threads: number of threads that share the handler.
        every: one call in so many has a fault; at least 2.
        deadline_seconds: time limit of a call, shortened so that silent peers don't take up all the time.
    """

    calls: int = 20_000
    threads: int = 8
    every: int = 10
    deadline_seconds: float = 0.5


@dataclass(frozen=True, slots=True)
class LoadReport:
    """A run of the benchmark.

    Args:
        settings: the run's settings.
        seconds: the run's duration.
        healthy: times of the calls that should succeed.
        faulty: times of the calls that should fail.
        late: number of calls that should succeed but timed out.
        wrong: number of calls with a wrong status or results.
        mixed_up: number of successful calls with other results than those of their question.
        records: number of logged lines.
        broken_records: number of those that aren't a JSON object.
        rss_megabytes: resident memory after MARKS of the calls.
    """

    settings: LoadSettings
    seconds: float
    healthy: Percentiles
    faulty: Percentiles
    late: int
    wrong: int
    mixed_up: int
    records: int
    broken_records: int
    rss_megabytes: tuple[float, ...]

    @property
    def sound(self) -> bool:
        """Whether every call got its own answer, and every record its own line."""
        expected = 2 * self.settings.calls
        return not (self.wrong or self.mixed_up or self.broken_records) and (
            self.records == expected
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"sound": self.sound}


class _Run:
    """Gives numbers to the threads, one at a time, and records the outcome of each call."""

    def __init__(self, handler: Handler, settings: LoadSettings) -> None:
        self._handler = handler
        self._settings = settings
        self._numbers = iter(range(settings.calls))
        self._marks = Counter(settings.calls * mark // 100 for mark in MARKS)
        self._lock = threading.Lock()
        self.healthy, self.faulty = array("d"), array("d")
        self.kinds: Counter[str] = Counter()
        self.rss_megabytes: list[float] = []

    def carry_out(self) -> None:
        """Make all the calls; after an interrupt, only wait for those in progress."""
        with ThreadPoolExecutor(self._settings.threads) as pool:
            try:
                for worker in [pool.submit(self._work) for _ in range(self._settings.threads)]:
                    worker.result()
            finally:
                with self._lock:
                    self._numbers = iter(())

    def _work(self) -> None:
        while (number := self._next()) is not None:
            fault = _fault(number, self._settings.every)
            kind, seconds = _call(self._handler, number, fault)
            with self._lock:
                (self.faulty if fault else self.healthy).append(seconds)
                self.kinds[kind] += 1
                done = len(self.healthy) + len(self.faulty)
                self.rss_megabytes += [_rss_megabytes()] * self._marks.pop(done, 0)

    def _next(self) -> int | None:
        with self._lock:
            return next(self._numbers, None)


def run_load_bench(settings: LoadSettings | None = None) -> LoadReport:
    """Put load on the handler, and count lost or mixed-up answers."""
    settings = settings or LoadSettings()
    with _loaded(settings) as (handler, log):
        run = _Run(handler, settings)
        started = time.perf_counter()
        run.carry_out()
        seconds = time.perf_counter() - started
        log.flush()
        records, broken = _count_records(Path(log.name))
    return LoadReport(
        settings=settings,
        seconds=seconds,
        healthy=percentiles(run.healthy),
        faulty=percentiles(run.faulty),
        late=run.kinds["late"],
        wrong=run.kinds["wrong"],
        mixed_up=run.kinds["mixed up"],
        records=records,
        broken_records=broken,
        rss_megabytes=tuple(run.rss_megabytes),
    )


def as_table(report: LoadReport) -> Table:
    """Return a report as a table."""
    settings = report.settings
    table = Table(
        title=f"{settings.calls} calls by {settings.threads} threads in {report.seconds:.0f} s"
    )
    for heading in ("calls", "p50 ms", "p95 ms", "p99 ms"):
        table.add_column(heading, justify="left" if heading == "calls" else "right")
    for name, times in (("healthy", report.healthy), ("faulty", report.faulty)):
        table.add_row(name, *(f"{value:.1f}" for value in (times.p50, times.p95, times.p99)))
    memory = ", ".join(f"{value:.1f}" for value in report.rss_megabytes)
    table.caption = (
        f"mixed up: {report.mixed_up}, wrong: {report.wrong}, late: {report.late}, "
        f"broken of {report.records} log lines: {report.broken_records}; "
        f"MB after {', '.join(map(str, MARKS))} % of the calls: {memory}"
    )
    return table


@contextmanager
def _loaded(settings: LoadSettings) -> Iterator[tuple[Handler, TextIO]]:
    with ExitStack() as stack:
        url = stack.enter_context(bench_server("derived"))
        stack.enter_context(local_action_group(url))
        # local_action_group restores the environment afterwards
        os.environ["DEADLINE_SECONDS"] = str(settings.deadline_seconds)
        from lambdas.retrieve_knowledge.handler import lambda_handler  # noqa: PLC0415

        folder = stack.enter_context(tempfile.TemporaryDirectory())
        log = stack.enter_context(Path(folder, "log").open("w", encoding="utf-8"))
        stack.enter_context(redirect_stdout(log))
        lambda_handler({"query": "the first call, which makes the client"}, None)
        log.truncate(0)
        log.seek(0)
        yield lambda_handler, log


def _fault(number: int, every: int) -> str:
    return "" if number % every else FAULTS[number // every % len(FAULTS)]


def _call(handler: Handler, number: int, fault: str) -> tuple[str, float]:
    """Make one call; return the error in its answer, ``""`` for none, and the seconds."""
    question = f"what about alarm {number}? {FAULT_MARK}{fault}" if fault else f"alarm {number}?"
    started = time.perf_counter()
    answer = handler({"query": question, "max_results": 2}, None)
    seconds = time.perf_counter() - started
    return _judged(answer, question, failing=bool(fault)), seconds


def _judged(answer: dict[str, Any], question: str, *, failing: bool) -> str:
    if failing:
        return "" if answer["status"] == "degraded" and answer["results"] == [] else "wrong"
    if answer["status"] != "ok":
        return "late" if answer.get("reason") == "timeout" else "wrong"
    expected = results_for(question, 2)
    got = [(result["citation"], result["content"]) for result in answer["results"]]
    if got == [(chunk.citation.to_dict(), chunk.content) for chunk in expected]:
        return ""
    return "mixed up"


def _count_records(path: Path) -> tuple[int, int]:
    broken = total = 0
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            total += 1
            try:
                broken += not isinstance(json.loads(line), dict)
            except ValueError:
                broken += 1
    return total, broken


def _rss_megabytes() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:  # not Linux: the peak instead
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 1e6
    return pages * resource.getpagesize() / 1e6
