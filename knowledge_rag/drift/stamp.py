"""Puts what drift finds in a document on its chunks, when it is ingested.

Only commands are checked: that needs no other document and no code, so it gives the same on a machine
and in AWS.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.findings import Note
from knowledge_rag.drift.baseline import Baseline
from knowledge_rag.drift.commands import check_commands, versions
from knowledge_rag.drift.findings import FORM, Finding, Kind
from knowledge_rag.drift.page import read_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.chunks import Chunk

DRIFT_VERSION: Final = 2
"""Raised by every change that finds something else in the same text."""
_DATA_DEPENDENT: Final = (ArithmeticError, LookupError, RuntimeError, ValueError)
"""Errors that a text can raise in a pure, typed function with a fault."""


def fingerprint() -> str:
    """Equal for two ingests exactly if they find the same in the same text."""
    return f"drift-{DRIFT_VERSION} {versions()['aws']}"


def check_text(source_file: str, text: str) -> list[Finding]:
    """Check the commands of one document; a fault of the check's own costs nobody a document.

    Args:
        source_file: the document, relative to the corpus root.
        text: as Markdown, line for line.
    """
    try:
        return sorted(check_commands(read_page(source_file, text)))
    except _DATA_DEPENDENT as error:
        reason = f"commands were not checked, please report it: {type(error).__name__}"
        return [Finding(source_file, 1, 1, 1, Kind.UNREADABLE, "", reason)]


def drift_report(findings: Sequence[Finding]) -> str:
    """Return findings as ``knowledge-rag drift --json`` prints them, as a text."""
    report = {
        "findings": [finding.to_dict() for finding in findings],
        "checked_against": versions(),
    }
    return json.dumps(report, ensure_ascii=False, indent=1) + "\n"


def reported(text: str) -> Baseline:
    """Return what a report holds, as a baseline; nothing if the text is no report."""
    with suppress(KeyError, RecursionError, TypeError, ValueError):
        keys = [
            tuple(str(it[field]) for field in FORM.fields) for it in json.loads(text)["findings"]
        ]
        return Baseline(Counter(keys))
    return Baseline()


def stamped(chunks: Sequence[Chunk], findings: Sequence[Finding]) -> list[Chunk]:
    """Return a document's chunks, each with what was found in its lines."""
    ends = [chunk.end_line for chunk in chunks]
    found: dict[int, dict[str, None]] = {}
    for finding in findings:
        at = bisect_left(ends, finding.line)
        if at < len(chunks) and chunks[at].start_line <= finding.line:
            found.setdefault(at, {})[str(Note(finding.line, finding.sentence))] = None
    return [
        chunk._replace(drift=tuple(found[at])) if at in found else chunk
        for at, chunk in enumerate(chunks)
    ]
