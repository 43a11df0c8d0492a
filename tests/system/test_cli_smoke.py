"""``knowledge-rag smoke`` as a user runs it, against a deployment on this machine.

The function is the real one, on the sample knowledge base; every other service is a server on loopback
that an unmodified boto3 talks to.
"""

from __future__ import annotations

import pytest

from tests.support.account import account_fixture, moto_fixture  # noqa: F401 - fixtures
from tests.support.cli import assert_one_line
from tests.support.deployed import NAME, Deployment, function_fixture  # noqa: F401 - a fixture
from tests.support.handbook import shown
from tests.support.ingestion import ended
from tests.support.mcp_gateway import TOKEN
from tests.support.played_aws import DENIED


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


def line_of(ran, promise):
    (line,) = [each for each in ran.out.splitlines() if each[10:].startswith(promise)]
    return line


@pytest.fixture
def token(deployment, tmp_path):
    """A file with the token that the gateway wants."""
    deployment.gateway.wants_token = True
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    return path


def test_a_sound_deployment_keeps_every_promise(smoke, deployment, token):
    deployment.make()
    ran = smoke("--token-file", token)
    assert ran.code == 0, ran.out + ran.err
    assert line_of(ran, "latency").startswith("kept")
    told, in_handbook = ran.out, shown(f"knowledge-rag smoke --name {NAME}")
    assert without_times(told) == without_times(in_handbook)


def without_times(text):
    return [each for each in text.splitlines() if "latency" not in each]


@pytest.mark.usefixtures("token")
def test_a_changed_file_and_a_gateway_without_its_token_are_told_and_the_other_ways_go_on(
    smoke, deployment
):
    deployment.make()
    deployment.replace("runbooks/rds-failover.md", b"# Another version\n")
    ran = smoke("--json")
    assert ran.code == 1
    told = {each["promise"]: each for each in ran.json["promises"]}
    assert told["citations"]["verdict"] == told["gateway"]["verdict"] == "broken"
    assert told["function"]["verdict"] == told["agent"]["verdict"] == "kept"
    assert "[Source: runbooks/rds-failover.md, lines " in told["citations"]["detail"]
    assert "Ingest again" in told["citations"]["action"]
    assert "--token-file" in str(told["gateway"])
    assert ran.json["citations"]["changed"] > 0


HARNESS = "arn:aws:bedrock-agentcore:us-east-1:123456789012:harness/knowledge_rag_dev-0123456789"


@pytest.mark.usefixtures("token")
def test_own_questions_are_asked_of_a_harness_too_and_those_of_missing_documents_left_out(
    smoke, deployment, tmp_path
):
    deployment.make(HarnessArn=HARNESS)
    own = tmp_path / "own.jsonl"
    own.write_text(
        '{"query": "RDS writer is gone"}\n{"query": "Redis evicts keys"}\n'
        '{"query": "x", "source_file": "gone.md"}\n'
    )
    ran = smoke("--questions", own, "--json", KNOWLEDGE_RAG_GATEWAY_TOKEN=TOKEN)
    assert ran.code == 0, ran.out
    told = {each["promise"]: each for each in ran.json["promises"]}
    assert ran.json["ways"]["function"]["statuses"] == {"ok": 2, "no_match": 10}
    assert ran.json["ways"]["harness"]["statuses"] == {"ok": 2}
    assert told["harness"]["verdict"] == told["gateway"]["verdict"] == "kept"
    assert ran.json["citations"].keys() == {"exact"}
    assert "relevance" not in told
    assert told["questions"]["detail"].endswith(
        "1 left out, their documents are not in the bucket: gone.md"
    )


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
    (told,) = (each for each in ran.json["promises"] if each["promise"] == "evidence floor")
    assert told["verdict"] == "note"


def test_half_a_deployment_breaks_a_promise_and_the_half_is_tried(smoke, deployment):
    deployment.make("data")
    failed = ended("FAILED", "chunk_documents timed out", new=3, failed=2)
    deployment.ingestion.jobs["JOB0000001"] = [failed]
    ran = smoke()
    assert ran.code == 1
    assert f"{NAME}-service is missing" in ran.out
    assert "the last job is FAILED: 5 documents, 2 failed; chunk_documents" in ran.out
    assert "start-ingestion-job" in ran.out


def test_a_function_that_can_not_search_is_degraded(smoke, deployment, account):
    deployment.make()
    body = {"results": [], "status": "degraded", "reason": "access_denied"}
    account.played.play("lambda", "Invoke", lambda *_: body)
    ran = smoke()
    assert ran.code == 3
    assert "30 degraded: access_denied 30 times" in line_of(ran, "function")


def test_shipped_questions_are_not_asked_of_another_corpus(smoke, deployment, tmp_path):
    deployment.make(corpus=tmp_path)
    ran = smoke()
    assert ran.code == 2
    assert_one_line(ran.err, "--questions FILE")


def test_where_nothing_can_be_asked_it_fails_in_one_line(smoke, account):
    ran = smoke()
    assert ran.code == 2
    assert_one_line(ran.err, f"no stack {NAME}-data", "--region")
    account.refuse("cloudformation", "DescribeStacks", DENIED)
    ran = smoke()
    assert ran.code == 4
    assert_one_line(ran.err, "missing permission cloudformation:DescribeStacks")
