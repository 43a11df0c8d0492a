"""The sentences of a recommendation, and the prompt that asks a model for the same ones."""

from __future__ import annotations

from enum import StrEnum
from textwrap import shorten
from typing import Final

from knowledge_rag.core.files import shipped

BAR: Final = "| "
"""Left of each line of a model's words, so that none of them can pass for a citation or for the product's own words."""
NO_MATCH: Final = "No documented guidance found for this scenario"
"""The whole summary if a search found nothing; the agent's prompt demands the same."""

UNREACHABLE: Final = (
    "The knowledge base could not be reached, which says nothing about what is documented."
)
"""The summary if the knowledge base could not be searched."""

UNVERIFIED: Final = (
    "The knowledge base returned passages, but none of the advice could be verified against them."
)
"""The summary if nothing of an advisor's answer is left."""

NO_ADVICE: Final = "The knowledge base returned passages, but no advice could be written from them."
"""The summary if no advisor answered."""


_UNFINISHED: Final = "the advisor did not finish: read them yourself"


UNCLEAR: Final = "It is unclear which procedure is meant: ask for one by its name, or say more."
"""The reasoning if a question may mean several procedures."""


RISKY: Final = (
    "It is unclear which procedure is meant, and the likeliest destroys something: "
    "ask for one by its name, or say more."
)
"""The reasoning if the evidence for a procedure that destroys something is thin."""


NO_WAY_BACK: Final = (
    "It is unclear which procedure is meant, and the likeliest doesn't say how to undo anything: "
    "ask for one by its name, or say more."
)
"""The reasoning if a question asks to undo something, and the evidence for a procedure without that is thin."""


CHAPTERS: Final = (
    "The alert's page has several chapters, and no heading tells which one is meant: choose one."
)
"""The reasoning if an alert's page is too long to be given whole."""


RESOLVED: Final = "The pager says that this is resolved. Steps are for when it fires."
"""Shown above all advice for a payload whose alerts are all over."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed.

    >>> counted(1, "query"), counted(3, "query"), counted(0, "step")
    ('1 query', '3 queries', '0 steps')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"


def listed(names: list[str], by: str = "and") -> str:
    """Join names as in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return f" {by} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def summed_up(steps: int, documents: list[str], incidents: list[str]) -> str:
    """Return the summary of a recommendation without one by its advisor.

    >>> summed_up(3, ["runbooks/rds.md"], ["INC-1"])
    '3 steps from runbooks/rds.md. 1 similar incident: INC-1.'
    >>> summed_up(0, ["runbooks/rds.md"], [])
    'No steps of runbooks/rds.md are shown.'
    >>> summed_up(0, [], ["INC-1"])
    'No steps were found. 1 similar incident: INC-1.'
    """
    sentences = []
    if steps:
        sentences.append(f"{counted(steps, 'step')} from {listed(documents)}.")
    elif documents:
        sentences.append(f"No steps of {listed(documents)} are shown.")
    else:
        sentences.append("No steps were found.")
    if incidents:
        known = [name for name in incidents if name]
        names = f": {listed(known)}" if known else ""
        sentences.append(f"{counted(len(incidents), 'similar incident')}{names}.")
    return " ".join(sentences)


def reasoned(
    steps: int, documents: list[str], reasons: tuple[str, ...], *, backed: int = 0, said: int = 0
) -> str:
    """Return the sentence that says what a recommendation is based on.

    >>> reasoned(6, ["runbooks/rds.md"], ("it is filed under the alert's name",))
    "6 steps from 1 document: it is filed under the alert's name."
    """
    source = f"{counted(steps, 'step')} from {counted(len(documents), 'document')}"
    more = [f"{said - backed} of {said} statements are not backed"] if backed < said else []
    return f"{source}: {'; '.join([*reasons, *more])}." if reasons or more else f"{source}."


def nothing_fits(most: int, needed: int) -> str:
    """Return why no step is shown although there is a procedure.

    >>> nothing_fits(100, 412)
    'no procedure fits in 100 tokens: the first one takes 412'
    """
    return f"no procedure fits in {most} tokens: the first one takes {needed}"


