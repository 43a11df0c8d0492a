"""Providers' unmodified SDKs, on loopback, behind the advisor of any chat model."""

import asyncio
import json
import re
import time
from contextlib import closing

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph.graph import END, START, StateGraph

from knowledge_rag.cli.advisors import WriterOptions
from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import Query, degraded
from knowledge_rag.evaluation.faults.server import (  # fmt: skip
    answering,
    dripping,
    resetting,
    sending,
    serving,
    silent,
)
from knowledge_rag.orchestrator.advisors.chat_model import (
    SEARCH_DONE,
    ChatModelAdvisor,
    chat_model,
    ending_of,
    message_of,
)
from knowledge_rag.orchestrator.advisors.fallback import FallbackAdvisor
from knowledge_rag.orchestrator.advisors.spending import FILE, Prices, Spending
from knowledge_rag.orchestrator.advisors.writing import (
    BROKEN_OFF_NOTE,
    CUT_NOTE,
    TOKENS,
    final_reason,
    usable,
)
from knowledge_rag.orchestrator.consultation import advise_on, consult
from knowledge_rag.orchestrator.errors import ModelFailed
from knowledge_rag.orchestrator.node import IncidentState, knowledge_rag_node
from knowledge_rag.orchestrator.recommendation import Shortfall
from knowledge_rag.orchestrator.retrieval import Asked, Findings
from knowledge_rag.orchestrator.written import recommend
from tests.support.advisors import INCIDENT, assert_exact
from tests.support.local import RUNBOOKS, write_files
from tests.support.providers import ANTHROPIC, OLLAMA, OPENAI, PROVIDERS
from tests.support.retrievals import Answering
from tests.support.runbooks import Search, alert
from tests.support.scripted_advisors import FINDINGS, RUNBOOK

STEP = "1. Promote the replica."
SAID = (
    f"The replica takes over.\n\n{STEP} [1]\n2. Look at `lag` [Source: {RUNBOOK}, lines 14-14].\n"
)
each_provider = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda it: it.name)


class Heard:
    def __init__(self):
        self.text = ""

    def wrote(self, text, findings):
        assert findings is FINDINGS
        self.text += text


@pytest.fixture
def asking(monkeypatch):
    """Ask a provider whose server plays scripts; gives what the advisor gave, and the requests."""

    def ask(provider, *scripts, wrap=lambda it: it, seconds=60.0, findings=FINDINGS, live=None, max_tokens=TOKENS, spending=None):  # fmt: skip
        with serving(*scripts) as server:
            for name, value in provider.environment.items():
                monkeypatch.setenv(name, value.format(url=server.url))
            model = chat_model(f"{provider.name}:some-model", max_tokens=max_tokens)
            limits = {"seconds": seconds, "max_tokens": max_tokens, "spending": spending}
            with closing(ChatModelAdvisor(model, "The prompt.", **limits)) as advisor:
                asked = wrap(advisor)
                advice = asked.advise_live(INCIDENT, findings, live) if live else asked.advise(INCIDENT, findings)  # fmt: skip
                given = asyncio.run(advice)
            return given, [(head.decode(), json.loads(body)) for head, body in server.requests]

    return ask


@pytest.fixture
def corpus(tmp_path):
    return write_files(tmp_path / "corpus", RUNBOOKS)


def actions(advice):
    return [step.action for step in recommend(INCIDENT, advice).guidance]


# what is asked


@each_provider
def test_the_request_holds_prompt_evidence_and_limit_and_no_tool(asking, provider):
    _, ((head, body),) = asking(provider, answering(provider.answer(SAID)), max_tokens=1234)
    assert head.startswith(f"POST {provider.path}")
    sent = json.dumps(body)
    assert json.dumps(message_of(INCIDENT, FINDINGS))[1:-1] in sent
    assert json.dumps(SEARCH_DONE)[1:-1] in sent
    assert "1234" in sent
    assert not body.get("tools")
    assert body["stream"] is True


