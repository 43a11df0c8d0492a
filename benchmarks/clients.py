"""How other clients of the service handle those faults of the game day that a server can cause."""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import boto3
from langchain_aws.retrievers import AmazonKnowledgeBasesRetriever
from rich.table import Table

from knowledge_rag.core.net.deadline import RETRIEVAL_BUDGET_SECONDS
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.evaluation.faults.payloads import QUERY
from knowledge_rag.evaluation.faults.run import CATALOGUE, FaultResult, run_all
from knowledge_rag.evaluation.faults.scenario import KNOWLEDGE_BASE_ID, UNPROVEN, Group, Scenario
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knowledge_rag.evaluation.faults.scenario import Expected, Fault
    from knowledge_rag.evaluation.faults.server import RawServer, Script
    from knowledge_rag.local.ingest import Progress

    Ask = Callable[[], Sequence[object]]
    """Asks the question of every fault and returns the texts found."""

FAULTS: Final = tuple(
    fault for fault in CATALOGUE if fault.group not in {Group.SURROUNDINGS, Group.REQUESTS}
)
"""Faults that a server causes, so that they can be tested with any client."""

_WITHHELD: Final = {Reason.UNVERIFIABLE_RESULTS, Reason.GUARDRAIL}
"""Reasons of answers whose results must not be shown."""
_WORKERS: Final = 10
"""Faults that run concurrently; most of their time is waiting."""


def boto3_client() -> Ask:
    """Create a default client, whose response is read as in most code."""
    client = boto3.client("bedrock-agent-runtime")

    def ask() -> list[object]:
        response = client.retrieve(
            knowledgeBaseId=KNOWLEDGE_BASE_ID, retrievalQuery={"text": QUERY}
        )
        return [result["content"]["text"] for result in response.get("retrievalResults", [])]

    return ask


def langchain_retriever() -> Ask:
    """Create langchain-aws's retriever with its defaults."""
    retriever = AmazonKnowledgeBasesRetriever(
        knowledge_base_id=KNOWLEDGE_BASE_ID,
        retrieval_config={"vectorSearchConfiguration": {"numberOfResults": 5}},
        min_score_confidence=None,
    )
    return lambda: [document.page_content for document in retriever.invoke(QUERY)]


CLIENTS: Final[Mapping[str, Callable[[], Ask]]] = {
    "boto3": boto3_client,
    "langchain-aws": langchain_retriever,
}


@dataclass(frozen=True, slots=True)
class ClientResult(FaultResult):
    """The outcome of a fault, and how it misleads a reader, ``""`` if it doesn't."""

    misled: str = ""


class _Lasting(Scenario):
    """A service whose fault lasts, because other clients may retry."""

    def serve(self, *scripts: Script, **more: Any) -> RawServer:  # noqa: ANN401 - as in the base class
        return super().serve(*scripts, **(more | {"then": scripts[-1]} if scripts else more))


def run_client(name: str, fault: Fault) -> FaultResult:
    """Run a client against a fault in this process, whose environment is replaced."""
    with tempfile.TemporaryDirectory() as folder, _Lasting(Path(folder)) as scenario:
        fault.set_up(scenario)
        scenario.enter()
        ask = CLIENTS[name]()
        for _ in range(fault.healthy_before):
            _timed(ask)
        time.sleep(fault.pause_seconds)
        seconds, count, raised = max(_timed(ask) for _ in range(fault.calls))
    found = counted(count, "passage") if count else "success, nothing found"
    misled = "" if raised else _misled(fault.expected, count)  # an exception doesn't mislead
    return ClientResult(fault.name, seconds, raised or found, misled=misled)


def _timed(ask: Ask) -> tuple[float, int, str]:
    """Return the seconds of a question, the number of texts found, and the name of its exception."""
    started = time.perf_counter()
    try:
        count, raised = len(ask()), ""
    except Exception as error:  # noqa: BLE001 - its name is reported
        count, raised = 0, type(error).__name__
    return time.perf_counter() - started, count, raised


def _misled(expected: Expected, count: int) -> str:
    if expected.reason in _WITHHELD:
        return f"{count} shown that may not be" if count else ""
    if expected.status is Status.DEGRADED:
        return "" if count else "an outage reads as nothing documented"
    unproven = sum(n for reason, n in (expected.dropped or {}).items() if reason in UNPROVEN)
    wrong = min(count - len(expected.evidence), unproven)
    return f"{wrong} unprovable shown as found" if wrong > 0 else ""


@dataclass(frozen=True, slots=True)
class ClientsReport:
    """The results of each client, by its name, in the order of the faults."""

    results: Mapping[str, Sequence[FaultResult]]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {name: [asdict(each) for each in found] for name, found in self.results.items()}


def run_clients_bench(progress: Progress, faults: Sequence[Fault] = FAULTS) -> ClientsReport:
    """Run every client against the faults."""
    return ClientsReport(
        {
            name: run_all(
                faults,
                lambda done, name=name: progress(done, len(faults), name),  # type: ignore[misc]
                run=partial(run_client, name),
                workers=_WORKERS,
            )
            for name in CLIENTS
        }
    )


def as_table(report: ClientsReport) -> Table:
    """Return a table of the clients side by side, with the number of late and misleading answers."""
    table = Table("fault", *(each for name in report.results for each in ("s", name)))
    for results in zip(*report.results.values(), strict=True):
        cells = [cell for result in results for cell in _cells(result)]
        table.add_row(results[0].name, *cells)
    table.caption = "\n".join(
        f"{name}: {sum(it.seconds > RETRIEVAL_BUDGET_SECONDS for it in found)} answered later than "
        f"{RETRIEVAL_BUDGET_SECONDS:g} s, {sum(bool(_misleads(it)) for it in found)} misleading"
        for name, found in report.results.items()
    )
    return table


def _misleads(result: FaultResult) -> str:
    return result.misled if isinstance(result, ClientResult) else ""


def _cells(result: FaultResult) -> tuple[str, str]:
    if result.not_run:
        return "", f"not run: {result.not_run}"
    misled = _misleads(result)
    return f"{result.seconds:.1f}", neutralise(result.answer) + (
        f": MISLEADS, {misled}" if misled else ""
    )
