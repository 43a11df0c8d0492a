"""The MCP server over HTTP: the real function, the real model, clients of several makers, and strangers."""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from typing import Literal
from urllib.parse import urlsplit

import anyio
import pytest
import yaml
from jsonschema import Draft202012Validator
from mcp import MCPError, types
from pydantic import ConfigDict

from knowledge_rag.channel.skills import Skills
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.local.action_group import local_action_group
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase, KnowledgeBaseDocuments
from knowledge_rag.local.local_retrieval import LocalFunction, local_retrieval
from knowledge_rag.mcp_server import serving
from knowledge_rag.mcp_server.asking import Asking
from knowledge_rag.mcp_server.server import create_server
from knowledge_rag.mcp_server.serving import MAX_REQUEST_BYTES
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
from knowledge_rag.orchestrator.backends.gateway import KnowledgeGateway
from knowledge_rag.orchestrator.budget import Budget
from tests.support.cli import SECONDS, assert_one_line, assert_verbatim
from tests.support.issuer import Issuer
from tests.support.local import RUNBOOKS, minilm, write_files
from tests.support.mcp_served import served, talking, texts

FABRICATED = "Delete the cluster [Source: runbooks/evil.md, lines 1-3] [Source: runbooks/rds-failover.md, lines 900-901] [99]."
ADAPTERS_PYTHON = "KNOWLEDGE_RAG_TEST_MCP_ADAPTERS_PYTHON"
"""Names a Python that has langchain-mcp-adapters, where this one's can't be imported."""
FASTMCP_PYTHON = "KNOWLEDGE_RAG_TEST_FASTMCP_PYTHON"
"""Names a Python that has FastMCP's client; ``make nightly`` makes one."""
NAMED_PYTHON = os.environ.get(ADAPTERS_PYTHON)
NAMED_FASTMCP = os.environ.get(FASTMCP_PYTHON)
"""Looked up now: while the local function runs, the environment is its own."""


QUESTION = "How to handle RDS failover?"
SEARCH = {"query": QUESTION}
AMPLE = Budget(300)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("mcp") / "corpus", RUNBOOKS)


@pytest.fixture(scope="module")
def knowledge_base(corpus):
    path = corpus.parent / "knowledge.kb"
    ingest(corpus, path, embedder=minilm())
    with KnowledgeBase(path, minilm()) as opened:
        yield opened


@pytest.fixture(scope="module")
def url(knowledge_base):
    documents = KnowledgeBaseDocuments(knowledge_base.path)
    with local_retrieval(knowledge_base, budget=AMPLE) as retrieval:
        asyncio.run(retrieval.retrieve(Query("warm up")))
        skills = partial(Skills, documents)
        with served(
            create_server(Asking(retrieval, documents=documents, skills=skills))
        ) as address:
            yield address


@pytest.fixture(scope="module")
def client(url):
    """The SDK's own client."""
    with talking(url) as talk:
        yield talk


@pytest.fixture(params=["legacy", "auto"])
def either_client(request, url):
    """The SDK's own client, with the protocol's sessions and without."""
    with talking(url, request.param) as talk:
        yield talk


def posted(url, body, **headers):
    """Send one request by hand; gives status, headers and body."""
    address = urlsplit(url)
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with closing(
        http.client.HTTPConnection(address.hostname, address.port, timeout=SECONDS)
    ) as made:
        made.request("POST", address.path, body, usual | headers)
        answer = made.getresponse()
        return answer.status, answer.headers, answer.read()


INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "by hand", "version": "1"},
        },
    }
)


