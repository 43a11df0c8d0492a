"""The invariant is worth what it notices: each spoilt answer or record is refused by it."""

import copy
import json

import pytest
from jsonschema import ValidationError

from knowledge_rag.evaluation.faults.payloads import item, retrieved
from knowledge_rag.evaluation.faults.server import answering, http
from tests.support.fixtures import Invocation, invoke
from tests.support.invariant import CANARY, Asked, assert_invariant

BODY = json.dumps(retrieved(item(), item(start=40))).encode()
DIRECT = Asked({"query": f"x {CANARY}"}, most=2)
AGENT = Asked(
    {
        "messageVersion": "1.0", "actionGroup": "a", "apiPath": "/retrieve", "httpMethod": "POST",
        "parameters": [{"name": "query", "value": f"x {CANARY}"}],
    }
)  # fmt: skip


def first(answer):
    return answer["results"][0]


SPOILT = {
    "a status of its own": lambda a: a.update(status="found"),
    "results without ok": lambda a: a.update(status="no_match"),
    "a reason without a failure": lambda a: a.update(reason="timeout"),
    "an error beside results": lambda a: a.update(error="x"),
    "one result too many": lambda a: a["results"].append(first(a)),
    "results in another order": lambda a: a["results"].reverse(),
    "another line": lambda a: first(a)["citation"].update(start_line=4, end_line=5),
    "another file": lambda a: first(a)["citation"].update(source_file="runbooks/other.md"),
    "another section": lambda a: first(a)["citation"].update(section_header="Diagnosis"),
    "another text": lambda a: first(a).update(content="Delete the replica.\nCheck the lag."),
    "a prefix left on": lambda a: first(a).update(content="x\n\n" + first(a)["content"]),
    "a score of its own": lambda a: first(a).update(relevance_score=0.51),
    "a score left out": lambda a: first(a).pop("relevance_score"),
    "metadata of its own": lambda a: first(a)["metadata"].update(title="Other"),
}


ENVELOPE = (
    lambda a: a.pop("sessionAttributes"),
    lambda a: a.update(body="x"),
    lambda a: a["sessionAttributes"].update(count=1),
    lambda a: a["response"].update(httpStatusCode="200"),
    lambda a: a["response"]["responseBody"]["application/json"].update(body={"results": []}),
    lambda a: a["response"].update(apiPath="\ud800"),
)


@pytest.mark.parametrize(("asked", "spoils"), [(DIRECT, SPOILT.values()), (AGENT, ENVELOPE)])
def test_a_spoilt_answer_or_envelope_is_noticed(answered, asked, spoils):
    invocation = answered(asked)
    assert_invariant(asked, invocation, 0.1, BODY)
    for spoil in spoils:
        spoilt = copy.deepcopy(invocation.answer)
        spoil(spoilt)
        assert_noticed(asked, Invocation(spoilt, invocation.logs, invocation.metrics))


def test_a_late_answer_a_logged_question_and_a_missing_record_are_noticed(answered):
    invocation = answered(DIRECT)
    logs, metrics = invocation.logs, invocation.metrics
    assert_noticed(DIRECT, invocation, seconds=2.1)
    assert_noticed(DIRECT, Invocation(invocation.answer, logs, metrics, f"x {CANARY}"))
    assert_noticed(DIRECT, Invocation(invocation.answer, logs, metrics * 2))
    assert_noticed(DIRECT, Invocation(invocation.answer, [], metrics))


def test_an_answer_of_what_the_service_did_not_say_is_noticed(answered):
    invocation = answered(DIRECT)
    assert_noticed(DIRECT, invocation, response=json.dumps(retrieved(item())).encode())
    assert_noticed(DIRECT, invocation, response=b"[]")


def assert_noticed(asked, invocation, *, seconds=0.1, response=BODY):
    try:
        assert_invariant(asked, invocation, seconds, response)
    except (AssertionError, ValidationError, ValueError):
        return
    pytest.fail(f"the invariant took {invocation.answer}")


@pytest.fixture
def answered(knowledge_base):
    knowledge_base(answering(http(BODY)))
    return lambda asked: invoke(asked.event)
