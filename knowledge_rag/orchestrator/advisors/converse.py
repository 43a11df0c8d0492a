"""A Bedrock model as an advisor: it writes from given evidence, by ``Converse``.

There is no tool and no loop. The prompt is the deployed agent's; a second block of the system prompt
says that the search is done.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.bedrock import check_error, leave_time_to_parse
from knowledge_rag.core.errors import InvalidSettings, RetrievalFailed, UnreadableResponse
from knowledge_rag.core.failures import MAX_CODE_CHARACTERS
from knowledge_rag.core.net.clients import create_client
from knowledge_rag.core.net.deadline import Deadline, current_deadline
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.response import read_json
from knowledge_rag.guardrails.converse import (
    converse_answer,
    member,
    source_of,
    text,
    to_search_result,
)
from knowledge_rag.orchestrator.advisors.calls import DEADLINE_SECONDS, ModelCalls, check_deadline
from knowledge_rag.orchestrator.advisors.writing import (
    EXAMPLE,
    MAX_TOKENS,
    TOKENS,
    about_of,
    advice_of,
    nothing_found,
    search_done,
    task_of,
    usable,
)
from knowledge_rag.orchestrator.errors import ModelFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knowledge_rag.orchestrator.advisors.advisor import Advice
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.retrieval import Findings

SEARCH_DONE: Final = search_done(
    f"search results. The source of each names file and lines, for example {source_of(EXAMPLE)}; each of "
    f"its content items is one line of that file, the first one line {EXAMPLE.start_line}"
)

_READ: Final = ("output", "stopReason")


def messages_of(incident: Incident, findings: Findings) -> list[dict[str, Any]]:
    """Return the user's message: the incident, the ledger's entries in order, and the task."""
    results = [{"searchResult": to_search_result(entry)} for entry in findings.ledger.entries]
    about, asked = {"text": about_of(incident)}, {"text": task_of(findings, "search results")}
    return [{"role": "user", "content": [about, *results, asked]}]


def read_response(response: object, findings: Findings) -> tuple[str, str]:
    """Return the text of a response, with the API's citations as references.

    Returns:
        The text, and a note if it was cut off at a length limit: then its unfinished end is removed.

    Raises:
        ModelFailed: a guardrail or filter stopped it, it called a tool, it ended for an unknown reason, or
            there is no text.
    """
    sources = {index: entry.citation for index, entry in enumerate(findings.ledger.entries)}
    return usable(converse_answer(response, sources), text(member(response, "stopReason")))


def check_response(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: object
) -> None:
    """Read the body of a ``Converse`` response; a ``before-parse`` handler.

    A 200 is read here and not by botocore, which fails on a union with a member outside its model, and
    accepts invalid JSON as a success.

    Raises:
        RetrievalFailed: ``malformed_response``, if a 200 isn't a JSON object.
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


NAME: Final = "converse"
SERVICE_NAME: Final = "bedrock-runtime"

MAX_ATTEMPTS: Final = 10
FIRST_WAIT_SECONDS: Final = 0.5
"""Maximum wait before the second attempt; it doubles with each attempt."""

_MODEL_ID: Final = re.compile(r"[a-zA-Z0-9_.:/-]{1,2048}")
_PASSING: Final = frozenset({Reason.THROTTLED, Reason.UNAVAILABLE})
"""Failures that may have passed a moment later."""


@dataclass(frozen=True, slots=True)
class ConverseSettings:
    """The model and its limits.

    Args:
        model_id: of a model, an inference profile (or its ARN) or a provisioned model that supports
            search results with citations.
        max_tokens: limit of an answer, 1..MAX_TOKENS.
        temperature: 0..1; 0 is as deterministic as a model gets. ``None`` leaves it to the model, for
            models that accept none.
        seconds: maximum for an answer, everything included.
        attempts: 1..MAX_ATTEMPTS; a throttled or failing service is called again while time is left.

    Raises:
        InvalidSettings: one of them is out of range.
    """

    model_id: str
    region: str
    max_tokens: int = TOKENS
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
    """Sends incident and evidence to the model; needs ``bedrock:InvokeModel`` on the model.

    Args:
        prompt: the agent's; :func:`~knowledge_rag.orchestrator.wording.agent_prompt`.
        jitter: returns the factor of each wait, 0..1, to spread retries.
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
            Its text, with the API's citations as references. A text that was cut off at its length limit
            loses its last step, and a note in its findings says so.

        Raises:
            ModelFailed: there is no usable text.
        """
        if findings.status is not Status.OK:
            return nothing_found(findings, NAME)
        response = await self._response(self._request(incident, findings))
        said, note = read_response(response, findings)
        return advice_of(said, findings, NAME, note=note)

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
