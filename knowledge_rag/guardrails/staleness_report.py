"""What became of a citation, in one sentence for a person and in JSON for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowledge_rag.guardrails.resemblance import Likeness, LineRange
from knowledge_rag.guardrails.staleness import WORDLESS, State

if TYPE_CHECKING:
    from knowledge_rag.guardrails.resemblance import Resembling
    from knowledge_rag.guardrails.staleness import Staleness


def describe(staleness: Staleness) -> str:
    """Say what became of a citation, e.g. ``runbooks/a.md, lines 5-10: moved to lines 9-14``.

    Returns:
        One line without a full stop. File names are as they are on disk: neutralise where it is shown.
    """
    citation = staleness.citation
    where = f"{citation.source_file}, {LineRange(citation.start_line, citation.end_line)}"
    parts = [f"{where}: {_state(staleness)}"]
    if staleness.now_in:
        files = " and ".join(
            f"{place} (the same file by another name)" if place.same_document else str(place)
            for place in staleness.now_in
        )
        parts.append(f"the same text now stands in {files}")
    if staleness.is_contradicted:
        parts.append("the file is the very one that was cited, so the citation was never true")
    return "; ".join(parts)


def to_dict(staleness: Staleness) -> dict[str, Any]:
    """Give the wire form; what is not known or does not apply is absent."""
    wire: dict[str, Any] = {
        "citation": staleness.citation.to_dict(),
        "state": staleness.state.value,
    }
    if staleness.document_changed is not None:
        wire["document_changed"] = staleness.document_changed
    if staleness.moved_to:
        wire["moved_to"] = _lines(staleness.moved_to) | {"others": staleness.others}
    if staleness.resembling:
        like = staleness.resembling
        wire["resembling"] = _lines(like.lines) | {
            "likeness": like.likeness.value, "kept": like.kept, "of": like.of,
        }  # fmt: skip
    if staleness.not_searched:
        wire["not_searched"] = staleness.not_searched
    if staleness.now_in:
        wire["now_in"] = [
            {"source_file": place.source_file, **_lines(place.lines), "same_document": place.same_document}
            for place in staleness.now_in
        ]  # fmt: skip
    if staleness.is_contradicted:
        wire["contradicted"] = True
    return wire


def _lines(lines: LineRange) -> dict[str, int]:
    return {"start_line": lines.start_line, "end_line": lines.end_line}


def _state(staleness: Staleness) -> str:
    if staleness.state is State.CHANGED:
        return f"changed: {_what_is_left(staleness)}"
    if staleness.state is State.MOVED:
        nearest = f", the nearest of {staleness.others + 1} places that hold this text"
        return f"moved to {staleness.moved_to}{nearest if staleness.others else ''}"
    if staleness.state is State.SAME and staleness.document_changed:
        return "same, in a file that has changed elsewhere"
    return staleness.state.value


def _what_is_left(staleness: Staleness) -> str:
    if staleness.not_searched == WORDLESS:
        return f"the lines hold something else, and the cited text has {WORDLESS}"
    if staleness.not_searched:
        return f"the file can't be read ({staleness.not_searched})"
    if staleness.resembling is None:
        return "nothing like it is left in the file"
    return _likeness(staleness.resembling)


def _likeness(like: Resembling) -> str:
    if like.likeness is Likeness.SPACING:
        return f"the same text with other white space stands at {like.lines}"
    if like.likeness is Likeness.WORDS:
        return f"most like it now: {like.lines}"
    if like.kept == like.of:
        return f"all its lines still stand at {like.lines}, but not one after the other as cited"
    return f"{like.kept} of {like.of} lines still stand at {like.lines}"
