"""The function's settings: its environment, read once and checked as a whole.

===================== ====================================================== ==========
variable              value                                                  default
===================== ====================================================== ==========
CORPUS_PREFIX         key prefix of the corpus in its bucket, not part of    none
                      any citation, e.g. ``knowledge-corpus/``
MAX_TOKENS            maximum tokens of a chunk, 128..8192                   256
MAX_DOCUMENT_BYTES    larger documents yield no chunks, 1..104857600         10485760
DATE_ORDER            ``mdy`` or ``dmy``: how 03/04/2026 is read             no date
===================== ====================================================== ==========

An empty value counts as absent. ``POWERTOOLS_SERVICE_NAME`` and the log level work as in
``retrieve_knowledge``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunking import ChunkingSettings
from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.extract.dates import DateOrder

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_MAX_TOKENS: Final = 256
DEFAULT_MAX_DOCUMENT_BYTES: Final = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """The function's settings; the module's docstring describes their values."""

    chunking: ChunkingSettings
    corpus_prefix: str = ""
    max_document_bytes: int = DEFAULT_MAX_DOCUMENT_BYTES
    date_order: DateOrder | None = None


def load_settings(environ: Mapping[str, str]) -> Settings:
    """Read the settings from an environment.

    Raises:
        InvalidSettings: one or more values are wrong; the message names each.
    """
    problems: list[str] = []

    def number(name: str, default: int, least: int, most: int) -> int:
        text = environ.get(name, "").strip() or str(default)
        if text.isascii() and text.isdigit() and least <= int(text) <= most:
            return int(text)
        problems.append(f"{name}={text[:40]!r} must be a whole number, {least} to {most}")
        return default

    max_tokens = number("MAX_TOKENS", DEFAULT_MAX_TOKENS, 128, 8192)
    max_bytes = number("MAX_DOCUMENT_BYTES", DEFAULT_MAX_DOCUMENT_BYTES, 1, 100 * 1024 * 1024)
    prefix = environ.get("CORPUS_PREFIX", "").strip()
    if prefix and (prefix.startswith("/") or not prefix.endswith("/")):
        problems.append(f"CORPUS_PREFIX={prefix[:40]!r} must be a key prefix that ends in '/'")
    order = environ.get("DATE_ORDER", "").strip().lower()
    if order and order not in tuple(DateOrder):
        problems.append(f"DATE_ORDER={order[:40]!r} must be {' or '.join(DateOrder)}")
    if problems:
        raise InvalidSettings("; ".join(problems))
    date_order = DateOrder(order) if order else None
    return Settings(ChunkingSettings(max_tokens), prefix, max_bytes, date_order)
