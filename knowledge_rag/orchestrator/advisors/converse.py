"""The advisor that is a Bedrock model: it writes from the evidence that it is given, by ``Converse``."""

from __future__ import annotations

import asyncio
import math
import random
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.net.clients import create_client
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.orchestrator.advisors.advisor import Advice
from knowledge_rag.orchestrator.advisors.calls import (
    DEADLINE_SECONDS,
    ModelCalls,
    check_deadline,
)
from knowledge_rag.orchestrator.advisors.converse_exchange import (
    SEARCH_DONE,
    check_response,
    messages_of,
    read_response,
)
from knowledge_rag.orchestrator.advisors.failures import ModelFailed
from knowledge_rag.orchestrator.wording import NO_MATCH, UNREACHABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knowledge_rag.orchestrator.findings import Findings
    from knowledge_rag.orchestrator.incident import Incident

NAME: Final = "converse"
SERVICE_NAME: Final = "bedrock-runtime"

MAX_ATTEMPTS: Final = 10
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
        region: where it is called.
        max_tokens: of an answer, 1..MAX_TOKENS. 30 steps with their commands and references take
            about 4,000.
        temperature: 0..1; 0 is as deterministic as a model gets. ``None`` leaves it to the model, for
            those that take none.
        seconds: that an answer may take, everything included.
        attempts: 1..MAX_ATTEMPTS; a throttled or failing service is asked again while time is left.
        first_wait: seconds before the second attempt at most; it doubles with each one.

    Raises:
        InvalidSettings: one of them is outside its bounds.
    """

    model_id: str
    region: str
    max_tokens: int = 4_096
    temperature: float | None = 0.0
    seconds: float = DEADLINE_SECONDS
    attempts: int = 3
    first_wait: float = 0.5

    def __post_init__(self) -> None:
        check_deadline(self.seconds)
        for wrong, message in (
            (not _MODEL_ID.fullmatch(self.model_id), f"no model is named {self.model_id[:80]!r}"),
            (not 1 <= self.max_tokens <= MAX_TOKENS, f"max_tokens must be 1 to {MAX_TOKENS}"),
            (not 0 <= (self.temperature or 0) <= 1, "temperature must be 0 to 1"),
            (not 1 <= self.attempts <= MAX_ATTEMPTS, f"attempts must be 1 to {MAX_ATTEMPTS}"),
            (not 0 <= self.first_wait < math.inf, "first_wait must be 0 seconds or more"),
        ):
            if wrong:
                raise InvalidSettings(message)


class ConverseAdvisor:
    """Gives the model incident and evidence once; needs ``bedrock:InvokeModel`` on the model.

    Args:
        settings: which model.
        prompt: the agent's; :func:`~knowledge_rag.orchestrator.advisors.prompt.agent_prompt`.
        jitter: gives the share of each wait that is waited, 0..1, so that those who were throttled
            together do not come back together.
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
        """Have the model write; without evidence there is nothing to write from, and no call.

        Args:
            incident: what is known.
            findings: all that it may refer to.

        Returns:
            Its text, with the API's citations as references. One that was cut off at its length
            limit has lost the step it breaks off in, and its findings have a note that says so.

        Raises:
            ModelFailed: there is no text, or it is none of an answer.
        """
        if findings.status is not Status.OK:
            return Advice(UNREACHABLE if findings.failures else NO_MATCH, findings, NAME)
        response = await self._response(self._request(incident, findings))
        said, cut = read_response(response, findings)
        return Advice(said, replace(findings, notes=(CUT_NOTE,)) if cut else findings, NAME)

    async def prepare(self) -> None:
        """Spare the first incident what takes time once; what fails here, its advice tells."""
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
        for wait in self._waits():
            try:
                return await self._calls.call(lambda api: api.converse(**request), deadline)
            except ModelFailed as failure:
                left = deadline.at - deadline.clock()
                if failure.cause not in _PASSING or wait >= left:
                    raise
            await asyncio.sleep(wait)
        return await self._calls.call(lambda api: api.converse(**request), deadline)

    def _waits(self) -> Iterator[float]:
        for attempt in range(self._settings.attempts - 1):
            yield self._settings.first_wait * 2**attempt * self._jitter()
