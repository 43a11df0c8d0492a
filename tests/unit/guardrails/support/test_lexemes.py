"""Cutting into pieces finds what the pattern finds in the whole text, and what is kept is bounded."""

from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.guardrails.support.lexemes import (
    LEXEME,
    pieces,
    placed,
    with_digits,
)
from knowledge_rag.guardrails.support.wording import words

TEXTS = st.text(alphabet="ab1 `<>{}$.,-_/:\n\t'Éß数\u2028", max_size=60) | st.text(max_size=60)


@given(TEXTS)
def test_pieces_hold_the_lexemes_of_the_whole_text_where_they_stand(text):
    found = [
        (at + offset, lexeme)
        for at, piece in placed(text, pieces(text))
        for offset, lexeme, _ in piece.places
    ]
    assert found == [(it.start(), it[0]) for it in LEXEME.finditer(text)]


@given(TEXTS)
def test_pieces_hold_the_words_of_the_whole_text(text):
    assert [word for piece in pieces(text) for word in piece.words] == words(text)


def test_a_placeholder_with_a_space_in_it_is_one_lexeme():
    assert [piece.lexemes for piece in pieces("take <db id> now")] == [
        ("take",),
        ("<db id>",),
        ("now",),
    ]


def test_lexemes_with_digits_are_told_from_others_of_their_piece():
    text = "see web(p95) and `v2`"
    assert [*with_digits(text, pieces(text))] == [(8, "p95"), (18, "v2")]
