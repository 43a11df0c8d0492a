"""Instructs a model that writes from given evidence, and reads its answer, whoever runs the model."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.failures import MAX_CODE_CHARACTERS
from knowledge_rag.core.outcome import TOOL_NAMES, Reason
from knowledge_rag.orchestrator.advisors.advisor import DATA_ONLY, Advice, incident_text
from knowledge_rag.orchestrator.errors import ModelFailed
from knowledge_rag.orchestrator.queries import MAX_QUERIES, RESULTS
from knowledge_rag.orchestrator.wording import NO_MATCH, UNREACHABLE, counted, listed

if TYPE_CHECKING:
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.retrieval import Findings

MAX_TOKENS: Final = 64_000
"""Maximum tokens of an answer."""

TOKENS: Final = 4_096
"""Default limit of an answer: 30 steps with their commands and references take about 4,000."""

EXAMPLE: Final = Citation("runbooks/example.md", 12, 18)
"""The prompt's example, which no corpus has."""

CUT_NOTE: Final = (
    "The model's answer was cut off at its length limit: more may be documented than is given."
)

BROKEN_OFF_NOTE: Final = (
    "The model's answer broke off or ended without a reason: more may be documented than is given."
)

_WHOLE: Final = frozenset({"end_turn", "stop_sequence", "stop", "completed", "complete"})
_CUT: Final = frozenset({"max_tokens", "model_context_window_exceeded", "length", "incomplete"})
_BLOCKED: Final = frozenset(
    {"guardrail_intervened", "content_filtered", "content_filter", "refusal", "safety"}
)
"""Reasons for the end of an answer, as Bedrock, Anthropic, OpenAI, Ollama and Google name them."""

CUT: Final = "length"
"""The end of an answer that was not read completely."""
BROKEN_OFF: Final = "broken_off"
"""The end of an answer whose model gives no reason, or whose stream broke off."""
CALLED: Final = "tool_calls"
"""The end of an answer that calls a tool, whatever its model says."""


def final_reason(before: str, now: str) -> str:
    """Return which of two reasons for an answer's end counts: the later, but none overrides a filter or a call."""
    return before if before.lower() in _BLOCKED | {CALLED} else now or before


def search_done(sources: str) -> str:
    """Return the addition to the prompt, which speaks of a future search.

    Args:
        sources: the form of the evidence in the user's message, and how it names lines.
    """
    return f"""\
THIS REQUEST
You have no tool here. {TOOL_NAMES[0]} has already been called for this incident, with at most \
{MAX_QUERIES} queries and at most {RESULTS} results for one query: pass over WHEN TO SEARCH and HOW TO \
SEARCH.
What it listed stands in the user's message as {sources}. These results are all that you may cite, as \
HOW TO CITE says: {EXAMPLE}.\
"""


def about_of(incident: Incident) -> str:
    """Return the beginning of the user's message: the incident."""
    return f"The incident. {DATA_ONLY}\n\n{incident_text(incident)}"


def task_of(findings: Findings, sources: str) -> str:
    """Return the end of the user's message: the task, and which searches failed."""
    asked = f"Advise on how to handle this incident, from these {sources} and nothing else."
    if findings.failures:
        missed = sum(it.outcome.reason is not None for it in findings.asked)
        queries = counted(len(findings.asked), "query")
        reasons = listed([*findings.failures])
        asked += f" The search was incomplete: {missed} of {queries} degraded ({reasons})."
    return asked


def nothing_found(findings: Findings, name: str) -> Advice:
    """Return the advice for findings without evidence, which costs no call."""
    return Advice(UNREACHABLE if findings.failures else NO_MATCH, findings, name)


def usable(said: str, reason: str) -> tuple[str, str]:
    """Return an answer, and a note if it may not be whole, in which case its unfinished end is removed.

    Args:
        said: the answer.
        reason: why it ended, in the provider's words.

    Raises:
        ModelFailed: a guardrail or filter stopped it, it called a tool, it ended for an unknown reason, or
            there is no text.
    """
    ended = reason.lower()
    if ended in _BLOCKED:
        raise ModelFailed(Reason.GUARDRAIL, f"the answer ended with {reason}")
    if ended not in _WHOLE | _CUT | {BROKEN_OFF}:
        why = reason if reason.isidentifier() else "no reason"
        detail = f"the answer ended with {why[:MAX_CODE_CHARACTERS]}"
        raise ModelFailed(Reason.MALFORMED_RESPONSE, detail)
    note = BROKEN_OFF_NOTE if ended == BROKEN_OFF else CUT_NOTE if ended in _CUT else ""
    if note:
        said = without_unfinished(said)
    if not said.strip():
        detail = "the answer was cut off in its first step" if note else "the answer is empty"
        raise ModelFailed(Reason.MALFORMED_RESPONSE, detail)
    return said, note


def advice_of(said: str, findings: Findings, name: str, *, note: str) -> Advice:
    """Return the advice of :func:`usable`'s answer, with its note in the findings."""
    return Advice(said, replace(findings, notes=(note,)) if note else findings, name)


_FENCE: Final = re.compile(r"\s*(?P<marks>`{3,}|~{3,})(?P<rest>[^\n]*)")
_BEGINS: Final = re.compile(r"(?:#{1,6}|[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
"""A heading, or a list item that isn't inside another: an indented one may be."""


def without_unfinished(answer: str) -> str:
    r"""Remove the step, heading or paragraph in which an answer breaks off.

    Half a command is worse than none. A step with inner items is removed whole, since the number of
    missing ones is unknown.

    >>> without_unfinished("1. Stop the consumers [1].\n2. Purge the qu")
    '1. Stop the consumers [1].\n'
    """
    last = position = 0
    fence, blank = "", True
    for line in answer.split("\n"):
        marks = _FENCE.match(line)
        if marks and not fence:
            fence = marks["marks"]
        elif marks and marks["marks"].startswith(fence) and not marks["rest"].strip():
            fence = ""
        elif not fence and (_BEGINS.match(line) or (blank and line[:1].strip())):
            last = position
        blank = not line.strip() and not fence
        position += len(line) + 1
    return answer[:last]
