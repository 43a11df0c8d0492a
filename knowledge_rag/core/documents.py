"""Reads a file's bytes into a document: its text, title, kind and front matter.

The core ships in a Lambda and has no YAML parser. Front matter may use YAML's scalars, quoted or not,
lists inline or one item a line, and folded text. Nested values are ignored. A block that isn't such
metadata is ordinary text, so that no line is lost.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core.chunks import Document, DocumentType, is_skill, split_words
from knowledge_rag.core.citations import check_source_file
from knowledge_rag.core.lines import decode
from knowledge_rag.core.markdown import MAX_HEADING, first_heading

if TYPE_CHECKING:
    from knowledge_rag.core.chunks import FrontMatter


_KINDS = (
    (re.compile(r"post-?_?mortem|incident-?_?report", re.IGNORECASE), DocumentType.POSTMORTEM),
    (re.compile(r"run-?_?book|play-?_?book", re.IGNORECASE), DocumentType.RUNBOOK),
)
_SUFFIXES = {".html": DocumentType.WEB, ".htm": DocumentType.WEB, ".pdf": DocumentType.PDF}


def read_document(
    source_file: str, data: bytes, given: FrontMatter | None = None
) -> tuple[Document, str]:
    """Read one text file of the corpus: return the document, and the text that its line numbers refer to.

    Args:
        source_file: its path relative to the corpus root, ``/``-separated.
        data: its bytes.
        given: its metadata from outside the file; its own front matter takes precedence.

    Raises:
        UnreadableDocument: the bytes are empty, binary or not UTF-8.
        InvalidCitation: ``source_file`` is not such a path.
    """
    text = decode(data, check_source_file(source_file))
    own, body = parse_front_matter(text)
    fields = {**(given or {}), **own}
    heading = first_heading(text, body)
    return describe(source_file, data, fields, heading[-1] if heading else ""), text


def describe(source_file: str, data: bytes, fields: FrontMatter, found: str) -> Document:
    """Describe a file of any kind, from ``fields`` of its front matter or beside it and the title ``found`` in it."""
    return Document(
        source_file=source_file,
        sha256=hashlib.sha256(data).hexdigest(),
        title=_title(source_file, fields, found),
        document_type=_document_type(source_file, fields),
        front_matter=fields,
    )


def _title(source_file: str, fields: FrontMatter, found: str) -> str:
    title = fields.get("title")
    if isinstance(title, str) and title:
        return title[:MAX_HEADING]
    called = fields.get("name") if is_skill(source_file) else None
    if isinstance(called, str) and called:
        return called[:MAX_HEADING]
    if found:
        return found
    name = source_file.rpartition("/")[2]
    return split_words(name.rpartition(".")[0] or name)


def _document_type(source_file: str, fields: FrontMatter) -> DocumentType:
    """Use front matter, else the suffix of a page or a PDF, else the folders and the name."""
    declared = fields.get("document_type")
    if isinstance(declared, str) and declared in set(DocumentType):
        return DocumentType(declared)
    *folders, name = source_file.split("/")
    stem, dot, suffix = name.rpartition(".")
    if kind := _SUFFIXES.get(dot + suffix.lower()):
        return kind
    for part in [*reversed(folders), stem]:
        for pattern, kind in _KINDS:
            if pattern.search(part):
                return kind
    return DocumentType.OTHER


_BLOCK = re.compile(
    r"---[ \t]*\r?\n((?:(?!(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z))[^\n]*\n)*)(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)"
)
_KEY = re.compile(
    r"(?P<quote>[\"']?)(?P<key>[A-Za-z_][\w.-]*)(?P=quote)[ \t]*+:(?P<value>[ \t].*)?\Z"
)
"""A top-level key: one word; a heading or a sentence doesn't match."""
_COMMENT = re.compile(r"(?:^|[ \t])#.*\Z")
_INLINE_COMMENT = re.compile(r"""("[^"]*"|'[^']*')|(?:^|[ \t])#.*\Z""")
"""Quoted text, which contains no comment, or a comment."""
_INLINE_ITEM = re.compile(r"""\s*((?:"[^"]*"|'[^']*')?[^,]*)(?:,|\Z)""")
_MAX_LENGTH: Final = 65_536
"""Maximum characters of front matter; a rule further down is just a rule."""


class ParsedFrontMatter(NamedTuple):
    """Scalar and list values as text, and the offset of the first line after them; ``{}`` and 0 if there are none."""

    fields: FrontMatter
    end: int


def parse_front_matter(text: str) -> ParsedFrontMatter:
    """Read the front matter of ``text``, if it has one."""
    block = _BLOCK.match(text, 0, _MAX_LENGTH) if text.startswith("---") else None
    lines = [line.rstrip("\r") for line in block[1].split("\n")] if block else []
    if block is None or not _is_metadata(lines):
        return ParsedFrontMatter({}, 0)
    return ParsedFrontMatter(_fields(lines), block.end())


def front_matter_end(text: str) -> int:
    """Return the offset of the first line after the front matter, 0 if there is none."""
    return parse_front_matter(text).end


def _is_metadata(lines: list[str]) -> bool:
    """Whether every line is a key or belongs to one above it; otherwise it is text between rules."""
    open_key = False  # whether a key above can have list items
    keys = 0
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] in " \t" or line.startswith(("]", "}")):
            if not keys:
                return False
        elif line == "-" or line.startswith("- "):
            if not open_key:
                return False
        else:
            found = _KEY.match(line)
            if found is None:
                return False
            keys += 1
            open_key = not (found["value"] or "").strip() or found["value"].lstrip().startswith("#")
    return keys > 0


def _fields(lines: list[str]) -> FrontMatter:
    fields: FrontMatter = {}
    key = ""
    nested: list[str] = []
    for line in [*lines, "end:"]:
        found = _KEY.match(line) if line[:1] not in ("", " ", "\t", "#", "-") else None
        if found is None:
            nested.append(line)
            continue
        if key and (value := _value(fields.pop(key), nested)):
            fields[key] = value
        key, nested = found["key"], []
        fields[key] = (found["value"] or "").strip()
    return {name: value for name, value in fields.items() if value}


def _value(scalar: str | list[str], nested: list[str]) -> str | list[str]:
    text = scalar if isinstance(scalar, str) else ""
    inner = [line.strip() for line in nested if line.strip() and not line.strip().startswith("#")]
    if text[:1] in ("|", ">"):
        return " ".join(inner)
    if text.startswith("["):
        return _inline_list([text, *inner])
    if not text and inner and all(line.startswith("-") for line in inner):
        items = [line[1:].strip() for line in inner]
        return [value for item in items if not _KEY.match(item) and (value := _scalar(item))]
    if not text:
        return ""
    return _scalar(" ".join([text, *inner]))


def _inline_list(lines: list[str]) -> list[str]:
    joined = " ".join(_INLINE_COMMENT.sub(lambda found: found[1] or "", line) for line in lines)
    items = _INLINE_ITEM.findall(joined.strip("[] "))
    return [value for item in items if (value := _scalar(item))]


def _scalar(text: str) -> str:
    text = text.strip()
    for quote in ('"', "'"):
        if text.startswith(quote):
            closed = text.find(quote, 1)
            return text[1:closed] if closed > 0 else text
    return _COMMENT.sub("", text).strip()
