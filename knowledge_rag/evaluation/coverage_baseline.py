"""Gaps that are known: a file that keeps them from failing a build until they are closed.

An entry is an alert's name and its rule's file, so that lines may move and a gap may turn into another
one. Rules of one name in one file count: one more of them without a runbook is a new gap.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument
from knowledge_rag.evaluation.coverage_runbooks import Gap
from knowledge_rag.evaluation.named_files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knowledge_rag.evaluation.coverage_run import Checked

VERSION: Final = 1
MAX_BYTES: Final = 16 << 20

Key = tuple[str, str]
"""Name of an alert, and file of its rule."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Known gaps.

    Args:
        known: how many of each key.
        of_steps: those of which some are runbooks without steps, which not every run looks for.
    """

    known: Mapping[Key, int] = field(default_factory=dict)
    of_steps: frozenset[Key] = frozenset()

    def split(self, gaps: Sequence[Checked]) -> tuple[tuple[Checked, ...], tuple[Checked, ...]]:
        """Give the gaps that are new, and those that are known, each in their order."""
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
        """Give the entries that are gaps no more, or less often than they say.

        Args:
            gaps: all of this run.
            files: that were read; of others nothing is known, unless they are gone.
            knows_steps: whether this run looked for steps.
        """
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
    """Read a baseline.

    Raises:
        InvalidRequest: it is none.
        UnreadableDocument: the file can't be read.
    """
    try:
        text = read_text(path, MAX_BYTES)
    except UnreadableDocument as error:
        hint = "" if path.exists() else "; make it with --write-baseline"
        raise UnreadableDocument(str(path), f"{error.reason}{hint}") from error
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise InvalidRequest(f"{path}:{line}: no JSON; make it with --write-baseline") from error
    match told:
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
    """Refuse to write a baseline where something else is.

    Raises:
        InvalidRequest: the file is neither a baseline nor empty.
    """
    if not path.exists() or not path.stat().st_size:
        return
    try:
        read_baseline(path)
    except (InvalidRequest, UnreadableDocument) as error:
        raise InvalidRequest(f"{path} is no baseline, so none is written there") from error


def write_baseline(path: Path, gaps: Sequence[Checked]) -> None:
    """Write the gaps of a run as known ones; the same gaps give the same bytes.

    Raises:
        OSError: the file can't be written.
    """
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
