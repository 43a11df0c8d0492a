"""`knowledge-rag receipt`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.guardrails.staleness import Corpus

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="From the posted answer.")]
CorpusOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Folder that was ingested: compare the cited lines with its current files.",
    ),
]


def receipt(number: IdArgument, corpus: CorpusOption = None, json: JsonOption = False) -> None:
    """Show the sources of a posted answer, and check the record.

    Also lists citations that were reported as wrong. Exits 1 if the record was changed, or cited lines differ from the
    folder.
    """
    from knowledge_rag.channel.receipts import Receipts
    from knowledge_rag.cli.hooks import RECEIPTS_FOLDER
    from knowledge_rag.cli.terminal import print_json
    from knowledge_rag.local.corpus_files import CorpusFiles
    from knowledge_rag.local.settings import LocalSettings

    folder = LocalSettings.from_environment().data_dir / RECEIPTS_FOLDER
    receipts = Receipts(folder)
    found, reports = receipts.find(number), receipts.reports(number)
    files = CorpusFiles(corpus) if corpus else None
    states = [_state(one, files) for one in found.says["evidence"]] if files else []
    if json:
        more = {"lines": states} if files else {}
        checked = {"problems": list(found.problems), "reports": reports}
        print_json({"id": number, **found.says, **checked, **more})
    else:
        _show(number, found.says, found.problems, states, reports)
    if found.problems or set(states) - {"same"}:
        raise typer.Exit(ExitCode.FINDINGS)


def _state(evidence: Mapping[str, Any], corpus: Corpus) -> str:
    """Return whether the cited lines are unchanged in the folder: ``same``, ``changed`` or ``gone``."""
    import hashlib

    now = corpus.now(evidence["source_file"])
    if now is None or now.text is None:
        return "gone"
    lines = now.text.split("\n")[evidence["start_line"] - 1 : evidence["end_line"]]
    same = hashlib.sha256("\n".join(lines).encode()).hexdigest() == evidence["text_sha256"]
    return "same" if same else "changed"


def _show(
    number: str,
    says: Mapping[str, Any],
    problems: tuple[str, ...],
    states: list[str],
    reports: list[dict[str, Any]],
) -> None:
    from knowledge_rag.channel.receipts import citation_in
    from knowledge_rag.cli.procedures import place
    from knowledge_rag.cli.terminal import out, print_pieces
    from knowledge_rag.core.neutral import neutralise

    def show(text: str, style: str = "") -> None:
        print_pieces(out(), [(neutralise(text), style)])

    show(f"{number}: {says['question']}", "bold")
    show(
        f"asked {says['asked_at']}, {says['status']}, by {says['advisor']}, version {says['version']}"
    )
    for query in says["queries"]:
        show(f"query: {query}", "dim")
    for position, one in enumerate(says["evidence"]):
        it = citation_in(one)
        state = f"  {states[position]}" if states else ""
        show(f"{place(it.source_file, it.start_line, it.end_line)}{state}")
        show(f"  lines {one['text_sha256']}", "dim")
        show(f"  document {one['document_sha256'] or 'unknown'}", "dim")
    show(f"answer {says['answer_sha256']}", "dim")
    for one in reports:
        it = citation_in(one["citation"])
        where = place(it.source_file, it.start_line, it.end_line)
        show(f"reported as wrong: {where}, {one['reported_at']}, by {one['by']}", "yellow")
    for problem in problems:
        show(f"changed: {problem}", "bold red")
    if not problems:
        show("The record is intact.")
