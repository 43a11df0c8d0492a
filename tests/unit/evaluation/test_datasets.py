"""Reading labelled questions."""

from __future__ import annotations

import json

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.evaluation.datasets import (
    Row,
    Target,
    docs_beside,
    fingerprint,
    load_datasets,
    sample,
)
from tests.support.shared_data import shared_data

FILE = {"source_file": "a.md"}
LINES = {"source_file": "b/c.md", "start_line": 3, "end_line": 7, "sha256": "ab", "more": 1}


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def labelled(**changed):
    return {"id": "q1", "query": "why?", "relevant": [FILE]} | changed


def test_a_row_has_files_and_lines_and_what_goes_with_them(tmp_path):
    row = labelled(
        relevant=[LINES, FILE],
        also_acceptable=["d.md"],
        alert="TooSlow",
        runbook_url="https://wiki.example/c.md#slow-writer",
        answer_start_line=4,
        answer_end_line=4,
        corpus="left alone",
    )
    path = write(tmp_path / "set.jsonl", row)
    path.write_text(path.read_text() + "\n\n")
    assert load_datasets([path]) == (
        Row(
            id="q1",
            query="why?",
            targets=(Target("b/c.md", (3, 7), "ab"), Target("a.md")),
            also_acceptable=("d.md",),
            alert="TooSlow",
            anchor="slow-writer",
            answer=Target("b/c.md", (4, 4)),
            dataset="set",
        ),
    )


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{", "not JSON"),
        ("id,query", "not JSON; labels are JSON Lines"),
        (labelled(query="why \ud800?"), "query contains a lone surrogate"),
        ("[1]", "a row must be a JSON object"),
        (labelled(id=7), "id must be a text that is not blank"),
        (labelled(query=" "), "query must be a text that is not blank"),
        (labelled(query="x" * 20_001), "query has 20001 characters"),
        (labelled(relevant=[]), "relevant must be a list of at least one"),
        (labelled(relevant=["a.md"]), "relevant must be a list of {source_file"),
        (labelled(relevant=[{"source_file": "../a.md"}]), "not a plain path"),
        (labelled(relevant=[{"source_file": None}]), "source_file must be a text"),
        (labelled(relevant=[FILE | {"start_line": 1}]), "whole numbers"),
        (labelled(relevant=[LINES | {"start_line": 8}]), "in this order"),
        (labelled(relevant=[LINES | {"start_line": True}]), "whole numbers"),
        (labelled(relevant=[LINES | {"sha256": 1}]), "sha256 must be a text"),
        (labelled(also_acceptable="a.md"), "also_acceptable must be a list"),
        (labelled(alert=[1]), "alert must be a text"),
        (labelled(answer_start_line=1), "answer_start_line and answer_end_line"),
        (labelled(), "duplicate id 'q1', first at"),
    ],
)
def test_what_is_no_row_is_named_by_file_and_line_in_one_line(tmp_path, row, problem):
    text = row if isinstance(row, str) else json.dumps(row)
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(labelled()) + "\n" + text + "\n", encoding="utf-8")
    with pytest.raises(InvalidRequest) as raised:
        load_datasets([path])
    message = str(raised.value)
    assert message.startswith(f"{path}, line 2: ")
    assert problem in message
    assert "\n" not in message


def test_a_file_without_rows_is_refused(tmp_path):
    (tmp_path / "empty.jsonl").write_text("\n\n")
    with pytest.raises(InvalidRequest, match="no rows"):
        load_datasets([tmp_path / "empty.jsonl"])


@pytest.mark.parametrize(
    ("lines", "reached"), [((1, 2), False), ((1, 3), True), ((7, 9), True), ((8, 9), False)]
)
def test_lines_are_reached_by_a_citation_that_shares_one(lines, reached):
    assert Target("b.md", (3, 7)).reached_by(Citation("b.md", *lines)) is reached
    assert Target("b.md").reached_by(Citation("b.md", *lines))
    assert not Target("B.md").reached_by(Citation("b.md", *lines))


def rows(count):
    return [Row(f"q{n}", f"question {n}", (Target("a.md"),)) for n in range(count)]


def test_a_sample_is_chosen_by_its_seed_and_keeps_the_order():
    everything = rows(100)
    chosen = sample(everything, 10, seed=3)
    assert chosen == sample(everything, 10, seed=3) != sample(everything, 10, seed=4)
    assert len(set(chosen)) == 10
    assert [row for row in everything if row in chosen] == list(chosen)
    assert sample(everything, None, seed=3) == sample(everything, 100, seed=1) == tuple(everything)


def test_the_fingerprint_is_of_the_questions_and_their_truth():
    (first, second), (other,) = rows(2), rows(1)
    assert fingerprint([first]) == fingerprint([other])
    moved = Row("q0", "question 0", (Target("a.md", (1, 2)),))
    wider = Row("q0", "question 0", (Target("a.md"),), also_acceptable=("b.md",))
    prints = [fingerprint(each) for each in ([first], [second], [moved], [wider], [first, second])]
    assert len(set(prints)) == 5


def test_the_alert_is_named_before_the_question_if_that_is_wanted():
    row = Row("q", "it is slow", (Target("a.md"),), alert="TooSlow")
    assert row.question(with_alert=False) == "it is slow"
    assert row.question(with_alert=True) == "TooSlow it is slow"
    assert rows(1)[0].question(with_alert=True) == "question 0"


def test_the_documents_lie_beside_the_datasets_or_have_to_be_named(tmp_path):
    (tmp_path / "one" / "docs").mkdir(parents=True)
    (tmp_path / "two").mkdir()
    paths = [tmp_path / "one" / name for name in ("a.jsonl", "b.jsonl")]
    assert docs_beside(paths) == tmp_path / "one" / "docs"
    for others in ([tmp_path / "two" / "c.jsonl"], [*paths, tmp_path / "two" / "c.jsonl"]):
        with pytest.raises(InvalidRequest, match="--docs"):
            docs_beside(others)


def test_other_people_s_rows_can_be_read():
    folder = shared_data("retrieval")
    read = load_datasets(sorted(folder.glob("*.jsonl")))
    assert len(read) == 3407
    assert sum(row.answer is not None for row in read) == 2910
    assert sum(bool(row.alert) for row in read) == 497
