"""Steps, citations, evidence and earlier incidents: all of them lines that were retrieved, byte for byte."""

from __future__ import annotations

import asyncio
import hashlib
import random
from dataclasses import replace

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.headings import Kind
from knowledge_rag.core.lines import decode, slice_lines
from knowledge_rag.core.outcome import Reason, RetrievalOutcome, Status
from knowledge_rag.core.retrieval import Query, degraded
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor
from knowledge_rag.orchestrator.composition import state
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.outline import outline_of
from knowledge_rag.orchestrator.planning import Block, Plan
from knowledge_rag.orchestrator.procedures import Why, procedure_of
from knowledge_rag.orchestrator.recommendation import MAX_INCOMPLETE, MAX_STEPS, Strength
from knowledge_rag.orchestrator.retrieval import Asked, Findings
from knowledge_rag.orchestrator.steps import MAX_PAST, Citer, evidence_of, steps_of
from knowledge_rag.orchestrator.wording import NO_MATCH
from knowledge_rag.orchestrator.written import recommend
from tests.support.local import CORPUS
from tests.support.runbooks import (
    actions,
    advised,
    alert,
    assert_cites_exactly,
    cited_lines,
    consulted,
    passages,
    question,
)
from tests.support.shared_data import shared_data
from tests.unit.orchestrator.evidence import (
    FINDINGS,
    POSTMORTEM,
    POSTMORTEM_FILE,
    RUNBOOK,
    RUNBOOK_FILE,
    findings_of,
    results_of,
)
from tests.unit.orchestrator.schema import VALIDATOR

MAIL, DISK = "runbooks/mail.md", "runbooks/disk.md"
LISTED = "".join(f"{n}. Drain part {n} of the queue {'x' * 60}\n" for n in range(1, 60))
LONG = f"# Mail\n\n## Queue grows\n\n{LISTED}"


def citer_of(*results):
    return Citer(Findings((Asked(Query("q"), RetrievalOutcome(Status.OK, tuple(results))),)))


def cited(citer, start, end):
    return [(it.citation.start_line, it.citation.end_line) for it in citer.cite(MAIL, start, end)]


class TestCiting:
    def test_takes_the_narrowest_lines(self):
        citer = citer_of(*passages(MAIL, "# Mail\n\n- a\n- b\n- c\n"))
        assert cited(citer, 4, 4) == [(4, 4)]

    def test_leaves_blank_lines_at_the_edges_out(self):
        citer = citer_of(*passages(MAIL, "# Mail\n\n- a\n\n  more\n\n- b\n"))
        assert cited(citer, 2, 6) == [(3, 5)]

    def test_of_blank_and_unknown_lines_gives_none(self):
        citer = citer_of(*passages(MAIL, "# Mail\n\n- a\n"))
        assert cited(citer, 2, 2) == cited(citer, 40, 50) == []
        assert citer.cite("runbooks/gone.md", 1, 3) == []

    def test_of_lines_of_several_passages_gives_one_each(self):
        found = passages(MAIL, LONG)
        citer = citer_of(*found)
        at = [(it.citation.start_line, it.citation.end_line) for it in found]
        assert cited(citer, 1, at[-1][1]) == at

    def test_passes_over_what_was_not_retrieved(self):
        found = passages(MAIL, LONG)
        citer = citer_of(found[0], found[2])
        at = [(it.citation.start_line, it.citation.end_line) for it in (found[0], found[2])]
        assert cited(citer, 1, 999) == at

    def test_proves_the_lines_and_their_document(self):
        text = "# Mail\n\n- a\n- b\n"
        (one,) = citer_of(*passages(MAIL, text)).cite(MAIL, 3, 4)
        assert one.citation == Citation(MAIL, 3, 4, "Mail")
        assert one.text_sha256 == hashlib.sha256(b"- a\n- b").hexdigest()
        assert one.document_sha256 == hashlib.sha256(text.encode()).hexdigest()


