"""CloudFormation's requests and our answers."""

import pytest
from botocore.exceptions import EndpointConnectionError

from lambdas.custom_resource import MAX_REASON, Answer, Kind, read_request, send
from lambdas.start_ingestion.jobs import Outcome
from tests.support.ingestion import Ingestion


@pytest.fixture
def ingestion():
    server = Ingestion()
    yield server
    server.close()


def request(url="https://example.invalid/", **more):
    return read_request(
        {
            "RequestType": "Update",
            "ResponseURL": url,
            "StackId": "stack",
            "RequestId": "request",
            "LogicalResourceId": "Ingestion",
            "PhysicalResourceId": "first-id",
            **more,
        }
    )


def test_a_resource_keeps_the_id_that_it_was_made_with():
    assert request().physical_id == "first-id"
    assert request(PhysicalResourceId="").physical_id == "Ingestion"


def test_requests_are_of_three_kinds():
    assert [request(RequestType=kind).kind for kind in Kind] == ["Create", "Update", "Delete"]


def test_a_long_reason_is_cut_to_what_an_answer_may_hold(ingestion):
    send(request(ingestion.url + "/answer"), Answer("x" * 9_000))
    (answer,) = ingestion.answers
    assert answer["Status"] == "FAILED"
    assert len(answer["Reason"]) == MAX_REASON


@pytest.mark.parametrize("character", ["東", "é", "\U0001f525", "\ud800"])
def test_an_answer_in_any_script_is_short_enough_to_be_taken(ingestion, character):
    outcome = Outcome("JOB0000000", "FAILED", reason=character * 300)
    for answer in (Answer(character * 9_000), Answer(data={"Summary": str(outcome)})):
        send(request(ingestion.url + "/answer", StackId="arn:" + "x" * 300), answer)
    assert max(ingestion.answer_sizes) <= 4096
    failed, done = ingestion.answers
    assert len(failed["Reason"].encode()) in range(MAX_REASON - 3, MAX_REASON + 1)
    assert done["Data"]["Summary"].startswith("FAILED: 0 documents")


def test_the_answer_has_no_content_type_for_its_address_is_signed_without(ingestion):
    send(request(ingestion.url + "/answer"), Answer())
    assert ingestion.answer_types == [""]


def test_a_refused_answer_raises(ingestion):
    ingestion.refused_answers = 1
    with pytest.raises(ConnectionError, match="503"):
        send(request(ingestion.url + "/answer"), Answer())


def test_an_address_that_can_not_be_reached_raises():
    with pytest.raises(EndpointConnectionError):
        send(request("http://127.0.0.1:9/answer"), Answer())
