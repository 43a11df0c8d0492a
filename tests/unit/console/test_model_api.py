"""Chat clients: what their APIs answer, refuse and give up, in the format of each."""

from __future__ import annotations

import asyncio
import http.client
import json
from urllib.parse import urlsplit

import httpx
import pytest

from knowledge_rag.console import app as app_module
from knowledge_rag.console import model_api, replies
from knowledge_rag.console.app import ConsoleSettings, create_console
from knowledge_rag.console.documents import KeptDocuments
from knowledge_rag.console.limits import MAX_ASKS, MAX_CONVERSATION_BYTES
from knowledge_rag.console.model_formats import FORMS
from knowledge_rag.console.server import running
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor
from knowledge_rag.orchestrator.budget import Budget
from knowledge_rag.orchestrator.follow_ups import WELCOME
from tests.support.cli import eventually
from tests.support.retrievals import DOWN, NOTHING, Answering, Waiting
from tests.unit.console.kept import Shelf
from tests.unit.console.test_http import OWN
from tests.unit.console.test_questions import FOUND, Failing, Writing

ASKED = "RDS failover promote replica"
CHAT, RESPONSES, MESSAGES = FORMS


def console(retrieval=None, settings=None, **advisors):
    advisors = advisors or {"extractive": ExtractiveAdvisor()}
    retrieval = retrieval or Answering(FOUND)
    return create_console(retrieval, KeptDocuments(Shelf()), advisors, settings)


def sent(app, method, path, **more):
    async def request():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=OWN) as client:
            return await client.request(method, path, **more)

    return asyncio.run(request())


def body_of(path, question=ASKED, model="knowledge-rag", **more):
    turns = [{"role": "user", "content": question}]
    return {"model": model, ("input" if path == RESPONSES else "messages"): turns, **more}


def replied(app, path=CHAT, **more):
    response = sent(app, "POST", path, json=body_of(path, **more))
    assert response.status_code == 200, response.text
    return response


def text_of(app, **more):
    return replied(app, **more).json()["choices"][0]["message"]["content"]


def events_in(response):
    """Return the data of a stream's events."""
    lines = response.text.split("\n")
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [json.loads(it) for it in data if it != "[DONE]"]


def error_of(path, response):
    """Return an error's type and message, whose form has to be that of the path's API."""
    body = response.json()
    if path == MESSAGES:
        assert list(body) == ["type", "error"]
        assert body["type"] == "error"
        assert list(body["error"]) == ["type", "message"]
    else:
        assert list(body) == ["error"]
        assert list(body["error"]) == ["message", "type", "param", "code"]
    return body["error"]["type"], body["error"]["message"]


# models


def test_each_advisor_is_a_model_and_the_default_has_a_name_of_its_own():
    app = console(
        converse=Writing("1. Promote the replica. [Source 1]"), extractive=ExtractiveAdvisor()
    )
    models = sent(app, "GET", "/v1/models").json()["data"]
    names = [it["id"] for it in models]
    assert names == ["knowledge-rag", "knowledge-rag-converse", "knowledge-rag-extractive"]
    for name in names:
        assert sent(app, "GET", f"/v1/models/{name}").json()["id"] == name
    assert text_of(app) == text_of(app, model=names[1]) != text_of(app, model=names[2])
    assert "Written by a model" in text_of(app)
    assert replied(app, model=names[2]).json()["model"] == names[2]


@pytest.mark.parametrize(
    "name", ["gpt-5", "", "extractive", "knowledge-rag-", "knowledge-rag-oracle"]
)
def test_another_model_is_not_there(name):
    for path in FORMS:
        response = sent(console(), "POST", path, json=body_of(path, model=name))
        assert response.status_code == 404
        assert "known models: knowledge-rag" in error_of(path, response)[1]
    error = sent(console(), "POST", CHAT, json=body_of(CHAT, model=name)).json()["error"]
    assert (error["param"], error["code"]) == ("model", "model_not_found")
    assert sent(console(), "GET", f"/v1/models/{name or 'x'}").status_code == 404


# answers


def test_a_model_s_fabrications_and_links_are_words_and_only_proven_lines_are_links():
    written = (
        "1. Promote the replica. [Source 1]\n"
        "2. See [the page](https://evil.example/a) ![x](https://evil.example/b.png) <b>now</b>.\n"
        "3. Drop it. [Source: secret/none.md, lines 1-2] [Source 9] [\\[1\\]](<http://evil.example>)\n"
    )
    app = console(converse=Writing(written))
    message = replied(app).json()["choices"][0]["message"]
    text, annotations = message["content"], [it["url_citation"] for it in message["annotations"]]
    assert {it["url"] for it in annotations} == {f"{OWN}/doc/runbooks/failover.md#L1-L5"}
    shown = [text[it["start_index"] : it["end_index"]] for it in annotations]
    link = rf"[\[1\]](<{annotations[0]['url']}>)"
    assert set(shown) <= {link, "[1]"}  # in code nothing is a link
    assert text.count("](<") == shown.count(link) >= 2
    assert "secret/none.md" not in text.partition("Written by a model")[2]


