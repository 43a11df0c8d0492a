"""``knowledge-rag verify``, ``locate`` and ``receipt``, which check answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.inputs import STDIN
from knowledge_rag.cli.options import Format, FormatOption, JsonOption, chosen_format
from knowledge_rag.cli.terminal import err, out, print_json, print_note, print_pieces
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.outcome import DropReason
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.guardrails.evidence_file import Item
    from knowledge_rag.guardrails.staleness import Corpus
    from knowledge_rag.local.corpus_files import FolderOriginals


def verify(
    evidence: Annotated[
        list[str],
        typer.Option(
            metavar="FILE",
            help="What retrieval returned: JSON of retrieve_knowledge, ask --explain, Retrieve, "
            "RetrieveAndGenerate, InvokeAgent or Converse. Once for each query; - is standard input.",
        ),
    ],
    answer: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The answer, Markdown or text; - is standard input.  "
            "[default: the one in the evidence]",
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The current documents, to check that the cited lines are still there.",
        ),
    ] = None,
    form: FormatOption = Format.TEXT,
    json: JsonOption = False,
    mark: Annotated[
        bool, typer.Option("--mark", help="Put [unverified] where a reference is removed.")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show the checks of each claim, and where its details are."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Also exit 1 on warnings, not only on errors.")
    ] = False,
) -> None:
    """Check an answer against what was retrieved for it.

    References that retrieval did not return are removed, and each cited claim is compared with the lines that it
    cites. Exits 1 if anything is wrong.
    """
    from knowledge_rag.cli import verification

    shown = chosen_format(form, json=json)
    if form is Format.SARIF and answer in (None, STDIN):
        raise InvalidRequest(
            "--format sarif needs --answer FILE: its findings point into that file"
        )
    if "" in (answer, *evidence):  # an unset variable in a script
        raise InvalidRequest(f"{'--answer' if answer == '' else '--evidence'}: empty name")
    if [answer, *evidence].count(STDIN) > 1:
        raise InvalidRequest(
            "standard input can be read only once: name files instead of the other -"
        )
    done = verification.run(answer, evidence, corpus, mark=mark)
    if shown is Format.JSON:
        print_json(verification.as_json(done))
    elif shown is Format.SARIF:
        print_json(verification.as_sarif(done))
    else:
        verification.show_review(out(), done, explain=explain)
    for message in verification.losses(done):
        print_note("warning", message)
    if done.review.findings if strict else done.review.errors:
        raise typer.Exit(ExitCode.FINDINGS)


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
    from knowledge_rag.local.corpus_files import FolderOriginals

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
        _show_located(rows, len(results))
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


def _show_located(rows: Sequence[Mapping[str, Any]], located: int) -> None:
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
        _show_receipt(number, found.says, found.problems, states, reports)
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


def _show_receipt(
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
