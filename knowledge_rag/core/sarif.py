"""SARIF 2.1.0, the format in which code-review tools read findings in files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LINK: Final = re.compile(r"(\\*)\](?=\()")
"""Link syntax in a message, which may quote an answer; a backslash escapes it."""


@dataclass(frozen=True, slots=True)
class SarifRule:
    """A kind of finding, with a stable id; level is ``error``, ``warning`` or ``note``."""

    id: str
    description: str
    level: str


@dataclass(frozen=True, slots=True)
class Region:
    """Part of a file; lines and columns (characters) are 1-based, ``end_column`` is exclusive."""

    path: str
    start_line: int
    end_line: int
    start_column: int
    end_column: int


@dataclass(frozen=True, slots=True)
class SarifResult:
    """One finding: the rule that it violates, the message and the place."""

    rule_id: str
    message: str
    place: Region


def sarif_log(
    version: str, rules: Sequence[SarifRule], results: Sequence[SarifResult]
) -> dict[str, Any]:
    """Return a log with one run of this version; every result's ``rule_id`` is one of ``rules``."""
    numbered = {rule.id: (number, rule) for number, rule in enumerate(rules)}
    driver = {
        "name": "knowledge-rag",
        "semanticVersion": version,
        "rules": [
            {
                "id": rule.id,
                "shortDescription": {"text": rule.description},
                "defaultConfiguration": {"level": rule.level},
            }
            for rule in rules
        ],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, *numbered[one.rule_id]) for one in results],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(result: SarifResult, rule_index: int, rule: SarifRule) -> dict[str, Any]:
    place = result.place
    lines = {
        "startLine": place.start_line,
        "endLine": place.end_line,
        "startColumn": place.start_column,
        "endColumn": place.end_column,
    }
    location = {
        "artifactLocation": {"uri": quote(place.path.encode(errors="surrogateescape"))},
        "region": lines,
    }
    return {
        "ruleId": rule.id,
        "ruleIndex": rule_index,
        "level": rule.level,
        "message": {"text": _LINK.sub(r"\1\1\\]", result.message)},
        "locations": [{"physicalLocation": location}],
    }
