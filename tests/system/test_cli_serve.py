"""``serve``: a browser and any client of Bedrock ask, and it ends as it is told to."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import boto3
import httpx
import openai
import pytest

from knowledge_rag.core.errors import how_to_install
from knowledge_rag.orchestrator.advisors.calls import DEADLINE_SECONDS
from tests.support.cli import SECONDS, assert_one_line, assert_verbatim, lines_of
from tests.support.local import PROJECT, RUNBOOKS, write_files
from tests.unit.console.pages import assert_inert

QUERY = {"text": "promote the replica"}
SERVED = ("serve", "--port", "0", "--console-port", "0", "--json")


@pytest.fixture(scope="module")
def kb(settled, tmp_path_factory):
    folder = write_files(tmp_path_factory.mktemp("served"), RUNBOOKS)
    assert settled("ingest", folder, "--kb", folder / "own.kb").code == 0
    return folder / "own.kb"


def retrieved(environment, endpoint_url, knowledge_base_id):
    """Ask as any program does that was written for Amazon's service."""
    environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", endpoint_url)
    environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = boto3.client("bedrock-agent-runtime")
    try:
        answer = client.retrieve(knowledgeBaseId=knowledge_base_id, retrievalQuery=QUERY)
    finally:
        client.close()
    return [
        {
            "content": result["content"]["text"][int(result["metadata"]["context_length"]) :],
            "citation": {
                "source_file": result["metadata"]["source_file"],
                "start_line": int(result["metadata"]["start_line"]),
                "end_line": int(result["metadata"]["end_line"]),
            },
        }
        for result in answer["retrievalResults"]
    ]


def told(process):
    return json.loads(process.stdout.readline())


def ended(process, how):
    process.send_signal(how)
    assert process.wait(SECONDS) == 0
    return process.stdout.read(), process.stderr.read()


def test_a_person_is_told_how_to_connect_and_sigterm_ends_it(cli, kb, aws_environment):
    with cli.started("serve", "--kb", kb, "--port", "0") as process:
        assert process.stderr.readline().decode() == f"serving {kb} (4 chunks), Ctrl-C stops\n"
        console = process.stderr.readline().decode()
        assert re.fullmatch(r"console: http://127\.0\.0\.1:[0-9]+/\n", console)
        lines = [process.stdout.readline().decode() for _ in range(6)]
        exports = dict(re.findall(r"^export (\w+)=(\S+)$", "".join(lines), re.MULTILINE))
        # a client that knows nothing but these starts
        for name in ("AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            aws_environment.delenv(name, raising=False)
        for name, value in exports.items():
            aws_environment.setenv(name, value)
        address = exports["AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME"]
        results = retrieved(aws_environment, address, exports["KNOWLEDGE_BASE_ID"])
        with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))):
            # a client that is still connected holds nothing up
            assert ended(process, signal.SIGTERM) == (b"", b"")
    assert_verbatim(results, kb.parent)


def test_an_agent_and_a_model_answer_and_the_function_ends_however_the_server_does(
    cli, kb, aws_environment
):
    with cli.started("serve", "--kb", kb, "--port", "0", "--no-console", "--json") as process:
        ready = json.loads(process.stdout.readline())
        assert ready["console_url"] is None
        for name, value in ready["environment"].items():
            aws_environment.setenv(name, value)
        assert "replica" in invoked(ready)
        assert conversed(ready)["stopReason"] == "end_turn"
        (function,) = (os.pidfd_open(child) for child in children(process.pid))
        process.kill()
        assert process.wait(SECONDS) == -signal.SIGKILL
        assert select.select([function], [], [], SECONDS)[0]
        os.close(function)
        assert process.stderr.read() == b""


def invoked(ready):
    client = boto3.client("bedrock-agent-runtime")
    try:
        names = {"agentId": ready["agent_id"], "agentAliasId": ready["agent_alias_id"]}
        answer = client.invoke_agent(**names, sessionId="one", inputText=QUERY["text"])
        return b"".join(event["chunk"]["bytes"] for event in answer["completion"]).decode()
    finally:
        client.close()


def conversed(ready):
    client = boto3.client("bedrock-runtime")
    try:
        message = {"role": "user", "content": [{"text": "Hello?"}]}
        return client.converse(modelId=ready["model_id"], messages=[message])
    finally:
        client.close()


