"""From what search found to procedures: which documents are completed, and what is about the incident at all."""

import asyncio
from dataclasses import replace

import pytest

from knowledge_rag.core.outcome import Reason, RetrievalOutcome, Status
from knowledge_rag.core.retrieval import Query, degraded
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.orchestrator import planning
from knowledge_rag.orchestrator.composition import state
from knowledge_rag.orchestrator.consultation import MAX_ALERTS, consult, look_up
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.planning import (
    COMPLETION_RESULTS,
    MAX_READING,
    Plan,
    documents_to_complete,
    plan_of,
)
from knowledge_rag.orchestrator.procedures import Why
from knowledge_rag.orchestrator.recommendation import MAX_INCOMPLETE, Concern, Strength
from knowledge_rag.orchestrator.relevance import Floors
from knowledge_rag.orchestrator.retrieval import Asked, Findings, gather
from knowledge_rag.orchestrator.searches import MAX_COMPLETED
from knowledge_rag.orchestrator.searches import Search as Searched
from knowledge_rag.orchestrator.wording import NO_WAY_BACK, RISKY, UNCLEAR
from knowledge_rag.orchestrator.written import compose
from tests.support.runbooks import (
    Search,
    actions,
    advised,
    alert,
    assert_cites_exactly,
    passages,
    question,
)

MAIL, DISK = "runbooks/mail.md", "runbooks/disk.md"
QUEUE = (
    "# Mail\n\n> **Warning**: never drop the queue.\n\n## QueueGrowing\n\n1. Drain it.\n2. Start it.\n\n"
    "## BouncesGrowing\n\n- See who bounces, the queue is growing.\n\n## Escalation\n\n- Call Ann.\n"
)
LISTED = "".join(f"{n}. Drain part {n} of the growing queue {'x' * 60}\n" for n in range(1, 90))
LONG = f"# Mail\n\n## QueueGrowing\n\n{LISTED}\n## Other\n\n- Call.\n"


class Part(Search):
    """Finds only some passages, and answers a query for one document as it is told to."""

    def __init__(self, texts, keep=lambda _: True, complete=None):
        super().__init__(texts)
        self.keep, self.complete = keep, complete

    async def retrieve(self, query):
        if query.source_file and self.complete is not None:
            return self.complete
        outcome = await super().retrieve(query)
        kept = outcome.results if query.source_file else tuple(filter(self.keep, outcome.results))
        return RetrievalOutcome(Status.OK if kept else Status.NO_MATCH, kept)


def completions(search):
    return [query.source_file for query in search.asked if query.source_file]


def looked_up(incident, search):
    return asyncio.run(look_up(incident, search))


def asked(*results):
    return Findings((Asked(Query("mail"), RetrievalOutcome(Status.OK, tuple(results))),))


class TestCompleting:
    @pytest.mark.parametrize("documents", [1, MAX_COMPLETED, 9])
    def test_at_most_three_documents_are_completed(self, documents):
        texts = {f"runbooks/{n}.md": "# Mail queue\n\n- Drain it.\n" for n in range(documents)}
        search = Search(texts)
        looked_up(question("the mail queue grows"), search)
        assert len(completions(search)) == min(documents, MAX_COMPLETED)

    def test_a_completion_asks_for_all_passages_of_one_document(self):
        search = Search({MAIL: QUEUE})
        looked_up(alert("QueueGrowing"), search)
        (query,) = [it for it in search.asked if it.source_file]
        assert (query.source_file, query.max_results) == (MAIL, COMPLETION_RESULTS)

    def test_where_a_page_is_filed_under_the_alert_no_other_one_is_completed(self):
        texts = {MAIL: QUEUE, DISK: "# Growing queue\n\n- The queue is growing.\n"}
        search = Search(texts)
        looked_up(alert("QueueGrowing"), search)
        assert completions(search) == [MAIL]

    def test_a_linked_document_comes_first(self):
        found = [*passages(DISK, "# Disk\n\n- a\n"), *passages(MAIL, QUEUE)]
        linked = alert("QueueGrowing", links=("runbooks/mail.md",))
        assert documents_to_complete(linked, asked(*found).asked)[0] == MAIL

    def test_a_report_of_an_earlier_incident_is_not_completed(self):
        found = passages("postmortems/1.md", "# Mail queue\n\n## Resolution\n\n- Dropped it.\n")
        incident = question("the mail queue grows")
        assert documents_to_complete(incident, asked(*found).asked) == []

    def test_only_the_passages_that_a_procedure_needs_stay_in_the_ledger(self):
        search = Part({MAIL: QUEUE}, keep=lambda it: "Drain" in it.content)
        findings = looked_up(alert("QueueGrowing"), search)
        kept = {entry.citation.start_line for entry in findings.ledger.entries}
        # the warning above the section and the section itself, and nothing of the others
        assert kept == {1, 5}

    def test_a_procedure_is_whole_though_search_found_one_passage_of_it(self):
        search = Part({MAIL: LONG}, keep=lambda it: "part 40 " in it.content)
        given = asyncio.run(consult(alert("QueueGrowing"), search))
        assert len(given.recommendation.guidance) == 89
        assert given.recommendation.evidence.strength is Strength.STRONG
        assert_cites_exactly(given, {MAIL: LONG})


