"""Images and links whose address waits for data: showing the answer would send it away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.anchors import matches, rules
from knowledge_rag.extract.lint.finding import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.extract.lint.anchors import Folded

_DATA: Final = (
    r"(?:(?:the |your |all |user'?s? |chat |full |whole )?[\w -]{0,20}"
    r"(?:conversation|chat|history|prompt|answer|response|question|query|summary|data|context"
    r"|secret|password|token|credentials?|email|message|num|content|document)s?[\w -]{0,20})"
)
_HOLE: Final = rf"(?:[\[{{<(]{{1,2}}{_DATA}[\]}}>)]{{1,2}}|%s|\[[a-z_ ]{{2,30}}\])"
_TARGET: Final = rf"https?://[^\s)\]]{{1,200}}?[?&/=#][^\s)\]]{{0,80}}?{_HOLE}"

_RULES: Final = (
    *rules(
        "is an image whose address waits for data",
        {"![": ""},
        rf"!\[[^\]\n]{{0,120}}\](?:\([ <]{{0,2}}|[:=]?[ ]{{0,2}}){_TARGET}",
    ),
    *rules(
        "is an image whose address waits for data",
        {"<img ": "img"},
        rf"<img [^>\n]{{0,120}}?src=[\"']?{_TARGET}",
    ),
    *rules(
        "asks for an address that carries data away",
        {"query param": "query", "append": "append", "encod": "encode encoded encoding"},
        r"(?:query param\w*|append\w*|encod\w*)\b[^.\n]{0,60}?\b(?:(?:the|this|full|whole) (?:chat|conversation)"
        r"|chat history|user'?s? (?:data|question|query|message|input)|previous messages?)"
        r"[^.\n]{0,60}?\b(?:url|link|image|address|parameter|https?)\b",
    ),
)


def find_exfiltration(folded: Folded) -> Iterator[Hit]:
    """Find addresses with a hole for the conversation, the answer or a secret."""
    for rule, found in matches(folded.text, _RULES, folded.words):
        yield Hit(*found.span(), rule.message)
