"""The one way from an advisor's answer to a recommendation, and what it never lets through."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.cli.recommendation import lines_of
from knowledge_rag.core.lines import slice_lines
from knowledge_rag.core.outcome import Reason, RetrievalOutcome, Status
from knowledge_rag.core.retrieval import Query, degraded
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.orchestrator.advisors.advisor import Advice
from knowledge_rag.orchestrator.composition import without_advice
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.recommendation import (
    MAX_INCOMPLETE,
    MAX_SIMILAR,
    MAX_STEPS,
    MAX_WARNINGS,
    Concern,
    Shortfall,
    Strength,
)
from knowledge_rag.orchestrator.retrieval import Asked, Findings
from knowledge_rag.orchestrator.wording import NO_ADVICE, NO_MATCH, UNREACHABLE, UNVERIFIED
from knowledge_rag.orchestrator.written import recommend
from tests.support.examples import up_to
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
UNREADABLE = Incident.from_state({"title": "Writer down", "signals": [["x"]]})
A = "[Source: runbooks/rds-failover.md, lines 15-19]"
B = "[Source: runbooks/rds-failover.md, lines 27-28]"
P = "[Source: postmortems/2024-01-rds.md, lines 11-15]"
STEP = f"1. Verify replica health {A}"
FOUND = results_of(RUNBOOK_FILE, RUNBOOK)
TEXTS = {RUNBOOK_FILE: RUNBOOK, POSTMORTEM_FILE: POSTMORTEM}


def composed(text, findings=FINDINGS, incident=INCIDENT):
    result = recommend(incident, Advice(text, findings, "test"))
    VALIDATOR.validate(result.to_dict())
    return result


def kinds(result):
    return [str(it.kind) for it in told_of(result)]


def told_of(result):
    """Return the warnings; what the answer leaves out of a procedure has tests of its own."""
    return [it for it in result.warnings if it.kind is not Concern.NOT_SHOWN]


def asked(*outcomes):
    return Findings(tuple(Asked(Query(f"q{n}"), it) for n, it in enumerate(outcomes)))


NOTHING, TIMEOUT = RetrievalOutcome(Status.NO_MATCH), degraded(Reason.TIMEOUT)


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
    assert result.warnings[0].message == '"Reboot" cites nothing, so it is not a step'


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


@pytest.mark.parametrize("findings", [asked(), asked(NOTHING), asked(TIMEOUT)])
def test_nothing_that_an_advisor_says_without_evidence_gets_through(findings):
    result = composed(f"1. Reboot {A} [1]\n\n## Analysis\nTrust me.", findings)
    assert result == without_advice(INCIDENT, findings)


@pytest.mark.parametrize("findings", [FINDINGS, asked(NOTHING)])
def test_what_was_read_of_an_unknown_payload_is_told_also_where_nothing_is_documented(findings):
    incident = replace(INCIDENT, read_as="unrecognised payload: read 'alertRule'")
    result = composed(f"1. Verify replica health {A}", findings, incident)
    assert kinds(result) == ["read_as"]


@pytest.mark.parametrize("findings", [FINDINGS, asked(NOTHING)])
def test_an_alert_that_is_resolved_is_told_before_any_step(findings):
    result = composed(f"1. Verify replica health {A}", findings, replace(INCIDENT, is_over=True))
    assert told_of(result)[0].message.startswith("The pager says that this is resolved.")
    lines = ["".join(text for text, _ in line) for line in lines_of(result, None)]
    (said,) = (number for number, line in enumerate(lines) if "this is resolved" in line)
    assert said < 4
    assert "this is resolved" not in str(composed(f"1. Verify replica health {A}", findings))


def test_a_search_that_failed_in_part_and_what_retrieval_notes_are_told():
    noted = RetrievalOutcome(Status.NO_MATCH, notice="All dates found are past.")
    findings = Findings((*FINDINGS.asked, Asked(Query("q"), TIMEOUT), Asked(Query("r"), noted)))
    result = composed(f"1. Verify replica health {A}", findings)
    assert kinds(result) == ["incomplete_search", "notice"]


# what is told where there is no step


@pytest.mark.parametrize(
    ("findings", "status", "reason", "told"),
    [
        (Findings(), NO_MATCH, None, "There was nothing to ask about."),
        (asked(NOTHING), NO_MATCH, None, "1 query found nothing."),
        (asked(NOTHING, NOTHING), NO_MATCH, None, "2 queries found nothing."),
        (asked(NOTHING, TIMEOUT, NOTHING), UNREACHABLE, Reason.TIMEOUT, "1 of 3 queries could not be answered: timeout."),
        (asked(TIMEOUT), UNREACHABLE, Reason.TIMEOUT, "1 of 1 query could not be answered: timeout."),
        (FINDINGS, NO_ADVICE, Shortfall.ADVICE_FAILED, f"3 queries returned {len(FINDINGS.ledger)} passages; nobody wrote advice."),
        (findings_of([FINDINGS.ledger.results[0]]), NO_ADVICE, Shortfall.ADVICE_FAILED, "1 query returned 1 passage; nobody wrote advice."),
    ],
)  # fmt: skip
def test_without_advice_the_figures_are_told_and_why(findings, status, reason, told):
    result = without_advice(UNREADABLE, findings)
    VALIDATOR.validate(result.to_dict())
    assert (result.summary, result.reason, result.reasoning) == (status, reason, told)
    assert (result.advisor, result.confidence) == ("", 0.0)
    assert kinds(result) == ["unreadable_state"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1. Reboot\n2. Pray", "2 steps cited nothing that retrieval returned."),
        ("1. Reboot", "1 step cited nothing that retrieval returned."),
    ],
)
def test_an_answer_of_which_nothing_is_left_tells_how_many_steps_it_had(text, told):
    result = composed(text, incident=UNREADABLE)
    assert (result.reasoning, result.advisor) == (told, "test")
    assert result.reason is Shortfall.UNVERIFIED_ADVICE
    assert kinds(result)[0] == "unreadable_state"


def test_no_answer_though_a_query_failed_tells_who_said_so_and_what_failed():
    findings = Findings((*FINDINGS.asked, *asked(TIMEOUT).asked))
    result = composed(NO_MATCH, findings, UNREADABLE)
    assert result.reasoning == "1 of 4 queries could not be answered: timeout."
    assert (result.summary, result.reason, result.advisor) == (UNREACHABLE, Reason.TIMEOUT, "test")
    assert kinds(result) == ["incomplete_search", "unreadable_state"]


def test_no_answer_tells_how_many_passages_there_were():
    result = composed(NO_MATCH, incident=UNREADABLE)
    passages = len(FINDINGS.ledger)
    assert result.reasoning == f"{passages} passages came back; the advisor found nothing in them."
    assert (result.advisor, kinds(result)) == ("test", ["unreadable_state"])


def test_no_answer_of_an_advisor_that_did_not_finish_tells_to_read_the_passages():
    unfinished = replace(FINDINGS, notes=("The model could not be reached (timeout).",))
    assert composed(NO_MATCH, unfinished).reasoning == (
        f"{len(FINDINGS.ledger)} passages came back; the advisor did not finish: read them yourself."
    )


# what is told of an answer


def test_a_recommendation_tells_whose_it_is_and_keeps_the_analysis_apart():
    result = composed(f"{STEP}\n\n## Analysis\n\nIt is the disk.\n\nOr the network.")
    assert (result.advisor, result.analysis) == ("test", "It is the disk.\n\nOr the network.")


def test_a_step_keeps_its_commands():
    (step,) = composed(f"1. Verify\n   ```\n   aws rds describe-events\n   ```\n   {A}").guidance
    assert step.commands == ("aws rds describe-events",)


def test_a_sentence_without_a_label_is_an_incident_where_only_reports_are_cited():
    result = composed(f"Manual failover was successful {P}.")
    assert (len(result.guidance), len(result.similar_incidents)) == (0, 1)
    result = composed(f"Verify replica health {A}.")
    assert (len(result.guidance), len(result.similar_incidents)) == (1, 0)


def test_a_similar_incident_is_that_of_its_report_whatever_else_it_cites():
    text = f"## Similar incidents\n- Manual failover was successful {A} {P}"
    (similar,) = composed(text).similar_incidents
    assert similar.incident_id == "INC-2024-001"
    assert [it.citation.source_file for it in similar.citations] == [
        "postmortems/2024-01-rds.md",
        "runbooks/rds-failover.md",
    ]
    assert similar.support.value == "supported"


def test_a_similar_incident_goes_on_in_its_code_and_is_held_against_its_lines():
    command = "aws rds failover-db-cluster --db-cluster-identifier orders-db"
    text = (
        f"## Similar incidents\n- Manual failover was successful:\n  ```\n  {command}\n  ```\n  {P}"
    )
    (similar,) = composed(text).similar_incidents
    assert similar.resolution == f"Manual failover was successful:\n{command}"


def test_of_an_incident_that_says_nothing_but_its_name_the_name_is_left():
    (similar,) = composed(f"## Similar incidents\n- INC-2024-001: {P}").similar_incidents
    assert similar.resolution == "INC-2024-001:"


@pytest.mark.parametrize(
    "text",
    [
        f"1. As in INC-2024-001, manual failover was successful {P}",
        f"## Similar incidents\n- As in INC-2024-001, manual failover was successful {P}",
        f"Summary: As in INC-2024-001, manual failover was successful.\n\n1. Manual failover {P}",
    ],
)
def test_what_stands_above_cited_lines_may_be_said(text):
    result = composed(text)
    assert [it for it in result.warnings if it.kind is Concern.UNSUPPORTED] == []


@pytest.mark.parametrize(
    "text",
    [
        f"1. As in INC-2024-002, manual failover was successful {P}",
        f"## Similar incidents\n- As in INC-2024-002, manual failover was successful {P}",
        f"Summary: As in INC-2024-002, manual failover was successful.\n\n1. Manual failover {P}",
    ],
)
def test_what_stands_nowhere_is_warned_of(text):
    (warned,) = [it for it in composed(text).warnings if it.kind is Concern.UNSUPPORTED]
    assert "INC-2024-002" in warned.message


def test_every_part_that_is_unsupported_is_warned_of():
    result = composed(
        f"Summary: It took 7 days.\n\n1. Wait 8 days {A}\n2. Wait 9 days {A}\n\n"
        f"## Similar incidents\n- It took 11 days {P}\n- It took 12 days {P}"
    )
    told = [it.message for it in result.warnings if it.kind is Concern.UNSUPPORTED]
    for days in ("7", "8", "9", "11", "12"):
        assert sum(f"{days} days" in message for message in told) == 1, told


# the summary


def test_a_summary_has_all_its_paragraphs_and_none_of_what_only_cited():
    result = composed(
        f"## Summary\n\nOne.\n\n[Source: x.md, lines 1-2]\n\nTwo.\n\n## Guidance\n\n{STEP}"
    )
    assert result.summary == "One.\n\nTwo."


@pytest.mark.parametrize("said", [NO_MATCH, f"{NO_MATCH}.", f"{NO_MATCH}..."])
def test_a_summary_that_denies_the_steps_is_not_given(said):
    assert composed(f"Summary: {said}\n\n{STEP}").summary == "1 step from runbooks/rds-failover.md."


# bounds


@pytest.mark.parametrize("over", [0, 1])
@pytest.mark.parametrize(
    ("line", "label", "name", "most"),
    [
        ("Verify replica health " + A, "## Guidance", "steps", MAX_STEPS),
        ("Manual failover was successful " + P, "## Similar incidents", "similar incidents", MAX_SIMILAR),
    ],
)  # fmt: skip
def test_as_many_parts_as_are_given_are_no_finding_and_one_more_is(over, line, label, name, most):
    text = "\n".join([label, *(f"{n}. {line}" for n in range(1, most + over + 1))])
    told = [it.message for it in composed(text).warnings if it.kind is Concern.TRUNCATED]
    assert told == ([f"{most + 1} {name}, the first {most} are given."] if over else [])


@pytest.mark.parametrize("over", [0, 1])
def test_as_many_warnings_as_are_given_are_no_finding_and_one_more_is(over):
    left_out = len(composed(STEP).warnings)  # of the procedure that the step is of
    number = MAX_WARNINGS + over - left_out - 1  # one more warning is of all the steps together
    steps = [f"{n}. Reboot" for n in range(2, number + 2)]
    result = composed("\n".join([STEP, *steps]))
    assert len(result.warnings) == MAX_WARNINGS
    assert (result.warnings[-1].kind is Concern.TRUNCATED) is bool(over)
    assert (result.warnings[-1].message == "101 warnings, the first 99 are given.") is bool(over)


# where a warning belongs


def test_an_invented_source_is_warned_of_in_the_step_that_named_it_though_it_is_backed():
    result = composed(
        f"1. Tell the incident commander {A}\n2. Verify replica health [Source: x.md, lines 1-2] {A}"
    )
    assert [(str(it.kind), it.step) for it in told_of(result)][-1] == ("non_existent_source", 2)


def test_a_warning_at_the_very_beginning_of_a_step_is_the_steps():
    result = composed(f"[Source: x.md, lines 1-2] Verify replica health {A}.")
    assert [(str(it.kind), it.step) for it in told_of(result)] == [("non_existent_source", 1)]


def test_a_step_that_is_left_out_is_quoted_on_one_line():
    result = composed(f"{STEP}\n2. Reboot  the\n   whole\n\n   house {'x' * 99}")
    assert result.warnings[0].message == (
        f'"Reboot the whole house {"x" * 37}" cites nothing, so it is not a step'
    )


def test_a_warning_of_distance_that_does_not_matter_hides_none_that_follow():
    text = (
        "1. Certainly tell the incident commander, then initiate manual failover if replication"
        " lag > 60s [Source: runbooks/rds-failover.md, lines 27-28]\n"
        f"2. Verify replica health [Source: x.md, lines 1-2] {A}"
    )
    told = [str(it.kind) for it in verify(text, FINDINGS.ledger).warnings]
    assert told == ["confident_wording", "non_existent_source"]
    told = [(str(it.kind), it.step) for it in told_of(composed(text))]
    assert told == [("non_existent_source", 2)]


# procedures that an answer draws on

WRITER = Incident(title="the writer of orders-db is unavailable, replica lag")
WHOLE = consulted(WRITER, {RUNBOOK_FILE: RUNBOOK}).findings
ALL = "[Source: runbooks/rds-failover.md, lines {}-{}]"


BEFORE_THE_FAILOVER = [
    f"Lines 15-19 of {RUNBOOK_FILE} belong to the procedure and are not shown.",
    f"Line 21 of {RUNBOOK_FILE} belongs to the procedure and is not shown.",
    f"Line 27 of {RUNBOOK_FILE} belongs to the procedure and is not shown.",
]


def left_out(result):
    return [it.message for it in result.warnings if it.kind is Concern.NOT_SHOWN]


def test_what_a_model_leaves_out_of_a_procedure_that_it_draws_on_is_named():
    second = f"1. Initiate manual failover if replication lag > 60s {ALL.format(28, 36)}"
    result = composed(second, WHOLE, WRITER)
    assert left_out(result)[:3] == BEFORE_THE_FAILOVER
    assert result.evidence.strength is not Strength.STRONG
    assert "part of it is not shown" in result.evidence.reasons
    assert result.confidence <= MAX_INCOMPLETE


@pytest.fixture
def each():
    """Return a step for each item of the procedure."""
    (procedure,) = WHOLE.plan.procedures
    return [f"{n}. Do it {ALL.format(it.start, it.end)}" for n, it in enumerate(procedure.items, 1)]


GOVERNED = "This is for the writer of orders-db; a failover drops every open connection."


def test_of_an_answer_that_draws_on_all_of_a_procedure_nothing_is_named(each):
    each[0] = f"{GOVERNED}\n\n{each[0]}"
    assert left_out(composed("\n".join(each), WHOLE, WRITER)) == []


def test_a_warning_that_an_answer_lacks_is_named(each):
    assert left_out(composed("\n".join(each), WHOLE, WRITER)) == [
        f"Line 7 of {RUNBOOK_FILE} belongs to the procedure and is not shown.",
        f"Line 25 of {RUNBOOK_FILE} belongs to the procedure and is not shown.",
    ]


def test_a_citation_of_all_lines_shows_nothing_that_its_step_does_not_say():
    every = " ".join(str(it.citation) for it in WHOLE.ledger.results)
    text = f"{GOVERNED}\n\n1. Initiate manual failover if replication lag > 60s: {every}"
    result = composed(text, WHOLE, WRITER)
    assert left_out(result)[:3] == BEFORE_THE_FAILOVER
    assert result.confidence <= MAX_INCOMPLETE


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
@up_to(examples=200)
def test_whatever_is_written_every_citation_is_a_verified_one_and_equals_its_lines(text):
    result = composed(text)
    verified = {it.citation for it in verify(text, FINDINGS.ledger).citations}
    parts = [*result.guidance, *result.similar_incidents]
    for cited in (it for part in parts for it in part.citations):
        at = cited.citation
        lines = slice_lines(TEXTS[at.source_file], at.start_line, at.end_line)
        assert at in verified
        assert cited.text_sha256 == digest(lines)
