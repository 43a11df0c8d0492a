"""Others' chunks are given the lines that they stand on, and are judged as ours are."""

import asyncio

import pytest

from benchmarks.retrieval import peers as peers_bench
from benchmarks.retrieval.peer_systems import Embedded, Found, PeerRetrieval, located
from benchmarks.retrieval.peers import as_table, run_peers_bench
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.evaluation.datasets import Row, Target
from knowledge_rag.evaluation.evaluation_corpus import Documents
from tests.support.local import RUNBOOKS, WordHashes, write_files
from tests.support.tables import shown

TEXTS = {"a.md": "# Title\n\nFirst line.\n\nThe longest line of them all.\nEnd.\n"}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("First line.", (3, 3)),
        ("First line.\n\nThe longest line of them all.", (3, 5)),
        ("\nEnd.\n", (6, 6)),
        ("First line.\nThe longest line of them all.", (5, 5)),  # not as it stands there
        ("Nothing of it.", None),
        ("", None),
    ],
)
def test_a_chunk_has_the_lines_it_stands_on_or_those_of_its_longest_line(text, lines):
    found = located(Found("a.md", text), TEXTS)
    given = found and (found.citation.start_line, found.citation.end_line)
    assert given == lines


def test_a_chunk_of_a_file_that_is_none_has_no_lines():
    assert located(Found("b.md", "First line."), TEXTS) is None


def finding(*found):
    return lambda _, limit: found[:limit]


def test_what_a_peer_finds_is_an_outcome_like_any():
    peer = PeerRetrieval(finding(Found("a.md", "End."), Found("a.md", "Not in it.")), TEXTS)
    outcome = asyncio.run(peer.retrieve(Query("?", 5)))
    assert [str(result.citation) for result in outcome.results] == ["[Source: a.md, lines 6-6]"]
    nothing = asyncio.run(PeerRetrieval(finding(), TEXTS).retrieve(Query("?")))
    assert nothing.status is Status.NO_MATCH


def test_a_text_is_embedded_once_for_all_of_them():
    model = WordHashes()
    embedded = Embedded(model)
    assert embedded("one") == embedded("one")
    assert model.embedded == ["one"]


def test_ours_and_the_peers_that_are_installed_are_judged_by_the_same_questions(
    tmp_path, monkeypatch
):
    documents = Documents.of(write_files(tmp_path, RUNBOOKS))
    name = "runbooks/lambda-throttling.md"
    row = Row("1", "throttled", (Target(name),), dataset="alerts")
    line = "Raise the reserved concurrency."

    def absent(*_):
        raise ImportError("not here")

    def present(texts, _):
        assert texts[name] == RUNBOOKS[name]
        return finding(Found(name, line), Found(name, line[:10]))

    monkeypatch.setattr(peers_bench, "PEERS", {"there": present, "not there": absent})
    ours = PeerRetrieval(finding(), {})
    report = run_peers_bench(ours, [row], documents, WordHashes(), lambda *_: None)
    assert report.missing == ("not there",)
    one, other = report.rows
    assert (one.name, one.hit_5, other.name, other.hit_1) == ("knowledge-rag", 0.0, "there", 1.0)
    assert other.exact == 0.5
    assert "not installed: not there" in shown(as_table(report), 120)
