"""The canary: which question it asks, when there is none, and that the function takes its event."""

import json

import pytest

from infra.monitoring import canary_question
from infra.settings import SettingsError, load_settings
from knowledge_rag.evaluation.faults.payloads import item, retrieved
from knowledge_rag.evaluation.faults.server import answering, http
from tests.infra.synthesis import DISPOSABLE, EVERYTHING, synthesized
from tests.support.fixtures import invoke
from tests.support.monitoring import resources

AWAKE = {"vector_store": "s3-vectors", "search_type": "SEMANTIC"}


def question(project, **values):
    return canary_question(load_settings({"knowledge-rag": {"corpus": ".", **values}}), project)


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "a.md").write_text("No title here\n#not one\n")
    (tmp_path / "b.md").write_text("---\ntitle: x\n---\n# Queue is full \nText\n# Another\n")
    (tmp_path / "c.md").write_text("# Later\n")
    return tmp_path


def test_it_asks_for_the_first_document_with_a_title(corpus):
    assert question(corpus, **AWAKE) == "Queue is full"


def test_a_setting_replaces_it(corpus):
    assert question(corpus, **AWAKE, canary_question=" What now? ") == "What now?"


@pytest.mark.parametrize("off", ["off", "OFF"])
def test_it_can_be_turned_off(corpus, off):
    assert question(corpus, **AWAKE, canary_question=off) == ""


@pytest.mark.parametrize(
    ("settings", "asks"),
    [
        ({}, False),
        ({"min_search_ocu": 1}, True),
        ({"generation": "classic"}, True),
        (AWAKE, True),
        ({"canary_question": "What now?"}, False),
    ],
)
def test_a_store_that_sleeps_is_left_asleep(corpus, settings, asks):
    assert bool(question(corpus, **settings)) is asks


def test_documents_without_a_title_have_no_canary(tmp_path):
    (tmp_path / "a.txt").write_text("# A\n")
    assert question(tmp_path, **AWAKE) == ""


@pytest.mark.parametrize("wrong", ["two\nlines", 7, "x" * 1001, None])
def test_a_question_is_one_line(wrong):
    with pytest.raises(SettingsError, match="canary_question"):
        load_settings({"knowledge-rag": {"canary_question": wrong}})


def test_the_function_answers_what_the_schedule_sends(knowledge_base):
    knowledge_base(answering(http(retrieved(item()))))
    (schedule,) = resources(synthesized(**EVERYTHING).service, "AWS::Scheduler::Schedule")
    assert schedule["ScheduleExpression"] == "rate(5 minutes)"
    ran = invoke(json.loads(schedule["Target"]["Input"]))
    assert ran.answer["status"] == "ok"
    assert ran.metrics[0]["KnowledgeCanaryFailures"] == [0.0]


def test_dev_has_neither_canary_nor_its_alarm():
    template = synthesized(**DISPOSABLE).service
    assert not resources(template, "AWS::Scheduler::Schedule")
    names = [each["AlarmName"] for each in resources(template, "AWS::CloudWatch::Alarm")]
    assert not [name for name in names if name.endswith("canary")]
