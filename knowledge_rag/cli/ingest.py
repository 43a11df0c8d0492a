"""`knowledge-rag ingest`."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.inputs import input_name, read_input
from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.reports import progress_bar
from knowledge_rag.cli.terminal import out, print_json, print_note
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.extract.dates import DateOrder
from knowledge_rag.local.errors import KnowledgeBaseBusy, UnusableCorpus
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from knowledge_rag.local.ingest import IngestReport, IngestSettings
    from knowledge_rag.local.web.pages import PageOutcome

KbPath = Annotated[
    Path | None,
    typer.Option(
        "--kb", metavar="PATH", help="Knowledge base file to create or update.  [default: your own]"
    ),
]


def ingest(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Folder with documents: *.md, *.html, *.pdf, *.docx, *.rst, ..."
        ),
    ],
    kb: KbPath = None,
    date_order: Annotated[
        DateOrder | None,
        typer.Option(
            envvar="DATE_ORDER",
            help="How to read 03/04/2026.  [default: not as a date]",
            show_default=False,
        ),
    ] = None,
    languages: Annotated[
        bool | None,
        typer.Option(
            "--languages/--english",
            help="Also embed with the multilingual model, for questions and documents in other languages.  "
            "[default: as before; for a new one, depending on its documents]",
            show_default=False,
        ),
    ] = None,
    urls: UrlsOption = None,
    delay: DelayOption = 1.0,
    allow_private: PrivateOption = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running, and ingest whenever a document changes.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Bring a knowledge base up to date with a folder.

    Unchanged files cost nothing; deleted files are removed. A run that stops keeps the finished documents, and the
    next one continues from there. Exits 1 if a file or a page could not be read. Shows lint findings, which change
    neither the ingest nor the exit code.
    """
    from knowledge_rag.cli.knowledge_bases import own_knowledge_base
    from knowledge_rag.local.corpus import changes
    from knowledge_rag.local.ingest import IngestSettings

    path = own_knowledge_base(kb)
    pages = fetched(folder, urls, delay, private=allow_private)
    failed = report_failures(pages)  # first: without them there may be nothing to ingest
    settings = IngestSettings(date_order=date_order)
    changed = changes(folder) if watch else iter(())
    shown = None if urls is None else pages
    skipped = _ingest(folder, path, settings, shown, languages=languages, json=json)
    if watch:
        print_note("watching", f"{folder}; Ctrl-C ends it")
    with suppress(KeyboardInterrupt):  # how watching ends
        for _ in changed:
            try:
                _ingest(folder, path, settings, None, languages=languages, json=json)
            except (UnusableCorpus, KnowledgeBaseBusy) as error:
                print_note("error:", str(error))  # the next change may fix it
    if skipped or failed:
        raise typer.Exit(ExitCode.FINDINGS)


def _ingest(
    folder: Path,
    path: Path,
    settings: IngestSettings,
    pages: Sequence[PageOutcome] | None,
    *,
    languages: bool | None,
    json: bool,
) -> bool:
    """Ingest once and show the result; return whether a file could not be read."""
    from knowledge_rag.cli.folders import show_first
    from knowledge_rag.cli.knowledge_bases import ingest_folder, note_links

    try:
        report = ingest_folder(folder, path, settings, languages=languages)
    except KeyboardInterrupt:
        print_note(
            "stopped", f"finished documents stay in {path}; the same command continues from there"
        )
        raise
    note_links(folder, path)
    if json:
        web = {} if pages is None else {"pages": [page.to_dict() for page in pages]}
        print_json(as_json(report, path) | web)
    else:
        show_report(out(), report, path)
        show_pages(pages or ())
    sys.stdout.flush()  # people who watch a folder wait for it
    for left_out in report.left_out:
        print_note("left out", str(left_out))
    for skipped in report.skipped:
        print_note("skipped", str(skipped))
    for warning in report.warnings:
        print_note("warning", warning)
    if not json:
        show_first(report.lint, folder)
    return bool(report.skipped)


def show_report(console: Console, report: IngestReport, path: Path) -> None:
    """Print the result of an ingest."""
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
    """Return a report's JSON form."""
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


UrlsOption = Annotated[
    str | None,
    typer.Option(
        "--urls", metavar="FILE", help="Fetch these web pages into DIR/web first, one URL per line."
    ),
]
DelayOption = Annotated[
    float, typer.Option(min=0, max=60, help="Seconds between two requests to a host.")
]
PrivateOption = Annotated[
    bool, typer.Option("--allow-private", help="Also fetch from addresses in this network.")
]


def fetched(
    folder: Path, urls: str | None, delay: float, *, private: bool
) -> tuple[PageOutcome, ...]:
    """Fetch the pages of a list, if there is one, with a progress bar."""
    from knowledge_rag.local.web.fetching import FetchLimits
    from knowledge_rag.local.web.pages import Surroundings, WebSettings, fetch_pages, read_addresses

    if urls is None:
        return ()
    addresses = read_addresses(input_name(urls), read_input(urls))
    if not folder.is_dir():  # reported before any page is fetched
        raise UnusableCorpus(f"{'not a' if folder.exists() else 'no such'} folder: {folder}")
    settings = WebSettings(FetchLimits(private=private), delay)
    warnings: list[str] = []
    with progress_bar() as progress:
        around = Surroundings(warn=warnings.append)
        pages = fetch_pages(folder, addresses, settings, progress=progress, surroundings=around)
    for warning in warnings:
        print_note("warning", warning)
    return pages


def show_pages(pages: Sequence[PageOutcome]) -> None:
    """Print the result of each page."""
    if pages:
        states = [page.state.value for page in pages]
        counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
        out().print(f"({counted(len(pages), 'web page')}: {counts})", style="dim")


def report_failures(pages: Sequence[PageOutcome]) -> bool:
    """Report pages that could not be fetched; return whether there were any."""
    failed = [page for page in pages if page.is_failure]
    for page in failed:
        print_note(page.state.value, f"{page.address}: {page.reason}")
    return bool(failed)