class Declined(StrEnum):
    """Why a page about an incident gives no steps for it."""

    UNREAD = "unread"
    """No steps could be read from it."""
    NOT_FOR = "not_for"
    """It says that its steps don't apply to the request: these lines are the reading."""
    TO_WRITE = "to_write"
    """It says that the answer is still to be written: this line is the reading."""
    UNUSED = "unused"
    """It is filed under the alert's name and no longer used: it is the first reading."""


_DECLINED: Final = {
    Declined.UNREAD: "The closest page, {}, is about it, and no steps could be read from it.",
    Declined.NOT_FOR: "{} says that its steps aren't for this",
    Declined.TO_WRITE: "{} says that this is still to be written",
    Declined.UNUSED: "The closest page, {}, is filed under this name and marked as out of use (deprecated, superseded "
    "or old): its steps aren't given.",
}


_SHOWN_DECLINING: Final = 240
"""Maximum characters that are quoted of the lines by which a page declines."""


def near_miss(
    closest: str,
    unknown: tuple[str, ...],
    declined: Declined | None = None,
    said: str = "",
) -> str:
    """Return why nothing is advised although something was found; ``said`` is how a page declines.

    >>> near_miss("runbooks/postgres.md", ("MongoDB",))
    'The closest page is runbooks/postgres.md, and nothing found mentions MongoDB.'
    >>> near_miss("runbooks/postgres.md", ())
    'The closest page is runbooks/postgres.md, and search is not sure that it is about this.'
    >>> near_miss("mail.md", (), Declined.TO_WRITE, "TODO: ask Jo.")
    'mail.md says that this is still to be written: "TODO: ask Jo."'
    """
    if not closest:
        return "Nothing that was found says what to do."
    if declined:
        quoted = f': "{shorten(said, _SHOWN_DECLINING, placeholder=" …")}"' if said else ""
        return _DECLINED[declined].format(closest) + quoted
    missing = (
        f"nothing found mentions {listed([*unknown], 'or')}"
        if unknown
        else "search is not sure that it is about this"
    )
    return f"The closest page is {closest}, and {missing}."


def no_steps_at(source_file: str, line: int) -> str:
    """Return why nothing is advised at a chosen place.

    >>> no_steps_at("runbooks/rds.md", 90)
    'There are no steps at runbooks/rds.md:90.'
    """
    return f"There are no steps at {source_file}:{line}."


def not_in(source_file: str, line: int, last: int) -> str:
    """Return why a chosen place isn't in the knowledge base; ``""`` if it is.

    >>> not_in("runbooks/rds.md", 90, 0)
    'there is no document runbooks/rds.md in the knowledge base'
    >>> not_in("runbooks/rds.md", 90, 1), not_in("runbooks/rds.md", 90, 90)
    ('runbooks/rds.md has no line 90: its last one is line 1', '')
    """
    if not last:
        return f"there is no document {source_file} in the knowledge base"
    return f"{source_file} has no line {line}: its last one is line {last}" if line > last else ""


def fruitless(passages: int, *, finished: bool = True) -> str:
    """Return why a model advises nothing although something was retrieved.

    >>> fruitless(1)
    '1 passage came back; the advisor found nothing in it.'
    >>> fruitless(4, finished=False)
    '4 passages came back; the advisor did not finish: read them yourself.'
    """
    why = "the advisor found nothing in " + ("it" if passages == 1 else "them")
    return f"{counted(passages, 'passage')} came back; {why if finished else _UNFINISHED}."


PROMPT: Final = "prompts/knowledge-rag-agent.txt"
"""The prompt of the deployed agent and of Bedrock models."""


def agent_prompt() -> str:
    """Return the prompt's text.

    Raises:
        KnowledgeRagError: the file is in neither of its places, so the installation is incomplete.
    """
    return shipped(PROMPT).read_text(encoding="utf-8")
