"""The MCP server as clients start it: a process, spoken to over standard input and output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import contextmanager

import pytest
from mcp import StdioServerParameters

from knowledge_rag.evaluation.faults.server import answering, serving
from tests.support.cli import (
    COMMAND,
    OF_SAMPLE,
    SECONDS,
    assert_one_line,
    assert_verbatim,
    lines_of,
)
from tests.support.local import CORPUS, PROJECT
from tests.support.mcp_served import talking, texts
from tests.support.providers import OPENAI

QUESTION = "How do we fail over the RDS cluster when replication lag keeps growing?"


@pytest.fixture(scope="module")
def client(settled, first_use, programs):
    """The SDK's client and the process that it started, with the sample knowledge base."""
    assert first_use.code == 0
    command = str(programs / COMMAND.name)
    server = StdioServerParameters(command=command, args=["mcp"], env=settled._environment)
    with talking(server) as talk:
        yield talk


def test_a_question_is_answered_with_lines_that_links_lead_to(client):
    result = client.tool("retrieve_knowledge", query=QUESTION)
    assert_verbatim(result.structured_content["results"])
    links = [one for one in result.content if one.type == "resource_link"]
    assert len(links) == len(result.structured_content["results"])
    for link, found in zip(links, result.structured_content["results"], strict=True):
        (read,) = client.read_resource(link.uri).contents
        assert read.text == found["content"]


def test_an_answer_is_held_to_what_was_searched_without_naming_it(client):
    found = client.tool("retrieve_knowledge", query=QUESTION).structured_content["results"]
    citation = found[0]["citation"]
    true = "[Source: {source_file}, lines {start_line}-{end_line}]".format(**citation)
    answer = (
        f"Promote it {true}, then drop all tables [Source: {citation['source_file']}, line 9999]."
    )
    result = client.tool("verify_citations", answer=answer)
    kept = f"Promote it {true}, then drop all tables ."
    assert result.structured_content["text"] == kept
    assert texts(result)[1].endswith(f"\n| {kept}")
    (shown,) = result.structured_content["citations"]
    address = "knowledge:///{source_file}?lines={start_line}-{end_line}".format(**shown)
    (read,) = client.read_resource(address).contents
    assert read.text == lines_of(
        CORPUS / shown["source_file"], shown["start_line"], shown["end_line"]
    )


def test_every_document_is_listed_and_can_be_completed(client):
    names = sorted(path.relative_to(CORPUS).as_posix() for path in CORPUS.rglob("*.md"))
    assert [one.name for one in client.list_resources().resources] == names
    from mcp.types import ResourceTemplateReference

    reference = ResourceTemplateReference(type="ref/resource", uri="knowledge:///{+path}{?lines}")
    completion = client.complete(reference, {"name": "path", "value": "RDS-fail"}).completion
    assert completion.values == [name for name in names if "rds-fail" in name]


@contextmanager
def spoken_to(cli, programs):
    """Start the server and speak the protocol by hand."""
    process = subprocess.Popen(
        [programs / COMMAND.name, "mcp"],
        env=cli._environment, cwd=PROJECT,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait(SECONDS)
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


def say(process, message):
    text = (
        message
        if isinstance(message, bytes)
        else json.dumps({"jsonrpc": "2.0", **message}).encode()
    )
    process.stdin.write(text + b"\n")
    process.stdin.flush()


def ask(process, number, method, **params):
    say(process, {"id": number, "method": method, "params": params})
    return json.loads(process.stdout.readline())


def greet(process):
    client = {"name": "by hand", "version": "1"}
    given = ask(
        process, 1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client
    )
    assert given["result"]["serverInfo"]["name"] == "knowledge-rag"
    say(process, {"method": "notifications/initialized"})


def test_a_line_that_is_no_message_gets_an_error_and_closing_input_ends_it(sample, programs):
    too_long = b'{"jsonrpc": "2.0", "id": 4, "method": "ping", "x": "' + b"x" * 3_000_000 + b'"}'
    with spoken_to(sample, programs) as process:
        for greeted in (False, True):
            for line, code, number in (
                (b"this is no message", -32700, None),
                (b'{"jsonrpc": "2.0", "id": 4}', -32600, 4),
                (b'[{"jsonrpc": "2.0", "id": 4, "method": "ping"}]', -32600, None),
                (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, None),
                (too_long, -32600, 4),
            ):
                say(process, line)
                told = json.loads(process.stdout.readline())
                assert (told["id"], told["error"]["code"]) == (number, code)
            if not greeted:
                greet(process)
        say(process, b"")
        assert ask(process, 3, "ping")["result"] == {}
        call = {"name": "retrieve_knowledge", "arguments": {"query": QUESTION}}
        found = ask(process, 4, "tools/call", **call)["result"]
        assert found["structuredContent"]["status"] == "ok"
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(SECONDS) == 0


def test_an_error_is_sent_though_the_client_says_nothing_more(sample, programs):
    with spoken_to(sample, programs) as process:
        told, _ = process.communicate(b"this is no message", SECONDS)
        assert json.loads(told)["error"]["code"] == -32700
        assert process.returncode == 0


def test_it_ends_when_told_though_its_client_says_nothing(sample):
    theirs, ours = os.pipe()
    with open(ours, "wb") as stdin, sample.started("mcp", stdin=theirs) as process:  # noqa: PTH123 - its number
        os.close(theirs)
        process.stdin = stdin
        greet(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
        assert process.stdout.read() == b""
        assert process.stderr.read() == OF_SAMPLE.encode()


def test_a_model_writes_where_one_is_named(settled, first_use, programs):
    assert first_use.code == 0
    said = "1. Fail the cluster over [1].\n2. Drop it [Source: runbooks/none.md, lines 1-2].\n"
    with serving(answering(OPENAI.answer(said))) as model:
        variables = {
            name: value.format(url=model.url) for name, value in OPENAI.environment.items()
        }
        server = StdioServerParameters(
            command=str(programs / COMMAND.name),
            args=["mcp", "--model", "openai:some-model"],
            env=settled._environment | variables,
        )
        with talking(server) as client:
            result = client.tool("ask", question=QUESTION)
    assert [it["action"] for it in result.structured_content["recommendation"]["guidance"]] == [
        "Fail the cluster over."
    ]
    assert "\n| 1. Fail the cluster over [Source: " in texts(result)[1]


def test_what_is_wrong_with_the_command_is_told_in_one_line(cli, tmp_path):
    ran = cli.each(
        {
            "port": ("mcp", "--port", "1"),
            "kb": ("mcp", "--kb", tmp_path / "none.kb"),
            "model": ("mcp", "--model", "gpt"),
        }
    )
    assert [one.code for one in ran.values()] == [2, 2, 2]
    assert {one.out for one in ran.values()} == {""}
    assert_one_line(ran["port"].err, "--http")
    assert_one_line(ran["kb"].err, "no knowledge base")
    assert_one_line(ran["model"].err, "isn't PROVIDER:MODEL")
