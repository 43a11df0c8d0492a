"""The one way from an advisor's answer to a recommendation, and what it never lets through."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_rag.core.lines import slice_lines
from knowledge_rag.core.outcome import Reason, RetrievalOutcome, Status
from knowledge_rag.core.retrieval import Query, degraded
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.orchestrator.advisors.advisor import Advice
from knowledge_rag.orchestrator.composition import recommend, without_advice
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.recommendation import (
    MAX_INCOMPLETE,
    MAX_STEPS,
    MAX_WARNINGS,
    Concern,
    Shortfall,
    Strength,
)
from knowledge_rag.orchestrator.retrieval import Asked, Findings
from knowledge_rag.orchestrator.wording import NO_ADVICE, NO_MATCH, UNREACHABLE, UNVERIFIED
from tests.support.runbooks import consulted
from tests.unit.orchestrator.evidence import (
    FINDINGS,
    POSTMORTEM,
    POSTMORTEM_FILE,
    RUNBOOK,
    RUNBOOK_FILE,
    digest,
    findings_of,
    results_of,
)
from tests.unit.orchestrator.schema import VALIDATOR

INCIDENT = Incident(title="Writer of orders-db unavailable", service="rds")
A = "[Source: runbooks/rds-failover.md, lines 15-19]"
B = "[Source: runbooks/rds-failover.md, lines 27-28]"
P = "[Source: postmortems/2024-01-rds.md, lines 11-15]"
FOUND = results_of(RUNBOOK_FILE, RUNBOOK)
TEXTS = {RUNBOOK_FILE: RUNBOOK, POSTMORTEM_FILE: POSTMORTEM}


def composed(text, findings=FINDINGS, incident=INCIDENT):
    result = recommend(incident, Advice(text, findings, "test"))
    VALIDATOR.validate(result.to_dict())
    return result


def kinds(result):
    """Return the kinds of warnings; what the answer leaves out of a procedure has tests of its own."""
    return [str(it.kind) for it in result.warnings if it.kind is not Concern.NOT_SHOWN]


def test_a_citation_carries_what_proves_it_later():
    wire = composed(f"1. Verify replica health {A}").to_dict()
    assert wire["recommendation"]["guidance"][0]["citation"] == {
        "source_file": RUNBOOK_FILE,
        "start_line": 15,
        "end_line": 19,
        "section_header": "Diagnosis",
        "text_sha256": digest(slice_lines(RUNBOOK, 15, 19)),
        "document_sha256": digest(RUNBOOK),
    }


def test_what_somebodys_own_retrieval_gives_for_a_digest_and_is_none_is_left_out():
    odd = [replace(it, metadata={**it.metadata, "document_sha256": "05"}) for it in FOUND]
    wire = composed("1. Verify replica health [1]", findings_of(odd)).to_dict()
    assert "document_sha256" not in wire["recommendation"]["guidance"][0]["citation"]


def test_several_citations_of_a_step_are_all_given_each_once():
    (step,) = composed(f"1. Verify {A} {B} {A}").guidance
    assert [c.citation.start_line for c in step.citations] == [15, 27]


def test_a_step_without_a_surviving_citation_is_left_out_and_told():
    result = composed(f"1. Verify replica health {A}\n2. Reboot [Source: x.md, lines 1-2]\n3. Pray")
    assert [step.action for step in result.guidance] == ["Verify replica health"]
    assert kinds(result) == ["uncited_steps", "uncited_steps", "non_existent_source"]
    assert result.warnings[0].message == '"Reboot" cites nothing, so it is no step'


def test_a_step_that_its_lines_do_not_hold_stays_and_is_told():
    result = composed(
        f"1. Verify replica health\n   ```\n   aws rds reboot-db --force\n   ```\n   {A}"
    )
    (step,) = result.guidance
    assert step.support.value == "unsupported"
    told = [warned for warned in result.warnings if warned.kind is Concern.UNSUPPORTED]
    assert {warned.step for warned in told} == {1}
    assert any("--force" in warned.message for warned in told)
    assert result.confidence == 0.0


def test_a_step_that_denies_its_lines_is_warned_of():
    result = composed(f"1. Do not verify replica health {A}")
    assert Concern.NEGATION in [warned.kind for warned in result.warnings]


def test_a_step_may_name_what_its_lines_stand_under():
    (step,) = composed(f"1. RDS failover, Diagnosis: verify replica health {A}").guidance
    assert step.support.value == "supported"


def test_a_summary_is_held_against_all_cited_lines():
    result = composed(
        f"Summary: Replace the cluster by Aurora within 7 days.\n\n1. Verify replica health {A}"
    )
    assert result.summary == "Replace the cluster by Aurora within 7 days."
    assert any(warned.message.startswith("Summary: ") for warned in result.warnings)


def test_without_a_summary_one_is_made_of_what_is_cited():
    result = composed(f"1. Verify replica health {A}\n\n## Similar incidents\n- failed over {P}")
    assert (
        result.summary == "1 step from runbooks/rds-failover.md. 1 similar incident: INC-2024-001."
    )


@pytest.mark.parametrize(
    "said",
    ["INC-2024-001: manual failover", "**INC-2024-001**: manual failover", "`INC-2024-001` - manual failover", "manual failover"],
)  # fmt: skip
def test_a_similar_incidents_name_is_its_documents(said):
    result = composed(f"## Similar incidents\n- {said} {P}")
    (similar,) = result.similar_incidents
    assert (similar.incident_id, similar.resolution) == ("INC-2024-001", "manual failover")


def test_an_incident_that_a_model_made_up_is_none():
    result = composed(
        f"1. Verify replica health {A}\n\n## Similar incidents\n- INC-1: rebooted\n- INC-2 {A}"
    )
    (similar,) = result.similar_incidents
    assert similar.incident_id == ""  # a runbook names no incident, whatever the answer says
    assert "uncited_steps" in kinds(result)


@pytest.mark.parametrize("text", [NO_MATCH, f"{NO_MATCH}.", f"I searched.\n\n{NO_MATCH}"])
def test_an_advisor_that_finds_no_answer_in_the_evidence_is_believed(text):
    result = composed(text)
    assert (result.status, result.summary) == (Status.NO_MATCH, NO_MATCH)


@pytest.mark.parametrize(
    "text", ["", "Reboot it.", "1. Reboot", f"{NO_MATCH}\n1. Reboot", "1. Reboot [99]"]
)
def test_advice_of_which_nothing_is_left_is_not_called_no_match(text):
    result = composed(text)
    assert (result.status, result.reason) == (Status.DEGRADED, Shortfall.UNVERIFIED_ADVICE)
    assert result.summary == UNVERIFIED


def asked(*outcomes):
    return Findings(tuple(Asked(Query(f"q{n}"), it) for n, it in enumerate(outcomes)))


NOTHING, TIMEOUT = RetrievalOutcome(Status.NO_MATCH), degraded(Reason.TIMEOUT)


@pytest.mark.parametrize(
    ("findings", "status", "summary", "reason"),
    [
        (asked(), Status.NO_MATCH, NO_MATCH, None),
        (asked(NOTHING), Status.NO_MATCH, NO_MATCH, None),
        (asked(NOTHING, TIMEOUT), Status.DEGRADED, UNREACHABLE, Reason.TIMEOUT),
        (FINDINGS, Status.DEGRADED, NO_ADVICE, Shortfall.ADVICE_FAILED),
    ],
)
def test_without_advice_it_is_told_why(findings, status, summary, reason):
    result = without_advice(INCIDENT, findings)
    VALIDATOR.validate(result.to_dict())
    assert (result.status, result.summary, result.reason) == (status, summary, reason)
    assert result.confidence == 0.0


@pytest.mark.parametrize("findings", [asked(), asked(NOTHING), asked(TIMEOUT)])
def test_nothing_that_an_advisor_says_without_evidence_gets_through(findings):
    result = composed(f"1. Reboot {A} [1]\n\n## Analysis\nTrust me.", findings)
    assert result == without_advice(INCIDENT, findings)


def test_no_answer_in_part_of_the_evidence_is_not_no_match():
    findings = Findings((*FINDINGS.asked, Asked(Query("q"), TIMEOUT)))
    result = composed(NO_MATCH, findings)
    assert (result.status, result.reason, result.summary) == (
        Status.DEGRADED,
        Reason.TIMEOUT,
        UNREACHABLE,
    )


def test_a_search_that_failed_in_part_and_what_retrieval_notes_are_told():
    noted = RetrievalOutcome(Status.NO_MATCH, notice="All dates found are past.")
    findings = Findings((*FINDINGS.asked, Asked(Query("q"), TIMEOUT), Asked(Query("r"), noted)))
    result = composed(f"1. Verify replica health {A}", findings)
    assert kinds(result) == ["incomplete_search", "notice"]


def test_what_could_not_be_read_of_the_state_is_told():
    incident = Incident.from_state({"title": "Writer down", "signals": [["x"]]})
    assert "unreadable_state" in kinds(composed(f"1. Verify {A}", incident=incident))


def test_more_than_a_recommendation_holds_is_cut_and_told():
    result = composed("\n".join(f"{n}. Verify replica health {A}" for n in range(1, MAX_STEPS + 2)))
    assert len(result.guidance) == MAX_STEPS
    assert "truncated" in kinds(result)


def test_more_warnings_than_a_recommendation_holds_are_cut_and_told():
    result = composed(
        f"1. Verify replica health {A}\n" + "\n".join(f"{n}. Reboot" for n in range(2, 500))
    )
    assert len(result.warnings) == MAX_WARNINGS
    assert re.fullmatch(r"5\d\d warnings, the first 99 are given\.", result.warnings[-1].message)


WRITER = Incident(title="the writer of orders-db is unavailable, replica lag")
WHOLE = consulted(WRITER, {RUNBOOK_FILE: RUNBOOK}).findings
ALL = "[Source: runbooks/rds-failover.md, lines {}-{}]"


def left_out(result):
    return [it.message for it in result.warnings if it.kind is Concern.NOT_SHOWN]


def test_what_a_model_leaves_out_of_a_procedure_that_it_draws_on_is_named():
    second = f"1. Initiate manual failover if replication lag > 60s {ALL.format(28, 36)}"
    result = composed(second, WHOLE, WRITER)
    assert left_out(result)[:3] == [
        f"Lines 15-19 of {RUNBOOK_FILE} belong to the procedure and are not shown.",
        f"Line 21 of {RUNBOOK_FILE} belongs to the procedure and is not shown.",
        f"Line 27 of {RUNBOOK_FILE} belongs to the procedure and is not shown.",
    ]
    assert result.evidence.strength is not Strength.STRONG
    assert "part of it is not shown" in result.evidence.reasons
    assert result.confidence <= MAX_INCOMPLETE


def test_of_an_answer_that_draws_on_all_of_a_procedure_nothing_is_named():
    (procedure,) = WHOLE.plan.procedures
    steps = [
        f"{n}. Do it {ALL.format(it.start, it.end)}" for n, it in enumerate(procedure.items, 1)
    ]
    assert left_out(composed("\n".join(steps), WHOLE, WRITER)) == []


def test_of_a_procedure_that_an_answer_does_not_draw_on_nothing_is_named():
    result = composed(f"1. Manual failover was successful {P}")
    assert left_out(result) == []
    assert result.evidence.strength is not Strength.STRONG


def test_how_far_a_reference_is_does_not_matter_within_a_step_that_is_backed():
    far = "within the time it takes to look at all the others, and then at the whole of the rest of them and once more"
    text = f"1. Initiate manual failover if replication lag > 60s, certainly at 60 %, {far} {B}"
    assert "uncited_number" in [str(it.kind) for it in verify(text, FINDINGS.ledger).warnings]
    result = composed(f"1. Tell the incident commander {B}\n{text.replace('1.', '2.', 1)}")
    assert [it.step for it in result.warnings if it.kind == "uncited_number"] == [2]


PIECES = st.sampled_from(
    [A, B, P, "[1]", "[99]", "[Source: x.md, lines 1-2]", "\n", "\n\n", "1. ", "2. ", "- ", "   ", "> ",
     "# ", "## Guidance\n", "Summary:", "**Similar incidents**\n", "Analysis: ", "```\n", "```bash\n",
     "| a | b |\n|---|---|\n", "| x |", "Do it", "reboot", ".", ":", "\0", "\r\n", "[", "]", "`", "<!--", "\t"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=25).map("".join))
@settings(max_examples=200)
def test_whatever_is_written_every_citation_is_a_verified_one_and_equals_its_lines(text):
    result = composed(text)
    verified = {it.citation for it in verify(text, FINDINGS.ledger).citations}
    parts = [*result.guidance, *result.similar_incidents]
    for cited in (it for part in parts for it in part.citations):
        at = cited.citation
        lines = slice_lines(TEXTS[at.source_file], at.start_line, at.end_line)
        assert at in verified
        assert cited.text_sha256 == digest(lines)
