"""Runbooks that nobody would write and that exist all the same: huge, misnumbered, going round in circles, gone."""

import asyncio
import string
from dataclasses import replace
from itertools import islice, product

import pytest

from knowledge_rag.cli.recommendation import lines_of
from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.procedures import MAX_ITEMS
from knowledge_rag.orchestrator.recommendation import Concern, Strength
from knowledge_rag.orchestrator.searches import MAX_COMPLETED
from knowledge_rag.orchestrator.showing import pieces_of
from tests.support.runbooks import (
    Search,
    actions,
    advised,
    alert,
    assert_cites_exactly,
    consulted,
    passages,
    question,
)
from tests.unit.orchestrator.schema import VALIDATOR

MAIL, DISK = "runbooks/mail.md", "runbooks/disk.md"
STEPS = 250


def long_procedure(steps=STEPS):
    items = "".join(f"{n}. Drain part {n} of the queue.\n" for n in range(1, steps + 1))
    return f"# QueueGrowing\n\n> **Warning**: this drops mail.\n\n## Resolution\n\n{items}"


def terminal(given):
    lines = lines_of(given.recommendation, 80)
    return "\n".join("".join(text for text, _ in line) for line in lines)


def markdown(given):
    return "".join(it.text for it in pieces_of(given.recommendation, given.findings.ledger))


class TestAProcedureOf250Steps:
    def test_is_shown_up_to_the_limit_and_the_rest_is_named_by_its_lines(self):
        texts = {MAIL: long_procedure()}
        given = consulted(alert("QueueGrowing"), texts)
        body = given.recommendation.to_dict()["recommendation"]
        assert [it["action"] for it in body["guidance"]] == [
            f"Drain part {n} of the queue." for n in range(1, MAX_ITEMS + 1)
        ]
        (procedure,) = body["procedures"]
        (gap,) = procedure["not_shown"]
        assert not procedure["complete"]
        assert gap == {
            "source_file": MAIL, "start_line": 7 + MAX_ITEMS, "end_line": 6 + STEPS,
            "heading": "Resolution", "reason": "limit",
        }  # fmt: skip
        assert_cites_exactly(given, texts)

    def test_says_so_wherever_it_is_shown(self):
        given = consulted(alert("QueueGrowing"), {MAIL: long_procedure()})
        named = f"{MAIL}:{7 + MAX_ITEMS}-{6 + STEPS}"
        assert named in terminal(given)
        assert named in markdown(given)
        assert Concern.NOT_SHOWN in {it.kind for it in given.recommendation.warnings}
        assert given.recommendation.evidence.strength is not Strength.STRONG

    def test_has_its_caution_at_every_step_that_is_shown(self):
        given = advised(alert("QueueGrowing"), {MAIL: long_procedure()})
        assert all(
            any("this drops mail" in it.text for it in step.guards) for step in given.guidance
        )


SECTIONS = 2_900
ALERTS = [
    f"Queue{a.upper()}{b}{c}Growing"
    for a, b, c in islice(product(string.ascii_lowercase, repeat=3), SECTIONS)
]
HUGE = "# Queues\n\nAll alerts of all queues.\n\n" + "".join(
    f"## {it}\n\n1. Drain {it}.\n2. Start {it}.\n\n> It takes a minute.\n\n" for it in ALERTS
)


class TestADocumentOf20000Lines:
    @pytest.mark.parametrize("place", [0, 1_777, SECTIONS - 1], ids=["first", "middle", "last"])
    def test_gives_the_alerts_own_section_and_nothing_else(self, place):
        assert HUGE.count("\n") > 20_000
        texts, name = {MAIL: HUGE}, ALERTS[place]
        given = consulted(alert(name), texts)
        assert actions(given.recommendation) == [f"Drain {name}.", f"Start {name}."]
        assert_cites_exactly(given, texts)

    def test_is_no_evidence_for_an_alert_that_it_does_not_hold(self):
        given = advised(alert("RedisReplicaBroken"), {MAIL: HUGE})
        assert (given.status, given.guidance) == (Status.NO_MATCH, ())


