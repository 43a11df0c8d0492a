"""Documents and their lines as resources: ``knowledge:///runbooks/rds.md?lines=5-10``.

The authority is empty, because clients write it in lower case. Lines are in the query, because some clients cut off a
fragment, which would return the whole document; ``#L5-L10``, the form of editors and code hosts, is accepted too.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote_to_bytes

from mcp import types

from knowledge_rag.core.citations import MAX_LINE, MAX_PATH, Citation
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.findings import AT_A_MODEL, caution_sentence
from knowledge_rag.core.formats import MARKUP_SUFFIXES
from knowledge_rag.core.lines import BLANKS
from knowledge_rag.core.metadata import CAUTION, DOCUMENT_SHA256
from knowledge_rag.extract.lint.check import lint_text
from knowledge_rag.guardrails.headings import heading_words
from knowledge_rag.guardrails.references import SCHEME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.local.knowledge_base import Documents

TEMPLATE: Final = f"{SCHEME}:///{{+path}}{{?lines}}"
"""RFC 6570; ``lines`` is ``a-b``, or ``a`` alone."""

_MAX_CHARACTERS: Final = 12 * MAX_PATH + 64
"""Maximum length of an address: a path's characters have at most four bytes, and each byte takes three characters."""

_LINK: Final = re.compile(
    rf"{SCHEME}:///(?P<path>[^?#]+)"
    r"(?:\?lines=(?P<first>[0-9]{1,10})(?:-(?P<last>[0-9]{1,10}))?"
    r"|#L(?P<from>[0-9]{1,10})(?:-L?(?P<to>[0-9]{1,10}))?)?"
)


@dataclass(frozen=True, slots=True)
class Link:
    """A document, or its lines ``start_line`` to ``end_line``, inclusive; 0 for the whole document."""

    source_file: str
    start_line: int = 0
    end_line: int = 0

    @classmethod
    def to(cls, citation: Citation) -> Link:
        """Return the link to cited lines."""
        return cls(citation.source_file, citation.start_line, citation.end_line)

    def __str__(self) -> str:
        lines = f"?lines={self.start_line}-{self.end_line}" if self.start_line else ""
        return f"{SCHEME}:///{quote(self.source_file, safe='/')}{lines}"


def mime_type(source_file: str) -> str:
    """Return the media type of a document's text, by its name; a web page's text is Markdown."""
    plain = (".txt", ".pdf", *MARKUP_SUFFIXES)
    return "text/plain" if source_file.lower().endswith(plain) else "text/markdown"


def parse_link(address: str) -> Link:
    """Parse an address; the document need not exist.

    Raises:
        InvalidRequest: it isn't the address of a document or of lines.
    """
    found = _LINK.fullmatch(address) if len(address) <= _MAX_CHARACTERS else None
    if found is None:
        raise InvalidRequest(f"not an address of a document or its lines; those are {TEMPLATE}")
    try:
        source_file = unquote_to_bytes(found["path"]).decode()
    except UnicodeError as error:
        raise InvalidRequest("the path in the address is not UTF-8, percent-encoded") from error
    first = found["first"] or found["from"]
    if first is None:
        return Link(source_file)
    start, end = int(first), int(found["last"] or found["to"] or first)
    if not 1 <= start <= end <= MAX_LINE:
        raise InvalidRequest(f"lines {start}-{end} are not a line range; lines count from 1")
    return Link(source_file, start, end)


PAGE: Final = 100
"""Maximum documents on one page of the list."""

MAX_COMPLETIONS: Final = 100
"""The protocol's own limit."""

MAX_CHARACTERS: Final = 1_000_000
"""Maximum length of one resource; read a larger document by its lines."""

DIGEST: Final = "knowledge-rag/document_sha256"
"""Key of the document's sha256 beside its lines, which identifies its version."""


CAUTION_KEY: Final = "knowledge-rag/caution"
"""Key of the kinds that lint found in a passage, beside its lines and beside the warning before them."""


def templates() -> list[types.ResourceTemplate]:
    """Return the template for addresses of documents and lines."""
    return [
        types.ResourceTemplate(
            uri_template=TEMPLATE,
            name="document",
            title="A document, or lines of it",
            description=(
                "path is a citation's source_file; lines is start_line-end_line. Gives the text as it "
                "was ingested (of a web page or a PDF: as it was extracted), in one piece for each "
                "passage, each with the address of its lines; "
                "what lies between them is blank. Front matter is not kept."
            ),
        )
    ]


