"""Selects a command's knowledge base, and provides the sample one."""

from __future__ import annotations

import hashlib
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.cli.config import config
from knowledge_rag.cli.terminal import err, print_note, print_sentence
from knowledge_rag.core.files import shipped
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.repository_links import RepositoryLinks
from knowledge_rag.local.errors import IngestFailed, KnowledgeBaseBusy, UnusableKnowledgeBase
from knowledge_rag.local.knowledge_base import KnowledgeBase, KnowledgeBaseDocuments
from knowledge_rag.local.models import embedder, embedder_of, has_multilingual, other_languages
from knowledge_rag.local.settings import KNOWLEDGE_BASE_VARIABLE, LocalSettings
from knowledge_rag.local.source_links import LINKS, links_of_checkout
from knowledge_rag.local.store import CORPUS, note, noted
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knowledge_rag.core.policy_settings import SourcePolicy
    from knowledge_rag.core.retrieval import SearchType
    from knowledge_rag.local.embeddings import Embedder
    from knowledge_rag.local.ingest import IngestReport, IngestSettings
    from knowledge_rag.orchestrator.budget import Budget

SAMPLE_CORPUS: Final = "knowledge-corpus"
SAMPLE_FILE: Final = "sample.kb"
USING_SAMPLE: Final = (
    "using the sample knowledge base; pass --kb FILE or set KNOWLEDGE_RAG_KB for your own"
)
_BUSY_SECONDS: Final = 60.0
"""How long to wait for other commands that are creating the sample knowledge base."""


def ingest_folder(
    folder: Path,
    kb_path: Path,
    settings: IngestSettings | None = None,
    *,
    languages: bool | None = False,
) -> IngestReport:
    """Ingest a folder with a progress bar.

    ``languages`` says whether to use the second model; ``None``: as before, or for a new knowledge base if its
    documents need it.
    """
    # readers of documents take longer to import than a question takes to answer
    from knowledge_rag.cli.reports import progress_bar
    from knowledge_rag.local.ingest import ingest

    model = _embedder_for(folder, kb_path, languages=languages)
    with progress_bar() as progress:
        return ingest(folder, kb_path, embedder=model, settings=settings, progress=progress)


def _embedder_for(folder: Path, kb_path: Path, *, languages: bool | None) -> Embedder:
    settings = LocalSettings.from_environment()
    if languages is None and not kb_path.exists() and (found := other_languages(folder)):
        languages_found = ", ".join([*found][:_NAMED_LANGUAGES])
        example = neutralise(next(iter(found.values())))
        named = f"documents in other languages than English ({languages_found}), such as {example}"
        languages = has_multilingual(settings)
        if languages:
            print_note("languages", f"{named}: also embedded with the multilingual model")
        else:
            advice = "`knowledge-rag model install --languages`, then `ingest --languages`, finds more in them"
            print_note("languages", f"{named}: {advice}")
    if languages is None:
        return embedder_of(kb_path, settings)
    return embedder(settings, languages=languages)


_NAMED_LANGUAGES: Final = 3


def note_links(folder: Path, kb_path: Path) -> str:
    """Store links to a folder's lines; return why there are none, ``""`` if there are."""
    documents = KnowledgeBaseDocuments(kb_path).after("", sys.maxsize)
    found = links_of_checkout(folder, frozenset(one.source_file for one in documents))
    stored = found.to_json() if isinstance(found, RepositoryLinks) else ""
    if noted(kb_path, LINKS) != stored:
        note(kb_path, LINKS, stored)
    return found if isinstance(found, str) else ""


def links_to_lines(kb_path: Path | None, repository_url: str | None) -> RepositoryLinks | None:
    """Return links to cited lines: by the given template, or the settings file's, else as ingest found it."""
    if template := repository_url or config().links:
        return RepositoryLinks(template)
    return RepositoryLinks.from_json(noted(kb_path, LINKS)) if kb_path else None


def sample_knowledge_base() -> tuple[Path, IngestReport]:
    """Bring the sample knowledge base up to date with the documents that ship.

    An unusable one (an older version's, a damaged one) is recreated: it contains only documents that ship.
    """
    path = _sample_path()
    deadline = time.monotonic() + _BUSY_SECONDS
    made_anew = False
    while True:
        try:
            return path, ingest_folder(shipped(SAMPLE_CORPUS), path)
        except KnowledgeBaseBusy:
            if time.monotonic() > deadline:
                raise
        except UnusableKnowledgeBase:
            # of an earlier version, or damaged: this file is ours, and has no user data
            if made_anew or not path.is_file():
                raise
            path.unlink()
            made_anew = True
        time.sleep(0.05)