def plan_with(*procedures):
    return Plan((Block("", tuple(procedures), "found"),))


def whole(text, source_file=MAIL):
    found = passages(source_file, text)
    outline = outline_of(found, whole=True)
    return found, procedure_of(outline, outline.root)


class TestSteps:
    def test_cite_their_own_lines_first_and_then_what_governs_them(self):
        text = "# Mail\n\n## Fix\n\nOn staging only:\n\n1. Drain it.\n2. Start it.\n"
        found, procedure = whole(text)
        steps, _ = steps_of(plan_with(procedure), citer_of(*found))
        assert [[it.citation.start_line for it in step.citations] for step in steps] == [
            [7, 1, 3, 5],
            [8, 5],
        ]

    def test_hold_all_that_they_show_in_what_they_cite(self):
        text = (
            "# Mail\n\n> **Warning**: this drops connections.\n\n## Fix\n\nIf it is full:\n\n"
            "1. Drain it:\n\n   ```bash\n   postsuper -d ALL\n   ```\n\n   Then wait.\n"
        )
        found, procedure = whole(text)
        ((step,), _) = steps_of(plan_with(procedure), citer_of(*found))
        shown = {n for n, line in enumerate(text.split("\n"), 1) if line.strip()}
        assert cited_lines(step.citations) >= shown
        assert step.commands == ("postsuper -d ALL",)
        assert step.destructive

    def test_do_not_cite_what_must_not_be_done(self):
        text = "# Mail\n\n## Fix\n\nNever do this:\n\n- drop it\n\nDo:\n\n- drain it\n"
        found, procedure = whole(text)
        ((step,), _) = steps_of(plan_with(procedure), citer_of(*found))
        assert step.action == "drain it"
        assert 7 not in cited_lines(step.citations)
        (guard,) = [it for it in step.guards if it.text == "- drop it"]
        assert cited_lines(guard.citations) == {7}

    def test_do_not_cite_what_must_not_be_done_inside_them(self):
        text = (
            "# Mail\n\n## Fix\n\n1. Drain it:\n   - by hand\n   - Never:\n     - drop it\n   - slowly\n\n"
            "```bash\n# wrong:\ndrop\n\n# right:\ndrain\n```\n"
        )
        found, procedure = whole(text)
        steps, _ = steps_of(plan_with(procedure), citer_of(*found))
        lines = [cited_lines(step.citations) for step in steps]
        assert not {7, 8, 12, 13} & set().union(*lines)
        assert {5, 6, 9, 15, 16} <= set().union(*lines)
        kept = [cited_lines(it.citations) for step in steps for it in step.guards]
        assert {7, 8} in kept
        assert {12, 13} in kept

    def test_beyond_the_limit_are_named(self):
        texts = {f"runbooks/{n}.md": "# Mail\n\n" + "- Drain it.\n" * 90 for n in range(3)}
        made = {name: whole(text, name) for name, text in texts.items()}
        citer = citer_of(*(it for found, _ in made.values() for it in found))
        plan = plan_with(*(procedure for _, procedure in made.values()))
        steps, sections = steps_of(plan, citer)
        assert len(steps) == MAX_STEPS == 200
        assert [it.complete for it in sections] == [True, True, False]
        (left,) = sections[2].not_shown
        assert (left.start, left.end, left.why) == (23, 92, Why.LIMIT)
        assert {step.procedure for step in steps} == {1, 2, 3}

    def test_whose_lines_are_not_evidence_are_named_and_not_given(self):
        found, procedure = whole(LONG)
        steps, (section,) = steps_of(plan_with(procedure), citer_of(*found[:2]))
        assert len(steps) < 59
        assert {it.why for it in section.not_shown} == {Why.NOT_RETRIEVED}
        assert not section.complete

    def test_of_no_evidence_are_none(self):
        _, procedure = whole(LONG)
        assert steps_of(plan_with(procedure), citer_of(*passages(DISK, LONG))) == ([], [])


