"""``knowledge-rag smoke`` as a user runs it, against a deployment on this machine.

The function is the real one, on the sample knowledge base; every other service is a server on loopback
that an unmodified boto3 talks to.
"""

from __future__ import annotations

import pytest

from tests.support.account import account_fixture, moto_fixture  # noqa: F401 - fixtures
from tests.support.cli import assert_one_line
from tests.support.deployed import NAME, Deployment, function_fixture  # noqa: F401 - a fixture
from tests.support.event_stream import failure, stream
from tests.support.handbook import shown
from tests.support.ingestion import ended
from tests.support.mcp_gateway import TOKEN
from tests.support.played_aws import DENIED, Fault


@pytest.fixture
def deployment(account, function):
    made = Deployment(account, function)
    yield made
    made.close()


@pytest.fixture
def smoke(cli, account):
    """Run the command with the account as it is then."""

    def run(*arguments, **variables):
        return cli("smoke", "--name", NAME, *arguments, **{**account.environment, **variables})

    return run


def verdicts(ran):
    return {each["promise"]: each["verdict"] for each in ran.json["promises"]}


def line_of(ran, promise):
    (line,) = [each for each in ran.out.splitlines() if each[10:].startswith(promise)]
    return line


def test_a_sound_deployment_keeps_every_promise(smoke, deployment):
    deployment.make()
    ran = smoke()
    assert ran.code == 0, ran.out + ran.err
    assert line_of(ran, "latency").startswith("kept")
    told, in_handbook = ran.out, shown(f"knowledge-rag smoke --name {NAME}")
    assert without_times(told) == without_times(in_handbook)


def without_times(text):
    return [each for each in text.splitlines() if "latency" not in each]


def test_a_file_that_changed_in_the_bucket_is_told_with_its_lines(smoke, deployment):
    deployment.make()
    deployment.replace("runbooks/rds-failover.md", b"# Another version\n")
    ran = smoke("--json")
    assert ran.code == 1
    assert verdicts(ran)["citations"] == "broken"
    (told,) = [each for each in ran.json["promises"] if each["promise"] == "citations"]
    assert "[Source: runbooks/rds-failover.md, lines " in told["detail"]
    assert "Ingest again" in told["action"]
    assert ran.json["citations"]["changed"] > 0


HARNESS = "arn:aws:bedrock-agentcore:us-east-1:123456789012:harness/knowledge_rag_dev-0123456789"


def test_a_harness_is_asked_two_questions_and_its_citations_are_compared(smoke, deployment):
    deployment.make(HarnessArn=HARNESS)
    ran = smoke("--json")
    assert ran.code == 0, ran.out + ran.err
    assert ran.json["ways"]["harness"]["statuses"] == {"ok": 2}
    assert verdicts(ran)["harness"] == "kept"
    assert ran.json["citations"] == {"exact": 150}


def test_a_harness_that_may_not_be_asked_is_told_with_the_permission(smoke, deployment, account):
    deployment.make(HarnessArn=HARNESS)
    account.played.play("bedrock-agentcore", "InvokeHarness", DENIED)
    ran = smoke()
    assert ran.code == 1
    assert "missing permission bedrock-agentcore:InvokeHarness" in line_of(ran, "harness")


def test_without_a_floor_one_is_proposed_that_parts_the_questions(smoke, deployment, monkeypatch):
    from lambdas.retrieve_knowledge.service import reset

    for kind in ("HYBRID", "SEMANTIC"):
        monkeypatch.delenv(f"EVIDENCE_FLOOR_{kind}")
    reset()
    deployment.make()
    ran = smoke("--json")
    monkeypatch.undo()
    reset()
    assert ran.code == 0, ran.out
    floor = ran.json["floor"]
    assert floor["in_use"] == {"lost": 0.0, "rejected": 0.0, "on_topic": 20, "off_topic": 10}
    assert floor["would"]["rejected"] >= 0.9
    assert floor["would"]["lost"] <= 0.05
    assert verdicts(ran)["evidence floor"] == "note"


def test_a_deployment_that_is_not_there_is_bad_input(smoke):
    ran = smoke()
    assert ran.code == 2
    assert_one_line(ran.err, f"no stack {NAME}-data", "--region")


def test_half_a_deployment_breaks_a_promise_and_the_half_is_tried(smoke, deployment):
    deployment.make("data")
    ran = smoke()
    assert ran.code == 1
    assert f"{NAME}-service is missing" in ran.out
    assert line_of(ran, "ingestion").startswith("kept")


def test_an_ingestion_that_failed_is_told_with_its_reasons(smoke, deployment):
    deployment.make()
    failed = ended("FAILED", "chunk_documents timed out", new=3, failed=2)
    deployment.ingestion.jobs["JOB0000001"] = [failed]
    ran = smoke()
    assert ran.code == 1
    assert "the last job is FAILED: 5 documents, 2 failed; chunk_documents" in ran.out
    assert "start-ingestion-job" in ran.out


