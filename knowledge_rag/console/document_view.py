"""A document's page: its lines, its outline and the state of cited lines as JSON, and its text as HTML.

In the HTML, each block names its lines. It is for reading: citations refer to the lines, which the page shows as they are.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from bisect import bisect_right
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

import nh3
from markdown_it.common.utils import escapeHtml

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.channel.marks import is_web_address, make_parser
from knowledge_rag.console.documents import (
    SHOWN_METADATA,
    CachedCorpus,
    document_url,
    retrieved_lines,
    stale_anywhere,
    stale_json,
)
from knowledge_rag.console.limits import (
    MAX_DOCUMENT_CHARACTERS,
    MAX_RANGES,
    MAX_RENDERED_CHARACTERS,
)
from knowledge_rag.console.rendering import ATTRIBUTES, TAGS, Html, kept, language_class, prepare
from knowledge_rag.core.citations import MAX_LINE, Citation
from knowledge_rag.core.documents import front_matter_end
from knowledge_rag.core.formats import is_markdown
from knowledge_rag.core.markdown import find_headings
from knowledge_rag.core.metadata import SOURCE_URL, TITLE
from knowledge_rag.drift.page import slugs
from knowledge_rag.extract.markup import as_markdown
from knowledge_rag.guardrails.staleness import CitedLines, FileNow, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

    from knowledge_rag.console.documents import IngestedDocument, KeptDocuments, Stale
    from knowledge_rag.core.repository_links import RepositoryLinks
    from knowledge_rag.guardrails.staleness import Corpus


_RANGE: Final = re.compile(r"L?([1-9][0-9]{0,9})(?:-L?([1-9][0-9]{0,9}))?")
_OF_THE_LINES: Final = frozenset({"lines", "pages", "sections"})

Range = tuple[int, int]
"""First and last line, 1-based and inclusive."""


def read_ranges(values: Sequence[str]) -> tuple[Range, ...]:
    """Read ranges of lines, such as ``5-10``, ``L5-L10`` and ``7``."""
    if len(values) > MAX_RANGES:
        raise Refused(400, f"{len(values)} ranges of lines, allowed: {MAX_RANGES}")
    ranges = []
    for value in values:
        found = _RANGE.fullmatch(value)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last <= MAX_LINE:
            raise Refused(400, f"{value[:40]!r} is not a range of lines")
        ranges.append((first, last))
    return tuple(ranges)


def view(
    document: IngestedDocument,
    ranges: Sequence[Range],
    documents: KeptDocuments,
    repository: RepositoryLinks | None,
    cards: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the JSON form of a document."""
    now = documents.current()
    corpus = CachedCorpus(now) if now is not None else None
    lines = [line or "" for line in document.lines]
    if sum(map(len, lines)) > MAX_DOCUMENT_CHARACTERS:
        raise Refused(413, f"the document has more than {MAX_DOCUMENT_CHARACTERS} characters")
    shown: dict[str, Any] = {
        "version": _version(document),
        "source": document.source_file,
        "title": document.metadata.get(TITLE, document.source_file),
        "metadata": {
            key: document.metadata[key] for key in SHOWN_METADATA if key in document.metadata
        },
        "lines": list(document.lines),
        "pages": [{"line": line, "page": page} for line, page in document.pages],
        "isComplete": document.is_complete,
        "isMarkdown": is_markdown(document.source_file),
        "sections": _sections("\n".join(as_markdown(document.source_file, lines))),
        "ranges": _ranges(document, ranges, _stale(document, ranges, corpus, cards), repository),
    }
    if is_web_address(document.metadata.get(SOURCE_URL)):
        shown["sourceUrl"] = document.metadata[SOURCE_URL]
    return shown | _whole(document, corpus, repository)


def rendered_view(document: IngestedDocument, documents: KeptDocuments) -> dict[str, Any]:
    """Return a document as HTML, with its version."""
    if not is_markdown(document.source_file):
        raise Refused(404, "a document of this format can only be shown as lines")
    lines = [line or "" for line in document.lines]
    html = rendered_document(document.source_file, lines, documents.may_have)
    return {"version": _version(document), "html": html}


def without_known(shown: dict[str, Any], version: str) -> dict[str, Any]:
    """Leave out the lines, pages and sections for a page that already has this version of them."""
    if shown["version"] != version:
        return shown
    return {name: value for name, value in shown.items() if name not in _OF_THE_LINES}


def _version(document: IngestedDocument) -> str:
    """Return a digest of the lines and pages."""
    shown = json.dumps([document.lines, document.pages])
    return hashlib.sha256(shown.encode()).hexdigest()


