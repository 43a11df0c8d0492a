"""Decides which of a web page's text a reader sees, and which is struck out.

Every declaration of an element's own ``style`` counts, even if another overrides it: doubtful text is left
out and reported. Style sheets can strike text out; that they may hide it is not considered.
"""

from __future__ import annotations

import ast
import operator
import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from selectolax.lexbor import LexborHTMLParser, LexborNode


_NUMBER: Final = re.compile(r"([+-]?(?:\d++(?:\.\d++)?|\.\d++)(?:e[+-]?\d++)?)([a-z]++|%)?")
_CALC: Final = re.compile(r"(?<![a-z0-9-])calc\(((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+)\)")
_ARITHMETIC: Final = re.compile(r"(?!.*(?:\*\*|//))[-+*/()\s0-9.e]*")
_PIXELS: Final = {
    "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 37.8,
    "mm": 3.78, "%": 10.0, "vw": 10.0, "vh": 10.0, "vmin": 10.0, "vmax": 10.0, "lh": 20.0, "rlh": 20.0,
}  # fmt: skip
"""Pixels per unit, on a screen a thousand pixels wide; 1 for all other units."""
_MAX_FORMULA: Final = 300
"""Maximum characters of a computation that is evaluated."""


def _computed(value: str) -> str:
    """Return a lower-case value with each ``calc`` replaced by its result, in pixels."""
    return _CALC.sub(_result, value)


def _result(calc: re.Match[str]) -> str:
    """Return the result of a ``calc`` of numbers, the four operations and brackets; anything else as it is."""
    formula = _NUMBER.sub(lambda it: f" {_pixels(it[1], it[2])!r} ", calc[1].replace("calc(", "("))
    if len(calc[1]) <= _MAX_FORMULA and _ARITHMETIC.fullmatch(formula):
        with suppress(SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
            return f"{_value(ast.parse(' '.join(formula.split()), mode='eval').body):f}px"
    return calc[0]


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        return _value(node.operand) * (-1 if isinstance(node.op, ast.USub) else 1)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.left), _value(node.right))
    raise ValueError


_OPERATIONS: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def _in_pixels(value: str) -> float | None:
    """Return a value that is one number; ``None`` for anything else."""
    found = _NUMBER.fullmatch(value.strip())
    return _pixels(found[1], found[2]) if found else None


def _numbers(value: str) -> list[float]:
    return [_pixels(number, unit) for number, unit in _NUMBER.findall(value)]


def _pixels(number: str, unit: str) -> float:
    return float(number) * _PIXELS.get(unit or "", 1.0)


_TOKEN: Final = re.compile(
    r""""(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?|/\*.*?(?:\*/|\Z)|\\.""", re.DOTALL
)
_ESCAPE: Final = re.compile(r"\\([0-9a-f]{1,6})\s?|\\(.)", re.IGNORECASE | re.DOTALL)
_PREFIX: Final = re.compile(r"^-(?:webkit|moz|ms|o)-")
_CALL: Final = re.compile(r"(?<![a-z0-9-])([a-z0-9-]++)\(((?:[^()]|\([^()]*+\))*+)\)")
_NO_COLOUR: Final = re.compile(r"transparent|#[0-9a-f]{3}0|#[0-9a-f]{6}00")
_RULE: Final = re.compile(r"([^{}]{1,500})\{([^{}]*)\}")
STRUCK_CLASSES: Final = frozenset(
    ("line-through", "strike", "strikethrough", "struck", "obsolete", "deprecated")
)
_MAX_STYLE: Final = 1_000_000
"""Maximum characters of a style; a longer one hides something."""
_FAR: Final = 1_000.0
_FAR_DOWN: Final = 100_000.0
"""Pixels; a long page that is laid out by numbers has lines at ten thousand."""
_OUTSIDE: Final = -100.0
_FAINT: Final = 0.01
_TINY: Final = 1.0


