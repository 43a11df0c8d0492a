"""A recommendation is what its schema says, and can't be built otherwise."""

import asyncio
import copy
import hashlib
import json

import pytest
from jsonschema import Draft202012Validator

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.headings import ACTIONS
from knowledge_rag.core.headings import Kind as SectionKind
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.guardrails.rules import Kind
from knowledge_rag.guardrails.support.report import Verdict
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.governing import Governs
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.procedures import NotShown, Why
from knowledge_rag.orchestrator.recommendation import (
    MAX_SIMILAR,
    MAX_STEPS,
    MAX_WARNINGS,
    CitedLines,
    Concern,
    Evidence,
    Guard,
    Recommendation,
    Section,
    Shortfall,
    SimilarIncident,
    Step,
    Strength,
    Warned,
)
from knowledge_rag.orchestrator.wording import NO_MATCH, UNREACHABLE
from tests.support.runbooks import Search, advised, alert, question
from tests.support.shared_data import shared_data
from tests.unit.orchestrator.schema import SCHEMA, VALIDATOR

DIGEST = hashlib.sha256(b"lines").hexdigest()
LINES = CitedLines(Citation("runbooks/rds.md", 5, 10, "Diagnosis"), DIGEST, DIGEST)
STEP = Step("Check the lag", (LINES,), ("aws rds x",), Verdict.SUPPORTED)
OK = {"status": Status.OK, "summary": "Fail over.", "reasoning": "One runbook says so."}
NOTHING = {"status": Status.NO_MATCH, "summary": NO_MATCH, "reasoning": "Nothing was found."}
DEGRADED = {
    "status": Status.DEGRADED,
    "summary": UNREACHABLE,
    "reasoning": "No query was answered.",
    "reason": Reason.TIMEOUT,
}


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_knows_every_kind_of_warning_and_every_reason():
    kinds = SCHEMA["$defs"]["warning"]["properties"]["kind"]["enum"]
    # a recommendation that was kept from before procedures came whole may have this one
    assert set(kinds) == {*map(str, Concern), *map(str, Kind), "earlier_steps"}
    assert set(SCHEMA["properties"]["reason"]["enum"]) == {*map(str, Reason), *map(str, Shortfall)}


def test_no_object_of_the_schema_takes_what_it_does_not_name():
    objects = [SCHEMA, SCHEMA["properties"]["recommendation"], *SCHEMA["$defs"].values()]
    described = [it for it in objects if it.get("type") == "object"]
    assert len(described) == 12
    assert all(it["additionalProperties"] is False for it in described)


def test_the_schema_allows_what_the_code_does_and_no_more():
    parts, recommendation = SCHEMA["$defs"], SCHEMA["properties"]["recommendation"]["properties"]
    assert recommendation["guidance"]["maxItems"] == MAX_STEPS
    assert parts["step"]["properties"]["step"]["maximum"] == MAX_STEPS
    assert parts["warning"]["properties"]["step"]["maximum"] == MAX_STEPS
    assert recommendation["similar_incidents"]["maxItems"] == MAX_SIMILAR
    assert SCHEMA["properties"]["warnings"]["maxItems"] == MAX_WARNINGS
    for part, name, allowed in (
        ("not_shown", "reason", Why),
        ("guard", "kind", Governs),
        ("evidence", "strength", Strength),
        ("procedure", "kind", {*map(str, ACTIONS), "other"}),
        ("step", "kind", {*map(str, ACTIONS), "other"}),
    ):
        assert set(parts[part]["properties"][name]["enum"]) == set(map(str, allowed))


GUARDED = Step(
    "Fail over:",
    (LINES,),
    ("aws rds failover",),
    Verdict.SUPPORTED,
    1,
    "3.",
    SectionKind.RESOLUTION,
    ("RDS", "Failover"),
    guards=(Guard("It drops connections.", Governs.CAUTION, after=False, citations=(LINES,)),),
    destructive=("fails over a database",),
)
PROCEDURE = Section(
    "runbooks/rds.md",
    ("RDS", "Failover"),
    SectionKind.RESOLUTION,
    5,
    10,
    (NotShown("runbooks/rds.md", 12, 14, Why.PROHIBITED, "Never"),),
    alert="RdsDown",
)


def test_the_form_of_a_step_of_a_procedure():
    given = Recommendation(
        **OK,
        guidance=(GUARDED,),
        procedures=(PROCEDURE,),
        alerts=(("RdsDown", Status.OK), ("Other", Status.NO_MATCH)),
        unknown=("MongoDB",),
        reading=(LINES,),
        evidence=Evidence(Strength.PARTIAL, ("search found it",)),
    )
    VALIDATOR.validate(given.to_dict())
    wire = given.to_dict()
    lines, left = LINES.to_dict(), {
        "source_file": "runbooks/rds.md", "start_line": 12, "end_line": 14,
        "reason": "prohibited", "heading": "Never",
    }  # fmt: skip
    assert wire["evidence"] == {"strength": "partial", "reasons": ["search found it"]}
    assert wire["recommendation"]["guidance"] == [
        {
            "step": 1,
            "action": "Fail over:",
            "commands": ["aws rds failover"],
            "citation": lines,
            "support": "supported",
            "procedure": 1,
            "kind": "resolution",
            "complete": True,
            "not_shown": [left],
            "number": "3.",
            "warnings": [
                {
                    "text": "It drops connections.",
                    "kind": "caution",
                    "position": "before",
                    "citation": lines,
                }
            ],
            "destructive": ["fails over a database"],
        }
    ]
    assert wire["recommendation"]["procedures"] == [
        {
            "source_file": "runbooks/rds.md",
            "section": ["RDS", "Failover"],
            "kind": "resolution",
            "start_line": 5,
            "end_line": 10,
            "complete": True,
            "not_shown": [left],
            "alert": "RdsDown",
        }
    ]
    assert wire["recommendation"]["reading"] == [lines]
    assert wire["recommendation"]["unknown_words"] == ["MongoDB"]
    assert wire["recommendation"]["alerts"] == [
        {"alert": "RdsDown", "status": "ok"},
        {"alert": "Other", "status": "no_match"},
    ]


