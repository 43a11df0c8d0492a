"""``knowledge-rag ingest``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.terminal import out, print_json, tell
from knowledge_rag.cli.web_pages import (
    DelayOption,
    PrivateOption,
    UrlsOption,
    fetched,
    show_pages,
    tell_failures,
)
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.extract.dates import DateOrder
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from knowledge_rag.local.ingest import IngestReport

KbPath = Annotated[
    Path | None,
    typer.Option(
        "--kb", metavar="PATH", help="Knowledge base file to make or update.  [default: your own]"
    ),
]


def ingest(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder with *.md, *.txt, *.html and *.pdf files.")
    ],
    kb: KbPath = None,
    date_order: Annotated[
        DateOrder | None,
        typer.Option(
            envvar="DATE_ORDER",
            help="How 03/04/2026 is read.  [default: as no date]",
            show_default=False,
        ),
    ] = None,
    urls: UrlsOption = None,
    delay: DelayOption = 1.0,
    allow_private: PrivateOption = False,
    json: JsonOption = False,
) -> None:
    """Bring a knowledge base up to date with a folder.

    Unchanged files cost nothing, and files that are gone disappear. A run that stops keeps the
    documents that are done, and the next one goes on from there. Exits 1 if a file or a page could
    not be read. Names what lint finds, which changes neither what is ingested nor the exit code.
    """
    from knowledge_rag.cli.knowledge_bases import ingest_folder
    from knowledge_rag.cli.lint import show_first
    from knowledge_rag.local.ingest import IngestSettings
    from knowledge_rag.local.settings import LocalSettings

    path = kb or LocalSettings.from_environment().default_knowledge_base
    pages = fetched(folder, urls, delay, private=allow_private)
    failed = tell_failures(pages)  # at once: without them there may be nothing to ingest
    try:
        report = ingest_folder(folder, path, IngestSettings(date_order=date_order))
    except KeyboardInterrupt:
        tell(
            "stopped",
            f"documents that are done stay in {path}; the same command goes on from there",
        )
        raise
    if json:
        web = {"pages": [page.to_dict() for page in pages]} if urls else {}
        print_json(as_json(report, path) | web)
    else:
        show_report(out(), report, path)
        show_pages(pages)
    for left_out in report.left_out:
        tell("left out", str(left_out))
    for skipped in report.skipped:
        tell("skipped", str(skipped))
    for warning in report.warnings:
        tell("warning", warning)
    if not json:
        show_first(report.lint, folder)
    if report.skipped or failed:
        raise typer.Exit(ExitCode.FINDINGS)


def show_report(console: Console, report: IngestReport, path: Path) -> None:
    """Tell a person what an ingest did."""
    documents = len(report.added) + len(report.changed) + report.unchanged
    changes = (
        f"{len(report.added)} new, {len(report.changed)} changed, {report.unchanged} unchanged, "
        f"{len(report.removed)} removed; "
        f"{counted(report.embedded, 'chunk')} embedded in {report.seconds:.1f} s"
    )
    console.print(
        neutralise(f"{counted(documents, 'document')}, {counted(report.chunks, 'chunk')} in {path}")
    )
    console.print(f"({changes})", style="dim")


def as_json(report: IngestReport, path: Path) -> dict[str, Any]:
    """Give a report's JSON form."""
    return {
        "kb": str(path),
        "added": list(report.added),
        "changed": list(report.changed),
        "removed": list(report.removed),
        "unchanged": report.unchanged,
        "skipped": [{"document": s.name, "reason": s.reason} for s in report.skipped],
        "left_out": [each.to_dict() for each in report.left_out],
        "warnings": list(report.warnings),
        "lint": [finding.to_dict() for finding in report.lint],
        "chunks": report.chunks,
        "embedded": report.embedded,
        "seconds": round(report.seconds, 3),
        "embedding_seconds": round(report.embedding_seconds, 3),
    }
