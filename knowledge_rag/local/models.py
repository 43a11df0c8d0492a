"""Selects the embedding models of a knowledge base, and those that a folder's documents need."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.files import read_regular
from knowledge_rag.core.languages import ENGLISH, language_of
from knowledge_rag.local.embeddings import MiniLm
from knowledge_rag.local.errors import ModelUnavailable
from knowledge_rag.local.store import MODEL, noted

if TYPE_CHECKING:
    from pathlib import Path

    from knowledge_rag.local.embeddings import Embedder
    from knowledge_rag.local.settings import LocalSettings

OTHERS_SHARE: Final = 0.05
"""Minimum share of documents in other languages for which a second model is worthwhile."""
SAMPLE: Final = 200
"""Number of documents sampled for it."""
_BYTES: Final = 20_000
_TEXTS: Final = frozenset({".md", ".txt", ".html", ".htm"})


def embedder_of(kb_path: Path, settings: LocalSettings) -> Embedder:
    """Return the model that a knowledge base was made with; MiniLM if there is none yet."""
    return embedder(settings, languages=is_multilingual(kb_path))


def is_multilingual(kb_path: Path) -> bool:
    """Whether a knowledge base was made with the second model, too."""
    # the fingerprint of two models is both, joined
    return "+" in noted(kb_path, MODEL)


def embedder(settings: LocalSettings, *, languages: bool) -> Embedder:
    """Return MiniLM, or both models."""
    if not languages:
        return MiniLm(settings)
    # most knowledge bases are in English and never need it
    from knowledge_rag.local.multilingual import Multilingual, UniversalSentenceEncoder  # noqa: PLC0415

    return Multilingual(MiniLm(settings), UniversalSentenceEncoder(settings))


def has_multilingual(settings: LocalSettings) -> bool:
    """Whether the second model is installed."""
    from knowledge_rag.local.multilingual import UniversalSentenceEncoder  # noqa: PLC0415

    try:
        UniversalSentenceEncoder(settings).load()
    except ModelUnavailable:
        return False
    return True


def other_languages(folder: Path) -> dict[str, str]:
    """Return the languages other than English of a folder's documents, the most common first.

    Each has the path of a document in it, relative to the folder. Empty if their share is below OTHERS_SHARE.
    Only text files are checked, at most SAMPLE of them.

    Raises:
        UnusableCorpus: the folder is missing or has no documents.
    """
    from knowledge_rag.local.corpus import list_folder  # noqa: PLC0415 - reads documents, as an ingest does

    files = [it for it in list_folder(folder).documents if it.path.suffix.lower() in _TEXTS]
    sample = files[:: max(1, len(files) // SAMPLE)]
    languages = {it.source_file: _language(it.path) for it in sample}
    found = Counter(it for it in languages.values() if it != ENGLISH)
    if found.total() < max(1, OTHERS_SHARE * len(sample)):
        return {}
    first = {language: name for name, language in reversed(languages.items())}
    return {it: first[it] for it, _ in found.most_common()}


def _language(path: Path) -> str:
    try:
        return language_of(read_regular(path, _BYTES).decode(errors="ignore"))
    except OSError:  # the ingest reports it
        return ENGLISH