def test_all_tools_only_read_and_keep_to_the_schemas_they_show(either_client):
    client = either_client
    tools = {tool.name: tool for tool in client.list_tools().tools}
    assert list(tools) == [
        "ask", "find_skill", "list_documents", "check_drift", "retrieve_knowledge", "verify_citations",
    ]  # fmt: skip
    found = client.tool("retrieve_knowledge", **SEARCH).structured_content
    answer = f"Promote it [Source: runbooks/rds-failover.md, lines 13-13]. {FABRICATED}"
    checked = client.tool(
        "verify_citations", answer=answer, evidence_ids=[found["evidence_id"]]
    ).structured_content
    others = (
        ("ask", {"question": QUESTION}),
        ("ask", {"question": "how long do I boil eggs"}),
        ("find_skill", {"alert": QUESTION}),
        ("find_skill", {"alert": "how long do I boil eggs"}),
        ("list_documents", {}),
        ("list_documents", {"containing": "RDS"}),
        ("check_drift", {"source_file": "runbooks/rds-failover.md"}),
    )
    given_by = [(name, client.tool(name, **taken).structured_content) for name, taken in others]
    for tool, given in (("retrieve_knowledge", found), ("verify_citations", checked), *given_by):
        schema = tools[tool].output_schema
        Draft202012Validator.check_schema(schema)
        Draft202012Validator.check_schema(tools[tool].input_schema)
        Draft202012Validator(schema).validate(given)
        hints = tools[tool].annotations
        assert (hints.read_only_hint, hints.destructive_hint, hints.open_world_hint) == (
            True, False, False,
        )  # fmt: skip


def test_steps_for_a_question_cite_lines_that_their_links_open(either_client, corpus):
    client = either_client
    result = client.tool("ask", question=QUESTION)
    body = result.structured_content
    assert body["status"] == Status.OK
    links = [one for one in result.content if one.type == "resource_link"]
    for step, link in zip(body["recommendation"]["guidance"], links, strict=False):
        cited = step["citation"]
        lines = (corpus / cited["source_file"]).read_text().split("\n")
        shown = "\n".join(lines[cited["start_line"] - 1 : cited["end_line"]])
        assert "".join(one.text for one in client.read_resource(link.uri).contents) == shown
        assert f"lines {cited['start_line']}-{cited['end_line']}]" in texts(result)[1]


def test_an_answer_that_draws_on_the_steps_is_verified_by_their_evidence(client):
    body = client.tool("ask", question=QUESTION).structured_content
    cited = body["recommendation"]["guidance"][0]["citation"]
    answer = (
        "Do [Source: {source_file}, lines {start_line}-{end_line}].".format(**cited) + FABRICATED
    )
    checked = client.tool(
        "verify_citations", answer=answer, evidence_ids=[body["evidence_id"]]
    ).structured_content
    assert (len(checked["citations"]), len(checked["removed"])) == (1, 3)


def test_a_procedure_that_was_chosen_is_given_whole(client):
    result = client.tool("ask", question="it is slow", at="runbooks/rds-failover.md:13")
    body = result.structured_content
    assert body["status"] == Status.OK
    assert body["evidence"]["reasons"] == ["you chose this procedure"]
    assert {one["source_file"] for one in body["recommendation"]["procedures"]} == {
        "runbooks/rds-failover.md"
    }


class ListSkills(types.PaginatedRequest[Literal["skills/list"]]):
    method: Literal["skills/list"] = "skills/list"


class OfSkill(types.RequestParams):
    uri: str


class GetSkill(types.Request[OfSkill, Literal["skills/get"]]):
    method: Literal["skills/get"] = "skills/get"


class Whatever(types.Result):
    model_config = ConfigDict(extra="allow")


def sent(talk, request):
    """Send a request of an extension, as a client that knows it does."""
    result = talk.together(lambda sdk: sdk.session.send_request(request, Whatever))
    return result.model_dump(by_alias=True)


