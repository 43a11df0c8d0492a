"""The events of an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_rag.console.events import AnswerEvents, alert_card
from knowledge_rag.orchestrator.incident import Incident
from tests.unit.console.kept import NAME, TEXT, Folder
from tests.unit.console.pages import cited, referred, said


def text_of(*parts):
    return {
        "event": "text",
        "text": "".join(part["text"] for part in parts),
        "parts": list(parts),
        "by_model": True,
    }


def evidence(number=1, content="# Failover\n\nPromote the replica.", **more):
    citation = cited(number, NAME, 1, 3)["citation"]
    return {"number": number, "citation": citation, "content": content, **more}


def told(story, *events):
    return story.events_for(events)


@pytest.mark.parametrize(
    ("status", "sources", "message"),
    [
        ("ok", 1, "Found 1 relevant source"),
        ("ok", 5, "Found 5 relevant sources"),
        ("no_match", 0, "Searched, and found nothing documented"),
        ("degraded", 0, "The knowledge base could not be searched"),
    ],
)
def test_how_the_search_ended_is_told_in_words(status, sources, message):
    found = {"event": "found", "status": status, "sources": sources}
    assert told(AnswerEvents(None, "now"), found) == [
        ("status", {"stage": "found", "message": message, "sources": sources, "status": status})
    ]


def test_pieces_that_come_together_are_rendered_together():
    events = told(
        AnswerEvents(None, "now"), text_of(said("One")), text_of(said(" two.")), text_of(referred())
    )
    ((name, data),) = events
    assert (name, data["text"], data["block"]) == ("chunk", "One two.[Source 1]", 0)
    assert data["html"].startswith("<p>One two.<sup><a ")


def test_text_that_changes_no_block_is_told_with_the_last_one():
    story = AnswerEvents(None, "now")
    told(story, text_of(said("One.\n\nTwo.")))
    told(story, text_of(said("\n")))
    (chunk, _status) = told(story, {"event": "found", "sources": 1, "status": "ok"})
    assert chunk == ("chunk", {"text": "\n", "block": 1, "html": story.blocks[1], "byModel": True})
    assert story.text == "One.\n\nTwo.\n"


def test_what_follows_a_restart_begins_anew():
    story = AnswerEvents(None, "now")
    told(story, text_of(said("Wrong.\n\nVery wrong."), referred()))
    (status,) = told(story, {"event": "restarted", "reason": "another advisor writes"})
    assert status[1]["stage"] == "restarted"
    assert status[1]["reason"] == "another advisor writes"
    (chunk,) = told(story, text_of(said("Right.")))
    assert (chunk[1]["block"], chunk[1]["html"]) == (0, "<p>Right.</p>\n")
    assert (story.text, story.cited, story.blocks) == ("Right.", set(), {0: "<p>Right.</p>\n"})


def test_text_before_a_restart_is_told_before_it():
    events = told(
        AnswerEvents(None, "now"),
        text_of(said("Wrong.")),
        {"event": "restarted"},
        text_of(said("Right.")),
    )
    assert [(name, data.get("text")) for name, data in events] == [
        ("chunk", "Wrong."),
        ("status", None),
        ("chunk", "Right."),
    ]


def test_evidence_that_comes_again_replaces_the_first():
    story = AnswerEvents(None, "now")
    told(story, {"event": "evidence", "sources": [evidence(1), evidence(2)]})
    events = told(story, {"event": "evidence", "sources": [evidence(1, score=0.5)]})
    assert len(events[0][1]["sources"]) == len(story.sources) == 1


def test_a_source_whose_file_has_changed_says_where_its_lines_went():
    changed = "New first line.\n\n" + TEXT
    story = AnswerEvents(Folder(runbooks__failover=changed), "now")
    events = told(story, {"event": "evidence", "sources": [evidence(document_sha256="0" * 64)]})
    stale = events[0][1]["sources"][0]["stale"]
    assert stale["state"] == "moved"
    assert stale["moved_to"] == {"start_line": 3, "end_line": 5, "others": 0}
    assert stale["message"] == f"{NAME}, lines 1-3: moved to lines 3-5"


def test_a_source_whose_lines_are_the_same_says_nothing():
    story = AnswerEvents(Folder(runbooks__failover=TEXT + "More.\n"), "now")
    events = told(story, {"event": "evidence", "sources": [evidence()]})
    assert "stale" not in events[0][1]["sources"][0]


def test_only_a_web_address_becomes_a_link_to_the_original():
    hostile = ("javascript:alert(1)", "data:text/html,x", "//evil.example", "http://", 7, None)
    for url in hostile:
        events = told(
            AnswerEvents(None, "now"), {"event": "evidence", "sources": [evidence(source_url=url)]}
        )
        assert "sourceUrl" not in events[0][1]["sources"][0]
    url = "https://wiki.example/failover"
    events = told(
        AnswerEvents(None, "now"), {"event": "evidence", "sources": [evidence(source_url=url)]}
    )
    assert events[0][1]["sources"][0]["sourceUrl"] == url


PAYLOADS = Path(__file__).parents[2] / "data" / "incidents"
TIMELESS = {"datadog-custom", "grafana-legacy", "sentry-issue", "zabbix-export", "zabbix-webhook"}
"""Payloads without a moment in a known time zone."""


def card_of(name, source_files=()):
    incident = Incident.pasted_in((PAYLOADS / f"{name}.json").read_text(encoding="utf-8"))
    assert incident is not None
    return alert_card(incident, source_files)


@pytest.mark.parametrize("name", sorted(path.stem for path in PAYLOADS.glob("*.json")))
def test_a_payload_of_every_known_maker_has_a_card(name):
    card = card_of(name)
    assert card["name"]
    assert all(alert["name"] for alert in card["alerts"])
    assert not card["name"].startswith(("{", "["))
    assert card["since"][:10] == ("" if name in TIMELESS else "2026-03-02")


def test_a_card_says_how_bad_it_is_whom_it_concerns_and_since_when():
    card = card_of("google-cloud-incident")
    assert card["readAs"] == "Google Cloud"
    assert card["since"] == "2026-03-02T08:14:44+00:00"
    (alert,) = card_of("alertmanager-webhook")["alerts"]
    assert alert["severity"]
    assert alert["since"] == "2026-03-02T08:14:00+00:00"


def test_a_moment_of_a_former_state_is_not_when_it_began():
    assert card_of("cloudwatch-eventbridge")["since"] == "2026-03-02T08:14:44+00:00"


def linked(link, source_files=()):
    return alert_card(Incident(title="t", links=(link,)), source_files)["runbooks"]


def test_a_linked_runbook_leads_to_the_retrieved_document_that_it_names():
    link = "https://git.example/ops/blob/main/runbooks/rds.md#failover"
    assert linked(link, ["runbooks/sqs.md", "runbooks/rds.md"]) == [
        {"text": link, "source": "runbooks/rds.md", "url": "/doc/runbooks/rds.md"}
    ]
    assert linked(link, ["runbooks/sqs.md"]) == [{"text": link, "url": link}]


@pytest.mark.parametrize("link", ["javascript:alert(1)", "runbooks/rds.md", "http://", "//evil"])
def test_what_is_no_web_address_is_shown_and_leads_nowhere(link):
    assert linked(link) == [{"text": link}]
