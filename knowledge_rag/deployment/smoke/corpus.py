"""Holds citations against the files of the corpus bucket, byte for byte."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.lines import slice_lines
from knowledge_rag.core.metadata import DOCUMENT_SHA256
from knowledge_rag.deployment.errors import CallFailed
from knowledge_rag.deployment.objects import read_object
from knowledge_rag.extract.documents import extract

if TYPE_CHECKING:
    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.deployment.aws import Aws


class Fit(StrEnum):
    """How a citation fits its file."""

    EXACT = "exact"
    CHANGED = "changed"
    """The file is another one than was ingested, by its sha256."""
    GONE = "gone"
    WRONG = "wrong"
    """The file is the one that was ingested, and those lines are not the content."""
    UNKNOWN = "unknown"
    """The file could not be read."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One citation, held against its file.

    Args:
        citation: as people read it.
        fit: how it fits.
        detail: why it could not be read.
    """

    citation: str
    fit: Fit
    detail: str = ""


class CorpusBucket:
    """The files that citations name; each is read once.

    Args:
        aws: account and region.
        bucket: its name.
    """

    def __init__(self, aws: Aws, bucket: str) -> None:
        self._aws = aws
        self._bucket = bucket
        self._read: dict[str, bytes | CallFailed | None] = {}

    def holds(self, source_file: str) -> bool:
        """Tell whether the corpus has a file.

        Raises:
            CallFailed: it can't be told.
        """
        return self._bytes(source_file) is not None

    def check(self, result: RetrievalResult) -> Checked:
        """Hold one result against the file that it names."""
        citation = result.citation
        try:
            data = self._bytes(citation.source_file)
        except CallFailed as error:
            return Checked(str(citation), Fit.UNKNOWN, str(error))
        if data is None:
            return Checked(str(citation), Fit.GONE)
        if hashlib.sha256(data).hexdigest() != result.metadata.get(DOCUMENT_SHA256):
            return Checked(str(citation), Fit.CHANGED)
        try:
            text = extract(citation.source_file, data).text
            lines = slice_lines(text, citation.start_line, citation.end_line)
        except (IndexError, UnreadableDocument) as error:
            return Checked(str(citation), Fit.WRONG, str(error))
        return Checked(str(citation), Fit.EXACT if lines == result.content else Fit.WRONG)

    def _bytes(self, key: str) -> bytes | None:
        if key not in self._read:
            self._read[key] = self._fetch(key)
        found = self._read[key]
        if isinstance(found, CallFailed):
            raise found
        return found

    def _fetch(self, key: str) -> bytes | CallFailed | None:
        try:
            return read_object(self._aws, self._bucket, key)
        except CallFailed as error:
            return error