class TestAnIncompleteDocument:
    @pytest.mark.parametrize(
        "completed",
        [
            degraded(Reason.TIMEOUT),
            RetrievalOutcome(Status.NO_MATCH),
            RetrievalOutcome(Status.OK, tuple(passages(DISK, "# Disk\n\n- Add a disk.\n"))),
        ],
        ids=["times out", "finds nothing", "gives another document"],
    )
    def test_names_the_steps_that_are_not_shown_and_is_never_strong(self, completed):
        search = Part({MAIL: LONG}, lambda it: "part 40 " in it.content, completed)
        given = asyncio.run(consult(alert("QueueGrowing"), search)).recommendation
        assert given.status is Status.OK
        assert actions(given)
        assert not any("Add a disk" in said for said in actions(given))
        (procedure,) = given.procedures
        assert not procedure.complete
        assert {it.why for it in procedure.not_shown} == {Why.NOT_RETRIEVED}
        assert Concern.NOT_SHOWN in {warned.kind for warned in given.warnings}
        assert given.evidence.strength is not Strength.STRONG
        assert given.confidence <= MAX_INCOMPLETE


class TestNearMisses:
    def test_a_section_of_another_alert_is_offered_as_reading_and_no_step(self):
        given = advised(
            alert("QueueGrowingSlowly"), {MAIL: QUEUE.replace("Growing", "GrowingFast")}
        )
        assert (given.status, given.guidance) == (Status.NO_MATCH, ())
        assert given.reading
        assert len(given.reading) <= MAX_READING

    def test_a_page_with_an_alert_that_begins_alike_is_not_meant(self):
        text = "# Chambers\n\n## Requirements\n\n- The chamber is too cold: a role.\n\n## {}\n\n1. Reset.\n"
        asked = alert("ColdChamberTooCold", title="the chamber is too cold")
        sibling = advised(asked, {MAIL: text.format("ColdChamberTooWarm")})
        assert (sibling.status, sibling.guidance) == (Status.NO_MATCH, ())
        assert advised(asked, {MAIL: text.format("Something else")}).guidance
        named = text.format("ColdChamberTooWarm").replace("a role", "a role, `ColdChamberTooCold`")
        assert advised(asked, {MAIL: named}).guidance

    def test_what_is_wrong_with_a_thing_counts_and_not_its_name(self):
        text = "# Plan\n\nInstance `plan-main-prod`.\n\n## Plan storage\n\n- Drop runs.\n\n## B\n\n- Wait.\n"
        assert advised(alert("plan-main-prod-storage"), {MAIL: text}).guidance
        assert advised(alert("plan-main-prod-cpu"), {MAIL: text}).guidance == ()

    def test_an_alert_needs_most_of_its_names_words(self):
        text = "# Queue\n\nIt is here.\n\n## Queue of mail\n\n- Drain the queue.\n"
        assert advised(alert("QueueOfMail"), {MAIL: text}).guidance
        missed = advised(alert("RedisQueueReplicaBroken", title="queue of mail"), {MAIL: text})
        assert missed.status is Status.NO_MATCH

    def test_a_page_that_says_it_is_not_for_it_gives_no_steps(self):
        text = "# Refresh\n\nOnly for the sandbox. Never on production or training.\n\n## Disk full\n\n- Drop the audit.\n\n## Slow\n\n- Wait.\n"
        given = advised(question("disk full in the training system"), {MAIL: text})
        assert given.status is Status.NO_MATCH
        assert advised(question("disk full in the sandbox"), {MAIL: text}).guidance

    def test_another_thing_of_the_same_kind_is_not_meant(self):
        text = "# Redis\n\nFor `redis-badge` alone.\n\n## Memory is high\n\n- Purge the memory of `redis-badge`.\n\n## Slow\n\n- Wait.\n"
        assert (
            advised(question("redis-session memory is high"), {MAIL: text}).status
            is Status.NO_MATCH
        )
        for words in (
            "redis-badge memory is high",
            "memory is high after a fail-over",
            "prod-eu memory is high",
        ):
            assert advised(question(words), {MAIL: text}).guidance

    def test_another_store_of_a_kind_is_not_meant(self):
        text = "# Tables\n\n## Writes are throttled\n\n- Raise the writes of the table `idem-keys`.\n\n## Slow\n\n- Wait.\n"
        missed = advised(question("table: user-config, its writes are throttled"), {MAIL: text})
        assert missed.status is Status.NO_MATCH
        for words in (
            "writes of the table idem-keys are throttled",
            "writes are throttled, queue pay-out",
        ):
            assert advised(question(words), {MAIL: text}).guidance

    def test_a_word_of_two_parts_is_known_as_one(self):
        text = "# Search\n\n## The OpenSearch domain is red\n\n- Look at the OpenSearch shards.\n\n## Slow\n\n- Wait.\n"
        given = advised(question("opensearch is red"), {MAIL: text})
        assert actions(given) == ["Look at the OpenSearch shards."]
        assert not any("opensearch" in it for it in given.evidence.reasons)

    def test_another_one_of_a_series_is_not_meant(self):
        text = "# Brokers\n\nmq-b is the parking's.\n\n## Memory alarm\n\n- mq-a blocks at 60 %. Purge its memory alarm.\n\n## Slow\n\n- Wait.\n"
        missed = advised(question("mq-b has a memory alarm"), {MAIL: text})
        assert missed.status is Status.NO_MATCH
        for words in ("mq-a has a memory alarm", "the memory alarm of plan-b"):
            assert advised(question(words), {MAIL: text}).guidance

    def test_how_to_verify_may_be_asked_beside_the_steps(self):
        text = "# Roll back\n\n## Roll the settler back\n\n1. Roll it back.\n\n### Afterwards\n\n- [ ] The version is the old one.\n\n## Lambda\n\n- Move the alias.\n"
        both = "roll the settler back, and how do I know that it worked?"
        assert actions(advised(question(both), {MAIL: text}))[0] == "Roll it back."

    def test_a_section_headed_by_another_code_of_its_kind_is_not_meant(self):
        text = (
            "# Database\n\n## ORA-01652 unable to extend\n\n- Add a file.\n\n## Slow\n\n- Wait.\n"
        )
        missed = advised(question("ORA-30036: unable to extend"), {MAIL: text})
        assert missed.status is Status.NO_MATCH
        for words in ("ORA-01652: unable to extend", "db-07 is unable to extend"):
            assert actions(advised(question(words), {MAIL: text})) == ["Add a file."]

    def test_a_place_counts_for_nothing_on_a_page_that_names_the_service(self):
        text = "# Lockers\n\nHub: `locker-hub`.\n\n## All lockers are offline\n\n- Divert the lockers.\n\n## Slow\n\n- Wait.\n"
        asked = "All lockers are offline in Fulda"
        assert advised(Incident(title=asked, service="locker-hub"), {MAIL: text}).guidance
        assert advised(question(asked), {MAIL: text}).status is Status.NO_MATCH

    @pytest.mark.parametrize("name", ["Nomad", "nomadCore"])
    def test_a_name_at_the_start_that_nothing_holds_is_another_thing(self, name):
        text = "# Deployments\n\n## A deployment is stuck\n\n- Roll it.\n\n## Slow\n\n- Wait.\n"
        assert (
            advised(question(f"{name} deployment is stuck"), {MAIL: text}).status is Status.NO_MATCH
        )
        assert advised(question("Our deployment is stuck"), {MAIL: text}).guidance

    def test_a_code_that_one_page_holds_is_no_vague_question(self):
        texts = {
            MAIL: "# Desks\n\n## Errors\n\n- CU-30: log out idle desks.\n",
            "runbooks/snow.md": "# Snow\n\n- Call the desks of cu.\n",
        }
        assert actions(advised(question("CU-30"), texts)) == ["CU-30: log out idle desks."]

    @pytest.mark.parametrize(
        "words",
        [
            "restore the queue from the backup",
            "restore the queue from the snapshot",
            "upgrade the queue",
            "queue encryption",
            "queue grows in the training environment",
        ],
    )
    def test_a_task_or_an_environment_that_a_page_has_no_word_for_is_not_meant(self, words):
        text = "# Queue\n\n## Queue grows\n\n- Take a snapshot.\n- Drain the queue.\n\n## Slow\n\n- Wait.\n"
        assert advised(question(words), {MAIL: text}).status is Status.NO_MATCH
        assert advised(
            question("the queue grows in the production environment"), {MAIL: text}
        ).guidance

    @pytest.mark.parametrize(
        ("words", "is_given"),
        [
            ("how do I delete a queue?", False),
            ("roll back the queue", False),
            ("we need to create a queue", False),
            ("the queue grows after a delete", True),
            ("the queue grows since the restore of the store", True),
            ("the queue grows, is it because of the upgrade?", True),
            ("somebody rolled back, and the queue grows", True),
        ],
    )
    def test_a_task_counts_where_it_is_asked_for_and_not_where_it_is_forbidden(
        self, words, is_given
    ):
        text = "# Queue\n\n## Queue grows\n\n- Drain the queue.\n- Never delete the queue.\n\n## Slow\n\n- Wait.\n"
        assert bool(advised(question(words), {MAIL: text}).guidance) is is_given

    def test_a_name_behind_a_word_of_the_page_says_which_one(self):
        text = "# Tours\n\n## No tour for a depot\n\n- Plan the tour of the depot.\n\n## Slow\n\n- Wait.\n"
        assert advised(question("no tour for depot Erfurt"), {MAIL: text}).guidance
        assert advised(question("no tour on Kafka"), {MAIL: text}).status is Status.NO_MATCH

    def test_another_environments_steps_are_not_given(self):
        texts = {
            MAIL: "# depot-db\n\n## Disk above 85 %\n\n- Grow the disk.\n\n## Slow\n\n- Wait.\n",
            "runbooks/refresh.md": "# Refresh\n\nStaging only.\n\n## Disk full\n\n- Delete all of the depot-db disk.\n\n## B\n\n- Wait.\n",
        }
        assert actions(advised(question("depot-db disk full"), texts)) == ["Grow the disk."]
        asked = advised(question("depot-db disk full on staging"), texts)
        assert actions(asked) == ["Delete all of the depot-db disk."]

    def test_a_weekday_is_no_name_of_a_thing(self):
        text = "# Backup\n\n## Vault is full\n\n- Prune the vault.\n\n## Slow\n\n- Wait.\n"
        assert advised(question("vault is full, backup of Monday failed"), {MAIL: text}).guidance

    def test_the_words_that_nothing_holds_are_named(self):
        text = "# Queue\n\nIt is here.\n\n## Queue of mail\n\n- Drain the queue.\n"
        given = advised(Incident(alert_name="Redis replica of queue broken"), {MAIL: text})
        assert given.status is Status.NO_MATCH
        assert given.unknown == ("Redis", "replica")
        assert given.reasoning == (
            f"The closest page is {MAIL}, and nothing found mentions Redis or replica."
        )

    def test_a_question_about_a_thing_that_nothing_mentions_gets_no_steps(self):
        text = "# Queue of mail\n\n- Drain the queue.\n"
        assert advised(question("the queue of mail grows"), {MAIL: text}).guidance
        given = advised(question("the queue of Kafka grows"), {MAIL: text})
        assert given.status is Status.NO_MATCH
        assert "Kafka" in given.unknown

    def test_a_question_that_shares_no_word_with_what_was_found_gets_no_steps(self):
        # where the scale of a search's scores is unknown, it returns something for any question
        found = asked(*passages(MAIL, "# Queue of mail\n\n- Drain the queue.\n"))
        assert plan_of(question("the coffee machine is out of beans"), found).procedures == ()
        assert plan_of(question("the queue is out of beans"), found).procedures

    def test_a_document_that_only_describes_gives_no_steps(self):
        text = "# Queue of mail\n\nIt is nice.\n\n## Symptoms\n\n- The queue grows.\n"
        given = advised(question("the queue of mail grows"), {MAIL: text})
        assert (given.status, given.evidence) == (Status.NO_MATCH, None)

    def test_what_is_forbidden_counts_where_it_is_asked_for(self):
        text = (
            "# Keys\n\n## Tokens refused\n\n1. Refresh the keys.\n\nDon't flush the realm cache.\n"
        )
        since = advised(
            question("tokens are refused since we flushed the realm cache"), {MAIL: text}
        )
        assert actions(since) == ["Refresh the keys."]
        asked = question("tokens refused: may I flush the realm cache")
        given = advised(asked, {MAIL: text})
        assert actions(given) == ["Refresh the keys."]
        assert given.guidance[0].guards[-1].text == "Don't flush the realm cache."
        flushing = text.replace("Refresh the keys", "Flush the keys")
        assert actions(advised(asked, {MAIL: flushing})) == ["Don't flush the realm cache."]

    def test_steps_that_forbid_it_themselves_say_what_to_do_instead(self):
        steps = ["One host: restart it.", "Both hosts: don't restart them, call storage."]
        text = f"# Maps\n\n## Dead\n\n1. {steps[0]}\n2. {steps[1]}\n\nNever restart both hosts at once.\n"
        given = advised(question("maps are dead on both hosts, restart both?"), {MAIL: text})
        assert actions(given) == steps
        assert given.guidance[0].guards[-1].text == "Never restart both hosts at once."

    @pytest.mark.parametrize(
        ("mode", "is_given"), [("none", True), ("expand", True), ("contract", False)]
    )
    def test_a_case_that_is_named_as_code_holds_off_what_is_not_done_in_it(self, mode, is_given):
        text = (
            "# Releases\n\n## Roll back a claims-api release\n\nNo migration (`migration: none`):\n\n1. Roll it back.\n\n"
            "With a migration (`migration: contract`): do not roll back, call 4432.\n"
        )
        said = f"release of claims-api is bad, migration: {mode}, how do I roll it back"
        given = advised(question(said), {MAIL: text})
        assert ("Roll it back." in actions(given)) is is_given
        assert ("call 4432" in actions(given)[0]) is not is_given


