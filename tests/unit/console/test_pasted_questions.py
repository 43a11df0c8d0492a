"""A payload that is pasted into the console is an incident, and not a question in words."""

import asyncio
import json

import pytest

from knowledge_rag.console.answers import Answers
from knowledge_rag.console.documents import KeptDocuments
from knowledge_rag.console.json_http import Refused
from knowledge_rag.console.metrics import ConsoleMetrics
from knowledge_rag.console.questions import Asker, read_question
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS
from knowledge_rag.orchestrator.advisors.extractive import ExtractiveAdvisor
from knowledge_rag.orchestrator.queries import build_queries
from tests.support.local import PROJECT
from tests.support.retrievals import NOTHING, Answering
from tests.unit.console.kept import Shelf

PAYLOAD = (PROJECT / "tests/data/incidents/opsgenie-create.json").read_text()
TITLE = "CatalogWriterDown: the catalog has no writer for 4 minutes"


def test_it_is_listed_by_its_title_and_asked_about_as_an_incident():
    question = read_question({"question": f"see this:\n{PAYLOAD}"}, ["extractive"])
    assert question.text == TITLE
    assert question.incident.alert_name == "CatalogWriterDown"
    assert question.queries() == build_queries(question.incident)


def test_it_may_be_longer_than_a_question_and_a_question_may_not():
    long = PAYLOAD.replace("{", "{" + " " * MAX_QUERY_CHARACTERS, 1)
    assert read_question({"question": long}, ["extractive"]).text == TITLE
    with pytest.raises(Refused, match="characters, allowed: 20000"):
        read_question({"question": '{"a": 1}' + "x" * MAX_QUERY_CHARACTERS}, ["extractive"])


def test_a_filter_holds_for_every_query():
    body = {"question": PAYLOAD, "service": "rds", "document_type": "runbook"}
    queries = read_question(body, ["extractive"]).queries()
    assert [query.filters for query in queries] == [
        {"service": "rds", "document_type": "runbook"}
    ] * 2


def test_an_alert_without_a_title_is_listed_by_what_it_has():
    asked = '{"signals": ["disk 97 %"]}'
    assert read_question({"question": asked}, ["extractive"]).text == "disk 97 %"
    asked = '{"alert_name": "DiskFull", "title": "/data"}'
    assert read_question({"question": asked}, ["extractive"]).text == "DiskFull"


def group(*names):
    labels = [{"labels": {"alertname": name}, "status": "firing"} for name in names]
    return json.dumps({"receiver": "on-call", "status": "firing", "alerts": labels})


def asked_about(body):
    retrieval = Answering(NOTHING)
    advisors = {"extractive": ExtractiveAdvisor()}
    asker = Asker(retrieval, advisors, KeptDocuments(Shelf()), Answers(), ConsoleMetrics("now"))

    async def events():
        question = read_question(body, advisors)
        return [(event.event, json.loads(event.data)) async for event in asker.begin(question)]

    return asyncio.run(events()), retrieval.asked


def test_of_a_group_each_alert_is_asked_for_by_its_own_words():
    _, asked = asked_about({"question": group("DiskFull", "QueueStuck")})
    own = [query.text for query in asked]
    assert len(own) == 2
    assert "DiskFull" in own[0]
    assert "QueueStuck" in own[1]


def test_a_filter_holds_for_every_alert_of_a_group():
    filters = {"service": "rds", "document_type": "runbook"}
    _, asked = asked_about({"question": group("DiskFull", "QueueStuck"), **filters})
    assert [query.filters for query in asked] == [filters] * 2


def test_a_payload_is_titled_by_its_name_from_the_start():
    events, _ = asked_about({"question": group("DiskFull", "QueueStuck")})
    assert events[0][1]["named"] == "2 alerts: DiskFull, QueueStuck"
    events, _ = asked_about({"question": "disk full"})
    assert "named" not in events[0][1]


def test_the_title_of_a_large_group_names_the_first_alerts():
    named = read_question({"question": group(*"ABCDEFG")}, ["extractive"]).text
    assert named == "7 alerts: A, B, C, D, E, ..."
