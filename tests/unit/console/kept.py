"""Documents and files that a test says."""

from __future__ import annotations

from knowledge_rag.core.metadata import prove, stored_text, to_metadata
from knowledge_rag.extract.documents import cut, extract
from knowledge_rag.guardrails.staleness import FileNow
from tests.support.evidence import passage

TEXT = "# Failover\n\nPromote the replica.\n"
NAME = "runbooks/failover.md"


class Shelf:
    """Passages of documents, as a knowledge base keeps them."""

    def __init__(self, **documents):
        self.kept = {name.replace("__", "/") + ".md": text for name, text in documents.items()}
        self.kept = self.kept or {NAME: TEXT}

    def passages(self, source_file):
        text = self.kept.get(source_file)
        return [] if text is None else [passage(source_file, text)]


class Pdfs:
    """Passages of a PDF, as a knowledge base keeps them; some of them, if so wanted."""

    def __init__(self, data, which=slice(None)):
        self.data, self.which = data, which

    def passages(self, source_file):
        chunks = cut(extract(source_file, self.data))
        return [prove(stored_text(it), to_metadata(it), 0.5) for it in chunks[self.which]]


class Folder:
    """Files as they are now."""

    def __init__(self, **files):
        self.texts = {name.replace("__", "/") + ".md": text for name, text in files.items()}

    def files(self):
        return self.texts

    def now(self, source_file):
        text = self.texts.get(source_file)
        return None if text is None else FileNow.of(source_file, text.encode())
