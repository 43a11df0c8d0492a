"""``ask``, ``mcp`` and ``serve`` against a deployment, as users with an account run them.

The function is the real one, on the sample knowledge base; every other service is a server on loopback
that an unmodified boto3 talks to.
"""

from __future__ import annotations

import json
import signal

import httpx
import pytest
from mcp import StdioServerParameters

from tests.support.account import account_fixture, moto_fixture  # noqa: F401 - fixtures
from tests.support.cli import COMMAND, SECONDS, assert_one_line, assert_verbatim, lines_of
from tests.support.deployed import (  # noqa: F401 - fixtures
    ALIAS,
    NAME,
    deployment_fixture,
    function_fixture,
)
from tests.support.local import CORPUS
from tests.support.mcp_gateway import TOKEN
from tests.support.mcp_served import talking
from tests.unit.console.pages import assert_inert
from tests.unit.orchestrator.schema import VALIDATOR

QUESTION = "How do we fail over the RDS cluster?"


def ways(deployment):
    return {
        "stack": ("--stack", NAME),
        "function": ("--function", ALIAS),
        "gateway": ("--gateway", deployment.gateway.url),  # which wants a token
    }


TRIES = 30
"""Of a machine that others use, too: an answer that is late is late each time, or it was not the function."""


def answered(cli, *arguments, **environment):
    """Ask until the function was quick enough, which a busy machine may not let it be."""
    for _ in range(TRIES):
        ran = cli("ask", QUESTION, *arguments, **environment)
        if ran.code != 3:
            break
    return ran


def found_by(talk):
    """Search until the function was quick enough."""
    for _ in range(TRIES):
        found = talk.tool("retrieve_knowledge", query=QUESTION)
        if found.structured_content.get("reason") != "timeout":
            break
    return found


@pytest.mark.parametrize("way", ["stack", "function", "gateway"])
def test_steps_come_from_what_is_deployed(cli, account, deployment, way):
    deployment.gateway.wants_token = True
    variables = {**account.environment, "KNOWLEDGE_RAG_GATEWAY_TOKEN": TOKEN}
    ran = answered(cli, *ways(deployment)[way], "--json", **variables)
    assert ran.code == 0, ran.err
    output = ran.json["agent_outputs"]["knowledge-rag"]
    VALIDATOR.validate(output)
    cited = output["recommendation"]["guidance"][0]["citation"]
    assert cited["source_file"] == "runbooks/rds-failover.md"


@pytest.mark.usefixtures("deployment")
def test_the_agent_of_a_deployment_needs_no_name(cli, account):
    ran = answered(cli, "--stack", NAME, "--advisor", "agent", **account.environment)
    # it says nothing that cites, so lines of what it found stand in its place
    assert ran.code == 0, ran.err
    assert "aws rds failover-db-cluster" in ran.out
    assert "bedrock-agent-runtime:InvokeAgent" in account.played.calls


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--stack", "nowhere-dev"), ["no stack nowhere-dev-service", "--stack"]),
        (("--stack", "No Such"), ["a deployment's name has"]),
        (("--stack", NAME, "--function", "f"), ["--stack and --function", "choose one"]),
        (("--stack", NAME, "--kb", "x.kb"), ["--kb is for a knowledge base on this machine"]),
        (("--stack", NAME, "--search", "hybrid"), ["its own setting"]),
        (("--function", "no such"), ["neither a name nor an ARN"]),
        (("--gateway", "http://example.com/mcp"), ["https"]),
    ],
)
def test_what_can_t_be_asked_is_said_in_one_line(cli, account, arguments, parts):
    ran = cli("ask", QUESTION, *arguments, **account.environment)
    assert (ran.code, ran.out) == (2, "")
    assert_one_line(ran.err, *parts)


def test_what_is_deployed_and_can_t_be_reached_is_degraded(cli, account):
    environment = {**account.environment, "AWS_ENDPOINT_URL_LAMBDA": "http://127.0.0.1:9"}
    ran = cli("ask", QUESTION, "--function", ALIAS, **environment)
    assert ran.code == 3
    assert "could not be reached" in ran.out


def mcp_server(cli, account, programs, *options):
    environment = cli._environment | account.environment
    command = str(programs / COMMAND.name)
    return StdioServerParameters(command=command, args=["mcp", *options], env=environment)


@pytest.mark.usefixtures("deployment")
def test_mcp_clients_search_a_deployment_and_read_its_bucket(cli, account, programs):
    with talking(mcp_server(cli, account, programs, "--stack", NAME)) as talk:
        result = found_by(talk)
        assert_verbatim(result.structured_content["results"])
        links = [one for one in result.content if one.type == "resource_link"]
        (read,) = talk.read_resource(links[0].uri).contents
        assert read.text == result.structured_content["results"][0]["content"]
        listed = {one.name for one in talk.list_resources().resources}
        assert listed == {p.relative_to(CORPUS).as_posix() for p in CORPUS.rglob("*.md")}


@pytest.mark.usefixtures("deployment")
def test_mcp_without_a_bucket_has_no_resources(cli, account, programs):
    with talking(mcp_server(cli, account, programs, "--function", ALIAS)) as talk:
        result = found_by(talk)
        assert json.loads(json.dumps(result.structured_content))["status"] == "ok"
        assert not [one for one in result.content if one.type == "resource_link"]


@pytest.fixture
def console(cli, account, deployment):  # noqa: ARG001 - which the environment leads to
    cli._environment |= account.environment
    with cli.started("serve", "--stack", NAME, "--console-port", "0", "--json") as process:
        yield json.loads(process.stdout.readline())["console_url"]
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0


def asked(url, **more):
    """Ask the console until the function was quick enough."""
    for _ in range(TRIES):
        body = {"question": QUESTION, **more}
        text = httpx.post(f"{url}api/ask", json=body, timeout=SECONDS).text
        data = [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ")]
        if data[-1]["recommendation"].get("reason") != "timeout":
            break
    return data


def test_an_answer_and_its_lines_come_from_what_is_deployed_and_newer_ones_are_told(
    console, deployment
):
    about = httpx.get(f"{console}api/console", timeout=SECONDS).json()
    assert about["about"] == f"{NAME} in us-east-1"
    assert about["advisors"] == ["extractive", "agent"]
    data = asked(console)
    assert data[-1]["recommendation"]["status"] == "ok"
    blocks = "".join(one["html"] for one in data if "html" in one)
    cites = assert_inert(blocks, cites=None).cites
    assert cites
    source, _, lines = cites[0]["href"].removeprefix("/doc/").partition("#")
    shown = httpx.get(
        f"{console}api/document", params={"source": source, "lines": lines}, timeout=SECONDS
    ).json()
    (one,) = shown["ranges"]
    cited = "\n".join(shown["lines"][one["start"] - 1 : one["end"]])
    assert cited == lines_of(CORPUS / source, one["start"], one["end"])
    assert "stale" not in one

    (sources,) = (one["sources"] for one in data if isinstance(one.get("sources"), list))
    cited = sources[0]["citation"]
    path = cited["source_file"]
    newer = "# A new first section\n\nRead this before anything else.\n\n"
    deployment.replace(path, newer.encode() + (CORPUS / path).read_bytes())
    lines = f"{cited['start_line']}-{cited['end_line']}"
    shown = httpx.get(
        f"{console}api/document", params={"source": path, "lines": lines}, timeout=SECONDS
    ).json()
    stale = shown["ranges"][0]["stale"]
    assert stale["state"] == "moved"
