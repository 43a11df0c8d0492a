import json
import socket
import time

import pytest

from knowledge_rag.core.errors import RetrievalFailed
from knowledge_rag.core.outcome import Reason
from lambdas.retrieve_knowledge.report import subsegment

TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1;Lineage=a:0"


@pytest.fixture
def daemon():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(1)
        yield sock


def environ(daemon, trace=TRACE, form="{0}:{1}"):
    return {
        "_X_AMZN_TRACE_ID": trace,
        "AWS_XRAY_DAEMON_ADDRESS": form.format(*daemon.getsockname()),
    }


def received(daemon):
    header, document = daemon.recv(65536).split(b"\n", 1)
    assert json.loads(header) == {"format": "json", "version": 1}
    return json.loads(document)


@pytest.mark.parametrize("form", ["{0}:{1}", "tcp:127.0.0.1:9 udp:{0}:{1}"])
def test_a_call_is_one_subsegment_of_the_function_s_trace(daemon, form):
    before = time.time()
    with subsegment("Retrieve", "eu-west-1", environ(daemon, form=form)) as span:
        span.request_id = "id-1"
    document = received(daemon)
    assert before <= document.pop("start_time") <= document.pop("end_time") <= time.time()
    assert len(bytes.fromhex(document.pop("id"))) == 8
    assert document == {
        "name": "Retrieve",
        "trace_id": "1-5759e988-bd862e3fe1be46a994272793",
        "parent_id": "53995c3f42cd8ad8",
        "type": "subsegment",
        "namespace": "aws",
        "aws": {"operation": "Retrieve", "region": "eu-west-1", "request_id": "id-1"},
    }


@pytest.mark.parametrize(
    ("reason", "permanent", "flags"),
    [
        (Reason.THROTTLED, False, {"error": True, "throttle": True}),
        (Reason.ACCESS_DENIED, True, {"error": True}),
        (Reason.TIMEOUT, False, {"fault": True}),
    ],
)
def test_a_failure_is_marked_and_goes_on(daemon, reason, permanent, flags):
    failure = RetrievalFailed(reason, code="X", request_id="id-2", permanent=permanent)
    with pytest.raises(RetrievalFailed), subsegment("Retrieve", "eu-west-1", environ(daemon)):
        raise failure
    document = received(daemon)
    assert {key: document[key] for key in flags} == flags
    assert document["aws"]["request_id"] == "id-2"


@pytest.mark.parametrize(
    "trace", ["", TRACE.replace("Sampled=1", "Sampled=0"), "Root=1-2", "garbage;;=;Sampled=1"]
)
def test_a_trace_that_is_not_sampled_costs_nothing(daemon, trace):
    with subsegment("Retrieve", "eu-west-1", environ(daemon, trace)):
        pass
    daemon.settimeout(0.05)
    with pytest.raises(TimeoutError):
        daemon.recv(1)


@pytest.mark.parametrize(
    "address", ["", "127.0.0.1", "no-address:2000", "127.0.0.1:no-port", ":", "a..b:2000"]
)
def test_a_daemon_that_is_not_there_is_no_failure(address):
    with subsegment(
        "Retrieve", "x", {"_X_AMZN_TRACE_ID": TRACE, "AWS_XRAY_DAEMON_ADDRESS": address}
    ):
        pass
