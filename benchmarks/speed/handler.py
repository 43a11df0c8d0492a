"""Compares the time of a call of ``retrieve_knowledge`` with a raw boto3 call, in one run.

The same local server answers all calls with the same bytes, so that neither search nor network is
measured. The handler's deadline, proofs, log line and metrics are on. The kinds of call take turns, in
changing order, so that the machine's other work affects each alike. The median of the ratios within a turn
counts, not the milliseconds.
"""

from __future__ import annotations

import http.client
import json
import os
import time
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

import boto3
from rich.table import Table

from benchmarks.speed.server import bench_server
from knowledge_rag.core.retrieval import Query, SearchSettings, retrieve_request
from knowledge_rag.evaluation.evaluation_report import percentiles
from knowledge_rag.local.action_group import REGION, agent_event, local_action_group
from knowledge_rag.local.bedrock.retrieve import KNOWLEDGE_BASE_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knowledge_rag.evaluation.evaluation_report import Percentiles

    Call = Callable[[], int]

QUESTION: Final = "how do we fail over the orders database?"
REACH: Final = 1.05
"""Maximum time of the handler, as a multiple of raw boto3's, at the median."""

BOTO3, HANDLER, RAW_HTTP = "raw boto3", "retrieve_knowledge", "raw HTTP"

_WARM_UP: Final = 20


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of call.

    Args:
        name: name of the kind.
        milliseconds: time of a call.
        processor_ms: median processor time of a call, which other processes change little.
        ratio: median ratio of its time to raw boto3's in the same turn.
        processor_ratio: ratio of its processor time to raw boto3's.
        results: number of results of each call.
    """

    name: str
    milliseconds: Percentiles
    processor_ms: float
    ratio: float
    processor_ratio: float
    results: int


@dataclass(frozen=True, slots=True)
class HandlerReport:
    """A run of the benchmark.

    Args:
        calls: number of calls of each kind.
        rows: raw boto3, the handler, raw HTTP.
        reach: maximum ratio of the target.
    """

    calls: int
    rows: tuple[Row, ...]
    reach: float = REACH

    @property
    def ratio(self) -> float:
        """The handler's ratio."""
        return next(row.ratio for row in self.rows if row.name == HANDLER)

    @property
    def reached(self) -> bool:
        """Whether the handler meets the target."""
        return self.ratio <= self.reach

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"ratio": self.ratio, "reached": self.reached}


def run_handler_bench(calls: int = 1000) -> HandlerReport:
    """Measure ``calls`` calls of each kind against a local server.

    Raises:
        RuntimeError: a call didn't return the server's results.
    """
    with bench_server("fixed") as url, _kinds(url) as kinds:
        results = {name: call() for name, call in kinds.items()}
        taken = _take_turns(kinds, calls)
    if not results[HANDLER] == 5 <= results[BOTO3] == results[RAW_HTTP]:
        raise RuntimeError(f"calls gave {results}")
    rows = (_row(name, taken[name], taken[BOTO3], results[name]) for name in kinds)
    return HandlerReport(calls, tuple(rows))


def as_table(report: HandlerReport) -> Table:
    """Return a report as a table."""
    table = Table(title=f"{report.calls} calls of each, over loopback, in turns")
    for heading in ("call", "p50 ms", "p95 ms", "boto3 = 1", "CPU ms", "boto3 = 1"):
        table.add_column(heading, justify="left" if heading == "call" else "right")
    for row in report.rows:
        times = row.milliseconds.p50, row.milliseconds.p95, row.ratio
        processor = row.processor_ms, row.processor_ratio
        figures = (f"{figure:.2f}" for figure in (*times, *processor))
        table.add_row(row.name, *figures)
    verdict = "reached" if report.reached else "missed"
    table.caption = f"aim: at most {report.reach:.2f} of raw boto3: {verdict}"
    return table


def _row(name: str, taken: Sequence[_Taken], boto3s: Sequence[_Taken], results: int) -> Row:
    processor = median(call.processor for call in taken)
    return Row(
        name,
        percentiles([call.seconds for call in taken]),
        processor * 1000,
        median(ours.seconds / theirs.seconds for ours, theirs in zip(taken, boto3s, strict=True)),
        processor / median(call.processor for call in boto3s),
        results,
    )


class _Taken(NamedTuple):
    """Duration and processor time of one call, in seconds."""

    seconds: float
    processor: float


def _take_turns(kinds: dict[str, Call], calls: int) -> dict[str, list[_Taken]]:
    taken: dict[str, list[_Taken]] = {name: [] for name in kinds}
    names = list(kinds)
    for turn in range(_WARM_UP + calls):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            taken[name].append(_timed(kinds[name]))
    return {name: each[_WARM_UP:] for name, each in taken.items()}


def _timed(call: Call) -> _Taken:
    started, processor = time.perf_counter(), time.thread_time()
    call()
    return _Taken(time.perf_counter() - started, time.thread_time() - processor)


@contextmanager
def _kinds(url: str) -> Iterator[dict[str, Call]]:
    request = retrieve_request(Query(QUESTION), SearchSettings(KNOWLEDGE_BASE_ID))
    with ExitStack() as stack:
        stack.enter_context(local_action_group(url))
        # logs are written out, as in Lambda
        nowhere = stack.enter_context(Path(os.devnull).open("w", encoding="utf-8"))
        stack.enter_context(redirect_stdout(nowhere))
        client = boto3.client("bedrock-agent-runtime", region_name=REGION)
        stack.callback(client.close)
        connection = http.client.HTTPConnection(urlsplit(url).netloc)
        stack.callback(connection.close)
        yield {
            BOTO3: lambda: len(client.retrieve(**request)["retrievalResults"]),
            HANDLER: _handler_call(),
            RAW_HTTP: _http_call(connection, request),
        }


def _handler_call() -> Call:
    from lambdas.retrieve_knowledge.handler import lambda_handler  # noqa: PLC0415 - in its environment only

    event = agent_event({"query": QUESTION})

    def call() -> int:
        body = lambda_handler(event, None)["response"]["responseBody"]["application/json"]["body"]
        return str(body).count('"relevance_score"')

    return call


def _http_call(connection: http.client.HTTPConnection, request: dict[str, Any]) -> Call:
    body = json.dumps(request).encode()
    path = f"/knowledgebases/{KNOWLEDGE_BASE_ID}/retrieve"

    def call() -> int:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        return connection.getresponse().read().count(b'"score"')

    return call