def test_each_skill_that_is_listed_is_read_with_the_bytes_and_front_matter_of_its_entry(
    url, knowledge_base
):
    exported = {it.name: it for it in Skills(KnowledgeBaseDocuments(knowledge_base.path))}
    with talking(url) as client:
        assert client.client.server_capabilities.extensions == {
            "io.modelcontextprotocol/skills": {},
            "io.modelcontextprotocol/ui": {},
        }
        listed = sent(client, ListSkills())
        assert (listed["resultType"], "ttlMs" in listed, "cacheScope" in listed) == (
            "complete", True, True,
        )  # fmt: skip
        assert [one["frontmatter"]["name"] for one in listed["skills"]] == list(exported)
        for one in listed["skills"]:
            assert sent(client, GetSkill(params=OfSkill(uri=one["uri"])))["skill"] == one
            (file,) = one["resources"]
            (contents,) = client.read_resource(file["uri"]).contents
            data = contents.text.encode()
            assert data == exported[one["frontmatter"]["name"]].data
            assert file["size"] == len(data)
            assert file["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
            assert yaml.safe_load(contents.text.split("---\n")[1]) == one["frontmatter"]
            assert one["uri"].split("/")[-2] == one["frontmatter"]["name"]


def test_what_is_no_skill_is_refused_and_older_protocols_have_none(url):
    with talking(url) as client:
        for address in (
            "skill://knowledge/runbooks/none.md/none/SKILL.md",
            "skill://knowledge/SKILL.md",
            "skill://other/runbooks/rds-failover.md/rds-failover/SKILL.md",
        ):
            with pytest.raises(MCPError, match="no skill is served at") as raised:
                sent(client, GetSkill(params=OfSkill(uri=address)))
            assert raised.value.code == -32602
    with talking(url, "legacy") as client, pytest.raises(MCPError) as raised:
        sent(client, ListSkills())
    assert raised.value.code == -32601


def test_what_is_found_is_verbatim_in_words_in_structure_and_behind_its_link(either_client, corpus):
    client = either_client
    result = client.tool("retrieve_knowledge", **SEARCH)
    body = result.structured_content
    assert body["status"] == Status.OK
    assert_verbatim(body["results"], corpus)
    links = [one for one in result.content if one.type == "resource_link"]
    for found, said, link in zip(body["results"], texts(result)[1:], links, strict=True):
        citation = found["citation"]
        lines = f"lines {citation['start_line']}-{citation['end_line']}"
        assert said == f"[Source: {citation['source_file']}, {lines}]\n{found['content']}"
        (read,) = client.read_resource(link.uri).contents
        assert (read.text, read.uri) == (found["content"], link.uri)


def test_fabricated_citations_do_not_come_back(either_client):
    client = either_client
    found = client.tool("retrieve_knowledge", **SEARCH).structured_content
    result = client.tool("verify_citations", answer=FABRICATED, evidence_ids=[found["evidence_id"]])
    body = result.structured_content
    assert (body["citations"], len(body["removed"])) == ([], 3)
    for text in (body["text"], *texts(result)):
        assert "evil.md" not in text
        assert "[Source" not in text
        assert "[99]" not in text


def test_nothing_documented_is_said_in_the_agreed_words(client):
    result = client.tool("ask", question="how long do I boil eggs")
    assert result.structured_content["status"] == Status.NO_MATCH
    assert texts(result)[0].startswith("Nothing documented.")
    assert "document_type" not in "".join(texts(result))  # nobody typed a filter
    result = client.tool("retrieve_knowledge", query="how long do I boil eggs")
    assert (result.structured_content["status"], result.is_error) == (Status.NO_MATCH, False)
    assert texts(result) == ["No documented guidance found for this scenario."]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": "x" * 20_001},
        {"query": "x", "max_results": "many"},
        {"query": "x", "service": ["rds"]},
        {"query": "x", "evidence": "mine"},
    ],
)
def test_a_wrong_request_is_refused_in_the_functions_own_words(client, arguments):
    from lambdas.retrieve_knowledge.handler import lambda_handler

    result = client.tool("retrieve_knowledge", **arguments)
    assert result.is_error
    assert texts(result) == [lambda_handler(dict(arguments), None)["error"].replace("100", "5")]
    assert result.structured_content is None


