"""Each measure, against an example worked out by hand."""

from __future__ import annotations

import ast
import sys
from math import log2

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.evaluation.datasets import Row, Target
from knowledge_rag.evaluation.evaluation_run import (
    MEASURES,
    answer_rank,
    first_hit,
    line_overlap,
    measure,
    met_targets,
)
from knowledge_rag.local.errors import NotInstalled

A, B = Target("a.md"), Target("b.md", (10, 20))


def found(*places):
    """Give citations: a file's name, with or without its lines."""
    return [Citation(*((place, 1, 5) if isinstance(place, str) else place)) for place in places]


def row(*targets, **more):
    return Row("q", "why?", targets or (A,), **more)


def measured(question, ranking):
    ((values),) = measure([question], [ranking])
    return values


def test_an_answer_at_the_second_place():
    values = measured(row(), found("x.md", "a.md", "y.md"))
    assert values == pytest.approx(
        {
            "hit@1": 0,
            "hit@3": 1,
            "hit@5": 1,
            "recall@10": 1,
            "mrr@10": 1 / 2,
            "ndcg@10": 1 / log2(3),
        }
    )


def test_both_answers_at_the_first_and_the_third_place():
    values = measured(row(A, B), found(("b.md", 20, 30), "x.md", "a.md"))
    ideal = 1 + 1 / log2(3)
    assert values["ndcg@10"] == pytest.approx((1 + 1 / log2(4)) / ideal)
    assert (values["recall@10"], values["mrr@10"], values["hit@1"]) == (1, 1, 1)


def test_many_results_of_one_answer_count_once():
    values = measured(row(), found(*(("a.md", n, n + 1) for n in range(1, 8))))
    assert set(values.values()) == {1.0}
    assert met_targets(row(), found("a.md", ("a.md", 7, 8))) == [0, None]


def test_a_file_that_is_also_acceptable_stands_for_any_answer():
    question = row(B, also_acceptable=("copy.md",))
    assert met_targets(question, found("x.md", "copy.md", ("b.md", 10, 11))) == [None, 0, None]
    assert first_hit(question, found("x.md", "copy.md")) == 2
    assert measured(question, found("copy.md"))["recall@10"] == 1


def test_questions_keep_apart():
    values = measure([row(), row(B)], [found("a.md"), found("a.md", ("b.md", 5, 10))])
    assert [each["mrr@10"] for each in values] == [1, 1 / 2]


@pytest.mark.parametrize(
    ("lines", "overlap"),
    [
        ((10, 20), 1),
        ((12, 13), 2 / 11),  # within
        ((1, 40), 11 / 40),  # around
        ((5, 12), 3 / 16),  # lines 10 to 12 of 5 to 20
        ((20, 20), 1 / 11),
        ((21, 30), 0),
    ],
)
def test_line_overlap_is_of_the_best_result_with_the_true_lines(lines, overlap):
    ranking = found(("b.md", *lines), ("b.md", 10, 20))
    assert line_overlap(row(B), ranking) == pytest.approx(overlap)


def test_line_overlap_takes_the_target_that_fits_and_is_none_without_true_lines():
    other = Target("b.md", (100, 101))
    assert line_overlap(row(other, B), found(("b.md", 10, 20))) == 1
    assert line_overlap(row(B), []) == 0
    assert line_overlap(row(A), found("a.md")) is None


def test_the_rank_of_the_answer_itself_is_of_its_very_lines():
    question = row(B, answer=Target("b.md", (12, 12)))
    ranking = found(("b.md", 10, 11), "a.md", ("b.md", 12, 14))
    assert (first_hit(question, ranking), answer_rank(question, ranking)) == (1, 3)
    assert answer_rank(question, ranking[:2]) is None
    assert answer_rank(row(B), ranking) is None


def test_it_measures_without_what_python_deprecates(monkeypatch):
    for name in ("Num", "Str", "NameConstant"):
        monkeypatch.delitem(vars(ast), name, raising=False)
    assert measure([row(A)], [found("a.md")]) == [dict.fromkeys(MEASURES, 1.0)]


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(NotInstalled, match=r"ir_measures is not installed, .*'\.\[eval\]'"):
        measure([row()], [[]])
