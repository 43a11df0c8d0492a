"""What the standard wants of a log for review tools."""

from __future__ import annotations

import re
from typing import Any


def assert_sarif(log: dict[str, Any]) -> None:
    """Check what the standard (SARIF 2.1.0, sections 3.13 to 3.30) wants of a log with places in files."""
    (run,) = log["runs"]
    assert (log["version"], bool(run["tool"]["driver"]["name"])) == ("2.1.0", True)
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        (place,) = (it["physicalLocation"] for it in result["locations"])
        assert re.fullmatch(r"[^\s\\<>{}|^`]+", place["artifactLocation"]["uri"])
        region = place["region"]
        assert all(
            region[f"{end}{unit}"] >= 1 for end in ("start", "end") for unit in ("Line", "Column")
        )
