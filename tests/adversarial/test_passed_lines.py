"""Hostile and honest answers mean the same whether plain lines and references are passed at once or not."""

from itertools import chain

import pytest

from knowledge_rag.guardrails.stream import VerifiedStream
from knowledge_rag.guardrails.verify import verify
from tests.adversarial.answers import FAMILIES, NOTATIONS, honest, hostile
from tests.adversarial.fragments import fragments
from tests.unit.guardrails.token_by_token import read_token_by_token

pytestmark = pytest.mark.no_cover  # counting lines takes three times as long as running them

EACH = 12


def _streamed(pieces, ledger):
    stream = VerifiedStream(ledger)
    return [stream.feed(piece) for piece in pieces], stream.close()


def test_every_answer_is_read_alike_with_and_without_passing_lines_at_once(shelves, monkeypatch):
    made = chain(
        (hostile(family, index, shelves) for family in FAMILIES for index in range(EACH)),
        (honest(notation, index, shelves) for notation in NOTATIONS for index in range(EACH)),
    )
    for (answer, _), shelf, rng in made:
        pieces = list(fragments(answer, rng))
        at_once = verify(answer, shelf.ledger), _streamed(pieces, shelf.ledger)
        with monkeypatch.context() as patch:
            read_token_by_token(patch)
            assert (verify(answer, shelf.ledger), _streamed(pieces, shelf.ledger)) == at_once
