"""Measures how soon the console sends the first words of an answer, requested like by a browser."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from rich.table import Table

from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.evaluation.evaluation_report import percentiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowledge_rag.evaluation.evaluation_report import Percentiles

AIM_MS: Final = 300.0
"""Target: maximum milliseconds until the first text of an answer, at the median."""

QUESTIONS: Final = (
    "How do we fail over the RDS cluster?",
    "SQS queue is backing up",
    "Lambda is throttled, what now?",
    "certificate expires tomorrow",
    "ECS deployment is stuck",
    "DynamoDB hot partition",
)
_STOP_SECONDS: Final = 10.0
_ASK_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class ConsoleReport:
    """A run of the benchmark.

    Args:
        asks: number of questions, asked one after the other.
        sources: time until the sources arrived.
        first_text: time until the first text of the answer arrived.
        done: time until everything arrived.
        aim_ms: target for the first text, at the median.
    """

    asks: int
    sources: Percentiles
    first_text: Percentiles
    done: Percentiles
    aim_ms: float = AIM_MS

    @property
    def reached(self) -> bool:
        """Whether the first text meets the target."""
        return self.first_text.p50 <= self.aim_ms

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"reached": self.reached}


def run_console_bench(kb: Path | None, asks: int = 60) -> ConsoleReport:
    """Serve a knowledge base in a process of its own, and ask its console.

    Args:
        kb: the knowledge base's file; ``None`` for the commands' default.
        asks: number of questions.

    Raises:
        KnowledgeRagError: the console doesn't start or doesn't answer.
    """
    with served(kb) as url:
        _ask(url, QUESTIONS[0])  # the first one waits for the function's process
        taken = [_ask(url, QUESTIONS[turn % len(QUESTIONS)]) for turn in range(asks)]
    sources, first_text, done = (
        percentiles([each[event] for each in taken]) for event in ("citations", "chunk", "done")
    )
    return ConsoleReport(asks, sources, first_text, done)


def as_table(report: ConsoleReport) -> Table:
    """Return a report as a table."""
    table = Table(title=f"{report.asks} questions to the console, over loopback")
    for heading in ("until", "p50 ms", "p95 ms", "p99 ms"):
        table.add_column(heading, justify="left" if heading == "until" else "right")
    for name, times in (
        ("its sources", report.sources),
        ("the first text of an answer", report.first_text),
        ("all of it", report.done),
    ):
        table.add_row(name, *(f"{figure:.0f}" for figure in (times.p50, times.p95, times.p99)))
    verdict = "reached" if report.reached else "missed"
    table.caption = f"aim: first text within {report.aim_ms:.0f} ms at the median: {verdict}"
    return table


@contextmanager
def served(kb: Path | None) -> Iterator[str]:
    """Serve a knowledge base in a process of its own; yield its console's address.

    Raises:
        KnowledgeRagError: the console doesn't start.
    """
    named = [] if kb is None else ["--kb", str(kb)]
    command = [sys.executable, "-m", "knowledge_rag", "serve", *named, "--json"]
    ports = ["--port", "0", "--console-port", "0"]
    with (
        tempfile.TemporaryFile() as log,  # hides the lines about answers with warnings
        subprocess.Popen(  # noqa: S603 - this product's own command
            [*command, *ports], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
        ) as process,
    ):
        try:
            line = process.stdout.readline() if process.stdout else b""
            url = json.loads(line or b"{}").get("console_url")
            if not url:
                process.wait(_STOP_SECONDS)
                log.seek(0)
                said = " ".join(log.read().decode(errors="replace").removeprefix("error: ").split())
                raise KnowledgeRagError(f"the console is not served: {said or 'no reason given'}")
            yield url
        finally:
            process.terminate()
            process.wait(_STOP_SECONDS)


def _ask(url: str, question: str) -> dict[str, float]:
    """Return the seconds until each kind of event arrived first."""
    where = urlsplit(url)
    body = json.dumps({"question": question})
    headers = {"Content-Type": "application/json", "Origin": url.rstrip("/")}
    times: dict[str, float] = {}
    started = time.perf_counter()
    connection = http.client.HTTPConnection(where.netloc, timeout=_ASK_SECONDS)
    with closing(connection):
        connection.request("POST", "/api/ask", body, headers)
        with connection.getresponse() as response:
            for line in response:
                if line.startswith(b"event:"):
                    name = line.removeprefix(b"event:").strip().decode()
                    times.setdefault(name, time.perf_counter() - started)
    if missing := {"citations", "chunk", "done"} - times.keys():
        raise KnowledgeRagError(f"the console's answer has no {', '.join(sorted(missing))}")
    return times