def test_nothing_found_and_nothing_reached_are_said_apart():
    assert text_of(console(Answering(NOTHING))).startswith("Nothing documented.")
    down = text_of(console(Answering(DOWN)))
    assert down.startswith("The knowledge base could not be searched")
    assert "Nothing documented" not in down


def test_an_advisor_that_fails_leaves_no_steps():
    text = text_of(console(converse=Failing()))
    assert text.startswith("The knowledge base could not be searched, or no advice")


@pytest.mark.parametrize("path", FORMS)
def test_a_lone_half_of_a_character_in_a_model_s_text_breaks_nothing(path):
    app = console(converse=Writing("1. Promote \ud800 it. [Source 1]"))
    assert r"\ud800" in replied(app, path).text
    assert events_in(replied(app, path, stream=True))


# refusals


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize(
    ("more", "status", "message"),
    [
        ({"content": b"{"}, 400, "not valid JSON"),
        ({"content": b"[]"}, 400, "not a JSON object"),
        ({"content": b"x" * (MAX_CONVERSATION_BYTES + 1)}, 413, "more than 4194304 bytes"),
        ({"json": {}}, 404, "known models: knowledge-rag"),
        ({"json": {"model": "knowledge-rag"}}, 400, "must be a list of turns"),
        ({"json": {"model": 7}}, 400, "model must be text"),
        ({"content": b"{}", "headers": {"Content-Type": "text/plain"}}, 415, "application/json"),
    ],
)
def test_a_request_that_is_none_is_refused_in_the_api_s_own_form(path, more, status, message):
    more = {"headers": {"Content-Type": "application/json"}, **more}
    response = sent(console(), "POST", path, **more)
    assert response.status_code == status
    assert message in error_of(path, response)[1]


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"n": 2}, "n"),
        ({"stream": "yes"}, "stream"),
        ({"background": True}, "background"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"text": {"format": {"type": "json_schema"}}}, "text.format"),
    ],
)
def test_a_wish_that_would_be_broken_is_refused(more, param):
    response = sent(console(), "POST", CHAT, json=body_of(CHAT, **more))
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


def test_what_steers_a_model_is_ignored():
    more = {"temperature": 2, "tools": [{"type": "function"}], "n": 1, "seed": 7}
    more |= {"response_format": {"type": "text"}, "text": {"format": {"type": "text"}}}
    assert text_of(console(), **more) == text_of(console())


LIMITS = [(CHAT, "max_completion_tokens"), (CHAT, "max_tokens"), (RESPONSES, "max_output_tokens")]


def test_a_limit_that_each_client_has_to_send_cuts_nothing():
    assert (
        replied(console(), MESSAGES, max_tokens=1).json()["content"]
        == (replied(console(), MESSAGES).json()["content"])
    )


@pytest.mark.parametrize(("path", "name"), LIMITS)
def test_a_limit_of_tokens_leaves_out_whole_procedures_and_names_their_lines(path, name):
    whole = replied(console(), path).text
    assert "promote" in whole
    assert replied(console(), path, **{name: 1_000}).text.count("promote") >= 1
    short = replied(console(), path, **{name: 20}).text
    assert "1. Promote" not in short
    assert "runbooks/failover.md" in short
    assert "20 tokens" in short


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "9"])
def test_a_limit_of_tokens_that_is_none_is_refused(value):
    for path, name in LIMITS:
        response = sent(console(), "POST", path, json=body_of(path, **{name: value}))
        assert response.status_code == 400
        assert f"{name} must be a whole number" in error_of(path, response)[1]


@pytest.mark.parametrize("path", [*FORMS, "/v1/models", "/v1/nothing"])
def test_a_guard_s_refusal_and_a_wrong_method_have_the_api_s_form(path):
    host = sent(console(), "POST", path, headers={"Host": "evil.example"}, json=body_of(path))
    assert host.status_code == 403
    assert "Host" in error_of(path, host)[1]
    other = sent(console(), "DELETE", path)
    assert other.status_code in (404, 405)
    assert error_of(path, other)[0]


def test_a_page_of_another_origin_gets_no_answer():
    headers = {"Origin": "http://localhost:3000"}
    assert sent(console(), "POST", CHAT, json=body_of(CHAT), headers=headers).status_code == 403


@pytest.mark.parametrize("path", FORMS)
def test_a_defect_tells_the_client_nothing_and_the_log_what(path, monkeypatch, caplog):
    def burn(*_):
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(replies, "note_from", burn)
    whole = sent(console(), "POST", path, json=body_of(path))
    streamed = sent(console(), "POST", path, json=body_of(path, stream=True))
    assert whole.status_code == 500
    assert len(events_in(streamed)) == 1
    for response in (whole, streamed):
        assert "log says why" in response.text
        assert "fire" not in response.text
    assert "RuntimeError" in caplog.text


