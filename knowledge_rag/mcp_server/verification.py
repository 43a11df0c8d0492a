"""An answer from a model, held against what this server retrieved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.review import review
from knowledge_rag.guardrails.review_json import review_json
from knowledge_rag.mcp_server.evidence_store import reasons_in
from knowledge_rag.mcp_server.schemas import (
    MAX_ANSWER_CHARACTERS,
    MAX_EVIDENCE_IDS,
    VERIFICATION_INPUT,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowledge_rag.core.outcome import RetrievalOutcome

MAX_REFERENCES: Final = 2_000
"""Of one answer; each takes some hundred bytes of the result."""


def verified(answer: str, outcomes: Sequence[RetrievalOutcome]) -> dict[str, Any]:
    """Review an answer against searches, as JSON.

    Raises:
        InvalidRequest: it has more than MAX_REFERENCES references.
    """
    ledger = Ledger.of(*(outcome.results for outcome in outcomes))
    failed = [outcome.reason for outcome in outcomes if outcome.reason is not None]
    reviewed = review(answer, ledger, failed=failed)
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