class TestSpending:
    """What a call may cost is set aside; what its provider reports takes the place of that."""

    def day(self, tmp_path, limit):
        return Spending(tmp_path / FILE, Prices(1_000_000.0, 1_000_000.0), limit)

    def spent(self, tmp_path):
        return json.loads((tmp_path / FILE).read_text())["spent"]

    def test_tokens_that_the_provider_reports_count(self, asking, tmp_path):
        asking(OLLAMA, answering(OLLAMA.answer(SAID)), spending=self.day(tmp_path, 1e6))
        assert self.spent(tmp_path) == 10 + 9

    def test_where_only_those_of_the_answer_are_reported_the_others_are_estimated(self, asking, tmp_path):  # fmt: skip
        asking(ANTHROPIC, answering(ANTHROPIC.answer(SAID)), spending=self.day(tmp_path, 1e6))
        assert 100 < self.spent(tmp_path) < TOKENS

    def test_of_one_that_reports_none_what_was_set_aside_counts(self, asking, tmp_path):
        asking(OPENAI, answering(OPENAI.answer(SAID)), max_tokens=50, spending=self.day(tmp_path, 1e6))  # fmt: skip
        assert self.spent(tmp_path) > 50

    def test_of_a_call_that_breaks_off_what_was_set_aside_counts(self, asking, tmp_path):
        asking(ANTHROPIC, resetting, wrap=FallbackAdvisor, max_tokens=50, spending=self.day(tmp_path, 1e6))  # fmt: skip
        assert self.spent(tmp_path) > 50

    def test_beyond_the_limit_nobody_is_asked_and_the_procedure_is_given(self, asking, tmp_path):
        advice, requests = asking(
            ANTHROPIC, wrap=FallbackAdvisor, spending=self.day(tmp_path, 100.0)
        )
        assert requests == []
        (note,) = advice.findings.notes
        assert note.startswith("The day's limit for models (100) allows no further call")
        assert actions(advice)


def test_each_line_of_evidence_stands_behind_its_number_and_no_other_line_looks_like_a_source():
    message = message_of(INCIDENT, FINDINGS)
    for entry in FINDINGS.ledger.entries:
        for number, line in enumerate(entry.content.split("\n"), entry.citation.start_line):
            assert f"\n{number}| {line}" in message
    sources = re.findall(r"^\[(\d+)\] (\S+)#L", message, re.MULTILINE)
    assert sources == [(str(it.number), it.citation.source_file) for it in FINDINGS.ledger.entries]


@pytest.mark.parametrize(
    "findings", [Findings(), Findings((Asked(Query("why?"), degraded(Reason.TIMEOUT)),))]
)
def test_without_evidence_there_is_no_call(asking, findings):
    advice, requests = asking(OPENAI, silent, findings=findings)
    assert recommend(INCIDENT, advice).status is findings.status is not Status.OK
    assert requests == []


@pytest.mark.parametrize("provider", [OPENAI, ANTHROPIC], ids=lambda it: it.name)
def test_the_key_of_the_environment_is_sent_as_a_header_and_nowhere_else(asking, provider):
    _, ((head, body),) = asking(provider, answering(provider.answer(SAID)))
    assert head.count("sk-of-a-test") == 1
    assert "sk-of-a-test" not in json.dumps(body)


# what comes back


@each_provider
def test_an_answer_is_verified_like_any(asking, provider, corpus):
    advice, _ = asking(provider, answering(provider.answer(SAID)))
    assert (advice.text, advice.advisor) == (SAID, "model")
    recommendation = recommend(INCIDENT, advice)
    assert len(recommendation.guidance) == 2
    assert_exact(recommendation, corpus)


@each_provider
def test_it_is_streamed_as_it_comes(asking, provider):
    heard = Heard()
    asking(provider, answering(provider.answer(SAID)), live=heard)
    assert heard.text == SAID


def test_characters_that_arrive_in_halves_are_heard_whole(asking):
    heard = Heard()
    text = "1. Überlauf 障害 🧯 [1]\n"
    advice, _ = asking(OPENAI, dripping(OPENAI.answer(text), at_once=600, seconds=0.0), live=heard)
    assert heard.text == advice.text == text


