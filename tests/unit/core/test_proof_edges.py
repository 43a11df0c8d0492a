"""The last value that is still proven or shown, and the first that is not."""

from __future__ import annotations

import hashlib

import pytest

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.chunks import chunk_id
from knowledge_rag.core.citations import MAX_LINE, MAX_PATH, Citation, check_source_file
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.errors import InvalidCitation
from knowledge_rag.core.metadata import citation_in, prove, stored_text, to_metadata, whole_number
from knowledge_rag.core.outcome import DropReason, RetrievalResult


def chunk_of(text, **changes):
    document, decoded = read_document("notes/a.md", text.encode())
    return chunk_text(document, decoded)[0]._replace(**changes)


CHUNK = chunk_of("# A\n\nOne line.\n")


@pytest.mark.parametrize(
    "text", ["", " 5", "5 ", "+5", "-5", "5_0", "5.0", "0x5", "٥", "²", "1" * 11, "five"]
)
def test_digits_alone_are_a_number_and_no_more_than_ten_of_them(text):
    with pytest.raises(ValueError, match=r"is not a line number\Z"):
        whole_number(text)
    assert whole_number("1234567890") == 1_234_567_890


def test_what_is_no_number_is_quoted_to_twenty_characters():
    with pytest.raises(ValueError, match=r"\A'x{20}' is not a line number\Z"):
        whole_number("x" * 21)


@pytest.mark.parametrize(
    ("value", "error", "told"),
    [
        (5.5, ValueError, "5.5 is not integral"),
        (None, TypeError, "NoneType is not a line number"),
        (True, TypeError, "bool is not a line number"),
        ([5], TypeError, "list is not a line number"),
    ],
)
def test_what_is_no_whole_number_is_told(value, error, told):
    with pytest.raises(error, match=rf"\A{told}\Z"):
        whole_number(value)


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"source_file": 5}, TypeError, "source_file and section_header are text"),
        ({"section_header": None}, TypeError, "source_file and section_header are text"),
        ({"section_header": "a\nb"}, ValueError, "section_header is not one line of text"),
    ],
)
def test_metadata_that_hold_no_citation_are_told(change, error, told):
    with pytest.raises(error, match=rf"\A{told}\Z"):
        citation_in(to_metadata(CHUNK) | change)


def test_the_citation_is_the_chunks_own_with_its_heading():
    proven = prove(stored_text(CHUNK), to_metadata(CHUNK))
    assert isinstance(proven, RetrievalResult)
    assert proven.citation == CHUNK.citation == Citation("notes/a.md", 1, 3, "A")


def test_lines_without_a_character_are_no_evidence_even_with_a_proof():
    empty = {
        "end_line": 1,
        "context_length": 3,
        "content_sha256": hashlib.sha256(b"").hexdigest(),
        "chunk_id": chunk_id("notes/a.md", 1, 1, ""),
    }
    assert prove("abc", to_metadata(CHUNK) | empty) is DropReason.NOT_PROVEN


@pytest.mark.parametrize(
    ("page", "shown"), [(0, None), (1, 1), (MAX_LINE, MAX_LINE), (MAX_LINE + 1, None)]
)
def test_pages_begin_at_one_and_end_where_lines_do(page, shown):
    proven = prove(stored_text(CHUNK), to_metadata(CHUNK) | {"page": page})
    assert isinstance(proven, RetrievalResult)
    assert proven.metadata.get("page") == shown


def test_page_and_dates_are_stored_where_a_chunk_has_them():
    chunk = chunk_of("# A\n", page=3, dates=("2026-01-02", "2026-11-12"))
    stored = to_metadata(chunk)
    assert (stored["page"], stored["dates"]) == (3, ["2026-01-02", "2026-11-12"])
    assert {"page", "dates"}.isdisjoint(to_metadata(CHUNK))


@pytest.mark.parametrize(
    ("front_matter", "stored"),
    [
        ("", {}),
        ("service: rds\ntags: one", {"service": "rds", "tags": ["one"]}),
        ("tags: [one, two]", {"tags": ["one", "two"]}),
        ("service: [rds, s3]\nowner:", {}),
        ("source_url: https://a.example/", {"source_url": "https://a.example/"}),
    ],
)
def test_of_front_matter_texts_are_stored_and_tags_as_a_list(front_matter, stored):
    metadata = to_metadata(chunk_of(f"---\ntitle: T\n{front_matter}\n---\n# A\n"))
    assert {name: metadata[name] for name in metadata.keys() - to_metadata(CHUNK).keys()} == stored


def test_a_path_has_one_character_at_least_and_as_many_as_a_key_at_most():
    for path in ("a", "a" * MAX_PATH, "draft [v2].md", "【重要】 [a].md", "a) b.md"):
        assert check_source_file(path) == path
    for path in ("", "a" * (MAX_PATH + 1)):
        with pytest.raises(InvalidCitation, match=rf"has {len(path)} characters, allowed: 1 to"):
            check_source_file(path)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("a\\b", "contains a backslash, a control or an invisible character"),
        ("a, line 3", "reads like a citation"),
        ("a, ｌｉｎｅ 3", "reads like a citation"),
        ("a.md] [b.md", "reads like a citation"),
        ("a.md］ ［Sоurce: b.md", "reads like a citation"),
        ("a [2", "reads like a citation"),
        ("a】.md", "reads like a citation"),
        ("a//b", "is not a plain path below the corpus root"),
    ],
)
def test_a_path_that_no_corpus_can_hold_is_told(path, told):
    with pytest.raises(InvalidCitation) as raised:
        check_source_file(path)
    assert str(raised.value) == f"source_file {path!r} {told}"


def test_the_last_line_that_a_file_can_have_may_be_cited():
    assert Citation("a.md", MAX_LINE, MAX_LINE).end_line == MAX_LINE
