"""What a model is sent by ``Converse``, and what is read of its response.

The evidence is given, so there is no tool and no loop. The prompt is the deployed agent's, as it is;
a second block of the system's text says that the search it speaks of has been made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.bedrock import check_error, leave_time_to_parse
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import RetrievalFailed, UnreadableResponse
from knowledge_rag.core.failures import MAX_CODE_CHARACTERS
from knowledge_rag.core.net.deadline import current_deadline
from knowledge_rag.core.outcome import TOOL_NAMES, Reason
from knowledge_rag.core.response import read_json
from knowledge_rag.guardrails.converse_answer import converse_answer
from knowledge_rag.guardrails.json_shapes import member, text
from knowledge_rag.guardrails.search_results import source_of, to_search_result
from knowledge_rag.orchestrator.advisors.cut_answer import without_unfinished
from knowledge_rag.orchestrator.advisors.failures import ModelFailed
from knowledge_rag.orchestrator.advisors.told import DATA_ONLY, told
from knowledge_rag.orchestrator.queries import MAX_QUERIES, RESULTS
from knowledge_rag.orchestrator.wording import counted, listed

if TYPE_CHECKING:
    from knowledge_rag.orchestrator.findings import Findings
    from knowledge_rag.orchestrator.incident import Incident

_EXAMPLE: Final = Citation("runbooks/example.md", 12, 18)
"""The prompt's own, which no corpus has."""

SEARCH_DONE: Final = f"""\
THIS REQUEST
You have no tool here. {TOOL_NAMES[0]} has already been called for this incident, with at most \
{MAX_QUERIES} queries and at most {RESULTS} results for one query: pass over WHEN TO SEARCH and HOW TO \
SEARCH.
What it listed stands in the user's message as search results. The source of each names file and \
lines, for example {source_of(_EXAMPLE)}; each of its content items is one line of that file, the first \
one line {_EXAMPLE.start_line}. These results are all that you may cite, as HOW TO CITE says: {_EXAMPLE}.\
"""
"""Stands behind the prompt, which speaks of a search that is yet to be made."""

_WHOLE: Final = frozenset({"end_turn", "stop_sequence"})
_CUT: Final = frozenset({"max_tokens", "model_context_window_exceeded"})
_BLOCKED: Final = frozenset({"guardrail_intervened", "content_filtered"})
_READ: Final = ("output", "stopReason")


def messages_of(incident: Incident, findings: Findings) -> list[dict[str, Any]]:
    """Give the one message of the user: the incident, each entry of the ledger, and what is wanted.

    The entries come in the ledger's order, so that its numbers are theirs.
    """
    results = [{"searchResult": to_search_result(entry)} for entry in findings.ledger.entries]
    asked = "Advise on how to handle this incident, from these search results and nothing else."
    if findings.failures:
        missed = sum(it.outcome.reason is not None for it in findings.asked)
        queries = counted(len(findings.asked), "query")
        reasons = listed([*findings.failures])
        asked += f" The search was incomplete: {missed} of {queries} degraded ({reasons})."
    incident_text = {"text": f"The incident. {DATA_ONLY}\n\n{told(incident)}"}
    return [{"role": "user", "content": [incident_text, *results, {"text": asked}]}]


def read_response(response: object, findings: Findings) -> tuple[str, bool]:
    """Give the text of a response, the API's citations written into it as references.

    Args:
        response: as boto3 gives it.
        findings: that the request held.

    Returns:
        The text, and whether it was cut off at a length limit: then what it breaks off in is gone.

    Raises:
        ModelFailed: a guardrail or filter stopped it, it asked for a tool that it was not given, or
            there is no text.
    """
    reason = text(member(response, "stopReason"))
    if reason in _BLOCKED:
        raise ModelFailed(Reason.GUARDRAIL, f"the answer ended with {reason}")
    if reason not in _WHOLE | _CUT:
        ended = reason if reason.isidentifier() else "no reason"
        detail = f"the answer ended with {ended[:MAX_CODE_CHARACTERS]}"
        raise ModelFailed(Reason.MALFORMED_RESPONSE, detail)
    sources = {index: entry.citation for index, entry in enumerate(findings.ledger.entries)}
    said, cut = converse_answer(response, sources), reason in _CUT
    if cut:
        said = without_unfinished(said)
    if not said.strip():
        detail = "the answer was cut off in its first step" if cut else "the answer is empty"
        raise ModelFailed(Reason.MALFORMED_RESPONSE, detail)
    return said, cut


def check_response(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: object
) -> None:
    """Read the body of a ``Converse`` response; a ``before-parse`` handler.

    A 200 is read here and not by botocore, which fails on a union that has another member than one
    of its model's, and takes what is no JSON for a success.

    Raises:
        RetrievalFailed: ``malformed_response``, when a 200 is no JSON object.
        DeadlineExceeded: too little time is left to parse it.
    """
    if response_dict["status_code"] >= 300:
        check_error(response_dict)
        return
    data: bytes = response_dict["body"]
    leave_time_to_parse(data, current_deadline())
    try:
        body = read_json(data)
    except UnreadableResponse:
        body = None
    if not isinstance(body, dict):
        request_id = response_dict["headers"].get("x-amzn-requestid", "")[:MAX_CODE_CHARACTERS]
        raise RetrievalFailed(Reason.MALFORMED_RESPONSE, code="NotJson", request_id=request_id)
    customized_response_dict.update({key: body[key] for key in _READ if key in body})
    response_dict["body"] = b"{}"
