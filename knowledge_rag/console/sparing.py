"""The corpus as it is now, read sparingly: a page waits for it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from knowledge_rag.console.limits import MAX_SEARCHED_FILES
from knowledge_rag.extract.documents import is_extracted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowledge_rag.guardrails.staleness import Corpus, FileNow


class SparingCorpus:
    """Another corpus, for the length of one request; see ``guardrails.staleness.Corpus``.

    Each file is read once. Web pages and PDFs take long to read, so a text that its own file does not
    hold any more is not looked for in them.

    Args:
        corpus: the other one.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._read: dict[str, FileNow | None] = {}

    def files(self) -> Iterable[str]:
        """Give the documents in which a text is looked for: MAX_SEARCHED_FILES at most."""
        texts = (name for name in self._corpus.files() if not is_extracted(name))
        return islice(texts, MAX_SEARCHED_FILES)

    def now(self, source_file: str) -> FileNow | None:
        """Give a document; see ``Corpus``."""
        if source_file not in self._read:
            self._read[source_file] = self._corpus.now(source_file)
        return self._read[source_file]
