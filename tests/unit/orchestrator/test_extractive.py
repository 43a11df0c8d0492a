"""The advisor without a model: it hands the procedures over, the same for the same, and never fails."""

import asyncio
from dataclasses import replace

import pytest

from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import Query, degraded
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor
from knowledge_rag.orchestrator.composition import recommend
from knowledge_rag.orchestrator.headings import Kind
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.retrieval import Asked
from knowledge_rag.orchestrator.wording import NO_MATCH
from tests.support.runbooks import actions, advised, assert_cites_exactly, consulted, question
from tests.unit.orchestrator.evidence import (
    FINDINGS,
    POSTMORTEM,
    POSTMORTEM_FILE,
    RUNBOOK,
    RUNBOOK_FILE,
    findings_of,
)
from tests.unit.orchestrator.schema import VALIDATOR

INCIDENT = Incident(title="Writer of orders-db unavailable", service="rds")
TEXTS = {RUNBOOK_FILE: RUNBOOK, POSTMORTEM_FILE: POSTMORTEM}


def recommended(findings, incident=INCIDENT):
    given = recommend(incident, asyncio.run(ExtractiveAdvisor().advise(incident, findings)))
    VALIDATOR.validate(given.to_dict())
    return given


def test_it_gives_the_whole_runbook_in_its_authors_order_and_the_report_like_it():
    given = consulted(INCIDENT, TEXTS)
    steps = given.recommendation.guidance
    assert [(step.kind, step.number, step.action.split("\n")[0]) for step in steps] == [
        (Kind.DIAGNOSIS, "1.", "Verify replica health."),
        (Kind.DIAGNOSIS, "2.", "Find out who is writer now."),
        (Kind.RESOLUTION, "1.", "Tell the incident commander."),
        (Kind.RESOLUTION, "2.", "Initiate manual failover if replication lag > 60s:"),
        (Kind.VERIFICATION, "", "Check: writer of orders-db | Wanted: available"),
        (Kind.VERIFICATION, "", "Check: unrelated | Wanted: nothing"),
        (Kind.ROLLBACK, "", "Nothing to undo."),
    ]
    assert [step.commands for step in steps if step.commands] == [
        ("aws rds describe-events",),
        ("aws rds failover-db-cluster",),
    ]
    warned = "**Warning**: a failover drops every open connection."
    assert [any(it.text == warned for it in step.guards) for step in steps] == [
        step.kind is Kind.RESOLUTION for step in steps
    ]
    (similar,) = given.recommendation.similar_incidents
    assert similar.incident_id == "INC-2024-001"
    assert similar.resolution.startswith("Manual failover was successful:")
    assert {step.support.value for step in steps} == {"supported"}
    assert_cites_exactly(given, TEXTS)


def test_it_writes_no_text_to_be_read_back():
    advice = asyncio.run(ExtractiveAdvisor().advise(INCIDENT, FINDINGS))
    assert (advice.text, advice.advisor) == (None, "extractive")
    assert advice.findings.ledger == FINDINGS.ledger


def test_it_looks_for_procedures_where_nobody_has_and_keeps_those_that_were_found():
    advice = asyncio.run(ExtractiveAdvisor().advise(INCIDENT, FINDINGS))
    assert FINDINGS.plan is None
    assert advice.findings.plan.procedures
    planned = replace(FINDINGS, plan=advice.findings.plan)
    assert asyncio.run(ExtractiveAdvisor().advise(INCIDENT, planned)).findings is planned


def test_where_nothing_says_what_to_do_and_a_query_failed_that_is_no_absence():
    text = "# Disk\n\nThe disk is full.\n\n## Symptoms\n\n- The disk is full.\n"
    found = consulted(question("disk full"), {"runbooks/disk.md": text}).findings
    failed = replace(
        found, asked=(*found.asked, Asked(Query("q"), degraded(Reason.TIMEOUT))), plan=None
    )
    given = recommended(failed, question("disk full"))
    assert (given.status, given.reason) == (Status.DEGRADED, Reason.TIMEOUT)
    given = recommended(found, question("disk full"))
    assert (given.status, given.summary) == (Status.NO_MATCH, NO_MATCH)


def test_a_step_names_only_documents_that_were_retrieved():
    given = recommended(findings_of(FINDINGS.asked[0].outcome.results))
    files = {it.citation.source_file for step in given.guidance for it in step.citations}
    assert files == {RUNBOOK_FILE}


@pytest.mark.parametrize(
    ("name", "text", "steps"),
    [
        ("disk.md", "# Disk\n\nIt is full.\n\n1. Find logs.\n2. Free them.", ["Find logs.", "Free them."]),
        ("disk.md", "# Disk\n\nFree the disk with `rm -r x`.", ["Free the disk with `rm -r x`."]),
        ("disk.md", "When the disk is full:\n\n- free it.", ["free it."]),
        ("disk.txt", "DISK\n====\n\nFind what: du -x\nFree it: rm", ["Find what: du -x\nFree it: rm"]),
        ("disk.pdf", "DISK\n\nFree the disk:\n\n1. rm a\n2. rm b", ["rm a", "rm b"]),
    ],
)  # fmt: skip
def test_a_page_without_sections_is_a_procedure(name, text, steps):
    given = advised(question("the disk is full"), {f"runbooks/{name}": text})
    assert actions(given) == steps


@pytest.mark.parametrize("hostile", ["- ", "1. ", "> ", "- ```\n", "| a ", "<!--", "`", "# ", "~~"])
def test_no_document_is_too_deep(hostile):
    text = f"# Disk\n\n## Resolution\n\n{hostile * 2_000}disk\n"
    given = consulted(question("the disk is full"), {"runbooks/disk.md": text})
    assert_cites_exactly(given, {"runbooks/disk.md": text})


@pytest.mark.parametrize("word", ["a", "a-", "a.md", "a-1.", "/a", "aA", "](a", "“a"])
def test_a_word_of_any_length_is_read_once(word):
    # what looks at the rest of a word from each of its letters would take minutes here
    text = f"# Disk\n\n## Resolution\n\n- Free the disk {word * 30_000}.\n"
    given = advised(question("the disk db-primary-02 is full"), {"runbooks/disk.md": text})
    assert len(given.guidance) == 1
