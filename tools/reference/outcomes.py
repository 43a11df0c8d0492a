"""``docs/reference/outcomes.md`` and ``checks.md``: how a call can end, and the findings of verify, from the code."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

from knowledge_rag.cli import exits
from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.core import failures
from knowledge_rag.core.outcome import DropReason, Reason, Status
from knowledge_rag.guardrails.danger import DANGERS
from knowledge_rag.guardrails.rules import Rule
from tools.reference.markdown import attribute_docs, cell, code, codes, page, table, text

if TYPE_CHECKING:
    from collections.abc import Iterator

_TREES: Final = (
    "knowledge_rag.core.errors", "knowledge_rag.local.errors", "knowledge_rag.orchestrator.errors",
)  # fmt: skip


def outcomes_page() -> str:
    """Return the page: statuses, reasons, dropped results, named failures."""
    return page(
        "Outcomes and failures",
        "How a retrieval can end, and the names of its failures.",
        f"## Statuses\n\n{table(['`status`', 'means'], _rows(Status, 'Searched, and there are results.'))}",
        _reasons(),
        "## Results that are not shown\n\nCounted in the log under `dropped`.\n\n"
        + table(["`dropped`", "means"], _rows(DropReason)),
        *_trees(),
        _exit_codes(),
    )


def _rows(kind: type[Status | DropReason], undocumented: str = "") -> Iterator[list[str]]:
    docs = attribute_docs(kind)
    for member in kind:
        yield [code(member), cell(docs[member.name] or undocumented)]


def _reasons() -> str:
    rows = [
        [code(each), "yes" if each in failures.PERMANENT else "", *_causes(each)] for each in Reason
    ]
    header = ["`reason`", "permanent", "codes of the service", "HTTP statuses", "exceptions"]
    about = (
        "## Reasons\n\nReasons of `degraded`. What each means on call: "
        "[game day](../gameday.md#what-each-reason-means-for-the-person-on-call). Permanent "
        "ones raise an alarm at once. A code takes precedence over a status; other "
        "statuses from 500 on are `unavailable`, the rest `configuration`."
    )
    return f"{about}\n\n{table(header, rows)}"


def _causes(reason: Reason) -> list[str]:
    exceptions = [kind for kinds, of in failures._EXCEPTIONS if of is reason for kind in kinds]
    return [
        codes(name for name, of in failures._CODES.items() if of is reason),
        codes(status for status, of in failures._STATUSES.items() if of is reason),
        codes(kind.__name__ for kind in exceptions),
    ]


def _trees() -> Iterator[str]:
    yield "## Failures by name"
    for name in _TREES:
        docstring = importlib.import_module(name).__doc__ or ""
        before, _, tree = docstring.partition("::\n\n")
        tree, _, after = tree.partition("\n\n")
        heading = f"### `{name}`\n\n{text(before.strip())}"
        yield "\n\n".join([heading, f"```text\n{_flush(tree)}\n```", text(after.strip())]).strip()


def _flush(tree: str) -> str:
    return "\n".join(line.removeprefix("    ") for line in tree.splitlines())


def _exit_codes() -> str:
    return (
        "## Failures and exit codes\n\n"
        f"[Exit code](commands.md#exit-codes) {ExitCode.BAD_INPUT} for "
        f"{codes(kind.__name__ for kind in exits._BAD_INPUT)}; {ExitCode.FAILED} for every other "
        f"failure that ends a command. A retrieval that is degraded ends one with {ExitCode.DEGRADED}."
    )


def checks_page() -> str:
    """Return the page: each rule with its level, each destructive command with an example."""
    rules = [[code(rule), rule.level.value, cell(rule.description)] for rule in Rule]
    by_label = {rule.label: rule for rule in reversed(DANGERS)}
    dangers = [
        [cell(rule.label), cell(rule.destroys), code(rule.example)]
        for rule in reversed(by_label.values())
    ]
    return page(
        "Checks",
        "What [`verify`](../verify.md) reports, and which steps are marked as destructive.",
        f"## Findings of verify\n\n{table(['finding', 'level', 'means'], rules)}",
        "## Destructive commands\n\nA step is marked if running its command once can lose data, a resource, running work "
        "or a safeguard, and the reverse command doesn't bring it back. A prohibition counts as well; a description and a "
        "`--dry-run` don't. A script whose name says nothing, an `UPDATE` without `WHERE` and other languages than "
        "English aren't recognised.\n\n" + table(["label", "destroys", "example"], dangers),
    )
