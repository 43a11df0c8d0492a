"""Questions: those that ship, and a user's own."""

from __future__ import annotations

import pytest

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.deployment.smoke.questions import Topic, load_questions, shipped_questions
from tests.support.local import CORPUS


def test_the_shipped_questions_name_documents_of_the_sample_corpus():
    questions = shipped_questions()
    on = [each for each in questions if each.topic is Topic.ON]
    assert len({each.id for each in questions}) == len(questions)
    assert [each for each in on if not (CORPUS / each.source_file).is_file()] == []
    assert len(questions) - len(on) >= 10  # one that passes is then no more than a tenth


def test_own_questions_bring_the_shipped_off_topic_ones_unless_they_have_some(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text('{"query": "a"}\n\n{"query": "b", "id": "B", "source_file": "b.md"}\n')
    first, second, *others = load_questions(path, shipped_questions())
    assert (first.id, second.id, second.source_file) == ("line 1", "B", "b.md")
    assert others
    assert {each.topic for each in others} == {Topic.OFF}
    path.write_text('{"query": "a"}\n{"query": "c", "topic": "off"}\n')
    assert len(load_questions(path, shipped_questions())) == 2


@pytest.mark.parametrize(
    "line",
    [
        "no json", "[]", "3", "{}", '{"query": ""}', '{"query": 3}', '{"query": "a", "topic": "maybe"}',
        '{"query": "a", "source_file": 1}', '{"query": "a", "relevant": "b.md"}', '{"query": "a", "topic": []}',
    ],
)  # fmt: skip
def test_a_line_that_is_no_question_is_named(tmp_path, line):
    path = tmp_path / "own.jsonl"
    path.write_text('{"query": "fine"}\n' + line + "\n")
    with pytest.raises(UnreadableDocument, match="line 2 is not a JSON object with query"):
        load_questions(path, shipped_questions())


def test_a_file_without_an_on_topic_question_is_refused(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text('{"query": "a", "topic": "off"}\n')
    with pytest.raises(UnreadableDocument, match="no question of topic on"):
        load_questions(path, shipped_questions())


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UnreadableDocument, match=r"missing\.jsonl: No such file"):
        load_questions(tmp_path / "missing.jsonl", [])
