"""45 incidents as a person on call sees them, from their state to a recommendation.

Each goes its whole way: the real Lambda asks the local knowledge base of the sample runbooks, with
the real embedding model, and the advisor without a model lifts the steps. What a person would expect
to be told was written down from the runbooks before any answer had been seen.
"""

import asyncio
import hashlib
import json
import socket

import pytest
from jsonschema import Draft202012Validator

from knowledge_rag.core.lines import decode, slice_lines
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.response import read_outcome
from knowledge_rag.local.action_group import local_action_group
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.orchestrator.budget import Budget
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.incident import Incident
from tests.support.local import CORPUS, PROJECT, minilm
from tests.support.sample import sample_copy

INCIDENTS = PROJECT / "tests/data/incidents"
SCHEMA = json.loads((PROJECT / "schemas/recommendation.schema.json").read_text())

WANTED = 3
"""Relevant steps that an incident should be answered with."""
SHARE_WITH_WANTED = 0.9
MEAN_RELEVANT = 6.5
SHARE_SIMILAR = 0.85
"""What is held of 39 documented incidents."""


def rows(name):
    return [json.loads(line) for line in (INCIDENTS / name).read_text().split("\n") if line]


def answered(retrieval, row):
    """Give the findings and the recommendation for an incident."""
    incident = Incident.from_state(row["state"])
    assert not incident.problems
    given = asyncio.run(consult(incident, retrieval))
    Draft202012Validator(SCHEMA).validate(given.recommendation.to_dict())
    return given.findings, given.recommendation


@pytest.fixture(scope="module")
def retrieval(tmp_path_factory):
    path = sample_copy(tmp_path_factory, tmp_path_factory.mktemp("incidents"))
    with (
        KnowledgeBase(path, minilm()) as knowledge_base,
        local_retrieval(knowledge_base, budget=Budget(30)) as opened,
    ):
        yield opened


@pytest.fixture(scope="module")
def documented(retrieval):
    return [(row, *answered(retrieval, row)) for row in rows("documented.jsonl")]


def relevant(row, given):
    """Give the steps that say what a person would expect."""
    said = ["\n".join((step.action, *step.commands)) for step in given.guidance]
    return [step for step in said if any(phrase in step for phrase in row["expected"])]


def test_documented_incidents_are_answered_with_the_steps_that_one_would_expect(documented):
    counts = {row["id"]: len(relevant(row, given)) for row, _, given in documented}
    mean = sum(counts.values()) / len(counts)
    short = {name: count for name, count in counts.items() if count < WANTED}
    told = f"mean {mean:.2f}, short: {short}"
    assert len(documented) >= 30
    assert min(counts.values()) >= 1, told
    assert len(short) <= (1 - SHARE_WITH_WANTED) * len(counts), told
    assert mean >= MEAN_RELEVANT, told


def test_the_steps_are_those_of_the_incidents_own_runbook(documented):
    for row, _, given in documented:
        assert given.status is Status.OK, row["id"]
        assert 0 < given.confidence <= 1
        assert given.guidance[0].citations[0].citation.source_file == row["runbook"], row["id"]


def test_similar_incidents_are_found_and_no_others(documented):
    wanted = {row["id"]: row["similar"] for row, _, _ in documented if row["similar"]}
    found = {
        row["id"]
        for row, _, given in documented
        if row["similar"] in {similar.incident_id for similar in given.similar_incidents}
    }
    runbooks = {similar: row["runbook"] for row, _, _ in documented if (similar := row["similar"])}
    for row, _, given in documented:
        for similar in given.similar_incidents:  # one of its own service, so of its own runbook
            of_service = runbooks[similar.incident_id].split("/")[1][:3]
            assert row["runbook"].split("/")[1].startswith(of_service), row["id"]
    missed = wanted.keys() - found
    assert len(missed) <= (1 - SHARE_SIMILAR) * len(wanted), missed


def test_every_citation_is_evidence_and_equals_the_lines_on_disk(documented):
    checked = 0
    for _, findings, given in documented:
        for part in (*given.guidance, *given.similar_incidents):
            for cited in part.citations:
                at = cited.citation
                data = (CORPUS / at.source_file).read_bytes()
                lines = slice_lines(decode(data, at.source_file), at.start_line, at.end_line)
                held = findings.ledger.lines(at.source_file, at.start_line, at.end_line)
                assert held is not None
                assert held.content == lines
                assert cited.text_sha256 == hashlib.sha256(lines.encode()).hexdigest()
                assert cited.document_sha256 == hashlib.sha256(data).hexdigest()
                checked += 1
    assert checked > 200


def test_every_step_is_the_sources_own_words(documented):
    for row, _, given in documented:
        for step in given.guidance:
            held = "\n".join(
                slice_lines(
                    decode((CORPUS / at.source_file).read_bytes(), at.source_file),
                    at.start_line,
                    at.end_line,
                )
                for at in (cited.citation for cited in step.citations)
            )
            for line in "\n".join((step.action, *step.commands)).split("\n"):
                # of a row of a table, each cell stands behind the name of its column
                cells = [cell.partition(": ")[2] for cell in line.split(" | ")]
                said = [line.strip()] if line.strip() in held else cells
                assert all(part in held for part in said), (row["id"], line)
            assert step.support.value != "unsupported"


def test_what_nothing_documents_is_called_so(retrieval):
    for row in rows("undocumented.jsonl"):
        _, given = answered(retrieval, row)
        assert given.status is Status.NO_MATCH, row["id"]
        assert given.summary == "No documented guidance found for this scenario"
        assert given.confidence == 0.0


class ActionGroup:
    """Asks the function behind an action group."""

    def __init__(self, group):
        self._group = group

    async def retrieve(self, query):
        arguments = {"max_results": query.max_results, **query.filters}
        return read_outcome(self._group.retrieve(query.text, **arguments).body)


def test_a_knowledge_base_that_is_down_is_called_so():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound, and nobody listens
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with local_action_group(address) as down:
            _, given = answered(ActionGroup(down), rows("documented.jsonl")[0])
    assert given.status is Status.DEGRADED
    assert given.summary.startswith("The knowledge base could not be reached")
    assert str(given.reason) in {"unavailable", "timeout"}  # a busy machine may get no further
    assert (given.guidance, given.similar_incidents, given.confidence) == ((), (), 0.0)
