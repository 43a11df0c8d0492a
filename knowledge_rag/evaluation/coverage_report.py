"""Findings of a coverage check, the baseline of known gaps, and whether a build may pass.

A baseline counts gaps by the alert's name and its rule's file, so that lines may move and one gap may turn
into another.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument
from knowledge_rag.evaluation.coverage_runbooks import Gap
from knowledge_rag.evaluation.coverage_wanted import StepsCheck
from knowledge_rag.evaluation.datasets import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knowledge_rag.evaluation.coverage_check import Checked
    from knowledge_rag.evaluation.coverage_rules import BrokenFile, RuleFiles
    from knowledge_rag.evaluation.coverage_wanted import Wanted
    from knowledge_rag.evaluation.datasets import Target

VERSION: Final = 1
MAX_BYTES: Final = 16 << 20

Key = tuple[str, str]
"""Name of an alert, and file of its rule."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """How many gaps of each key are known; some of ``of_steps`` are runbooks without steps."""

    known: Mapping[Key, int] = field(default_factory=dict)
    of_steps: frozenset[Key] = frozenset()

    def split(self, gaps: Sequence[Checked]) -> tuple[tuple[Checked, ...], tuple[Checked, ...]]:
        """Return the gaps that are new, and those that are known, each in their order."""
        left = Counter(self.known)
        new: list[Checked] = []
        known: list[Checked] = []
        for gap in gaps:
            key = _key(gap)
            (known if left[key] > 0 else new).append(gap)
            left[key] -= 1
        return tuple(new), tuple(known)

    def mended(
        self, gaps: Sequence[Checked], files: Iterable[str], *, knows_steps: bool = True
    ) -> tuple[Key, ...]:
        """Return the entries with more gaps than this run found in the files that it read, or that are gone."""
        found = Counter(map(_key, gaps))
        read = frozenset(files)
        return tuple(
            key
            for key, number in sorted(self.known.items())
            if found[key] < number
            and (knows_steps or key not in self.of_steps)
            and (key[1] in read or not Path(key[1]).exists())
        )


def read_baseline(path: Path) -> Baseline:
    """Read a baseline, or raise :exc:`InvalidRequest` or :exc:`UnreadableDocument`."""
    try:
        text = read_text(path, MAX_BYTES)
    except UnreadableDocument as error:
        hint = "" if path.exists() else "; make it with --write-baseline"
        raise UnreadableDocument(str(path), f"{error.reason}{hint}") from error
    try:
        baseline = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise InvalidRequest(f"{path}:{line}: no JSON; make it with --write-baseline") from error
    match baseline:
        case {"version": 1, "known": [*entries]}:
            known: Counter[Key] = Counter()
            of_steps = set()
            for entry in entries:
                key, count = _entry(path, entry)
                known[key] += count
                if entry.get("gap") == Gap.NO_STEPS:
                    of_steps.add(key)
            return Baseline(known, frozenset(of_steps))
    raise InvalidRequest(
        f"{path}:1: no baseline of version {VERSION}; make it with --write-baseline"
    )


def check_replaceable(path: Path) -> None:
    """Raise :exc:`InvalidRequest` if a file is neither a baseline nor empty."""
    if not path.exists() or not path.stat().st_size:
        return
    try:
        read_baseline(path)
    except (InvalidRequest, UnreadableDocument) as error:
        raise InvalidRequest(f"{path} is no baseline, so none is written there") from error


def write_baseline(path: Path, gaps: Sequence[Checked]) -> None:
    """Write the gaps of a run as known ones; the same gaps give the same bytes."""
    counts = Counter(map(_key, gaps))
    whys = {_key(gap): gap.gap.value for gap in gaps if gap.gap is not None}
    entries: list[dict[str, Any]] = [
        {"alert": alert, "file": file, "gap": whys[alert, file]}
        | ({"count": count} if count > 1 else {})
        for (alert, file), count in sorted(counts.items(), key=lambda each: each[0][::-1])
    ]
    text = json.dumps({"version": VERSION, "known": entries}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def _entry(path: Path, entry: object) -> tuple[Key, int]:
    match entry:
        case {"alert": str(alert), "file": str(file), **others}:
            count = others.get("count", 1)
            if type(count) is int and count > 0:
                return (alert, file), count
    raise InvalidRequest(f"{path}: an entry is alert, file and, above 1, count, not {entry!r:.80}")


def _key(gap: Checked) -> Key:
    return gap.alert.name, gap.alert.file


@dataclass(frozen=True, slots=True)
class Coverage:
    """The outcome for all alerts.

    Args:
        checked: each alert, in the order of the files; at least one.
        new: findings that no baseline knows, warnings included.
        known: findings of the baseline.
        mended: entries of the baseline that are gaps no more.
        broken: files of rules of which nothing was checked.
        skipped: files of folders and patterns that hold no rules.
        wanted: what makes a build pass.
    """

    checked: tuple[Checked, ...]
    new: tuple[Checked, ...]
    known: tuple[Checked, ...]
    mended: tuple[Key, ...]
    broken: tuple[BrokenFile, ...]
    skipped: tuple[str, ...]
    wanted: Wanted

    @property
    def gaps(self) -> tuple[Checked, ...]:
        """Return the new findings that leave an alert uncovered."""
        return tuple(each for each in self.new if each.gap is not None)

    @property
    def warnings(self) -> tuple[Checked, ...]:
        """Return the other new findings: covered, and no step to take."""
        return tuple(each for each in self.new if each.gap is None)

    @property
    def unknown(self) -> tuple[Checked, ...]:
        """Return the alerts whose search failed."""
        return tuple(each for each in self.checked if each.reason is not None)

    @property
    def steps_unknown(self) -> tuple[Checked, ...]:
        """Return the covered alerts whose search for steps failed."""
        return tuple(each for each in self.checked if each.steps_unknown is not None)

    @property
    def covered(self) -> int:
        """Return how many alerts find their own runbook, and steps in it where they have to."""
        return sum(each.covered for each in self.checked)

    @property
    def without_steps(self) -> int:
        """Return how many of the covered alerts find no step in their runbook."""
        return sum(each.covered and each.finding is not None for each in self.checked)

    @property
    def share(self) -> float:
        """Return the share of alerts that are covered; known gaps are not."""
        return self.covered / len(self.checked)

    @property
    def passed(self) -> bool:
        """Whether a build may pass; not while anything is unknown of an alert or a file."""
        if self.broken or self.unknown or (self.wanted.baseline is not None and self.gaps):
            return False
        return self.share >= self.wanted.share

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON has it."""
        return {
            "alerts": len(self.checked),
            "covered": self.covered,
            "without_steps": self.without_steps,
            "share": round(self.share, 6),
            "threshold": self.wanted.share,
            "top": self.wanted.top,
            "passed": self.passed,
            "findings": [_finding(gap) for gap in self.gaps],
            "warnings": [_finding(each) for each in self.warnings],
            "known": [_finding(each) for each in self.known],
            "mended": [{"alert": alert, "file": file} for alert, file in self.mended],
            "degraded": [
                _rule(each) | {"reason": each.reason.value} for each in self.unknown if each.reason
            ],
            "unreadable": [each.to_dict() for each in self.broken],
            "skipped": list(self.skipped),
            "details": [_detail(each) for each in self.checked],
        }


