"""The A2A SDK's own client, unmodified, against the real ``serve --a2a``, on the sample runbooks."""

from __future__ import annotations

import asyncio
import json
import re
import signal

import httpx
import pytest
from a2a.client import A2AClientError
from a2a.helpers import new_data_part, new_raw_part, new_url_part
from a2a.types.a2a_pb2 import GetTaskRequest, TaskPushNotificationConfig
from a2a.utils.errors import A2AError
from a2a.utils.proto_utils import validate_proto_required_fields

from tests.support.a2a_served import message, talking, told, told_in_turn
from tests.support.cli import OF_SAMPLE, SECONDS, lines_of
from tests.support.local import CORPUS, PROJECT

QUESTION = "SQS queue is backing up"
UNCLEAR = "the database is slow"
ALERT = (PROJECT / "tests/data/incidents/alertmanager-group.json").read_text()
OWN_QUESTIONS = {
    "SQS queue is backing up": "runbooks/sqs-backlog.md",
    "ACM certificate is about to expire": "runbooks/acm-certificate-expiry.md",
    "Redis memory is full, keys are evicted": "runbooks/elasticache-redis-memory.md",
    "NAT gateway port exhaustion": "runbooks/vpc-nat-exhaustion.md",
    "Lambda function is throttled": "runbooks/lambda-throttling.md",
}


@pytest.fixture(scope="module")
def url(settled, first_use):
    assert first_use.code == 0
    arguments = ("serve", "--a2a", "--port", "0", "--console-port", "0", "--json")
    with settled.started(*arguments) as process:
        yield json.loads(process.stdout.readline())["console_url"].rstrip("/")
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
        assert process.stderr.read() == OF_SAMPLE.encode()


def talked(url, *turns, **how):
    """Send turns in one context, and return what came of each."""

    async def talk():
        async with talking(url, **how) as (client, _):
            return await told_in_turn(client, *turns)

    return asyncio.run(talk())


def assert_exact(url, came):
    """Each citation of the data is of lines of a real file, and stands in the text as a link to them."""
    assert came.data["citations"]
    for one in came.data["citations"]:
        name, first, last = one["source_file"], int(one["start_line"]), int(one["end_line"])
        assert one["url"] == f"{url}/doc/{name}#L{first}-L{last}"
        assert one["text"] == lines_of(CORPUS / name, first, last)
        assert f"[\\[{int(one['number'])}\\]](<{one['url']}>)" in came.text
    linked = set(re.findall(r"\]\(<([^>]*)>\)", came.text))
    assert linked == {it["url"] for it in came.data["citations"]}


def test_the_card_is_valid_and_leads_to_the_endpoint(url):
    async def fetched():
        async with talking(url) as (_, card):
            return card

    card = asyncio.run(fetched())
    validate_proto_required_fields(card)
    assert {it.url for it in card.supported_interfaces} == {f"{url}/a2a"}
    assert [it.protocol_version for it in card.supported_interfaces] == ["1.0", "0.3"]
    assert card.capabilities.streaming
    assert not card.capabilities.push_notifications


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_an_answer_cites_the_lines_themselves_whole_and_streamed(url, version):
    (whole,) = talked(url, QUESTION, version=version)
    (streamed,) = talked(url, QUESTION, version=version, streaming=True)
    assert whole.text.startswith("Documented. Evidence: ")
    assert_exact(url, whole)
    assert (streamed.text, streamed.data) == (whole.text, whole.data)
    assert whole.states == ["completed"]
    assert streamed.states == ["submitted", "working", "completed"]
    assert httpx.get(whole.data["citations"][0]["url"], timeout=SECONDS).status_code == 200


@pytest.mark.parametrize("choice", ["2", "the name"])
def test_of_the_names_of_an_unclear_answer_a_number_or_a_name_chooses(url, choice):
    async def talk():
        async with talking(url) as (client, _):
            offered = await told(client, UNCLEAR)
            asked = offered.data["choices"][1] if choice == "the name" else choice
            return offered, await told(client, asked, offered.context)

    offered, chosen = asyncio.run(talk())
    assert offered.text.startswith("It is unclear which procedure is meant")
    assert len(offered.data["choices"]) > 1
    assert "you chose this procedure" in chosen.text
    assert_exact(url, chosen)
    second = offered.data["citations"][1]["source_file"]
    assert second in {it["source_file"] for it in chosen.data["citations"]}


def test_a_number_means_nothing_to_another_context(url):
    talked(url, UNCLEAR)
    (came,) = talked(url, "2")
    assert came.states == ["rejected"]
    assert "a number alone isn't a question" in came.text


