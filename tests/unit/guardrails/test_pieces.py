"""An answer in pieces: nothing lost, and references apart from what is said."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.verify import PieceStream, pieces_of, verify
from tests.support.retrievals import result

LEDGER = Ledger.of([result(1), result(10)])


@pytest.mark.parametrize(
    ("answer", "pieces"),
    [
        ("", []),
        ("Plain.", [("Plain.", [])]),
        ("[1]", [("[1]", [1])]),
        ("[1][2]", [("[1]", [1]), ("[2]", [2])]),
        ("Do it [1, 2]. Then stop.", [("Do it ", []), ("[1, 2]", [1, 2]), (". Then stop.", [])]),
        ("Gone [9], code `a[1]`.", [("Gone , code `a[1]`.", [])]),
    ],
)
def test_references_are_pieces_of_their_own(answer, pieces):
    cut = [(it.text, [one.number for one in it.cited]) for it in pieces_of(verify(answer, LEDGER))]
    assert cut == pieces


@given(st.text(alphabet="[]12 9,`ab\n(:", max_size=60))
def test_all_pieces_together_are_the_answer_and_all_its_citations(answer):
    verified = verify(answer, LEDGER)
    pieces = list(pieces_of(verified))
    assert "".join(it.text for it in pieces) == verified.text
    assert all(it.text for it in pieces)
    assert tuple(one for it in pieces for one in it.cited) == verified.citations


@given(
    st.text(alphabet="[]12 9,`ab\n(:", max_size=60),
    st.lists(st.integers(min_value=0, max_value=60), max_size=8),
)
def test_pieces_of_an_answer_in_the_making_are_those_of_the_whole(answer, cuts):
    stream, pieces = PieceStream(LEDGER), []
    bounds = [0, *sorted(min(cut, len(answer)) for cut in cuts), len(answer)]
    for start, end in pairwise(bounds):
        pieces += stream.feed(answer[start:end])
    rest, verified = stream.close()
    pieces += rest
    whole = verify(answer, LEDGER)
    assert verified == whole
    assert "".join(it.text for it in pieces) == whole.text
    cited = [(it.text, it.cited) for it in pieces if it.cited]
    assert cited == [(it.text, it.cited) for it in pieces_of(whole) if it.cited]