def listed(documents: Documents, cursor: str | None) -> types.ListResourcesResult:
    """Return a page of the list of documents."""
    found = documents.after(_name_in(cursor), PAGE + 1)
    resources = [
        types.Resource(
            uri=str(Link(one.source_file)),
            name=one.source_file,
            title=shown_title(one.title) or None,
            mime_type=mime_type(one.source_file),
        )
        for one in found[:PAGE]
    ]
    following = None
    if len(found) > PAGE:
        following = base64.urlsafe_b64encode(found[PAGE - 1].source_file.encode()).decode()
    return types.ListResourcesResult(resources=resources, next_cursor=following)


def shown_title(title: str) -> str:
    """Return a document's title in the form that clients may show; "" if it is aimed at a model: show its path instead."""
    found = lint_text("", title)
    return "" if any(it.kind in AT_A_MODEL for it in found) else heading_words(title)


def _kinds(part: RetrievalResult) -> list[str]:
    """Return the kinds that lint found in a passage."""
    kinds = part.metadata.get(CAUTION)
    return list(kinds) if isinstance(kinds, list) else []


def _cautions(parts: Sequence[RetrievalResult]) -> list[types.TextResourceContents]:
    """Return a warning for each passage that is aimed at a model, to show before its lines."""
    return [
        types.TextResourceContents(
            uri=str(Link.to(part.citation)),
            mime_type="text/plain",
            text=caution_sentence(part.citation, kinds, of_file=True),
            _meta={CAUTION_KEY: kinds},
        )
        for part in parts
        if AT_A_MODEL.intersection(kinds := _kinds(part))
    ]


def _name_in(cursor: str | None) -> str:
    if cursor is None:
        return ""
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise InvalidRequest("that cursor is not from a list of resources") from error


def completed(documents: Documents, part: str) -> types.Completion:
    """Return completions for the path of a document."""
    found = documents.named_like(part, MAX_COMPLETIONS + 1)
    more = len(found) > MAX_COMPLETIONS
    return types.Completion(values=list(found[:MAX_COMPLETIONS]), has_more=more)


def read(documents: Documents, address: str) -> types.ReadResourceResult:
    """Return a document, or lines of it, exactly as ingested: one text for each passage.

    Raises:
        InvalidRequest: there is no such document, no text on these lines, or too much of it.
        UnusableKnowledgeBase: it can't be read, or has data that no ingest stores.
    """
    link = parse_link(address)
    passages = documents.passages(link.source_file)
    if not passages:
        raise InvalidRequest(
            f"there is no document {link.source_file[:120]!a} in the knowledge base"
        )
    parts = _parts(passages, link) if link.start_line else list(passages)
    if sum(len(part.content) for part in parts) > MAX_CHARACTERS:
        raise InvalidRequest(
            f"that is more than {MAX_CHARACTERS} characters: read fewer lines at once"
        )
    return types.ReadResourceResult(
        contents=[
            *_cautions(parts),
            *(
                types.TextResourceContents(
                    uri=str(Link.to(part.citation)),
                    mime_type=mime_type(part.citation.source_file),
                    text=part.content,
                    _meta=_meta_of(part),
                )
                for part in parts
            ),
        ]
    )


def _meta_of(part: RetrievalResult) -> dict[str, object]:
    digest: dict[str, object] = {DIGEST: part.metadata.get(DOCUMENT_SHA256, "")}
    kinds = _kinds(part)
    return digest | ({CAUTION_KEY: kinds} if kinds else {})


def _parts(passages: Sequence[RetrievalResult], link: Link) -> list[RetrievalResult]:
    last = max(passage.citation.end_line for passage in passages)
    if link.end_line > last:
        raise InvalidRequest(
            f"{link.source_file} has no text after line {last}: lines "
            f"{link.start_line}-{link.end_line} are not all there"
        )
    parts = [part for passage in passages if (part := _part(passage, link)) is not None]
    if not any(part.content.strip(BLANKS) for part in parts):
        raise InvalidRequest(
            f"{link.source_file} has no text on lines {link.start_line}-{link.end_line}: they are "
            "blank, or front matter, which is not kept"
        )
    return parts


def _part(passage: RetrievalResult, link: Link) -> RetrievalResult | None:
    whole = passage.citation
    first, last = max(whole.start_line, link.start_line), min(whole.end_line, link.end_line)
    if first > last:
        return None
    lines = passage.content.split("\n")[first - whole.start_line : last - whole.start_line + 1]
    citation = Citation(whole.source_file, first, last, whole.section_header)
    return type(passage)("\n".join(lines), citation, None, passage.metadata)
