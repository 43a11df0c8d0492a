"""Reads labelled claims: JSON Lines with claim, evidence and whether it supports the claim."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.evaluation.guidance_cases import Case
from knowledge_rag.evaluation.named_files import read_lines

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
    cases = [_case(path, number, row) for number, row in read_lines(path, MAX_CLAIMS_BYTES)]
    if not cases:
        raise InvalidRequest(f"no claims in {path}")
    return cases


def _case(path: Path, number: int, row: str) -> Case:
    wrong = f'{path}, line {number}: give {{"id", "claim", "supported", "evidence": [lines]}}'
    try:
        fields = json.loads(row)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(wrong) from error
    evidence = _evidence(fields)
    if evidence is None or not isinstance(fields["supported"], bool):
        raise InvalidRequest(wrong)
    return Case(str(fields["id"]), path.name, str(fields["claim"]), evidence, fields["supported"])


def _evidence(fields: Any) -> tuple[str, ...] | None:  # noqa: ANN401 - whatever a file holds
    if not isinstance(fields, dict) or not {"id", "claim", "supported"} <= fields.keys():
        return None
    lines = fields.get("evidence_lines", fields.get("evidence"))
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        return None
    return tuple(lines)
