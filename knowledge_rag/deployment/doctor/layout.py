"""A diagnosis for people: a line a finding, what to do under it, the verdict last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from knowledge_rag.core.neutral import neutralise
from knowledge_rag.deployment.doctor.finding import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.deployment.doctor.examination import Diagnosis
    from knowledge_rag.deployment.doctor.finding import Finding

_COLOURS: Final = {
    Status.OK: "green",
    Status.WARNING: "yellow",
    Status.PROBLEM: "bold red",
    Status.UNKNOWN: "magenta",
}
_STATUS_WIDTH: Final = max(map(len, Status)) + 2
_GAP: Final = 2


def as_text(diagnosis: Diagnosis) -> Text:
    """Lay a diagnosis out; checks that were not made for one and the same reason share a line."""
    return Text("\n").join([*_lines(diagnosis), Text(verdict(diagnosis))])


def verdict(diagnosis: Diagnosis) -> str:
    """Sum a diagnosis up in one line."""
    counts = diagnosis.to_dict()["counts"]
    told = ", ".join(
        _counted(counts[name], name, plural)
        for name, plural in (
            ("problem", "problems"),
            ("warning", "warnings"),
            ("unknown", "unknown"),
        )
    )
    if diagnosis.problems:
        return f"A deployment can't work yet: {told}."
    if diagnosis.blind:
        return f"Nothing could be checked: {told}."
    return f"Nothing found that would stop a deployment: {told}."


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _lines(diagnosis: Diagnosis) -> Iterator[Text]:
    skipped = [finding for finding in diagnosis.findings if finding.skipped]
    shown = [finding for finding in diagnosis.findings if not finding.skipped]
    width = max(len(finding.check) for finding in shown) + _GAP
    for finding in shown:
        yield _line(finding.check.ljust(width), finding)
        if finding.action:
            yield Text(" " * _STATUS_WIDTH + "-> " + neutralise(finding.action))
    if skipped:
        yield _line(f"{len(skipped)} others".ljust(width), skipped[0])


def _line(check: str, finding: Finding) -> Text:
    word = Text(f"{finding.status.value:<{_STATUS_WIDTH}}", _COLOURS[finding.status])
    return Text.assemble(word, check, neutralise(" ".join(finding.detail.split())))
