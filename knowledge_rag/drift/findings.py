"""Findings of drift."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.drift.baseline import Form

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORM: Final = Form(("path", "kind", "subject"))
"""Of the baseline: it counts findings by document, kind and subject."""


MAX_WORD: Final = 300
"""Characters of a word to which a like one is looked for."""


class Check(StrEnum):
    """What is compared; each can be switched off."""

    COMMANDS = "commands"
    LINKS = "links"
    NAMES = "names"
    AGE = "age"
    OWNERS = "owners"
    AGREEMENT = "agreement"
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
    OTHER_FIGURE = "other-figure"
    OTHER_VALUE = "other-value"
    ACTION_ITEM = "action-item"
    SUPERSEDED = "superseded-link"
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
    Kind.OTHER_FIGURE: ("warning", "The alert fires by other figures."),
    Kind.OTHER_VALUE: ("warning", "The code gives the setting another value."),
    Kind.ACTION_ITEM: ("warning", "The runbook hasn't changed since the incident."),
    Kind.SUPERSEDED: ("warning", "The link leads to a page that isn't used any more."),
    Kind.MISSING_RESOURCE: ("error", "The AWS account has no such resource."),
    Kind.UNREADABLE: ("error", "The file can't be read: nothing of it was checked."),
}


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One finding.

    Args:
        path: of the document, relative to the folder, ``/``-separated.
        line: 1-based, as ``column`` is, which counts characters.
        end_column: exclusive, on the same line.
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
    def key(self) -> tuple[str, str, str]:
        """Return what a baseline counts it by."""
        return self.path, self.kind.value, self.subject

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
    """Return the known word that is most like this one, ``""`` if none is at least so like it, or if it is too long."""
    if len(word) > MAX_WORD:
        return ""
    close = get_close_matches(
        word, [it for it in among if len(it) <= 2 * MAX_WORD], n=1, cutoff=least
    )
    return close[0] if close else ""
