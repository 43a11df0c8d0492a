"""The invariant of every fault holds with the source policy on, and its second search running."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.faults.test_invariant import Service, citations
from tests.support.examples import up_to
from tests.support.strategies import any_bodies, mixed_responses, valid_calls

SCOPE = json.dumps({"equals": {"key": "service", "value": "rds"}})
examples = settings(
    up_to(200, usual=30), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def service(aws_environment, knowledge_base):
    aws_environment.setenv("SOURCE_POLICY", "website-first")
    aws_environment.setenv("SECONDARY_SCOPE", SCOPE)
    return Service(knowledge_base)


@examples
@given(valid_calls(), mixed_responses())
def test_what_proves_itself_is_cited_and_nothing_else(service, asked, response):
    body = service.ask(asked, response.body)
    assert body["status"] == "ok" or not response.sound
    assert bool(citations(body)) is (body["status"] == "ok")


@examples
@given(valid_calls(), any_bodies, st.sampled_from(["200 OK", "429 Slow", "500 Oops"]))
def test_any_body_is_answered_in_time_and_in_form(service, asked, body, status):
    answer = service.ask(asked, body, status=status)
    assert status == "200 OK" or answer["status"] == "degraded"
