"""``knowledge-rag documents``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption, KbOption
from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        _show(found, len(every))
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


def _show(found: Sequence[Mapping[str, Any]], every: int) -> None:
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