class TestNearest:
    """Nothing scored above the floor: the closest sections are there to read, and to choose."""

    TEXT = "# Nodes\n\n## Drain a worker\n\n1. Cordon it.\n\n## NotReady\n\n1. Ask it.\n"

    def found(self, incident, *, nearest, results=()):
        asked = Asked(
            Query("query"),
            RetrievalOutcome(Status.OK, tuple(results))
            if results
            else RetrievalOutcome(Status.NO_MATCH, nearest=tuple(nearest)),
        )
        findings = Findings((asked,))
        return replace(findings, plan=plan_of(incident, findings))

    def test_they_are_cited_as_reading_and_nothing_is_advised(self):
        incident = question("take wk-21 out for a memory swap")
        findings = self.found(incident, nearest=passages(DISK, self.TEXT))
        assert findings.status is Status.NO_MATCH
        given = state(incident, findings, "extractive")
        assert given.status is Status.NO_MATCH
        assert (given.guidance, given.meant) == ((), ())
        assert given.reasoning.startswith(
            f"The closest page is {DISK}, and nothing found mentions "
        )
        assert [it.citation.section_header for it in given.reading] == [
            "Drain a worker",
            "NotReady",
        ]

    def test_a_model_is_not_asked_and_what_it_would_write_is_not_shown(self):
        incident = question("take wk-21 out for a memory swap")
        findings = self.found(incident, nearest=passages(DISK, self.TEXT))
        written = verify(f"1. Cordon it. [Source: {DISK}, lines 3-5]", findings.ledger)
        given = compose(incident, written, findings, "model")
        assert (given.status, given.guidance) == (Status.NO_MATCH, ())

    def test_beside_evidence_they_are_left_out(self):
        both = (
            Asked(Query("a"), RetrievalOutcome(Status.OK, tuple(passages(MAIL, QUEUE)))),
            Asked(
                Query("b"),
                RetrievalOutcome(Status.NO_MATCH, nearest=tuple(passages(DISK, self.TEXT))),
            ),
        )
        files = {it.citation.source_file for it in Findings(both).ledger.entries}
        assert files == {MAIL}

    def test_one_that_is_not_exact_is_dropped(self):
        first, *_ = passages(DISK, self.TEXT)
        false = replace(first, content=first.content.replace("Cordon", "Delete"))

        class Lying:
            async def retrieve(self, _):
                return RetrievalOutcome(Status.NO_MATCH, nearest=(false, first))

        (outcome,) = asyncio.run(gather([Query("x")], Lying()))
        assert outcome.nearest == (first,)


