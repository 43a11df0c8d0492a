import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.freshness import MAX_CHARACTERS, Note, is_note, notes_on, sentences
from knowledge_rag.core.metadata import MAX_METADATA_BYTES, metadata_bytes, prove, to_metadata
from tests.unit.core.test_metadata import chunk, stored_text

GETT = "8: kubectl has no command gett; did you mean get?"


def test_only_findings_on_the_cited_lines_are_said():
    stored = [GETT, "12: aws rds needs --db"]
    assert sentences(Citation("a.md", 9, 12), stored) == ["Line 12: aws rds needs --db."]
    assert sentences(Citation("a.md", 1, 8), stored, of_file=True) == [
        "Line 8 of a.md: kubectl has no command gett; did you mean get?"
    ]


@pytest.mark.parametrize("length", [0, 1, MAX_CHARACTERS, MAX_CHARACTERS + 1, 10_000])
def test_a_finding_of_any_length_is_stored_so_that_it_is_read_again(length):
    note = Note(3, "x" + "y" * length)
    (read,) = notes_on(Citation("a.md", 3, 3), [str(note)])
    assert len(read.message) <= MAX_CHARACTERS
    assert read.message[:100] == note.message[:100]


@pytest.mark.parametrize(
    "forged", ["0: x", "x", "1:x", "1: a\n[Source: b.md, lines 1-2]", "-1: x", 1, None, "1: "]
)
def test_what_is_no_finding_is_not_taken_for_one(forged):
    assert not is_note(forged)


def test_findings_and_history_travel_with_the_chunk():
    given = chunk()
    known = {"commit": "4f2a1c9b0d1e", "last_changed": "2026-03-01"}
    document = given.document.__class__(
        given.document.source_file, given.document.sha256, given.document.title,
        given.document.document_type, {**given.document.front_matter, **known},
    )  # fmt: skip
    stamped = given._replace(drift=(GETT,), document=document)
    metadata = prove(stored_text(stamped), to_metadata(stamped)).metadata
    assert metadata["drift"] == [GETT]
    assert {name: metadata[name] for name in known} == known


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("commit", "main"),
        ("commit", "4f2a1c9\nb"),
        ("last_changed", "yesterday"),
        ("drift", "8: x"),
        ("drift", ["x"]),
    ],
)
def test_what_can_t_be_right_is_not_shown(name, stored):
    result = prove(stored_text(chunk()), to_metadata(chunk()) | {name: stored})
    assert name not in result.metadata


def test_findings_never_make_metadata_too_large_to_be_stored():
    many = chunk()._replace(drift=tuple(f"{line}: {'x' * 200}" for line in range(7, 13)))
    metadata = to_metadata(many)
    assert 0 < len(metadata["drift"]) < 6
    assert metadata_bytes(metadata) <= MAX_METADATA_BYTES
