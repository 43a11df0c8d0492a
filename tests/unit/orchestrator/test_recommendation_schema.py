"""The schema of recommendations: what the product gives is valid, what older versions gave still is."""

from __future__ import annotations

import asyncio
import copy
import json

import pytest

from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.headings import Kind
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.procedures import Why
from knowledge_rag.orchestrator.recommendation import (
    MAX_SIMILAR,
    MAX_STEPS,
    MAX_WARNINGS,
    Concern,
    Strength,
)
from tests.support.runbooks import Search, advised, alert, question
from tests.support.shared_data import shared_data
from tests.unit.orchestrator.schema import SCHEMA, VALIDATOR

CITED = {
    "source_file": "runbooks/rds.md", "start_line": 3, "end_line": 4, "section_header": "Resolution",
    "text_sha256": "0" * 64,
}  # fmt: skip
OLD = {
    "agent_id": "knowledge-rag",
    "status": "ok",
    "recommendation": {
        "summary": "1 step from runbooks/rds.md.",
        "guidance": [
            {"step": 1, "action": "Wait.", "citation": CITED, "support": "supported"},
        ],
        "similar_incidents": [],
    },
    "confidence": 0.52,
    "reasoning": "It is documented.",
    "warnings": [{"kind": "earlier_steps", "message": "Read on.", "step": 1}],
    "advisor": "extractive",
}
"""What was given before there were procedures."""

RUNBOOK = """\
# Queue

Before anything on this page: call the desk.

## QueueGrows

1. Pause the writers: `pause --all`
2. Delete what is older than a day: `find /work -mtime +1 -delete`

| Code | Go to |
|---|---|
| A | [Fix](#fix) |

Never restart the broker.

## What not to do

- Never purge.
"""
GROUP = Incident(
    alert_name="QueueGrows", alerts=(alert("QueueGrows"), alert("MongoElection", description="x"))
)


def test_what_older_versions_gave_is_still_valid():
    VALIDATOR.validate(OLD)


@pytest.mark.parametrize(
    "incident",
    [alert("QueueGrows"), alert("MongoElection"), question("the queue grows"), GROUP],
    ids=["documented", "undocumented", "question", "group"],
)
def test_what_is_given_for_a_runbook_is_valid(incident):
    given = advised(incident, {"runbooks/queue.md": RUNBOOK}).to_dict()
    VALIDATOR.validate(json.loads(json.dumps(given)))


def test_the_schema_allows_what_the_code_does_and_no_more():
    parts, recommendation = SCHEMA["$defs"], SCHEMA["properties"]["recommendation"]["properties"]
    assert recommendation["guidance"]["maxItems"] == MAX_STEPS
    assert parts["step"]["properties"]["step"]["maximum"] == MAX_STEPS
    assert parts["warning"]["properties"]["step"]["maximum"] == MAX_STEPS
    assert recommendation["similar_incidents"]["maxItems"] == MAX_SIMILAR
    assert SCHEMA["properties"]["warnings"]["maxItems"] == MAX_WARNINGS
    assert set(parts["not_shown"]["properties"]["reason"]["enum"]) == set(Why)
    assert parts["evidence"]["properties"]["strength"]["enum"] == list(Strength)
    assert set(Concern) <= set(parts["warning"]["properties"]["kind"]["enum"])
    kinds = parts["step"]["properties"]["kind"]["enum"]
    assert set(kinds) == set(Kind) - {Kind.BACKGROUND, Kind.PROHIBITED, Kind.OBSOLETE}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("evidence",), {"strength": "good", "reasons": []}),
        (("evidence",), {"strength": "thin"}),
        (("recommendation", "guidance", 0, "procedure"), 0),
        (("recommendation", "guidance", 0, "warnings"), [{"text": "x", "kind": "loud"}]),
        (("recommendation", "guidance", 0, "not_shown"), [{"source_file": "a.md"}]),
        (("recommendation", "guidance", 0, "danger"), ["rm"]),
        (("recommendation", "alerts"), [{"alert": "", "status": "ok"}]),
        (("recommendation", "reading"), [{"source_file": "a.md"}]),
    ],
)
def test_what_breaks_the_format_is_refused(path, value):
    wrong = copy.deepcopy(OLD)
    *way, last = path
    place = wrong
    for key in way:
        place = place[key]
    place[last] = value
    assert not VALIDATOR.is_valid(wrong)


def test_without_advice_there_is_no_evidence_and_no_procedure():
    nothing = {
        **OLD,
        "status": "no_match",
        "confidence": 0,
        "recommendation": {
            "summary": "No documented guidance found for this scenario",
            "guidance": [],
            "similar_incidents": [],
            "reading": [CITED],
            "unknown_words": ["MongoDB"],
        },
    }
    VALIDATOR.validate(nothing)
    assert not VALIDATOR.is_valid({**nothing, "evidence": {"strength": "thin", "reasons": []}})


def test_what_on_call_cases_of_a_whole_company_get_is_valid():
    folder = shared_data("oncall/acme-media")
    files = sorted(it for it in (folder / "docs").rglob("*") if it.is_file())
    search = Search(
        {it.relative_to(folder / "docs").as_posix(): it.read_text("utf-8") for it in files}
    )
    incidents = sorted((folder / "incidents").glob("*.json"))
    assert incidents
    for path in incidents:
        incident = Incident.from_state(json.loads(path.read_text("utf-8")))
        given = asyncio.run(consult(incident, search)).recommendation.to_dict()
        VALIDATOR.validate(json.loads(json.dumps(given)))
