"""Bedrock's Converse API: evidence as search-result blocks, and its citations as references.

One source line is one ``content`` item, so the offsets that the API cites are offsets of lines. A
block's ``source`` names file and lines like a link does: ``runbooks/rds.md#L5-L10``.

The API's own citations are written into the text like a model's references, and verified in the
same way. An offset beyond the lines becomes a reference that doesn't resolve.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.citations import MAX_LINE, Citation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knowledge_rag.guardrails.ledger import Evidence

_SOURCE: Final = re.compile(
    r"(?P<file>.+)#L(?P<first>\d{1,10})(?:-L(?P<last>\d{1,10}))?", re.DOTALL
)
_BLANK: Final = " "
"""Sent for an empty line: the API may refuse an empty item, and the ledger has the line itself."""


def to_search_result(evidence: Evidence) -> dict[str, Any]:
    """Return a ``searchResult`` block with one item per line, citations enabled."""
    citation = evidence.citation
    lines = evidence.content.split("\n")
    return {
        "source": source_of(citation),
        "title": citation.section_header or citation.source_file,
        "content": [{"text": line or _BLANK} for line in lines],
        "citations": {"enabled": True},
    }


def source_of(citation: Citation) -> str:
    """Return the ``source`` of a block: file and lines."""
    return f"{citation.source_file}#L{citation.start_line}-L{citation.end_line}"


def citation_of(source: object, title: object = "") -> Citation | None:
    """Read file and lines out of a block's ``source``; ``None`` if it names none.

    Raises:
        InvalidCitation: it names a file or lines that no real file can have.
    """
    found = _SOURCE.fullmatch(source) if isinstance(source, str) else None
    if not found:
        return None
    first = int(found["first"])
    header = title if isinstance(title, str) and "\n" not in title else ""
    return Citation(found["file"], first, int(found["last"] or first), header)


def text_of(block: Mapping[str, Any]) -> str | None:
    """Return a block's lines as one text; ``None`` if its content isn't a list of texts."""
    items = block.get("content")
    if not isinstance(items, list) or not items:
        return None
    texts = [item.get("text") if isinstance(item, dict) else None for item in items]
    if not all(isinstance(text, str) for text in texts):
        return None
    return "\n".join("" if text == _BLANK else str(text) for text in texts)


UNRESOLVED: Final = "[Source: unknown]"
"""Resembles a reference and never resolves."""
_CODE_LINE: Final = re.compile(r"[ \t>]*(?:`{3}|~{3})|(?: {4}|\t)")
"""The beginning of a line in which a reference would be code: a fence, or four columns of white space."""


def converse_answer(response: object, sources: Mapping[int, Citation]) -> str:
    """Return the text of a Converse response.

    Args:
        response: as boto3 returns it, or its JSON.
        sources: citations of the search results in the request, by index.

    Returns:
        The text blocks in order, each followed by its references in square brackets; ``""`` if the
        response has no text.
    """
    return "".join(_said(block, sources) for block in answer_blocks(response))


def answer_blocks(response: object) -> Iterator[Mapping[str, Any]]:
    """Return the content blocks of a Converse response."""
    return objects(member(response, "output", "message", "content"))


def block_citations(block: object) -> Iterator[Mapping[str, Any]]:
    """Return the API's citations of one content block."""
    return objects(member(block, "citationsContent", "citations"))


def offsets(citation: object) -> tuple[int, int, int] | None:
    """Return the cited search result's index, its first cited item and the item after the last one."""
    location = member(citation, "location", "searchResultLocation")
    index, start, end = (member(location, name) for name in ("searchResultIndex", "start", "end"))
    if _is_line(index) and _is_line(start) and _is_line(end):
        return index, start, end
    return None


def _is_line(value: object) -> bool:
    return type(value) is int and abs(value) <= MAX_LINE


def with_references(said: str, references: list[str]) -> str:
    """Append references to a text, before its trailing white space.

    After code they go on a line of their own: on a fence's line, they would keep it from closing.
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


def member(value: object, *names: str) -> Any:  # noqa: ANN401 - JSON is of any type
    """Return the value at a path of names; ``None`` if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def objects(value: object) -> Iterator[Mapping[str, Any]]:
    """Return the objects of a list, in order; nothing if ``value`` isn't a list."""
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))


def text(value: object) -> str:
    """Return ``value`` if it is a text; otherwise ``""``."""
    return value if isinstance(value, str) else ""
