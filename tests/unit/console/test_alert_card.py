"""Pasted alerts as the page shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_rag.console.alert_card import alert_card
from knowledge_rag.orchestrator.incident import Incident

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
