"""What sections of a runbook are for, by the words of their headings: one table.

A heading may say what its section is for ("Mitigation"), which matter it is about ("Replica lag"), or both.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from knowledge_rag.core.chunks import split_words


class Kind(StrEnum):
    """What a section is for."""

    DIAGNOSIS = "diagnosis"
    RESOLUTION = "resolution"
    VERIFICATION = "verification"
    ROLLBACK = "rollback"
    ESCALATION = "escalation"
    OTHER = "other"
    """Its heading says nothing of the kind: a procedure's own name, say."""
    BACKGROUND = "background"
    """Describes the matter and asks for nothing to be done."""
    PROHIBITED = "prohibited"
    """Lists what must not be done, or not by the person on call."""
    OBSOLETE = "obsolete"
    """Describes what was done once and isn't any more."""


ACTIONS: Final = frozenset(
    {Kind.DIAGNOSIS, Kind.RESOLUTION, Kind.VERIFICATION, Kind.ROLLBACK, Kind.ESCALATION}
)
"""Kinds whose sections say what to do."""
RULES: Final = re.compile(
    r"(?:general |safety |house |important )?(?:rules?|caveats?|prerequisites?|preconditions?|approvals?|safety|warnings?|limitations?|scope"
    r"|read (?:this|me)(?: first)?|(?:do )?(?:this )?first(?: of all)?|always|before (?:you )?(?:(?:start|begin|do|touch|change|run)(?:ing)?(?: anything)?|anything(?: else)?)|stop and read|first things first)(?: (?:for|of|on) (?:this|these|all|the) \w+)?",
    re.IGNORECASE,
)
"""How a section is called whose text holds for those beside it."""
NEVER: Final = frozenset({Kind.PROHIBITED, Kind.OBSOLETE})
"""Kinds whose sections never give steps, whatever else includes them."""

_WORDS: Final = {
    Kind.PROHIBITED: r"what (?:(?:you|we) )?(?:must |should )?not(?: to)?(?: be)? ?do(?:ne)?|leave alone|hands off|off limits|(?:things|what) to avoid|^\W*(?:do ?n[o’']t|never|must not)\b|not (?:for|by) on-?call"
    r"|anti[ -]?patterns?|forbidden|prohibited|bad (?:advice|practices?|ideas?)|wrong (?:way|approach|fix)"
    r"|what (?:went|we did) wrong|mistakes|look right but|we don[’']t do this",
    Kind.OBSOLETE: r"obsolete|deprecated|superseded|out ?dated|historical|history|(?:old|former|previous|legacy)"
    r" (?:procedure|process|way|method|steps?|runbook|instructions?)|no longer (?:used|valid|needed|applies|relevant)"
    r"|changelog|archived?\b|retired|until (?:v?\d|20\d\d)|before (?:v\d|20\d\d)",
    Kind.VERIFICATION: r"verif|validat|how (?:do|can) (?:i|we|you) know|(?:is|are) (?:it|we|everything) (?:over|done|fixed|healthy|fine|ok(?:ay)?|good|back)\b"
    r"|afterwards|aftercare|clean(?:ing)?[ -]?up|when (?:it )?is (?:it )?over|closing|post[ -]?checks?|confirm",
    Kind.ROLLBACK: r"roll(?:ing)?[ -]?back|revert|undo|back[ -]?out|fall(?:ing)?[ -]?back",
    Kind.ESCALATION: r"escalat|who to (?:call|page|wake|contact)|contacts?\b|on-?call (?:teams?|people)",
    Kind.DIAGNOSIS: r"diagnos|triage|investigat|troubleshoot|debugg|identif|inspect|assess|first checks?"
    r"|what to check|checks?\b",
    Kind.RESOLUTION: r"resol|mitigat|remed|repair|recover|workaround|fix(?:es|ing)?\b|procedure|immediate|steps?\b"
    r"|what to do|restor|actions?\b(?! items)|how to\b|instructions?\b|prerequisit|preparations?\b|before you (?:start|begin)|requirements?\b|case \d|solution|playbook|checklist",
    Kind.BACKGROUND: r"symptom|impact|overview|background|timeline|root cause|related|references?\b|see also"
    r"|what went|lucky|lessons|action items|detection|glossary|meaning|introduction|context|owner|about\b|summary"
    r"|possible causes?|causes?\b|expression|severity|links|resources|further reading|how it works|architecture"
    r"|descriptions?\b|metadata|definitions?\b|evidence|service details|table of contents|contents",
}
_PATTERNS: Final = {kind: re.compile(words, re.IGNORECASE) for kind, words in _WORDS.items()}
_TOLD: Final = re.compile(rf"\w*(?:{'|'.join(_WORDS.values())})\w*", re.IGNORECASE)
_OF_ANY: Final = re.compile(
    r"(?:an?|all|any|and|or|the|this|these|that|it|its|is|are|be|do|done|can|if|in|on|of|for|from|to|up|with|by|at"
    r"|how|what|when|where|who|why|we|you|your|i|s|t|see|first|next|then|more|further|also|some|general|common|know"
    r"|over|known|possible|quick|manual|short|long|term|actions?|checks?|commands?|causes?|root|cause|guide|guidance"
    r"|info|information|notes?|plan|process|problems?|issues?|incidents?|alerts?|alarms?|pages?|\d+|[a-z])"
)
"""Words that a heading of any runbook may have beside what its section is for."""
_LABEL: Final = re.compile(
    r"^\s*(?:[*_]{2}(?P<bold>[^*_]{2,60}?):?[*_]{2}:?|(?P<bare>[A-Z][\w '/-]{1,40}):)\s*$"
)
_BEGINNING: Final = re.compile(
    r"\W{0,4}(?P<words>[A-Z][\w '/-]{2,30}?)[*_]{0,2}:[*_]{0,2}\s+(?=\S)"
)
_NAME: Final = re.compile(r"\S*[a-z\d][A-Z]\S*|[^\s_-]+(?:[_-][^\s_-]+){2,}")
"""How an alert's name is written: one word of several, and more than the two of "Roll-back"."""
_STEP: Final = re.compile(
    r"\s*(?:(?:step|case|phase|part|stage)\s*)?(?:\d+(?:\.\d+)*|[ivx]+)[.):]?\s", re.IGNORECASE
)


