"""Dead links and anchors."""

from __future__ import annotations

import pytest

from knowledge_rag.drift.links import check_links, check_superseded
from knowledge_rag.drift.page import read_page

FILES = {
    "a/one.md": "# One\n\n## Scale up / down\n\n## `code` {#own}\n\n<a id='Mark'></a>\n\n## Twice\n\n## Twice\n",
    "b/two.md": "# Two\n",
}


def found(text: str, path: str = "a/page.md") -> list[tuple[int, int, str, str]]:
    pages = [read_page(path, text), *(read_page(name, of) for name, of in FILES.items())]
    anchors = {page.path: page.anchors for page in pages}
    findings = check_links(pages[0], anchors, {"a/picture.png", "b"}.__contains__)
    return [(each.line, each.column, each.message, each.fix) for each in findings]


def test_links_to_files_and_headings_are_followed():
    fine = (
        "[x](one.md) [x](one.md#scale-up--down) [x](one.md#scale-up-down) [x](../b/two.md?a=b#two) "
        "[x](one.md#own) [x](one.md#mark) [x](one.md#twice-1) [x](#here) ![x](picture.png) [x](../b) "
        "[x](../some/page/) [x](page.html) [x](https://x.y/z.md) [x](/root.md) [x](mailto:a@b.c) "
        "[x]({{ site }}/a.md) [x](<name>.md) [x](one.md#L10-L20)\n\n# Here\n"
    )
    assert found(fine) == []


def test_dead_links_name_the_file_that_may_be_meant():
    assert found("Text\n\nSee [two](two.md) now.\n") == [
        (3, 11, "two.md leads to no file", "../b/two.md")
    ]
    assert found("![x](gone.png)\n") == [(1, 6, "gone.png leads to no file", "")]


def test_dead_anchors_name_the_heading_that_may_be_meant():
    assert found("[x](one.md#scale-up-or-down)\n") == [
        (1, 5, "a/one.md has no heading for #scale-up-or-down", "#scale-up--down")
    ]
    assert found("[x](#nowhere)\n")[0][2] == "a/page.md has no heading for #nowhere"


def test_links_in_code_are_none():
    assert found("`[x](two.md)`\n\n    [x](two.md)\n") == []


SUPERSEDED = "Superseded by the new page.\n"


def superseded(text: str, **others: str) -> list[tuple[int, str, str]]:
    pages = [read_page("a.md", text), *(read_page(path, of) for path, of in others.items())]
    retired = {page.path: page.retired for page in pages}
    return [(it.line, it.message, it.fix) for it in check_superseded(pages[0], retired)]


@pytest.mark.parametrize(
    ("path", "old", "message", "fix"),
    [
        ("b.md", "---\nsuperseded_by: c.md\n---\n# B\n", "b.md is superseded by c.md", "c.md"),
        ("b.md", "---\nstatus: deprecated\n---\n# B\n", "b.md is deprecated", ""),
        ("old/b.md", "# B\n", "old/b.md isn't used any more", ""),
        ("b.md", "# B (deprecated)\n\nSteps.\n", "b.md isn't used any more", ""),
        ("b.md", "# B\n\n[TOC]\n\nThis document has moved to [C](c.md).\n", "b.md isn't used any more", ""),
        ("b.md", "<!-- x -->\n\n# B\n\n> Superseded by [C](c.md)\n", "b.md isn't used any more", ""),
    ],
)  # fmt: skip
def test_a_link_to_a_page_that_is_not_used_any_more_is_found(path, old, message, fix):
    text = f"# A\n\nThen follow [B]({path}#steps).\n"
    assert superseded(text, **{path: old, "c.md": "# C\n"}) == [(3, message, fix)]


@pytest.mark.parametrize(
    "text",
    [
        "# A\n\nThe old way is in [B](b.md).\n",
        "# A\n\n## Archive\n\n- [B](b.md)\n",
        "---\nstatus: obsolete\n---\n# A\n\n[B](b.md)\n",
    ],
)
def test_a_link_that_says_so_and_one_between_such_pages_is_fine(text):
    assert superseded(text, **{"b.md": f"# B\n\n{SUPERSEDED}"}) == []


def test_a_successor_may_link_what_it_replaces():
    assert (
        superseded("# A\n\nSee [B](b.md).\n", **{"b.md": "---\nsuperseded_by: a.md\n---\n"}) == []
    )


@pytest.mark.parametrize(
    "used",
    [
        "# Deprecated APIs and what to use\n\nText.\n",
        "# B\n\nText.\n\nMore.\n\nThis page is deprecated.\n",
        "# B\n\n## Part\n\nThis page is deprecated.\n\n## Other\n",
        "---\nstatus: active\n---\n# B\n",
    ],
)
def test_pages_about_what_is_deprecated_are_used(used):
    assert superseded("[B](b.md)\n", **{"b.md": used}) == []
