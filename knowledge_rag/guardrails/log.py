"""The log of what is wrong with answers: kinds and places, never a word of them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowledge_rag.guardrails.draft import Warned
    from knowledge_rag.guardrails.rules import Finding

LOGGER: Final = logging.getLogger("knowledge_rag.guardrails")
LOGGER.addHandler(logging.NullHandler())  # a library leaves it to the program where its log goes


def log_findings(findings: Iterable[Finding]) -> None:
    """Log what a review found; offsets count in the answer as it was written."""
    for one in findings:
        LOGGER.warning("rule=<%s>, start=<%d>, end=<%d> | finding", one.rule, one.start, one.end)


def log_warnings(warnings: Iterable[Warned]) -> None:
    """Log what the checks warn of; offsets count in the answer that may be shown."""
    for one in warnings:
        LOGGER.warning("kind=<%s>, start=<%d>, end=<%d> | warning", one.kind, one.start, one.end)