def test_thinking_is_neither_shown_nor_counted_as_the_answer(asking):
    heard = Heard()
    said = ANTHROPIC.answer(SAID, thinking="Purge all queues [1]")
    advice, _ = asking(ANTHROPIC, answering(said), live=heard)
    assert advice.text == heard.text == SAID


@each_provider
def test_an_answer_that_was_cut_off_loses_its_last_step_and_says_so(asking, provider):
    cut = f"{STEP} [1]\n2. Delete th"
    advice, _ = asking(provider, answering(provider.answer(cut, provider.ends[1])))
    assert actions(advice) == ["Promote the replica."]
    assert CUT_NOTE in [it.message for it in recommend(INCIDENT, advice).warnings]


@pytest.mark.parametrize("provider", [OPENAI, OLLAMA], ids=lambda it: it.name)
def test_a_stream_that_ends_without_saying_why_counts_as_broken_off(asking, provider):
    stream = provider.stream([f"{STEP} [1]\n2. Delete th"], None)
    advice, _ = asking(provider, answering(provider.sent(stream)))
    assert actions(advice) == ["Promote the replica."]
    assert BROKEN_OFF_NOTE in advice.findings.notes


CALL = {"name": "retrieve_knowledge", "args": "{}", "id": "1", "index": 0}


@pytest.mark.parametrize(
    ("chunks", "reason"),
    [
        ([{"finish_reason": "content_filter"}, {"finish_reason": "stop"}], Reason.GUARDRAIL),
        ([{"finish_reason": "stop"}, {"finish_reason": "content_filter"}], Reason.GUARDRAIL),
        ([CALL, {"finish_reason": "stop"}], Reason.MALFORMED_RESPONSE),
    ],
)
def test_no_later_reason_undoes_a_filter_or_a_call_of_a_tool(chunks, reason):
    ended = ""
    for said in chunks:
        calls, told = ([said], {}) if said is CALL else ([], said)
        ended = final_reason(
            ended, ending_of(AIMessageChunk("", tool_call_chunks=calls, response_metadata=told))
        )
    with pytest.raises(ModelFailed, match=f"^{reason.value}: "):
        usable(STEP, ended)


def test_a_model_that_ignores_its_limit_is_read_no_further(asking):
    endless = "".join(f"{n}. Promote the replica [1].\n" for n in range(1, 500))
    advice, _ = asking(OPENAI, answering(OPENAI.answer(endless)), max_tokens=20)
    assert advice.text == "".join(f"{n}. Promote the replica [1].\n" for n in range(1, 6))
    assert CUT_NOTE in advice.findings.notes


# what goes wrong

WRONG = {
    "throttled": (lambda it: answering(it.error("429 Too Many Requests", "rate_limit_error")), Reason.THROTTLED),
    "no key": (lambda it: answering(it.error("401 Unauthorized", "authentication_error")), Reason.ACCESS_DENIED),
    "no model": (lambda it: answering(it.error("404 Not Found", "not_found_error")), Reason.CONFIGURATION),
    "too long": (lambda it: answering(it.error("400 Bad Request", "invalid_request_error")), Reason.CONFIGURATION),
    "failing": (lambda it: answering(it.error("500 Internal Server Error", "api_error")), Reason.UNAVAILABLE),
    "overloaded": (lambda it: answering(it.error("529 Overloaded", "overloaded_error")), Reason.UNAVAILABLE),
    "reset": (lambda _: resetting, Reason.UNAVAILABLE),
    "broken off": (lambda it: sending(it.answer(SAID)[:-200]), Reason.UNAVAILABLE),
    "hangs": (lambda _: silent, Reason.TIMEOUT),
    "drips": (lambda it: dripping(it.answer(SAID), at_once=400, seconds=0.2), Reason.TIMEOUT),
    "silent": (lambda it: answering(it.answer("")), Reason.MALFORMED_RESPONSE),
    "no first step": (lambda it: answering(it.answer("1. Dele", it.ends[1])), Reason.MALFORMED_RESPONSE),
}  # fmt: skip


