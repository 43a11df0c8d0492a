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

_TOLD: Final = re.compile(rf"\w*(?:{'|'.join(_WORDS.values())})\w*", re.IGNORECASE)
_OF_ANY: Final = re.compile(
    r"(?:an?|all|any|and|or|the|this|these|it|its|is|are|be|do|done|can|if|in|on|of|for|from|to|up|with|by|at|how"
    r"|what|when|where|who|why|we|you|your|i|s|t|see|first|next|then|more|further|also|some|general|common"
    r"|known|possible|quick|manual|short|long|term|actions?|checks?|commands?|causes?|root|cause|guide|guidance"
    r"|info|information|notes?|plan|process|problems?|issues?|incidents?|alerts?|alarms?|pages?|\d+)"
)
"""Words that a heading of any runbook may have beside what its section is for."""


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


def only_tells_purpose(heading: str) -> bool:
    """Whether a heading says nothing but that: "How to resolve", and not "Recover the cache"."""
    left = re.findall(r"[^\W_]+", _TOLD.sub(" ", heading).casefold())
    return tells_purpose(heading) and all(map(_OF_ANY.fullmatch, left))


def _purpose_told(heading: str) -> Purpose | None:
    return next((it for it, words in _PATTERNS.items() if words.search(heading)), None)
