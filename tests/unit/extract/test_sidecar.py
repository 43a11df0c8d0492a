"""What is said of a document beside it: taken over where it makes sense, told where it does not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.repository_links import web_address
from knowledge_rag.extract.sidecar import MAX_BYTES, Sidecar, read_sidecar


def said(**attributes):
    return read_sidecar(json.dumps({"metadataAttributes": attributes}).encode())


def test_plain_and_typed_values_are_those_of_front_matter():
    typed = {"value": {"type": "STRING", "stringValue": "rds"}, "includeForEmbedding": True}
    listed = {"value": {"type": "STRING_LIST", "stringListValue": ["a", "b"]}}
    found = said(
        title=" A\n title ", service=typed, tags=listed, alerts="RDSLag", severity=1, document_type="runbook",
        source_url="https://a.example/x", owner={"value": {"type": "BOOLEAN", "booleanValue": True}},
        fetched_at="2026-11-21T10:00:00Z", other={"x": 1},
    )  # fmt: skip
    assert found == Sidecar(
        {
            "title": "A title",
            "document_type": "runbook",
            "source_url": "https://a.example/x",
            "tags": ["a", "b"],
            "alerts": ["RDSLag"],
            "service": "rds",
            "severity": "1",
            "owner": "true",
        },
        fetched=True,
    )


@pytest.mark.parametrize(
    ("attributes", "note"),
    [
        ({"document_type": "memo"}, "document_type is none of runbook, postmortem, web, pdf, other; left out"),
        ({"source_url": "javascript:x"}, "source_url is not an http or https address; left out"),
        ({"title": ["a"]}, "title is not one line of text; left out"),
        ({"title": ""}, "title is not one line of text; left out"),
        ({"service": "x" * 1_001}, "service is not one line of text; left out"),
        ({"owner": "\ud800"}, "owner is not one line of text; left out"),
        ({"tags": [1, None]}, "tags are not a list of words; left out"),
        ({"tags": []}, "tags are not a list of words; left out"),
        ({"alerts": [{}]}, "alerts are not a list of names; left out"),
    ],
)  # fmt: skip
def test_nonsense_is_left_out_and_told(attributes, note):
    assert said(**attributes) == Sidecar({}, (f".metadata.json: {note}",))


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"3", b"\xff", b'{"metadataAttributes": 3}', b"{}", b"[" * 9_000, b'"metadataAttributes"'],
)  # fmt: skip
def test_what_is_no_such_file_is_told(data):
    assert read_sidecar(data).notes == (
        ".metadata.json is not a JSON object with metadataAttributes",
    )


def test_one_that_is_too_large_is_not_read():
    data = json.dumps({"metadataAttributes": {"x": "x" * MAX_BYTES}}).encode()
    assert read_sidecar(data).notes == (
        ".metadata.json is larger than 10240 bytes and was not read",
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from(["title", "tags", "source_url", "document_type", "owner"]), JSON
    )
)
def test_whatever_is_said_only_lines_of_text_are_taken_over(attributes):
    for value in said(**attributes).fields.values():
        for line in value if isinstance(value, list) else [value]:
            assert line
            assert "\n" not in line
            line.encode()


@pytest.mark.parametrize(
    "address",
    [
        "https://a.example",
        "http://a.example:8080/x?y=1#z",
        "https://\u00e9.example/\u00e9",
        "http://[::1]/x",
    ],
)
def test_an_address_of_the_web_is_one(address):
    assert web_address(f" {address}\n") == address


@pytest.mark.parametrize(
    "address",
    [
        "", "a.example", "//a.example", "https://", "https:///x", "https://a.example:x", "data:text/html,x",
        "https://a@b.example", "https://a.example/<x>", "https://a.example/\u202ex", "https://a\\b.example",
        "https://[::1", "https://a.example/" + "x" * 2_000, 'https://a.example/"onclick="', "https://a\nb",
    ],
)  # fmt: skip
def test_what_is_no_address_of_the_web_is_none(address):
    assert web_address(address) is None
