"""Markup is blanked without moving anything, and a placeholder is one lexeme."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.guardrails.support.lexemes import LEXEME, code_stretches, plain


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("- 5 pods", "5 pods"),
        ("  12. [ ] 5 pods", "5 pods"),
        ("> ## 5 pods", "5 pods"),
        ("> 60s is too long", "> 60s is too long"),
        ("- a\n- b", "a\n  b"),
        ("a [1], [2-3] b", "a    ,       b"),
        ("rate(x[5m]) and a[1]", "rate(x[5m]) and a[1]"),
        ("see [1](https://a.example)", "see [1](https://a.example)"),
        ("a <br/> b <td x='1'> c <name>", "a       b            c <name>"),
        ("Step 3: go", ": go"),
        ("skip to step 3.", "skip to step 3."),
        ("5–10 “min” ≥ 3", '5-10 "min" > 3'),
    ],
)
def test_what_is_left(text, left):
    assert plain(text).strip() == left


@given(st.text(alphabet="-+*> \n1.[],)<abr/>`#–x"))
def test_nothing_moves(text):
    assert len(plain(text)) == len(text)
    assert plain(text).count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a `b c` d `e`", ["b c", "e"]),
        ("a ``b ` c`` d", ["b ` c"]),
        ("an open ` tick", []),
        ("```sh\nls -l\n```\n", ["\nls -l\n"]),
        ("`` a ` b `", [" b "]),
    ],
)
def test_code_is_what_backticks_enclose(text, code):
    assert [text[start:end] for start, end in code_stretches(text)] == code


def test_a_placeholder_with_a_space_in_it_is_one_lexeme():
    assert LEXEME.findall("take <db id> now") == ["take", "<db id>", "now"]
