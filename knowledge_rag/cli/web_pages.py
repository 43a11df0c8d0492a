"""Web pages that ``knowledge-rag ingest --urls`` fetches before it ingests a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.cli.input_files import input_name, read_input
from knowledge_rag.cli.terminal import out, progress_bar, tell
from knowledge_rag.local.errors import UnusableCorpus
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.local.web.pages import PageOutcome

UrlsOption = Annotated[
    str | None,
    typer.Option(
        "--urls", metavar="FILE", help="Fetch these web pages into DIR/web first, one URL a line."
    ),
]
DelayOption = Annotated[
    float, typer.Option(min=0, max=60, help="Seconds between two requests to a host.")
]
PrivateOption = Annotated[
    bool, typer.Option("--allow-private", help="Fetch from machines of this network, too.")
]


def fetched(
    folder: Path, urls: str | None, delay: float, *, private: bool
) -> tuple[PageOutcome, ...]:
    """Fetch the pages of a list, if there is one, with a progress bar.

    Raises:
        UnusableCorpus: the folder is missing, or is no folder.
    """
    from knowledge_rag.local.web.fetching import FetchLimits
    from knowledge_rag.local.web.pages import Surroundings, WebSettings, fetch_pages, read_addresses

    if urls is None:
        return ()
    addresses = read_addresses(input_name(urls), read_input(urls))
    if not folder.is_dir():  # told before anybody is asked for a page
        raise UnusableCorpus(f"{'not a' if folder.exists() else 'no such'} folder: {folder}")
    settings = WebSettings(FetchLimits(private=private), delay)
    warnings: list[str] = []
    with progress_bar() as progress:
        around = Surroundings(warn=warnings.append)
        pages = fetch_pages(folder, addresses, settings, progress=progress, surroundings=around)
    for warning in warnings:
        tell("warning", warning)
    return pages


def show_pages(pages: Sequence[PageOutcome]) -> None:
    """Tell a person what became of the pages."""
    if pages:
        states = [page.state.value for page in pages]
        counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
        out().print(f"({counted(len(pages), 'web page')}: {counts})", style="dim")


def tell_failures(pages: Sequence[PageOutcome]) -> bool:
    """Name what could not be fetched, on standard error; whether there was anything."""
    failed = [page for page in pages if page.is_failure]
    for page in failed:
        tell(page.state.value, f"{page.address}: {page.reason}")
    return bool(failed)