DRAINED = "# Queue of mail\n\n- Drain the queue.\n"


QUESTION = Floors(alert=1.0, question=0.5, sure=1.0, clear=1.0)


class TestFloors:
    @pytest.mark.parametrize(
        ("incident", "floors", "is_given"),
        [
            (question("queue of mail"), Floors(alert=1.0, question=0.5, sure=1.0, clear=1.0), True),
            (
                question("queue of mail"),
                Floors(alert=0.0, question=0.51, sure=0.0, clear=0.0),
                False,
            ),
            (alert("MailOfQueue"), Floors(alert=0.5, question=1.0, sure=1.0, clear=0.5), True),
            (alert("MailOfQueue"), Floors(alert=0.51, question=0.0, sure=0.0, clear=0.51), False),
            (alert("RedisReplicaSlow"), Floors(alert=0.0, question=0.0, sure=0.5, clear=0.0), True),
            (
                alert("RedisReplicaSlow"),
                Floors(alert=0.0, question=0.0, sure=0.51, clear=0.0),
                False,
            ),
            (question("queue of mail"), None, True),
            # called by a sentence: as a question where the page names the service
            (alert("Queue of mail grows", service="drain"), QUESTION, True),
            (alert("Queue of mail grows", service="redis"), QUESTION, False),
            (alert("Queue of mail grows", service="queue of mail"), QUESTION, False),
        ],
    )
    def test_belong_to_questions_to_alerts_and_to_alerts_whose_name_is_not_held(
        self, incident, floors, is_given
    ):
        plan = plan_of(incident, asked(*passages(MAIL, DRAINED)), floors)  # scores of 0.5 all
        assert bool(plan.procedures) is is_given

    def test_do_not_hold_for_what_is_filed_under_the_alerts_name(self):
        found = asked(*passages(MAIL, DRAINED))
        assert plan_of(alert("QueueOfMail"), found, Floors(1.0, 1.0, 1.0, 1.0)).procedures


