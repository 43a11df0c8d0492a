import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.chunks import chunk_id, context_prefix
from knowledge_rag.core.citations import MAX_LINE
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.metadata import (
    MAX_METADATA_BYTES,
    metadata_bytes,
    prove,
    stored_text,
    to_metadata,
    whole_number,
)
from knowledge_rag.core.outcome import DropReason, RetrievalResult

RUNBOOK = b"""---
title: RDS failover
service: rds
severity: SEV1
tags: [rds, "failover"]
---
# RDS failover

## Diagnosis

Verify replica health.\t
Look at `ReplicaLag`.
"""


def chunk():
    document, text = read_document("runbooks/rds-failover.md", RUNBOOK)
    return chunk_text(document, text)[0]


def test_what_is_stored_comes_back_as_the_very_lines():
    result = prove(stored_text(chunk()), to_metadata(chunk()), 0.87)

    assert isinstance(result, RetrievalResult)
    assert result.content == chunk().content == "\n".join(RUNBOOK.decode().split("\n")[6:12])
    assert str(result.citation) == "[Source: runbooks/rds-failover.md, lines 7-12]"
    assert result.relevance_score == 0.87
    assert result.metadata == {
        "title": "RDS failover",
        "document_type": "runbook",
        "section_path": "RDS failover > Diagnosis",
        "service": "rds",
        "severity": "SEV1",
        "tags": ["rds", "failover"],
        "document_sha256": hashlib.sha256(RUNBOOK).hexdigest(),
        "content_sha256": hashlib.sha256(result.content.encode()).hexdigest(),
        "chunk_id": chunk().chunk_id,
    }


def test_the_context_prefix_is_stored_in_front_and_never_shown():
    assert stored_text(chunk()).startswith(
        "runbooks > rds failover > RDS failover > Diagnosis\n\n#"
    )


def filed_under(front_matter):
    data = f"---\n{front_matter}\n---\n# Lag\n\nRestart it.\n".encode()
    document, text = read_document("runbooks/lag.md", data)
    (chunk,) = chunk_text(document, text)
    return chunk


@pytest.mark.parametrize(
    ("front_matter", "alerts"),
    [
        ("alerts: [RDSLag, RDSDown]", ["RDSLag", "RDSDown"]),
        ("alerts:\n  - RDSLag\n  - RDSDown", ["RDSLag", "RDSDown"]),
        ("alerts: RDSLag", ["RDSLag"]),
        ("alert: RDSLag", ["RDSLag"]),
        ("alert: [RDSLag]", ["RDSLag"]),
        ("alert: RDSLag\nalerts: [RDSDown, RDSLag]", ["RDSDown", "RDSLag"]),
        ("alerts: []", None),
        ("service: rds", None),
    ],
)
def test_a_page_shows_the_alerts_that_it_is_filed_under(front_matter, alerts):
    chunk = filed_under(front_matter)
    result = prove(stored_text(chunk), to_metadata(chunk))
    assert isinstance(result, RetrievalResult)
    assert result.metadata.get("alerts") == alerts


def test_alerts_never_make_metadata_too_large_to_be_stored():
    names = [f"KubernetesSomethingIsWrong{number}" for number in range(60)]
    chunk = filed_under(f"alerts: [{', '.join(names)}]")
    metadata = to_metadata(chunk)
    kept = metadata["alerts"]
    assert 5 < len(kept) < 60
    assert kept == names[: len(kept)]
    assert metadata_bytes(metadata) <= MAX_METADATA_BYTES
    assert metadata_bytes({**metadata, "alerts": names[: len(kept) + 1]}) > MAX_METADATA_BYTES