def test_at_most_five_passages_and_only_those_that_pass_the_filters(client):
    one = client.tool("retrieve_knowledge", query="failover", max_results=1).structured_content
    assert len(one["results"]) == 1
    of_lambda = client.tool(
        "retrieve_knowledge", query="raise the concurrency", service="lambda", max_results=500
    ).structured_content
    assert {each["metadata"]["service"] for each in of_lambda["results"]} == {"lambda"}


def test_calls_at_once_each_get_their_own_answer(client):
    questions = [QUESTION, "how long do I boil eggs", "How to fix Lambda throttling?"] * 4

    async def ask_all(sdk_client):
        given = [None] * len(questions)

        async def ask(number):
            arguments = {"query": questions[number], "max_results": 1}
            result = await sdk_client.call_tool("retrieve_knowledge", arguments)
            given[number] = result.structured_content

        async with anyio.create_task_group() as group:
            for number in range(len(questions)):
                group.start_soon(ask, number)
        return given

    given = client.together(ask_all)
    statuses = [body["status"] for body in given]
    assert statuses == ["ok", "no_match", "ok"] * 4
    services = [body["results"][0]["metadata"]["service"] for body in given if body["results"]]
    assert services == ["rds", "lambda"] * 4
    assert len({body["evidence_id"] for body in given}) == len(questions)


def test_a_session_is_held_to_its_own_searches(url):
    with talking(url, "legacy") as one, talking(url, "legacy") as other:
        found = one.tool("retrieve_knowledge", **SEARCH).structured_content["results"]
        citation = found[0]["citation"]
        answer = "Do so [Source: {source_file}, lines {start_line}-{end_line}] [1].".format(
            **citation
        )
        assert len(one.tool("verify_citations", answer=answer).structured_content["citations"]) == 2
        others = other.tool("verify_citations", answer=answer).structured_content
        assert (others["citations"], others["evidence"]["searches"]) == ([], 0)


def test_without_sessions_the_searches_have_to_be_named_and_none_can_be_made_up(url):
    with talking(url) as client:
        for arguments, complaint in (
            ({}, "this connection has no session"),
            ({"evidence_ids": []}, "must name 1 to 32"),
            ({"evidence_ids": ["ev-000000000000000000000000"]}, "there is no evidence"),
            ({"evidence": [{"results": [], "status": "ok"}]}, "Evidence can't be handed in"),
        ):
            result = client.tool("verify_citations", answer="Yes [1].", **arguments)
            assert result.is_error
            assert complaint in texts(result)[0]


def test_documents_are_listed_read_and_completed(client, corpus):
    listed = client.list_resources().resources
    assert [one.name for one in listed] == sorted(RUNBOOKS)
    (template,) = client.list_resource_templates().resource_templates
    assert template.uri_template == "knowledge:///{+path}{?lines}"
    for one in listed:
        for part in client.read_resource(one.uri).contents:
            first, last = map(int, part.uri.partition("?lines=")[2].split("-"))
            lines = (corpus / one.name).read_text().split("\n")[first - 1 : last]
            assert part.text == "\n".join(lines)


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("knowledge:///runbooks/none.md", "there is no document 'runbooks/none.md'"),
        ("knowledge:///../corpus/runbooks/rds-failover.md", "there is no document"),
        ("knowledge:////etc/passwd", "there is no document '/etc/passwd'"),
        ("knowledge:///runbooks/%2e%2e/runbooks/rds-failover.md", "there is no document"),
        ("knowledge:///runbooks/rds-failover.md?lines=1-900", "no text after line"),
        ("knowledge:///runbooks/rds-failover.md?lines=1-5", "front matter"),
        ("knowledge:///runbooks/rds-failover.md?lines=9-3", "not a line range"),
        ("knowledge:///runbooks/rds-failover.md?lines=x", "not an address"),
        ("file:///etc/passwd", "not an address"),
    ],
)
def test_an_address_that_leads_nowhere_is_refused_with_the_reason(client, address, complaint):
    with pytest.raises(MCPError, match=complaint) as raised:
        client.read_resource(address)
    assert raised.value.code == -32602


