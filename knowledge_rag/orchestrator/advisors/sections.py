"""What the sections of a runbook are for, by their headings."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence


class Purpose(IntEnum):
    """What a section is for, in the order in which a person on call needs it."""

    DIAGNOSIS = 1
    OTHER = 2
    """Under a heading that says nothing of the kind: a procedure's own name, say."""
    RESOLUTION = 3
    VERIFICATION = 4
    ROLLBACK = 5
    ESCALATION = 6
    INTRODUCTION = 7
    """Below the document's title, or below no heading: all there is of a page without sections, and
    elsewhere what tells of the matter."""
    BACKGROUND = 8
    """Tells about the matter and asks for nothing to be done."""


_WORDS: Final = {
    Purpose.VERIFICATION: r"verif|validat",
    Purpose.ROLLBACK: r"roll(?:ing)?[ -]?back|revert|undo|back[ -]?out",
    Purpose.ESCALATION: r"escalat|who to (?:call|page)|contacts?\b",
    Purpose.DIAGNOSIS: r"diagnos|triage|investigat|troubleshoot|debugg|identif|inspect|assess"
    r"|first checks?",
    Purpose.RESOLUTION: r"resol|mitigat|remed|repair|recover|workaround|fix(?:es|ing)?\b|procedure"
    r"|immediate|steps\b|what to do|restor",
    Purpose.BACKGROUND: r"symptom|impact|overview|background|timeline|root cause|related"
    r"|references?\b|see also|what went|lucky|lessons|action items|detection|refund|glossary"
    r"|meaning|introduction|context|changelog|history|owner|prerequisit",
}
_PATTERNS: Final = {it: re.compile(words, re.IGNORECASE) for it, words in _WORDS.items()}


def purpose_of(path: Sequence[str], title: str = "") -> Purpose:
    """Give what a section is for: what the outermost heading that tells says.

    Under "Resolution", a section "Roll back" is a way to resolve, and "Check the layers" under
    "Diagnosis" one to diagnose; so the outer heading counts. The document's title tells nothing:
    a runbook named "Kafka recovery" has a section for symptoms, too.

    Args:
        path: headings above the lines, outermost first.
        title: of the document.
    """
    if not path or list(path) == [title]:
        return Purpose.INTRODUCTION
    purposes = map(_purpose_told, path[1:] if len(path) > 1 else path)
    return next((it for it in purposes if it), Purpose.OTHER)


def tells_purpose(heading: str) -> bool:
    """Whether a heading says what its section is for, rather than which matter it is about."""
    return _purpose_told(heading) is not None


def _purpose_told(heading: str) -> Purpose | None:
    return next((it for it, words in _PATTERNS.items() if words.search(heading)), None)
