"""The advisor that is a Bedrock model: it writes from given evidence, by ``Converse``.

There is no tool and no loop. The prompt is the deployed agent's; a second block of the system's text
says that the search has been made.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.bedrock import check_error, leave_time_to_parse
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import InvalidSettings, RetrievalFailed, UnreadableResponse
from knowledge_rag.core.failures import MAX_CODE_CHARACTERS
from knowledge_rag.core.net.clients import create_client
from knowledge_rag.core.net.deadline import Deadline, current_deadline
from knowledge_rag.core.outcome import TOOL_NAMES, Reason, Status
from knowledge_rag.core.response import read_json
from knowledge_rag.guardrails.converse import (
    converse_answer,
    member,
    source_of,
    text,
    to_search_result,
)
from knowledge_rag.orchestrator.advisors.advisor import DATA_ONLY, Advice, incident_text
from knowledge_rag.orchestrator.advisors.calls import DEADLINE_SECONDS, ModelCalls, check_deadline
from knowledge_rag.orchestrator.errors import ModelFailed
from knowledge_rag.orchestrator.queries import MAX_QUERIES, RESULTS
from knowledge_rag.orchestrator.wording import NO_MATCH, UNREACHABLE, counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.retrieval import Findings

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
"""Follows the prompt, which speaks of a future search."""

_WHOLE: Final = frozenset({"end_turn", "stop_sequence"})
_CUT: Final = frozenset({"max_tokens", "model_context_window_exceeded"})
_BLOCKED: Final = frozenset({"guardrail_intervened", "content_filtered"})
_READ: Final = ("output", "stopReason")


def messages_of(incident: Incident, findings: Findings) -> list[dict[str, Any]]:
    """Return the user's message: the incident, the ledger's entries in their order, and the task."""
    results = [{"searchResult": to_search_result(entry)} for entry in findings.ledger.entries]
    asked = "Advise on how to handle this incident, from these search results and nothing else."
    if findings.failures:
        missed = sum(it.outcome.reason is not None for it in findings.asked)
        queries = counted(len(findings.asked), "query")
        reasons = listed([*findings.failures])
        asked += f" The search was incomplete: {missed} of {queries} degraded ({reasons})."
    about = {"text": f"The incident. {DATA_ONLY}\n\n{incident_text(incident)}"}
    return [{"role": "user", "content": [about, *results, {"text": asked}]}]


def read_response(response: object, findings: Findings) -> tuple[str, bool]:
    """Return the text of a response, with the API's citations as references.

    Returns:
        The text, and whether it was cut off at a length limit: then its unfinished end is removed.

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