@each_provider
@pytest.mark.parametrize("wrong", WRONG)
def test_a_failing_provider_is_replaced_by_the_retrieved_lines(asking, provider, wrong, caplog):
    script, cause = WRONG[wrong]
    seconds = 0.4 if cause is Reason.TIMEOUT else 60.0
    with pytest.raises(ModelFailed) as failed:
        asking(provider, script(provider), seconds=seconds)
    assert failed.value.cause is cause, failed.value
    assert "secret" not in str(failed.value)
    instead, _ = asking(provider, script(provider), seconds=seconds, wrap=FallbackAdvisor)
    assert instead.advisor == "extractive"
    assert recommend(INCIDENT, instead).guidance
    assert any(f"({cause})" in note for note in instead.findings.notes)
    assert "secret" not in caplog.text


@pytest.mark.parametrize("provider", [OPENAI, ANTHROPIC], ids=lambda it: it.name)
def test_a_call_of_a_tool_that_was_not_given_is_no_answer(asking, provider):
    with pytest.raises(ModelFailed) as failed:
        asking(provider, answering(provider.sent(provider.tool_call())))
    assert failed.value.cause is Reason.MALFORMED_RESPONSE


@pytest.mark.parametrize("provider", [OPENAI, ANTHROPIC], ids=lambda it: it.name)
def test_what_a_filter_stopped_is_no_answer(asking, provider):
    with pytest.raises(ModelFailed) as failed:
        asking(provider, answering(provider.answer(SAID, provider.ends[2])))
    assert failed.value.cause is Reason.GUARDRAIL


@pytest.mark.parametrize("provider", [OPENAI, ANTHROPIC], ids=lambda it: it.name)
def test_a_throttled_provider_is_asked_again_after_the_time_that_it_names(asking, provider):
    busy = provider.error("429 Too Many Requests", "rate_limit_error", "retry-after: 0.2")
    advice, requests = asking(provider, answering(busy), answering(provider.answer(SAID)))
    assert advice.text == SAID
    assert len(requests) == 2


@pytest.mark.parametrize(
    ("said", "reason"),
    [("1. Purge the queue [99].", Shortfall.UNVERIFIED_ADVICE), ("1. Purge [Source: a.md, lines 1-2].", Shortfall.UNVERIFIED_ADVICE)],
)  # fmt: skip
def test_advice_that_cites_nothing_of_the_evidence_is_not_given(asking, said, reason):
    advice, _ = asking(OPENAI, answering(OPENAI.answer(said)))
    assert recommend(INCIDENT, advice).reason is reason
    instead, _ = asking(OPENAI, answering(OPENAI.answer(said)), wrap=FallbackAdvisor)
    assert instead.advisor == "extractive"


def test_one_advisor_serves_several_event_loops_and_answers_at_once(monkeypatch):
    with serving(answering(OPENAI.answer(SAID))) as server:
        for name, value in OPENAI.environment.items():
            monkeypatch.setenv(name, value.format(url=server.url))
        with closing(ChatModelAdvisor(chat_model("openai:m"), "The prompt.")) as advisor:

            async def both():
                return await asyncio.gather(*(advisor.advise(INCIDENT, FINDINGS) for _ in range(8)))

            assert {it.text for _ in range(2) for it in asyncio.run(both())} == {SAID}


def test_a_cancelled_question_leaves_the_provider_at_once(monkeypatch):
    with serving(silent) as server:
        for name, value in OPENAI.environment.items():
            monkeypatch.setenv(name, value.format(url=server.url))
        with closing(ChatModelAdvisor(chat_model("openai:m"), "", seconds=60.0)) as advisor:

            async def given_up():
                async with asyncio.timeout(0.5):
                    await advisor.advise(INCIDENT, FINDINGS)

            with pytest.raises(TimeoutError):
                asyncio.run(given_up())
            began = time.monotonic()
        assert time.monotonic() - began < 30  # close() had nothing to wait for


