"""The context prefix: where a chunk stands, in words that a search can match.

A folder, file and heading often name the incident better than the lines below them do
(``KubePodCrashLooping.md``), but as identifiers, which neither an embedding model nor a keyword
index takes apart. So they are split into words and put in front of what is stored.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.tokens import token_cost

if TYPE_CHECKING:
    from knowledge_rag.core.chunks import Chunk

PREFIX_TOKENS: Final = 52
"""At most so many tokens of context; the outermost parts go first."""

_MAX_PART: Final = 300
"""Characters of one part that are looked at; more never fit."""

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
    """Give the text to store in front of a chunk's lines; it ends in a blank line."""
    return _prefix(chunk.document.source_file, chunk.document.title, chunk.section_path)


@lru_cache(maxsize=1024)
def _prefix(source_file: str, title: str, section_path: tuple[str, ...]) -> str:
    *folders, name = source_file.split("/")
    parts = [split_words(" ".join(folders)), split_words(name.rpartition(".")[0] or name)]
    if title not in section_path:
        parts.append(title)
    parts += [split_words(header) for header in section_path]
    parts = list(dict.fromkeys(part[:_MAX_PART] for part in parts if part))
    while len(parts) > 1 and token_cost(_SEPARATOR.join(parts)) > PREFIX_TOKENS:
        del parts[0]
    words = _SEPARATOR.join(parts).split(" ")
    while len(words) > 1 and token_cost(" ".join(words)) > PREFIX_TOKENS:
        words.pop()
    joined = " ".join(words)
    return joined + _END if token_cost(joined) <= PREFIX_TOKENS else ""
