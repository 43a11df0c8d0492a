"""Nothing says to install `knowledge-rag`, another project's name; the wheel has one of its own."""

import re
import tomllib

from knowledge_rag.core.errors import how_to_install
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


def test_the_wheel_is_named_as_the_build_names_it():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] != "knowledge-rag"
    assert f"{project['name'].replace('-', '_')}-VERSION-py3-none-any.whl" in how_to_install(
        "local"
    )
