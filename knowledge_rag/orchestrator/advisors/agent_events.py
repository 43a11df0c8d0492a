"""What the events of ``InvokeAgent`` say: the answer, and in the traces the evidence for it.

Evidence is what the service itself reports of the retrieval function (its body, proven again) and of
a knowledge base that the agent looks into (its passages, proven by their hashes). What a model wrote
(rationale, tool input, final response, a collaborator's words) and what a chunk is attributed to are
never evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import RequestRefused, UnreadableResponse
from knowledge_rag.core.outcome import Reason
from knowledge_rag.core.response import read_json, read_outcome
from knowledge_rag.core.retrieval import (
    MAX_QUERY_CHARACTERS,
    MAX_SERVICE_RESULTS,
    Query,
    degraded,
    select,
)
from knowledge_rag.guardrails.json_shapes import member, objects, text
from knowledge_rag.orchestrator.advisors.failures import ModelFailed
from knowledge_rag.orchestrator.findings import Asked, Findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knowledge_rag.core.outcome import RetrievalOutcome

NOT_TRACED: Final = "(the trace does not have the query)"

_JSON: Final = "application/json"
_BODY: Final = (_JSON, "body")
_LENGTH_BYTES: Final = 4
_LEAST_BYTES: Final = 16
"""Of a message: two lengths and two checksums."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What an agent said, and what it had found for it."""

    text: str
    findings: Findings


@dataclass(frozen=True, slots=True)
class _Invoked:
    """What a trace says that the agent is about to do."""

    action_group: str
    query: str


class TurnReader:
    """Takes the events of one turn.

    Args:
        action_group: the name of the one whose function retrieves.
    """

    def __init__(self, action_group: str) -> None:
        self._action_group = action_group
        self._chunks: list[bytes] = []
        self._invoked: dict[str, _Invoked] = {}
        self._served: list[Asked] = []
        self._not_served: list[Asked] = []
        self._blocked = False

    def take(self, event: Mapping[str, Any]) -> bytes:
        """Take the next event; kinds and members that this version does not know are passed over.

        Returns:
            What the agent says in it, UTF-8 that may end within a character; mostly nothing.

        Raises:
            ModelFailed: it returns control, which the caller can't carry out.
        """
        data = member(event, "chunk", "bytes")
        said = data if isinstance(data, bytes) else b""
        self._chunks.append(said)
        if member(event, "returnControl") is not None:
            detail = "the agent returned control, where its action group should have a function"
            raise ModelFailed(Reason.CONFIGURATION, detail, self.findings())
        trace = member(event, "trace", "trace")
        if member(trace, "guardrailTrace", "action") == "INTERVENED":
            self._blocked = True
        self._note(member(trace, "orchestrationTrace", "invocationInput"))
        self._observe(member(trace, "orchestrationTrace", "observation"))
        return said

    def findings(self) -> Findings:
        """Give what was found until now.

        A request that the function refused, or that was one more than a turn may have, counts only
        where no other was served: nothing is left open by it.
        """
        return Findings(tuple(self._served or self._not_served))

    def turn(self) -> Turn:
        """Give the whole turn.

        Raises:
            ModelFailed: it holds no answer, or none that any evidence is known for.
        """
        findings = self.findings()
        try:
            # one chunk may end, and the next begin, within a character
            said = b"".join(self._chunks).decode()
        except UnicodeDecodeError as error:
            detail = "the answer is no UTF-8"
            raise ModelFailed(Reason.MALFORMED_RESPONSE, detail, findings) from error
        if not said.strip():
            raise ModelFailed(Reason.MALFORMED_RESPONSE, "the agent said nothing", findings)
        if not findings.asked:
            detail = "the trace shows no search, so nothing of the answer can be proven"
            raise ModelFailed(Reason.UNVERIFIABLE_RESULTS, detail)
        if self._blocked and "[" not in said:  # what a guardrail says instead cites nothing
            raise ModelFailed(Reason.GUARDRAIL, "a guardrail intervened", findings)
        return Turn(said, findings)

    def _note(self, invocation: object) -> None:
        """Remember what is asked: by its trace's id, which the observation repeats."""
        asked = member(invocation, "actionGroupInvocationInput")
        looked_up = member(invocation, "knowledgeBaseLookupInput", "text")
        trace_id = text(member(invocation, "traceId"))
        if asked is not None:
            group = text(member(asked, "actionGroupName"))
            self._invoked[trace_id] = _Invoked(group, _query_of(asked))
        elif looked_up is not None:
            self._invoked[trace_id] = _Invoked("", text(looked_up))

    def _observe(self, observation: object) -> None:
        invoked = self._invoked.get(text(member(observation, "traceId")))
        query = _query(invoked.query if invoked else "")
        output = member(observation, "actionGroupInvocationOutput", "text")
        if isinstance(output, str) and self._is_ours(invoked):
            outcome, served = _answered(output)
            (self._served if served else self._not_served).append(Asked(query, outcome))
        found = member(observation, "knowledgeBaseLookupOutput")
        if isinstance(found, dict):
            references = list(objects(found.get("retrievedReferences")))
            outcome = select(references, MAX_SERVICE_RESULTS, None)
            self._served.append(Asked(query, outcome))

    def _is_ours(self, invoked: _Invoked | None) -> bool:
        """Whether an output is the retrieval function's.

        Another action group's tool might repeat whatever a model gave it. So an output whose
        invocation is not traced counts only where none of any other group is.
        """
        if invoked is not None:
            return invoked.action_group == self._action_group
        return {it.action_group for it in self._invoked.values()} <= {self._action_group, ""}