@pytest.mark.parametrize(
    ("marks", "in_markdown"),
    [
        (("1.", "1.", "1."), ("1.", "1)", "1.")),  # else Markdown would count on: 1, 2, 3
        (("7.", "8.", "9."), ("7.", "8.", "9.")),
        (("3.", "1.", "2."), ("3.", "1)", "2)")),
    ],
)
def test_steps_keep_the_numbers_that_their_author_wrote(marks, in_markdown):
    words = ("Drain it.", "Look at it.", "Start it.")
    items = "".join(f"{mark} {text}\n" for mark, text in zip(marks, words, strict=True))
    given = consulted(alert("QueueGrowing"), {MAIL: f"# QueueGrowing\n\n## Resolution\n\n{items}"})
    body = given.recommendation.to_dict()["recommendation"]
    assert [it["number"] for it in body["guidance"]] == list(marks)
    assert [it["action"] for it in body["guidance"]] == list(words)
    shown, rendered = terminal(given), markdown(given)
    for mark, in_list, text in zip(marks, in_markdown, words, strict=True):
        assert f"  {mark} {text}\n" in shown
        assert f"\n{in_list} {text} [Source: " in rendered


class TestSectionsThatGoInCircles:
    def test_are_given_once_each(self):
        text = (
            "# Mail\n\nAbout mail.\n\n"
            "## QueueGrowing\n\n1. Drain it.\n2. Go to [Restart](#restart).\n\n"
            "## Restart\n\n1. Restart it.\n2. Go to [QueueGrowing](#queuegrowing).\n"
            "3. Go to [Restart](#restart).\n\n"
            "## Bounces\n\n- See who bounces.\n"
        )
        given = advised(alert("QueueGrowing"), {MAIL: text})
        assert [it.path[-1] for it in given.procedures] == ["QueueGrowing", "Restart"]
        assert len(given.guidance) == 5
        assert not any("bounces" in it for it in actions(given))

    def test_are_given_once_each_from_two_documents(self):
        texts = {
            MAIL: "# QueueGrowing\n\n## Resolution\n\n1. Drain it.\n2. Go to [Full disk](disk.md#full-disk).\n",
            DISK: (
                "# Disk\n\nAbout disks.\n\n## Full disk\n\n1. Free it.\n2. Go to [Resolution](mail.md#resolution).\n\n"
                "## Slow disk\n\n- Call.\n"
            ),
        }  # fmt: skip
        search = Search(texts)
        given = asyncio.run(consult(alert("QueueGrowing"), search)).recommendation
        assert [it.source_file for it in given.procedures] == [MAIL, DISK]
        assert [it for it in actions(given) if not it.startswith("Go to")] == ["Drain it.", "Free it."]  # fmt: skip
        completed = [it.source_file for it in search.asked if it.source_file]
        assert len(completed) == len(set(completed)) <= MAX_COMPLETED


class Completing(Search):
    """Finds one passage in the middle of a document, and answers the query for the rest as it is told to."""

    def __init__(self, texts, complete):
        super().__init__(texts)
        self.complete = complete

    async def retrieve(self, query):
        if query.source_file:
            return self.complete()
        found = await super().retrieve(replace(query, max_results=100))
        middle = tuple(it for it in found.results if "part 120 " in it.content)
        return RetrievalOutcome(Status.OK if middle else Status.NO_MATCH, middle)


def broken():
    raise RuntimeError("the connection broke")


def no_outcome():
    return "[]"


def another():
    """Return the same lines of another document."""
    found = passages(DISK, long_procedure().replace("Drain", "Wipe"))
    return RetrievalOutcome(Status.OK, tuple(found))


@pytest.mark.parametrize("complete", [broken, no_outcome, another])
def test_what_could_not_be_completed_is_given_in_part_and_says_so(complete):
    search = Completing({MAIL: long_procedure()}, complete)
    given = asyncio.run(consult(alert("QueueGrowing"), search)).recommendation
    VALIDATOR.validate(given.to_dict())
    assert "Drain part 120 of the queue." in actions(given)
    assert all(it.startswith("Drain part ") for it in actions(given))
    assert {it.source_file for it in given.procedures} == {MAIL}
    assert not given.procedures[0].complete
    assert Concern.NOT_SHOWN in {it.kind for it in given.warnings}
    assert given.evidence.strength is not Strength.STRONG


@pytest.mark.parametrize("incident", [alert("QueueGrowing"), question("the queue is growing")])
def test_an_empty_knowledge_base_documents_nothing(incident):
    given = consulted(incident, {})
    assert given.recommendation.status is Status.NO_MATCH
    assert (given.recommendation.guidance, given.recommendation.confidence) == ((), 0.0)
    assert (given.recommendation.procedures, given.recommendation.reading) == ((), ())
    assert markdown(given) == ""
    assert terminal(given).startswith("Nothing documented.")
