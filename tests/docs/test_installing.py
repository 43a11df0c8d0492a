"""Pages never say to install the package by its name alone: on PyPI that name belongs to another project."""

import re

import pytest

from tests.support.local import PROJECT

PLACES = [
    PROJECT / "README.md",
    *sorted((PROJECT / "docs").rglob("*.md")),
    *(each for each in sorted((PROJECT / "examples").rglob("*.*")) if each.suffix != ".pyc"),
    *sorted((PROJECT / "knowledge_rag").rglob("*.py")),
    *sorted((PROJECT / "lambdas").rglob("*.py")),
]
BY_NAME = re.compile(r"\binstall\s+['\"`]?knowledge-rag\b")


def test_nothing_says_to_install_it_by_name():
    texts = {str(path.relative_to(PROJECT)): path.read_text(encoding="utf-8") for path in PLACES}
    assert len(texts) > 100
    refused = "never `pip install knowledge-rag`"
    assert [name for name, text in texts.items() if BY_NAME.search(text.replace(refused, ""))] == []


@pytest.mark.parametrize("told", ["pip install knowledge-rag", "install 'knowledge-rag[local]'"])
def test_what_must_not_be_told_is_noticed(told):
    assert BY_NAME.search(told)