def summarise(checked: Sequence[Checked], rules: RuleFiles, wanted: Wanted) -> Coverage:
    """Sum up at least one checked alert."""
    strict = wanted.steps is StepsCheck.REQUIRE
    judged = tuple(each.needing_steps() if strict else each for each in checked)
    # gaps first, so that what a baseline knows is not used up by what does not fail
    found = [each for each in judged if each.gap is not None]
    found += [each for each in judged if each.gap is None and each.finding is not None]
    baseline = wanted.baseline
    new, known = baseline.split(found) if baseline else (tuple(found), ())
    unsure = [each for each in judged if each.reason is not None or each.steps_unknown is not None]
    mended: tuple[Key, ...] = ()
    if baseline:
        knows_steps = wanted.steps is not StepsCheck.OFF
        mended = baseline.mended([*found, *unsure], rules.files, knows_steps=knows_steps)
    return Coverage(judged, new, known, mended, rules.broken, rules.skipped, wanted)


def _rule(each: Checked) -> dict[str, Any]:
    return {"alert": each.alert.name, "file": each.alert.file, "line": each.alert.place.line}


def _finding(each: Checked) -> dict[str, Any]:
    kind = each.finding.value if each.finding else None
    return {"kind": kind, "message": each.message, **_rule(each)}


def _state(each: Checked) -> str:
    if each.reason is not None:
        return "degraded"
    if each.gap is not None:
        return "missing"
    return "covered" if each.finding is None else "covered_without_steps"


def _detail(each: Checked) -> dict[str, Any]:
    detail = _rule(each) | {
        "covered": each.covered,
        "state": _state(each),
        "runbook": None,
        "hit": None,
        "steps": None,
        "queries": list(each.queries),
        "instead": [citation.to_dict() for citation in each.instead],
    }
    if each.runbook is not None:
        targets = [_target(target) for target in each.runbook.targets]
        detail["runbook"] = {"by": each.runbook.by.value, "targets": targets}
    if each.hit is not None:
        found = each.hit
        detail["hit"] = {"query": found.query, "rank": found.rank, **found.citation.to_dict()}
    if each.steps is not None:
        detail["steps"] = each.steps.to_dict()
    return detail


def _target(target: Target) -> dict[str, Any]:
    fields: dict[str, Any] = {"source_file": target.source_file}
    if target.lines:
        fields["start_line"], fields["end_line"] = target.lines
    return fields