def group(*names):
    """Return the incident of several alerts."""
    return Incident(alert_name=names[0], alerts=tuple(map(alert, names)))


TEXTS = {
    MAIL: "# Mail\n\nAbout mail.\n\n## QueueGrowing\n\n- Drain it.\n\n## BouncesGrowing\n\n- See them.\n",
    DISK: "# Disk\n\nAbout disks.\n\n## DiskFull\n\n- Add a disk.\n",
}


class TestGroups:
    def test_each_alert_gets_its_own_procedure(self):
        given = advised(group("DiskFull", "QueueGrowing"), TEXTS)
        assert actions(given) == ["Add a disk.", "Drain it."]
        assert [it.alert for it in given.procedures] == ["DiskFull", "QueueGrowing"]
        assert given.alerts == (("DiskFull", Status.OK), ("QueueGrowing", Status.OK))
        assert given.evidence.strength is Strength.STRONG

    def test_one_that_is_not_documented_is_named_and_costs_the_others_nothing(self):
        given = advised(group("QueueGrowing", "PrinterOnFire"), TEXTS)
        assert actions(given) == ["Drain it."]
        assert given.alerts == (("QueueGrowing", Status.OK), ("PrinterOnFire", Status.NO_MATCH))
        assert given.evidence.strength is Strength.PARTIAL
        assert [it.message for it in given.warnings if it.kind is Concern.NOTICE] == [
            "PrinterOnFire: nothing is documented for it."
        ]

    def test_one_that_could_not_be_looked_up_is_not_called_undocumented(self):
        class Failing(Search):
            async def retrieve(self, query):
                if "DiskFull" in query.text and not query.source_file:
                    return degraded(Reason.THROTTLED)
                return await super().retrieve(query)

        incident = group("QueueGrowing", "DiskFull")
        given = asyncio.run(consult(incident, Failing(TEXTS))).recommendation
        assert actions(given) == ["Drain it."]
        assert given.alerts == (("QueueGrowing", Status.OK), ("DiskFull", Status.DEGRADED))
        assert "DiskFull: it could not be looked up." in {it.message for it in given.warnings}

    def test_two_alerts_of_one_section_each_have_it(self):
        text = "# Mail\n\nAbout it.\n\n## QueueGrowing / QueueStuck\n\n- Drain it.\n\n## B\n\n- b\n"
        given = advised(group("QueueGrowing", "QueueStuck"), {MAIL: text})
        assert [it.alert for it in given.procedures] == ["QueueGrowing", "QueueStuck"]

    def test_of_50_alerts_the_first_are_looked_up_and_the_others_named(self):
        names = [f"QueueGrowing{chr(65 + n % 26)}{chr(97 + n // 26)}" for n in range(50)]
        text = "# Mail\n\nAbout.\n\n" + "".join(f"## {it}\n\n- Drain {it}.\n\n" for it in names)
        search = Search({MAIL: text})
        given = asyncio.run(consult(group(*names), search)).recommendation
        assert len([it for it in search.asked if not it.source_file]) == MAX_ALERTS
        assert len(given.alerts) == 50
        assert [name for name, status in given.alerts if status is Status.OK] == names[:MAX_ALERTS]
        assert {status for _, status in given.alerts[MAX_ALERTS:]} == {Status.DEGRADED}
        assert actions(given) == [f"Drain {it}." for it in names[:MAX_ALERTS]]


