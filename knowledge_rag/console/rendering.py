"""Renders an answer as HTML while it is written, in outermost blocks of its Markdown; only the last ones change.

In the Markdown and its HTML, a mark replaces each reference. The sanitiser lets no citation pass: citations are inserted
afterwards, from the verified answer's own references.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import nh3
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML

from knowledge_rag.channel.marks import (
    CLOSE,
    MARKS,
    OPEN,
    PLACE,
    make_parser,
    marked_parts,
    places_in,
    plain,
)
from knowledge_rag.console.documents import document_url
from knowledge_rag.orchestrator.answer import is_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

    from knowledge_rag.channel.marks import Reference

WRITTEN: Final = "written"
"""Key of the rendering's ``env``: the text of each reference in the answer, by its number."""

PLACED: Final = "placed"
"""Key of the rendering's ``env``: the numbers of the references that the HTML shows, in any form."""

LABEL: Final = "label"
"""Class of a paragraph that only names a part of the answer, so that it needs no citation."""

_LANGUAGE: Final = re.compile(r"[a-z0-9+#-]{1,20}")
_ALIGNED: Final = re.compile(r"text-align:(left|center|right)")
_HEADINGS: Final[Mapping[str, str]] = {"h1": "h3", "h2": "h3", "h3": "h4", "h4": "h5", "h5": "h6"}
"""Levels of an answer's headings, below those of the page."""


def mark_of(number: int) -> str:
    """Return the mark of a reference in HTML."""
    return f"{OPEN}{number}{CLOSE}"


TAGS: Final = frozenset(
    {
        "p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong",
        "s", "table", "thead", "tbody", "tr", "th", "td", "hr", "br", "a", "span",
    }
)  # fmt: skip
ATTRIBUTES: Final[Mapping[str, set[str]]] = {
    "a": {"href"},
    "code": {"class"},
    "ol": {"start"},
    "p": {"class"},
    "span": {"class"},
    "td": {"class"},
    "th": {"class"},
}
_VALUES: Final = {
    ("code", "class"): re.compile(r"language-[a-z0-9+#-]{1,20}"),
    ("ol", "start"): re.compile(r"[0-9]{1,9}"),
    ("p", "class"): re.compile(LABEL),
    ("span", "class"): re.compile(r"host"),
    ("td", "class"): re.compile(r"left|center|right"),
    ("th", "class"): re.compile(r"left|center|right"),
}
_REFERENCE: Final = re.compile(f"{OPEN}([0-9]+){CLOSE}")


def kept(tag: str, attribute: str, value: str) -> str | None:
    """Return an attribute's value if it may stay; see :class:`nh3.Cleaner`."""
    allowed = _VALUES.get((tag, attribute))
    return value if allowed is None or allowed.fullmatch(value) else None


_CLEANER: Final = nh3.Cleaner(
    tags=set(TAGS),
    attributes=dict(ATTRIBUTES),
    attribute_filter=kept,
    url_schemes={"http", "https"},
    url_relative="deny",
    link_rel="noopener noreferrer",
    set_tag_attribute_values={"a": {"target": "_blank"}},
)


def sanitised(html: str, references: Sequence[Reference]) -> str:
    """Clean HTML, then replace its marks with links to the cited lines."""
    return _REFERENCE.sub(lambda mark: _linked(references[int(mark[1])]), _CLEANER.clean(html))


def _linked(reference: Reference) -> str:
    return f"<sup>{''.join(map(_link, reference.citations))}</sup>"


def _link(cited: Mapping[str, object]) -> str:
    number, citation = cited["number"], cited["citation"]
    assert isinstance(number, int)  # noqa: S101 - for the type checker: the orchestrator's types
    assert isinstance(citation, dict)  # noqa: S101 - likewise
    file, first, last = (citation[key] for key in ("source_file", "start_line", "end_line"))
    label = f"[{number}] {file}, lines {first}-{last}"
    return (
        f'<a class="cite" data-number="{number}" data-lines="{first}-{last}" '
        f'href="{escape(document_url(file, first, last))}" aria-label="{escape(label)}">[{number}]</a>'
    )


@cache
def parser() -> MarkdownIt:
    """Return the Markdown parser of answers."""
    return make_parser(Html)