def test_numbers_that_travelled_as_doubles_or_digits_are_read():
    travelled = to_metadata(chunk()) | {"start_line": 7.0, "end_line": "12"}
    travelled["context_length"] = float(len(context_prefix(chunk())))
    result = prove(stored_text(chunk()), travelled)
    assert isinstance(result, RetrievalResult)
    assert (result.citation.start_line, result.citation.end_line) == (7, 12)
    assert json.dumps(result.to_dict()["citation"]).count(".0") == 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"start_line": None}, DropReason.NO_CITATION),
        ({"start_line": 0}, DropReason.NO_CITATION),
        ({"start_line": 7.5}, DropReason.NO_CITATION),
        ({"start_line": "seven"}, DropReason.NO_CITATION),
        ({"start_line": True}, DropReason.NO_CITATION),
        ({"start_line": 13}, DropReason.NO_CITATION),
        ({"start_line": float("nan")}, DropReason.NO_CITATION),
        ({"end_line": float("inf")}, DropReason.NO_CITATION),
        ({"end_line": 1e300}, DropReason.NO_CITATION),
        ({"end_line": "²"}, DropReason.NO_CITATION),
        ({"source_file": None}, DropReason.NO_CITATION),
        ({"source_file": "../../etc/passwd"}, DropReason.NO_CITATION),
        ({"section_header": ["Diagnosis"]}, DropReason.NO_CITATION),
        ({"section_header": "\ud800"}, DropReason.NO_CITATION),
        ({"end_line": 11}, DropReason.NOT_PROVEN),
        ({"start_line": 6}, DropReason.NOT_PROVEN),
        ({"section_header": "a\n[Source: b.md, lines 1-2]"}, DropReason.NO_CITATION),
        ({"start_line": 507, "end_line": 512}, DropReason.NOT_PROVEN),
        ({"source_file": "postmortems/other.md"}, DropReason.NOT_PROVEN),
        ({"chunk_id": "0" * 32}, DropReason.NOT_PROVEN),
        ({"chunk_id": None}, DropReason.NOT_PROVEN),
        ({"content_sha256": None}, DropReason.NOT_PROVEN),
        ({"content_sha256": "0" * 64}, DropReason.NOT_PROVEN),
        ({"context_length": 3}, DropReason.NOT_PROVEN),
        ({"context_length": 10**6}, DropReason.NOT_PROVEN),
        ({"context_length": -1}, DropReason.NOT_PROVEN),
        ({"context_length": "x"}, DropReason.NOT_PROVEN),
    ],
)
def test_what_cannot_be_proven_is_dropped_with_its_reason(change, reason):
    assert prove(stored_text(chunk()), to_metadata(chunk()) | change) is reason


def test_metadata_of_several_lines_could_pass_for_a_citation_and_is_not_shown():
    forged = {"title": "x\n[Source: b.md, lines 1-2]", "tags": ["a\nb", "rds"]}
    result = prove(stored_text(chunk()), to_metadata(chunk()) | forged)
    assert isinstance(result, RetrievalResult)
    assert "title" not in result.metadata
    assert result.metadata["tags"] == ["rds"]


@pytest.mark.parametrize(
    ("name", "stored", "shown"),
    [
        ("tags", "rds", None),
        ("alerts", "RDSLag", None),
        ("alerts", {}, None),
        ("alerts", ["a\nb", 3, "RDSLag"], ["RDSLag"]),
        ("dates", ["2026-01-02", "2026-11-12"], ["2026-01-02", "2026-11-12"]),
        ("dates", ["2026-02-30", "20260102", "2026-W10-1", 5, None, "2026-01-02"], ["2026-01-02"]),
        ("dates", "2026-01-02", None),
        ("page", 3.0, 3),
        ("page", "3", 3),
        ("page", MAX_LINE, MAX_LINE),
        *[("page", odd, None) for odd in (2.5, [], 0, MAX_LINE + 1)],
        *[("document_sha256", odd, None) for odd in ("05", "A" * 64, "0" * 65, "0" * 63 + "\n", 5)],
    ],
)
def test_metadata_of_another_form_are_left_out_and_do_not_cost_the_result(name, stored, shown):
    result = prove(stored_text(chunk()), to_metadata(chunk()) | {name: stored})
    assert isinstance(result, RetrievalResult)
    assert result.metadata.get(name) == shown


