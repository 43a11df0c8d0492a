"""Records the output of each command with ``--json`` for the sample runbooks.

Left out: ``serve`` and ``mcp`` run until they are stopped, ``doctor`` and ``smoke`` need an account,
``bench`` measures time, ``model`` downloads, and ``gameday`` is a part of its own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tests.adversarial.disguises import INSTRUCTIONS, INVISIBLE
from tests.support.local import CORPUS, PROJECT, write_files
from tools.golden_parts.advice import summary
from tools.golden_parts.base import Recorded, compact, digest, stable

if TYPE_CHECKING:
    from tools.golden_parts.base import Run

DATA: Final = PROJECT / "tests" / "data"
PAYLOADS: Final = DATA / "incidents"
FAST: Final = frozenset(
    {
        "ingest",
        "retrieve",
        "retrieve, nothing documented",
        "ask",
        "ask, nothing documented",
        "ask alertmanager-webhook",
        "ask cloudwatch-sns",
        "ask pagerduty-v3",
        "ask zabbix-export",
        "verify",
        "lint, findings",
        "coverage, green",
        "chunk",
    }
)
"""Commands of the fast subset."""

_QUESTION: Final = "SQS queue is backing up"
_UNKNOWN: Final = "how do I bake bread"
_MEETING: Final = "When is the next parent-teacher conference?"
_ANSWER: Final = (
    "Use at least three times the timeout [1]. Then purge [Source: runbooks/sqs-backlog.md, lines 1-999].\n"
    "Use at least six times the function's timeout [Source: runbooks/sqs-backlog.md, lines 72-78].\n"
)
_LABELLED: Final = (
    {
        "id": "q1",
        "query": "When do we initiate a manual failover?",
        "relevant": [{"source_file": "runbooks/rds-failover.md", "start_line": 87, "end_line": 96}],
    },
    {
        "id": "q2",
        "query": "messages come back before they are done",
        "relevant": [{"source_file": "runbooks/sqs-backlog.md", "start_line": 72, "end_line": 78}],
    },
    {
        "id": "q3",
        "query": "NAT gateway has no free ports",
        "relevant": [{"source_file": "postmortems/2024-11-nat-port-exhaustion.md"}],
        "also_acceptable": ["runbooks/vpc-nat-exhaustion.md"],
    },
)
"""Questions for ``eval``."""


def record(run: Run) -> Recorded:
    """Run the commands and record exit code, output and messages of each."""
    ran = {"ingest": run.sample_ingest}
    _write_files(run)
    ran |= run.command.each(
        {
            name: arguments
            for name, arguments in (_commands(run) | _payloads()).items()
            if not run.fast or name in FAST
        }
    )
    if not run.fast:  # a website's pages with upcoming dates go first: it needs a fixed day
        policy = ("--policy", "website-first", "--explain", "--kb", run.files / "site.kb")
        ran["retrieve, policy"] = run.command(
            "retrieve", _MEETING, *policy, "--json", POLICY_TODAY="2026-03-01"
        )
    return Recorded({name: _recorded(name, each, run) for name, each in ran.items()})


def _recorded(name: str, ran: Any, run: Run) -> dict[str, Any]:
    """Return the record of a command: its whole output, or for most payloads only the cited lines."""
    if name not in _payloads() or name in FAST or not ran.out:
        return _shown(ran, run)
    (answer,) = ran.json["agent_outputs"].values()
    return {**summary(ran, run), "warnings": compact(answer.get("warnings"))}


def _shown(ran: Any, run: Run) -> dict[str, Any]:
    documents = compact(stable(ran.json_lines if ran.out else [], run.places))
    shown = {"exit": ran.code, "messages": compact(stable(ran.err.splitlines(), run.places))}
    if len(documents) > 1:  # JSON Lines: the chunks part has each
        return {**shown, "lines": len(documents), "digest": digest(documents)}
    return {**shown, "output": documents[0] if documents else None}


def _write_files(run: Run) -> None:
    """Write the commands' input files."""
    evidence = run.command("retrieve", _QUESTION, "--max-results", "3", "--json")
    rows = "".join(json.dumps(row) + "\n" for row in _LABELLED)
    lines = [*INSTRUCTIONS, f"plain {INVISIBLE} text", "password = hunter2-hunter2-hunter2"]
    write_files(
        run.files,
        {
            "evidence.json": evidence.out,
            "answer.md": _ANSWER,
            "questions.jsonl": rows,
            "lint/page.md": "# Page\n\n" + "\n\n".join(lines) + "\n",
        },
    )


def _commands(run: Run) -> dict[str, tuple[object, ...]]:
    files = run.files
    answer = ("verify", "--answer", files / "answer.md", "--evidence", files / "evidence.json")
    coverage = ("coverage", "--docs", CORPUS, "--json", "--rules")
    evaluated = ("eval", "--json", "--answers")
    return {
        "ingest, nothing changed": ("ingest", CORPUS, "--kb", run.sample, "--json"),
        "ingest, web pages": ("ingest", DATA / "school/site", "--kb", files / "site.kb", "--json"),
        "ingest, no such folder": ("ingest", files / "none", "--kb", files / "none.kb", "--json"),
        "demo": ("demo", "--json"),
        "retrieve": ("retrieve", _QUESTION, "--json"),
        "retrieve, nothing documented": ("retrieve", _UNKNOWN, "--json"),
        "retrieve, blank": ("retrieve", " ", "--json"),
        "retrieve, postmortems": ("retrieve", "orders database writer stalled, why did it take so long",
                                  "--filter", "document_type=postmortem", "--json"),
        "retrieve, one document": ("retrieve", "failover", "--filter",
                                   "source_file=runbooks/rds-failover.md", "--max-results", "50", "--json"),
        "retrieve, semantic": ("retrieve", _QUESTION, "--search", "semantic", "--json"),
        "ask": ("ask", "How do we fail over the RDS cluster?", "--json"),
        "ask, symptom": ("ask", _QUESTION, "--json"),
        "ask, nothing documented": ("ask", _UNKNOWN, "--json"),
        "verify": (*answer, "--json"),
        "verify, marked": (*answer, "--mark", "--strict", "--corpus", CORPUS, "--json"),
        "verify, SARIF": (*answer, "--format", "sarif"),
        "lint": ("lint", CORPUS, "--json"),
        "lint, findings": ("lint", files / "lint", "--json"),
        "chunk": ("chunk", CORPUS, "--json"),
        "coverage, green": (*coverage, DATA / "rules/green"),
        "coverage, red": (*coverage, DATA / "rules/red", "--map", DATA / "rules/map.yaml"),
        "eval": ("eval", files / "questions.jsonl", "--docs", CORPUS, "--json"),
        "eval, near misses": (*evaluated, DATA / "near_misses/cases.jsonl", "--docs", CORPUS),
        "eval, polarity": (*evaluated, DATA / "polarity/cases.jsonl"),
        "gameday, list": ("gameday", "--list", "--json"),
    }  # fmt: skip


def _payloads() -> dict[str, tuple[object, ...]]:
    """Return ``ask --incident`` for each payload of the test data."""
    paths = sorted(PAYLOADS.glob("*.json"))
    return {f"ask {path.stem}": ("ask", "--incident", path, "--json") for path in paths}
