"""Baselines: known findings, so that only new ones fail a build.

A baseline counts findings by keys without lines, so that lines may move. `drift` and `coverage` have one each,
with other keys.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

VERSION: Final = 1
HINT: Final = "make it with --write-baseline"
Key = tuple[str, ...]


class Keyed(Protocol):
    """A finding, whose key says what it is about and not on which line."""

    @property
    def key(self) -> Key:
        """Return its key: one text for each field of the baseline's form."""


_Finding = TypeVar("_Finding", bound=Keyed)


@dataclass(frozen=True, slots=True)
class Baseline:
    """How many findings of each key are known, and the mark of those that have one."""

    known: Mapping[Key, int] = field(default_factory=dict)
    marks: Mapping[Key, str] = field(default_factory=dict)

    def split(
        self, findings: Sequence[_Finding]
    ) -> tuple[tuple[_Finding, ...], tuple[_Finding, ...]]:
        """Return the findings that are new, and those that are known, each in their order."""
        left = Counter(self.known)
        new: list[_Finding] = []
        known: list[_Finding] = []
        for finding in findings:
            (known if left[finding.key] > 0 else new).append(finding)
            left[finding.key] -= 1
        return tuple(new), tuple(known)

    def mended(self, findings: Iterable[Keyed]) -> list[Key]:
        """Return the keys of which more are known than were found, sorted."""
        found = Counter(finding.key for finding in findings)
        return [key for key, number in sorted(self.known.items()) if found[key] < number]


@dataclass(frozen=True, slots=True)
class Form:
    """How a baseline is written.

    Args:
        fields: names of the key's texts.
        file: which of them is the file that entries are sorted by.
        mark: name of one more field, ``""`` for none.
    """

    fields: tuple[str, ...]
    file: int = 0
    mark: str = ""

    def read(self, text: str, name: str) -> Baseline:
        """Read a baseline's text, or raise :exc:`InvalidRequest` with its file's name."""
        try:
            read = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidRequest(f"{name}:{getattr(error, 'lineno', 1)}: no JSON; {HINT}") from error  # fmt: skip
        match read:
            case {"version": int(1) as version, "known": [*entries]} if version is not True:
                known: Counter[Key] = Counter()
                marks: dict[Key, str] = {}
                for entry in entries:
                    key, count = self._entry(entry, name)
                    known[key] += count
                    if self.mark and isinstance(entry.get(self.mark), str):
                        marks[key] = entry[self.mark]
                return Baseline(known, marks)
        raise InvalidRequest(f"{name}:1: no baseline of version {VERSION}; {HINT}")

    def _entry(self, entry: Any, name: str) -> tuple[Key, int]:  # noqa: ANN401 - whatever JSON holds
        if isinstance(entry, dict):
            key = tuple(it for it in map(entry.get, self.fields) if isinstance(it, str))
            count = entry.get("count", 1)
            if len(key) == len(self.fields) and type(count) is int and count > 0:
                return key, count
        *first, last = self.fields
        fields = f"{', '.join(first)}, {last}"
        raise InvalidRequest(f"{name}: an entry is {fields} and, above 1, count, not {entry!r:.80}")

    def text(self, findings: Iterable[Keyed], marks: Mapping[Key, str] | None = None) -> str:
        """Return findings as known ones; the same findings give the same bytes."""
        counts = Counter(finding.key for finding in findings)
        entries = [
            dict(zip(self.fields, key, strict=True))
            | ({self.mark: marks[key]} if marks and key in marks else {})
            | ({"count": count} if count > 1 else {})
            for key, count in sorted(counts.items(), key=lambda it: (it[0][self.file], it[0]))
        ]
        return json.dumps({"version": VERSION, "known": entries}, indent=1, ensure_ascii=False) + "\n"  # fmt: skip
