"""Dead links and anchors."""

from __future__ import annotations

from knowledge_rag.drift.links import check_links
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
