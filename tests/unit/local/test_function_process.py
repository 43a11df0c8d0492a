"""The function in a process of its own: it answers, and whatever becomes of it, the next call does."""

from __future__ import annotations

import json
import os
import signal
import threading

import pytest

from knowledge_rag.local.action_group import (
    FUNCTION_SECONDS,
    FunctionFailed,
    FunctionProcess,
    agent_event,
)
from knowledge_rag.local.bedrock.server import LocalBedrock

EVENT = agent_event({"query": "RDS failover"})


@pytest.fixture
def function():
    function = FunctionProcess()
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
        function._seconds = 0.0
        with pytest.raises(FunctionFailed, match="no answer of the function within 0 s"):
            function.invoke(EVENT, bedrock.endpoint_url)
        function._seconds = FUNCTION_SECONDS
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
        pass  # it is being started
    function.close()
    calling.join(10)
    assert len(failures) == 1
    with pytest.raises(FunctionFailed, match="the server is stopping"):
        function.invoke(EVENT, "http://127.0.0.1:9")
    assert function.pid is None