_FENCE: Final = re.compile(r"\s*(?P<marks>`{3,}|~{3,})(?P<rest>[^\n]*)")
_BEGINS: Final = re.compile(r"(?:#{1,6}|[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
"""A heading, or an item of a list that is in no other item: what is indented may be."""


def without_unfinished(answer: str) -> str:
    r"""Remove the step, heading or paragraph that an answer breaks off in.

    Half a command is worse than none. A step with inner items is removed whole, since nobody knows
    how many there would have been.

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


NAME: Final = "converse"
SERVICE_NAME: Final = "bedrock-runtime"

MAX_ATTEMPTS: Final = 10
FIRST_WAIT_SECONDS: Final = 0.5
"""Before the second attempt at most; it doubles with each one."""
MAX_TOKENS: Final = 64_000
CUT_NOTE: Final = (
    "The model's answer was cut off at its length limit: more may be documented than is given."
)

_MODEL_ID: Final = re.compile(r"[a-zA-Z0-9_.:/-]{1,2048}")
_PASSING: Final = frozenset({Reason.THROTTLED, Reason.UNAVAILABLE})
"""What may have passed a moment later."""


@dataclass(frozen=True, slots=True)
class ConverseSettings:
    """Which model, and how it is asked.

    Args:
        model_id: of a model, an inference profile (or its ARN) or a provisioned model that knows
            search results with citations.
        max_tokens: of an answer, 1..MAX_TOKENS. 30 steps with their commands and references take
            about 4,000.
        temperature: 0..1; 0 is as deterministic as a model gets. ``None`` leaves it to the model, for
            those that take none.
        seconds: that an answer may take, everything included.
        attempts: 1..MAX_ATTEMPTS; a throttled or failing service is asked again while time is left.

    Raises:
        InvalidSettings: one of them is outside its bounds.
    """

    model_id: str
    region: str
    max_tokens: int = 4_096
    temperature: float | None = 0.0
    seconds: float = DEADLINE_SECONDS
    attempts: int = 3

    def __post_init__(self) -> None:
        check_deadline(self.seconds)
        for wrong, message in (
            (not _MODEL_ID.fullmatch(self.model_id), f"no model is named {self.model_id[:80]!r}"),
            (not 1 <= self.max_tokens <= MAX_TOKENS, f"max_tokens must be 1 to {MAX_TOKENS}"),
            (not 0 <= (self.temperature or 0) <= 1, "temperature must be 0 to 1"),
            (not 1 <= self.attempts <= MAX_ATTEMPTS, f"attempts must be 1 to {MAX_ATTEMPTS}"),
        ):
            if wrong:
                raise InvalidSettings(message)


class ConverseAdvisor:
    """Sends the model incident and evidence once; needs ``bedrock:InvokeModel`` on the model.

    Args:
        prompt: the agent's; :func:`~knowledge_rag.orchestrator.wording.agent_prompt`.
        jitter: returns the share of each wait that is waited, 0..1, to spread retries.
    """

    def __init__(
        self,
        settings: ConverseSettings,
        prompt: str,
        *,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._settings = settings
        self._system = [{"text": prompt}, {"text": SEARCH_DONE}]
        self._jitter = jitter
        self._calls = ModelCalls(
            NAME, lambda: create_client(SERVICE_NAME, "Converse", settings.region, check_response)
        )

    async def advise(self, incident: Incident, findings: Findings) -> Advice:
        """Have the model write; without evidence there is no call.

        Returns:
            Its text, with the API's citations as references. One that was cut off at its length
            limit loses its last step, and a note of its findings says so.

        Raises:
            ModelFailed: there is no usable text.
        """
        if findings.status is not Status.OK:
            return Advice(UNREACHABLE if findings.failures else NO_MATCH, findings, NAME)
        response = await self._response(self._request(incident, findings))
        said, cut = read_response(response, findings)
        return Advice(said, replace(findings, notes=(CUT_NOTE,)) if cut else findings, NAME)

    async def prepare(self) -> None:
        """Make the client ready; a failure here shows in the first advice."""
        await self._calls.prepare()

    def close(self) -> None:
        """Wait for answers under way, within their deadline, and close every connection."""
        self._calls.close()

    def _request(self, incident: Incident, findings: Findings) -> dict[str, Any]:
        inference: dict[str, Any] = {"maxTokens": self._settings.max_tokens}
        if self._settings.temperature is not None:
            inference["temperature"] = self._settings.temperature
        return {
            "modelId": self._settings.model_id,
            "system": self._system,
            "messages": messages_of(incident, findings),
            "inferenceConfig": inference,
        }

    async def _response(self, request: dict[str, Any]) -> Any:  # noqa: ANN401 - botocore's
        deadline = Deadline.after(self._settings.seconds)
        waits = self._waits()
        while True:
            try:
                return await self._calls.call(lambda api: api.converse(**request), deadline)
            except ModelFailed as failure:
                wait = next(waits, math.inf)
                if failure.cause not in _PASSING or wait >= deadline.at - deadline.clock():
                    raise
            await asyncio.sleep(wait)

    def _waits(self) -> Iterator[float]:
        for attempt in range(self._settings.attempts - 1):
            yield FIRST_WAIT_SECONDS * 2**attempt * self._jitter()
