"""Reads documentation in the source that isn't available at run time."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def attribute_docs(owner: type | ModuleType) -> dict[str, str]:
    """Return the docstring below each constant or member: name -> words, ``""`` if there is none."""
    docs = {}
    for node, following in pairwise([*_body(owner), ast.Pass()]):
        if name := _assigned(node):
            docs[name] = _words(following)
    return docs


def argument_docs(owner: type) -> dict[str, str]:
    """Return a docstring's ``Args``: name -> words."""
    section = (inspect.getdoc(owner) or "").partition("Args:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section, re.MULTILINE)
    return {name: " ".join(words.split()) for name, words in entries}


def columns(docstring: str) -> list[list[str]]:
    """Return the rows of a docstring's simple table; a line without a first word continues the last row."""
    lines = docstring.splitlines()
    rules = [number for number, line in enumerate(lines) if re.fullmatch(r"=+( =+)+", line)]
    _, head, end = rules
    starts = [found.start() for found in re.finditer(r"=+", lines[head])]
    rows: list[list[str]] = []
    for line in lines[head + 1 : end]:
        cells = [line[at:until].strip() for at, until in pairwise([*starts, None])]
        if cells[0]:
            rows.append(cells)
        else:
            rows[-1] = [
                f"{said} {more}".strip() for said, more in zip(rows[-1], cells, strict=True)
            ]
    return rows


def after_table(docstring: str) -> str:
    """Return the part of a docstring below its table."""
    return inspect.cleandoc(docstring).rpartition("=\n")[2].strip()


def _body(owner: type | ModuleType) -> list[ast.stmt]:
    module = ast.parse(textwrap.dedent(inspect.getsource(owner)))
    if isinstance(owner, type):
        (definition,) = module.body
        assert isinstance(definition, ast.ClassDef)  # noqa: S101 - it was a class
        return definition.body
    return module.body


def _assigned(node: ast.stmt) -> str:
    match node:
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


def _words(node: ast.stmt) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(words))):
            return " ".join(words.split())
    return ""
