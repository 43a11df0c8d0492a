"""Consoles for a browser: the real application on loopback, with the few things that a test decides."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from knowledge_rag.console.app import ConsoleSettings, create_console
from knowledge_rag.console.documents import KeptDocuments
from knowledge_rag.console.links import RepositoryLinks
from knowledge_rag.console.server import ConsoleServer
from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.local.corpus_files import CorpusFiles
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.kept_documents import KnowledgeBaseDocuments
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.orchestrator import consultation
from knowledge_rag.orchestrator.advisors.advisor import Advice
from knowledge_rag.orchestrator.advisors.extractive import ExtractiveAdvisor
from tests.support.local import CORPUS, minilm
from tests.support.patience import patient_function

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from knowledge_rag.core.outcome import Reason
    from knowledge_rag.orchestrator.advisors.advisor import Advisor

REPOSITORY = "https://example.com/team/runbooks/blob/main/{path}#L{start}-L{end}"
SAMPLE = (
    "runbooks/rds-failover.md",
    "runbooks/sqs-backlog.md",
    "postmortems/2024-01-rds-incident.md",
)
"""Of the sample corpus: enough to ask about, and quickly embedded."""

GATE_SECONDS = 30
"""No answer is held back longer."""

QUESTION = "How do we fail over the RDS cluster?"
UNDOCUMENTED = "how do I bake bread"


@dataclass
class Script:
    """What a test decides while a console runs.

    Args:
        says: what is written in place of the steps that are lifted from the documents.
        reason: why every search fails.
        pause: seconds between the pieces that an answer comes in; ``None`` for an answer in one piece.
        size: characters of such a piece.
        gate: holds the answer back until it is set.
    """

    says: str | None = None
    reason: Reason | None = None
    pause: float | None = None
    size: int = 12
    restarts: bool = False
    gate: threading.Event | None = None
    pieces: list[str] = field(default_factory=list)


class ScriptedAdvisor:
    """Writes what the script says, else what the documents do."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def advise(self, incident: Any, findings: Any) -> Advice:
        """Write an answer."""
        if self._script.says is None:
            return await ExtractiveAdvisor().advise(incident, findings)
        return Advice(self._script.says, findings, "scripted")


class ScriptedRetrieval:
    """Asks the knowledge base, unless the script has it fail."""

    def __init__(self, way: Any, script: Script) -> None:
        self._way = way
        self._script = script

    async def retrieve(self, query: Any) -> RetrievalOutcome:
        """Ask one question."""
        if self._script.reason is not None:
            return RetrievalOutcome(Status.DEGRADED, (), reason=self._script.reason)
        return await self._way.retrieve(query)


@dataclass(frozen=True)
class Shelf:
    """A folder of documents and the knowledge base made of it."""

    folder: Path
    kb: Path


def shelf_of(folder: Path, files: Mapping[str, str | bytes]) -> Shelf:
    """Write documents, and ingest them with the real model."""
    for name, content in files.items():
        path = folder / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    ingest(folder / "corpus", folder / "browser.kb", embedder=minilm())
    return Shelf(folder / "corpus", folder / "browser.kb")


def sample_files() -> dict[str, bytes]:
    """Give the sample documents that are asked about."""
    return {name: (CORPUS / name).read_bytes() for name in SAMPLE}


@contextmanager
def console(
    shelf: Shelf, script: Script, advisors: Mapping[str, Advisor] | None = None
) -> Iterator[str]:
    """Serve a console for as long as the block runs; gives its address without the last slash."""
    with ExitStack() as stack:
        stack.enter_context(patient_function())
        stack.enter_context(patch("knowledge_rag.console.asking.consult", _retold(script)))
        kb = stack.enter_context(KnowledgeBase(shelf.kb, minilm()))
        way = stack.enter_context(local_retrieval(kb))
        app = create_console(
            ScriptedRetrieval(way, script),
            KeptDocuments(KnowledgeBaseDocuments(shelf.kb), CorpusFiles(shelf.folder)),
            advisors or {"extractive": ScriptedAdvisor(script)},
            ConsoleSettings(
                about=f"{shelf.kb.name} ({kb.chunks} chunks)",
                repository=RepositoryLinks(REPOSITORY),
                reports=shelf.kb.with_name("reports.jsonl"),
            ),
        )
        server = stack.enter_context(ConsoleServer(app, 0))
        yield server.url.removesuffix("/")


def _retold(script: Script) -> Any:
    """Tell what a consultation tells, its text in pieces where the script wants that.

    An advisor that streams tells its text as it comes; here the pieces are those of a finished
    answer, so that a test decides how large they are and how fast.
    """

    async def consult(*arguments: Any, notify: Any, **more: Any) -> Any:
        told: list[Mapping[str, Any]] = []
        held = notify if script.pause is None and script.gate is None else told.append
        given = await consultation.consult(*arguments, notify=held, **more)
        for event in told:
            if event["event"] != "text":
                notify(event)
                continue
            for piece in _pieces(event["parts"], script.size):
                if script.gate is not None:
                    await asyncio.to_thread(script.gate.wait, GATE_SECONDS)
                notify({"event": "text", "text": piece["text"], "parts": [piece]})
                await asyncio.sleep(script.pause or 0)
        return given

    return consult


def _pieces(parts: Any, size: int) -> Iterator[dict[str, Any]]:
    for part in parts:
        if part.get("citations"):
            yield part
            continue
        text = part["text"]
        yield from ({"text": text[at : at + size]} for at in range(0, len(text), size))