class TestAPlan:
    def test_needs_the_passages_that_its_procedures_have_lines_of(self):
        findings = looked_up(alert("QueueGrowing"), Search({MAIL: QUEUE}))
        needed = [
            it.citation.start_line
            for it in passages(MAIL, QUEUE)
            if findings.plan.needs(it.citation)
        ]
        assert needed == [1, 5]
        other = passages(DISK, QUEUE)
        assert not any(findings.plan.needs(it.citation) for it in other)

    def test_without_results_has_no_procedures(self):
        nothing = Findings((Asked(Query("q"), RetrievalOutcome(Status.NO_MATCH)),))
        assert plan_of(alert("QueueGrowing"), nothing).procedures == ()
        assert plan_of(alert("QueueGrowing"), nothing).blocks[0].looked_up
        broken = Findings((Asked(Query("q"), degraded(Reason.TIMEOUT)),))
        assert not plan_of(alert("QueueGrowing"), broken).blocks[0].looked_up
        assert Plan().procedures == ()

    def test_is_the_same_for_the_same(self):
        first, second = (looked_up(alert("QueueGrowing"), Search({MAIL: LONG})) for _ in range(2))
        assert first.plan == second.plan
        assert first.ledger.entries == second.ledger.entries


class TestVagueQuestions:
    TITLED = "# {0}\n\n## Fix\n\n- Drain the {0} queue.\n"

    def test_are_answered_with_the_pages_that_they_may_mean(self):
        texts = {f"runbooks/{name}.md": self.TITLED.format(name) for name in ("mail", "jobs")}
        given = advised(question("queue?"), texts)
        assert (given.status, given.guidance) == (Status.NO_MATCH, ())
        assert {it.citation.source_file for it in given.reading} == set(texts)

    def test_that_name_one_page_are_not_vague(self):
        texts = {f"runbooks/{name}.md": self.TITLED.format(name) for name in ("mail", "jobs")}
        assert actions(advised(question("jobs?"), texts)) == ["Drain the jobs queue."]


