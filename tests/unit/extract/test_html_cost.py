"""A page that would take a parser too long is refused before it is parsed."""

import pytest

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.extract.confined import read_confined
from knowledge_rag.extract.html import check_cost, read_html


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 100_000 + "x",
        "<form><div></form>" * 100_000,
        "<b><div></b>" * 100_000,
        "".join(f"<p><font size={n}>x" for n in range(20_000)),
        "<svg>" + "<g>" * 100_000,
        "<li><ul></li>" * 50_000,
        "<svg><i><span a=1><form></svg>" * 50_000,
    ],
)
def test_what_is_nested_without_end_is_refused(page):
    with pytest.raises(UnreadableDocument, match="nested too deeply, or too many never closed"):
        check_cost("page.html", page)


@pytest.mark.parametrize(
    "page",
    [
        "<span><div></span></div>" * 100_000,
        "<rt>" * 50_000,
        "<p " + " ".join(f"a{n}" for n in range(100_000)) + ">x",
    ],
)
def test_what_gets_around_the_count_ends_with_the_process_that_reads_it(page):
    check_cost("page.html", page)
    with pytest.raises(UnreadableDocument, match="reading it takes over 1 s"):
        read_confined("html", "page.html", page.encode(), 1)


@pytest.mark.parametrize(
    "page",
    [
        "<p>one<p>two" * 20_000,
        "<table>" + "<tr><td>1<td>2" * 20_000,
        "<ul>" + "<li>x</li>" * 20_000 + "</ul>",
        "<ul>" + "<li>x <span>y" * 20_000,
        "<dl>" + "<dt>x<dd>y" * 20_000,
        "<select>" + "<option>x" * 10_000 + "</select>",
        ("<select>" + "<option>x" * 200 + "</select>") * 100,
        "<div><span><b>x</b></span></div>" * 20_000,
        "<script>" + "if(a<b.c&&d<e)f('<div>');" * 5_000 + "</script><p>x",
        "<!-- <div> " * 5_000 + "-->x",
        "<img alt='a' src='data:image/png;base64," + "AB/+" * 100_000 + "'>x",
        "<div>" * 1_000 + "x",
        "<svg><path d=M0><g></g></svg>" * 1_000 + "x<br><img><p>y" * 20_000,
    ],
)
def test_an_ordinary_page_of_any_size_is_not(page):
    check_cost("page.html", page)


def test_a_thousand_levels_are_read():
    assert read_html("page.html", b"<div>" * 1_000 + b"x").text == "x\n"
