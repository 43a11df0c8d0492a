"""What it would cost to parse a page, told before it is parsed.

A parser of HTML has to look through the elements that are open at a tag, and makes open formatting
anew in every paragraph, so a page of 100,000 nested elements takes it half a minute, and one of
unclosed fonts all memory: by the rules of the standard, in any parser. So the tags are counted first,
in one pass. The count never takes an element for closed that the parser may hold open; it may take
one for open that is closed, which costs an ordinary page nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import UnreadableDocument

if TYPE_CHECKING:
    from collections.abc import Container

MAX_STEPS: Final = 200_000_000
"""Open elements summed over all tags; the parser takes five to fifteen nanoseconds for each."""
MAX_REMADE: Final = 4_000_000
"""Open formatting summed over all tags: elements that may be made anew, some hundred bytes each."""
MAX_ATTRIBUTES: Final = 4_000
"""Of one tag; the parser compares each with all before it."""

MAX_TAGS: Final = 1_000_000
"""Of one page: each becomes an object of some hundred bytes."""
_MAX_READINGS: Final = 20
"""How often a character may be read as part of an attribute: once, but for tags within values."""

_BLANK: Final = r"[ \t\n\f\r]"
_ATTRIBUTE: Final = (
    r"(?:[ \t\n\f\r/]*+[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+"
    rf"(?:{_BLANK}*+={_BLANK}*+"
    r"(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\f\r>\"'][^ \t\n\f\r>]*+)?)?)"
)
"""As the standard's tokenizer takes them apart (13.2.5.32 to 13.2.5.39)."""
_TAG: Final = re.compile(
    rf"<(/?)([A-Za-z][^ \t\n\f\r/>]*)(?=({_ATTRIBUTE}{{0,{MAX_ATTRIBUTES + 1}}}+))"
)
_ONE: Final = re.compile(_ATTRIBUTE)

