"""The generated reference is up to date."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.support.local import PROJECT
from tools.reference.contracts import members
from tools.reference.markdown import COMMAND, argument_docs, attribute_docs, cell, columns, text
from tools.reference.monitoring import emitters, metrics
from tools.reference.pages import FOLDER, PAGES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READ = re.compile(
    r'(?:environ(?:ment)?(?:\.get\(|\[)|envvar=|_VARIABLE(?:: Final)? = )\s*"([A-Z][A-Z_]+)"'
)
OF_OTHERS = re.compile(
    r"AWS_|_?X_AMZN_|LAMBDA_|MPLCONFIGDIR|ORT_|PATH$|PYENV_ROOT|REQUESTS_CA_BUNDLE"
)
"""Variables that Lambda, botocore and other libraries define."""


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name):
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), f"docs/{name} is out of date: run `{COMMAND}` and commit it"


def test_the_reference_has_generated_pages_only():
    there = {path.relative_to(FOLDER).as_posix() for path in (FOLDER / "reference").iterdir()}
    assert there <= PAGES.keys()


def read_by(*folders: str) -> Iterator[tuple[str, Path]]:
    for folder in folders:
        for path in (PROJECT / folder).rglob("*.py"):
            for name in READ.findall(path.read_text(encoding="utf-8")):
                yield name, path


def test_every_variable_that_the_product_reads_is_documented():
    page = (FOLDER / "reference" / "settings.md").read_text(encoding="utf-8")
    found = {
        name: path
        for name, path in read_by("knowledge_rag", "lambdas")
        if not OF_OTHERS.match(name) and "evaluation/faults" not in path.as_posix()
    }
    assert {"NO_COLOR", "DATE_ORDER", "KNOWLEDGE_RAG_DATA_DIR"} <= found.keys()
    assert {name: path for name, path in found.items() if f"`{name}`" not in page} == {}


def test_every_metric_is_emitted_by_one_function():
    found = {constant: emitters(constant) for constant in metrics()}
    assert [constant for constant, who in found.items() if len(who) != 1] == []
    assert [constant for constant, who in found.items() if who == ["Lambda"]] == [
        "RETRIEVAL_INIT_FAILURES"
    ]


class TestSchemas:
    def test_members_of_members_have_a_row_with_their_limits(self):
        inner = {"type": "object", "required": ["a"], "properties": {"a": {"const": "b"}}}
        schema = {"properties": {"list": {"type": "array", "maxItems": 9, "items": inner}}}
        assert [row[:3] for row in members(schema)] == [
            ["`list`", "array of object", "optional; at most 9"],
            ["`list[].a`", "string", "`b`"],
        ]

    def test_a_keyword_that_no_page_shows_is_an_error(self):
        with pytest.raises(ValueError, match="multipleOf"):
            list(members({"properties": {"n": {"type": "integer", "multipleOf": 2}}}))


class Documented:
    """An example.

    Args:
        first: is told
            on two lines.
        second: briefly.

    More.
    """

    BARE = 1
    TOLD = 2
    """What it is,
    on two lines."""


def test_what_stands_below_a_constant_is_its_own():
    assert attribute_docs(Documented) == {"BARE": "", "TOLD": "What it is, on two lines."}


def test_arguments_are_read_from_a_docstring():
    assert argument_docs(Documented) == {"first": "is told on two lines.", "second": "briefly."}


def test_a_table_of_a_docstring_goes_on_over_lines():
    docstring = "=== =====\na   b\n=== =====\nX   one\n    two\nY\n=== =====\n"
    assert columns(docstring) == [["X", "one two"], ["Y", ""]]


def test_words_are_shown_as_they_are():
    assert text("*.md, ``<a>`` and <b>") == r"\*.md, `<a>` and \<b>"
    assert cell("a|b\n`c|d`") == r"a\|b `c\|d`"
    assert text(":func:`~core.run` runs") == "`core.run` runs"