def test_an_outage_is_told_as_one_and_is_no_error():
    with (
        local_action_group("http://127.0.0.1:9") as function,
        closing(BoundedRetrieval(LocalFunction(function.body), AMPLE)) as retrieval,
        served(create_server(Asking(retrieval))) as url,
        talking(url, "legacy") as client,
    ):
        result = client.tool("retrieve_knowledge", **SEARCH)
        body = result.structured_content
        assert (body["status"], body["results"], result.is_error) == ("degraded", [], False)
        reason = body["reason"]
        assert reason in (Reason.UNAVAILABLE, Reason.TIMEOUT)  # on a machine too busy to be refused
        assert texts(result)[0].startswith(f"The knowledge base could not be searched ({reason}).")
        answer = "No documented guidance found for this scenario"
        checked = client.tool("verify_citations", answer=answer).structured_content
        assert [one["kind"] for one in checked["warnings"]] == ["false-no-match"]
        assert checked["metrics"]["errors"] == 1
        assert checked["evidence"] == {
            "searches": 1, "passages": 0, "degraded": {reason: 1},
        }  # fmt: skip


class Nameless:
    """Loopback asks for no authorisation."""

    def apply(self, request, deadline):
        pass


def test_the_orchestrators_gateway_client_is_served(url, corpus):
    with closing(BoundedRetrieval(KnowledgeGateway(url, Nameless()), AMPLE)) as gateway:
        outcome = asyncio.run(gateway.retrieve(Query(QUESTION, 3)))
    assert outcome.status is Status.OK
    assert_verbatim([result.to_dict() for result in outcome.results], corpus)


LANGCHAIN = """
import asyncio, json, sys
from langchain_mcp_adapters.client import MultiServerMCPClient

async def main(url):
    client = MultiServerMCPClient({"knowledge": {"transport": "streamable_http", "url": url}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    call = {"type": "tool_call", "id": "1", "name": "retrieve_knowledge"}
    found = await tools["retrieve_knowledge"].ainvoke(call | {"args": {"query": sys.argv[2]}})
    body = found.artifact["structured_content"]
    answer = "Do [Source: {source_file}, lines {start_line}-{end_line}]".format(
        **body["results"][0]["citation"])
    args = {"answer": answer + " [Source: evil.md, lines 1-2]", "evidence_ids": [body["evidence_id"]]}
    call = {"type": "tool_call", "id": "2", "name": "verify_citations", "args": args}
    checked = await tools["verify_citations"].ainvoke(call)
    blobs = await client.get_resources("knowledge", uris=[
        block["url"] for block in found.content if block["type"] == "file"])
    print(json.dumps({"body": body, "checked": checked.artifact["structured_content"],
        "texts": [block["text"] for block in found.content if block["type"] == "text"],
        "blobs": [blob.as_string() for blob in blobs]}))

asyncio.run(main(sys.argv[1]))
"""


def adapters_python():
    """A Python whose langchain-mcp-adapters can be imported; 0.3 needs an SDK of version 1."""
    if NAMED_PYTHON:
        return NAMED_PYTHON
    try:
        import langchain_mcp_adapters.tools  # noqa: F401
    except ImportError as error:
        pytest.skip(f"langchain-mcp-adapters: {error.name}; {ADAPTERS_PYTHON} names another Python")
    return sys.executable


def test_an_agent_of_langchain_searches_verifies_and_follows_links(url, corpus):
    """A session for each call, as its client has it, of the protocol's earlier SDK."""
    command = [adapters_python(), "-c", LANGCHAIN, url, QUESTION]
    done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stderr.decode()
    given = json.loads(done.stdout)
    results = given["body"]["results"]
    assert_verbatim(results, corpus)
    assert [text.partition("\n")[2] for text in given["texts"][1:]] == [
        result["content"] for result in results
    ]
    assert given["blobs"] == [result["content"] for result in results]
    assert len(given["checked"]["citations"]) == len(given["checked"]["removed"]) == 1


