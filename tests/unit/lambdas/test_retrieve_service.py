import json
import threading

import pytest

from knowledge_rag.core.errors import DeadlineExceeded, InvalidSettings
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.evaluation.faults.server import answering, http, serving
from lambdas.retrieve_knowledge.service import reset, service
from tests.support.fixtures import ENVIRONMENT, invoke

KEYS = {
    "AccessKeyId": "testing",
    "SecretAccessKey": "testing",
    "Token": "testing",
    "Expiration": "2099-01-01T00:00:00Z",
}


@pytest.fixture
def container(monkeypatch):
    """The function in surroundings whose credentials come from an address."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    # botocore asks anew after two seconds, which may pass on a busy machine
    monkeypatch.setattr("botocore.utils.ContainerMetadataFetcher.TIMEOUT_SECONDS", 60)
    reset()
    yield lambda url: monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url)
    reset()


def test_first_credentials_that_come_late_serve_the_next_call(container):
    asked = threading.Event()

    def late(sock, server):
        server.read_request(sock)
        asked.wait(60)
        sock.sendall(http(json.dumps(KEYS)))

    with serving(late) as source:
        container(source.url)
        for _ in range(2):
            with pytest.raises(DeadlineExceeded):
                service(Deadline.after(0.1))
        asked.set()
        made = service(Deadline.after(60))
        assert service() is made
        assert source.connections == 1


def test_a_source_of_credentials_that_is_silent_costs_a_query_no_more_than_its_time(container):
    release = threading.Event()
    with serving(lambda _sock, _server: release.wait(60)) as source:
        container(source.url)
        invocation = invoke({"query": "how?"})
        release.set()
    assert (invocation.answer["status"], invocation.answer["reason"]) == ("degraded", "timeout")
    assert invocation.logs[-1]["code"] == "DeadlineExceeded"


def test_a_failure_is_not_kept(container, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "absent")
    with pytest.raises(InvalidSettings, match="absent"):
        service(Deadline.after(60))
    monkeypatch.delenv("AWS_PROFILE")
    with serving(answering(http(json.dumps(KEYS)))) as source:
        container(source.url)
        assert service(Deadline.after(60)).settings.region == "us-east-1"
