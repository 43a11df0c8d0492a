"""Hundreds of turns of an agent, encoded as the service does and read by botocore's parser."""

import itertools
from random import Random

import pytest

from knowledge_rag.guardrails.verify import verify
from knowledge_rag.local.bedrock.invoke_agent import chunk
from knowledge_rag.orchestrator.advisors.advisor import Advice
from knowledge_rag.orchestrator.written import recommend
from tests.adversarial.answers import fabricated
from tests.adversarial.fabrications import FABRICATIONS
from tests.adversarial.shelf import Shelf
from tests.support.advisors import INCIDENT, assert_exact, body_of, cited_lines, searched, turn
from tests.support.local import CORPUS
from tests.support.scripted_advisors import POSTMORTEM
from tests.unit.orchestrator.evidence import results_of

RUNS = 400


@pytest.fixture(scope="module")
def shelves():
    names = ("runbooks/rds-failover.md", "runbooks/sqs-backlog.md", POSTMORTEM)
    held = [results_of(name, (CORPUS / name).read_text()) for name in names]
    much = tuple(result for results in held for result in results[1:5])
    return Shelf(CORPUS, much), Shelf(CORPUS, tuple(held[0][2:4])), Shelf(CORPUS, (held[1][2],))


def split(data, rng):
    """Cut an answer into chunks, anywhere."""
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(4)))
    return [data[a:b] for a, b in itertools.pairwise([0, *cuts, len(data)])]


@pytest.mark.parametrize("part", range(2))
def test_of_hundreds_of_turns_with_fabrications_none_is_shown(shelves, part):
    for seed in range(part * RUNS // 2, (part + 1) * RUNS // 2):
        rng, shelf = Random(f"turn {seed}"), shelves[seed % len(shelves)]
        answer, expected = fabricated(rng, shelf, FABRICATIONS[seed % len(FABRICATIONS)])
        asked = [shelf.results[n : n + 5] for n in range(0, len(shelf.results), 5)]
        traces = [it for n, found in enumerate(asked) for it in searched(body_of(*found), n)]
        read = turn(*traces, *map(chunk, split(answer.encode(), rng)))
        assert read.text == answer
        ledger = read.findings.ledger
        assert [entry.citation for entry in ledger.entries] == [
            result.citation for result in shelf.results
        ]
        assert verify(read.text, ledger).text == expected
        recommendation = recommend(INCIDENT, Advice(read.text, read.findings, "bedrock-agent"))
        assert_exact(recommendation, CORPUS)
        for name, first, last, _ in cited_lines(recommendation):
            assert shelf.holds(name, first, last)
