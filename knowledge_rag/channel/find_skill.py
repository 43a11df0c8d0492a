"""Finds the one skill to load for an alert, in a few hundred tokens.

Search and choice are the same as for every answer. A skill should be loaded if the alert's name or link decides it,
or if the chosen procedure and the best passage are in the same one. Otherwise the possible skills are named, or a
statement that nothing is documented.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.channel.message import evidence_line, one_line, outcome_line
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.tokens import token_bound
from knowledge_rag.orchestrator.wording import UNCLEAR

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowledge_rag.channel.skills import Skill, Skills
    from knowledge_rag.core.citations import Citation
    from knowledge_rag.orchestrator.consultation import Consultation

MAX_TOKENS: Final = 500
"""Default maximum tokens of an answer, see :func:`~knowledge_rag.core.tokens.token_bound`."""

MAX_SKILLS: Final = 5
"""Maximum skills that are named."""

_SHOWN: Final = 100
"""Maximum characters of a skill's description when there are several."""
_BY_WORDS: Final = frozenset({"", "found"})
"""Reasons for choosing a procedure other than a name or a link."""


@dataclass(frozen=True, slots=True)
class Found:
    """The skills for an alert.

    Args:
        status: ``ok`` with a skill to load; ``no_match`` if none is certain or nothing is documented.
        skills: most likely first. With ``ok``, the first one should be loaded, or, if lint found text aimed at a model
        in it, a person should read its lines.
        is_documented: whether each of the skills is a candidate, and not just the closest.
        said: how good the evidence is, or why there is no skill.
    """

    status: Status
    skills: tuple[Skill, ...]
    is_documented: bool
    said: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        named = [described(it) for it in self.skills]
        given = named[: self.status is Status.OK]
        others = named[len(given) :]
        key = "read" if given and self.skills[0].flagged else "load"
        return {
            "status": self.status.value,
            "reasoning": self.said,
            **({key: given[0]} if given else {}),
            "could_be": others if self.is_documented else [],
            "closest": [] if self.is_documented else others,
        }


def found(consultation: Consultation, skills: Skills) -> Found:
    """Return the skills for a consultation's choice and results."""
    given = consultation.recommendation
    whole = given.to_dict()
    said = one_line(f"{outcome_line(whole)} {evidence_line(whole)}")
    passages = [
        it.citation for one in consultation.findings.asked[:1] for it in one.outcome.results
    ]
    reading = [it.citation for it in given.reading]
    if given.status is not Status.OK or not given.guidance:
        made = _skills_at((*passages, *reading) if given.meant else (*reading, *passages), skills)
        return Found(given.status, made, bool(given.meant), said)
    chosen = given.guidance[0].citations[0].citation
    plan = consultation.findings.plan
    is_decided = plan is not None and not _BY_WORDS & {block.why for block in plan.blocks}
    made = _skills_at((chosen, *passages) if is_decided else (*passages, chosen), skills)
    own = {it.name for it in _skills_at((chosen,), skills)}
    if made and (is_decided or made[0].name in own):
        return Found(Status.OK, made, is_documented=True, said=said)
    return Found(Status.NO_MATCH, made, is_documented=True, said=UNCLEAR)


def _skills_at(places: Iterable[Citation], skills: Skills) -> tuple[Skill, ...]:
    made: dict[str, Skill] = {}
    for at in places:
        if skill := skills.at(at.source_file, at.start_line, at.end_line):
            made.setdefault(skill.name, skill)
    return tuple(itertools.islice(made.values(), MAX_SKILLS))


@dataclass(frozen=True, slots=True)
class Listing:
    """As many skills as fit, one per line.

    Args:
        lines: name and document.
        names: of the listed skills that can be loaded.
        refused: names of the skills in which lint found text aimed at a model.
        is_whole: whether there are no more.
    """

    lines: tuple[str, ...]
    names: tuple[str, ...]
    refused: tuple[str, ...]
    is_whole: bool

    @property
    def text(self) -> str:
        """The lines, and a note if there are more."""
        return "\n".join((*self.lines, *(() if self.is_whole else (_MORE,)))) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        refused = {"refused": list(self.refused)} if self.refused else {}
        return {"skills": list(self.names), **refused, "complete": self.is_whole}