def kind_told(heading: str) -> Kind:
    """Return what a heading says its section is for.

    >>> kind_told("Mitigation"), kind_told("What not to do"), kind_told("Replica lag")
    (<Kind.RESOLUTION: 'resolution'>, <Kind.PROHIBITED: 'prohibited'>, <Kind.OTHER: 'other'>)
    """
    if _NAME.fullmatch(heading.strip()):
        # an alert's name: MimirCompactorNotCleaningUpBlocks says nothing of its section
        return Kind.OTHER
    found = (kind for kind, pattern in _PATTERNS.items() if pattern.search(heading))
    kind = next(found, Kind.OTHER)
    # "Low number of background workers" is a matter: only a heading that says nothing else describes
    return Kind.OTHER if kind is Kind.BACKGROUND and _matter_of(heading) else kind


def tells_only_kind(heading: str) -> bool:
    """Whether a heading names no matter of its own: "How to resolve", and not "Recover the cache"."""
    return kind_told(heading) is not Kind.OTHER and not _matter_of(heading)


def _matter_of(heading: str) -> list[str]:
    """Return the words of a heading that say neither a kind nor what any heading may say."""
    words = re.findall(r"[^\W_]+", _TOLD.sub(" ", split_words(heading)).casefold())
    return [word for word in words if not _OF_ANY.fullmatch(word)]


def is_numbered_step(heading: str) -> bool:
    """Whether a heading is one step of the section around it: "2. Update the token", "Step 3: wait"."""
    return _STEP.match(heading) is not None


def kind_of_label(line: str) -> Kind | None:
    """Return what a line labels that does nothing else, such as ``Undo:`` or ``**Verification**``."""
    found = _LABEL.match(line)
    if found is None:
        return None
    words = found["bold"] or found["bare"]
    return kind_told(words) if tells_only_kind(words) else None


def kind_of_beginning(text: str) -> Kind | None:
    """Return what a paragraph is for that begins with its label: "Roll back: `cli revert`, then unfreeze."."""
    found = _BEGINNING.match(text)
    if found is None or not tells_only_kind(found["words"]):
        return None
    kind = kind_told(found["words"])
    return kind if kind in (Kind.ROLLBACK, Kind.VERIFICATION, Kind.RESOLUTION) else None