def children(pid):
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def test_the_api_and_the_console_need_two_ports(cli, kb):
    ran = cli("serve", "--kb", kb, "--console-port", "8321")
    assert (ran.code, ran.out) == (2, "")
    assert_one_line(ran.err, "--port and --console-port are both 8321: they need two ports")


def asked(console_url, question="How to handle RDS failover?"):
    """Ask until the function was quick enough, which a busy machine may not let it be."""
    while True:
        answer = httpx.post(f"{console_url}api/ask", json={"question": question}, timeout=SECONDS)
        assert answer.status_code == 200, answer.text
        *_, done = (json.loads(it[6:]) for it in answer.text.split("\n") if it.startswith("data: "))
        if done["recommendation"].get("reason") != "timeout":
            return answer.text, done


def test_a_browser_gets_the_page_an_answer_and_its_lines_and_reports_a_wrong_one(cli, kb):
    template = "https://git.example/{path}#L{start}-L{end}"
    with cli.started(
        *SERVED, "--kb", kb, "--corpus", kb.parent, "--repository-url", template
    ) as process:
        ready = told(process)
        assert_ports_are_taken(cli, kb, ready)
        url = ready["console_url"]
        assert "<!doctype html>" in httpx.get(url, timeout=SECONDS).text
        text, done = asked(url)
        assert done["recommendation"]["status"] == "ok"
        chunks = [json.loads(it[6:]) for it in text.split("\n") if it.startswith('data: {"text"')]
        cites = assert_inert("".join(one["html"] for one in chunks), cites=None).cites
        assert cites
        for cite in cites:
            source, _, lines = cite["href"].removeprefix("/doc/").partition("#")
            shown = httpx.get(
                f"{url}api/document", params={"source": source, "lines": lines}, timeout=SECONDS
            ).json()
            (one,) = shown["ranges"]
            cited = shown["lines"][one["start"] - 1 : one["end"]]
            assert "\n".join(cited) == lines_of(kb.parent / source, one["start"], one["end"])
            assert (
                one["repositoryUrl"]
                == f"https://git.example/{source}#L{one['start']}-L{one['end']}"
            )
        report = {"answerId": done["answerId"], "number": 1, "comment": "wrong"}
        told_where = httpx.post(f"{url}api/reports", json=report, timeout=SECONDS).json()
        assert told_where == {"path": str(cli.data / "wrong-citations.jsonl")}
        assert "wrong" in (cli.data / "wrong-citations.jsonl").read_text()
        assert ended(process, signal.SIGINT) == (b"", b"")


def assert_ports_are_taken(cli, kb, ready):
    urls = {"--port": ready["endpoint_url"], "--console-port": ready["console_url"]}
    for option, url in urls.items():
        port = httpx.URL(url).port
        ran = cli("serve", "--kb", kb, "--port", "0", option, port)
        assert (ran.code, ran.out) == (4, "")
        taken = f"can't listen on 127.0.0.1:{port}: another process uses this port"
        assert_one_line(ran.err, f"{taken}; choose another with {option}, or 0 for a free one")


def searched(ask, text_of):
    """Return an answer; where a busy machine was too slow to search, ask again."""
    while "could not be searched" in text_of(answer := ask()):
        pass
    return answer


def responded(client, question, **more):
    more |= {"model": "knowledge-rag", "input": question}
    return searched(lambda: client.responses.create(**more), lambda it: it.output_text)


def test_the_program_of_the_page_runs_and_a_response_is_continued_after_a_restart(cli, kb):
    question = "How do I promote the replica?"
    with cli.started(*SERVED, "--kb", kb) as process:
        url = told(process)["console_url"]
        with openai.OpenAI(base_url=f"{url}v1", api_key="any") as client:
            assert [it.id for it in client.models.list()] == ["knowledge-rag"]
            response = responded(client, question)
        page = (PROJECT / "docs" / "agents.md").read_text(encoding="utf-8")
        _, _, program = page.partition("```python\n")
        names: dict[str, object] = {}
        exec(program.partition("```")[0].replace("http://127.0.0.1:8320/", url), names)
        assert names["message"].content
        ended(process, signal.SIGINT)
    with cli.started(*SERVED, "--kb", kb) as process:  # the answer is kept
        with openai.OpenAI(base_url=f"{told(process)['console_url']}v1", api_key="any") as client:
            more = {"previous_response_id": response.id}
            assert responded(client, "And how do I check it?", **more).output_text
        ended(process, signal.SIGINT)


