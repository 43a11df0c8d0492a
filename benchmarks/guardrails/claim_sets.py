"""Reads labelled claims: JSON Lines with claim, evidence and whether it supports the claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.guardrails.cases import Case
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.evaluation.datasets import read_lines, read_rows

if TYPE_CHECKING:
    from pathlib import Path

MAX_CLAIMS_BYTES = 64 * 1024 * 1024


def load_claims(path: Path) -> list[Case]:
    """Read a file of claims.

    Each row has ``id``, ``claim``, ``supported`` (true or false) and ``evidence`` or
    ``evidence_lines``, a list of lines; other keys are ignored.

    Raises:
        InvalidRequest: a row is not of this form, or there is none.
        UnreadableDocument: it can't be read.
    """
    wants = 'give {"id", "claim", "supported", "evidence": [lines]}'
    cases = read_rows(
        read_lines(path, MAX_CLAIMS_BYTES),
        lambda _, row: _case(path.name, row),
        lambda number: InvalidRequest(f"{path}, line {number}: {wants}"),
    )
    if not cases:
        raise InvalidRequest(f"no claims in {path}")
    return cases


def _case(dataset: str, row: dict[str, Any]) -> Case:
    evidence, supported = row.get("evidence_lines", row.get("evidence")), row["supported"]
    if not isinstance(evidence, list) or not all(isinstance(line, str) for line in evidence):
        raise ValueError("evidence is a list of lines")
    if not isinstance(supported, bool):
        raise ValueError("supported is true or false")  # noqa: TRY004 - wrong input, not a defect
    return Case(str(row["id"]), dataset, str(row["claim"]), tuple(evidence), supported)
