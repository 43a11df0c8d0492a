"""Tests."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time

import pytest

from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.local.action_group import (
    FunctionFailed,
    FunctionProcess,
    agent_event,
    collected_output,
    local_action_group,
)
from knowledge_rag.local.bedrock.server import LocalBedrock
from tests.support.patience import PATIENT_SECONDS, patient_function


@pytest.fixture(autouse=True)
def patience():
    with patient_function():
        yield


@pytest.fixture
def endpoint_url(knowledge_base):
    with LocalBedrock(knowledge_base) as bedrock:
        yield bedrock.endpoint_url


def test_the_event_is_an_agents_and_every_value_is_text():
    event = agent_event({"query": "failover", "max_results": 3, "service": None})
    assert event["requestBody"]["content"]["application/json"]["properties"] == [
        {"name": "query", "type": "string", "value": "failover"},
        {"name": "max_results", "type": "integer", "value": "3"},
    ]
    assert (event["messageVersion"], event["apiPath"], event["httpMethod"]) == (
        "1.0",
        "/retrieve",
        "POST",
    )


@pytest.mark.parametrize("search_type", SearchType)
def test_the_real_function_answers_with_lines_of_the_real_file(
    endpoint_url, corpus, capsys, search_type
):
    with local_action_group(endpoint_url, search_type=search_type) as group:
        answer = group.retrieve("How to handle RDS failover?", max_results=2)
    assert (answer.status_code, answer.body["status"]) == (200, "ok")
    assert 1 <= len(answer.body["results"]) <= 2
    for result in answer.body["results"]:
        citation = result["citation"]
        lines = (corpus / citation["source_file"]).read_text().split("\n")
        cited = lines[citation["start_line"] - 1 : citation["end_line"]]
        assert result["content"] == "\n".join(cited)
    assert answer.envelope["response"]["apiPath"] == "/retrieve"
    assert capsys.readouterr().out == ""


def test_off_topic_finds_nothing_and_a_filter_finds_only_its_own(endpoint_url):
    with local_action_group(endpoint_url) as group:
        assert group.retrieve("how long do I boil eggs").body == {
            "results": [],
            "status": "no_match",
        }
        (result,) = group.retrieve("RDS failover", document_type="postmortem").body["results"]
    assert result["metadata"]["incident_id"] == "INC-2024-001"


def test_a_bad_request_is_a_4xx_and_a_direct_call_gets_the_bare_body(endpoint_url):
    with local_action_group(endpoint_url) as group:
        refused = group.retrieve("  ")
        direct = group.invoke({"query": "RDS failover", "max_results": 20})
        blank = group.invoke({"query": ""})
    assert (refused.status_code, refused.body) == (400, {"error": "query is blank"})
    assert (direct.status_code, direct.body["status"]) == (200, "ok")
    assert blank.status_code == 400


def test_the_users_own_environment_is_neither_used_nor_changed(endpoint_url, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", "http://127.0.0.1:9")
    monkeypatch.setenv("KNOWLEDGE_BASE_ID", "PRODUCTION")
    monkeypatch.setenv("GUARDRAIL_ID", "abc")
    monkeypatch.setenv("DEADLINE_SECONDS", "99")
    monkeypatch.setenv("MAX_QUERIES_PER_TURN", "many")
    monkeypatch.setenv("LOG_QUERY_TEXT", "true")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "example.com")
    before = dict(os.environ)
    with local_action_group(endpoint_url) as group:
        assert group.retrieve("RDS failover").body["status"] == "ok"
    assert dict(os.environ) == before


def test_a_server_that_is_gone_is_an_honest_degraded(knowledge_base):
    with LocalBedrock(knowledge_base) as bedrock:
        pass
    with local_action_group(bedrock.endpoint_url) as group:
        answer = group.retrieve("RDS failover")
    assert (answer.status_code, answer.body["status"], answer.body["results"]) == (
        200,
        "degraded",
        [],
    )


EVENT = agent_event({"query": "RDS failover"})


@pytest.fixture
def function():
    function = FunctionProcess(PATIENT_SECONDS)
    yield function
    function.close()


def status(answer):
    return json.loads(answer["response"]["responseBody"]["application/json"]["body"])["status"]


def test_it_answers_whatever_the_environment_says_and_again_after_one_that_was_late(
    function, knowledge_base, monkeypatch, capfd
):
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    monkeypatch.setenv("KNOWLEDGE_BASE_ID", "PRODUCTION")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    before = dict(os.environ)
    with LocalBedrock(knowledge_base) as bedrock:
        assert status(function.invoke(EVENT, bedrock.endpoint_url)) == "ok"
        first = function.pid
        assert status(function.invoke(EVENT, bedrock.endpoint_url)) == "ok"
        assert function.pid == first
        os.kill(first, signal.SIGINT)  # a Ctrl-C that the whole terminal hears
        assert status(function.invoke(EVENT, bedrock.endpoint_url)) == "ok"
        enough, function._seconds = function._seconds, 0.0
        with pytest.raises(FunctionFailed, match="no answer from the function within 0 s"):
            function.invoke(EVENT, bedrock.endpoint_url)
        function._seconds = enough
        assert function.pid is None
        assert status(function.invoke(EVENT, bedrock.endpoint_url)) == "ok"
        assert function.pid != first
    # the knowledge base is gone, which is an answer too
    assert status(function.invoke(EVENT, bedrock.endpoint_url)) == "degraded"
    assert dict(os.environ) == before
    assert capfd.readouterr() == ("", "")


def test_the_end_does_not_wait_for_a_call(function):
    failures = []

    def call():
        try:
            function.invoke(EVENT, "http://127.0.0.1:9")
        except FunctionFailed as failure:
            failures.append(failure)

    calling = threading.Thread(target=call)
    calling.start()
    while function.pid is None and calling.is_alive():
        time.sleep(0.001)  # it is being started
    function.close()
    calling.join(60)
    assert len(failures) == 1
    with pytest.raises(FunctionFailed, match="the server is stopping"):
        function.invoke(EVENT, "http://127.0.0.1:9")
    assert function.pid is None


def test_other_threads_keep_standard_output(capsys):
    usual = sys.stdout
    inside, written = threading.Event(), threading.Event()

    def work():
        with collected_output() as log:
            sys.stdout.write("log\n")
            inside.set()
            assert written.wait(60)
            sys.stdout.write("more\n")
        collected.append(log.getvalue())

    collected = []
    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(60)
    sys.stdout.write("user\n")
    with collected_output() as mine:
        sys.stdout.write("mine\n")
    written.set()
    thread.join(60)
    assert collected == ["log\nmore\n"]
    assert mine.getvalue() == "mine\n"
    assert capsys.readouterr().out == "user\n"
    assert sys.stdout is usual


def test_a_stream_that_was_put_in_its_place_meanwhile_stays(monkeypatch):
    with collected_output():
        other = sys.stderr
        monkeypatch.setattr(sys, "stdout", other)
    assert sys.stdout is other
