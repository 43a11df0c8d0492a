"""What a person on call types finds the steps, not only what is worded like it."""

import io
import json
import sys
from pathlib import Path

import pytest

from knowledge_rag.cli.asking import incident_of, queries_of
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.retrieval import Query
from knowledge_rag.orchestrator.queries import MAX_QUERIES

STDIN = Path("-")


def test_a_question_is_asked_as_typed_then_for_its_steps_then_for_similar_incidents():
    question = "certificate expires tomorrow"
    queries = queries_of(question, incident_of(question, None))
    assert queries == (
        Query(question),
        Query(
            f"Resolution steps for {question}: resolution in the runbook, resolution commands, "
            "resolution",
            filters={"document_type": "runbook"},
        ),
        Query(question, filters={"document_type": "postmortem"}),
    )


def test_a_question_about_an_incident_stands_before_what_the_incident_suggests(tmp_path):
    path = tmp_path / "incident.json"
    path.write_text(json.dumps({"alert_name": "kafka-lag"}))
    queries = queries_of("why now?", incident_of("why now?", path))
    assert queries[0] == Query("why now?")
    assert len(queries) == MAX_QUERIES


@pytest.mark.parametrize("told", [b"{}", b"none"])
def test_an_incident_that_was_piped_in_is_named_as_standard_input(told, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(told)))
    with pytest.raises(InvalidRequest, match=r"^standard input: "):
        incident_of(None, STDIN)