# time


def late(**advisors):
    settings = ConsoleSettings(budget=Budget(0.1))
    return console(Waiting(), settings, **advisors)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(app_module, "ASK_SECONDS", 0.05)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("path", FORMS)
def test_an_answer_that_takes_too_long_is_an_error_and_never_a_text(path):
    response = sent(late(), "POST", path, json=body_of(path))
    assert response.status_code == 504
    assert "took too long" in error_of(path, response)[1]
    (event,) = events_in(sent(late(), "POST", path, json=body_of(path, stream=True)))
    said = event if path == RESPONSES else event["error"]
    assert "took too long" in said["message"]


@pytest.mark.usefixtures("impatient")
def test_a_choice_whose_offer_takes_too_long_is_an_error():
    turns = [
        {"role": "user", "content": "What is slow?"},
        {"role": "assistant", "content": "1. Failover"},
        {"role": "user", "content": "1"},
    ]
    body = {"model": "knowledge-rag", "messages": turns}
    assert sent(late(), "POST", CHAT, json=body).status_code == 504


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_who_leaves_ends_the_queries(stream):
    retrieval = Waiting()
    with running(console(retrieval), 0) as url:
        address = urlsplit(url)
        client = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        asked = json.dumps(body_of(CHAT, stream=stream))
        client.request("POST", CHAT, asked, {"Content-Type": "application/json"})
        eventually(lambda: retrieval.waiting > 0, "a query")
        client.close()
        eventually(lambda: retrieval.cancelled == retrieval.waiting, "the queries' end")


def test_while_an_answer_is_written_a_stream_has_signs_of_life(monkeypatch):
    monkeypatch.setattr(model_api, "PING_SECONDS", 0.01)
    asked = {"json": body_of(CHAT, stream=True), "timeout": 60}
    with (
        running(console(Waiting()), 0) as url,
        httpx.stream("POST", f"{url}v1/chat/completions", **asked) as response,
    ):
        for line in response.iter_lines():
            if line.startswith(": ping"):
                break


def test_one_question_too_many_is_told_to_come_back():
    async def crowd():
        app = console(Waiting())
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=OWN) as client:
            asked = [
                asyncio.ensure_future(client.post(path, json=body_of(path)))
                for path in [CHAT] * MAX_ASKS
            ]
            while (await client.get("/api/metrics")).json()["asks"]["running"] < MAX_ASKS:  # noqa: ASYNC110 - it is the server's state that is waited for
                await asyncio.sleep(0)
            refused = [(path, await client.post(path, json=body_of(path))) for path in FORMS]
            for one in asked:
                one.cancel()
            return refused

    for path, response in asyncio.run(crowd()):
        assert response.status_code == 503
        assert response.headers["retry-after"] == "2"
        assert "ask again in a moment" in error_of(path, response)[1]


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("stream", [False, True])
def test_thanks_get_a_friendly_sentence_and_no_search(path, stream):
    asked = Answering(FOUND)
    response = replied(console(asked), path, question="Thank you, that worked!", stream=stream)
    assert WELCOME in response.text
    assert asked.asked == []


def test_a_turn_that_asks_nothing_leaves_the_answer_before_it_what_follow_ups_refer_to():
    app = console()
    first = replied(app, RESPONSES, question=ASKED).json()["id"]
    thanked = replied(app, RESPONSES, question="ok", previous_response_id=first).json()["id"]
    again = replied(app, RESPONSES, question="and how do I undo it?", previous_response_id=thanked)
    assert f"{ASKED}: and how do I undo it?" in again.text
    alone = replied(app, RESPONSES, question="hi").json()["id"]
    assert alone != first
    replied(app, RESPONSES, question=ASKED, previous_response_id=alone)


@pytest.mark.parametrize("before", ["thanks!", "how do I bake bread"])
def test_a_turn_that_found_or_asked_nothing_is_no_context(before):
    asked = Answering(NOTHING)
    turns = [
        {"role": "user", "content": before},
        {"role": "assistant", "content": "Nothing documented."},
        {"role": "user", "content": "and how do I undo it?"},
    ]
    body = {"model": "knowledge-rag", "messages": turns}
    assert sent(console(asked), "POST", CHAT, json=body).status_code == 200
    assert asked.asked[-1].text.startswith("and how do I undo it?")


def test_an_address_below_one_of_the_apis_is_missing_in_that_api_s_form():
    response = sent(console(), "POST", f"{MESSAGES}/count_tokens", json=body_of(MESSAGES))
    assert response.status_code == 404
    assert error_of(MESSAGES, response)[0] == "not_found_error"
