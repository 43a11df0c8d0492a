"""``knowledge-rag locate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.terminal import err, out, print_json, print_pieces
from knowledge_rag.core.outcome import DropReason
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.guardrails.evidence_file import Item
    from knowledge_rag.local.originals import FolderOriginals


def locate(
    retrieve_output: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Passages of one answer, JSON of Retrieve or a list of results with text and "
            "location; - is standard input.",
        ),
    ],
    docs: Annotated[Path, typer.Option(metavar="DIR", help="Folder with their documents.")],
    prefix: Annotated[
        str,
        typer.Option(
            metavar="URI",
            help="Prefix of DIR's documents in locations, such as s3://bucket/docs/.  "
            "[default: the one with which most are documents of DIR]",
        ),
    ] = "",
    json: JsonOption = False,
) -> None:
    """Find the lines of passages that another knowledge base returned.

    Prints `path:first-last` for each passage, or why it has no lines: its document doesn't have exactly this text,
    or has it in several places. Lines that a passage names itself are compared with the documents. Exits 1 if a
    passage isn't located.
    """
    from knowledge_rag.cli.verification import evidence_items
    from knowledge_rag.core import locating
    from knowledge_rag.guardrails.evidence_file import with_lines
    from knowledge_rag.local.originals import FolderOriginals

    items = evidence_items(retrieve_output)
    sources = [item.source for item in items if isinstance(item, locating.RawPassage)]
    originals = FolderOriginals(docs, sources, prefix)
    located = with_lines(items, lambda passages: locating.locate(passages, originals))
    rows = _rows(items, located, originals)
    results = [row["result"] for row in rows if "result" in row]
    if json:
        dropped = [row for row in rows if "result" not in row]
        print_json(
            {
                "results": [result.to_dict() for result in results],
                "passages": len(rows),
                "dropped": dropped,
            }
        )
    else:
        _show(rows, len(results))
    if len(results) < len(rows) or not rows:
        raise typer.Exit(ExitCode.FINDINGS)


def _rows(
    items: Sequence[Item], located: Sequence[Item], originals: FolderOriginals
) -> list[dict[str, Any]]:
    """Return one row per passage: its number and result, or its source and why it has none."""
    from knowledge_rag.core.locating import RawPassage
    from knowledge_rag.guardrails.ledger import Passage

    rows: list[dict[str, Any]] = []
    for item, found in zip(items, located, strict=True):
        number, source = len(rows) + 1, ""
        reason: Item | None = found
        if isinstance(item, RawPassage):
            source = item.source
        elif isinstance(item, Passage):  # names its lines, which may come from anybody
            source = originals.prefix + item.result.citation.source_file
            reason = originals.compared(item.result)
        if isinstance(reason, DropReason):
            row = {"passage": number, "source": source, "reason": reason.value}
            if why := originals.unread.get(source):
                row["why"] = why
            rows.append(row)
        elif isinstance(found, Passage):
            rows.append({"passage": number, "result": found.result})
    return rows


_REASONS: Final = {
    DropReason.UNLOCATED: "its document doesn't have exactly this text",
    DropReason.AMBIGUOUS: "its document has this text in several places",
    DropReason.NOT_TEXT: "no text",
    DropReason.NO_CITATION: "names no document",
    DropReason.NOT_PROVEN: "its text doesn't match its lines in the document, its hash or their number",
}


def _show(rows: Sequence[Mapping[str, Any]], located: int) -> None:
    console, width = out(), len(str(len(rows)))
    for row in rows:
        number = f"{row['passage']:>{width}}  "
        if "result" in row:
            citation = row["result"].citation
            header = f"  ({citation.section_header})" if citation.section_header else ""
            print_pieces(console, [(number, "dim"), (_place(citation), "cyan"), (header, "dim")])
        else:
            why = row.get("why") or _REASONS[row["reason"]]
            said = f"{row['reason']}: {why}"
            source = f"{row['source']}  " if row["source"] else ""
            print_pieces(console, [(number, "dim"), (source, ""), (said, "yellow")])
    err().print(f"{located} of {counted(len(rows), 'passage')} located", style="dim")


def _place(citation: Citation) -> str:
    from knowledge_rag.core.formats import is_extracted

    lines = f"{citation.start_line}-{citation.end_line}"
    if is_extracted(citation.source_file):
        return f"extracted text, lines {lines} of {citation.source_file}"
    return f"{citation.source_file}:{lines}"
