"""The console over real HTTP: a browser's requests, hostile ones, models that misbehave, readers who leave."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from urllib.parse import urlsplit

import httpx
import pytest

from knowledge_rag.console.app import ConsoleSettings, create_console
from knowledge_rag.console.documents import KeptDocuments
from knowledge_rag.console.server import running
from knowledge_rag.core.retrieval import SearchSettings, SearchType
from knowledge_rag.evaluation.faults.server import refused_port
from knowledge_rag.local.action_group import local_action_group
from knowledge_rag.local.corpus_files import CorpusFiles
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase, KnowledgeBaseDocuments
from knowledge_rag.local.local_retrieval import LocalFunction
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor
from knowledge_rag.orchestrator.advisors.bedrock_agent import AgentSettings, BedrockAgentAdvisor
from knowledge_rag.orchestrator.advisors.converse import ConverseAdvisor, ConverseSettings
from knowledge_rag.orchestrator.advisors.fallback import FallbackAdvisor
from knowledge_rag.orchestrator.backends.aws import BedrockRetrieve
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
from knowledge_rag.orchestrator.budget import Budget
from knowledge_rag.orchestrator.wording import agent_prompt
from tests.support import misbehaving_agents, misbehaving_models
from tests.support import scripted as scripted_agents
from tests.support.cli import SECONDS, eventually, lines_of
from tests.support.local import RUNBOOKS, minilm, write_files
from tests.support.patience import PATIENT_SECONDS, patient_function
from tests.support.scripted import LocalBedrock
from tests.unit.console.pages import assert_inert

QUESTION = "How to handle RDS failover?"
HOSTILE = "runbooks/hostile.md"
FILES = {
    **RUNBOOKS,
    HOSTILE: (
        "# Certificate renewal\n\n## Resolution\n\n"
        '1. Renew the certificate. <script>alert(1)</script> <a class="cite" href="/x">[1]</a>\n'
        "2. Restart the proxy [now](javascript:alert(1)) and see ![x](https://evil.example/x.png)\n"
        "   `[Source: runbooks/rds-failover.md, lines 1-2]` \u202eevil\u202c.\n"
    ),
}
REFERENCE = re.compile(r"\[Source: (?P<file>.+?), lines (?P<first>\d+)-(?P<last>\d+)\]")

AGENTS = {
    # their evidence is the knowledge base's own: the function in its process is no part of this
    name: replace(
        misbehaving_agents.SCRIPTED[name], evidence=scripted_agents.Evidence.KNOWLEDGE_BASE
    )
    for name in ("FABRICATES", "WRONGLINES", "CUTOFF0000", "SPLITREFS0")
}
MODELS = ("local.fabricates", "local.uncited")


class Pondering:
    """Never writes; tells when it is asked to stop."""

    def __init__(self):
        self.stopped = threading.Event()

    async def advise(self, _incident, _findings):
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()


PONDERING = Pondering()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("console") / "corpus", FILES)


@pytest.fixture(scope="module")
def knowledge_base(corpus):
    path = corpus.parent / "own.kb"
    ingest(corpus, path, embedder=minilm())
    with KnowledgeBase(path, minilm()) as opened:
        yield opened


@pytest.fixture(scope="module")
def documents(knowledge_base, corpus):
    return KeptDocuments(KnowledgeBaseDocuments(knowledge_base.path), CorpusFiles(corpus))


@pytest.fixture(scope="module")
def url(knowledge_base, documents, corpus):
    """A console with everyone who can write: nobody, models and agents, honest and otherwise."""
    with ExitStack() as stack:
        stack.enter_context(patient_function())
        bedrock = stack.enter_context(
            LocalBedrock(knowledge_base, agents=AGENTS, models=misbehaving_models.SCRIPTED)
        )
        function = stack.enter_context(local_action_group(bedrock.endpoint_url))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", bedrock.endpoint_url)
        advisors = {"extractive": ExtractiveAdvisor(), "pondering": PONDERING}
        for model in MODELS:
            settings = ConverseSettings(model, "us-east-1", attempts=1)
            advisor = stack.enter_context(closing(ConverseAdvisor(settings, agent_prompt())))
            advisors[model] = FallbackAdvisor(advisor)
        for agent in AGENTS:
            settings = AgentSettings(agent, scripted_agents.ALIAS_ID, "us-east-1")
            advisor = stack.enter_context(closing(BedrockAgentAdvisor(settings)))
            advisors[agent] = FallbackAdvisor(advisor)
        way = stack.enter_context(
            closing(BoundedRetrieval(LocalFunction(function.body), Budget(PATIENT_SECONDS)))
        )
        settings = ConsoleSettings("tests", reports=corpus.parent / "reports.jsonl")
        app = create_console(way, documents, advisors, settings)
        yield stack.enter_context(running(app, 0))


def ask(url, question=QUESTION, **more):
    """Ask as the page does; give the events by name and data."""
    body = {"question": question, **more}
    with (
        httpx.Client(base_url=url, timeout=SECONDS) as client,
        client.stream("POST", "/api/ask", json=body, headers={"Origin": url[:-1]}) as response,
    ):
        assert response.headers["content-type"].startswith("text/event-stream"), response.read()
        text = "".join(response.iter_text())
    return events_in(text)


def events_in(text):
    events = []
    for number, block in enumerate(re.split(r"\n\n", text)[:-1], start=1):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        if fields:
            assert fields["id"] == str(number)
            events.append((fields["event"], json.loads(fields["data"])))
    return events


def only(events, name):
    return [data for event, data in events if event == name]


def html_of(events):
    blocks = {}
    for name, data in events:
        if name == "chunk":
            blocks[data["block"]] = data["html"]
        elif data.get("stage") == "restarted":
            blocks.clear()
    return "".join(blocks[number] for number in sorted(blocks))


def assert_every_citation_exact(events, corpus):
    """Each link is to lines that a source holds, byte for byte those of the file."""
    sources = {one["number"]: one for one in only(events, "citations")[-1]["sources"]}
    for one in sources.values():
        cited = one["citation"]
        lines = lines_of(corpus / cited["source_file"], cited["start_line"], cited["end_line"])
        assert one["content"] == lines
    cites = assert_inert(html_of(events), cites=None).cites
    for cite in cites:
        source = sources[int(cite["data-number"])]["citation"]
        first, last = map(int, cite["data-lines"].split("-"))
        assert source["start_line"] <= first <= last <= source["end_line"]
        assert cite["href"] == f"/doc/{source['source_file']}#L{first}-L{last}"
    return cites


def test_a_question_is_answered_and_each_citation_leads_to_its_lines(url, corpus):
    events = ask(url)
    assert [name for name, _ in events][-1] == "done"
    cites = assert_every_citation_exact(events, corpus)
    assert cites
    text = "".join(data["text"] for data in only(events, "chunk"))
    said = re.sub(r"`[^`]*`", "", text)  # brackets of a document's own are quoted as code
    assert len(REFERENCE.findall(said)) == len(cites)
    for cite in cites:
        path, _, lines = cite["href"].removeprefix("/doc/").partition("#")
        shown = httpx.get(
            f"{url}api/document", params={"source": path, "lines": lines}, timeout=SECONDS
        ).json()
        (one,) = shown["ranges"]
        assert "\n".join(shown["lines"][one["start"] - 1 : one["end"]]) == lines_of(
            corpus / path, one["start"], one["end"]
        )
        assert shown["file"] == "same"
        assert "stale" not in one


@pytest.mark.parametrize("advisor", ["local.fabricates", "FABRICATES", "WRONGLINES"])
def test_a_fabricated_citation_is_removed_and_reported(url, corpus, advisor):
    events = ask(url, advisor=advisor)
    cites = assert_every_citation_exact(events, corpus)
    (done,) = only(events, "done")
    if advisor == "local.fabricates":  # at least this one is shown with what was removed
        assert done["recommendation"]["advisor"] == "converse"
        told = httpx.get(f"{url}api/metrics", timeout=SECONDS).json()["answers"]
        assert told["invalidReferences"] >= 1
    if done["recommendation"]["advisor"] != "extractive":
        assert cites
        removed = only(events, "warnings")[0]["removed"]
        assert removed
        text = "".join(data["text"] for data in only(events, "chunk"))
        for one in removed:
            assert one["reference"] not in text
            assert one["message"]
    else:  # nothing of the answer could be proven, so the retrieved lines themselves are given
        assert only(events, "warnings")[0]["warnings"]


def test_a_model_that_cites_nothing_is_replaced_and_the_reader_told(url, corpus):
    events = ask(url, advisor="local.uncited")
    assert_every_citation_exact(events, corpus)
    (done,) = only(events, "done")
    assert done["recommendation"]["advisor"] == "extractive"
    assert any(
        "quoted from the retrieved lines" in one["message"]
        for one in only(events, "warnings")[0]["warnings"]
    )


def test_a_cut_stream_gives_an_answer_all_the_same(url, corpus):
    events = ask(url, advisor="CUTOFF0000")
    assert assert_every_citation_exact(events, corpus)


def test_an_answer_that_comes_in_small_pieces_is_in_the_end_the_verified_one(url, corpus):
    events = ask(url, advisor="SPLITREFS0")
    assert assert_every_citation_exact(events, corpus)
    (done,) = only(events, "done")
    kept = httpx.get(f"{url}api/answers/{done['answerId']}", timeout=SECONDS).json()
    text = ""
    for name, data in events:
        if name == "chunk":
            text += data["text"]
        elif data.get("stage") == "restarted":
            text = ""
    assert text == kept["text"]
    assert "".join(kept["blocks"]) == html_of(events)
    # it was shown while it was written, reference by reference
    assert len(only(events, "chunk")) > len(kept["blocks"])


def test_hostile_documents_are_only_read(url, corpus):
    events = ask(url, "How to renew the certificate and restart the proxy?")
    cites = assert_every_citation_exact(events, corpus)
    assert any(HOSTILE in cite["href"] for cite in cites)
    page = assert_inert(html_of(events), cites=None)
    assert "<script>alert(1)</script>" in page.text
    assert "\u202e" not in page.text
    shown = httpx.get(f"{url}api/document", params={"source": HOSTILE}, timeout=SECONDS).json()
    assert shown["lines"] == FILES[HOSTILE].split("\n")[:-1]


def test_nothing_documented_and_nothing_reached_are_told_apart(url, documents):
    nothing = ask(url, "Which wine goes with grilled octopus in Lisbon?")
    # of a handful of documents a query for "resolution" finds those; none of it is an answer
    assert only(nothing, "done")[0]["recommendation"]["status"] == "no_match"
    assert only(nothing, "done")[0]["citationCount"] == 0
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        closed = stack.enter_context(refused_port())
        patch.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", f"http://127.0.0.1:{closed}")
        way = BedrockRetrieve(SearchSettings("LOCALKB001", SearchType.HYBRID), "us-east-1")
        retrieval = stack.enter_context(closing(BoundedRetrieval(way, Budget(PATIENT_SECONDS))))
        app = create_console(retrieval, documents, {"extractive": ExtractiveAdvisor()})
        down = ask(stack.enter_context(running(app, 0)))
    (done,) = only(down, "done")
    assert (done["success"], done["recommendation"]["status"]) == (False, "degraded")
    assert only(down, "status")[1]["message"] == "The knowledge base could not be searched"
    assert only(down, "citations") == []


def test_a_reader_who_leaves_ends_the_consultation_and_others_go_on(url):
    before = (
        httpx.get(f"{url}api/metrics", timeout=SECONDS).json()["asks"]["outcomes"].get("left", 0)
    )
    body = json.dumps({"question": QUESTION, "advisor": "pondering"})
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=SECONDS)
    connection.request("POST", "/api/ask", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    while b"writing" not in response.readline():
        pass
    assert httpx.get(f"{url}api/metrics", timeout=SECONDS).json()["asks"]["running"] >= 1
    assert only(ask(url), "done")
    response.close()
    connection.close()
    assert PONDERING.stopped.wait(SECONDS)

    def left():
        asks = httpx.get(f"{url}api/metrics", timeout=SECONDS).json()["asks"]
        return asks["outcomes"].get("left", 0) == before + 1 and asks["running"] == 0

    eventually(left, "the end of what nobody reads")


def test_several_questions_at_once_each_have_their_own_answer(url, corpus):
    questions = [
        QUESTION,
        "Lambda throttling: raise the concurrency?",
        "Why did the RDS failover take forty minutes?",
    ]
    with ThreadPoolExecutor(3) as pool:
        for events in pool.map(lambda it: ask(url, it), questions):
            assert_every_citation_exact(events, corpus)
            assert only(events, "done")


@pytest.mark.parametrize(
    "target",
    [
        "/static/../app.py",
        "/static/js/../index.html",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/static/%00",
        "/api/answers/../metrics",
        "/api/answers/%2e%2e%2fmetrics",
        "//evil.example/",
        "/api/document/../console",
    ],
)
def test_no_path_leads_to_a_file(url, target):
    status, body = raw(
        url, f"GET {target} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nConnection: close\r\n\r\n"
    )
    assert status == 404
    assert b"root:" not in body


@pytest.mark.parametrize(
    "head",
    [
        "GET / HTTP/1.1\r\nHost: evil.example",
        "GET / HTTP/1.0",
        "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example",
        "POST /api/ask HTTP/1.1\r\nHost: {netloc}\r\nOrigin: http://evil.example\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}",
        "OPTIONS /api/ask HTTP/1.1\r\nHost: {netloc}\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: POST",
    ],
)
def test_strangers_are_refused(url, head):
    status, body = raw(url, head.format(netloc=urlsplit(url).netloc) + "\r\n\r\n")
    assert status == 403
    assert b"access-control" not in body.lower()


def raw(url, request):
    """Send what no client would, and read to the end; gives the status and all that came."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=SECONDS) as connection:
        connection.sendall(request.encode())
        connection.shutdown(socket.SHUT_WR)
        data = b""
        while part := connection.recv(65536):
            data += part
    return int(data.split(b" ", 2)[1]), data


def test_a_body_without_end_is_cut_off(url):
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=SECONDS) as connection:
        head = f"POST /api/ask HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        part = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        try:
            for _ in range(64):
                connection.sendall(part)
        except OSError:
            pass  # it has heard enough
        assert b"413" in connection.recv(65536).split(b"\r\n")[0]
