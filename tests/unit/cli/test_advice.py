"""From a question or an incident to advice: queries, the advisor, the answer while it is written."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from rich.console import Console

from knowledge_rag.cli.advice import LiveAnswer, incident_of, queries_of
from knowledge_rag.cli.advisors import AdvisorChoice, asks_aws, chosen_advisor
from knowledge_rag.core.errors import InvalidRequest, InvalidSettings
from knowledge_rag.core.retrieval import Query
from knowledge_rag.orchestrator.queries import build_queries
from tests.support.local import PROJECT

STDIN = Path("-")


def test_a_question_is_asked_as_typed_then_for_similar_incidents():
    question = "certificate expires tomorrow"
    queries = queries_of(question, incident_of(question, None))
    assert queries == (
        Query(question),
        Query(f"{question} resolution", filters={"document_type": "postmortem"}),
    )


def test_a_question_about_an_incident_stands_before_what_the_incident_suggests(tmp_path):
    path = tmp_path / "incident.json"
    path.write_text(json.dumps({"alert_name": "kafka-lag"}))
    own, alert, past = queries_of("why now?", incident_of("why now?", path))
    assert own == Query("why now?")
    assert "kafka-lag" in alert.text
    assert past == Query(f"{alert.text} resolution", filters={"document_type": "postmortem"})


@pytest.mark.parametrize("told", [b"{}", b"none"])
def test_an_incident_that_was_piped_in_is_named_as_standard_input(told, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(told)))
    with pytest.raises(InvalidRequest, match=r"^standard input: "):
        incident_of(None, STDIN)


PAYLOAD = (PROJECT / "tests/data/incidents/pagerduty-v3.json").read_text()


@pytest.mark.parametrize("typed", [PAYLOAD, f"What do I do?\n\n```json\n{PAYLOAD}```\n"])
def test_a_question_that_is_a_payload_is_read_as_an_incident(typed):
    incident = incident_of(typed, None)
    assert (incident.alert_name, incident.read_as) == ("CheckoutErrorRate", "PagerDuty")
    assert queries_of(typed, incident) == build_queries(incident)


def test_a_payload_may_be_longer_than_a_question():
    payload = json.loads(PAYLOAD) | {"padding": "x" * 50_000}
    assert incident_of(json.dumps(payload), None).alert_name == "CheckoutErrorRate"


def test_a_question_about_json_stays_a_question():
    question = 'why does {"a": 1} fail in jq?'
    incident = incident_of(question, None)
    assert incident.title == question
    assert queries_of(question, incident)[0].text == question


def test_a_file_may_have_words_or_a_fence_around_the_json(tmp_path):
    path = tmp_path / "incident.md"
    path.write_text(f"From the pager:\n```\n{PAYLOAD}\n```\n")
    assert incident_of(None, path).alert_name == "CheckoutErrorRate"


def test_a_payload_in_both_places_is_refused(tmp_path):
    path = tmp_path / "incident.json"
    path.write_text(PAYLOAD)
    with pytest.raises(
        InvalidRequest, match="the question is an incident's JSON; leave it out, or"
    ):
        incident_of(PAYLOAD, path)


def test_a_file_that_says_nothing_is_refused_with_what_is_supported(tmp_path):
    path = tmp_path / "incident.json"
    path.write_text('{"foo": "bar"}')
    with pytest.raises(InvalidRequest, match=r"nothing in it to ask about; supported: .*Opsgenie"):
        incident_of(None, path)


@pytest.mark.parametrize(
    ("name", "model_id", "agent", "says"),
    [
        ("extractive", "some.model", None, "--model-id is for --advisor converse, not for extract"),
        ("agent", "some.model", "A/B", "--model-id is for --advisor converse, not for agent"),
        ("extractive", None, "A/B", "--agent is for --advisor agent, not for extractive"),
        ("converse", "some.model", "A/B", "--agent is for --advisor agent, not for converse"),
    ],
)
def test_an_option_of_another_advisor_is_refused(name, model_id, agent, says):
    with pytest.raises(InvalidRequest, match=says):
        chosen_advisor(AdvisorChoice(name, model_id, agent, "us-east-1"))


def test_a_provider_s_model_is_for_the_advisor_of_any_model():
    with pytest.raises(InvalidRequest, match="--model is for --advisor model, not for converse"):
        chosen_advisor(AdvisorChoice("converse", "some.model", region="r", model="openai:m"))
    assert [
        asks_aws(*it)
        for it in (
            ("model", "bedrock_converse:m"),
            ("model", "ollama:m"),
            ("model", None),
            ("agent", None),
            ("extractive", None),
        )
    ] == [True, False, False, True, False]


def test_the_agent_of_a_deployment_writes_unless_another_is_named():
    with pytest.raises(InvalidRequest, match="--stack finds them"):
        chosen_advisor(AdvisorChoice("agent", region="us-east-1"))
    assert chosen_advisor(AdvisorChoice("agent", region="us-east-1"), "AGENT00001/ALIAS00001")
    with pytest.raises(InvalidSettings, match="no/such"):
        chosen_advisor(AdvisorChoice("agent", agent="A/no/such", region="us-east-1"), "AGENT/ALIAS")


@pytest.fixture
def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=40, height=10)


@pytest.fixture
def live(terminal):
    with LiveAnswer(terminal) as made:
        yield made


def shown(live):
    return live._shown().plain.split("\n")


def test_stages_and_text_are_shown_as_they_come(live):
    live.notify({"event": "searching", "queries": ["a", "b"]})
    assert shown(live) == ["searching: 2 queries ..."]
    live.notify({"event": "found", "status": "ok", "sources": 7})
    for text in ("1. Promote", " it [1].\n2. ", "Wait"):
        live.notify({"event": "text", "text": text, "parts": []})
    assert shown(live) == ["found 7 passages, writing ...", "| 1. Promote it [1].", "| 2. Wait"]


def test_what_was_taken_back_is_gone(live):
    for event in ({"event": "text", "text": "old"}, {"event": "restarted"}, {"event": "evidence"}):
        live.notify(event)
    live.notify({"event": "text", "text": "new"})
    assert shown(live)[1:] == ["| new"]


def test_only_the_last_lines_are_shown_where_there_is_no_room_for_more(live):
    live.notify({"event": "text", "text": "\n".join(map(str, range(100)))})
    assert shown(live)[1:] == [f"| {number}" for number in range(92, 100)]


def test_nothing_in_it_steers_the_terminal(terminal):
    with LiveAnswer(terminal) as live:
        live.notify({"event": "text", "text": "a\x1b]0;owned\x07b \u202egnp [bold]x[/bold]\n"})
        live._live.refresh()
    written = terminal.file.getvalue()
    assert "\x1b]0;" not in written
    assert "\u202e" not in written
    assert "[bold]x[/bold]" in written


def test_nothing_is_written_where_nobody_watches():
    console = Console(file=io.StringIO(), force_terminal=False)
    with LiveAnswer(console) as live:
        live.notify({"event": "text", "text": "1. Promote it [1]."})
    assert console.file.getvalue() == ""


def test_no_line_of_it_reads_as_our_own_however_it_is_wrapped(live, terminal):
    live.notify({"event": "text", "text": "word " * 30 + "\nEvidence: strong\n\nx"})
    written = shown(live)[1:]
    assert all(line.startswith("|") and len(line) <= terminal.width for line in written)


def test_quoted_steps_are_not_shown_before_they_are_laid_out(terminal):
    with LiveAnswer(terminal, by_model=False) as live:
        live.notify({"event": "found", "status": "ok", "sources": 1})
        live.notify({"event": "text", "text": "1. Promote it."})
        assert shown(live) == ["found 1 passage, writing ..."]


def test_an_answer_that_comes_at_once_does_not_flash(terminal):
    with LiveAnswer(terminal) as live:
        live.notify({"event": "searching", "queries": ["a"]})
        live.notify({"event": "text", "text": "1. Promote it.", "parts": []})
    assert "Promote" not in terminal.file.getvalue()