def test_an_answer_in_the_making_holds_nothing_up(cli, kb):
    with cli.started(*SERVED, "--kb", kb) as process:
        url = told(process)["console_url"]
        body = {"question": "RDS failover"}
        with httpx.stream("POST", f"{url}api/ask", json=body, timeout=SECONDS) as response:
            assert next(response.iter_lines()).startswith("id: 1")
            # before its function has started: nobody waits for that
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0
        assert process.stderr.read() == b""


def test_a_model_that_never_answers_holds_nothing_up(cli, kb):
    with socket.create_server(("127.0.0.1", 0)) as model, ExitStack() as stack:
        cli._environment |= {
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": f"http://127.0.0.1:{model.getsockname()[1]}",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
        }
        named = ("--model-id", "m.odel-v1", "--region", "us-east-1")
        process = stack.enter_context(cli.started(*SERVED, "--kb", kb, *named))
        url = told(process)["console_url"]
        body = {"question": "How to handle RDS failover?"}
        stack.enter_context(httpx.stream("POST", f"{url}api/ask", json=body, timeout=SECONDS))
        stack.enter_context(model.accept()[0])
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_SECONDS - 5) == 0  # so nobody waited for the call's own end
        assert process.stderr.read() == b""


def test_without_the_consoles_packages_the_api_is_served_and_that_is_said(cli, kb, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['nh3'] = None\n")
    cli._environment["PYTHONPATH"] = str(tmp_path)
    with cli.started(*SERVED, "--kb", kb) as process:
        ready = told(process)
        assert ready["console_url"] is None
        assert httpx.get(ready["endpoint_url"], timeout=SECONDS).status_code == 404
        said = process.stderr.readline().decode()
        assert said == f"no console: {how_to_install('console')}\n"


SLOW = {
    "silent": b"",
    "half a head": b"POST / HTTP/1.1\r\nHost: localhost\r\nX: ",
    "half a body": b"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 9\r\n\r\n{",
}


def test_400_slow_connections_to_a_port_keep_nobody_out(cli, kb):
    with cli.started(*SERVED, "--kb", kb) as process, httpx.Client(timeout=SECONDS) as streaming:
        ready = told(process)
        api, console = ready["endpoint_url"], ready["console_url"]
        retrieve = f"{api}/knowledgebases/{ready['knowledge_base_id']}/retrieve"
        question = {"question": "How to handle RDS failover?"}
        with streaming.stream("POST", f"{console}api/ask", json=question) as answer:
            events = answer.iter_lines()
            next(events)  # an answer in the making, which slow clients may not cut off
            for begin in SLOW.values():
                with ExitStack() as stack:
                    for url in (api, console) * 200:
                        stack.enter_context(connected(url, begin))
                    for _ in range(2):
                        found = httpx.post(
                            retrieve, json={"retrievalQuery": QUERY}, timeout=SECONDS
                        )
                        assert found.json()["retrievalResults"]
                        assert "<!doctype html>" in httpx.get(console, timeout=SECONDS).text
            assert "event: done" in list(events)


def connected(url, begin):
    address = httpx.URL(url)
    connection = socket.create_connection((address.host, address.port), SECONDS)
    with suppress(ConnectionError):  # it may have given way by now
        connection.sendall(begin)
    return connection


def test_options_that_can_not_be_served_are_told_in_one_line(cli, kb):
    wrong = {
        "are the console's": ("--kb", kb, "--no-console", "--model-id", "m.odel"),
        "--port is for a knowledge base on this machine": ("--stack", "x-dev", "--port", "0"),
        "not an http(s) address": ("--kb", kb, "--repository-url", "javascript:{path}"),
    }
    for part, ran in cli.each({it: ("serve", *given) for it, given in wrong.items()}).items():
        assert (ran.code, ran.out) == (2, "")
        assert_one_line(ran.err, part)
