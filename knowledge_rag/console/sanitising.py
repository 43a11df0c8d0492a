"""The second fence: HTML keeps what this list allows, whatever the renderer made of the text.

The list has no citation in it. They are put in afterwards, from the verified answer's own
references, and from nowhere else.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final

import nh3

from knowledge_rag.console.links import document_url
from knowledge_rag.console.markup import CLOSE, HELD, LABEL, OPEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowledge_rag.console.references import Reference

_TAGS: Final = frozenset(
    {
        "p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong",
        "s", "table", "thead", "tbody", "tr", "th", "td", "hr", "br", "a", "span",
    }
)  # fmt: skip
_ATTRIBUTES: Final[Mapping[str, set[str]]] = {
    "a": {"href"},
    "code": {"class"},
    "li": {"class"},
    "ol": {"start"},
    "p": {"class"},
    "span": {"class"},
    "td": {"class"},
    "th": {"class"},
}
_VALUES: Final = {
    ("code", "class"): re.compile(r"language-[a-z0-9+#-]{1,20}"),
    ("li", "class"): re.compile(HELD),
    ("ol", "start"): re.compile(r"[0-9]{1,9}"),
    ("p", "class"): re.compile(LABEL),
    ("span", "class"): re.compile(r"host"),
    ("td", "class"): re.compile(r"left|center|right"),
    ("th", "class"): re.compile(r"left|center|right"),
}
_MARK: Final = re.compile(f"{OPEN}([0-9]+){CLOSE}")


def _kept(tag: str, attribute: str, value: str) -> str | None:
    allowed = _VALUES.get((tag, attribute))
    return value if allowed is None or allowed.fullmatch(value) else None


_CLEANER: Final = nh3.Cleaner(
    tags=set(_TAGS),
    attributes=dict(_ATTRIBUTES),
    attribute_filter=_kept,
    url_schemes={"http", "https"},
    url_relative="deny",
    link_rel="noopener noreferrer",
    set_tag_attribute_values={"a": {"target": "_blank"}},
)


def sanitised(html: str, references: Sequence[Reference]) -> str:
    """Clean HTML, then put in the references that its marks stand for.

    Args:
        html: as rendered, with marks.
        references: of the answer; a mark's number is an index in them.
    """
    return _MARK.sub(lambda mark: _linked(references[int(mark[1])]), _CLEANER.clean(html))


def _linked(reference: Reference) -> str:
    return f"<sup>{''.join(map(_link, reference.citations))}</sup>"


def _link(cited: Mapping[str, object]) -> str:
    """Write one citation as a link to its lines."""
    number, citation = cited["number"], cited["citation"]
    assert isinstance(number, int)  # noqa: S101 - tells the type checker what the orchestrator gives
    assert isinstance(citation, dict)  # noqa: S101 - likewise
    file, first, last = (citation[key] for key in ("source_file", "start_line", "end_line"))
    label = f"[{number}] {file}, lines {first}-{last}"
    return (
        f'<a class="cite" data-number="{number}" data-lines="{first}-{last}" '
        f'href="{escape(document_url(file, first, last))}" aria-label="{escape(label)}">[{number}]</a>'
    )