def test_an_ingestion_that_still_runs_is_no_broken_promise(smoke, deployment):
    deployment.make()
    deployment.ingestion.jobs["JOB0000001"] = ["IN_PROGRESS"]
    assert smoke().code == 3


def test_a_dead_gateway_breaks_a_promise_and_the_other_ways_go_on(smoke, deployment):
    deployment.make(GatewayUrl="http://127.0.0.1:9/mcp")
    ran = smoke("--json")
    assert ran.code == 1
    assert verdicts(ran)["gateway"] == "broken"
    assert verdicts(ran)["function"] == verdicts(ran)["agent"] == "kept"


@pytest.mark.parametrize(
    ("kind", "code", "verdict"),
    [("dependencyFailedException", 1, "broken"), ("throttlingException", 3, "degraded")],
)
def test_an_error_within_the_agents_stream_is_told(smoke, deployment, kind, code, verdict):
    deployment.make()
    answer = stream(failure(kind, "the action group failed"))
    deployment.account.played.play("bedrock-agent-runtime", "InvokeAgent", answer)
    ran = smoke("--json")
    assert ran.code == code
    assert verdicts(ran)["agent"] == verdict
    assert verdicts(ran)["function"] == "kept"


def test_a_function_that_can_not_search_is_degraded(smoke, deployment, account):
    deployment.make()
    body = {"results": [], "status": "degraded", "reason": "access_denied"}
    account.played.play("lambda", "Invoke", lambda *_: body)
    ran = smoke()
    assert ran.code == 3
    assert "30 degraded: access_denied 30 times" in line_of(ran, "function")


def test_a_bucket_that_may_not_be_read_leaves_the_citations_unknown(smoke, deployment, account):
    deployment.make()
    account.refuse("s3", "GetObject", Fault("AccessDenied", "no", 403))
    ran = smoke()
    assert ran.code == 3
    assert line_of(ran, "citations").startswith("unknown")
    assert "missing permission s3:GetObject" in line_of(ran, "citations")


def test_a_gateway_of_another_issuer_wants_its_token(smoke, deployment, tmp_path):
    deployment.make()
    deployment.gateway.wants_token = True
    refused = smoke()
    assert refused.code == 1
    assert "--token-file" in line_of(refused, "gateway")
    token = tmp_path / "token"
    token.write_text(TOKEN + "\n")
    assert smoke("--token-file", token).code == 0
    assert smoke(KNOWLEDGE_RAG_GATEWAY_TOKEN=TOKEN).code == 0


def test_own_questions_are_asked(smoke, deployment, tmp_path):
    deployment.make()
    own = tmp_path / "own.jsonl"
    own.write_text('{"query": "RDS writer is gone"}\n{"query": "Redis evicts keys"}\n')
    ran = smoke("--questions", own, "--json")
    assert ran.code == 0, ran.out
    assert ran.json["ways"]["function"]["statuses"] == {"ok": 2, "no_match": 10}
    assert "relevance" not in verdicts(ran)


def test_questions_about_documents_that_are_not_there_are_left_out_and_told(
    smoke, deployment, tmp_path
):
    deployment.make()
    own = tmp_path / "own.jsonl"
    own.write_text('{"query": "Redis evicts keys"}\n{"query": "x", "source_file": "gone.md"}\n')
    ran = smoke("--questions", own)
    assert ran.code == 0, ran.out
    assert line_of(ran, "questions").endswith(
        "1 left out, their documents are not in the bucket: gone.md"
    )


def test_shipped_questions_are_not_asked_of_another_corpus(smoke, deployment, tmp_path):
    deployment.make(corpus=tmp_path)
    ran = smoke()
    assert ran.code == 2
    assert_one_line(ran.err, "--questions FILE")


@pytest.mark.parametrize(
    ("variables", "fault", "part"),
    [
        ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, None, "NoCredentialsError"),
        ({}, Fault("ExpiredToken", "it is over", 403), "ExpiredToken"),
        ({}, DENIED, "missing permission cloudformation:DescribeStacks"),
    ],
)
def test_where_nothing_can_be_asked_it_fails_in_one_line(smoke, account, variables, fault, part):
    if fault:
        account.refuse("cloudformation", "DescribeStacks", fault)
    ran = smoke(**variables)
    assert ran.code == 4
    assert_one_line(ran.err, part)


def test_questions_that_are_none_are_bad_input(smoke, tmp_path):
    own = tmp_path / "own.jsonl"
    own.write_text('{"question": "what?"}\n')
    ran = smoke("--questions", own)
    assert ran.code == 2
    assert_one_line(ran.err, "line 1", "query")