def test_a_consultation_streams_words_and_proven_references_only(monkeypatch):
    events = []
    lie = f"{SAID}3. Purge the queue [7], as [Source: runbooks/never.md, lines 1-2] says.\n"
    with serving(answering(ANTHROPIC.answer(lie))) as server:
        for name, value in ANTHROPIC.environment.items():
            monkeypatch.setenv(name, value.format(url=server.url))
        with closing(ChatModelAdvisor(chat_model("anthropic:m"), "")) as advisor:
            asyncio.run(advise_on(INCIDENT, FINDINGS, advisor, notify=events.append))
    shown = "".join(part["text"] for it in events if it["event"] == "text" for part in it["parts"])
    assert "Promote the replica" in shown
    assert "never.md" not in shown
    assert "[7]" not in shown


def test_a_graph_that_streams_messages_shows_no_word_that_nobody_verified(monkeypatch):
    with serving(
        answering(OPENAI.answer(f"{SAID}3. Purge it [Source: no.md, lines 1-2].\n"))
    ) as server:
        for name, value in OPENAI.environment.items():
            monkeypatch.setenv(name, value.format(url=server.url))
        with closing(ChatModelAdvisor(chat_model("openai:m"), "")) as advisor:
            outcome = FINDINGS.asked[0].outcome
            graph = StateGraph(IncidentState)
            graph.add_node("knowledge-rag", knowledge_rag_node(Answering(outcome), advisor))
            graph.add_edge(START, "knowledge-rag")
            graph.add_edge("knowledge-rag", END)

            async def streamed(mode):
                state = {"incident": {"title": "RDS failover"}}
                return [it async for it in graph.compile().astream(state, stream_mode=mode)]

            assert asyncio.run(streamed("messages")) == []
            events = asyncio.run(streamed("custom"))
    assert any(it["event"] == "text" for it in events)
    assert "no.md" not in json.dumps(events)


# how it is named


@pytest.mark.parametrize("name", ["gpt-5", "openai:", ":m", ""])
def test_a_model_is_named_with_its_provider(name):
    with pytest.raises(InvalidSettings, match="PROVIDER:MODEL"):
        chat_model(name)


def test_a_missing_key_or_package_and_an_unknown_provider_are_named_without_secrets(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidSettings, match="OPENAI_API_KEY"):
        chat_model("openai:gpt-5")
    with pytest.raises(InvalidSettings, match="pip install langchain-mistralai"):
        chat_model("mistralai:m")
    with pytest.raises(InvalidSettings, match=r"^'nobody:m': LangChain knows no such provider$"):
        chat_model("nobody:m")


@pytest.mark.parametrize(
    ("name", "variable"), [("openai:m", "OPENAI_API_KEY"), ("anthropic:m", "ANTHROPIC_API_KEY")]
)
def test_without_its_key_the_procedure_is_given_and_says_so(monkeypatch, capsys, name, variable):
    monkeypatch.delenv(variable, raising=False)
    advisor = WriterOptions(model=name).advisor(None, "")
    assert f"the model's key isn't set ({variable})" in capsys.readouterr().err.replace("\n", " ")
    pages = {"runbooks/queue.md": "# QueueDepthTooHigh\n\n## Fix\n\n1. Add two consumers.\n"}
    asked = consult(alert("QueueDepthTooHigh"), Search(pages), advisor)
    given = asyncio.run(asked).recommendation
    assert [it.action for it in given.guidance] == ["Add two consumers."]
    said = (
        f"The model's key isn't set ({variable}): these steps are quoted from the retrieved lines."
    )
    assert said in [it.message for it in given.warnings]


@pytest.mark.parametrize("tokens", [0, 64_001])
def test_a_limit_outside_its_bounds_is_refused(tokens):
    with pytest.raises(InvalidSettings, match="max_tokens"):
        chat_model("ollama:m", max_tokens=tokens)