class Framing:
    """Follows an event stream's messages, one behind the other, whatever pieces they arrive in."""

    def __init__(self) -> None:
        self._missing = 0  # of the present message, once its length is known
        self._length = b""  # the present message's, while it arrives

    @property
    def is_whole(self) -> bool:
        """Whether a message has just ended, or none has begun."""
        return not self._missing and not self._length

    def take(self, piece: bytes) -> bool:
        """Take the next piece; false if this is no event stream."""
        position = 0
        while position < len(piece):
            if self._missing:
                step = min(self._missing, len(piece) - position)
                self._missing -= step
            else:
                step = min(_LENGTH_BYTES - len(self._length), len(piece) - position)
                self._length += piece[position : position + step]
                if len(self._length) == _LENGTH_BYTES:
                    length = int.from_bytes(self._length)
                    if length < _LEAST_BYTES:
                        return False
                    self._missing, self._length = length - _LENGTH_BYTES, b""
            position += step
        return True


def _answered(output: str) -> tuple[RetrievalOutcome, bool]:
    """Give what the function answered, and whether it was a query that it owed an answer."""
    try:
        outcome = read_outcome(_body(output))
    except RequestRefused:
        return degraded(Reason.INTERNAL), False
    except UnreadableResponse:
        return degraded(Reason.MALFORMED_RESPONSE), True
    return outcome, outcome.reason is not Reason.QUERY_LIMIT


def _body(output: str) -> Any:  # noqa: ANN401 - JSON is of any type
    """Read an output: the function's body, or what it stands in, which of them is not documented."""
    value = read_json(output)
    for path in (_BODY, ("response", "responseBody", *_BODY)):
        if isinstance(inner := member(value, *path), str):
            return read_json(inner)
    return value


def _query_of(asked: object) -> str:
    """Give the query of an invocation, which a model wrote: for the record alone."""
    arguments = (*_arguments(asked), *objects(member(asked, "parameters")))
    return next((text(one.get("value")) for one in arguments if one.get("name") == "query"), "")


def _arguments(asked: object) -> Iterator[Mapping[str, Any]]:
    yield from objects(member(asked, "requestBody", "content", _JSON))


def _query(asked: str) -> Query:
    told = asked[:MAX_QUERY_CHARACTERS]
    return Query(told if told.strip() else NOT_TRACED)
