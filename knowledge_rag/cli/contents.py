"""``knowledge-rag documents`` and ``status``, which show a knowledge base."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption, KbOption
from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

FACTS: Final = {
    "document_type": "",
    "service": "",
    "severity": "",
    "status": "",
    "incident_id": "",
    "owner": "owner ",
    "last_reviewed": "reviewed ",
}
"""Metadata shown for a document, with their labels."""

KEYS: Final = ("document_type", "service", "severity", "owner", "status", "tags", "alerts")

FiltersOption = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="KEY=VALUE",
        help=f"Only documents with this value, in any case; KEY is one of {', '.join(KEYS)}. "
        "An empty VALUE finds those without one. May be given several times.",
    ),
]


def documents(
    part: Annotated[
        str,
        typer.Argument(metavar="[TEXT]", help="Only documents with this in their path or title."),
    ] = "",
    kb: KbOption = None,
    filters: FiltersOption = None,
    json: JsonOption = False,
) -> None:
    """List a knowledge base's documents with owners and review dates.

    Exits 1 if there are none.
    """
    from knowledge_rag.cli.knowledge_bases import chosen
    from knowledge_rag.cli.terminal import print_json
    from knowledge_rag.console.documents import KeptDocuments
    from knowledge_rag.local.knowledge_base import KnowledgeBaseDocuments

    wanted = [_wanted(it) for it in filters or ()]
    path = chosen(kb)
    every = KeptDocuments(KnowledgeBaseDocuments(path)).listed(sys.maxsize) or []
    found = [
        it
        for it in every
        if part.casefold() in f"{it['source']}\n{it['title']}".casefold()
        and all(_has(it, key, value) for key, value in wanted)
    ]
    if json:
        print_json({"kb": str(path), "documents": found})
    else:
        _list(found, len(every))
    if not found:
        raise typer.Exit(ExitCode.FINDINGS)


def _wanted(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or key not in KEYS:
        raise InvalidRequest(f"--filter {text!r}: write KEY=VALUE; KEY is one of {', '.join(KEYS)}")
    return key, value.strip().casefold()


def _has(document: Mapping[str, Any], key: str, value: str) -> bool:
    own = document.get(key) or ""
    return value in [str(it).casefold() for it in (own if isinstance(own, list) else [own])]


def _list(found: Sequence[Mapping[str, Any]], every: int) -> None:
    from knowledge_rag.cli.procedures import CITATION
    from knowledge_rag.cli.terminal import err, out, print_sentence
    from knowledge_rag.core.neutral import neutralise
    from knowledge_rag.orchestrator.wording import counted

    for it in found:
        facts = ", ".join(f"{before}{it[key]}" for key, before in FACTS.items() if it.get(key))
        first = [(neutralise(it["source"]), CITATION), ("  ", "")]
        print_sentence(out(), neutralise(f"{it['title']} ({facts})"), first=first)
    of_all = f" of {every}" if len(found) < every else ""
    print_sentence(err(), f"{counted(len(found), 'document')}{of_all}", "dim")


def status(kb: KbOption = None, json: JsonOption = False) -> None:
    """Show the selected knowledge base, its age, and why it was chosen.

    Also shows its model, changes in its folder since the ingest, and the settings file. Exits 2 if the knowledge
    base can't be used.
    """
    from knowledge_rag.cli.config import KEYS, config
    from knowledge_rag.cli.knowledge_bases import choice_of
    from knowledge_rag.cli.terminal import out, print_json, print_sentence

    settings = config()
    choice = choice_of(kb)
    own = {it: getattr(settings, it) for it in KEYS if getattr(settings, it) is not None}
    known = {
        "kb": str(choice.path),
        "chosen": choice.why,
        **_about(choice.path, datetime.now(UTC), is_sample=choice.is_sample),
        "config": str(settings.path) if settings.path else None,
        "settings": {name: str(value) for name, value in own.items()},
    }
    if json:
        print_json(known)
        return
    for name, text in _lines(known):
        print_sentence(out(), text, first=[(f"{name:<{_NAMES}}", "bold")], rest=" " * _NAMES)


_NAMES: Final = len("knowledge base  ")


def _about(path: Path, now: datetime, *, is_sample: bool) -> dict[str, Any]:
    """Return the facts about a knowledge base; none for the sample one before its first use."""
    from knowledge_rag.core.repository_links import RepositoryLinks
    from knowledge_rag.local.knowledge_base import KnowledgeBaseDocuments
    from knowledge_rag.local.since_ingest import folder_of, since_ingest
    from knowledge_rag.local.source_links import LINKS
    from knowledge_rag.local.store import MODEL, noted

    if is_sample and not path.exists():
        return {"documents": None}
    documents, chunks, unfinished = KnowledgeBaseDocuments(path).counts()
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    folder, since = folder_of(path), since_ingest(path)
    links = RepositoryLinks.from_json(noted(path, LINKS))
    return {
        "documents": documents,
        "chunks": chunks,
        "unfinished": unfinished,
        "model": noted(path, MODEL),
        "written_at": written.isoformat(timespec="seconds"),
        "age_seconds": max(0, int((now - written).total_seconds())),
        "folder": str(folder) if folder else None,
        "changes": since.sentence(path) if since else None,
        "links": links.template if links else None,
    }


def _lines(known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    from knowledge_rag.orchestrator.wording import counted

    yield "knowledge base", known["kb"]
    yield "because", known["chosen"]
    if known["documents"] is None:
        yield "holds", "nothing yet: the first question creates it"
    else:
        holds = f"{counted(known['documents'], 'document')}, {counted(known['chunks'], 'chunk')}"
        left = known["unfinished"]
        missing = f"; an ingest stopped with {counted(left, 'document')} to go: run it again"
        yield "holds", holds + (missing if left else "")
        yield "model", known["model"]
        written = datetime.fromisoformat(known["written_at"])
        yield "written", f"{written:%Y-%m-%d %H:%M} UTC, {_ago(known['age_seconds'])} ago"
        folder = known["folder"] or "not available"
        changes = known["changes"] or (
            "nothing changed since the ingest" if known["folder"] else ""
        )
        yield "folder", ": ".join(filter(None, (folder, changes)))
        yield "links", known["links"] or "none"
    said = ", ".join(f"{name} = {value}" for name, value in known["settings"].items())
    yield (
        "settings",
        f"{known['config']}: {said or 'empty'}" if known["config"] else "no knowledge-rag.toml",
    )


def _ago(seconds: int) -> str:
    """Return a time in its largest unit.

    >>> _ago(59), _ago(7200), _ago(86400)
    ('59 seconds', '2 hours', '1 day')
    """
    from knowledge_rag.orchestrator.wording import counted

    sizes = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))
    unit, size = next((it for it in sizes if seconds >= it[1]), sizes[-1])
    return counted(seconds // size, unit)
