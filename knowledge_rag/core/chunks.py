"""Documents, their chunks, and the context prefix stored in front of each chunk.

A folder, file and heading often name the incident better than the lines below them do
(``KubePodCrashLooping.md``), but as identifiers, which neither an embedding model nor a keyword
index splits. So they are split into words and prepended to the stored text.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.tokens import token_cost

if TYPE_CHECKING:
    from collections.abc import Mapping


FrontMatter = dict[str, str | list[str]]
"""A document's own metadata block: scalar or list values, as written."""


class DocumentType(StrEnum):
    """What kind of knowledge a document is; the values of the ``document_type`` filter."""

    RUNBOOK = "runbook"
    POSTMORTEM = "postmortem"
    WEB = "web"
    PDF = "pdf"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Document:
    """One file of the corpus, with the fields that its chunks need.

    Args:
        source_file: path relative to the corpus root, ``/``-separated.
        sha256: of the file's bytes, 64 hex digits.
        title: front-matter title, else a skill's name, else the first heading, else the file's stem in words.
        document_type: from front matter, else the extension, else the nearest folder or the name.
        front_matter: the fields of its front matter, as written.
    """

    source_file: str
    sha256: str
    title: str
    document_type: DocumentType
    front_matter: Mapping[str, str | list[str]] = field(default_factory=dict)


class Chunk(NamedTuple):
    r"""Verbatim consecutive lines of one document.

    A tuple because there are many: a frozen dataclass takes three times as long to create.

    Args:
        document: the document that contains the lines.
        start_line: first line, 1-based.
        end_line: last line, inclusive.
        section_path: headings from the outermost to the innermost above the lines.
        content: the lines joined by ``\\n``, byte for byte, a ``\\r`` included.
        oversized: true for a single line that alone exceeds the cap.
        page: page of a PDF, 1-based; ``None`` for documents without pages.
        dates: dates in the lines, ISO, sorted; found after the document is cut.
        caution: kinds of lint findings in the lines, see :mod:`knowledge_rag.core.findings`; also found later.
        drift: drift findings in the lines, see :mod:`knowledge_rag.core.findings`; also found later.
    """

    document: Document
    start_line: int
    end_line: int
    section_path: tuple[str, ...]
    content: str
    oversized: bool = False
    page: int | None = None
    dates: tuple[str, ...] = ()
    caution: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()

    @property
    def section_header(self) -> str:
        """The heading above the lines, ``""`` before the first one."""
        return self.section_path[-1] if self.section_path else ""

    @property
    def citation(self) -> Citation:
        """Citation of the lines."""
        return Citation(
            self.document.source_file, self.start_line, self.end_line, self.section_header
        )

    @property
    def content_sha256(self) -> str:
        """The sha256 of the content's UTF-8 bytes, with which retrieval proves byte equality."""
        return hashlib.sha256(self.content.encode()).hexdigest()

    @property
    def chunk_id(self) -> str:
        """Its content-addressed id, see :func:`chunk_id`."""
        return chunk_id(self.document.source_file, self.start_line, self.end_line, self.content)


def chunk_id(source_file: str, start_line: int, end_line: int, content: str) -> str:
    """Return the id, 32 hex digits, that binds a file, its lines and their bytes together.

    The same four values give the same id, so anyone with a chunk can prove that its citation is the
    original one.
    """
    key = f"{source_file}\0{start_line}\0{end_line}\0{content}"
    return hashlib.sha256(key.encode()).hexdigest()[:32]


PREFIX_TOKENS: Final = 52
"""Maximum tokens of context; the outermost parts are dropped first."""

_MAX_PART: Final = 300
"""Characters of one part that are considered; more never fit."""

_MAX_SUMMARY: Final = 120
"""Maximum characters of a skill's description: headings must fit beside it."""
SKILL_FILE: Final = "SKILL.md"

_SEPARATOR: Final = " > "
_END: Final = "\n\n"
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINTS = re.compile(r"[-_./\s]+")


def split_words(name: str) -> str:
    """Split CamelCase, kebab-case, snake_case and dotted names into words.

    >>> split_words("KubePodCrashLooping"), split_words("rds-failover_2")
    ('Kube Pod Crash Looping', 'rds failover 2')
    """
    return " ".join(_JOINTS.sub(" ", _CAMEL.sub(" ", name)).split())


def context_prefix(chunk: Chunk) -> str:
    """Return the text to store in front of a chunk's lines; it ends in a blank line."""
    document = chunk.document
    return _prefix(document.source_file, document.title, _summary(document), chunk.section_path)


def is_skill(source_file: str) -> bool:
    """Whether a document is an Agent Skill's main file, whose front matter describes its purpose.

    >>> is_skill("skills/rds-failover/SKILL.md"), is_skill("skills/rds-failover/references/SKILLS.md")
    (True, False)
    """
    return source_file.rpartition("/")[2] == SKILL_FILE


def _summary(document: Document) -> str:
    """Return the first words of a skill's description: when to load it, which its text may not say."""
    said = document.front_matter.get("description", "")
    if not is_skill(document.source_file) or not isinstance(said, str):
        return ""
    words = " ".join(said.split())
    return words if len(words) <= _MAX_SUMMARY else words[:_MAX_SUMMARY].rpartition(" ")[0]


@lru_cache(maxsize=1024)
def _prefix(source_file: str, title: str, summary: str, section_path: tuple[str, ...]) -> str:
    *folders, name = source_file.split("/")
    parts = [split_words(" ".join(folders)), split_words(name.rpartition(".")[0] or name)]
    if title not in section_path:
        parts.append(title)
    parts += [summary, *(split_words(header) for header in section_path)]
    parts = list(dict.fromkeys(part[:_MAX_PART] for part in parts if part))
    while len(parts) > 1 and token_cost(_SEPARATOR.join(parts)) > PREFIX_TOKENS:
        del parts[0]
    words = _SEPARATOR.join(parts).split(" ")
    while len(words) > 1 and token_cost(" ".join(words)) > PREFIX_TOKENS:
        words.pop()
    joined = " ".join(words)
    return joined + _END if token_cost(joined) <= PREFIX_TOKENS else ""