class TestUnclearQuestions:
    """A question that several procedures answer about as well gets their names, and no steps."""

    FLOORS = Floors(alert=0.9, question=0.2, sure=0.95, clear=0.9)
    QUEUE = "# Queue\n\n## Meaning\n\nMails wait.\n\n## Fix\n\n- Drain the mails.\n"
    CACHE = "# Cache\n\n## Fix\n\n- Drain the mails of the cache.\n"
    ALERTS = (
        "# Alerts\n\n## MailsWait\n\n- Drain the mails.\n\n## MailsLost\n\n- Restore the mails.\n"
    )

    def asked(self, text, texts):
        search = Search(texts)
        search.floors = self.FLOORS
        return asyncio.run(consult(question(text), search)).recommendation

    def test_of_two_pages(self):
        given = self.asked(
            "drain mails please since yesterday lagging", {"q.md": self.QUEUE, "c.md": self.CACHE}
        )
        assert (given.status, given.guidance) == (Status.NO_MATCH, ())
        assert sorted(given.meant) == ["Cache", "Queue"]
        assert sorted(it.citation.source_file for it in given.reading) == ["c.md", "q.md"]
        assert given.reasoning == UNCLEAR

    def test_of_two_matters_on_a_page(self):
        given = self.asked("drain restore mails lagging", {"a.md": self.ALERTS})
        assert sorted(given.meant) == ["MailsLost", "MailsWait"]

    def test_but_not_of_two_parts_of_one_procedure(self):
        given = self.asked("mails lagging wait, drain them", {"q.md": self.QUEUE})
        assert actions(given) == ["Drain the mails."]
        assert given.meant == ()

    def test_but_not_if_one_holds_all_of_its_words(self):
        given = self.asked("drain mails of the cache", {"q.md": self.QUEUE, "c.md": self.CACHE})
        assert actions(given) == ["Drain the mails of the cache."]

    @pytest.mark.parametrize(
        ("text", "given"),
        [
            ("mails drain halt_reason lagging lost", True),
            ("mails drain REASON lagging lost", False),
        ],
    )
    def test_but_not_if_one_alone_holds_what_is_written_as_code(self, text, given):
        texts = {
            "q.md": "# Queue\n\n## Fix\n\n- Drain the mails; see `halt_reason`.\n",
            "c.md": "# Cache\n\n## Fix\n\n- Drain the mails of the cache; mind the reason.\n",
        }
        assert bool(self.asked(text, texts).guidance) is given

    def test_but_not_if_one_is_clearly_ahead(self):
        texts = {"q.md": self.QUEUE, "c.md": "# Cache\n\n- Warm it up after mails.\n"}
        assert actions(self.asked("drain mails lagging", texts)) == ["Drain the mails."]

    def test_and_can_ask_for_one_by_the_name_that_is_given(self):
        texts = {"q.md": self.QUEUE, "c.md": self.CACHE}
        assert actions(self.asked("Queue", texts)) == ["Drain the mails."]

    @pytest.mark.parametrize(
        ("asked", "given"),
        [
            ("mails queue lagging yesterday slowly CU-30", False),
            ("queue mails", True),  # all of its words
            ("mails queue lagging yesterday slowly CU-31", True),
        ],
    )
    def test_what_destroys_is_offered_where_little_speaks_for_it(self, monkeypatch, asked, given):
        monkeypatch.setattr(planning, "ENOUGH", 0.9)  # the score is the share of the words here
        text = (
            "# Queue\n\n## Mails\n\n1. Of CU-31: `rm -rf /var/mail/queue`\n\n## Other\n\n- Wait.\n"
        )
        answer = self.asked(asked, {"q.md": text})
        assert bool(answer.guidance) is given
        if not given:
            assert answer.reasoning == RISKY
            assert answer.meant[0] == "Mails"
            harmless = text.replace("rm -rf", "ls")
            assert self.asked(asked, {"q.md": harmless}).guidance

    def test_what_undoes_nothing_is_offered_for_undoing_where_little_speaks_for_it(
        self, monkeypatch
    ):
        monkeypatch.setattr(planning, "ENOUGH", 0.9)  # the score is the share of the words here
        text = "# Queue\n\n## Mails lag\n\n1. Pause the mails.\n\n## Other\n\n- Wait.\n"
        asked = "roll the mails back, they lag yesterday"
        answer = self.asked(asked, {"q.md": text})
        assert answer.reasoning == NO_WAY_BACK
        assert answer.meant[0] == "Mails lag"
        assert self.asked("get the mails back, they lag yesterday", {"q.md": text}).guidance
        for undoing in ("2. Back to normal: resume.", "### Rollback\n\n1. Resume."):
            whole = text.replace("\n\n## Other", f"\n{undoing}\n\n## Other")
            assert self.asked(asked, {"q.md": whole}).guidance

    def test_of_two_words_only_what_is_called_so_is_meant(self, monkeypatch):
        texts = {
            "alb.md": "# Balancer\n\n## Errors\n\n- A database that is slow: shed load.\n",
            "db.md": "# Failover\n\n## Fix\n\n- Promote the database.\n\n## Slow start\n\n- Warm the database.\n",
        }
        monkeypatch.setattr(self, "FLOORS", replace(self.FLOORS, sure=2.0))
        assert self.asked("the database is slow", texts).guidance == ()
        texts["slow.md"] = "# Slow database\n\n- Stop reports.\n"
        assert actions(self.asked("the database is slow", texts)) == ["Stop reports."]


