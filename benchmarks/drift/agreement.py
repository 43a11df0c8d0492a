"""Measures how often `knowledge-rag drift` finds that a runbook and an alert's definition have different figures.

It takes runbooks and their code. Every duration and share that a runbook states about an alert in the code, and
that the alert's definition has too, is changed once in the runbook and once in the definition.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from knowledge_rag.drift.agreement import check_agreement, definition_of, statements_in
from knowledge_rag.drift.code import read_code
from knowledge_rag.drift.figures import Alerts, Figures
from knowledge_rag.drift.page import read_page
from knowledge_rag.drift.settings import check_settings, settings_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from knowledge_rag.drift.agreement import Statement
    from knowledge_rag.drift.figures import Alert
    from knowledge_rag.drift.findings import Finding
    from knowledge_rag.drift.settings import Setting

    Values = Mapping[str, Mapping[str, Sequence[str | None]]]

FACTORS: Final = {"duration": (0.5, 2, 3, 7), "share": (0.2, 0.3, 0.6, 0.7)}
"""Factors by which a figure is changed."""
FOUND: Final = 0.95


@dataclass(slots=True)
class Agreement:
    """Figures compared, findings of unchanged documents, and mutants by kind."""

    compared: int = 0
    findings: list[str] = field(default_factory=list)
    made: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)

    @property
    def reached(self) -> bool:
        """Whether enough mutants of each kind are found."""
        return all(self.found[kind] >= FOUND * made for kind, made in self.made.items())

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        mutants = [{"kind": kind, "made": made, "found": self.found[kind]} for kind, made in sorted(self.made.items())]  # fmt: skip
        return {"compared": self.compared, "findings": self.findings, "mutants": mutants, "missed": self.missed}  # fmt: skip


def run(pairs: Iterable[tuple[Path, Path]]) -> Agreement:
    """Compare runbooks with their code, unchanged and with each figure changed."""
    report = Agreement()
    for docs, code in pairs:
        texts = {
            file.relative_to(docs).as_posix(): file.read_text(encoding="utf-8", errors="replace")
            for file in sorted(docs.rglob("*.md"))
            if file.is_file()
        }
        pages = [read_page(path, text) for path, text in texts.items()]
        settings = [it for page in pages for it in settings_in(page)]
        keys = frozenset(it.key for it in settings)
        read = read_code([code], frozenset(), docs, settings=keys)
        alerts = Alerts(read.alerts)
        for page in pages:
            for each in statements_in(page):
                _compare(report, each, texts[page.path], read.alerts, alerts)
        for setting in settings:
            if all(it is not None for of in read.values.get(setting.key, {}).values() for it in of):
                _compare_setting(report, setting, texts[setting.path], read.values)
    return report


def _compare_setting(report: Agreement, each: Setting, text: str, given: Values) -> None:
    """Change a setting's number in the document, if the code gives the setting the stated one."""
    if each.key not in given:
        return
    report.compared += 1
    if findings := list(check_settings([each], given)):
        report.findings += map(str, findings)
        return
    number = re.match(r"[\d.]+", each.text)
    if number is None:
        return
    for factor in FACTORS["duration"]:
        lines = text.split("\n")
        line, at = lines[each.line - 1], each.column - 1
        lines[each.line - 1] = (
            f"{line[:at]}{float(number[0]) * factor:g}{line[at + len(number[0]) :]}"
        )
        here = settings_in(read_page(each.path, "\n".join(lines)))
        same = [it for it in here if (it.line, it.key) == (each.line, each.key)]
        kind = "of a setting, in the runbook"
        report.made[kind] += 1
        found = any(check_settings(same, given))
        report.found[kind] += found
        if not found:
            report.missed.append(f"{kind} {each.path}:{each.line}: {each.key} {each.text}")


def _compare(
    report: Agreement, each: Statement, text: str, files: Mapping[str, list[Alert]], alerts: Alerts
) -> None:
    if definition_of(each, alerts) is None:
        return
    report.compared += 1
    if findings := list(check_agreement([each], alerts)):
        report.findings += map(str, findings)
        return
    for factor in FACTORS["share" if each.quantity.percent else "duration"]:
        page = read_page(each.path, _changed(text, each, factor))
        here = [it for it in statements_in(page) if it.line == each.line]
        _count(report, "in the runbook", each, check_agreement(here, alerts))
        other = {file: list(_scaled(of, each, factor)) for file, of in files.items()}
        if other != files:
            _count(report, "in the code", each, check_agreement([each], Alerts(other)))


def _count(report: Agreement, kind: str, each: Statement, findings: Iterator[Finding]) -> None:
    found = any(findings)
    report.made[kind] += 1
    report.found[kind] += found
    if not found:
        report.missed.append(f"{kind} {each.path}:{each.line}: {each.text}")


def _changed(text: str, each: Statement, factor: float) -> str:
    """Return the document with a figure's first number changed."""
    lines = text.split("\n")
    line, at, word = lines[each.line - 1], each.column - 1, each.text.split("\n")[0]
    number, unit = each.quantity.percent or each.quantity.parts[0][0], word.lstrip("0123456789.")
    if each.is_wait:
        number, unit = each.quantity.seconds, "s"
    elif unit == word:  # "one hour"
        unit = word[word.find(" ") :]
    lines[each.line - 1] = f"{line[:at]}{number * factor:g}{unit}{line[at + len(word) :]}"
    return "\n".join(lines)


def _scaled(alerts: list[Alert], each: Statement, factor: float) -> Iterator[Alert]:
    """Yield the definitions with the figure of a statement changed wherever it occurs."""
    for alert in alerts:
        if alert.figures is None:
            yield alert
            continue
        of = alert.figures
        by = {
            name: tuple(it * factor if Figures(**{name: (it,)}).has(each.quantity) else it for it in getattr(of, name))
            for name in ("waits", "spans", "numbers")
        }  # fmt: skip
        yield alert._replace(figures=replace(of, **by))


def as_table(report: Agreement) -> Table:
    """Return the report as a table."""
    table = Table(title=f"agreement: {report.compared} figures compared, {len(report.findings)} findings")  # fmt: skip
    for column in ("changed", "mutants", "found"):
        table.add_column(column)
    for kind, made in sorted(report.made.items()):
        table.add_row(kind, str(made), f"{report.found[kind] / made:.1%}")
    return table
