"""The function with a source policy: one setting, the same promises."""

import json
import os
import subprocess
import sys

import pytest

from knowledge_rag.core.policy import SECONDARY_NOTICE
from knowledge_rag.evaluation.faults.payloads import item, retrieved
from knowledge_rag.evaluation.faults.server import answering, http
from knowledge_rag.local.action_group import agent_event
from lambdas.retrieve_knowledge import service
from lambdas.retrieve_knowledge.events import MAX_AGENT_RESPONSE_BYTES
from tests.support.fixtures import ENVIRONMENT, invoke
from tests.support.patience import longer, patient_function

SCOPE = json.dumps({"equals": {"key": "service", "value": "north"}})
QUESTION = "When is the next conference?"
PDF = item(start=1, source_file="docs/plan.pdf", dates=["2027-01-14"])
PAST = item(start=2, source_url="https://school.example/old", dates=["2025-11-13"])
NEXT = item(start=3, source_url="https://school.example/new", dates=["2026-12-03"])
RUNBOOK = item(start=4)


@pytest.fixture(autouse=True)
def _patient():
    with patient_function():
        yield


@pytest.fixture
def policy(aws_environment):
    aws_environment.setenv("SOURCE_POLICY", "website-first")
    aws_environment.setenv("POLICY_TODAY", "2026-11-21")
    return aws_environment


def starts(answer):
    return [result["citation"]["start_line"] for result in answer["results"]]


def test_off_by_default_the_answer_is_the_same_to_the_byte(knowledge_base, aws_environment):
    knowledge_base(answering(http(retrieved(PDF, PAST, NEXT, RUNBOOK))))
    event = {"query": QUESTION}
    unset = json.dumps(invoke(event).answer)
    aws_environment.setenv("SOURCE_POLICY", "off")
    service.reset()
    assert json.dumps(invoke(event).answer) == unset
    assert starts(json.loads(unset)) == [1, 2, 3, 4]
    assert "notice" not in json.loads(unset)


@pytest.mark.usefixtures("policy")
def test_on_websites_and_dates_to_come_are_first(knowledge_base):
    server = knowledge_base(answering(http(retrieved(PDF, PAST, NEXT, RUNBOOK))))
    answer = invoke({"query": QUESTION}).answer
    assert starts(answer) == [3, 2, 1, 4]
    asked = json.loads(server.requests[0][1])
    search = asked["retrievalConfiguration"]["vectorSearchConfiguration"]
    assert search == {"numberOfResults": 60, "overrideSearchType": "HYBRID"}


@pytest.mark.usefixtures("policy")
def test_a_direct_caller_may_ask_why(knowledge_base):
    knowledge_base(answering(http(retrieved(PDF, PAST, NEXT, RUNBOOK))))
    answer = invoke({"query": QUESTION, "max_results": 2, "explain": True}).answer
    explained = answer["explanation"]
    order = explained.pop("order")
    assert explained.pop("evidence")["best_score"] == 0.5
    assert explained == {"policy": "website-first", "date_related": True, "today": "2026-11-21"}
    assert [(it["before"], it["after"], it["shown"], it["source_kind"]) for it in order] == [
        (3, 1, True, "website"),
        (2, 2, True, "website"),
        (1, 3, False, "pdf"),
        (4, 4, False, "other"),
    ]
    assert order[0]["why"] == "a website goes before PDFs; 2026-12-03 is upcoming"
    assert order[0]["citation"] == answer["results"][0]["citation"]
    assert order[0]["dates"] == ["2026-12-03"]


def test_without_a_policy_there_is_nothing_to_explain(knowledge_base):
    knowledge_base(answering(http(retrieved(PDF))))
    assert invoke({"query": "x", "explain": True}).answer["explanation"]["policy"] == "off"
    assert "explanation" not in invoke({"query": "x", "explain": False}).answer
    assert "error" in invoke({"query": "x", "explain": "yes"}).answer


def test_an_agent_can_t_ask_for_more_than_the_schema_says(knowledge_base):
    knowledge_base(answering(http(retrieved(PDF))))
    answer = invoke(agent_event({"query": "x", "explain": "true"})).answer
    assert answer["response"]["httpStatusCode"] == 400


