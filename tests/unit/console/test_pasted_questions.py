"""A payload that is pasted into the console is an incident, and not a question in words."""

import pytest

from knowledge_rag.console.errors import Refused
from knowledge_rag.console.questions import read_question
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS
from knowledge_rag.orchestrator.queries import build_queries
from tests.support.local import PROJECT

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