class Html(RendererHTML):
    """Writes HTML; the parser calls each method for the kind of token in its name."""

    def words(self, content: str, env: EnvType) -> str:
        """Escape words; a reference in code, where none can be, is shown as written."""

        def written(found: re.Match[str]) -> str:
            number = int(found[1])
            env[PLACED].add(number)
            return str(env[WRITTEN][number])

        return escapeHtml(MARKS.sub("", PLACE.sub(written, content)))

    def cite(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Return the mark of a reference."""
        del options
        number = tokens[idx].meta["number"]
        env[PLACED].add(number)
        return mark_of(number)

    def text(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Return words."""
        del options
        return self.words(tokens[idx].content, env)

    def code_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Return code between words."""
        del options
        return f"<code>{self.words(tokens[idx].content, env)}</code>"

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Return indented code."""
        del options
        return f"<pre><code>{self.words(tokens[idx].content, env)}</code></pre>\n"

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Return code between fences."""
        del options
        token = tokens[idx]
        code = self.words(token.content, env)
        return f"<pre><code{language_class(token.info)}>{code}</code></pre>\n"

    def link_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """End a link, and show its host: its words may name another."""
        del options, env
        host = urlsplit(str(tokens[idx].meta.get("href", ""))).hostname
        if not host:
            return ""
        return f'</a> <span class="host">({escapeHtml(host)})</span>'


def language_class(info: str) -> str:
    """Return the class of code in a language, as an attribute; ``""`` if a fence names none."""
    words = info.split()
    named = words and _LANGUAGE.fullmatch(words[0].lower())
    return f' class="language-{words[0].lower()}"' if named else ""


def prepare(tokens: Sequence[Token], headings: Mapping[str, str] = _HEADINGS) -> None:
    """Adapt tokens to the page: labels, levels of headings, links, columns."""
    if [token.type for token in tokens[:2]] == ["paragraph_open", "inline"]:
        tokens[0].attrs |= {"class": LABEL} if is_label(tokens[1].content) else {}
    for token in tokens:
        token.tag = headings.get(token.tag, token.tag)
        if style := token.attrs.pop("style", None):
            aligned = _ALIGNED.fullmatch(str(style))
            token.attrs |= {"class": aligned[1]} if aligned else {}
        if token.children:
            _name_hosts(token.children)


def _name_hosts(tokens: Sequence[Token]) -> None:
    """Store the address at the end of each link, and remove the title from its start."""
    href = ""
    for token in tokens:
        if token.type == "link_open":
            href = str(token.attrs.get("href", ""))
            token.attrs = {"href": href}
            token.hidden = not href  # `[]()` has no target
        elif token.type == "link_close":
            token.meta = {"href": href}


PATIENT_CHARACTERS: Final = 4_096
"""Open text up to this length is rendered again with every piece."""

PATIENT_SHARE: Final = 16
"""Longer text is rendered when one part in this many is new, so that all renderings together stay linear."""


@dataclass(frozen=True, slots=True)
class Block:
    """Sanitised HTML that replaces the block with the same number, from 0; ``""`` removes it."""

    number: int
    html: str


class AnswerRenderer:
    """Renders one answer, piece by piece."""

    def __init__(self) -> None:
        self._references: list[Reference] = []
        self._open = ""
        self._rendered = 0  # length of the open part at the last rendering
        self._closed = 0
        self._shown: list[str] = []

    def feed(self, parts: Iterable[Mapping[str, Any]]) -> None:
        """Add parts of the verified answer: ``{"text"}``, and ``{"text", "citations"}`` for a reference."""
        self._open += marked_parts(parts, self._references)

    def is_due(self) -> bool:
        """Whether enough text has come since the last rendering for the next one."""
        grown = len(self._open) - self._rendered
        return grown > 0 and (
            len(self._open) <= PATIENT_CHARACTERS or grown * PATIENT_SHARE >= len(self._open)
        )

    def render(self) -> list[Block]:
        """Return the blocks that have changed since the last call."""
        blocks = list(_blocks(self._open, parser()))
        html = [self._html(block) for block in blocks]
        changed = [
            Block(self._closed + at, now)
            for at, now in enumerate(html)
            if at >= len(self._shown) or self._shown[at] != now
        ]
        changed += [
            Block(self._closed + at, "")
            for at in range(len(html), len(self._shown))
            if self._shown[at]
        ]
        self._shown = html
        self._close()
        self._rendered = len(self._open)
        return changed

    def _close(self) -> None:
        """Drop the blocks that no further line can change: all but the last one of the complete lines."""
        if len(self._shown) < 2:
            return
        whole = self._open[: self._open.rfind("\n") + 1]
        over = list(_blocks(whole, _outliner()))[:-1]
        if over and len(over) < len(self._shown):
            self._closed += len(over)
            self._shown = self._shown[len(over) :]
            self._open = self._open[over[-1].end :]

    def _html(self, block: _Parsed) -> str:
        """Render a block with every reference of its source, in its place or else at the end."""
        meant = places_in(block.source)
        env: dict[str, Any] = {
            PLACED: set(),
            WRITTEN: {number: plain(self._references[number].text) for number in meant},
        }
        prepare(block.tokens)
        html = parser().renderer.render(block.tokens, parser().options, env)
        lost = "".join(mark_of(number) for number in meant if number not in env[PLACED])
        return sanitised(f"{html}<p>{lost}</p>" if lost else html, self._references)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """One block: its tokens, its Markdown, and the offset of its end."""

    tokens: Sequence[Token]
    source: str
    end: int


def _blocks(source: str, parse: MarkdownIt) -> Iterator[_Parsed]:
    """Split Markdown into its outermost blocks; blank lines belong to the block above them."""
    tokens = parse.parse(source, {})
    opening = [at for at, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0]
    lines = [0, *(at + 1 for at, character in enumerate(source) if character == "\n")]
    starts = [lines[(tokens[at].map or [0])[0]] for at in opening]
    for n, (first, last) in enumerate(pairwise([*opening, len(tokens)])):
        start, end = starts[n], starts[n + 1] if n + 1 < len(starts) else len(source)
        yield _Parsed(tokens[first:last], source[start:end], end)


@cache
def _outliner() -> MarkdownIt:
    return make_parser(RendererHTML).disable("inline")
