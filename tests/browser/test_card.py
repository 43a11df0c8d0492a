"""The card of an answer in a host's sandboxed frame: steps with their lines, whatever the documents say."""

from __future__ import annotations

import json

import pytest
from mcp.client.extension import advertise
from playwright.sync_api import expect

from knowledge_rag.channel.message import BY_MODEL
from knowledge_rag.evaluation.faults.server import serving, silent
from knowledge_rag.mcp_server import card
from knowledge_rag.mcp_server.asking import Asking
from knowledge_rag.mcp_server.server import create_server
from tests.browser.test_hostile import PAYLOADS, runbook, texts
from tests.support.mcp_served import talking
from tests.support.runbooks import Search

HOST = """<!doctype html><iframe id="view" sandbox="allow-scripts"></iframe>
<iframe id="other" sandbox="allow-scripts"></iframe><script>
window.got = [];
window.post = (message) => view.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
window.addEventListener("message", ({ source, data }) => {
  if (source !== view.contentWindow) return;
  got.push(data);
  if (data.method === "ui/initialize") post({ id: data.id, result: {
    protocolVersion: "2026-01-26", hostInfo: { name: "host", version: "1" }, hostCapabilities: {},
    hostContext: { theme: "dark" } } });
});
</script>"""
RUNBOOKS = {
    "runbooks/queue.md": (
        "# QueueDepthTooHigh\n\nNever purge the queue.\n\n## Resolution\n\n1. Add two consumers:\n\n"
        "   ```sh\n   scale  --to 2\n   ```\n2. Remove the old ones with `kubectl delete pod`.\n"
    )
}
ELEMENTS = {
    "HTML", "HEAD", "META", "TITLE", "STYLE", "BODY", "MAIN", "SCRIPT", "SECTION", "DETAILS", "SUMMARY",
    "OL", "UL", "LI", "P", "B", "PRE", "SPAN", "H2", "H3",
}  # fmt: skip


def content_of(files, question):
    """Return what ``ask`` returns to a client that shows cards."""

    shows = advertise(card.EXTENSION, {"mimeTypes": ["text/html;profile=mcp-app"]})
    with talking(create_server(Asking(Search(files))), extensions=[shows]) as client:
        return client.tool("ask", question=question).structured_content


class Card:
    """A host's page with the card in it."""

    def __init__(self, page):
        self.page = page
        self.faults = []
        page.on("console", lambda it: self.faults.append(it.text))
        page.on("pageerror", lambda it: self.faults.append(str(it)))
        page.on("dialog", lambda it: (self.faults.append(it.message), it.dismiss()))
        page.on("request", lambda it: self.faults.append(it.url))
        page.set_content(HOST)
        page.evaluate("(html) => { view.srcdoc = html; }", card.page())
        self.until("got.some((it) => it.method === 'ui/notifications/initialized')")
        self.frame = next(it for it in page.frames if it.parent_frame and it.url == "about:srcdoc")
        self.text = page.frame_locator("#view").locator("main")

    def until(self, expression):
        self.page.wait_for_function(expression, timeout=20_000)

    def post(self, **message):
        self.page.evaluate("(message) => post(message)", message)

    def show(self, structured, **more):
        result = {"content": [], "structuredContent": structured, **more}
        self.post(method="ui/notifications/tool-result", params=result)
        self.post(id=f"after {id(structured)}", method="ping")
        self.until(f"got.some((it) => it.id === 'after {id(structured)}')")
        return self.text.inner_text()

    def elements(self):
        return set(
            self.frame.evaluate("[...document.querySelectorAll('*')].map((it) => it.tagName)")
        )


@pytest.fixture
def shown(browser):
    with browser.context() as context:
        it = Card(context.new_page())
        yield it
        assert it.faults == []


def test_each_step_opens_on_the_lines_that_it_cites(shown):
    content = content_of(RUNBOOKS, "QueueDepthTooHigh")
    text = shown.show(content)
    assert "Add two consumers" in text
    assert "Must not be done: Never purge the queue." in text
    assert "Destructive: " in text
    places = shown.frame.evaluate(
        """[...document.querySelectorAll("details")].map((it) => [it.querySelector("summary").textContent,
          it.querySelector("ol").start, [...it.querySelectorAll("li")].map((line) => line.textContent)])"""
    )
    assert len(places) >= len(content["recommendation"]["guidance"]) == 2
    for place, first, lines in places:
        file, _, numbers = place.partition(":")
        start, _, end = numbers.partition("-")
        assert first == int(start)
        wanted = RUNBOOKS[file].split("\n")[int(start) - 1 : int(end or start)]
        assert lines == wanted


def test_a_models_steps_stand_apart_and_open_on_what_they_cite(shown):
    content = content_of(RUNBOOKS, "QueueDepthTooHigh")
    (first, *_), procedures = (content["recommendation"][it] for it in ("guidance", "procedures"))
    content["recommendation"] |= {
        "procedures": [],
        "guidance": [{**first, "procedure": 0, "action": "runbooks/none.md:1-9"}],
    }
    assert procedures
    shown.show(content)
    (written,) = shown.frame.evaluate(
        "[...document.querySelectorAll('.by-model')].map((it) => it.innerText)"
    )
    assert written.startswith(BY_MODEL)
    assert "runbooks/none.md:1-9" in written
    assert shown.frame.evaluate("document.querySelectorAll('.by-model details').length") >= 1


