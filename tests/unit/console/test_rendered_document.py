"""A document as HTML: every block names its lines, links lead where they may, and nothing in it can act."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.console.document_view import rendered_document
from knowledge_rag.console.limits import MAX_RENDERED_CHARACTERS
from tests.unit.console.pages import Elements
from tests.unit.console.test_markup import HOSTILE, texts

KNOWN = {"other.md", "runbooks/a.md", "runbooks/disk/README.md", "runbooks/space in name.md"}
LINED = {"p", "h2", "h3", "h4", "h5", "h6", "li", "tr", "blockquote", "pre", "hr", "span"}


def page_of(text, source_file="runbooks/x.md"):
    return Elements(rendered_document(source_file, text.split("\n"), KNOWN.__contains__))


def lines_of(page, tag):
    return [
        attributes["data-lines"] for attributes in page.named(tag) if "data-lines" in attributes
    ]


def test_each_block_names_the_lines_that_it_is_made_of():
    text = (
        "---\ntitle: x\n---\n# Title\n\nTwo lines\nof text.\n\n1. one\n\n   ```bash\n   ls\n   rm x\n   ```\n\n"
        "2. two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\n***\n"
    )
    page = page_of(text)
    assert lines_of(page, "h2") == ["4-4"]
    assert lines_of(page, "p")[0] == "6-7"
    assert lines_of(page, "li") == ["9-14", "16-16"]
    assert lines_of(page, "pre") == ["11-14"]
    assert lines_of(page, "span") == ["12-12", "13-13"]
    assert lines_of(page, "tr") == ["18-18", "20-20"]
    assert lines_of(page, "blockquote") == ["22-22"]
    assert lines_of(page, "hr") == ["24-24"]
    assert "title" not in page.text


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ("../other.md", "/doc/other.md"),
        ("../other.md#a-b", "/doc/other.md#a-b"),
        ("a.md?plain=1#L3-L5", "/doc/runbooks/a.md#L3-L5"),
        ("a", "/doc/runbooks/a.md"),
        ("disk/", "/doc/runbooks/disk/README.md"),
        ("/runbooks/a.md", "/doc/runbooks/a.md"),
        ("space%20in%20name.md", "/doc/runbooks/space%20in%20name.md"),
        ("#symptoms", "#symptoms"),
        ("https://a.example/x", "https://a.example/x"),
    ],
)
def test_a_link_leads_to_an_ingested_document_or_the_web(link, address):
    (found,) = page_of(f"[x]({link})").named("a")
    assert found["href"] == address
    assert ("target" in found) == address.startswith("https:")


@pytest.mark.parametrize("link", ["gone.md", "../../../etc/passwd", "../api/metrics", "/dashboard"])
def test_a_link_to_anything_else_is_words_and_says_so(link):
    page = page_of(f"see [the page]({link})")
    assert page.named("a") == []
    assert page.text.strip() == f"see the page (not ingested: {link})"


def test_lines_of_other_markup_keep_their_numbers():
    page = page_of("Title\n=====\n\nSome text.\n", "runbooks/x.rst")
    assert lines_of(page, "h2") == ["1-1"]
    assert lines_of(page, "p") == ["4-4"]


def assert_inert(page):
    assert page.other == []
    for tag, attributes in page.elements:
        assert not any(
            name.startswith("on") or name in ("style", "src", "id") for name in attributes
        )
        assert "data-number" not in attributes
        if "data-lines" in attributes:
            assert tag in LINED
            assert re.fullmatch(r"[0-9]+-[0-9]+", attributes["data-lines"])
    for attributes in page.named("a"):
        assert re.match(r"https?://|/doc/|#", attributes.get("href", "#"))
        assert set(attributes) <= {"href", "target", "rel"}
    assert not {
        "script",
        "style",
        "svg",
        "math",
        "img",
        "iframe",
        "form",
        "input",
        "object",
        "base",
    } & {tag for tag, _ in page.elements}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_document_is_only_read(text):
    assert_inert(page_of(text))


@given(texts())
def test_whatever_a_document_holds_is_only_read(text):
    assert_inert(page_of(text))


def test_a_document_that_is_too_long_is_refused():
    with pytest.raises(Refused, match=str(MAX_RENDERED_CHARACTERS)):
        rendered_document("a.md", ["x" * (MAX_RENDERED_CHARACTERS + 1)], KNOWN.__contains__)
