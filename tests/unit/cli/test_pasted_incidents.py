"""An incident's JSON may be a file of any form, or be pasted where a question is expected."""

import json

import pytest

from knowledge_rag.cli.advice import incident_of, queries_of
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.orchestrator.queries import build_queries
from tests.support.local import PROJECT

PAYLOAD = (PROJECT / "tests/data/incidents/pagerduty-v3.json").read_text()


@pytest.mark.parametrize("typed", [PAYLOAD, f"What do I do?\n\n```json\n{PAYLOAD}```\n"])
def test_a_question_that_is_a_payload_is_read_as_an_incident(typed):
    incident = incident_of(typed, None)
    assert (incident.alert_name, incident.read_as) == ("CheckoutErrorRate", "PagerDuty")
    assert queries_of(typed, incident) == build_queries(incident)


def test_a_payload_may_be_longer_than_a_question():
    payload = json.loads(PAYLOAD) | {"padding": "x" * 50_000}
    assert incident_of(json.dumps(payload), None).alert_name == "CheckoutErrorRate"


def test_a_question_about_json_stays_a_question():
    question = 'why does {"a": 1} fail in jq?'
    incident = incident_of(question, None)
    assert incident.title == question
    assert queries_of(question, incident)[0].text == question


def test_a_file_may_have_words_or_a_fence_around_the_json(tmp_path):
    path = tmp_path / "incident.md"
    path.write_text(f"From the pager:\n```\n{PAYLOAD}\n```\n")
    assert incident_of(None, path).alert_name == "CheckoutErrorRate"


def test_a_payload_in_both_places_is_refused(tmp_path):
    path = tmp_path / "incident.json"
    path.write_text(PAYLOAD)
    with pytest.raises(
        InvalidRequest, match="the question is an incident's JSON; leave it out, or"
    ):
        incident_of(PAYLOAD, path)


def test_a_file_that_says_nothing_is_refused_with_what_is_supported(tmp_path):
    path = tmp_path / "incident.json"
    path.write_text('{"foo": "bar"}')
    with pytest.raises(
        InvalidRequest, match=r"nothing in it that could be asked about; supported: .*Opsgenie"
    ):
        incident_of(None, path)