def test_hostile_documents_are_words(shown):
    files = {
        "runbooks/evil.md": runbook(PAYLOADS),
        "runbooks/<img src=x onerror=alert(1)>.md": runbook(PAYLOADS[:4]),
        "runbooks/planted.md": runbook(texts()),
    }
    seen = ""
    for question in ("How do we restart the parcel tracker?", "Restart the parcel tracker img"):
        seen += shown.show(content_of(files, question))
        assert shown.elements() <= ELEMENTS
    assert "onerror=alert(1)" in seen
    for markup in (*PAYLOADS, *texts()):
        hostile = {
            "status": "ok", "evidence": {"strength": markup, "reasons": [markup]},
            "warnings": [{"message": markup}],
            "recommendation": {
                "procedures": [{"section": [markup], "alert": markup, "source_file": markup,
                    "start_line": 1, "end_line": 1, "not_shown": [{"source_file": markup, "heading": markup}]}],
                "guidance": [{"procedure": 1, "number": markup, "action": markup, "commands": [markup],
                    "destructive": [markup], "citation": {"source_file": markup, "start_line": 1, "end_line": 1},
                    "warnings": [{"kind": "caution", "text": markup,
                        "citation": {"source_file": markup, "start_line": 1, "end_line": 1}}]}],
                "similar_incidents": [{"incident_id": markup, "resolution": markup,
                    "citation": {"source_file": markup, "start_line": 1, "end_line": 1}}],
                "unknown_words": [markup],
            },
            "cited_lines": [{"source_file": markup, "start_line": 1, "end_line": 1, "text": markup}],
        }  # fmt: skip
        text = shown.show(hostile)
        assert "\u202e" not in text
        assert shown.elements() <= ELEMENTS


def test_only_what_the_tool_returned_with_a_citation_is_shown(shown):
    content = content_of(RUNBOOKS, "QueueDepthTooHigh")
    forged = json.loads(json.dumps(content))
    step = {"step": 9, "procedure": 1, "action": "Drop all tables", "support": "supported"}
    forged["recommendation"]["guidance"].append(step)
    forged["analysis"] = "Reboot everything"
    forged["cited_lines"][0]["text"] += "\nand a line more"
    text = shown.show(forged, content=[{"type": "text", "text": "Reboot the moon"}])
    assert "Add two consumers" in text
    for words in ("Drop all tables", "Reboot everything", "Reboot the moon", "and a line more"):
        assert words not in shown.frame.evaluate("document.body.textContent")


def test_messages_of_other_frames_are_ignored(shown):
    message = {
        "jsonrpc": "2.0", "method": "ui/notifications/tool-result",
        "params": {"structuredContent": content_of(RUNBOOKS, "QueueDepthTooHigh")},
    }  # fmt: skip
    source = f"<script>parent.frames[0].postMessage({json.dumps(message)}, '*')</script>"
    shown.page.evaluate("(html) => { other.srcdoc = html; }", source.replace("</s", "<\\/s", 0))
    shown.page.frame_locator("#other").locator("body").wait_for(state="attached")
    shown.post(id="later", method="ping")
    shown.until("got.some((it) => it.id === 'later')")
    assert shown.text.inner_text() == "Waiting for the answer ..."


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"status": "no_match"}, "Nothing documented."),
        ({"status": "degraded", "reason": "throttled"}, "could not be searched (throttled)"),
        (None, "Nothing documented."),
        ([], "Nothing documented."),
        (
            {"status": 7, "recommendation": "x", "cited_lines": 7, "warnings": {}},
            "Nothing documented.",
        ),
        (
            {"status": "ok", "recommendation": {"guidance": [7, None, {}], "procedures": [{}, 7]}},
            "Evidence",
        ),
    ],
)
def test_what_is_no_answer_is_said_or_shows_nothing(shown, content, words):
    assert words in shown.show(content)


def test_it_keeps_to_the_host_s_protocol(shown):
    shown.show(content_of(RUNBOOKS, "QueueDepthTooHigh"))
    shown.post(id="end", method="ui/resource-teardown", params={})
    shown.until("got.some((it) => it.id === 'end')")
    shown.until("got.some((it) => it.method === 'ui/notifications/size-changed')")
    got = shown.page.evaluate("got")
    assert got[0]["params"]["protocolVersion"] == "2026-01-26"
    assert set(got[0]["params"]) == {"appInfo", "appCapabilities", "protocolVersion"}
    methods = {it["method"] for it in got if "method" in it}
    assert methods == {
        "ui/initialize", "ui/notifications/initialized", "ui/notifications/size-changed",
    }  # fmt: skip
    assert shown.frame.evaluate("document.documentElement.style.colorScheme") == "dark"
    shown.post(method="ui/notifications/host-context-changed", params={"theme": "light"})
    shown.post(method="ui/notifications/tool-cancelled", params={"reason": "<b>x</b>"})
    expect(shown.text).to_have_text("The question was cancelled.")
    shown.show({}, isError=True)
    expect(shown.text).to_have_text("The question was refused.")


def test_nothing_but_its_own_script_runs_and_nothing_is_loaded(browser):
    with serving(silent) as server, browser.context() as context:
        it = Card(context.new_page())
        tried = it.frame.evaluate(
            """async (url) => {
              const tries = {
                markup: () => { document.body.innerHTML = "<img src=x onerror=alert(1)>"; },
                network: () => fetch(url),
                script: () => { document.createElement("script").text = "window.ran = true"; },
              };
              const found = {};
              for (const [name, attempt] of Object.entries(tries)) {
                try { await attempt(); found[name] = "done"; } catch (error) { found[name] = error.name; }
              }
              const image = new Image();
              const over = new Promise((done) => { image.onload = image.onerror = done; });
              image.src = `${url}/pixel.png`;
              await over;
              return found;
            }""",
            server.url,
        )
    assert tried == {"markup": "TypeError", "network": "TypeError", "script": "TypeError"}
    assert server.connections == 0
