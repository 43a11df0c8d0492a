"""What a Converse response says, with the API's own citations written as references.

The API cites by the number of a search result and offsets of its items. Those are written into the
text like any model's reference, so that they are verified like any: an offset beyond the lines that
were given becomes a reference that nothing resolves.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.citations import MAX_LINE
from knowledge_rag.guardrails.json_shapes import member, objects, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knowledge_rag.core.citations import Citation

UNRESOLVED: Final = "[Source: unknown]"
"""A reference that resembles one and that nothing resolves."""
_CODE_LINE: Final = re.compile(r"[ \t>]*(?:`{3}|~{3})|(?: {4}|\t)")
"""Begins a line in which a reference would be code: a fence, or four columns of white space."""


def converse_answer(response: object, sources: Mapping[int, Citation]) -> str:
    """Give the text of a Converse response.

    Args:
        response: as boto3 gives it, or its JSON.
        sources: citations of the search results that the request held, by their index.

    Returns:
        The text blocks in order; behind each cited one its references, in square brackets. ``""``
        if the response has no text.
    """
    return "".join(_said(block, sources) for block in answer_blocks(response))


def answer_blocks(response: object) -> Iterator[Mapping[str, Any]]:
    """Give the content blocks of a Converse response."""
    return objects(member(response, "output", "message", "content"))


def block_citations(block: object) -> Iterator[Mapping[str, Any]]:
    """Give the API's citations of one content block."""
    return objects(member(block, "citationsContent", "citations"))


def offsets(citation: object) -> tuple[int, int, int] | None:
    """Give index of the search result, first item and the item behind the last that are cited."""
    location = member(citation, "location", "searchResultLocation")
    index, start, end = (member(location, name) for name in ("searchResultIndex", "start", "end"))
    if _is_line(index) and _is_line(start) and _is_line(end):
        return index, start, end
    return None


def _is_line(value: object) -> bool:
    return type(value) is int and abs(value) <= MAX_LINE


def with_references(said: str, references: list[str]) -> str:
    """Put references behind a text, before the white space that it ends with.

    Behind code they stand on a line of their own: on a fence's, they would keep it from closing.
    """
    body = said.rstrip()
    written = " ".join(dict.fromkeys(references))
    if not written:
        return said
    gap = "\n" if _CODE_LINE.match(body, body.rfind("\n") + 1) else " "
    return body + gap + written + said[len(body) :]


def _said(block: Mapping[str, Any], sources: Mapping[int, Citation]) -> str:
    parts = objects(member(block, "citationsContent", "content"))
    said = text(block.get("text")) + "".join(text(part.get("text")) for part in parts)
    return with_references(said, [_reference(one, sources) for one in block_citations(block)])


def _reference(citation: object, sources: Mapping[int, Citation]) -> str:
    cited = offsets(citation)
    if cited is None or cited[0] not in sources:
        return UNRESOLVED
    index, start, end = cited
    first = sources[index].start_line
    return f"[Source: {sources[index].source_file}, lines {first + start}-{first + end - 1}]"