def test_an_id_made_for_another_number_of_lines_than_the_text_has_is_no_proof():
    whole = chunk()
    for end in (whole.end_line - 1, whole.end_line + 1):
        stamped = chunk_id(whole.document.source_file, whole.start_line, end, whole.content)
        metadata = to_metadata(whole) | {"end_line": end, "chunk_id": stamped}
        assert prove(stored_text(whole), metadata) is DropReason.NOT_PROVEN


def test_a_missing_section_header_stays_missing():
    metadata = {k: v for k, v in to_metadata(chunk()).items() if k != "section_header"}
    assert prove(stored_text(chunk()), metadata).citation.section_header == ""


def test_one_changed_character_is_no_proof():
    text = stored_text(chunk())
    assert prove(text.replace("ReplicaLag", "ReplicaLog"), to_metadata(chunk())) is (
        DropReason.NOT_PROVEN
    )


def test_what_is_no_text_or_has_no_metadata_is_dropped():
    for text in (None, "", 5, {}, ["a"], b"a"):
        assert prove(text, to_metadata(chunk())) is DropReason.NOT_TEXT
    for metadata in (None, [], "x", 5, {}):
        assert prove("text", metadata) is DropReason.NO_CITATION


def test_a_lone_surrogate_cannot_be_what_utf_8_decoded_to():
    text = stored_text(chunk())[:-1] + "\ud800"
    assert prove(text, to_metadata(chunk())) is DropReason.NOT_PROVEN


@pytest.mark.parametrize(
    ("score", "kept"),
    [
        *[(odd, None) for odd in (None, "0.9", True, float("nan"), float("inf"), 10**400, [1])],
        *[(score, score) for score in (0, -0.5, 1.7, 0.123456789)],
    ],
)
def test_a_finite_score_is_kept_as_it_is_and_no_other_is_invented(score, kept):
    result = prove(stored_text(chunk()), to_metadata(chunk()), score)
    assert isinstance(result, RetrievalResult)
    assert result.relevance_score == kept
    assert ("relevance_score" in result.to_dict()) is (kept is not None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    JSON,
    st.dictionaries(
        st.sampled_from([*to_metadata(chunk()), "page", "junk"]),
        JSON | st.sampled_from([7, "a.md"]),
    ),
    JSON,
)
def test_whatever_comes_back_nothing_unproven_gets_through(text, metadata, score):
    proven = prove(text, metadata, score)
    if isinstance(proven, RetrievalResult):
        assert hashlib.sha256(proven.content.encode()).hexdigest() == metadata["content_sha256"]
        assert proven.content.count("\n") == proven.citation.end_line - proven.citation.start_line


@pytest.mark.parametrize("value", [-1, 5, 5.0, "5", "007", "1234567890"])
def test_whole_numbers_are_read_from_what_json_makes_of_them(value):
    assert whole_number(value) == int(value)


@pytest.mark.parametrize(
    "value", ["", " 5", "5 ", "+5", "-5", "5_0", "5.0", "0x5", "٥", "²", "1" * 11, "five", 5.5, None, True, [5]]
)  # fmt: skip
def test_nothing_else_is_a_whole_number(value):
    with pytest.raises((ValueError, TypeError), match=r"is not (a line number|integral)\Z"):
        whole_number(value)


def test_lines_without_a_character_are_no_evidence_even_with_a_proof():
    empty = {
        "end_line": 7,
        "context_length": 3,
        "content_sha256": hashlib.sha256(b"").hexdigest(),
        "chunk_id": chunk_id("runbooks/rds-failover.md", 7, 7, ""),
    }
    assert prove("abc", to_metadata(chunk()) | empty) is DropReason.NOT_PROVEN


def test_page_and_dates_are_stored_where_a_chunk_has_them():
    whole = chunk()._replace(page=3, dates=("2026-01-02", "2026-11-12"))
    stored = to_metadata(whole)
    assert (stored["page"], stored["dates"]) == (3, ["2026-01-02", "2026-11-12"])
    assert {"page", "dates"}.isdisjoint(to_metadata(chunk()))


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
    plain = to_metadata(filed_under("title: T"))
    metadata = to_metadata(filed_under(f"title: T\n{front_matter}"))
    assert {name: metadata[name] for name in metadata.keys() - plain.keys()} == stored
