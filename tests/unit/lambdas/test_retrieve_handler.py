import contextlib
import io
import json
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from knowledge_rag.core import telemetry
from knowledge_rag.evaluation.faults.payloads import item, retrieved
from knowledge_rag.evaluation.faults.server import answering, http
from lambdas.retrieve_knowledge import handler, service
from tests.support.fixtures import invoke
from tests.support.patience import PATIENT_SECONDS, patient_function

ROOT = Path(__file__).parents[3]
OK = http(retrieved(item(), None, item(start=40)))
QUERY = "how do we fail over SECRET-DB?"


@pytest.fixture(autouse=True)
def _patient():
    with patient_function():
        yield


def agent_event(**change):
    event = json.loads((ROOT / "tests/events/agent_request_body.json").read_text())
    return event | change


def test_an_agent_s_question_is_answered_with_cited_lines(knowledge_base):
    server = knowledge_base(answering(OK))
    response = invoke(agent_event()).answer["response"]
    body = json.loads(response["responseBody"]["application/json"]["body"])
    assert response["httpStatusCode"] == 200
    assert body["status"] == "ok"
    assert body["results"][0]["citation"] == {
        "source_file": "runbooks/rds-failover.md",
        "start_line": 5,
        "end_line": 6,
        "section_header": "Resolution",
    }
    assert json.loads(server.requests[0][1])["retrievalQuery"] == {"text": "RDS failover steps"}


