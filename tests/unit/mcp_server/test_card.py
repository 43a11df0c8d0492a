"""The card of an answer: a page of its own, and the cited lines for clients that show it."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from jsonschema import Draft202012Validator
from mcp import MCPError
from mcp.client.extension import advertise

from knowledge_rag.core.outcome import Reason, RetrievalOutcome, Status
from knowledge_rag.mcp_server import card
from knowledge_rag.mcp_server.asking import Asking
from knowledge_rag.mcp_server.server import create_server
from tests.support.mcp_served import Answers, talking
from tests.support.runbooks import Search

TEXTS = {
    "runbooks/queue.md": "# QueueDepthTooHigh\n\nNever purge it.\n\n## Resolution\n\n1. Add two consumers:\n\n   ```sh\n   scale  --to 2\r\n   ```\n2. Wait.\n"
}
SHOWS = {"mimeTypes": ["text/html;profile=mcp-app"]}


def asked(settings, retrieval=None, mode="auto"):
    """Ask as a client with these settings of the extension; ``None`` doesn't know it."""

    extensions = [] if settings is None else [advertise(card.EXTENSION, settings)]
    server = create_server(Asking(retrieval or Search(TEXTS)), one_client=True)
    with talking(server, mode, extensions=extensions) as client:
        tools = {it.name: it for it in client.list_tools().tools}
        return tools, client.tool("ask", question="QueueDepthTooHigh")


def test_the_card_is_found_by_the_tool_and_read_without_any_documents():
    with talking(create_server(Asking(Search(TEXTS)), one_client=True)) as client:
        (tool,) = (it for it in client.list_tools().tools if it.name == "ask")
        assert card.EXTENSION in client.client.server_capabilities.extensions
        (read,) = client.read_resource(tool.meta["ui"]["resourceUri"]).contents
        with pytest.raises(MCPError, match="documents can't be read here"):
            client.read_resource("ui://knowledge-rag/other.html")
    assert read.mime_type == "text/html;profile=mcp-app"
    assert read.text.startswith("<!doctype html>\n<html")
    assert not any(read.meta["ui"]["csp"].values())


def test_only_its_own_script_and_style_may_run_and_nothing_is_loaded():
    page = card.page()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    for tag in ("script", "style"):
        (text,) = re.findall(rf"<{tag}[^>]*>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    for banned in ("http:", "https:", "innerHTML", "outerHTML", "insertAdjacent", "eval", "fetch("):
        assert banned not in page.replace("http-equiv", ""), banned


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_that_shows_it_gets_the_cited_lines_as_they_are(mode):
    tools, result = asked(SHOWS, mode=mode)
    body = result.structured_content
    Draft202012Validator(tools["ask"].output_schema).validate(body)
    assert body["cited_lines"]
    for it in body["cited_lines"]:
        lines = TEXTS[it["source_file"]].split("\n")
        assert it["text"] == "\n".join(lines[it["start_line"] - 1 : it["end_line"]])
    places = [(it["source_file"], it["start_line"], it["end_line"]) for it in body["cited_lines"]]
    assert len(set(places)) == len(places)
    for step in body["recommendation"]["guidance"]:
        for cited in (step["citation"], *step.get("further_citations", ())):
            assert (cited["source_file"], cited["start_line"], cited["end_line"]) in places


@pytest.mark.parametrize("settings", [None, {}, {"mimeTypes": ["text/html"]}, {"mimeTypes": 7}])
def test_others_get_what_they_got_before(settings):
    _, result = asked(settings)
    assert "cited_lines" not in result.structured_content


def test_lines_beyond_the_limit_are_left_out(monkeypatch):
    _, whole = asked(SHOWS)
    monkeypatch.setattr(
        card, "MAX_CHARACTERS", len(whole.structured_content["cited_lines"][0]["text"])
    )
    _, result = asked(SHOWS)
    assert len(result.structured_content["cited_lines"]) == 1


def test_an_outage_has_no_lines():
    outage = RetrievalOutcome(Status.DEGRADED, reason=Reason.THROTTLED)
    _, result = asked(SHOWS, Answers(outage))
    assert result.structured_content["status"] == "degraded"
    assert "cited_lines" not in result.structured_content
