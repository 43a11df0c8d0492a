"""Reads Jupyter notebooks: their cells as Markdown lines, with code in fences; outputs are left out.

An output is from a past run of a command, and may be of any size.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.lines import decode
from knowledge_rag.extract.html import WebPage
from knowledge_rag.extract.shaping import fence_around

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CHARACTERS: Final = 10_000_000
"""Maximum characters of all cells together."""
_MAGIC: Final = re.compile(r"%%(bash|sh|script|sql|html|javascript|js|perl|ruby)\b[^\n]*")
_LANGUAGE: Final = re.compile(r"[\w+#.-]{1,20}\Z")


def read_notebook(name: str, data: bytes) -> WebPage:
    """Read a notebook of version 3 or 4.

    Raises:
        UnreadableDocument: it is empty, not a notebook, too long, or has no text.
    """
    text = decode(data, name)
    try:
        notebook = json.loads(text)
        cells = list(_cells(notebook))
        language = _language(notebook)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UnreadableDocument(name, "not a Jupyter notebook, despite its name") from error
    blocks = [block for kind, source in cells if (block := _block(kind, source, language))]
    if not blocks:
        raise UnreadableDocument(name, "a notebook without text")
    whole = "\n\n".join(blocks) + "\n"
    if len(whole) > MAX_CHARACTERS:
        raise UnreadableDocument(name, f"more than {MAX_CHARACTERS} characters in its cells")
    outputs = sum(kind == "output" for kind, _ in cells)
    notes = (
        [f"left out the outputs of {outputs} cell{'s' if outputs > 1 else ''}"] if outputs else []
    )
    return WebPage("", "", whole, tuple(notes))


def _cells(notebook: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield kind and source of each cell, and the kind "output" for each with outputs."""
    sheets = notebook.get("worksheets", [notebook])
    for sheet in sheets:
        for cell in sheet["cells"]:
            source = cell.get("source", cell.get("input", ""))
            level = cell.get("level", 1)
            words = source if isinstance(source, str) else "".join(source)
            is_heading = cell["cell_type"] == "heading"
            yield cell["cell_type"], f"{'#' * int(level)} {words}" if is_heading else words
            if cell.get("outputs"):
                yield "output", ""


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata", {})
    given = metadata.get("language_info", {}).get("name") or metadata.get("kernelspec", {}).get(
        "language"
    )
    return given if isinstance(given, str) and _LANGUAGE.match(given) else ""


def _block(kind: str, source: str, language: str) -> str:
    """Return a cell as Markdown, ``""`` for one without words."""
    lines = [line.rstrip(" \t\r") for line in source.replace("\0", "\ufffd").split("\n")]
    text = "\n".join(lines).strip("\n")
    if not text or kind == "output":
        return ""
    if kind in ("markdown", "heading"):
        return text
    name = language if kind == "code" else ""
    if magic := _MAGIC.match(text):
        name, text = magic[1], text[magic.end() :].strip("\n")
    elif all(line.startswith("!") for line in text.split("\n")):
        name, text = "bash", "\n".join(line[1:] for line in text.split("\n"))
    if not text.strip():
        return ""
    marks = fence_around(text)
    return f"{marks}{name}\n{text}\n{marks}"
