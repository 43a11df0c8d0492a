"""Consoles for a browser: the real application on loopback, with the few things that a test decides."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from knowledge_rag.console.app import ConsoleSettings, create_console
from knowledge_rag.console.documents import KeptDocuments
from knowledge_rag.console.server import running
from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.core.repository_links import RepositoryLinks
from knowledge_rag.local.corpus_files import CorpusFiles
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase, KnowledgeBaseDocuments
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.orchestrator.advisors.advisor import Advice, ExtractiveAdvisor
from knowledge_rag.orchestrator.composition import state
from knowledge_rag.orchestrator.showing import pieces_of
from tests.support.local import CORPUS, minilm
from tests.support.patience import patient_function

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from knowledge_rag.core.outcome import Reason
    from knowledge_rag.orchestrator.advisors.advisor import Advisor, Listener

REPOSITORY = "https://example.com/team/runbooks/blob/main/{path}#L{start}-L{end}"
SAMPLE = (
    "runbooks/rds-failover.md",
    "runbooks/sqs-backlog.md",
    "postmortems/2024-01-rds-incident.md",
)
"""Of the sample corpus: enough to ask about, and quickly embedded."""

GATE_SECONDS = 600
"""No answer is held back longer."""

QUESTION = "How do we fail over the RDS cluster?"
UNDOCUMENTED = "how do I bake bread"


@dataclass
class Script:
    """What a test decides while a console runs.

    Args:
        says: what is written in place of the steps that are lifted from the documents.
        comes_to: what the answer comes to in place of what was written, if it is not that.
        reason: why every search fails.
        pause: seconds between the pieces that are written; ``None`` for an answer that comes when it is whole.
        size: characters of such a piece.
        gate: holds back what is written until it is set.
        behind: the gate holds what comes after the first time of this.
        end: holds back the end of what is all written until it is set.
    """

    says: str | None = None
    comes_to: str | None = None
    reason: Reason | None = None
    pause: float | None = None
    size: int = 12
    gate: threading.Event | None = None
    behind: str = ""
    end: threading.Event | None = None


class ScriptedAdvisor:
    """Writes what the script says, else what the documents do; a script may have it do so little by little."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def advise(self, incident: Any, findings: Any) -> Advice:
        """Write an answer."""
        if self._script.says is None:
            return await ExtractiveAdvisor().advise(incident, findings)
        return Advice(self._script.says, findings, "scripted")

    async def advise_live(self, incident: Any, findings: Any, listener: Listener) -> Advice:
        """Write an answer, and tell the pieces of it, not verified, as a model does."""
        script, advice = self._script, await self.advise(incident, findings)
        if script.pause is None and script.gate is None and script.end is None:
            return advice
        if advice.text is None:
            written = pieces_of(state(incident, findings, "scripted"), findings.ledger)
            advice = Advice("".join(it.text for it in written), findings, "scripted")
        free = advice.text.index(script.behind) + len(script.behind)
        for piece in _pieces(advice.text, free, script.size):
            if script.gate is not None and free <= 0:
                await asyncio.to_thread(script.gate.wait, GATE_SECONDS)
            listener.wrote(piece, findings)
            free -= len(piece)
            await asyncio.sleep(script.pause or 0)
        for held in filter(None, (script.gate, script.end)):
            await asyncio.to_thread(held.wait, GATE_SECONDS)
        return advice if script.comes_to is None else replace(advice, text=script.comes_to)


def _pieces(text: str, first: int, size: int) -> Iterator[str]:
    """Cut a text; one cut is behind its first characters, so many."""
    for part in (text[:first], text[first:]):
        yield from (part[at : at + size] for at in range(0, len(part), size))


class ScriptedRetrieval:
    """Asks the knowledge base, unless the script has it fail."""

    def __init__(self, way: Any, script: Script) -> None:
        self.floors = way.floors
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
    shelf: Shelf,
    script: Script,
    advisors: Mapping[str, Advisor] | None = None,
    rules: tuple[str, ...] = (),
    port: int = 0,
) -> Iterator[str]:
    """Serve a console for as long as the block runs; gives its address without the last slash."""
    with ExitStack() as stack:
        stack.enter_context(patient_function())
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
                answers=shelf.kb.with_name("answers"),
                corpus=shelf.folder,
                rules=rules,
            ),
        )
        yield stack.enter_context(running(app, port)).removesuffix("/")
