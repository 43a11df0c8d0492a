"""Five hundred faults leave nothing behind: no thread, no descriptor, no memory, no connection.

The service is a process of its own, so that what is counted here is the function's alone.
"""

import gc
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.speed.server import FAULT_MARK, FAULTS, bench_server, results_for
from knowledge_rag.core.net.transport import MAX_IDLE_CONNECTIONS
from lambdas.retrieve_knowledge.handler import lambda_handler
from lambdas.retrieve_knowledge.service import service

CALLS, ROUND, THREADS = 560, 80, 16
HEALTHY_EVERY = 10
DESCRIPTORS = Path("/proc/self/fd")

pytestmark = pytest.mark.skipif(not DESCRIPTORS.is_dir(), reason="needs Linux's /proc to count")


@pytest.fixture(autouse=True)
def _service(aws_environment):
    with bench_server("derived") as url:
        aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", url)
        aws_environment.setenv("DEADLINE_SECONDS", "1.0")
        service()  # as Lambda's initialisation does: making the client is no part of a call
        yield


def test_five_hundred_faults_leave_nothing_behind_and_every_healthy_call_between_succeeds():
    assert_healthy("warm up")
    before = counted()
    during = []
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(one_call, range(ROUND)))  # what the threads themselves take
        memory = megabytes()
        for first in range(0, CALLS, ROUND):
            during += pool.map(one_call, range(first, first + ROUND))
    assert max(descriptors for descriptors, _ in during) <= before[0] + 2 * THREADS + 4
    assert max(threads for _, threads in during) <= before[1] + THREADS
    descriptors, threads = counted()
    assert descriptors <= before[0] + MAX_IDLE_CONNECTIONS
    assert threads <= before[1]
    assert megabytes() - memory < 3
    assert_healthy("the next one")


def test_a_given_up_call_s_connection_is_never_used_again():
    for fault in ("silent", "dripping", "truncated"):
        assert_healthy("before")
        assert len(service().client.transport._idle) == 1
        assert_degraded(f"{FAULT_MARK}{fault}")
        assert service().client.transport._idle == []
    assert_healthy("after")


def one_call(number):
    fault = FAULTS[number % len(FAULTS)]
    if number % HEALTHY_EVERY:
        assert_degraded(f"alarm {number}? {FAULT_MARK}{fault}")
    else:
        assert_healthy(f"alarm {number}?")
    return counted()


def assert_degraded(question):
    answer = lambda_handler({"query": question}, None)
    assert (answer["status"], answer["results"]) == ("degraded", [])


TRIES = 30
"""Of a machine that others use, too: a healthy call that is late is late each time, or it was not the call."""


def assert_healthy(question):
    for _ in range(TRIES):
        answer = lambda_handler({"query": question}, None)
        if answer.get("reason") != "timeout":
            break
    expected = [(chunk.citation.to_dict(), chunk.content) for chunk in results_for(question, 2)]
    assert [(r["citation"], r["content"]) for r in answer.get("results", ())] == expected, answer


def counted():
    return len(list(DESCRIPTORS.iterdir())), threading.active_count()


def megabytes():
    gc.collect()
    # without the pages of files, which come and go as the machine likes
    resident, of_files = map(int, Path("/proc/self/statm").read_text().split()[1:3])
    return (resident - of_files) * os.sysconf("SC_PAGE_SIZE") / 1e6
