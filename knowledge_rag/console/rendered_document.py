"""Renders a document as HTML, in which each block names its lines.

It is for reading: citations refer to the lines, which the page shows as they are.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

import nh3
from markdown_it.common.utils import escapeHtml

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.channel.marks import is_web_address, make_parser
from knowledge_rag.console.addresses import document_url
from knowledge_rag.console.limits import MAX_RENDERED_CHARACTERS
from knowledge_rag.console.rendering import ATTRIBUTES, TAGS, Html, kept, language_class, prepare
from knowledge_rag.core.documents import front_matter_end
from knowledge_rag.extract.markup import as_markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

_LINES: Final = "data-lines"
_HEADINGS: Final = {"h1": "h2", "h2": "h3", "h3": "h4", "h4": "h5", "h5": "h6"}
"""Levels of a document's headings on the page, whose own heading is the document's title."""
_OF_LINES: Final = ("blockquote", "h2", "h3", "h4", "h5", "h6", "hr", "li", "p", "pre", "tr")
"""Elements that name their lines; so does a ``span``, one for each line of code."""
_RANGE: Final = re.compile(r"[0-9]{1,9}-[0-9]{1,9}")
_OWN: Final = re.compile(r"/doc/[^\s\"'<>\\]*|#[^\s\"'<>\\]*")
"""The console's own addresses, and the anchors of this document."""
_ELSEWHERE: Final = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_PAGES: Final = ("", ".md", "/README.md", "/index.md")
"""Endings that sites omit in a link to a document."""


def rendered_document(source_file: str, lines: Sequence[str], exists: Callable[[str], bool]) -> str:
    """Return a document as HTML without its front matter; links lead to ingested documents and the web.

    Args:
        source_file: its path, which decides its format and the base of its relative links.
        lines: of the document.
        exists: whether a document at a path was ingested, or may have been.
    """
    if sum(map(len, lines)) > MAX_RENDERED_CHARACTERS:
        raise Refused(
            413, f"a document of more than {MAX_RENDERED_CHARACTERS} characters isn't rendered"
        )
    text = "\n".join(as_markdown(source_file, [line.removesuffix("\r") for line in lines]))
    body = front_matter_end(text)
    shown = "\n" * text.count("\n", 0, body) + text[body:]
    tokens = _parser().parse(shown)
    prepare(tokens, _HEADINGS)
    source = shown.split("\n")
    known = cache(exists)
    for token in tokens:
        if token.map and token.nesting >= 0:
            token.attrSet(_LINES, _lines_of(token, source))
        _lead(token.children or (), source_file, known)
    return _CLEANER.clean(_parser().renderer.render(tokens, _parser().options, {}))


class _DocumentHtml(Html):
    """Writes a document's HTML; each line of its code is an element."""

    def words(self, content: str, env: EnvType) -> str:
        """Escape words; in a document, they are never references."""
        del env
        return escapeHtml(content)

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        del options
        return self._code(tokens[idx], language_class(tokens[idx].info), 1, env)

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        del options
        return self._code(tokens[idx], "", 0, env)

    def link_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        token = tokens[idx]
        if missing := token.meta.get("missing"):
            return f' <span class="host">(not ingested: {escapeHtml(missing)})</span>'
        return "</a>" if token.meta.get("own") else super().link_close(tokens, idx, options, env)

    def _code(self, token: Token, language: str, fence: int, env: EnvType) -> str:
        first = (token.map or [0])[0] + 1 + fence
        rows = token.content.removesuffix("\n").split("\n")
        code = "\n".join(
            f'<span {_LINES}="{first + at}-{first + at}">{self.words(row, env)}</span>'
            for at, row in enumerate(rows)
        )
        own = token.attrs.get(_LINES, "")
        return f'<pre {_LINES}="{own}"><code{language}>{code}</code></pre>\n'


@cache
def _parser() -> MarkdownIt:
    made = make_parser(_DocumentHtml).enable("reference").disable("cite")
    web = made.validateLink
    made.validateLink = lambda url: web(url) or _ELSEWHERE.match(url) is None  # type: ignore[method-assign]
    return made


def _lines_of(token: Token, source: Sequence[str]) -> str:
    """Return the lines of a block, without blank ones at its end."""
    start, end = token.map or (0, 0)
    while end > start + 1 and not source[end - 1].strip():
        end -= 1
    return f"{start + 1}-{end}"


def _lead(tokens: Sequence[Token], source_file: str, exists: Callable[[str], bool]) -> None:
    """Point the links of a block to documents; a link to anything else that isn't on the web becomes words."""
    opened: Token | None = None
    for token in tokens:
        if token.type == "link_open":
            opened = token
        elif token.type == "link_close" and opened is not None:
            href = str(opened.attrs.get("href", ""))
            if not is_web_address(href):
                target = _target(href, source_file, exists)
                opened.hidden = not target
                opened.attrs = {"href": target}
                token.meta = {"own": True} if target else {"missing": unquote(href)}
            else:
                opened.attrs["target"] = "_blank"


def _target(href: str, source_file: str, exists: Callable[[str], bool]) -> str:
    """Return the page's address of a relative link's document; ``""`` if there is none."""
    path, _, anchor = href.partition("#")
    path = unquote(path.partition("?")[0])
    hash_ = f"#{quote(unquote(anchor))}" if anchor else ""
    if not path:
        return hash_
    found = next((one for one in _candidates(path, source_file) if exists(one)), None)
    return document_url(found) + hash_ if found else ""


def _candidates(path: str, source_file: str) -> Iterator[str]:
    folder = "" if path.startswith("/") else posixpath.dirname(source_file)
    target = posixpath.normpath(posixpath.join(folder, path.lstrip("/")))
    for ending in _PAGES:
        yield posixpath.normpath(target + ending)


def _kept(tag: str, attribute: str, value: str) -> str | None:
    if attribute == _LINES:
        return value if _RANGE.fullmatch(value) else None
    if attribute == "target":
        return value if value == "_blank" else None
    return kept(tag, attribute, value)


def _attributes() -> dict[str, set[str]]:
    allowed: dict[str, Any] = {tag: set(names) for tag, names in ATTRIBUTES.items()}
    for tag in (*_OF_LINES, "span"):
        allowed.setdefault(tag, set()).add(_LINES)
    allowed["a"].add("target")
    return allowed


_CLEANER: Final = nh3.Cleaner(
    tags={*TAGS, "h2"},
    attributes=_attributes(),
    attribute_filter=_kept,
    url_schemes={"http", "https"},
    url_relative=lambda url: url if _OWN.fullmatch(url) else None,
    link_rel="noopener noreferrer",
)
