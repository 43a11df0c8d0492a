"""The console of a deployment, as a user with an account starts it."""

from __future__ import annotations

import json
import signal

import httpx
import pytest

from tests.support.account import account_fixture, moto_fixture  # noqa: F401 - fixtures
from tests.support.cli import SECONDS, lines_of
from tests.support.deployed import (  # noqa: F401 - fixtures
    NAME,
    deployment_fixture,
    function_fixture,
)
from tests.support.local import CORPUS
from tests.unit.console.pages import assert_inert

QUESTION = "How do we fail over the RDS cluster?"


@pytest.fixture
def console(cli, account, deployment):  # noqa: ARG001 - which the environment leads to
    cli._environment |= account.environment
    with cli.started("serve", "--stack", NAME, "--console-port", "0", "--json") as process:
        yield json.loads(process.stdout.readline())["console_url"]
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0


def asked(url, **more):
    """Ask until the function was quick enough, which a busy machine may not let it be."""
    while True:
        body = {"question": QUESTION, **more}
        text = httpx.post(f"{url}api/ask", json=body, timeout=SECONDS).text
        data = [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ")]
        if data[-1]["recommendation"].get("reason") != "timeout":
            return data


def test_an_answer_and_its_lines_come_from_what_is_deployed(console):
    about = httpx.get(f"{console}api/console").json()
    assert about["about"] == f"{NAME} in us-east-1"
    assert about["advisors"] == ["extractive", "agent"]
    data = asked(console)
    assert data[-1]["recommendation"]["status"] == "ok"
    blocks = "".join(one["html"] for one in data if "html" in one)
    cites = assert_inert(blocks, cites=None).cites
    assert cites
    source, _, lines = cites[0]["href"].removeprefix("/doc/").partition("#")
    shown = httpx.get(f"{console}api/document", params={"source": source, "lines": lines}).json()
    (one,) = shown["ranges"]
    cited = "\n".join(shown["lines"][one["start"] - 1 : one["end"]])
    assert cited == lines_of(CORPUS / source, one["start"], one["end"])
    assert "stale" not in one


def test_a_document_that_is_newer_in_the_bucket_is_told_at_the_cited_lines(console, deployment):
    data = asked(console)
    (sources,) = (one["sources"] for one in data if isinstance(one.get("sources"), list))
    cited = sources[0]["citation"]
    path = cited["source_file"]
    newer = "# A new first section\n\nRead this before anything else.\n\n"
    deployment.replace(path, newer.encode() + (CORPUS / path).read_bytes())
    lines = f"{cited['start_line']}-{cited['end_line']}"
    shown = httpx.get(f"{console}api/document", params={"source": path, "lines": lines}).json()
    stale = shown["ranges"][0]["stale"]
    assert stale["state"] == "moved"
