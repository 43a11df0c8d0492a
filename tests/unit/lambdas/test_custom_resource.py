"""CloudFormation's requests and our answers."""

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from lambdas.custom_resource import (
    MAX_REASON,
    PROPAGATION_SECONDS,
    RETRY_SECONDS,
    Answer,
    Kind,
    read_request,
    send,
    with_new_rights,
)
from tests.support.passing import Time


@pytest.fixture
def time():
    return Time()


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
    for answer in (Answer(character * 9_000), Answer(data={"Summary": character * 300})):
        send(request(ingestion.url + "/answer", StackId="arn:" + "x" * 300), answer)
    assert max(ingestion.answer_sizes) <= 4096
    failed, done = ingestion.answers
    assert len(failed["Reason"].encode()) in range(MAX_REASON - 3, MAX_REASON + 1)
    assert len(done["Data"]["Summary"]) == 300


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


class Work:
    """Fails with these codes, one a try, and then succeeds."""

    def __init__(self, *codes):
        self.codes = list(codes)
        self.tries = 0

    def __call__(self):
        self.tries += 1
        if self.codes:
            raise ClientError({"Error": {"Code": self.codes.pop(0)}}, "HeadObject")
        return "done"


@pytest.mark.parametrize("code", ["403", "AccessDenied", "AccessDeniedException"])
def test_what_is_refused_at_first_is_done_later(time, code):
    work = Work(code, code)
    assert with_new_rights(work, time.clock()) == "done"
    assert (work.tries, time.slept) == (3, [RETRY_SECONDS] * 2)


def test_nobody_waits_longer_than_rights_take(time):
    with pytest.raises(ClientError, match="403"):
        with_new_rights(Work(*["403"] * 99), time.clock())
    assert time.now == PROPAGATION_SECONDS


def test_nobody_waits_longer_than_there_is_time(time):
    with pytest.raises(ClientError, match="403"):
        with_new_rights(Work("403", "403"), time.clock(end=RETRY_SECONDS))
    assert time.now == RETRY_SECONDS


def test_what_fails_for_another_reason_fails_at_once(time):
    work = Work("NoSuchKey")
    with pytest.raises(ClientError, match="NoSuchKey"):
        with_new_rights(work, time.clock())
    assert (work.tries, time.slept) == (1, [])
