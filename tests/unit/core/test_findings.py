"""What lint and drift found in lines: stored with them, and said to whoever is shown them."""

from dataclasses import replace

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.findings import (
    CAUTIONS,
    MAX_CHARACTERS,
    Kind,
    Note,
    caution_sentence,
    drift_sentences,
    is_note,
    notes_on,
)
from knowledge_rag.core.metadata import MAX_METADATA_BYTES, metadata_bytes, prove, to_metadata
from tests.unit.core.test_metadata import chunk, stored_text


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (["instruction"], "Lines 3-9 hold text aimed at a model (instruction)."),
        (
            ["role_play", "hidden_text"],
            "Lines 3-9 hold text aimed at a model (role play, hidden text).",
        ),
        (["active_content"], "Lines 3-9 hold content that a browser would run."),
        (
            ["tool_call", "hidden_unicode"],
            "Lines 3-9 hold text aimed at a model (tool call) and hidden characters.",
        ),
        (["unchecked"], "Lines 3-9 hold text that lint did not check."),
        ([], ""),
    ],
)
def test_the_sentence_says_whom_the_text_is_aimed_at(kinds, said):
    assert caution_sentence(Citation("a.md", 3, 9), kinds) == said


def test_one_line_and_its_file_are_named():
    said = caution_sentence(Citation("a.md", 3, 3), ["exfiltration"], of_file=True)
    assert said == "Line 3 of a.md holds text aimed at a model (exfiltration)."


def test_a_caution_travels_with_the_chunk_and_leaves_its_id_alone():
    plain, warned = chunk(), chunk()._replace(caution=("instruction", "hidden_text"))
    assert to_metadata(warned)["chunk_id"] == to_metadata(plain)["chunk_id"]
    result = prove(stored_text(warned), to_metadata(warned))
    assert result.metadata["caution"] == ["instruction", "hidden_text"]
    assert "caution" not in prove(stored_text(plain), to_metadata(plain)).metadata


def test_all_kinds_leave_room_for_the_rest_of_the_metadata():
    whole = chunk()._replace(caution=tuple(sorted(CAUTIONS)))
    front_matter = {**whole.document.front_matter, "alerts": [f"Alert{n}" for n in range(99)]}
    document = replace(whole.document, front_matter=front_matter)
    metadata = to_metadata(whole._replace(document=document))
    assert set(metadata["caution"]) == CAUTIONS
    assert metadata["alerts"]
    assert metadata_bytes(metadata) <= MAX_METADATA_BYTES


def test_secrets_are_no_caution():
    assert frozenset(Kind) - CAUTIONS == {Kind.SECRET}


GETT = "8: kubectl has no command gett; did you mean get?"


def test_only_findings_on_the_cited_lines_are_said():
    stored = [GETT, "12: aws rds needs --db"]
    assert drift_sentences(Citation("a.md", 9, 12), stored) == ["Line 12: aws rds needs --db."]
    assert drift_sentences(Citation("a.md", 1, 8), stored, of_file=True) == [
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
    document = replace(given.document, front_matter={**given.document.front_matter, **known})
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
        *[("caution", odd) for odd in ("instruction", ["unheard of", "secret"], [], [1, None], {})],
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