FASTMCP = """
import asyncio, json, sys
from fastmcp import Client

async def main(url, question):
    seen = []
    async def progress(done, total, message):
        seen.append([done, total, message])
    async with Client(url, progress_handler=progress) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
        card = await client.read_resource(tools["ask"].meta["ui"]["resourceUri"])
        answer = await client.call_tool("ask", {"question": question})
        body = answer.structured_content
        links = [block for block in answer.content if block.type == "resource_link"]
        lines = [(await client.read_resource(link.uri))[0].text for link in links]
        cited = "Do [Source: {source_file}, lines {start_line}-{end_line}]".format(
            **body["recommendation"]["guidance"][0]["citation"])
        checked = await client.call_tool("verify_citations", {
            "answer": cited + " [Source: evil.md, lines 1-2]", "evidence_ids": [body["evidence_id"]]})
        refused = await client.call_tool("ask", {}, raise_on_error=False)
        given_up = asyncio.create_task(client.call_tool("ask", {"question": question}))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        after = await client.call_tool("list_documents", {})
        print(json.dumps({
            "tools": list(tools), "resources": len(await client.list_resources()),
            "prompts": [it.name for it in await client.list_prompts()],
            "card": card[0].mimeType if hasattr(card[0], "mimeType") else card[0].mime_type,
            "body": body, "lines": lines, "progress": seen,
            "checked": checked.structured_content, "refused": refused.is_error,
            "after": after.structured_content}))

asyncio.run(main(*sys.argv[1:]))
"""


def test_fastmcp_s_client_asks_follows_links_reports_progress_verifies_and_cancels(url, corpus):
    if not NAMED_FASTMCP:
        pytest.skip(f"FastMCP: {FASTMCP_PYTHON} names no Python that has it")
    command = [NAMED_FASTMCP, "-c", FASTMCP, url, QUESTION]
    done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stderr.decode()
    given = json.loads(done.stdout)
    assert len(given["tools"]) == 6
    assert (given["resources"], given["prompts"]) == (len(RUNBOOKS), ["advise"])
    assert given["card"] == "text/html;profile=mcp-app"
    steps = given["body"]["recommendation"]["guidance"]
    for step, shown in zip(steps, given["lines"], strict=False):
        cited = step["citation"]
        lines = (corpus / cited["source_file"]).read_text().split("\n")
        assert shown == "\n".join(lines[cited["start_line"] - 1 : cited["end_line"]])
    assert [it[:2] for it in given["progress"][:3]] == [[0, 3], [1, 3], [2, 3]]
    assert len(given["checked"]["citations"]) == len(given["checked"]["removed"]) == 1
    assert given["refused"] is True
    assert len(given["after"]["documents"]) == len(RUNBOOKS)


def test_the_command_says_where_it_serves_and_ends_when_told_with_a_client_connected(
    cli, knowledge_base
):
    kb = knowledge_base.path
    with cli.started("mcp", "--kb", kb, "--http", "--port", "0", "--json") as process:
        url = json.loads(process.stdout.readline())["url"]
        with talking(url, "legacy") as client:
            assert client.tool("retrieve_knowledge", **SEARCH).structured_content["results"]
            process.send_signal(signal.SIGINT)
            assert process.wait(SECONDS) == 0
        assert process.stdout.read() == b""
        assert process.stderr.read() == b""


