"""Files that people name for a measurement are read whole, or it is said why not."""

from __future__ import annotations

import json
import os
from functools import partial

import pytest

from benchmarks import dates as finder
from knowledge_rag.cli import inputs
from knowledge_rag.core.errors import InvalidRequest, KnowledgeRagError, UnreadableDocument
from knowledge_rag.deployment.smoke import questions
from knowledge_rag.evaluation import claims_eval, comparison, coverage_runbooks, datasets, floor
from knowledge_rag.evaluation.coverage_check import FORM
from knowledge_rag.evaluation.datasets import read_lines, read_text

known = partial(inputs.known_findings, form=FORM)
READERS = {
    "a dataset": (datasets, "MAX_DATASET_BYTES", lambda path: datasets.load_datasets([path])),
    "claims": (claims_eval, "MAX_CLAIMS_BYTES", claims_eval.load_claims),
    "questions": (floor, "MAX_FILE_BYTES", floor.load_questions),
    "sentences": (finder, "MAX_SENTENCES_BYTES", finder.read_sentences),
    "a baseline": (inputs, "MAX_BASELINE_BYTES", lambda path: known(path, writes=False)),
    "a map": (coverage_runbooks, "MAX_BYTES", coverage_runbooks.read_map),
    "results": (comparison, "MAX_RESULTS_BYTES", comparison.read_results),
    "a deployment's questions": (questions, "MAX_FILE_BYTES", questions.load_questions),
}
ROWS = {
    "a dataset": '{"id": "a", "query": "b", "relevant": [{"source_file": "c.md"}]}',
    "claims": '{"id": "a", "claim": "b", "supported": true, "evidence": ["c"]}',
    "questions": '{"id": "a", "query": "b"}',
    "sentences": '{"sentence": "a", "dates": []}',
    "a deployment's questions": '{"query": "a"}',
}
EACH = pytest.mark.parametrize("kind", READERS)


@EACH
def test_a_file_that_is_too_large_is_refused_and_not_cut_off(kind, tmp_path, monkeypatch):
    module, most, read = READERS[kind]
    monkeypatch.setattr(module, most, 4)
    (tmp_path / "file").write_text("A: b\nC: d\n")
    with pytest.raises(UnreadableDocument, match="file: larger than "):
        read(tmp_path / "file")


@EACH
def test_what_is_no_text_file_is_told_in_a_line(kind, tmp_path):
    _, _, read = READERS[kind]
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")  # nobody writes to it: who waits for it waits for ever
    for name in ("binary", "folder", "pipe", "missing"):
        with pytest.raises(UnreadableDocument, match=name):
            read(tmp_path / name)


@EACH
def test_what_is_nested_without_end_is_told_in_a_line(kind, tmp_path):
    _, _, read = READERS[kind]
    (tmp_path / "deep").write_text("[" * 100_000)
    with pytest.raises(KnowledgeRagError, match="deep"):
        read(tmp_path / "deep")


@pytest.mark.parametrize("line", ["{", "null", "3", '"text"', "[]", "[{}]", "{}", "[" * 9_999])
@pytest.mark.parametrize("kind", ROWS)
def test_the_first_line_that_is_no_row_is_named(kind, line, tmp_path):
    _, _, read = READERS[kind]
    (tmp_path / "rows").write_text(f"{ROWS[kind]}\n\n{line}\n{line}\n")
    with pytest.raises(KnowledgeRagError, match=r"rows(:|, line |: line )3\b") as raised:
        read(tmp_path / "rows")
    assert len(str(raised.value).splitlines()) == 1
    (tmp_path / "rows").write_text(f"\n{ROWS[kind]}\n")
    assert read(tmp_path / "rows")


@pytest.mark.parametrize(
    "change",
    [{"supported": "yes"}, {"evidence": "a"}, {"evidence": ["a", 1]}, {"evidence_lines": None}],
)
def test_a_claim_has_lines_and_is_supported_or_not(change, tmp_path):
    (tmp_path / "claims").write_text(json.dumps(json.loads(ROWS["claims"]) | change))
    with pytest.raises(InvalidRequest, match=r'claims, line 1: expected {"id", "claim"'):
        claims_eval.load_claims(tmp_path / "claims")


def test_a_file_as_large_as_is_allowed_is_read_and_blank_lines_keep_their_numbers(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbfa\n\n \nb")
    assert read_text(path, path.stat().st_size) == "a\n\n \nb"
    assert list(read_lines(path, 100)) == [(1, "a"), (4, "b")]
