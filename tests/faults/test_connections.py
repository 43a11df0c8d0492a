"""What a freeze leaves behind: the function is stopped between calls, as Lambda does, and goes on."""

import datetime as dt
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from knowledge_rag.evaluation.faults.payloads import item, retrieved
from knowledge_rag.evaluation.faults.scenario import Scenario
from knowledge_rag.evaluation.faults.server import answering, http
from tests.support.cli import eventually
from tests.support.local import PROJECT

FUNCTION = """
import json, sys
from lambdas.retrieve_knowledge.handler import lambda_handler
from lambdas.retrieve_knowledge.service import service
service()
for line in sys.stdin:
    answer = lambda_handler(json.loads(line), None)
    print("answer", json.dumps(answer), flush=True)
"""
OLD, NEW = item("What was true before."), item("What is true now.", start=40)
SECONDS = 60

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(),
    reason="needs Linux's /proc to see that a process is stopped",
)


class Function:
    """The function in a process of its own."""

    def __init__(self, environment):
        path = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", FUNCTION],
            env=path | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self):
        self._process.stdin.write(b'{"query": "what is true?"}\n')
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(b"answer "):
                return json.loads(line.removeprefix(b"answer "))
        pytest.fail("the function died")

    def freeze(self):
        self._process.send_signal(signal.SIGSTOP)
        eventually(lambda: self._state() == "T", "the process is stopped")

    def thaw(self):
        self._process.send_signal(signal.SIGCONT)

    def close(self):
        self._process.kill()
        self._process.communicate(timeout=SECONDS)

    def _state(self):
        return Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(") ")[2][0]


@pytest.fixture
def stage(tmp_path):
    with Scenario(tmp_path) as stage:
        yield stage


@pytest.fixture
def function(stage):
    """Start the function on the stage as it is by then."""
    functions = []

    def start(**environment):
        functions.append(Function(stage.environment | environment))
        return functions[-1]

    yield start
    for each in functions:
        each.close()


def said(answer):
    return [result["content"] for result in answer["results"]]


def test_a_connection_that_died_meanwhile_costs_nothing(stage, function):
    frozen, closed = threading.Event(), threading.Event()

    def closes_while_frozen(sock, server):
        server.read_request(sock)
        sock.sendall(http(retrieved(OLD)))
        frozen.wait(SECONDS)
        sock.close()
        closed.set()

    server = stage.serve(closes_while_frozen, then=answering(http(retrieved(NEW))))
    asked = function()
    assert said(asked.ask()) == ["What was true before."]
    asked.freeze()
    frozen.set()
    assert closed.wait(SECONDS)
    asked.thaw()
    assert said(asked.ask()) == ["What is true now."]
    assert server.connections == 2


def test_an_answer_that_came_too_late_is_never_the_answer_to_a_later_question(stage, function):
    frozen, sent = threading.Event(), threading.Event()

    def answers_while_frozen(sock, server):
        server.read_request(sock)
        frozen.wait(SECONDS)
        try:
            sock.sendall(http(retrieved(OLD)))
        finally:
            sent.set()

    stage.serve(answers_while_frozen, then=answering(http(retrieved(NEW))))
    asked = function(DEADLINE_SECONDS="0.5")
    assert asked.ask()["reason"] == "timeout"
    asked.freeze()
    frozen.set()
    assert sent.wait(SECONDS)
    asked.thaw()
    assert said(asked.ask()) == ["What is true now."]


def test_credentials_that_were_renewed_meanwhile_are_used(stage, function, tmp_path):
    stage.serve(answering(http(retrieved(NEW))))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        del stage.environment[name]
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(credentials("OLDKEY", minutes=5))
    script = tmp_path / "credentials.sh"
    script.write_text(
        f'if [ -e "{first}" ]; then cat "{first}"; rm "{first}"; exit; fi\n'
        f'until [ -e "{second}" ]; do sleep 0.05; done\ncat "{second}"\n'
    )
    config = tmp_path / "config"
    config.write_text(f"[default]\ncredential_process = sh {script}\n")
    asked = function(AWS_CONFIG_FILE=str(config), DEADLINE_SECONDS="0.5")
    assert asked.ask()["reason"] == "timeout"
    asked.freeze()
    partial = tmp_path / "partial.json"
    partial.write_text(credentials("NEWKEY", minutes=600))
    partial.rename(second)
    asked.thaw()
    eventually(lambda: asked.ask()["status"] == "ok", "the function has credentials")
    head, _ = stage.server.requests[-1]
    assert b"Credential=NEWKEY/" in head


def credentials(key, *, minutes):
    expiration = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=minutes)
    return json.dumps(
        {
            "Version": 1,
            "AccessKeyId": key,
            "SecretAccessKey": "secret",
            "SessionToken": "token",
            "Expiration": expiration.isoformat(),
        }
    )
