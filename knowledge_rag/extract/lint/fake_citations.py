"""References that a document can't hold in earnest: the product's own notation, and orders to cite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.anchors import rules
from knowledge_rag.extract.lint.wording import wording

if TYPE_CHECKING:
    from knowledge_rag.extract.lint.anchors import Rule

_FORM: Final = "has the form of this product's own references"
_ORDER: Final = "tells a model what to cite"

FAKE_CITATIONS: Final[tuple[Rule, ...]] = (
    *rules(
        _FORM,
        {"source": "source sources"},
        r"(?<=[\[(])sources?(?:[ \t]{1,2}|[ \t]{0,2}[:=][ \t]{0,2})(?:[^\s,\]():]{1,200}(?:,[ \t]{0,2}lines?[ \t]{1,2}\d{1,7}|:\d{1,7}-\d{1,7})"
        r"|\d{1,4}[\])])",
    ),
    *rules(_FORM, {"][": ""}, r"\](?:(?:\[\d{1,3}\]){5}|\[(\d{1,3})\]\[\1\])"),
    *wording(
        _ORDER,
        {"cite ": "cite", "quote ": "quote"},
        r"\b(?:always |only |please |must |should )?(?:cite|quote) (?:(?:only|always) )?(?:this|the following|the above)"
        r" DOCUMENT (?:first|only|as|for|when|whenever|in (?:your|every|each|all)|in any)\b"
        r"|START(?:always |only |please )?cite [\w./-]{1,80}\.(?:md|txt|html?|pdf)\b",
    ),
    *wording(
        _ORDER,
        {" cite": "cite"},
        r"\b(?:whatever|whichever|for (?:any|every)|in (?:any|every|your) (?:answer|response|reply)|regardless)\b[^.?!\n]{1,60}?\bcite\b",
        before=90,
    ),
    *wording(
        _ORDER,
        {"its source": "source", "as the source": "source"},
        r"\b(?:give|name|present|state|use|claim) (?:\w{1,12} ){0,3}?(?:its source as|as the source of (?:every|each|all|your))\b",
        before=50,
    ),
    *wording(
        _ORDER,
        {"attribut": "attribute"},
        r"START(?:please |always )?attribute\x20(?:this|these|the (?:following|above)|all|every|your)\b[^.?!\n]{0,60}? to\b",
    ),
)