@dataclass(frozen=True, slots=True)
class Choice:
    """The selected knowledge base, and why it was selected."""

    path: Path
    why: str
    is_sample: bool = False
    is_of_config: bool = False


def choice_of(kb_path: Path | None) -> Choice:
    """Return the knowledge base to ask.

    That is the named one, else that of ``KNOWLEDGE_RAG_KB``, else that of the settings file, else the user's own,
    else the sample.

    Raises:
        InvalidSettings: the settings file is wrong.
    """
    if kb_path is not None:
        return Choice(kb_path, "--kb names it")
    settings = LocalSettings.from_environment()
    own = settings.default_knowledge_base
    if settings.knowledge_base is not None:
        return Choice(own, f"{KNOWLEDGE_BASE_VARIABLE} names it")
    if (found := config()).kb is not None:
        return Choice(found.kb, f"{found.path} names it", is_of_config=True)
    if own.exists():
        return Choice(own, "`ingest` without --kb created it")
    return Choice(_sample_path(), "nothing else is named, and this one ships", is_sample=True)


def own_knowledge_base(kb_path: Path | None) -> Path:
    """Return the knowledge base that an ingest creates or updates: never the sample one."""
    choice = choice_of(kb_path)
    own = LocalSettings.from_environment().default_knowledge_base
    return own if choice.is_sample else choice.path


def chosen(kb_path: Path | None, *, quiet: bool = False) -> Path:
    """Return the knowledge base to ask; the sample one is created if missing.

    If it is the settings file's or the sample one, standard error says so each time, unless ``quiet``.
    """
    choice = choice_of(kb_path)
    if choice.is_sample:
        _sample()
        if not quiet:
            print_sentence(err(), USING_SAMPLE, "dim")
    elif choice.is_of_config and not quiet:
        print_sentence(err(), f"using {choice.path}: {choice.why}", "dim")
    return choice.path


def _sample() -> Path:
    path = _sample_path()
    corpus = _shipped_state()
    if noted(path, CORPUS) == corpus:
        return path
    try:
        path, report = sample_knowledge_base()
        note(path, CORPUS, corpus)
    except IngestFailed:  # a read-only folder: the existing one suffices
        if not path.exists():
            raise
        return path
    if report.added and not report.unchanged:
        made = f"created the sample knowledge base ({len(report.added)} documents)"
        err().print(made, style="dim")
    return path


def _shipped_state() -> str:
    """Return a value that changes with every shipped document and this package: their sizes and times."""
    package = Path(__file__).parents[1]
    files = [*shipped(SAMPLE_CORPUS).rglob("*.*"), *package.rglob("*.py")]
    known = sorted((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    return hashlib.sha256(repr(known).encode()).hexdigest()


def _sample_path() -> Path:
    return LocalSettings.from_environment().data_dir / SAMPLE_FILE


@contextmanager
def opened(kb_path: Path | None) -> Iterator[KnowledgeBase]:
    """Open a knowledge base for searching."""
    path = chosen(kb_path)
    settings = LocalSettings.from_environment()
    with KnowledgeBase(path, embedder_of(path, settings)) as knowledge_base:
        if left := knowledge_base.unfinished:
            missing = counted(left, "document")
            message = f"an ingest of {path} stopped with {missing} to go: run it again, or answers miss them"
            print_sentence(err(), message, "yellow")
        yield knowledge_base


@contextmanager
def asked(
    kb_path: Path | None,
    search_type: SearchType,
    policy: SourcePolicy | None = None,
    budget: Budget | None = None,
) -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    """Let the real Lambda ask a knowledge base while the block runs.

    Yields a function that calls the Lambda: from a direct caller's event to the answer's body. The default policy is
    the user's ``SOURCE_POLICY``, the default budget that in AWS.
    """
    from knowledge_rag.local.action_group import action_group_of
    from knowledge_rag.local.notices import answered

    with (
        opened(kb_path) as knowledge_base,
        action_group_of(
            knowledge_base,
            search_type=search_type,
            policy=policy,
            deadline_seconds=budget.working_seconds if budget else None,
        ) as group,
    ):
        yield lambda event: answered(knowledge_base, event, group.body)