class TestEvidence:
    QUEUE = "# Mail\n\nAbout it.\n\n## QueueGrowing\n\n- Drain it.\n\n## Disk\n\n- Add a disk.\n"

    def test_of_what_the_alert_links_or_is_filed_under_its_name_is_strong(self):
        named = advised(alert("QueueGrowing"), {MAIL: self.QUEUE})
        links = ("mail.md#queuegrowing",)
        linked = advised(alert("QueueGrowing", links=links), {MAIL: self.QUEUE})
        assert (named.evidence.strength, linked.evidence.strength) == (Strength.STRONG,) * 2
        assert linked.confidence >= named.confidence > MAX_INCOMPLETE

    def test_of_what_search_found_is_partial_at_most(self):
        given = advised(question("the disk of the mail"), {MAIL: self.QUEUE})
        assert given.evidence.strength is Strength.PARTIAL
        assert given.confidence < advised(alert("QueueGrowing"), {MAIL: self.QUEUE}).confidence

    def test_of_what_holds_few_of_the_words_is_thin(self):
        words = "the disk makes noises while lights blink, doors slam and curtains wave"
        given = advised(question(words), {MAIL: self.QUEUE})
        assert given.evidence.strength is Strength.THIN
        assert any("check that it fits" in it for it in given.evidence.reasons)

    def test_is_never_strong_where_a_query_could_not_be_answered(self):
        incident = alert("QueueGrowing")
        found = consulted(incident, {MAIL: self.QUEUE}).findings
        failed = Findings(
            (*found.asked, Asked(Query("q"), degraded(Reason.TIMEOUT))), found.completions
        )
        given = state(incident, failed, "extractive")
        assert given.evidence.strength is Strength.PARTIAL
        assert "a query could not be answered" in given.evidence.reasons
        assert given.confidence <= MAX_INCOMPLETE

    def test_is_as_good_as_that_of_the_least_certain_alert(self):
        _, procedure = whole(self.QUEUE)
        named = Block("A", (procedure,), "named", score=1.0)
        plan = Plan((named, Block("B", (procedure,), "found", score=0.5)))
        assert evidence_of(alert("A"), plan, [], Findings())[1] == 0.5

    def test_is_given_exactly_where_there_is_advice(self):
        assert advised(alert("PrinterOnFire"), {MAIL: self.QUEUE}).evidence is None
        assert advised(alert("QueueGrowing"), {}).evidence is None


def report(number, service="mail", resolution="Dropped the queue."):
    return (
        f"---\nincident_id: INC-{number}\nservice: {service}\n---\n# The mail queue grew\n\n"
        f"## Timeline\n\n- The queue grew.\n\n## Resolution\n\n{resolution}\n\n## Lessons\n\n- Look.\n"
    )


MAIL_RUNBOOK = "---\nservice: mail\n---\n# Mail queue\n\n- Drain the queue.\n"


