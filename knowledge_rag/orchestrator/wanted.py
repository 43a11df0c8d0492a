"""The request of an incident or a question, and a place in a document that may answer it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.headings import (
    Kind,
)
from knowledge_rag.orchestrator.queries import WHO
from knowledge_rag.orchestrator.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knowledge_rag.orchestrator.outline import Outline, Section


UNDO: Final = re.compile(
    r"\b(?:undo|revert|rollback|back (?:on|off|to (?:the|normal|spot))|(?:on|off) again|(?:how|when|do|can|may|must|want) (?:\w+ ){0,2}(?:to )?return|return to (?:the|normal)"
    r"|(?:roll|go|turn|put|set|scale|switch|move|get|give|let|bring|take|fail|change|shift|route)(?:t?ing|e?s|e?d)?\b.{0,60}\bback)\b",
    re.IGNORECASE,
)
UNDOES: Final = re.compile(
    r"\b(?:undo|revert|lift(?:ing)?|resum\w+|unfreez\w+|roll(?:ing)? ?back|back|again|afterwards|(?:scal(?:e|ing)|back) down|normal|re-?enabl\w+|restor\w+|return(?:ing)?)\b",
    re.IGNORECASE,
)
_LEAVE: Final = re.compile(
    r"\b(?:get|come|go|switch) (?:off|out of|away from)\b|\b(?:can|may|could) (?:end|be ended)\b"
    r"|\b(?:mistake|accident(?:ally)?)\b.{0,80}\b(?:stop|cancel|abort) (?:it|that|this)\b",
    re.IGNORECASE,
)
"""Asks how to end something that was begun: "how do we get off the backup", "started it by mistake, stop it"."""
_OVER: Final = re.compile(
    r"\b(?:is|are|was|were|has been|have been) (?!not\b|\w+n['’]t\b)(?:\w+ ){0,2}?(?:repaired|fixed|replaced)\b"
    r"|\b(?:is|are|was|were) (?:\w+ )?over\b(?= *(?:[,.;!?]|$|now\b|and\b|but\b|so\b|since\b))"
    r"|\b(?:works?|working|runs?|running|ok|okay|fine|good|up|green|normal|healthy|stable) (?:(?:\w+ )?again|now)\b|\bwant\b.{0,40}\bagain\b",
    re.IGNORECASE,
)
"""Says that the trouble is over, so that temporary measures can end."""
_LEAVES: Final = re.compile(
    r"^\W*(?:\d[\d.]*\W+)?(?:off|end(?:ing)?|leav(?:e|ing)|out of|releas(?:e|ing))\b|\boff\W*$",
    re.IGNORECASE,
)
_VERIFY: Final = re.compile(
    r"(?<!\band )\bhow (?:do|can|would) (?:i|we) (?:know|tell|verify|(?:see|check) (?:that|whether|if))\b|\bis it over\b|\breally (?:ok|over|fixed)\b|\bcan (?:i|we) close\b|\bis everything ok\b"
    r"|\bwhat (?:do|should|must|can) (?:i|we) (?:check|verify)\b"
    r"|\bbefore (?:i|we) (?:can )?(?:close|say|declare|report)\b|\bbefore closing\b",
    re.IGNORECASE,
)
"""Asks only for verification: "... and how do I know" asks for the rest as well."""
_PAST: Final = re.compile(
    r"\blast time\b|\bdid we (?:do|fix)\b|\b(?:previous|earlier|past) incidents?\b|\bhappened before\b|\bpost-?mortem\b",
    re.IGNORECASE,
)

INCIDENT_NUMBER: Final = re.compile(r"\b[A-Z]{2,10}-\d+(?:-\d+)*\b")
"""Such as INC-2024-027."""
_CIRCUMSTANCE: Final = re.compile(
    r"\b(?:since|after|during|while|because of|due to)\b[^,.;:?!]*", re.IGNORECASE
)
"""A time or a cause in a question: "since the key rotation"."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request of an incident or a question, as far as choosing a procedure needs it.

    Args:
        names: alerts in it, exactly as written, likeliest first; and numbers of incidents.
        anchors: documents that the alert links, likeliest first, with the sections it names.
        labels: other facts about the alert, such as its environment.
        is_alert: whether it comes from an alert rather than a person's question.
        at: document and line of the procedure that somebody chose.
        titles: sentences that name the alert.
    """

    names: tuple[str, ...] = ()
    text: str = ""
    anchors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_alert: bool = False
    labels: str = ""
    service: str = ""
    at: tuple[str, int] | None = None
    titles: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """The names, then the text."""
        return " ".join((*self.names, self.text))

    @property
    def task(self) -> str:
        """The task in a question: its text without times and causes."""
        return _CIRCUMSTANCE.sub(" ", self.text)

    @property
    def is_past(self) -> bool:
        """Whether a question is about an earlier incident: it says so, or has its number."""
        has_number = any(INCIDENT_NUMBER.fullmatch(it) for it in self.names)
        return self.asks(_PAST) or (has_number and not self.is_alert)

    def asks(self, pattern: re.Pattern[str]) -> bool:
        """Whether it is a question that matches a pattern."""
        return not self.is_alert and pattern.search(self.text) is not None


@dataclass(frozen=True, slots=True)
class Place:
    """A section, and the reasons to choose it.

    Args:
        section: the section; the root stands for the page.
        why: ``chosen`` by somebody, ``linked``, ``named``, ``coded`` (filed under a code of the question),
            ``quoting`` (it quotes a program's message that the incident has), ``told`` (heading
            and page's name have all words of the alert's name), ``page`` or ``linked page`` (the page is filed under the
            alert's name or linked, and no heading tells which section) or ``found``.
        also: places that fit the alert as well: on other pages, or the further chapters of a long page.
        worth: by the search and by the incident's words, at most 1 each.
        rival: the best worth of a section on another subject, as a share of ``worth``.
    """

    outline: Outline
    section: Section
    why: str = "found"
    worth: float = 0.0
    rival: float = 1.0
    also: tuple[Place, ...] = ()


def asks_for_part(wanted: Wanted) -> bool:
    """Whether a question asks for a part of a page: how to undo, how to verify, whom to call."""
    return asks_to_undo(wanted) or any(wanted.asks(it) for it in (_VERIFY, WHO))


def asks_to_undo(wanted: Wanted) -> bool:
    """Whether a question asks only to undo or end something; "..., and how do we get back" asks for the rest as well."""
    return (wanted.asks(UNDO) and not _asks_for_all(wanted)) or _asks_to_end(wanted)


def _asks_for_all(wanted: Wanted) -> bool:
    """Whether a question asks for a whole procedure, or for something before it asks to undo that."""
    before = _AS_WELL.split(wanted.text, 1)[0]
    is_first = before != wanted.text and _REQUEST.search(before) and not UNDO.search(before)
    return bool(is_first) or wanted.asks(_ALL)


_AS_WELL: Final = re.compile(
    r"(?:,|\b(?:and|plus)) (?:then )?(?:how|what|when|can)\b|\b(?:including|incl\.|as well as|along with)",
    re.IGNORECASE,
)
_REQUEST: Final = re.compile(
    r"\bhow (?:do|can|to|should|would)\b|\bwhat (?:can|do|should|must) (?:i|we)\b|\b(?:can|should|may|must) (?:i|we)\b",
    re.IGNORECASE,
)
_ALL: Final = re.compile(
    r"\b(?:whole|entire|full|complete) procedure\b|\bin (?:which|what) order\b|\bstep by step\b|\ball (?:the )?steps\b",
    re.IGNORECASE,
)


def asks_to_revert(wanted: Wanted) -> bool:
    """Whether a question asks in so many words to undo something, or to put it back."""
    return wanted.asks(_REVERT)


_REVERT: Final = re.compile(
    r"\b(?:undo|revert|rollback|(?:roll|put|move|take|set|turn|switch|change)(?:ing)?\b.{0,60}\bback)\b",
    re.IGNORECASE,
)


def _asks_to_end(wanted: Wanted) -> bool:
    is_over = wanted.asks(_OVER) and not wanted.asks(_VERIFY)
    return is_over or wanted.asks(_LEAVE)


def part_missing(wanted: Wanted, texts: Iterable[str]) -> str:
    """Return the part that a question asks for and no text of a procedure mentions: "undo it"; ``""`` for none."""
    said = "\n".join(texts)
    for asked, spoken, part in _PARTS:
        if wanted.asks(asked) and not spoken.search(said):
            return part
    return ""


_PARTS: Final = (
    (re.compile(r"\b(?:undo|revert|roll ?back)\b", re.IGNORECASE), UNDOES, "undo it"),
    (
        re.compile(
            r"\b(?:verify|check (?:that|whether|if) (?:it|that)|know (?:that )?it)\b", re.IGNORECASE
        ),
        re.compile(
            r"\b(?:verif\w+|check\w*|confirm\w*|test\w*|should|expect\w*|until|finished|done)\b",
            re.IGNORECASE,
        ),
        "check that it worked",
    ),
)
"""For each part: how a question asks for it, how a procedure mentions it, and its name in a sentence."""


def words_of_part(wanted: Wanted) -> set[str]:
    """Return the words by which a question asks for a part of a page, which don't name its subject."""
    undoing = _OF_UNDOING if asks_to_undo(wanted) else set()
    return undoing | (_OF_VERIFYING if wanted.asks(_VERIFY) else set())


_OF_UNDOING: Final = words_of(["undo", "revert", "return", "normal", "switch", "turn"])
_OF_VERIFYING: Final = words_of(["check", "verify", "close", "ticket"])


def is_asked_for(wanted: Wanted, heading: str, kinds: set[Kind]) -> bool:
    """Whether a question asks for undoing or verifying, and a section is for that."""
    verifies = Kind.VERIFICATION in kinds  # "Is it working again?" undoes nothing
    undoes = Kind.ROLLBACK in kinds or (UNDOES.search(heading) is not None and not verifies)
    leaves = undoes or _LEAVES.search(heading) is not None
    return (
        (asks_to_undo(wanted) and undoes)
        or (_asks_to_end(wanted) and leaves)
        or (wanted.asks(_VERIFY) and verifies)
    )


def kinds_at(place: Place) -> set[Kind]:
    """Return the kinds of the headed sections at a place, including those around it."""
    section = place.section
    return {it.kind for it in (section, *section.above()) if it.heading}
