"""Records the retrieve_knowledge function: its answers to recorded events, and to each row of the game day."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.local.action_group import local_action_group
from knowledge_rag.local.bedrock.server import LocalBedrock
from knowledge_rag.local.knowledge_base import KnowledgeBase
from tests.support.fixtures import invoke
from tests.support.local import PROJECT, minilm
from tools.golden_parts.base import Recorded, compact, stable

if TYPE_CHECKING:
    from pathlib import Path

    from tools.golden_parts.base import Run

EVENTS: Final = PROJECT / "tests" / "events"
CONTEXT: Final = "gateway_client_context"
"""Not an event: the client context that comes with ``gateway``."""
PATIENT_SECONDS: Final = 30.0
"""For a query on a busy machine; the game day uses the real budget."""


def record_events(run: Run) -> Recorded:
    """Record the real handler's answer, log and metrics for each recorded event."""
    assert run.sample_ingest.code == 0, run.sample_ingest.err  # noqa: S101 - nothing to ask otherwise
    with (
        KnowledgeBase(run.sample, minilm()) as knowledge_base,
        LocalBedrock(knowledge_base) as bedrock,
        local_action_group(bedrock.endpoint_url, deadline_seconds=PATIENT_SECONDS),
    ):
        paths = [path for path in sorted(EVENTS.glob("*.json")) if path.stem != CONTEXT]
        return Recorded({path.stem: _answer(path, run) for path in paths})


def record_gameday(run: Run) -> Recorded:
    """Record status, reason and alarms of each row that this machine can run."""
    rows = run.command("gameday", "--json").json["rows"]
    recorded = Recorded()
    for row in rows:
        if row["not_played"]:
            recorded.skipped[row["name"]] = row["not_played"]
        else:
            recorded.values[row["name"]] = {name: row[name] for name in _ROW}
    return recorded


_ROW: Final = (
    "status",
    "reason",
    "http",
    "answer",
    "crashed",
    "alarms_at_once",
    "alarms",
    "broken",
)


def _answer(path: Path, run: Run) -> dict[str, Any]:
    event, context = json.loads(path.read_text()), None
    if path.stem == "gateway":
        custom = json.loads((EVENTS / f"{CONTEXT}.json").read_text())["custom"]
        context = SimpleNamespace(client_context=SimpleNamespace(custom=custom))
    made = invoke(event, context)
    metrics = [
        {name: each for name, each in record.items() if name != "_aws"} for record in made.metrics
    ]
    told = {"answer": _read(made.answer), "log": made.logs, "metrics": metrics}
    shown: dict[str, Any] = compact(stable(told, run.places))
    return shown


def _read(answer: Any) -> Any:
    """Return an answer with an agent's body, which is sent as text, parsed."""
    body = answer.get("response", {}).get("responseBody", {}).get("application/json")
    if body:
        body["body"] = json.loads(body["body"])
    return answer
