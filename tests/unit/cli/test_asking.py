"""What a person on call types finds the steps, not only what is worded like it."""

import io
import json
import sys
from pathlib import Path

import pytest

from knowledge_rag.cli.advice import incident_of, queries_of
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.retrieval import Query

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