_VOID: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
     "track", "wbr")
)  # fmt: skip
_CLOSED_BY_THE_NEXT: Final = frozenset(
    ("html", "head", "body", "p", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup")
)  # fmt: skip
"""They nest only where another element, which is counted, stands between."""
_ENDS_BEFORE: Final = {
    "li": frozenset(("li",)),
    "dt": frozenset(("dt", "dd")),
    "dd": frozenset(("dt", "dd")),
}
"""Elements whose start closes another one, if no block stands between."""
_OPTIONS: Final = ("option", "optgroup")
"""Elements whose start closes an option, if it is the innermost element."""
_FORMATTING: Final = frozenset(
    ("b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u")
)
_ONE_AT_A_TIME: Final = frozenset(("a", "nobr"))
"""Formatting whose next start closes it."""
_BLOCKS: Final = frozenset(
    ("address", "article", "aside", "blockquote", "button", "center", "details", "dialog", "dir",
     "dd", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "header", "hgroup", "listing", "main",
     "li", "menu", "nav", "ol", "pre", "search", "section", "select", "summary", "ul")
)  # fmt: skip
"""Their end closes whatever is open inside."""
_SPECIAL: Final = _BLOCKS | frozenset(
    ("h1", "h2", "h3", "h4", "h5", "h6", "iframe", "noembed", "noframes", "noscript", "plaintext", "script",
     "style", "textarea", "title", "xmp", "frameset")
)  # fmt: skip
"""What the end of running text, or the start of an item, does not reach out of."""
_LISTS: Final = frozenset(("ul", "ol"))
"""What the end of an item does not reach out of."""
_FRAMES: Final = frozenset(
    ("applet", "caption", "marquee", "object", "table", "template", "svg", "math", "foreignobject", "desc",
     "mi", "mo", "mn", "ms", "mtext", "annotation-xml")
)  # fmt: skip
"""No end tag inside reaches out of them."""
_FOREIGN: Final = ("svg", "math")
_BREAKS_OUT: Final = _FORMATTING - {"font"} | frozenset(
    ("blockquote", "center", "dd", "div", "dl", "dt", "embed", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
     "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "span", "sub", "sup", "table",
     "ul", "var", "br", "body", "head")
)  # fmt: skip
"""Elements whose start ends a drawing or a formula around them."""
_MARKED: Final = frozenset(("applet", "caption", "marquee", "object", "template"))
"""Their end closes formatting, too."""


class _Frame:
    """What is open since the last element that no end tag reaches out of."""

    __slots__ = ("counts", "formatting", "name", "others", "stack")

    def __init__(self, name: str) -> None:
        self.name = name
        self.stack: list[str] = []
        self.counts: Counter[str] = Counter()
        self.formatting: Counter[str] = Counter()
        self.others = 0

    def size(self) -> int:
        return len(self.stack) + self.others + 1


class _Tally:
    """Counts what is open, tag by tag."""

    def __init__(self) -> None:
        self.frames = [_Frame("")]
        self.open = 1
        self.formatting = 0
        self._foreign = 0  # drawings and formulas that are open
        self._started = 0
        self._select_since: int | None = None  # elements that had started before it
        self._steps = 0
        self._remade = 0

    def is_too_much(self) -> bool:
        """Count what is open at one more tag; whether the parser has had enough by then."""
        self._steps += self.open
        self._remade += self.formatting
        return self._steps > MAX_STEPS or self._remade > MAX_REMADE

    def start(self, name: str) -> None:
        self._started += 1
        self._count_options(name)
        while self.frames[-1].name in _FOREIGN and name in _BREAKS_OUT:
            self._drop(self.frames[-1])
        frame = self.frames[-1]
        if not self._foreign:
            if name in _VOID or name in _CLOSED_BY_THE_NEXT:
                return
            if name == "caption" and frame.name != "table":
                return  # there is none outside of tables
        if name in _FORMATTING or name in _ONE_AT_A_TIME:
            if name in _FORMATTING or not frame.formatting[name]:
                frame.formatting[name] += 1
                frame.others += 1
                self.formatting += 1
                self.open += 1
            return
        self.open += 1
        if name in _FRAMES:
            self.frames.append(_Frame(name))
            self._foreign += name in _FOREIGN
        elif name == "form":  # its end takes it out from under what is open inside
            frame.formatting[name] += 1
            frame.others += 1
        else:
            self._close_before(frame, name)
            frame.stack.append(name)
            frame.counts[name] += 1

    def _count_options(self, name: str) -> None:
        """Count what the parser looks through for each option: all that its list holds by then."""
        if name == "select" and self._select_since is None:
            self._select_since = self._started
        elif name == "option" and self._select_since is not None:
            self._steps += self._started - self._select_since

    def end(self, name: str) -> None:
        frame = self.frames[-1]
        if frame.counts["select"] and name != "select":
            return
        if name == frame.name and len(self.frames) > 1:
            self._leave(frame)
        elif frame.formatting[name]:
            frame.formatting[name] -= 1
            frame.others -= 1
            self.formatting -= name != "form"
            self.open -= 1
        elif frame.counts[name]:
            self._close(frame, name)

    def _leave(self, frame: _Frame) -> None:
        """Close an element that no end tag reaches out of, and what is open inside."""
        if frame.name in _MARKED:
            self.open -= frame.size()
            self.formatting -= sum(frame.formatting.values()) - frame.formatting["form"]
            self.frames.pop()
        elif frame.name == "table" or not any(frame.counts[name] for name in _SPECIAL):
            self._drop(frame)  # else its end does not reach through a block

    def _drop(self, frame: _Frame) -> None:
        """Remove the innermost frame; formatting goes on behind it."""
        self.frames.pop()
        self._foreign -= frame.name in _FOREIGN
        self.open -= len(frame.stack) + 1
        self.frames[-1].formatting.update(frame.formatting)
        self.frames[-1].others += frame.others

    def _close(self, frame: _Frame, name: str) -> None:
        """Close an element; what is no block's end reaches through no block."""
        through = _LISTS if name == "li" else () if name in _BLOCKS else _SPECIAL
        at = self._reach(frame, (name,), through)
        if at >= 0:
            self._pop(frame, at)

    def _close_before(self, frame: _Frame, name: str) -> None:
        """Close what the start of an element closes, if only running text stands between."""
        if name in _OPTIONS and frame.stack[-1:] == ["option"]:
            self._pop(frame, len(frame.stack) - 1)
        closed = _ENDS_BEFORE.get(name)
        if closed and any(frame.counts[one] for one in closed):
            at = self._reach(frame, closed, _SPECIAL)
            if at >= 0:
                self._pop(frame, at)

    def _reach(self, frame: _Frame, names: Container[str], through: Container[str]) -> int:
        """Return where the innermost of some elements stands, -1 if one of ``through`` is before it."""
        at = len(frame.stack) - 1
        while at >= 0 and frame.stack[at] not in names:
            if frame.stack[at] in through:
                self._steps += len(frame.stack) - at
                return -1
            at -= 1
        return at

    def _pop(self, frame: _Frame, at: int) -> None:
        for closed in frame.stack[at:]:
            frame.counts[closed] -= 1
            if closed == "select":
                self._select_since = None
        self.open -= len(frame.stack) - at
        del frame.stack[at:]


def check_cost(name: str, page: str) -> None:
    """Refuse a page that would take a parser too long, or too much memory.

    Raises:
        UnreadableDocument: its elements are nested too deeply for its size, or left open; a tag has
            thousands of attributes; or it has too many tags.
    """
    tally = _Tally()
    tags = read = 0
    for tag in _TAG.finditer(page):
        slash, tag_name, attributes = tag.groups()
        (tally.end if slash else tally.start)(tag_name.lower())
        tags += 1
        read += len(attributes)
        if tally.is_too_much():
            reason = "elements nested too deeply, or never closed, to be read"
        elif tags > MAX_TAGS:
            reason = f"a page of more than {MAX_TAGS} tags"
        elif _has_too_many(attributes):
            reason = f"a tag with more than {MAX_ATTRIBUTES} attributes"
        elif read > _MAX_READINGS * len(page):
            reason = "tags within tags: this can't be read as a page"
        else:
            continue
        raise UnreadableDocument(name, reason)


def _has_too_many(attributes: str) -> bool:
    return len(attributes) > MAX_ATTRIBUTES and len(_ONE.findall(attributes)) > MAX_ATTRIBUTES