def _whole(
    document: IngestedDocument, corpus: Corpus | None, repository: RepositoryLinks | None
) -> dict[str, Any]:
    """Return the current state of the file, and the address for changing it."""
    known: dict[str, Any] = {}
    if corpus is not None:
        now = corpus.now(document.source_file)
        known["file"] = (
            "gone" if now is None else "same" if now.sha256 == document.sha256 else "changed"
        )
    whole = (document.source_file, 1, len(document.lines))
    if repository is not None and (url := repository.url(*whole)):
        known["repositoryUrl"] = url
    return known


def _ranges(
    document: IngestedDocument,
    ranges: Sequence[Range],
    stale: Sequence[Stale | None],
    repository: RepositoryLinks | None,
) -> list[dict[str, Any]]:
    """Return each range, up to the document's last line; ``missing`` if it has no such lines."""
    listed = []
    for asked, became in zip(ranges, stale, strict=True):
        first, last = _clamped(document, asked) or asked
        one: dict[str, Any] = {"start": first, "end": last}
        if last > len(document.lines):
            one["missing"] = True
        else:
            one["reference"] = str(Citation(document.source_file, first, last))
            lines = (document.source_file, first, last)
            if repository is not None and (url := repository.url(*lines)):
                one["repositoryUrl"] = url
        listed.append(one | ({"stale": became} if became else {}))
    return listed


def _clamped(document: IngestedDocument, asked: Range) -> Range | None:
    first, last = asked
    return (first, min(last, len(document.lines))) if first <= len(document.lines) else None


def _stale(
    document: IngestedDocument,
    ranges: Sequence[Range],
    corpus: Corpus | None,
    cards: Sequence[Mapping[str, Any]],
) -> list[Stale | None]:
    """Return the state of each range: of an answer's lines if it cites them, otherwise of the ingested ones."""
    there = [_clamped(document, one) for one in ranges]
    cited = [_cited(document, *one) if one else None for one in there]
    known = {at: one for at, one in enumerate(cited) if one is not None}
    in_files = dict(zip(known, stale_anywhere(list(known.values()), corpus), strict=True))
    now = FileNow(document.sha256 or None, "\n".join(line or "" for line in document.lines))
    retrieved = (retrieved_lines(cards, *one) for one in ranges)
    in_answers = [stale_json(compare(one, now)) if one else None for one in retrieved]
    return [one or in_files.get(at) for at, one in enumerate(in_answers)]


def _cited(document: IngestedDocument, first: int, last: int) -> CitedLines | None:
    """Return lines as ingested; ``None`` if one of them wasn't stored."""
    lines = document.lines[first - 1 : last]
    content = "\n".join(line for line in lines if line is not None)
    if None in lines:
        return None
    return CitedLines(Citation(document.source_file, first, last), content, document.sha256 or None)


def _sections(text: str) -> list[dict[str, Any]]:
    """Return the line, level and text of each heading, and its anchors for links."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    return [
        {
            "line": bisect_right(starts, offset),
            "level": level,
            "title": title,
            "anchors": sorted(slugs(title)),
        }
        for offset, _, _, level, title in find_headings(text, front_matter_end(text))
    ]


_LINES: Final = "data-lines"
_HEADINGS: Final = {"h1": "h2", "h2": "h3", "h3": "h4", "h4": "h5", "h5": "h6"}
"""Levels of a document's headings on the page, whose own heading is the document's title."""
_OF_LINES: Final = ("blockquote", "h2", "h3", "h4", "h5", "h6", "hr", "li", "p", "pre", "tr")
"""Elements that name their lines; so does a ``span``, one for each line of code."""
_LINE_RANGE: Final = re.compile(r"[0-9]{1,9}-[0-9]{1,9}")
_OWN: Final = re.compile(r"/doc/[^\s\"'<>\\]*|#[^\s\"'<>\\]*")
"""The console's own addresses, and the anchors of this document."""
_ELSEWHERE: Final = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_PAGES: Final = ("", ".md", "/README.md", "/index.md")
"""Endings that sites omit in a link to a document."""


def rendered_document(source_file: str, lines: Sequence[str], exists: Callable[[str], bool]) -> str:
    """Return a document as HTML without its front matter; links lead to ingested documents and the web.

    The path decides the format and the base of relative links; ``exists`` says whether a document at a path was
    ingested, or may have been.
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
        return value if _LINE_RANGE.fullmatch(value) else None
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