def is_hidden(attributes: Mapping[str, str | None]) -> bool:
    """Whether an element shows nothing to a reader, by its own attributes."""
    if "hidden" in attributes or "popover" in attributes:
        return True
    style = attributes.get("style") or ""
    if len(style) > _MAX_STYLE:
        return True
    said = [(name, _computed(value)) for name, value in declarations(style)]
    if any(name in _HIDES and _HIDES[name](value) for name, value in said):
        return True
    is_cut = any(name.startswith("overflow") and value != "visible" for name, value in said)
    return is_cut and any(
        name in _SIZES and _is_below(value, _TINY, least=True) for name, value in said
    )


def is_struck_out(attributes: Mapping[str, str | None]) -> bool:
    """Whether an element has a line through its text, by its own style or by the name of a class."""
    classes = (attributes.get("class") or "").lower().split()
    return not STRUCK_CLASSES.isdisjoint(classes) or _strikes(attributes.get("style") or "")


def selectors_of_struck(sheet: str) -> Iterator[str]:
    """Yield the selectors whose elements have a line through their text, by a page's style sheet.

    >>> [*selectors_of_struck("p {color: red} li.old, .gone {text-decoration: line-through}")]
    ['li.old, .gone']
    """
    if len(sheet) <= _MAX_STYLE and "line-through" in sheet.lower():
        for selectors, style in _RULE.findall(_TOKEN.sub(_without, sheet)):
            if _strikes(style):
                yield selectors.strip()


def _strikes(style: str) -> bool:
    return "line-through" in style.lower() and any(
        name.startswith("text-decoration") and "line-through" in value.split()
        for name, value in declarations(style)
    )


def declarations(style: str) -> Iterator[tuple[str, str]]:
    """Return names and values in lower case, escapes decoded, without strings and comments."""
    for declaration in _TOKEN.sub(_without, style).split(";"):
        name, colon, value = declaration.partition(":")
        if colon:
            plain = _unescaped(value).partition("!")[0]
            yield _PREFIX.sub("", _unescaped(name).strip()), " ".join(plain.split())


def _without(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith("\\") else " "


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text).lower()


