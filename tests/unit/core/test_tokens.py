import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.tokens import classify, cost, fits, token_cost

TEXT = st.text(st.sampled_from("ab 1-|é日\n\r\t "), max_size=60)


@given(TEXT, st.integers(0, 60), st.integers(0, 60))
def test_a_stretch_costs_the_same_alone_and_as_a_part_of_its_text(text, one, other):
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    alone = cost(classify(text, start, end), 0, end - start)
    assert alone == cost(classify(text), start, end)


@given(TEXT, st.integers(0, 60), st.floats(0, 40))
def test_what_fits_costs_at_most_the_cap(text, start, cap):
    start = min(start, len(text))
    within = cost(classify(text), start, len(text)) <= cap
    assert fits(text, start, len(text), cap) == within


@given(TEXT, st.integers(0, 60))
def test_costs_of_two_halves_add_up(text, middle):
    classes, middle = classify(text), min(middle, len(text))
    halves = cost(classes, 0, middle) + cost(classes, middle, len(text))
    assert halves == pytest.approx(token_cost(text))


def test_marks_cost_most_and_indents_nothing():
    assert token_cost("----") > token_cost("1234") > token_cost("word") > 0
    assert token_cost(" " * 400) == pytest.approx(0)


def test_what_ascii_cannot_hold_counts_as_a_mark():
    assert token_cost("日本") == token_cost("--")
