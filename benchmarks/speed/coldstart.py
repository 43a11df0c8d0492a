"""Compares a cold start of ``retrieve_knowledge`` with ``boto3 + client``, in one run.

Each start is a process of its own. Its processor time is measured from the first import on, because
other processes' load changes that little, and the best of several rounds counts. The first call goes to a
local server over plain HTTP.

For its real ``https`` endpoint the function loads the certificates during initialisation, when Lambda gives it
more processor; boto3 loads them in its first call. That row has no counterpart here and doesn't count towards
the target. In Lambda, boto3 is part of the runtime and the function is in its package: the rows without
``.pyc`` are for a package that was made without compiling it. The runtime's part is compiled in every row,
regardless of this machine's caches, by one start of each kind before the rounds.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from benchmarks.speed.server import bench_server
from knowledge_rag.local.action_group import REGION, agent_event
from knowledge_rag.local.bedrock.retrieve import KNOWLEDGE_BASE_ID

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REACH: Final = 1.15
"""Maximum processor time of the handler, as a multiple of that of boto3 and a client."""

DECISIVE: Final = ("handler, initialised", "handler + first call")

_PACKAGES: Final = ("knowledge_rag", "lambdas", "aws_lambda_powertools")
"""Contents of the function's package; everything else comes with Lambda's runtime."""

_TIMED: Final = """
import time
started = time.process_time()
{work}
print(time.process_time() - started, flush=True)
"""
_BOTO3: Final = "import boto3; client = boto3.client('bedrock-agent-runtime')"
_HANDLER: Final = "from lambdas.retrieve_knowledge.handler import lambda_handler"
_ASK_BOTO3: Final = (
    "\nanswer = client.retrieve(knowledgeBaseId={kb!r}, retrievalQuery={{'text': 'x'}},"
    " retrievalConfiguration={{'vectorSearchConfiguration': {{'numberOfResults': 10}}}})"
    "\nassert len(answer['retrievalResults']) == 10"
)
_ASK_HANDLER: Final = (
    "\nanswer = lambda_handler({event!r}, None)"
    "\nassert '\"status\":\"ok\"' in answer['response']['responseBody']['application/json']['body']"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of start.

    Args:
        name: description of the start.
        seconds: processor time, best round.
        ratio: ratio to boto3 doing the same; 1 for boto3's own rows.
    """

    name: str
    seconds: float
    ratio: float


@dataclass(frozen=True, slots=True)
class ColdStartReport:
    """A run of the benchmark.

    Args:
        rounds: processes of each kind.
        rows: boto3's and the handler's, each with and without the first call.
        reach: maximum ratio of the target, with ``.pyc``.
    """

    rounds: int
    rows: tuple[Row, ...]
    reach: float = REACH

    @property
    def reached(self) -> bool:
        """Whether the handler's start meets the target."""
        return all(row.ratio <= self.reach for row in self.rows if row.name in DECISIVE)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"reached": self.reached}


def run_coldstart_bench(rounds: int = 7) -> ColdStartReport:
    """Start ``rounds`` processes of each kind, in turns.

    Raises:
        RuntimeError: one of them failed.
    """
    with (
        bench_server("fixed") as url,
        _package() as made,
        _package() as bare,
        tempfile.TemporaryDirectory() as compiled,
    ):
        called = {"AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME": url}
        kinds = {
            "boto3 + client": (_BOTO3, made, called),
            "handler, initialised": (_HANDLER, made, called),
            "handler, initialised, certificates loaded": (_HANDLER, made, {}),
            "handler, initialised, without .pyc": (_HANDLER, bare, called),
            "boto3 + client + first call": (_BOTO3 + _first_call(_ASK_BOTO3), made, called),
            "handler + first call": (_HANDLER + _first_call(_ASK_HANDLER), made, called),
            "handler + first call, without .pyc": (
                _HANDLER + _first_call(_ASK_HANDLER), bare, called,
            ),
        }  # fmt: skip
        shared = {"PYTHONPYCACHEPREFIX": compiled}
        for name, (work, package, environment) in kinds.items():
            if package is made:
                compiling = {"PYTHONDONTWRITEBYTECODE": ""}
                _start(name, work, package, environment | shared | compiling)
        best = dict.fromkeys(kinds, float("inf"))
        for _ in range(rounds):
            for name, (work, package, environment) in kinds.items():
                best[name] = min(best[name], _start(name, work, package, environment | shared))
    return ColdStartReport(rounds, tuple(_rows(best)))


def as_table(report: ColdStartReport) -> Table:
    """Return a report as a table."""
    table = Table(title=f"processor time of a fresh process, best of {report.rounds}")
    for heading in ("start", "ms", "boto3 = 1"):
        table.add_column(heading, justify="left" if heading == "start" else "right")
    for row in report.rows:
        table.add_row(row.name, f"{row.seconds * 1000:.0f}", f"{row.ratio:.2f}")
    verdict = "reached" if report.reached else "missed"
    table.caption = f"aim: at most {report.reach:.2f} of boto3 with .pyc: {verdict}"
    return table


def _rows(best: Mapping[str, float]) -> Iterator[Row]:
    peer = 0.0
    for name, seconds in best.items():
        peer = seconds if name.startswith("boto3") else peer
        yield Row(name, seconds, seconds / peer)


def _first_call(code: str) -> str:
    return code.format(kb=KNOWLEDGE_BASE_ID, event=agent_event({"query": "x"}))


@contextmanager
def _package() -> Iterator[Path]:
    """Create the function's package in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        for name in _PACKAGES:
            spec = find_spec(name)
            if spec is None or spec.origin is None:
                raise RuntimeError(f"{name} is not installed")
            source = Path(spec.origin).parent
            ignored = shutil.ignore_patterns("__pycache__", "local", "cli", "evaluation")
            shutil.copytree(source, Path(folder, name), ignore=ignored)
        yield Path(folder)


def _start(name: str, work: str, package: Path, environment: Mapping[str, str]) -> float:
    done = subprocess.run(  # noqa: S603 - the code above
        [sys.executable, "-c", _TIMED.format(work=work)],
        env={
            "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": str(package),
            "PYTHONDONTWRITEBYTECODE": "1",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "KNOWLEDGE_BASE_ID": KNOWLEDGE_BASE_ID,
            **environment,
        },
        cwd=package,
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{name}: exit code {done.returncode}: {done.stderr[-500:]}")
    return float(json.loads(done.stdout.splitlines()[-1]))
