"""Addresses of documents and lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.citations import MAX_LINE, Citation
from knowledge_rag.core.errors import InvalidCitation, InvalidRequest
from knowledge_rag.mcp_server.resources import Link, mime_type, parse_link


def test_lines_stand_in_the_query_and_the_authority_is_empty():
    assert (
        str(Link.to(Citation("runbooks/rds.md", 5, 10)))
        == "knowledge:///runbooks/rds.md?lines=5-10"
    )
    assert (
        str(Link("Runbooks/100% café?#.md")) == "knowledge:///Runbooks/100%25%20caf%C3%A9%3F%23.md"
    )


@pytest.mark.parametrize(
    ("address", "lines"),
    [
        ("?lines=5-10", (5, 10)), ("?lines=7", (7, 7)), ("#L5-L10", (5, 10)),
        ("#L5-10", (5, 10)), ("#L7", (7, 7)), ("", (0, 0)),
    ],
)  # fmt: skip
def test_lines_are_understood_as_editors_and_code_hosts_write_them(address, lines):
    link = parse_link(f"knowledge:///a/b.md{address}")
    assert (link.source_file, link.start_line, link.end_line) == ("a/b.md", *lines)


@pytest.mark.parametrize(
    "address",
    [
        "", "knowledge://", "knowledge:///", "knowledge://host/a.md", "KNOWLEDGE:///a.md",
        "http:///a.md", "knowledge:///a.md?lines=", "knowledge:///a.md?lines=0-1",
        "knowledge:///a.md?lines=2-1", "knowledge:///a.md?lines=-1", "knowledge:///a.md?lines=1-2&x=1",
        f"knowledge:///a.md?lines=1-{MAX_LINE + 1}", "knowledge:///a.md?lines=1-99999999999",
        "knowledge:///a.md?lines=\u0661", "knowledge:///%ff.md", "knowledge:///" + "a" * 20_000,
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(address):
    with pytest.raises(InvalidRequest):
        parse_link(address)


@given(st.text(min_size=1, max_size=40), st.integers(1, 99), st.integers(0, 99))
def test_every_citation_leads_back_to_itself(path, start, more):
    try:
        citation = Citation(path, start, start + more)
    except InvalidCitation:
        return
    assert parse_link(str(Link.to(citation))) == Link.to(citation)
    assert parse_link(str(Link(path))) == Link(path)


def test_a_document_is_markdown_unless_its_name_says_otherwise():
    kinds = [mime_type(name) for name in ("a.md", "b.TXT", "c.markdown")]
    assert kinds == ["text/markdown", "text/plain", "text/markdown"]