def test_a_turn_that_refers_to_the_one_before_is_asked_about_the_same(url):
    _, came = talked(url, QUESTION, "And how do I check that it worked?")
    assert came.text.startswith(f"**{QUESTION}: And how do I check that it worked?**")
    assert came.data["citations"][0]["source_file"] == "runbooks/sqs-backlog.md"


def test_a_pasted_alert_is_answered_as_one(url):
    (came,) = talked(url, ALERT)
    assert_exact(url, came)
    assert "severity" in came.text.split("\n\n", 2)[1]


def test_nothing_documented_is_an_answer_that_says_so(url):
    (came,) = talked(url, "how do I bake bread")
    assert came.text.startswith("Nothing documented.")
    assert (came.states, came.data["status"]) == (["completed"], "no_match")
    assert "Guidance" not in came.text


def test_a_task_is_found_again_and_answers_are_made_while_nobody_waits(url):
    async def talk():
        async with talking(url) as (client, _):
            begun = await told(client, QUESTION, return_immediately=True)
            while True:
                task = await client.get_task(GetTaskRequest(id=begun.task))
                if task.artifacts:
                    return begun, task
                await asyncio.sleep(0.05)

    begun, task = asyncio.run(asyncio.wait_for(talk(), SECONDS))
    assert begun.states[0] in ("submitted", "working")
    assert task.artifacts[0].parts[0].text.startswith("Documented.")


def test_10_callers_at_once_each_get_the_answer_to_their_own_question(url):
    asked = list(OWN_QUESTIONS) * 2

    async def talk():
        async with talking(url) as (client, _):
            return await asyncio.gather(*(told(client, one) for one in asked))

    came = asyncio.run(talk())
    assert [it.states for it in came] == [["completed"]] * 10
    assert len({it.task for it in came}) == len({it.context for it in came}) == 10
    for question, one in zip(asked, came, strict=True):
        assert one.data["citations"][0]["source_file"] == OWN_QUESTIONS[question], question
        assert_exact(url, one)


def test_what_can_t_be_answered_is_refused_with_the_reason(url):
    def with_part(part):
        made = message("what is on this picture?")
        made.parts.append(part)
        return made

    hook = TaskPushNotificationConfig(task_id="t", url="http://127.0.0.1:9/hook")

    async def talk():
        async with talking(url) as (client, _):
            for part in (
                new_data_part({"a": 1}),
                new_raw_part(b"x", media_type="image/png"),
                new_url_part("http://127.0.0.1:9/a.png"),
            ):
                with pytest.raises(A2AError, match="parts must be text"):
                    await told(client, with_part(part))
            with pytest.raises(A2AError, match="push notifications are not sent"):
                await told(client, QUESTION, task_push_notification_config=hook)
            with pytest.raises(A2AError, match="not supported"):
                await client.create_task_push_notification_config(hook)
            with pytest.raises(A2AClientError, match="413"):
                await told(client, "x" * 5_000_000)
            assert (await told(client, QUESTION)).states == ["completed"]

    asyncio.run(talk())
    headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}
    for body, code in (
        (b"{", -32700),
        (b"x" * 5_000_000, -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "Nothing"}', -32601),
    ):
        response = httpx.post(f"{url}/a2a", content=body, headers=headers, timeout=SECONDS)
        assert response.json()["error"]["code"] == code


def test_the_page_s_program_prints_the_citations(url, capsys):
    page = (PROJECT / "docs" / "agents.md").read_text(encoding="utf-8")
    (program,) = re.findall(
        r"^```python\n(import asyncio\n\nfrom a2a.*?)^```$", page, re.DOTALL | re.MULTILINE
    )
    exec(program.replace("http://127.0.0.1:8320", url), {})
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"[1] {url}/doc/runbooks/sqs-backlog.md#L")


def test_a_back_end_that_is_down_is_a_failure_that_says_so(cli):
    dead = ("--gateway", "http://127.0.0.1:9/mcp", "--region", "us-east-1")
    arguments = ("serve", "--a2a", "--console-port", "0", "--json", *dead)
    keys = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}
    with cli.started(*arguments, **keys) as process:
        url = json.loads(process.stdout.readline())["console_url"].rstrip("/")
        (came,) = talked(url, QUESTION)
    assert came.states == ["failed"]
    assert came.text.startswith("The knowledge base could not be searched")
    assert (came.data["status"], came.data["citations"]) == ("degraded", [])
