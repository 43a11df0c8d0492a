"""What a browser would run if it were shown a document's lines as HTML; shown as code, it is harmless."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.anchors import matches, rules
from knowledge_rag.extract.lint.finding import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.extract.lint.anchors import Folded, Rule

_EVENTS: Final = (
    "onerror",
    "onload",
    "onclick",
    "ondblclick",
    "onmouseover",
    "onmouseenter",
    "onmouseleave",
    "onmouseout",
    "onmousedown",
    "onmouseup",
    "onmousemove",
    "onmousewheel",
    "onwheel",
    "onfocus",
    "onfocusin",
    "onblur",
    "onchange",
    "oninput",
    "onsubmit",
    "onkeydown",
    "onkeyup",
    "onkeypress",
    "onpageshow",
    "onpagehide",
    "onhashchange",
    "onmessage",
    "onscroll",
    "onresize",
    "ontoggle",
    "onbegin",
    "onend",
    "onstart",
    "onfinish",
    "onanimationstart",
    "onanimationend",
    "ontransitionend",
    "onpointerover",
    "onpointerenter",
    "onpointerdown",
    "onreadystatechange",
    "onpropertychange",
    "oncopy",
    "onpaste",
    "oncut",
    "ondrag",
    "ondrop",
    "onplay",
    "oncanplay",
    "onbeforeunload",
    "onunload",
)

ACTIVE_CONTENT: Final[tuple[Rule, ...]] = (
    *rules("a script for the reader's browser", {"<script": "script"}, r"<script\b(?=[^<>]{0,300}=|[^<>]{0,300}>[^\x00]{0,2000}?</script)"),
    *rules(
        "an address that runs a script",
        {"javascript:": "javascript", "vbscript:": "vbscript"},
        r"(?<![\w-])(?:javascript|vbscript):(?!void\(0\)|;|//)[\w/(%$\[\"']",
    ),
    *rules("an address that runs a script", {"data:text/html": "html"}, r"data:text/html[;,]"),
    *rules(
        "an element that runs a script",
        {event: event for event in _EVENTS},
        rf"<[a-z][\w:-]{{0,20}}(?:/|\b[^<>]{{0,300}}?[\s\"'])(?:{'|'.join(_EVENTS)})\s{{0,4}}=",
        before=340,
    ),
    *rules("an element that runs a script", {"srcdoc": "srcdoc"}, r"<iframe\b[^<>]{0,300}?\ssrcdoc\s{0,4}=", before=320),
)  # fmt: skip


def find_active_content(_text: str, folded: Folded) -> Iterator[Hit]:
    """Find scripts, and addresses and elements that run one, outside of code.

    Args:
        _text: the document's.
        folded: the same, folded.
    """
    for rule, found in matches(folded.text, ACTIVE_CONTENT, folded.words):
        if not folded.in_code(found.start()):
            yield Hit(*found.span(), rule.message)
