"""Cases go the way that ``ask`` goes, over the sample knowledge base, and are summed up."""

import json

import pytest

from knowledge_rag.cli.advice import incident_of, queries_of
from knowledge_rag.evaluation.answers_cases import Case, LabelledLines, Range
from knowledge_rag.evaluation.answers_eval import (
    AnswersReport,
    Failure,
    Question,
    Rule,
    Score,
    Tally,
    as_tables,
    is_exact,
    run_cases,
)
from knowledge_rag.evaluation.evaluation_corpus import Documents
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.local_retrieval import local_retrieval
from tests.support.local import CORPUS, minilm
from tests.support.patience import patient_function
from tests.support.sample import sample_copy
from tests.support.tables import shown

FAILOVER = "runbooks/rds-failover.md"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Four answered cases, one of them by a question about what is meant, and one that could not be asked."""
    reader = Documents.of(CORPUS).reader()
    everything = Range(FAILOVER, 1, reader.length(FAILOVER))
    question = "Alarm orders-db-writer-unavailable: how do we fail over the RDS cluster?"
    cases = [
        Case("found", question, files=(FAILOVER,), kind="question", tests=("list",)),
        Case("bad", question, bad=(everything,), kind="question", tests=("list", "stale")),
        Case("slow", "the database is slow", files=("runbooks/alb-5xx.md",), kind="vague"),
        Case("none", "The coffee machine is out of beans.", none=True, kind="none"),
        Case("unreadable", none=True, kind="none"),
    ]
    asked = []
    for case in cases[:-1]:
        incident = incident_of(case.query, None)
        asked.append((case, Question(incident, queries_of(case.query, incident))))
    asked.append((cases[-1], "no.json: unrecognised"))
    path = sample_copy(tmp_path_factory, tmp_path_factory.mktemp("sample"))
    progress = []
    with (
        patient_function(),
        KnowledgeBase(path, minilm()) as opened,
        local_retrieval(opened) as retrieval,
    ):
        report = run_cases(
            retrieval, asked, reader, LabelledLines(reader), lambda *told: progress.append(told)
        )
    # then each procedure that may be meant by "slow"
    assert progress == [(done, count, "asking") for count in (4, 3) for done in range(count)]
    return report


def test_every_case_is_scored_in_order(run):
    assert [score.case.id for score in run.scores] == ["found", "bad", "slow", "none", "unreadable"]
    assert [score.passed for score in run.scores] == [True, False, False, True, False]
    assert [score.by_choice for score in run.scores] == [False, False, True, False, False]
    assert [score.dangerous for score in run.scores] == [False, True, False, False, False]
    assert run.scores[4].failures == (Failure(Rule.ANSWERED, "no.json: unrecognised"),)
    assert run.tally.citations == run.tally.exact > 0
    assert run.tally.p50_ms > 0


def test_the_json_sums_up_and_shows_every_failure(run):
    found = json.loads(json.dumps(run.to_dict()))
    counted = {name: found[name] for name in ("cases", "passed", "by_choice", "dangerous", "torn")}
    assert counted == {"cases": 5, "passed": 2, "by_choice": 1, "dangerous": 1, "torn": 0}
    assert found["incomplete"] == 2
    assert (found["reached"], found["missed"]) == (False, ["passed", "dangerous"])
    assert found["by_kind"]["none"] == {
        "cases": 2, "passed": 1, "by_choice": 0, "torn": 0, "dangerous": 0, "incomplete": 1,
    }  # fmt: skip
    assert {test: it["cases"] for test, it in found["by_test"].items()} == {"list": 2, "stale": 1}
    assert found["near_misses"] == {"cases": 2, "given": 0, "destructive": 0}
    (failure,) = found["scores"][1]["failures"]
    assert failure["rule"] == "bad"
    assert failure["where"].startswith(FAILOVER)
    assert 0 < failure["cited"] <= failure["lines"]


def test_people_see_the_failures_the_groups_and_the_targets(run):
    text = shown(as_tables(run), 120)
    assert "bad dangerous (list, stale)\n    bad runbooks/rds-failover.md:1-" in text
    assert "unreadable incomplete\n    answered: no.json: unrecognised" in text
    assert "citations exact" in text
    assert "near misses given steps: 0 of 2, destructive: 0" in text
    assert text.rstrip().endswith("missed: passed, dangerous")


def test_a_cited_line_that_is_no_longer_there_is_not_exact():
    check = Documents.of(CORPUS).reader()
    cited = {"source_file": FAILOVER, "start_line": 1, "end_line": 1}
    sha256 = "cb3f91d54eee30e53e35b2b99905f70f169ed549fd78909d3dac2defc9ed8d3b"  # of "---"
    assert is_exact(cited | {"text_sha256": sha256}, check)
    assert not is_exact(cited | {"text_sha256": "0" * 64}, check)
    gone = cited | {"start_line": 90_000, "end_line": 90_000, "text_sha256": sha256}
    assert not is_exact(gone, check)


def test_near_misses_are_counted_and_named_only_where_there_are_some():
    def scored(steps, *, none=True, destructive=False):
        return Score(Case("c", none=none), (), steps, destructive)

    near = (scored(0), scored(3), scored(2, destructive=True))
    report = AnswersReport((*near, scored(4, none=False, destructive=True)), Tally(0, 0, 1.0))
    assert report.to_dict()["near_misses"] == {"cases": 3, "given": 2, "destructive": 1}
    assert "near misses given steps: 2 of 3, destructive: 1" in shown(as_tables(report))
    assert "near misses" not in shown(as_tables(AnswersReport(report.scores[3:], Tally(0, 0, 1.0))))


BROKEN = {
    "passed": (),
    "incomplete": (Failure(Rule.MUST, "a.md:1-2"),),
    "torn": (Failure(Rule.WHOLE, "a.md:1-2"),),
    "dangerous": (Failure(Rule.BAD, "a.md:1-1"),),
}


@pytest.mark.parametrize(
    ("counts", "exact", "missed"),
    [
        ({"passed": 9, "incomplete": 1}, 5, ()),
        ({"passed": 89, "incomplete": 11}, 5, ("passed",)),
        ({"passed": 99, "dangerous": 1}, 5, ()),
        ({"passed": 98, "dangerous": 1}, 5, ("dangerous",)),
        ({"passed": 99, "torn": 1}, 5, ("torn",)),
        ({"passed": 10}, 4, ("citations exact",)),
    ],
)
def test_targets(counts, exact, missed):
    failures = [BROKEN[name] for name, count in counts.items() for _ in range(count)]
    report = AnswersReport(tuple(Score(Case("c"), it) for it in failures), Tally(5, exact, 1.0))
    assert report.missed == missed
    assert report.to_dict()["reached"] is not bool(missed)
    assert {name: report.to_dict()[name] for name in counts} == counts