def test_one_log_line_and_one_metric_record_tell_of_a_call_without_its_text(knowledge_base):
    knowledge_base(answering(OK))
    invocation = invoke({"query": QUERY, "session_id": "s-1", "incident_id": "INC-1"})
    (log,), (metrics,) = invocation.logs, invocation.metrics
    assert log["level"] == "INFO"
    assert (log["results"], log["dropped"]) == (2, {"not_text": 1})
    assert log["query_characters"] == len(QUERY)
    assert log["request_id"].startswith("1111")
    assert (log["session_id"], log["incident_id"]) == ("s-1", "INC-1")
    assert "SECRET-DB" not in invocation.output
    assert "Promote the replica" not in invocation.output
    (directive,) = metrics["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == telemetry.NAMESPACE
    assert directive["Dimensions"] == [["service"]]
    assert metrics["service"] == telemetry.SERVICE
    assert (metrics["session_id"], metrics["incident_id"]) == ("s-1", "INC-1")
    units = {metric["Name"]: metric["Unit"] for metric in directive["Metrics"]}
    assert units.pop(telemetry.RETRIEVAL_LATENCY) == "Milliseconds"
    assert set(units.values()) == {"Count"}
    assert {name: metrics[name] for name in units} == {
        telemetry.RETRIEVAL_COUNT: [1.0],
        telemetry.RETRIEVAL_ERRORS: [0.0],
        telemetry.RETRIEVAL_PERMANENT_ERRORS: [0.0],
        telemetry.RETRIEVAL_TIMEOUTS: [0.0],
        telemetry.RETRIEVAL_GUARDRAIL_INTERVENED: [0.0],
        telemetry.RETRIEVAL_DROPPED_RESULTS: [1.0],
        telemetry.RETRIEVAL_RESULT_COUNT: [2.0],
        telemetry.RETRIEVAL_ZERO_RESULTS: [0.0],
    }
    assert 0 < metrics[telemetry.RETRIEVAL_LATENCY][0] < 1000 * PATIENT_SECONDS


def test_nothing_found_counts_as_a_zero_result_and_not_as_an_error(knowledge_base):
    knowledge_base(answering(http(retrieved())))
    invocation = invoke({"query": QUERY})
    assert invocation.answer == {"results": [], "status": "no_match"}
    (metrics,) = invocation.metrics
    assert metrics[telemetry.RETRIEVAL_ZERO_RESULTS] == [1.0]
    assert metrics[telemetry.RETRIEVAL_ERRORS] == [0.0]


def test_results_that_nothing_proves_degrade(knowledge_base):
    knowledge_base(answering(http(retrieved(item(content_sha256="0" * 64)))))
    invocation = invoke({"query": QUERY})
    assert invocation.answer["reason"] == "unverifiable_results"
    (metrics,) = invocation.metrics
    assert metrics[telemetry.RETRIEVAL_ERRORS] == [1.0]
    assert metrics[telemetry.RETRIEVAL_DROPPED_RESULTS] == [1.0]
    assert telemetry.RETRIEVAL_ZERO_RESULTS not in metrics
    assert invocation.logs[0]["level"] == "ERROR"


def test_a_guardrail_that_intervenes_has_its_own_metric(knowledge_base, aws_environment):
    aws_environment.setenv("GUARDRAIL_ID", "gr1")
    aws_environment.setenv("GUARDRAIL_VERSION", "1")
    server = knowledge_base(answering(http(retrieved(guardrailAction="INTERVENED"))))
    invocation = invoke({"query": QUERY})
    assert invocation.answer["reason"] == "guardrail"
    assert invocation.metrics[0][telemetry.RETRIEVAL_GUARDRAIL_INTERVENED] == [1.0]
    assert json.loads(server.requests[0][1])["guardrailConfiguration"]["guardrailId"] == "gr1"


def test_the_evidence_floor_is_a_setting(knowledge_base, aws_environment):
    aws_environment.setenv("EVIDENCE_FLOOR_HYBRID", "0.6")
    knowledge_base(answering(http(retrieved(item(score=0.5)))))
    assert invoke({"query": QUERY}).answer["status"] == "no_match"


def test_a_refused_request_is_logged_and_calls_and_counts_nothing(knowledge_base):
    server = knowledge_base(answering(OK))
    invocation = invoke({"query": QUERY, "max_results": "five"})
    assert invocation.answer["error"].startswith("max_results must be")
    assert [log["level"] for log in invocation.logs] == ["WARNING"]
    assert not invocation.metrics
    assert server.connections == 0


def test_the_debug_switch_writes_the_text_to_the_log(knowledge_base, aws_environment):
    aws_environment.setenv("LOG_QUERY_TEXT", "true")
    knowledge_base(answering(OK))
    assert invoke({"query": QUERY}).logs[0]["query"] == QUERY


AGENTS = (
    "messageVersion", "apiPath", "httpMethod", "actionGroup", "sessionId", "parameters",
    "requestBody", "sessionAttributes", "promptSessionAttributes",
)  # fmt: skip
DIRECT = ("query", "max_results", "service", "session_id", "other")


@pytest.mark.parametrize("name", [*AGENTS, *DIRECT])
def test_no_event_however_deep_is_an_exception(knowledge_base, name):
    knowledge_base(answering(OK))
    deep = []
    for _ in range(3_000):
        deep = [deep]
    for value in (deep, {"x": deep}, float("nan"), "x\ud800"):
        event = agent_event(**{name: value}) if name in AGENTS else {"query": "x", name: value}
        answer = invoke(event).answer
        json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
        if name in AGENTS:
            assert answer["response"]["httpStatusCode"] in (200, 400, 404, 405)


class TestTurns:
    def test_queries_beyond_the_limit_are_not_carried_out(self, knowledge_base):
        server = knowledge_base(answering(OK))
        event, statuses = agent_event(), []
        for _ in range(5):
            invocation = invoke(event)
            body = invocation.answer["response"]["responseBody"]["application/json"]["body"]
            statuses.append(json.loads(body).get("reason", "ok"))
            event["promptSessionAttributes"] = invocation.answer["promptSessionAttributes"]
        assert statuses == ["ok", "ok", "ok", "query_limit", "query_limit"]
        assert event["promptSessionAttributes"]["knowledgeRagQueries"] == "3"
        assert json.loads(body)["notice"] == handler.QUERY_LIMIT_NOTICE
        assert not invocation.metrics
        assert len(server.requests) == 3

    def test_the_limit_can_be_lifted(self, knowledge_base, aws_environment):
        aws_environment.setenv("MAX_QUERIES_PER_TURN", "0")
        knowledge_base(answering(OK))
        event = agent_event(promptSessionAttributes={"knowledgeRagQueries": "99"})
        attributes = invoke(event).answer["promptSessionAttributes"]
        assert attributes == {"knowledgeRagQueries": "100"}


class TestSettings:
    def test_wrong_ones_degrade_every_call_and_are_named(self, aws_environment):
        aws_environment.setenv("KNOWLEDGE_BASE_ID", "wrong")
        for _ in range(2):
            invocation = invoke({"query": QUERY})
            assert invocation.answer["reason"] == "configuration"
            problems, degraded = invocation.logs
            assert "KNOWLEDGE_BASE_ID='wrong'" in problems["problems"]
            assert degraded["permanent"]
            assert invocation.metrics[0][telemetry.RETRIEVAL_PERMANENT_ERRORS] == [1.0]

    def test_wrong_surroundings_degrade_too(self, aws_environment):
        aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", "https://kb.example")
        aws_environment.setenv("HTTPS_PROXY", "socks5://proxy.example")
        invocation = invoke({"query": QUERY})
        assert invocation.answer["reason"] == "configuration"
        assert "HTTPS_PROXY" in invocation.logs[0]["problems"]

    def test_missing_credentials_degrade(self, knowledge_base, aws_environment):
        aws_environment.delenv("AWS_ACCESS_KEY_ID")
        aws_environment.delenv("AWS_SECRET_ACCESS_KEY")
        knowledge_base(answering(OK))
        invocation = invoke({"query": QUERY})
        assert invocation.answer["reason"] == "access_denied"
        assert invocation.logs[0]["code"] == "NoCredentialsError"

    def test_a_reset_reads_the_environment_anew(self, knowledge_base, aws_environment):
        server = knowledge_base(answering(OK))
        invoke({"query": QUERY})
        aws_environment.setenv("KNOWLEDGE_BASE_ID", "OTHERKB001")
        service.reset()
        invoke({"query": QUERY})
        assert [head.split(b"/")[2] for head, _ in server.requests] == [
            b"TESTKB0001",
            b"OTHERKB001",
        ]


class TestDefects:
    @pytest.fixture
    def defect(self, knowledge_base, monkeypatch):
        def broken(*_):
            raise ZeroDivisionError(f"about {QUERY}")

        knowledge_base(answering(OK))
        monkeypatch.setattr("knowledge_rag.core.retrieval.select", broken)

    @pytest.mark.usefixtures("defect")
    def test_one_degrades_and_is_told_with_where_it_came_from(self):
        invocation = invoke({"query": QUERY})
        assert invocation.answer == {"results": [], "status": "degraded", "reason": "internal"}
        log = invocation.logs[0]
        assert log["error"] == "ZeroDivisionError"
        assert any("test_retrieve_handler" in frame for frame in log["frames"])
        assert "SECRET-DB" not in invocation.output
        assert invocation.metrics[0][telemetry.RETRIEVAL_ERRORS] == [1.0]

    def test_credentials_that_fit_no_header_are_in_no_log(self, knowledge_base, aws_environment):
        knowledge_base(answering(OK))
        aws_environment.setenv("AWS_SESSION_TOKEN", "TOKEN-OF-SOMEBODY\r\nX: y")
        service.reset()
        invocation = invoke({"query": QUERY})
        assert invocation.answer["status"] == "degraded"
        assert "TOKEN-OF-SOMEBODY" not in invocation.output

    @pytest.mark.parametrize("name", ["unread", "recognise"])
    def test_one_in_reading_the_event_degrades_in_the_caller_s_form(
        self, knowledge_base, monkeypatch, name
    ):
        def broken(*_):
            raise RecursionError(f"about {QUERY}")

        knowledge_base(answering(OK))
        if name == "unread":  # it is what the last answer is made with: recognise calls it too
            monkeypatch.setattr("lambdas.retrieve_knowledge.events.unread", broken)
        else:
            monkeypatch.setattr(handler, "recognise", broken)
        invocation = invoke(agent_event())
        response = invocation.answer["response"]
        assert response["apiPath"] == "/retrieve"
        assert json.loads(response["responseBody"]["application/json"]["body"]) == {
            "results": [], "status": "degraded", "reason": "internal",
        }  # fmt: skip
        assert "SECRET-DB" not in invocation.output
        assert invocation.metrics[0][telemetry.RETRIEVAL_ERRORS] == [1.0]

    def test_one_in_the_telling_costs_no_exception(self, knowledge_base, monkeypatch):
        def broken(*_):
            raise ZeroDivisionError

        knowledge_base(answering(OK))
        monkeypatch.setattr("lambdas.retrieve_knowledge.report.answered", broken)
        monkeypatch.setattr("lambdas.retrieve_knowledge.report.defect", broken)
        assert invoke({"query": QUERY}).answer["reason"] == "internal"

    def test_an_output_that_takes_nothing_costs_no_answer(self, knowledge_base, monkeypatch):
        class Full(io.StringIO):
            def write(self, _):
                raise OSError(28, "No space left on device")

        knowledge_base(answering(OK))
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        with contextlib.redirect_stdout(Full()):
            assert handler.lambda_handler({"query": QUERY}, None)["status"] == "ok"

    @pytest.mark.usefixtures("defect")
    def test_one_raises_under_the_debug_setting(self, aws_environment):
        aws_environment.setenv("RAISE_INTERNAL_ERRORS", "true")
        with pytest.raises(ZeroDivisionError):
            invoke({"query": QUERY})


class TestOutput:
    def test_threads_records_do_not_mix(self, knowledge_base, capsys):
        knowledge_base(answering(OK))
        handler.lambda_handler({"query": "x"}, None)
        threads = [
            threading.Thread(
                target=lambda n=n: handler.lambda_handler(
                    {"query": "x", "session_id": f"s{n}"}, None
                )
            )
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        metrics = [record for record in records if "_aws" in record][1:]
        assert sorted(record["session_id"] for record in metrics) == [f"s{n}" for n in range(8)]
        assert all(record[telemetry.RETRIEVAL_COUNT] == [1.0] for record in metrics)

    def test_a_call_is_traced(self, knowledge_base, aws_environment):
        import socket

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
            daemon.bind(("127.0.0.1", 0))
            daemon.settimeout(1)
            host, port = daemon.getsockname()
            aws_environment.setenv("AWS_XRAY_DAEMON_ADDRESS", f"{host}:{port}")
            aws_environment.setenv("_X_AMZN_TRACE_ID", "Root=1-a-b;Parent=c;Sampled=1")
            knowledge_base(answering(OK))
            invoke({"query": QUERY})
            datagram = daemon.recv(65536)
        assert b'"name": "Retrieve"' in datagram
        assert b"SECRET" not in datagram


class TestImport:
    """In a process of its own, as Lambda starts it."""

    def run(self, code, **environ):
        path = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env={**path, **environ},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    @pytest.mark.parametrize("knowledge_base_id", ["", "TESTKB0001"])
    def test_it_never_fails_and_makes_the_client_only_in_lambda(self, knowledge_base_id):
        code = (
            "from lambdas.retrieve_knowledge import handler, service;"
            "print(int(service._making is not None)); service.reset()"
        )
        environ = {"KNOWLEDGE_BASE_ID": knowledge_base_id, "AWS_REGION": "eu-west-1"}
        result = self.run(code, **environ)
        assert (result.stdout, result.stderr) == ("0\n", "")
        result = self.run(code, **environ, AWS_LAMBDA_INITIALIZATION_TYPE="on-demand")
        assert (result.stdout, result.stderr) == (f"{int(bool(knowledge_base_id))}\n", "")

    @pytest.mark.parametrize(
        ("environ", "printed"),
        [({}, "True True 0\n"), ({"AWS_LAMBDA_INITIALIZATION_TYPE": "x"}, "False True 1\n")],
    )
    def test_it_collects_no_garbage_in_lambda_until_it_is_initialised(self, environ, printed):
        code = (
            "import gc; import lambdas.retrieve_knowledge; print(gc.isenabled(), end=' ');"
            "import lambdas.retrieve_knowledge.handler;"
            "print(gc.isenabled(), int(gc.get_freeze_count() > 10_000))"
        )
        assert self.run(code, **environ).stdout == printed

    def test_it_takes_nothing_that_a_lean_package_lacks(self):
        result = self.run(
            "import sys; import lambdas.retrieve_knowledge.handler;"
            "print(*sorted(m for m in sys.modules if m.split('.')[0] in"
            " ('boto3', 'pydantic', 'aws_xray_sdk', 'numpy')"
            " or m.startswith(('knowledge_rag.core.chunking', 'knowledge_rag.core.markdown',"
            " 'aws_lambda_powertools.event_handler', 'knowledge_rag.local'))))"
        )
        assert (result.stdout.strip(), result.stderr) == ("", "")


def test_lambda_s_own_context_will_do(knowledge_base):
    knowledge_base(answering(OK))
    context = SimpleNamespace(aws_request_id="r", client_context=None, function_name="f")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert invoke({"query": "x"}, context).answer["status"] == "ok"
