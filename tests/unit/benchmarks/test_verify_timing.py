"""What is timed is an answer as models write them; how long it takes is no matter for a test."""

import pytest

from benchmarks.guardrails.verify_timing import VerifyTiming, time_verify
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.resources import shipped
from knowledge_rag.local.corpus import find_documents, read_bytes


def test_an_answer_of_a_thousand_words_with_references_is_timed():
    files = find_documents(shipped("knowledge-corpus"))
    timing = time_verify([read_document(file.source_file, read_bytes(file)) for file in files])
    assert timing.references == 25
    assert timing.short_ms > 0
    assert timing.long_ms > 0


@pytest.mark.parametrize(
    ("short_ms", "long_ms", "reached"), [(0.9, 1.0, True), (0.5, 1.1, False), (1.1, 0.5, False)]
)
def test_the_aim_is_reached_if_neither_length_costs_more(short_ms, long_ms, reached):
    fields = VerifyTiming(short_ms, long_ms, references=25).to_dict()
    assert fields["reached"] is reached
    assert fields["aim_ms"] == 1.0