def _character(found: re.Match[str]) -> str:
    if found[2] is not None:
        return found[2]
    code = int(found[1], 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def _calls(value: str) -> Iterator[tuple[str, list[float]]]:
    """Yield functions with their numbers, in pixels."""
    for name, inside in _CALL.findall(value):
        yield name, _numbers(inside)


def _is_below(value: str, bound: float, *, least: bool = False) -> bool:
    number = _in_pixels(value)
    return number is not None and (number < bound or (least and number == bound))


def _is_faint(value: str) -> bool:
    share = value.removesuffix("%")
    return _is_below(share, _FAINT, least=True)


def _is_tiny_font(value: str) -> bool:
    sizes = (word.partition("/")[0] for word in value.split())
    return any(
        (number := _in_pixels(size)) is not None
        and number < _TINY
        and not size.endswith(("deg", "rad", "turn"))
        for size in sizes
    )


def _is_far(value: str) -> bool:
    return any(not _OUTSIDE < number < _FAR for number in _numbers(value))


def _is_far_up(value: str) -> bool:
    return any(not _OUTSIDE < number < _FAR_DOWN for number in _numbers(value))


def _moves_away(value: str) -> bool:
    if any(abs(number) >= _FAR for number in _numbers(value)):
        return True
    return any(
        (name.startswith("scale") and 0.0 in given) or (name == "matrix" and not any(given[:4]))
        for name, given in _calls(value)
    )


def _is_clipped(value: str) -> bool:
    for name, given in _calls(value):
        if name == "rect" and len(given) == 4 and "auto" not in value:
            top, right, bottom, left = given
            return bottom - top <= _TINY or right - left <= _TINY
    return False


def _is_clipped_away(value: str) -> bool:
    for name, given in _calls(value):
        if name == "inset" and given:
            sides = (given * 4)[:4] if len(given) < 3 else (given + given[1:2])[:4]
            # a percent is ten pixels: one side is cut off completely, or two meet in the middle
            if sides[0] + sides[2] >= _FAR or sides[1] + sides[3] >= _FAR:
                return True
        if name in ("circle", "ellipse") and given and given[0] <= _FAINT:
            return True
        if name == "polygon" and not any(given):
            return True
    return False


def _has_no_colour(value: str) -> bool:
    if _NO_COLOUR.fullmatch(value):
        return True
    for name, inside in _CALL.findall(value):
        _, slash, alpha = inside.partition("/")
        parts = inside.split(",")
        share = alpha if slash else parts[3] if len(parts) == 4 else ""
        if name.startswith(("rgb", "hsl")) and share and _is_faint(share.strip()):
            return True
    return False


def _is_filtered(value: str) -> bool:
    return any(name == "opacity" and given and given[0] <= _FAINT for name, given in _calls(value))


_SIZES: Final = frozenset(("height", "width", "max-height", "max-width"))
_HIDES: Final[Mapping[str, Callable[[str], bool]]] = {
    "display": "none".__eq__,
    "visibility": ("hidden", "collapse").__contains__,
    "content-visibility": "hidden".__eq__,
    "opacity": _is_faint,
    "font-size": lambda value: _is_below(value, _TINY),
    "font": _is_tiny_font,
    "left": _is_far,
    "right": _is_far,
    "bottom": _is_far,
    "top": _is_far_up,
    "inset": _is_far,
    "text-indent": _is_far,
    "margin-left": _is_far,
    "margin-top": _is_far_up,
    "transform": _moves_away,
    "translate": _moves_away,
    "scale": lambda value: 0.0 in _numbers(value),
    "clip": _is_clipped,
    "clip-path": _is_clipped_away,
    "color": _has_no_colour,
    "text-fill-color": _has_no_colour,
    "filter": _is_filtered,
}


STRUCK: Final = frozenset(("del", "s", "strike"))
"""Struck-out text is no longer valid, so it must never read as if it were."""
_LEFT_OUT: Final = frozenset(
    ("head", "script", "style", "noscript", "nav", "footer", "iframe", "frame",
     "frameset", "object", "embed", "applet", "svg", "canvas", "audio", "video", "map",
     "select", "button", "input", "textarea", "datalist", "meter", "progress", "title", "meta", "link",
     "img", "picture", "search")
)  # fmt: skip
_OF_THE_SITE: Final = frozenset(("header", "aside"))
"""Left out around the page's main part; inside it, they contain its heading or warnings."""
_UNRENDERED: Final = frozenset(
    ("template", "noframes", "noembed", "annotation", "annotation-xml", "rp")
)
"""Elements that browsers don't show, though they may have text: left out like hidden ones."""
_BRACKET: Final = 2
"""Characters of an ``rp`` used as intended."""
_LEFT_OUT_ROLES: Final = frozenset(
    ("navigation", "banner", "contentinfo", "search", "complementary")
)
_CONTENT: Final = "main, article, h1, h2"
"""A form with one of these is the whole page, as some servers write it, and not for input."""

_CONFLUENCE: Final = "#main-content.wiki-content"
"""The content of a page that Confluence exported; around it are breadcrumbs and attachments."""
_EXPORTED_FURNITURE: Final = frozenset(("toc-macro", "page-header-icon"))
"""Classes of a table of contents in Confluence's exports, and of a page's picture in Notion's."""
_ANCHORS: Final = frozenset(("\u00a7", "\u00b6", "#", "\U0001f517"))
"""Signs beside a heading that link to it: section, pilcrow, hash, chain."""
_SELECTORS: Final = 50
"""Selectors of a style sheet that are followed."""
_LOOKED_AT: Final = 20
"""Maximum elements to search for the page's main part."""


class Selection:
    """Decides which elements of a page below ``root`` are its text, and which are struck out; counts hidden text."""

    def __init__(self, page: LexborHTMLParser, root: LexborNode) -> None:
        self._whole = root.tag in ("main", "article")
        self._struck = _struck_by_sheets(page)
        self.hidden: dict[int, int] = {}
        """Characters of hidden text, by element."""

    def takes(self, node: LexborNode) -> bool:
        """Whether an element's text is part of the page's text."""
        if self._is_furniture(node):
            return False
        attributes = node.attributes
        if _is_unseen(node, attributes):
            self._count(node)
            return False
        if (attributes.get("role") or "").strip().lower() in _LEFT_OUT_ROLES:
            return False
        if node.tag == "div" and not _EXPORTED_FURNITURE.isdisjoint(
            (attributes.get("class") or "").split()
        ):
            return False
        return node.tag != "dialog" or "open" in attributes

    def strikes(self, node: LexborNode) -> bool:
        """Whether an element strikes out what is in it, so that this no longer holds."""
        return node.tag in STRUCK or node.mem_id in self._struck or is_struck_out(node.attributes)

    def _is_furniture(self, node: LexborNode) -> bool:
        tag = node.tag
        if tag == "a":
            return _is_anchor(node)
        if tag == "form":
            return node.css_first(_CONTENT) is None
        return tag in _LEFT_OUT or (tag in _OF_THE_SITE and not self._whole)

    def _count(self, node: LexborNode) -> None:
        characters = sum(
            len((part.text_content or "").strip()) for part in _texts(node) if part.is_text_node
        )
        if characters > (_BRACKET if node.tag == "rp" else 0):
            self.hidden[node.mem_id] = characters


def _is_anchor(link: LexborNode) -> bool:
    """Whether a link is the sign beside a heading that links to the heading itself."""
    inside = link.child
    return (
        inside is not None
        and inside.is_text_node
        and inside.next is None
        and (inside.text_content or "").strip() in _ANCHORS
    )


def _is_unseen(node: LexborNode, attributes: dict[str, str | None]) -> bool:
    """Whether browsers show nothing of an element, by its name or its own attributes."""
    return node.tag in _UNRENDERED or is_hidden(attributes)


def main_part(page: LexborHTMLParser) -> LexborNode | None:
    """Return the element with the page's content: main, a lone article, else all of it."""
    for selector in (_CONFLUENCE, "main, [role=main]", "article"):
        named = islice(page.css(selector), _LOOKED_AT)
        found = [node for node in named if _is_shown(node) and _has_text(node)]
        if found and (len(found) == 1 or selector != "article"):
            return found[0]
    return page.body


def _is_shown(node: LexborNode) -> bool:
    above: LexborNode | None = node
    while above is not None and above.tag != "-document":
        if above.tag in _LEFT_OUT or above.tag == "aside" or _is_unseen(above, above.attributes):
            return False
        above = above.parent
    return True


def _has_text(node: LexborNode) -> bool:
    return any(part.is_text_node and (part.text_content or "").strip() for part in _texts(node))


def _texts(node: LexborNode) -> Iterator[LexborNode]:
    """Yield an element's text nodes, leaving out scripts and styles."""
    stack = [node.child]
    while stack:
        part = stack.pop()
        if part is None:
            continue
        stack.append(part.next)
        if part.tag not in _LEFT_OUT:
            yield part
            stack.append(part.child)


def _struck_by_sheets(page: LexborHTMLParser) -> frozenset[int]:
    """Return the elements that a page's style sheets strike out; selectors that can't be read select none."""
    from selectolax.lexbor import SelectolaxError  # noqa: PLC0415 - lint needs the attributes alone

    struck: set[int] = set()
    for sheet in page.css("style"):
        for selectors in islice(selectors_of_struck(sheet.text()), _SELECTORS):
            with suppress(SelectolaxError):
                struck.update(it.mem_id for it in page.css(selectors))
    return frozenset(struck)