class TestEarlierIncidents:
    def similar(self, incident, **reports):
        texts = {f"postmortems/{name}.md": text for name, text in reports.items()}
        return advised(incident, {MAIL: MAIL_RUNBOOK, **texts}).similar_incidents

    def test_say_what_resolved_them(self):
        (one,) = self.similar(Incident(title="mail queue", service="mail"), a=report(1))
        assert (one.incident_id, one.resolution) == ("INC-1", "Dropped the queue.")
        assert cited_lines(one.citations) == {13}

    def test_are_of_the_same_service(self):
        incident = Incident(title="mail queue", service="mail")
        given = self.similar(incident, a=report(1), b=report(2, "disk"))
        assert [it.incident_id for it in given] == ["INC-1"]

    def test_are_of_the_service_of_the_runbook_where_none_is_known(self):
        given = self.similar(question("the queue of mail"), a=report(1), b=report(2, "disk"))
        assert [it.incident_id for it in given] == ["INC-1"]

    def test_without_a_service_share_several_words(self):
        nameless = report(1).replace("service: mail\n", "")
        assert self.similar(question("the queue of the mail grew"), a=nameless)
        assert not self.similar(question("the mail printer"), a=nameless)

    def test_that_do_not_say_what_resolved_them_are_left_out(self):
        incident = Incident(title="mail queue", service="mail")
        assert not self.similar(incident, a=report(1).replace("Resolution", "Impact"))

    def test_are_three_at_most(self):
        incident = Incident(title="mail queue", service="mail")
        short = (
            f"---\nservice: mail\n---\n# Mail queue {n}\n\n## Resolution\n\nDrained.\n"
            for n in range(6)
        )
        given = self.similar(incident, **{f"r{n}": text for n, text in enumerate(short)})
        assert len(given) == MAX_PAST

    def test_without_a_name_have_none(self):
        incident = Incident(title="mail queue", service="mail")
        (one,) = self.similar(incident, a=report(1).replace("incident_id: INC-1\n", ""))
        assert one.incident_id == ""

    def test_alone_are_advice_without_steps(self):
        given = advised(
            Incident(title="mail queue", service="mail"), {"postmortems/a.md": report(1)}
        )
        assert (given.status, given.guidance) == (Status.OK, ())
        assert len(given.similar_incidents) == 1


# every citation of every answer is in the ledger and equals the document's lines

SAMPLE = {
    path.relative_to(CORPUS).as_posix(): decode(path.read_bytes(), path.name)
    for path in sorted(CORPUS.rglob("*.md"))
}


RUNBOOKS = [name for name in SAMPLE if name.startswith("runbooks/")]


@pytest.mark.parametrize("source_file", RUNBOOKS)
def test_every_citation_of_advice_from_the_sample_equals_its_lines(source_file):
    title = source_file.rpartition("/")[2].removesuffix(".md").replace("-", " ")
    reports = {name: text for name, text in SAMPLE.items() if name.startswith("postmortems/")}
    given = consulted(
        Incident(title=title, alert_name=title), {source_file: SAMPLE[source_file], **reports}
    )
    assert given.recommendation.guidance
    assert_cites_exactly(given, SAMPLE)


DOCUMENTS = 80


def documents():
    """Give a sample of real documents: name, text and up to eight of its chunks, as if retrieved."""
    paths = sorted(shared_data("retrieval/docs").rglob("*.md"))
    for path in random.Random(7).sample(paths, DOCUMENTS):
        data = path.read_bytes()
        if data:
            name, text = f"runbooks/{path.name}", decode(data, path.name)
            results = results_of(name, text)
            chosen = sorted(
                random.Random(path.name).sample(range(len(results)), min(8, len(results)))
            )
            yield path.stem, text, [results[place] for place in chosen]


def test_every_line_of_every_step_stands_in_the_lines_that_it_cites():
    steps = 0
    for stem, text, results in documents():
        findings = findings_of(results[:5], results[3:])
        incident = Incident(title=stem.replace("-", " "))
        given = recommend(incident, asyncio.run(ExtractiveAdvisor().advise(incident, findings)))
        VALIDATOR.validate(given.to_dict())
        for step in given.guidance:
            cited = (it.citation for it in step.citations)
            held = "\n".join(slice_lines(text, at.start_line, at.end_line) for at in cited)
            for line in "\n".join((step.action, *step.commands)).split("\n"):
                assert line.strip() in held.replace("\r", ""), (stem, line)
            assert step.support.value != "unsupported", (stem, step.action)
            steps += 1
    assert steps > 2 * DOCUMENTS


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


@pytest.mark.parametrize(
    "hostile", ["- ", "1. ", "> ", "- ```\n", "| a ", "<!--", "`", "# ", "~~", "[", "**"]
)
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
