"""Other agents: what they are answered over A2A, what is refused and what is bounded."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import asynccontextmanager

import httpx
import pytest
from a2a.client import A2AClientError
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import A2AError

from knowledge_rag.console import limits, replies
from knowledge_rag.console.agent_api import CARD_PATH, PATH, Agents, Contexts
from knowledge_rag.console.app import ConsoleSettings
from knowledge_rag.console.limits import MAX_AGENT_ASKS, MAX_BODY_BYTES, MAX_CONTEXT_ID
from knowledge_rag.core.version import VERSION
from knowledge_rag.orchestrator.budget import Budget
from knowledge_rag.orchestrator.follow_ups import WELCOME
from tests.support.a2a_served import message, talking, told, told_in_turn
from tests.support.retrievals import DOWN, NOTHING, Answering, Waiting, found
from tests.unit.console.test_http import OWN
from tests.unit.console.test_model_api import ASKED, console, sent
from tests.unit.console.test_questions import FOUND, Failing, Writing, passage

SECRET = "t0pHus!9vKq2"


class Opened:
    """An app for as long as a test talks to it, and its agents."""

    def __init__(self, retrieval=None, budget=None, **advisors):
        settings = ConsoleSettings(agents=self._made, budget=budget or Budget())
        self.app = console(retrieval, settings, **advisors)

    def _made(self, asker):
        self.agents = Agents(asker)
        return self.agents

    @asynccontextmanager
    async def client(self, **how):
        transport = httpx.ASGITransport(self.app)
        async with talking(OWN, transport=transport, **how) as (client, _):
            yield client
        await self.agents.aclose()


def talked(opened, *turns, **how):
    """Send turns in one context, and return what came of each."""

    async def talk():
        async with opened.client(**how) as client:
            return await told_in_turn(client, *turns)

    return asyncio.run(talk())


def refused(opened, asked, **configuration):
    async def ask():
        async with opened.client() as client:
            with pytest.raises((A2AError, A2AClientError)) as caught:
                await told(client, asked, **configuration)
        return str(caught.value)

    return asyncio.run(ask())


# answers


def test_the_card_names_the_address_that_it_was_asked_at():
    opened = Opened()
    for host in ("127.0.0.1:8320", "localhost:8320", "[::1]:8320"):
        card = sent(opened.app, "GET", CARD_PATH, headers={"Host": host}).json()
        assert {it["url"] for it in card["supportedInterfaces"]} == {f"http://{host}{PATH}"}
        assert card["version"] == VERSION
        assert card["capabilities"] == {"streaming": True, "pushNotifications": False}


def test_without_the_setting_there_are_no_such_paths():
    assert sent(console(), "GET", CARD_PATH).status_code == 404
    assert sent(console(), "POST", PATH, json={}).status_code == 404


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("streaming", [False, True])
def test_an_answer_is_an_artifact_with_markdown_and_its_citations(version, streaming):
    (came,) = talked(Opened(), ASKED, version=version, streaming=streaming)
    (cited,) = came.data["citations"]
    assert cited == {
        "number": 1,
        "source_file": "runbooks/failover.md",
        "start_line": 5,
        "end_line": 5,
        "url": f"{OWN}/doc/runbooks/failover.md#L5-L5",
        "text": "1. Promote the replica with `promote`.",
    }
    assert rf"[\[1\]](<{cited['url']}>)" in came.text
    assert (came.data["status"], came.data["written_by_model"]) == ("ok", False)
    assert came.data["choices"] == []
    assert came.states == (["submitted", "working", "completed"] if streaming else ["completed"])


def test_nothing_found_is_an_answer_and_nothing_reached_is_a_failure():
    (nothing,) = talked(Opened(Answering(NOTHING)), ASKED)
    assert nothing.text.startswith("Nothing documented.")
    assert (nothing.states, nothing.data["status"]) == (["completed"], "no_match")
    (down,) = talked(Opened(Answering(DOWN)), ASKED)
    assert down.text.startswith("The knowledge base could not be searched")
    assert (down.states, down.data["status"]) == (["failed"], "degraded")
    assert nothing.data["citations"] == down.data["citations"] == []


def test_what_a_model_wrote_is_said_and_nothing_in_it_becomes_a_link():
    written = (
        "1. Promote the replica. [Source 1]\n2. [Go](https://evil.example) [Source 9] \ud800\n"
    )
    (came,) = talked(Opened(converse=Writing(written)), ASKED)
    assert came.data["written_by_model"] is True
    assert {it["url"] for it in came.data["citations"]} == {f"{OWN}/doc/runbooks/failover.md#L1-L5"}
    assert "](<https://evil" not in came.text
    assert "\\ud800" in came.text  # half a character, which protobuf can't hold


def test_secrets_are_masked_in_the_text_and_in_the_data():
    lines = f"# RDS failover\n\n## Resolution\n\n1. Run `export PGPASSWORD={SECRET}` and promote.\n"
    (came,) = talked(Opened(Answering(found(passage("runbooks/failover.md", lines)))), ASKED)
    assert "<secret-masked>" in came.text
    assert "<secret-masked>" in came.data["citations"][0]["text"]
    assert SECRET not in came.text + json.dumps(came.data)


def test_an_advisor_that_fails_is_a_failure():
    (came,) = talked(Opened(converse=Failing()), ASKED)
    assert (came.states, came.data["status"]) == (["failed"], "degraded")


def test_thanks_get_one_sentence_and_the_question_before_is_still_referred_to():
    retrieval = Answering(FOUND)
    first, thanks, again = talked(Opened(retrieval), ASKED, "Thanks!", "And how do I undo it?")
    assert (thanks.text, thanks.data, thanks.states) == (WELCOME, {}, ["completed"])
    assert again.text.startswith(f"**{ASKED}: And how do I undo it?**")
    assert first.context == thanks.context == again.context
    assert len({first.task, thanks.task, again.task}) == 3


def test_contexts_know_nothing_of_each_other():
    opened = Opened()

    async def talk():
        async with opened.client() as client:
            await told(client, ASKED, "mine")
            return await told(client, "And how do I undo it?", "yours")

    assert ASKED not in asyncio.run(talk()).text


def limited(tokens):
    async def ask():
        async with Opened().client() as client:
            return await told(client, ASKED, metadata={"max_tokens": tokens})

    return asyncio.run(ask())


def test_a_limit_of_tokens_leaves_out_whole_procedures_and_names_their_lines():
    assert "1. Promote" in limited(1_000).text
    for wrong in (99, -1, 100.5, "200"):
        came = limited(wrong)
        assert came.states == ["rejected"]
        assert "max_tokens must be a whole number of at least 100" in came.text


# refusals


def part(**content):
    made = message("look at this")
    made.parts.add(**content)
    return made


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (part(url="http://evil.example/a.png"), "parts must be text"),
        (part(raw=b"x", media_type="image/png"), "parts must be text"),
        (part(data={"struct_value": {"fields": {}}}), "parts must be text"),
        (part(), "parts must be text"),
        (message("x", role=2), "must be the user's"),
        (message("x", context_id="c" * (MAX_CONTEXT_ID + 1)), "may have 200 characters"),
        (message(""), "no text"),
    ],
)
def test_a_message_that_can_t_be_answered_is_refused_with_the_reason_and_has_no_task(asked, reason):
    opened = Opened()
    assert reason in refused(opened, asked)
    assert not opened.agents._handler.task_store._impl.tasks


@pytest.mark.parametrize(
    ("asked", "state", "reason"),
    [
        ("7", "rejected", "a number alone isn't a question"),
        ("?!", "rejected", "no letter or digit"),
        ("x" * 20_001, "rejected", "question has 20001 characters"),
    ],
)
def test_a_text_that_is_no_question_is_rejected_with_the_reason(asked, state, reason):
    (came,) = talked(Opened(), asked)
    assert came.states == [state]
    assert reason in came.text
    assert came.data == {}


def test_push_notifications_are_refused_however_they_are_asked_for():
    wanted = TaskPushNotificationConfig(url="http://evil.example/hook")
    assert "push notifications are not sent" in refused(
        Opened(), ASKED, task_push_notification_config=wanted
    )

    async def configure():
        async with Opened().client() as client:
            with pytest.raises(A2AError, match="not supported"):
                await client.create_task_push_notification_config(
                    TaskPushNotificationConfig(task_id="t", url="http://evil.example/hook")
                )

    asyncio.run(configure())


def test_a_task_that_is_over_is_found_by_its_id_and_not_gone_on_with():
    async def talk():
        async with Opened().client() as client:
            came = await told(client, ASKED)
            found = await client.get_task(GetTaskRequest(id=came.task))
            listed = await client.list_tasks(ListTasksRequest(context_id=came.context))
            with pytest.raises(A2AError, match="contextId is missing"):
                await client.list_tasks(ListTasksRequest())
            with pytest.raises(A2AError, match="leave out taskId"):
                await told(client, message("more", came.context, task_id=came.task))
            with pytest.raises(A2AError, match="not found"):
                await told(client, message("more", task_id="nothing"))
            with pytest.raises(A2AError, match="not found"):
                await client.get_task(GetTaskRequest(id="nothing"))
            return came, found, listed

    came, found, listed = asyncio.run(talk())
    assert found.id == came.task
    assert found.artifacts[0].parts[0].text == came.text
    assert [it.id for it in listed.tasks] == [came.task]


VALID = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage"}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, -32700),
        (b"\xff", 400, -32700),
        (b"[" * 5_000, 400, -32700),
        (b'{"a": NaN}', 400, -32700),
        (b'{"a": "\\ud800"}', 400, -32700),
        (b"x" * 5_000_000, 413, -32600),
        (b" " * (MAX_BODY_BYTES + 1), 413, -32600),
        (b"[]", 200, -32600),
        (b"7", 200, -32600),
        (json.dumps([VALID]).encode(), 200, -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "Nothing"}', 200, -32601),
        (json.dumps(VALID | {"params": {"message": 7}}).encode(), 200, -32602),
        (json.dumps(VALID | {"params": {}}).encode(), 200, -32602),
    ],
)
def test_a_request_that_is_none_gets_an_error_of_json_rpc_and_is_in_no_log(
    body, status, code, caplog
):
    caplog.set_level(logging.DEBUG, "a2a")
    headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}
    response = sent(Opened().app, "POST", PATH, content=body, headers=headers)
    assert response.status_code == status
    assert response.json()["error"]["code"] == code
    assert not [it for it in caplog.records if it.name.startswith("a2a")]


def test_only_json_for_this_host_and_from_no_other_page_is_answered():
    app = Opened().app
    for headers, status in (
        ({"Content-Type": "text/plain"}, 415),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ):
        given = {"Content-Type": "application/json", **headers}
        assert sent(app, "POST", PATH, content=b"{}", headers=given).status_code == status
    assert sent(app, "GET", CARD_PATH, headers={"Host": "evil.example"}).status_code == 403


def test_a_defect_tells_the_client_nothing_and_the_log_what(monkeypatch, caplog):
    def burn(*_):
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(replies, "note_from", burn)
    (came,) = talked(Opened(), ASKED)
    assert came.states == ["failed"]
    assert "log says why" in came.text
    assert "fire" not in came.text
    assert "RuntimeError" in caplog.text


# bounds


def test_an_answer_that_takes_too_long_is_a_failure(monkeypatch):
    from knowledge_rag.console import app as app_module

    monkeypatch.setattr(app_module, "ASK_SECONDS", 0.05)
    (came,) = talked(Opened(Waiting(), Budget(0.1)), ASKED)
    assert came.states == ["failed"]
    assert "took too long" in came.text


def test_agents_leave_room_for_people_and_who_waits_can_cancel_and_is_bounded(monkeypatch):
    monkeypatch.setattr(limits, "MAX_AGENT_WAITING", 3)
    retrieval = Waiting()
    opened = Opened(retrieval, Budget(30))

    async def crowd():
        async with opened.client() as client:
            now = {"return_immediately": True}
            tasks = [await told(client, ASKED, **now) for _ in range(MAX_AGENT_ASKS)]
            waiting = [await told(client, ASKED, **now) for _ in range(3)]
            executor = opened.agents._handler.agent_executor
            while executor.waiting < 3 or retrieval.waiting < MAX_AGENT_ASKS:  # noqa: ASYNC110 - it is the server's state that is waited for
                await asyncio.sleep(0)
            with pytest.raises(A2AError, match="3 questions are waiting"):
                await told(client, ASKED)
            for one in (tasks[0], waiting[0]):
                ended = await client.cancel_task(CancelTaskRequest(id=one.task))
                assert ended.status.state == TaskState.TASK_STATE_CANCELED
            # one of those that wait has the room of the one that was worked on
            while executor.waiting > 1:  # noqa: ASYNC110 - likewise
                await asyncio.sleep(0)

    asyncio.run(crowd())
    assert retrieval.cancelled == retrieval.waiting


def test_the_last_tasks_are_kept_and_nothing_of_the_others(monkeypatch):
    monkeypatch.setattr(limits, "MAX_TASKS", 5)

    async def ask():
        opened = Opened()
        async with opened.client() as client:
            came = [await told(client, "Thanks!") for _ in range(8)]
            with pytest.raises(A2AError, match="not found"):
                await client.get_task(GetTaskRequest(id=came[2].task))
            assert await client.get_task(GetTaskRequest(id=came[3].task))
            handler = opened.agents._handler
            (kept,) = handler.task_store._impl.tasks.values()
            assert len(kept) == 5
            assert len(handler._active_task_registry._active_tasks) <= 1

    asyncio.run(ask())


def test_a_conversation_is_forgotten_when_there_are_too_many_or_they_are_too_large():
    def turns(text):
        return [{"role": "user", "content": text}]

    contexts = Contexts(most=2, most_bytes=10)
    for key in "abc":
        contexts.keep(key, turns(key))
    assert [contexts.turns(key) for key in "abc"] == [[], turns("b"), turns("c")]
    contexts.keep("b", turns("\u00e9" * 4))
    assert [contexts.turns(key) for key in "bc"] == [turns("\u00e9" * 4), turns("c")]
    contexts.keep("b", turns("\u00e9" * 5))
    assert [contexts.turns(key) for key in "bc"] == [turns("\u00e9" * 5), []]
    contexts.keep("b", turns("x" * 11))
    assert contexts.turns("b") == []
    contexts.keep("b", turns("x" * 10))
    assert contexts.turns("b") == turns("x" * 10)
