"""An answer from a model, held against what this server retrieved."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.review import review
from knowledge_rag.guardrails.review_json import review_json
from knowledge_rag.guardrails.rules import Finding, Rule
from knowledge_rag.mcp_server.evidence_store import reasons_in
from knowledge_rag.mcp_server.schemas import (
    MAX_ANSWER_CHARACTERS,
    MAX_EVIDENCE_IDS,
    VERIFICATION_INPUT,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.guardrails.review import Review

MAX_REFERENCES: Final = 2_000
"""Of one answer; each takes some hundred bytes of the result."""

_NOTHING: Final = re.compile(
    r"\b(?:no documented guidance|nothing (?:is )?documented)\b", re.IGNORECASE
)


def verified(answer: str, outcomes: Sequence[RetrievalOutcome]) -> dict[str, Any]:
    """Review an answer against searches, as JSON.

    Raises:
        InvalidRequest: it has more than MAX_REFERENCES references.
    """
    ledger = Ledger.of(*(outcome.results for outcome in outcomes))
    reviewed = _with_false_no_match(review(answer, ledger), outcomes)
    references = len(reviewed.verified.citations) + len(reviewed.verified.removed)
    if references > MAX_REFERENCES:
        raise InvalidRequest(
            f"the answer has {references} references; at most {MAX_REFERENCES} are verified at once"
        )
    evidence = {
        "searches": len(outcomes),
        "passages": len(ledger),
        "degraded": reasons_in(outcomes),
    }
    return {**review_json(reviewed), "evidence": evidence}


def _with_false_no_match(reviewed: Review, outcomes: Sequence[RetrievalOutcome]) -> Review:
    """Find the claim that nothing is documented, where a search could not be carried out."""
    failed = [one.reason.value for one in outcomes if one.reason is not None]
    found = _NOTHING.search(reviewed.answer)
    if not failed or found is None:
        return reviewed
    message = (
        f"The knowledge base could not be searched ({', '.join(dict.fromkeys(failed))}): nothing is "
        "known of what it documents."
    )
    finding = Finding(Rule.FALSE_NO_MATCH, message, *found.span())
    findings = sorted((*reviewed.findings, finding), key=lambda one: (one.start, one.end))
    return replace(reviewed, findings=tuple(findings))


def read_arguments(arguments: Mapping[str, object]) -> tuple[str, list[str] | None]:
    """Give the answer, and the searches that it is to be held against, if any are named.

    Raises:
        InvalidRequest: an argument is missing, unknown, too long or of another type.
    """
    known = VERIFICATION_INPUT["properties"]
    if unknown := [name for name in arguments if name not in known]:
        names = ", ".join(ascii(str(name)[:40]) for name in unknown[:3])
        raise InvalidRequest(
            f"unknown argument {names}; known are {', '.join(known)}. Evidence can't be handed in: "
            "only what this server retrieved counts"
        )
    return _answer(arguments.get("answer")), _evidence_ids(arguments.get("evidence_ids"))


def _answer(answer: object) -> str:
    if not isinstance(answer, str):
        raise InvalidRequest("answer is missing" if answer is None else "answer must be text")
    if len(answer) > MAX_ANSWER_CHARACTERS:
        raise InvalidRequest(
            f"answer is {len(answer)} characters long; at most {MAX_ANSWER_CHARACTERS} are allowed"
        )
    try:
        answer.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest("answer holds a lone surrogate, which is no character") from error
    return answer


def _evidence_ids(named: object) -> list[str] | None:
    if named is None:
        return None
    if not isinstance(named, list) or not all(isinstance(one, str) for one in named):
        raise InvalidRequest("evidence_ids must be a list of texts")
    if not 1 <= len(named) <= MAX_EVIDENCE_IDS:
        raise InvalidRequest(f"evidence_ids must name 1 to {MAX_EVIDENCE_IDS} searches")
    return named
