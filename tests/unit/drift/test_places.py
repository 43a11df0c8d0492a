"""Lines and columns of what a document has."""

from __future__ import annotations

import pytest

from knowledge_rag.drift.page import read_page


def covered(text: str) -> list[str]:
    """Return what stands at the places of a page's links and of its code's lines."""
    page = read_page("a.md", text)
    lines = text.split("\n")
    links = [lines[it.line - 1][it.column - 1 : it.end_column - 1] for it in page.links]
    rows = [
        (row.removesuffix(" \\"), lines[line - 1][column - 1 :])
        for code in page.codes
        for row, (line, column) in zip(code.text.split("\n"), code.places, strict=True)
    ]
    return links + [row if rest.startswith(row) else f"{row} != {rest}" for row, rest in rows]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x\n[a](<no file.md>) [b](no.md)\n", ["no file.md", "no.md"]),
        ("x\n[a](no\\_file.md) [b]( no.md 'c' )\n", ["no\\_file.md", "no.md"]),
        ("](no.md) [a](no.md)\n![b](c.png)\n", ["no.md", "c.png"]),
        ("[r]: no.md\n\nx\nx [r] [a\nb][r]\n", ["[r]", "[a"]),
        ("x\n<https://a.b/c>\n", ["https://a.b/c"]),
        ("> - a [b](c.md)\n>   [d](e.md)\n", ["c.md", "e.md"]),
        ("# a [b](c.md) #\n\nd [e](f.md)\n===\n", ["c.md", "f.md"]),
        ("| a | a |\n|--|--|\n| [a](a) | `a\\|b` [b](a.md) |\n", ["a", "a.md", "a|b != a\\|b` [b](a.md) |"]),
    ],
)  # fmt: skip
def test_a_link_is_where_its_target_is_and_a_reference_where_it_is_used(text, shown):
    assert covered(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "kubectl get `kubectl get` `  kubectl get  `\n",
        "a\n\n\t- b\n\t\t`kubectl get\n\t\t--all`\n",
        "> `kubectl get\n> --all` ``kubectl `get` ``\n",
        "a `\nkubectl get\n  --all\n`\n",
        "| get | `get` | \\| `get` |\n|-|-|-|\n| a | `a` `a` | x |\n",
        "a lone \r in a line\r\n\n\r\n`kubectl get`\n\n```\nkubectl\rget\nkubectl\n```\n",
    ],
)
def test_code_is_where_it_stands(text):
    shown = covered(text.replace("\r", " "))
    assert shown
    assert not any("!=" in it for it in shown)
    assert [it.places for it in read_page("a.md", text).codes] == [
        it.places for it in read_page("a.md", text.replace("\r", " ")).codes
    ]


def test_a_lone_carriage_return_ends_no_line():
    page = read_page("a.md", "x\ry\n\n[a](b.md)\r\n\r\n# c\n")
    assert [(it.line, it.column) for it in page.links] == [(3, 5)]
    assert page.headings == ((5, 1, "c"),)


def test_a_row_of_a_table_is_one_paragraph():
    page = read_page("a.md", "| a | b |\n|--|--|\n| c | d |\n")
    assert [(it.line, it.text) for it in page.paragraphs] == [(1, "| a | b |"), (3, "| c | d |")]