def test_the_command_asks_for_tokens_of_the_issuer_it_is_given(cli, knowledge_base):
    with closing(Issuer()) as issuer:
        served_at = "https://runbooks.example.com/mcp"
        started = cli.started(
            "mcp", "--kb", knowledge_base.path, "--http", "--port", "0", "--json",
            "--host", "0.0.0.0", "--issuer", issuer.url, "--resource", served_at,
        )  # fmt: skip
        with started as process:
            port = urlsplit(json.loads(process.stdout.readline())["url"]).port
            url = f"http://127.0.0.1:{port}/mcp"
            assert posted(url, INITIALIZE)[0] == 401
            token = {"Authorization": f"Bearer {issuer.token(served_at)}"}
            while (status := posted(url, INITIALIZE, **token)[0]) == 503:
                time.sleep(1)  # on a machine too busy to read the keys in time
            assert status == 200
            assert posted(url, INITIALIZE, Host="runbooks.example.com", **token)[0] == 200
            assert posted(url, INITIALIZE, Host="rebound.example", **token)[0] == 421
            process.send_signal(signal.SIGINT)
            assert process.wait(SECONDS) == 0


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--http", "--host", "0.0.0.0"), "add --issuer and --resource"),
        (("--http", "--host", "runbooks.example.com"), "must be an IP address"),
        (("--http", "--scope", "a"), "go together"),
        (("--host", "127.0.0.1"), "--host goes with --http"),
        (
            ("--issuer", "https://a.example", "--resource", "https://b.example"),
            "--issuer goes with",
        ),
        (
            ("--http", "--issuer", "http://a.example", "--resource", "https://b.example/mcp"),
            "--issuer: must be https://",
        ),
    ],
    ids=lambda it: " ".join(it) if isinstance(it, tuple) else "",
)
def test_the_command_serves_nobody_beyond_this_machine_without_tokens(cli, options, complaint):
    ran = cli("mcp", *options)
    assert (ran.code, ran.out) == (2, "")
    assert_one_line(ran.err, complaint)


def test_the_name_of_anothers_session_opens_nothing(url):
    status, headers, _ = posted(url, INITIALIZE)
    session = {"Mcp-Session-Id": headers["Mcp-Session-Id"]}
    assert status == 200
    search = {"name": "retrieve_knowledge", "arguments": SEARCH}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": search}
    assert posted(url, json.dumps(call), **session)[0] == 200
    modern = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    verify = {"name": "verify_citations", "arguments": {"answer": "Yes [1]."}, "_meta": modern}
    claim = session | {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "verify_citations",
    }
    status, _, body = posted(url, json.dumps(call | {"params": verify}), **claim)
    result = json.loads(body)["result"]
    assert (status, result["isError"]) == (200, True)
    assert "this connection has no session" in result["content"][0]["text"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "{own}"}, 200),
        ({"Host": "rebound.example"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://localhost:1"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 400),
    ],
)
def test_pages_of_other_origins_and_rebound_names_are_refused(url, headers, status):
    own = url.removesuffix("/mcp")
    sent = {name: value.format(own=own) for name, value in headers.items()}
    answered, given, _ = posted(url, INITIALIZE, **sent)
    assert answered == status
    assert not [name for name in given if name.lower().startswith("access-control-")]


def test_a_preflight_request_gets_no_leave(url):
    address = urlsplit(url)
    with closing(
        http.client.HTTPConnection(address.hostname, address.port, timeout=SECONDS)
    ) as made:
        made.request("OPTIONS", address.path, headers={"Origin": "https://evil.example"})
        answer = made.getresponse()
    assert answer.status >= 400
    assert "access-control-allow-origin" not in answer.headers


def test_what_is_too_large_is_refused_and_the_next_call_served(client, url):
    assert posted(url, b" " * (MAX_REQUEST_BYTES + 1))[0] == 413
    result = client.tool("verify_citations", answer="x" * 50_001)
    assert (result.is_error, texts(result)) == (
        True,
        ["answer is 50001 characters long; at most 50000 are allowed"],
    )
    assert client.tool("retrieve_knowledge", **SEARCH).structured_content["status"] == "ok"


def test_sessions_are_bounded(monkeypatch):
    class Nobody:
        async def retrieve(self, query):
            raise NotImplementedError

    assert serving.MAX_SESSIONS == 1_000
    monkeypatch.setattr(serving, "MAX_SESSIONS", 5)
    with served(create_server(Asking(Nobody()))) as url:
        opened = [posted(url, INITIALIZE)[0] for _ in range(6)]
    assert opened == [200] * 5 + [503]