_MORE: Final = "... and more. `skills find` searches all of them by an alert's text."


def listing(skills: Iterable[Skill], max_tokens: int) -> Listing:
    """List as many skills as fit in ``max_tokens``."""
    left = max_tokens - token_bound(_MORE) - 1
    lines: list[str] = []
    names: list[str] = []
    refused: list[str] = []
    for skill in skills:
        mark = f" (for a person to read: {FLAGGED})" if skill.flagged else ""
        line = neutralise(f"{skill.name}: {skill.source_file}{mark}")
        left -= token_bound(f"{line}\n")
        if left < 0:
            return Listing(tuple(lines), tuple(names), tuple(refused), is_whole=False)
        lines.append(line)
        (refused if skill.flagged else names).append(skill.name)
    return Listing(tuple(lines), tuple(names), tuple(refused), is_whole=True)


def described(skill: Skill) -> dict[str, Any]:
    """Return the data with which a host loads a skill."""
    return {
        "name": skill.name,
        "description": "" if skill.flagged else skill.description,
        "source_file": skill.source_file,
        "start_line": skill.start,
        "end_line": skill.end,
        "digest": f"sha256:{skill.digest}",
        "flagged": sorted({it.kind.value for it in skill.flagged}),
    }


def in_words(it: Found, max_tokens: int = MAX_TOKENS) -> str:
    """Return the result as text of at most ``max_tokens``.

    The skill to load comes first, then its procedure, whole or not at all, then as many others as fit.
    """
    lines, others = [it.said], it.skills
    if it.status is Status.OK:
        first, *rest = it.skills
        others = tuple(rest)
        lines = [it.said, _refused(first)] if first.flagged else _loaded(first, it.said, max_tokens)
        heading = "If it is not that:"
    else:
        heading = "It could be:" if it.is_documented else "Closest, to read, not to follow:"
    kept = _fitting([*lines, "", heading], [_other(one) for one in others], max_tokens)
    return neutralise("\n".join(kept or lines)) + "\n"


def _fitting(lines: Sequence[str], others: Sequence[str], most: int) -> list[str]:
    """Return lines with as many others as fit; nothing if none do."""
    kept = [*lines]
    for line in others:
        if _cost((*kept, line)) > most:
            break
        kept.append(line)
    return kept if len(kept) > len(lines) else []


def _cost(lines: Iterable[str]) -> float:
    return token_bound("".join(f"{line}\n" for line in lines))


def _loaded(skill: Skill, said: str, max_tokens: int) -> list[str]:
    """Return the skill to load, and its procedure if it fits."""
    lines = [f"Load the skill {skill.name} ({_place(skill)}).", said]
    whole = [*lines, "", skill.body.rstrip("\n")]
    if (needed := math.ceil(_cost(whole))) <= max_tokens:
        return whole
    return [*lines, f"Its procedure doesn't fit in {max_tokens} tokens: it takes {needed}."]


def _refused(skill: Skill) -> str:
    """Return why a skill can't be loaded, and where a person can read it; nothing of its text."""
    found = skill.flagged[0]
    return f"A person has to read {_place(skill)}: {FLAGGED} in it (line {found.line}: {found.message})."


FLAGGED: Final = "lint found text aimed at a model"


def _place(skill: Skill) -> str:
    return f"{skill.source_file}:{skill.start}-{skill.end}"


def _other(skill: Skill) -> str:
    if skill.flagged:
        return f"- {_refused(skill)}"
    said = skill.description
    short = said if len(said) <= _SHOWN else said[:_SHOWN].rpartition(" ")[0] + " ..."
    return f"- {skill.name} ({_place(skill)}): {short}"
