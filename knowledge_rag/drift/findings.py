"""Findings of drift, and the baseline of known ones.

A baseline counts findings by document, kind and subject, so that lines may move.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

BASELINE_VERSION: Final = 1


class Check(StrEnum):
    """What is compared; each can be switched off."""

    COMMANDS = "commands"
    LINKS = "links"
    NAMES = "names"
    AGE = "age"
    OWNERS = "owners"
    DANGER = "danger"


BY_DEFAULT: Final = frozenset(Check) - {Check.DANGER}
"""Checks that run unless others are named: where a warning is wanted is a team's own rule."""


class Kind(StrEnum):
    """What is wrong. The description is a rule's in SARIF."""

    UNKNOWN_COMMAND = "unknown-command"
    UNKNOWN_OPTION = "unknown-option"
    MISSING_OPTION = "missing-option"
    WRONG_VALUE = "wrong-value"
    REMOVED = "removed"
    DEPRECATED = "deprecated"
    ABBREVIATED = "abbreviated-option"
    DEAD_LINK = "dead-link"
    DEAD_ANCHOR = "dead-anchor"
    UNKNOWN_NAME = "unknown-name"
    OVERDUE = "overdue"
    CODE_CHANGED = "code-changed"
    UNKNOWN_OWNER = "unknown-owner"
    UNGUARDED = "unguarded"
    MISSING_RESOURCE = "missing-resource"
    UNREADABLE = "unreadable"

    @property
    def level(self) -> str:
        """Return its severity: ``error``, ``warning`` or ``note``."""
        return _OF[self][0]

    @property
    def description(self) -> str:
        """Return what it means, in a sentence."""
        return _OF[self][1]


_OF: Final[Mapping[Kind, tuple[str, str]]] = {
    Kind.UNKNOWN_COMMAND: ("error", "The tool has no such command."),
    Kind.UNKNOWN_OPTION: ("error", "The command has no such option."),
    Kind.MISSING_OPTION: ("error", "The command needs an option that isn't given."),
    Kind.WRONG_VALUE: ("error", "The option doesn't accept the value."),
    Kind.REMOVED: ("error", "The command was removed from the tool."),
    Kind.DEPRECATED: ("warning", "The command or option is deprecated."),
    Kind.ABBREVIATED: ("note", "The option's beginning works until another begins so."),
    Kind.DEAD_LINK: ("error", "The link leads to no file."),
    Kind.DEAD_ANCHOR: ("warning", "The link leads to no heading of the file."),
    Kind.UNKNOWN_NAME: ("error", "The code defines no such name, and a similar one."),
    Kind.OVERDUE: ("warning", "The review is overdue."),
    Kind.CODE_CHANGED: ("note", "The code that the line names changed since."),
    Kind.UNGUARDED: ("note", "Nothing near the destructive command warns."),
    Kind.UNKNOWN_OWNER: ("warning", "The owner is in no list of owners."),
    Kind.MISSING_RESOURCE: ("error", "The AWS account has no such resource."),
    Kind.UNREADABLE: ("error", "The file can't be read: nothing of it was checked."),
}


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One finding.

    Args:
        path: of the document, relative to the folder, ``/``-separated.
        line: 1-based.
        column: 1-based, in characters.
        end_column: exclusive, on the same line.
        kind: what is wrong.
        subject: what the finding is about, without its place, such as ``kubectl get --al``.
        message: one sentence without a full stop.
        fix: what to write instead, ``""`` if unknown.
    """

    path: str
    line: int
    column: int
    end_column: int
    kind: Kind
    subject: str
    message: str
    fix: str = ""

    def __str__(self) -> str:
        """Return ``path:line:column level: message [kind]``, which editors open."""
        place = f"{self.path}:{self.line}:{self.column}"
        return f"{place}: {self.kind.level}: {self.sentence} [{self.kind}]"

    @property
    def sentence(self) -> str:
        """The message and the fix."""
        return self.message + (f"; did you mean {self.fix}?" if self.fix else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form."""
        wire: dict[str, Any] = {
            "path": self.path, "line": self.line, "column": self.column,
            "end_column": self.end_column, "kind": self.kind.value, "severity": self.kind.level,
            "subject": self.subject, "message": self.message,
        }  # fmt: skip
        return wire | ({"fix": self.fix} if self.fix else {})


def near(word: str, among: Iterable[str], least: float = 0.75) -> str:
    """Return the known word that is most like this one, ``""`` if none is at least so like it."""
    close = get_close_matches(word, list(among), n=1, cutoff=least)
    return close[0] if close else ""


Key = tuple[str, str, str]


def _key(finding: Finding) -> Key:
    return finding.path, finding.kind.value, finding.subject


def split(
    findings: Sequence[Finding], known: Mapping[Key, int]
) -> tuple[list[Finding], list[Finding]]:
    """Return the findings that are new, and those that the baseline knows, each in their order."""
    left = Counter(known)
    new: list[Finding] = []
    old: list[Finding] = []
    for finding in findings:
        (old if left[_key(finding)] > 0 else new).append(finding)
        left[_key(finding)] -= 1
    return new, old


def read_baseline(path: Path) -> Counter[Key]:
    """Read a baseline, or raise :exc:`InvalidRequest`."""
    hint = "make it with --write-baseline"
    try:
        baseline = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidRequest(f"{path}: {error.strerror or error}; {hint}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"{path}: no JSON; {hint}") from error
    match baseline:
        case {"version": 1, "known": [*entries]}:
            known: Counter[Key] = Counter()
            for entry in entries:
                match entry:
                    case {"path": str(file), "kind": str(kind), "subject": str(subject), **rest}:
                        count = rest.get("count", 1)
                        known[file, kind, subject] += count if type(count) is int else 1
                    case _:
                        raise InvalidRequest(f"{path}: an entry is path, kind and subject; {hint}")
            return known
    raise InvalidRequest(f"{path}: no baseline of version {BASELINE_VERSION}; {hint}")


def write_baseline(path: Path, findings: Sequence[Finding]) -> None:
    """Write findings as known ones; the same findings give the same bytes."""
    entries = [
        {"path": file, "kind": kind, "subject": subject} | ({"count": count} if count > 1 else {})
        for (file, kind, subject), count in sorted(Counter(map(_key, findings)).items())
    ]
    text = json.dumps({"version": BASELINE_VERSION, "known": entries}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
