"""``docs/reference/recommendation.md``: the recommendation, from its schema."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.support.local import PROJECT
from tools.reference.markdown import cell, code, page, table, text
from tools.reference.schemas import HEADER, members

SCHEMA: Final = PROJECT / "schemas" / "recommendation.schema.json"


def recommendation_page() -> str:
    """Return the page: the whole, its parts, and the fields of each status."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return page(
        "The recommendation",
        f"What `ask`, the LangGraph node and the console answer, from "
        f"[its schema](../../schemas/{SCHEMA.name}). [How it is made](../recommendation.md).",
        text(schema["description"]),
        table(HEADER, members(schema)),
        _by_status(schema["allOf"]),
        *(_part(name, part) for name, part in schema["$defs"].items()),
    )


def _part(name: str, part: dict[str, Any]) -> str:
    if "properties" not in part:
        return f"## {name}\n\n{part['type']}, matches {code(part['pattern'])}"
    return f"## {name}\n\n{text(part['description'])}\n\n{table(HEADER, members(part))}"


def _by_status(rules: list[dict[str, Any]]) -> str:
    rows = [
        [code(rule["if"]["properties"]["status"]["const"]), *_then(rule["then"])] for rule in rules
    ]
    return "\n\n".join(
        [
            "## By status",
            table(
                ["status", "`reason`", "`confidence`", "guidance and similar incidents", "summary"],
                rows,
            ),
        ]
    )


def _then(then: dict[str, Any]) -> list[str]:
    properties = then["properties"]
    advice = properties["recommendation"]
    empty = advice.get("properties", {}).get("guidance", {}).get("maxItems") == 0
    summary = advice.get("properties", {}).get("summary", {}).get("const", "")
    return [
        "there" if "reason" in then.get("required", ()) else "absent",
        str(properties.get("confidence", {}).get("const", "0 to 1")),
        "both empty" if empty else "at least one of either",
        cell(summary),
    ]
