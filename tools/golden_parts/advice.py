"""Records answers of ``ask`` to labelled on-call cases: status, and the lines that each step cites.

Lines are recorded by number and as digests: some of the documents may not be copied.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.support.local import CORPUS, PROJECT
from tests.support.shared_data import SHARED_DATA
from tools.golden_parts.base import Recorded, digest, stable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tools.golden_parts.base import Run

KEPT: Final[Path] = PROJECT / ".cache" / "goldens"
"""Knowledge bases that take long to create; each run updates them. ``make clean`` removes them."""

SCORES: Final = ("confidence",)
"""Excluded from an answer's digest: they differ a little between machines."""


@dataclass(frozen=True, slots=True)
class Cases:
    """A set of cases and its documents."""

    name: str
    folder: Path
    docs: Path


SETS: Final = (
    Cases("polarity", PROJECT / "tests/data/polarity", PROJECT / "tests/data/polarity/docs"),
    Cases("near-misses", PROJECT / "tests/data/near_misses", CORPUS),
    Cases("acme-media", SHARED_DATA / "oncall/acme-media", SHARED_DATA / "oncall/acme-media/docs"),
    Cases("real", SHARED_DATA / "oncall/real", SHARED_DATA / "retrieval/docs"),
)


def record(run: Run) -> Recorded:
    """Ask every case in the sets that are on this machine."""
    recorded = Recorded()
    for cases in SETS:
        missing = [path for path in (cases.folder, cases.docs) if not path.exists()]
        if missing:
            recorded.skipped[f"{cases.name} *"] = f"{missing[0]} is missing"
            continue
        kb = _knowledge_base(run, cases)
        asked = {
            f"{cases.name} {name}": ("ask", *question, "--kb", kb, "--json")
            for name, question in _questions(cases, run.folder)
        }
        for name, ran in run.command.each(asked).items():
            recorded.values[name] = summary(ran, run)
    return recorded


def _knowledge_base(run: Run, cases: Cases) -> Path:
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{cases.name}.kb"
    if not run.command("ingest", cases.docs, "--kb", path, "--json").out:  # of another version
        path.unlink(missing_ok=True)
        run.command("ingest", cases.docs, "--kb", path, "--json")
    return path


def _questions(cases: Cases, folder: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Yield each case's id, and its question or incident as input for ``ask``."""
    for line in (cases.folder / "cases.jsonl").read_text(encoding="utf-8").split("\n"):
        if not line:
            continue
        row = json.loads(line)
        incident = row.get("incident")
        if isinstance(incident, dict):
            path = folder / f"{cases.name}-{row['id']}.json"
            path.write_text(json.dumps(incident), encoding="utf-8")
            yield row["id"], ("--incident", path)
        elif incident:
            yield row["id"], ("--incident", cases.folder / "incidents" / f"{incident}.json")
        else:
            yield row["id"], (row["query"],)


def summary(ran: Any, run: Run) -> dict[str, Any]:
    """Return the lines that an answer of ``ask`` cites, and a digest of the whole.

    Args:
        ran: the finished command.
        run: the command's run.
    """
    if not ran.out:
        return {"exit": ran.code, "messages": stable(ran.err.splitlines(), run.places)}
    (answer,) = ran.json["agent_outputs"].values()
    body = answer["recommendation"]
    whole = {name: each for name, each in answer.items() if name not in SCORES}
    return {
        "exit": ran.code,
        "status": answer["status"],
        "steps": [" ".join(_cited(step)) for step in body["guidance"]],
        "similar": [" ".join(_cited(each)) for each in body["similar_incidents"]],
        "reading": [_where(each) for each in body.get("reading", ())],
        "digest": digest(stable(whole, run.places)),
    }


def _cited(step: dict[str, Any]) -> list[str]:
    return [_where(each) for each in (step["citation"], *step.get("further_citations", ()))]


def _where(citation: dict[str, Any]) -> str:
    return "{source_file}:{start_line}-{end_line}".format_map(citation)