@pytest.mark.usefixtures("policy")
def test_past_dates_alone_are_told_to_an_agent_too(knowledge_base):
    knowledge_base(answering(http(retrieved(PAST))))
    answer = invoke(agent_event({"query": QUESTION})).answer
    body = json.loads(answer["response"]["responseBody"]["application/json"]["body"])
    assert body["notice"].startswith("Every date in these passages is past")


@pytest.mark.usefixtures("policy")
def test_an_agent_s_answer_keeps_its_size(knowledge_base):
    large = [item("x" * 9000, start=n, source_file="a.pdf") for n in range(1, 40)]
    site = item("y" * 9000, start=50, source_url="https://school.example/")
    knowledge_base(answering(http(retrieved(*large, site))))
    answer = invoke(agent_event({"query": QUESTION})).answer
    assert len(json.dumps(answer)) <= MAX_AGENT_RESPONSE_BYTES
    body = json.loads(answer["response"]["responseBody"]["application/json"]["body"])
    assert [it["citation"]["start_line"] for it in body["results"]] == [50, 1]


def test_a_secondary_scope_that_fails_is_logged_and_told_and_costs_nothing_else(
    knowledge_base, policy
):
    policy.setenv("SECONDARY_SCOPE", SCOPE)
    refused = http({"__type": "ValidationException"}, "400 Bad")
    found = http(retrieved(PDF, NEXT))
    knowledge_base(_by_filter(refused, found))
    ran = invoke({"query": QUESTION})
    assert starts(ran.answer) == [3, 1]
    assert ran.answer["notice"] == SECONDARY_NOTICE
    (warned,) = [log for log in ran.logs if log["message"] == "secondary scope not searched"]
    assert (warned["reason"], warned["code"]) == ("configuration", "ValidationException")
    assert warned["permanent"] is True
    assert ran.metrics[0]["KnowledgeRetrievalErrors"] == [0.0]


def test_a_secondary_scope_that_hangs_is_given_up_and_the_next_query_is_healthy(
    knowledge_base, policy
):
    policy.setenv("SECONDARY_SCOPE", SCOPE)
    policy.setattr("lambdas.retrieve_knowledge.settings.MAX_DEADLINE_SECONDS", 600.0)
    hung = []

    def script(sock, server):
        while True:
            _, body = server.read_request(sock)
            if b'"filter"' in body and not hung:
                hung.append(body)
                server.stopping.wait()
            sock.sendall(http(retrieved(NEXT if b'"filter"' in body else PDF)))

    knowledge_base(script)
    for seconds in longer(0.8):
        policy.setenv("DEADLINE_SECONDS", str(seconds))
        service.reset()
        hung.clear()
        first, second = invoke({"query": QUESTION}), invoke({"query": QUESTION})
        if [it.answer["status"] for it in (first, second)] == ["ok", "ok"]:
            break
    assert (starts(first.answer), first.answer["notice"]) == ([1], SECONDARY_NOTICE)
    assert [it["reason"] for it in first.logs if "reason" in it] == ["timeout"]
    assert starts(second.answer) == [3, 1]
    assert "notice" not in second.answer


def test_both_searches_answer_one_query(knowledge_base, policy):
    policy.setenv("SECONDARY_SCOPE", SCOPE)
    knowledge_base(_by_filter(http(retrieved(NEXT)), http(retrieved(PDF, PAST))))
    ran = invoke({"query": QUESTION, "explain": True})
    assert starts(ran.answer) == [3, 2, 1]
    assert ran.metrics[0]["KnowledgeRetrievalCount"] == [1.0]
    assert [it["before"] for it in ran.answer["explanation"]["order"]] == [3, 2, 1]


def _by_filter(scoped, whole):
    """Answer the search with a filter otherwise than the one without; they come in any order."""

    def script(sock, server):
        while True:
            _, body = server.read_request(sock)
            sock.sendall(scoped if b'"filter"' in body else whole)

    return script


@pytest.mark.parametrize("policy", ["off", "website-first"])
def test_off_nothing_of_it_is_loaded_and_on_it_is_before_the_first_query(policy):
    code = (
        "import sys\n"
        "from lambdas.retrieve_knowledge import handler\n"
        "handler.service()\n"
        "print(sorted(it for it in sys.modules if it.startswith('knowledge_rag.core.policy')))"
    )
    environment = {**ENVIRONMENT, "PATH": os.environ["PATH"], "SOURCE_POLICY": policy}
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    ).stdout
    assert ("'knowledge_rag.core.policy'" in loaded) is (policy != "off")