def test_a_step_knows_its_procedure_and_a_models_step_has_none():
    given = Recommendation(**OK, guidance=(GUARDED, STEP), procedures=(PROCEDURE,))
    assert [given.section_of(step) for step in given.guidance] == [PROCEDURE, None]


@pytest.mark.parametrize(
    "recommendation",
    [
        Recommendation(**OK, guidance=(STEP,)),
        Recommendation(**OK, similar_incidents=(SimilarIncident("Failed over", (LINES,)),)),
        Recommendation(
            **OK,
            guidance=(STEP, Step("Wait", (LINES, LINES))),
            similar_incidents=(SimilarIncident("Failed over", (LINES, LINES), "INC-1"),),
            analysis="It looks like a stall.",
            confidence=0.85,
            warnings=tuple(Warned(kind, "Look.", 2) for kind in (*Concern, *Kind)),
            advisor="converse",
        ),
        Recommendation(**NOTHING),
        *(Recommendation(**{**DEGRADED, "reason": why}) for why in (*Reason, *Shortfall)),
    ],
)
def test_every_recommendation_is_valid(recommendation):
    VALIDATOR.validate(recommendation.to_dict())


def test_the_whole_form():
    citation = {
        "source_file": "runbooks/rds.md",
        "start_line": 5,
        "end_line": 10,
        "section_header": "Diagnosis",
        "text_sha256": DIGEST,
        "document_sha256": DIGEST,
    }
    given = Recommendation(
        **OK,
        guidance=(STEP,),
        similar_incidents=(SimilarIncident("Failed over", (LINES,)),),
        confidence=0.5,
        warnings=(Warned(Concern.UNSUPPORTED, "flag --x is not in the cited lines", 1),),
    )
    assert given.to_dict() == {
        "agent_id": "knowledge-rag",
        "status": "ok",
        "recommendation": {
            "summary": "Fail over.",
            "guidance": [
                {
                    "step": 1,
                    "action": "Check the lag",
                    "commands": ["aws rds x"],
                    "citation": citation,
                    "support": "supported",
                }
            ],
            "similar_incidents": [
                {
                    "incident_id": None,
                    "resolution": "Failed over",
                    "citation": citation,
                    "support": "nothing_to_check",
                }
            ],
        },
        "confidence": 0.5,
        "reasoning": "One runbook says so.",
        "warnings": [
            {"kind": "unsupported", "message": "flag --x is not in the cited lines", "step": 1}
        ],
    }


@pytest.mark.parametrize(
    "arguments",
    [
        OK,
        {**OK, "guidance": (STEP,), "reason": Reason.TIMEOUT},
        {**OK, "guidance": (STEP,), "confidence": 1.01},
        {**OK, "guidance": (STEP,), "summary": NO_MATCH},
        {**OK, "guidance": (STEP,), "summary": " "},
        {**OK, "guidance": (STEP,) * (MAX_STEPS + 1)},
        {
            **OK,
            "guidance": (STEP,),
            "warnings": (Warned(Concern.NOTICE, "x"),) * (MAX_WARNINGS + 1),
        },
        {**NOTHING, "guidance": (STEP,)},
        {**NOTHING, "confidence": 0.1},
        {**NOTHING, "summary": "Nothing."},
        {**NOTHING, "reason": Reason.TIMEOUT},
        {**DEGRADED, "reason": None},
        {**DEGRADED, "summary": NO_MATCH},
        {**DEGRADED, "confidence": 0.1},
        {**DEGRADED, "similar_incidents": (SimilarIncident("x", (LINES,)),)},
    ],
)
def test_what_does_not_agree_cannot_be_built(arguments):
    with pytest.raises(ValueError, match=r"with|more than"):
        Recommendation(**arguments)


@pytest.mark.parametrize("part", [Step, SimilarIncident])
def test_nothing_is_guidance_without_a_citation_or_without_words(part):
    with pytest.raises(ValueError, match="without a citation"):
        part("Reboot", ())
    with pytest.raises(ValueError, match="without a"):
        part(" ", (LINES,))


@pytest.mark.parametrize(
    "change",
    [
        {"agent_id": "other"},
        {"extra": 1},
        {"confidence": 1.5},
        {"status": "no_match"},
        {"status": "degraded"},
        {"reason": "timeout"},
        {"warnings": [{"kind": "invented", "message": "x"}]},
    ],
)
def test_the_schema_refuses_what_does_not_agree(change):
    given = Recommendation(**OK, guidance=(STEP,), confidence=0.5).to_dict()
    assert VALIDATOR.is_valid(given)
    assert not VALIDATOR.is_valid(given | change)


# what is given, and what older versions gave

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
