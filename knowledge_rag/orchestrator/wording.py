"""The sentences in which a recommendation speaks for itself."""

from __future__ import annotations

from typing import Final

NO_MATCH: Final = "No documented guidance found for this scenario"
"""The whole summary where a search found nothing; the agent's prompt demands the same."""

UNREACHABLE: Final = (
    "The knowledge base could not be reached, which says nothing about what is documented."
)
"""The summary where it could not be searched."""

UNVERIFIED: Final = (
    "The knowledge base returned passages, but none of the advice could be verified against them."
)
"""The summary where nothing of an advisor's answer is left."""

NO_ADVICE: Final = "The knowledge base returned passages, but no advice could be written from them."
"""The summary where no advisor answered."""


_UNFINISHED: Final = "but the advisor did not finish: read them yourself"


def counted(number: int, noun: str) -> str:
    """Give a number with its noun, in the plural where it has to be.

    >>> counted(1, "query"), counted(3, "query"), counted(0, "step")
    ('1 query', '3 queries', '0 steps')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"


def listed(names: list[str]) -> str:
    """Join names as a sentence does.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def told(steps: int, documents: list[str], incidents: list[str]) -> str:
    """Give the summary of a recommendation whose advisor wrote none.

    Args:
        steps: how many there are.
        documents: their files, in order.
        incidents: the ids of similar incidents, ``""`` for one without.

    >>> told(3, ["runbooks/rds.md"], ["INC-1"])
    '3 steps from runbooks/rds.md. 1 similar incident: INC-1.'
    >>> told(0, [], ["INC-1"])
    'No steps were found. 1 similar incident: INC-1.'
    """
    sentences = []
    if steps:
        sentences.append(f"{counted(steps, 'step')} from {listed(documents)}.")
    else:
        sentences.append("No steps were found.")
    if incidents:
        known = [name for name in incidents if name]
        names = f": {listed(known)}" if known else ""
        sentences.append(f"{counted(len(incidents), 'similar incident')}{names}.")
    return " ".join(sentences)


def fruitless(passages: int, about: list[str], *, finished: bool = True) -> str:
    """Say why nothing is advised though something was retrieved.

    Args:
        passages: how many.
        about: the documents among them that hold enough of the incident's words.
        finished: whether who was to write came to an end: what half an answer leaves out, or another
            advisor's, says nothing of the documents.

    >>> fruitless(1, [])
    '1 passage came back; no document holds enough of the words that tell of the incident.'
    >>> fruitless(4, ["runbooks/rds.md"])
    '4 passages came back; those of runbooks/rds.md are about it, and none says what to do.'
    >>> fruitless(4, ["runbooks/rds.md"], finished=False)
    '4 passages came back; those of runbooks/rds.md are about it, but the advisor did not finish: read them yourself.'
    """
    if not about:
        why = "no document holds enough of the words that tell of the incident"
        end = "" if finished else ", and the advisor did not finish"
    else:
        why = f"those of {listed(about)} are about it, "
        end = "and none says what to do" if finished else _UNFINISHED
    return f"{counted(passages, 'passage')} came back; {why}{end}."