class TestDoubts:
    TEXT = "---\nservice: mail\n---\n# QueueGrowing\n\n- Drain it on queue-eu-1.\n"

    def test_a_page_of_another_service_is_thin_evidence(self):
        sure, doubted = (
            advised(alert("QueueGrowing", service=service), {MAIL: self.TEXT})
            for service in ("mail", "billing")
        )
        assert sure.evidence.strength is Strength.STRONG
        assert doubted.evidence.strength is Strength.THIN
        assert "the page is about mail, and the alert says billing" in doubted.evidence.reasons
        assert doubted.confidence < 0.6 * sure.confidence

    def test_a_page_that_names_another_machine_than_the_question_is_doubted(self):
        asked_, other = (
            advised(question(f"the queue of {name} grows"), {MAIL: self.TEXT})
            for name in ("queue-eu-1", "queue-us-7")
        )
        assert not any("never mentions" in it for it in asked_.evidence.reasons)
        assert "it never mentions queue-us-7" in other.evidence.reasons


class TestChosenProcedures:
    """Somebody names the document and the line of a procedure; then nothing is left to search."""

    PAGE = "# Cards\n\nFor `cards`.\n\n## Turn it on\n\n1. Switch.\n\n## Turn it off\n\n1. Switch back.\n"
    OTHER = "# Mail\n\n## Queue\n\n- Drain the queue.\n"

    def at(self, line, *, asked="drain the queue", name="cards.md", texts=None):
        search = Search(texts or {"cards.md": self.PAGE, "mail.md": self.OTHER})
        search.floors = Floors(alert=0.9, question=0.2, sure=0.95, clear=0.9)
        wanted = replace(question(asked), at=(name, line))
        return asyncio.run(consult(wanted, search)).recommendation

    @pytest.mark.parametrize(
        ("line", "step"), [(7, "Switch."), (9, "Switch back."), (11, "Switch back.")]
    )
    def test_are_given_whatever_was_asked(self, line, step):
        given = self.at(line)
        assert actions(given) == [step]
        assert given.evidence.reasons == ("you chose this procedure",)
        assert given.evidence.strength is Strength.PARTIAL

    def test_have_their_pages_introduction_and_exact_lines(self):
        given = self.at(9)
        cited = given.guidance[0].citations
        assert "[Source: cards.md, lines 11-11]" in [str(it.citation) for it in cited]
        assert "For `cards`." in [it.text for it in given.guidance[0].guards]

    @pytest.mark.parametrize(
        ("name", "line"), [("cards.md", 1), ("no-such.md", 1), ("cards.md", 999)]
    )
    def test_without_steps_there_are_none(self, name, line):
        page = "# Cards\n\n## Background\n\nOnly words.\n"
        given = self.at(line, name=name, texts={"cards.md": page, "mail.md": self.OTHER})
        assert given.guidance == ()
        assert given.reasoning == f"There are no steps at {name}:{line}."

    def test_are_given_where_an_alert_has_several_sections_of_its_name(self):
        page = "# Disk\n\n## DiskFull (prod)\n\n- Grow it.\n\n## DiskFull (lab)\n\n- Empty it.\n"
        torn = advised(alert("DiskFull"), {"cards.md": page})
        assert torn.guidance == ()
        given = advised(replace(alert("DiskFull"), at=("cards.md", 9)), {"cards.md": page})
        assert actions(given) == ["Empty it."]

    def test_of_a_superseded_page_are_not_given(self):
        page = self.PAGE.replace("# Cards", "# Cards (superseded)")
        assert self.at(7, texts={"cards.md": page, "mail.md": self.OTHER}).guidance == ()


def test_a_place_for_which_nothing_was_searched_has_nothing_else_to_give():
    incident = Incident(at=(DISK, 5))
    assert Searched(incident, incident, ()).usable() == []
