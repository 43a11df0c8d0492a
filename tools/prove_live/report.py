"""The report of a run: one file that can be shared, without the account's identifiers."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.version import VERSION
from knowledge_rag.deployment.doctor.checks import PINNED_CLI
from tools.prove_live.plan import PRICES_OF

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from knowledge_rag.deployment.doctor.examination import Diagnosis
    from knowledge_rag.deployment.smoke.promises import Verdict
    from tools.prove_live.plan import Bill
    from tools.prove_live.record import Record
    from tools.prove_live.redaction import Redactor
    from tools.prove_live.steps import Result

FILE: Final = "report.md"


@dataclass
class Report:
    """The results of a run so far.

    Attributes:
        ended: how it ended, one sentence.
        bills: cost of each deployment, for the time that it existed.
    """

    record: Record
    diagnosis: Diagnosis
    results: list[Result] = field(default_factory=list)
    bills: dict[str, Bill] = field(default_factory=dict)
    ended: str = "It was stopped."

    def verdicts(self, *wanted: Verdict) -> int:
        """Count the results with one of these verdicts."""
        return sum(each.verdict in wanted for each in self.results)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; unredacted."""
        return {
            "format": 1,
            "run": self.record.run,
            "region": self.record.region,
            "began": self.record.created,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "ended": self.ended,
            "versions": {
                "knowledge-rag": VERSION,
                "cdk": PINNED_CLI,
                "python": platform.python_version(),
            },
            "deployments": [
                {"settings": each.settings, "removed": each.removed}
                for each in self.record.deployments
            ],
            "doctor": self.diagnosis.to_dict()["findings"],
            "results": [asdict(each) for each in self.results],
            "bills": {name: asdict(each) for name, each in self.bills.items()},
        }


def write(report: Report, folder: Path, redactor: Redactor) -> Path:
    """Write a report; return where it is."""
    content = redactor.value(report.to_dict())
    path = folder / report.record.run / FILE
    path.write_text("\n".join(_lines(content)) + "\n", encoding="utf-8")
    return path


def _lines(content: dict[str, Any]) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    return [
        f"# Live proof {content['run']}",
        "",
        content["ended"],
        "",
        f"Region {content['region']}; began {content['began']}; {versions}.",
        "",
        "## Results",
        "",
        *_table(
            ("", "step", "deployment", "s", "found"),
            [
                (r["verdict"], r["step"], r["deployment"], f"{r['seconds']:g}", r["detail"])
                for r in content["results"]
            ],
        ),
        "",
        "## Before",
        "",
        *_table(
            ("", "check", "found"),
            [(each["status"], each["check"], each["detail"]) for each in content["doctor"]],
        ),
        "",
        "## Bill",
        "",
        f"Estimated from how long each deployment existed, at list prices ({PRICES_OF}).",
        "",
        *_table(
            ("deployment", "about $", "at most $"),
            [
                (name, f"{each['usual']:.2f}", f"{each['at_most']:.2f}")
                for name, each in content["bills"].items()
            ],
        ),
        "",
        "## All of it",
        "",
        "```json",
        json.dumps(content, indent=1, default=str),
        "```",
    ]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [_row(heads), _row(["---"] * len(heads)), *(_row(row) for row in rows)]


def _row(cells: Sequence[str]) -> str:
    return (
        "| " + " | ".join(" ".join(str(cell).split()).replace("|", "\\|") for cell in cells) + " |"
    )
