import pytest

from knowledge_rag.core.caution import CAUTIONS, Kind, sentence
from knowledge_rag.core.citations import Citation
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
    assert sentence(Citation("a.md", 3, 9), kinds) == said


def test_one_line_and_its_file_are_named():
    said = sentence(Citation("a.md", 3, 3), ["exfiltration"], of_file=True)
    assert said == "Line 3 of a.md holds text aimed at a model (exfiltration)."


def test_a_caution_travels_with_the_chunk_and_leaves_its_id_alone():
    plain, warned = chunk(), chunk()._replace(caution=("instruction", "hidden_text"))
    assert to_metadata(warned)["chunk_id"] == to_metadata(plain)["chunk_id"]
    result = prove(stored_text(warned), to_metadata(warned))
    assert result.metadata["caution"] == ["instruction", "hidden_text"]
    assert "caution" not in prove(stored_text(plain), to_metadata(plain)).metadata


@pytest.mark.parametrize(
    "value", ["instruction", ["unheard of", "secret"], [], [1, None], {}, None]
)
def test_what_is_no_list_of_known_kinds_is_shown_to_nobody(value):
    metadata = to_metadata(chunk()) | {"caution": value}
    assert "caution" not in prove(stored_text(chunk()), metadata).metadata


def test_all_kinds_leave_room_for_the_rest_of_the_metadata():
    whole = chunk()._replace(caution=tuple(sorted(CAUTIONS)))
    front_matter = {**whole.document.front_matter, "alerts": [f"Alert{n}" for n in range(99)]}
    object.__setattr__(whole.document, "front_matter", front_matter)
    metadata = to_metadata(whole)
    assert set(metadata["caution"]) == CAUTIONS
    assert metadata["alerts"]
    assert metadata_bytes(metadata) <= MAX_METADATA_BYTES


def test_secrets_are_no_caution():
    assert frozenset(Kind) - CAUTIONS == {Kind.SECRET}
