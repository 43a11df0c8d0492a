"""``docs/reference/checks.md``: the findings of verify and the destructive commands, from their tables."""

from __future__ import annotations

from knowledge_rag.guardrails.danger import DANGERS
from knowledge_rag.guardrails.rules import Rule
from tools.reference.markdown import cell, code, page, table


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
