"""A Bedrock agent as an advisor: it searches and writes itself, by ``InvokeAgent``.

Only the service's own reports count as evidence: those of the retrieval function (its body, proven again) and of
a knowledge base that the agent looks into (its passages, proven by their hashes). A model's text (rationale, tool
input, final response, a collaborator's words) and the attribution of a chunk never count.
"""

from __future__ import annotations

import re
import uuid
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from botocore.eventstream import ParserError
from botocore.parsers import ResponseParserError

from knowledge_rag.core import telemetry
from knowledge_rag.core.bedrock import SERVICE_NAME, check_error, leave_time_to_parse
from knowledge_rag.core.errors import (
    InvalidSettings,
    RequestRefused,
    RetrievalFailed,
    UnreadableResponse,
)
from knowledge_rag.core.failures import MAX_CODE_CHARACTERS
from knowledge_rag.core.net.clients import create_client
from knowledge_rag.core.net.deadline import Deadline, current_deadline
from knowledge_rag.core.outcome import TOOL_NAMES, Reason
from knowledge_rag.core.response import read_json, read_outcome
from knowledge_rag.core.retrieval import (
    MAX_QUERY_CHARACTERS,
    MAX_SERVICE_RESULTS,
    Query,
    degraded,
    select,
)
from knowledge_rag.guardrails.converse import member, objects, text
from knowledge_rag.orchestrator.advisors.advisor import DATA_ONLY, Advice, Relay, incident_text
from knowledge_rag.orchestrator.advisors.calls import (
    DEADLINE_SECONDS,
    ModelCalls,
    as_model_failure,
    check_deadline,
)
from knowledge_rag.orchestrator.errors import ModelFailed
from knowledge_rag.orchestrator.queries import build_queries
from knowledge_rag.orchestrator.retrieval import Asked, Findings
from knowledge_rag.orchestrator.wording import NO_MATCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.orchestrator.advisors.advisor import Listener
    from knowledge_rag.orchestrator.incident import Incident

ACTION_GROUP: Final = TOOL_NAMES[0]
"""Name of the action group whose function retrieves."""
NOT_TRACED: Final = "(the trace does not have the query)"

_JSON: Final = "application/json"
_BODY: Final = (_JSON, "body")
_LENGTH_BYTES: Final = 4
_LEAST_BYTES: Final = 16
"""Minimum bytes of a message: two lengths and two checksums."""


class TurnReader:
    """Reads the events of one turn."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._invoked: dict[str, tuple[str, str]] = {}  # group and query of traced invocations
        self._served: list[Asked] = []
        self._not_served: list[Asked] = []
        self._blocked = False

    def take(self, event: Mapping[str, Any]) -> bytes:
        """Process the next event and return its text, UTF-8 that may end within a character.

        Unknown kinds and members are ignored.

        Raises:
            ModelFailed: it returns control, which the caller can't execute.
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
        """Return the evidence so far.

        A request that the function refused, or one beyond a turn's limit, counts only if no other was
        served.
        """
        return Findings(tuple(self._served or self._not_served))

    def turn(self) -> Advice:
        """Return the whole turn: the agent's answer and its evidence.

        Raises:
            ModelFailed: it has no answer, or no evidence.
        """
        findings = self.findings()
        try:
            # a chunk may end within a character
            said = b"".join(self._chunks).decode()
        except UnicodeDecodeError as error:
            detail = "the answer is not UTF-8"
            raise ModelFailed(Reason.MALFORMED_RESPONSE, detail, findings) from error
        if not said.strip():
            raise ModelFailed(Reason.MALFORMED_RESPONSE, "the agent said nothing", findings)
        if not findings.asked:
            detail = "the trace shows no search, so nothing of the answer can be proven"
            raise ModelFailed(Reason.UNVERIFIABLE_RESULTS, detail)
        if self._blocked and "[" not in said:  # a guardrail's own text cites nothing
            raise ModelFailed(Reason.GUARDRAIL, "a guardrail intervened", findings)
        return Advice(said, findings, NAME)

    def _note(self, invocation: object) -> None:
        asked = member(invocation, "actionGroupInvocationInput")
        looked_up = member(invocation, "knowledgeBaseLookupInput", "text")
        trace_id = text(member(invocation, "traceId"))
        if asked is not None:
            self._invoked[trace_id] = text(member(asked, "actionGroupName")), _query_of(asked)
        elif looked_up is not None:
            self._invoked[trace_id] = "", text(looked_up)

    def _observe(self, observation: object) -> None:
        group, said = self._invoked.get(text(member(observation, "traceId")), (None, ""))
        asked = said[:MAX_QUERY_CHARACTERS]
        query = Query(asked if asked.strip() else NOT_TRACED)
        output = member(observation, "actionGroupInvocationOutput", "text")
        if isinstance(output, str) and self._is_ours(group):
            outcome, served = _answered(output)
            (self._served if served else self._not_served).append(Asked(query, outcome))
        found = member(observation, "knowledgeBaseLookupOutput")
        if isinstance(found, dict):
            references = list(objects(found.get("retrievedReferences")))
            outcome = select(references, MAX_SERVICE_RESULTS, None)
            self._served.append(Asked(query, outcome))

    def _is_ours(self, group: str | None) -> bool:
        """Whether an output is the retrieval function's.

        Another group's tool might repeat a model's words. So an output whose invocation is not traced
        counts only if no invocation of another group is.
        """
        if group is not None:
            return group == ACTION_GROUP
        return {it for it, _ in self._invoked.values()} <= {ACTION_GROUP, ""}


class Framing:
    """Tracks where the messages of an event stream end, regardless of the pieces they arrive in."""

    def __init__(self) -> None:
        self._missing = 0  # of the present message, once its length is known
        self._length = b""  # the present message's, while it arrives

    @property
    def is_whole(self) -> bool:
        """Whether a message has just ended, or none has begun."""
        return not self._missing and not self._length

    def take(self, piece: bytes) -> bool:
        """Process the next piece; return false if this isn't an event stream."""
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
    """Return the function's outcome, and whether it served the query."""
    try:
        outcome = read_outcome(_body(output))
    except RequestRefused:
        return degraded(Reason.INTERNAL), False
    except UnreadableResponse:
        return degraded(Reason.MALFORMED_RESPONSE), True
    return outcome, outcome.reason is not Reason.QUERY_LIMIT


def _body(output: str) -> Any:  # noqa: ANN401 - JSON is of any type
    """Return the function's body, which an output may wrap in an undocumented way."""
    value = read_json(output)
    for path in (_BODY, ("response", "responseBody", *_BODY)):
        if isinstance(inner := member(value, *path), str):
            return read_json(inner)
    return value


def _query_of(asked: object) -> str:
    # a model wrote it, so it is only for the record
    body = objects(member(asked, "requestBody", "content", _JSON))
    arguments = (*body, *objects(member(asked, "parameters")))
    return next((text(one.get("value")) for one in arguments if one.get("name") == "query"), "")


NAME: Final = "bedrock-agent"

MAX_INCIDENT_NAME: Final = 60
"""Maximum characters of an incident's id in a session's id, which is then at most 93 of 100 long."""

_ID: Final = re.compile(r"[0-9a-zA-Z]{1,10}")
_NOT_IN_SESSION: Final = re.compile(r"[^0-9a-zA-Z._:-]+")
_BROKEN: Final = (
    ParserError,
    ResponseParserError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    RecursionError,
)
"""Exceptions of botocore for messages with valid checksums whose payload doesn't match its model."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The agent and its limits.

    Args:
        agent_id: 1..10 letters and digits.
        agent_alias_id: likewise.
        seconds: maximum for an answer, everything included.

    Raises:
        InvalidSettings: an id is invalid for the service, or the time is out of range.
    """

    agent_id: str
    agent_alias_id: str
    region: str
    seconds: float = DEADLINE_SECONDS

    def __post_init__(self) -> None:
        for name in ("agent_id", "agent_alias_id"):
            if not _ID.fullmatch(value := getattr(self, name)):
                raise InvalidSettings(f"{name} {value[:40]!r} is not 1 to 10 letters and digits")
        check_deadline(self.seconds)


class BedrockAgentAdvisor:
    """Asks the agent; needs ``bedrock:InvokeAgent`` on its alias.

    Each advice has its own session: in a continued one, evidence of an earlier turn does not count, and
    citations are known to vanish after the first turn.
    """

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._calls = ModelCalls(
            NAME,
            lambda: create_client(
                SERVICE_NAME, "InvokeAgent", settings.region, check_stream, live=True
            ),
        )

    async def advise(self, incident: Incident, findings: Findings) -> Advice:
        """Have the agent search and write; an empty incident costs no call.

        Raises:
            ModelFailed: it wrote nothing that can be checked against evidence.
        """
        del findings
        return await self._advised(incident)

    async def advise_live(
        self, incident: Incident, findings: Findings, listener: Listener
    ) -> Advice:
        """Do the same, and stream the answer to the listener."""
        del findings
        with Relay(listener).listening() as relay:
            return await self._advised(incident, relay)

    async def _advised(self, incident: Incident, relay: Relay | None = None) -> Advice:
        if incident.is_empty:
            return Advice(NO_MATCH, Findings(), NAME)
        deadline = Deadline.after(self._settings.seconds)
        request = self._request(incident)
        if relay is not None:
            request["streamingConfigurations"] = {"streamFinalResponse": True}
        return await self._calls.call(partial(self._ask, request, relay), deadline)

    async def prepare(self) -> None:
        """Make the client ready; a failure here shows in the first advice."""
        await self._calls.prepare()

    def close(self) -> None:
        """Wait for answers under way, within their deadline, and close every connection."""
        self._calls.close()

    def _ask(self, request: Mapping[str, Any], relay: Relay | None, api: Any) -> Advice:  # noqa: ANN401 - botocore's
        with closing(api.invoke_agent(**request)["completion"]) as stream:
            return read_turn(stream, relay)

    def _request(self, incident: Incident) -> dict[str, Any]:
        request: dict[str, Any] = {
            "agentId": self._settings.agent_id,
            "agentAliasId": self._settings.agent_alias_id,
            "sessionId": _session_id(incident.incident_id),
            "inputText": input_text(incident),
            "enableTrace": True,
        }
        if incident.incident_id:  # for the function's log: queries per incident
            attributes = {telemetry.INCIDENT_ID: incident.incident_id}
            request["sessionState"] = {"sessionAttributes": attributes}
        return request


def _session_id(incident_id: str) -> str:
    name = _NOT_IN_SESSION.sub("-", incident_id)[:MAX_INCIDENT_NAME] or "incident"
    return f"{name}-{uuid.uuid4().hex}"


def input_text(incident: Incident) -> str:
    """Return the agent's input: the incident, and the queries to look it up with."""
    texts = dict.fromkeys(query.text for query in build_queries(incident))
    queries = [f"{n}. {text}" for n, text in enumerate(texts, start=1)]
    return "\n".join(
        [
            f"Advise on how to handle this incident. {DATA_ONLY}",
            "",
            incident_text(incident),
            "",
            "Search with these queries:",
            *queries,
        ]
    )


def read_turn(events: Iterable[Mapping[str, Any]], relay: Relay | None = None) -> Advice:
    """Read a turn's events to their end, as they arrive from botocore.

    Raises:
        ModelFailed: the stream breaks off, contains an error, is damaged, or has no answer that can be
            checked; the failure has the evidence so far.
    """
    reader = TurnReader()
    remaining = iter(events)
    while True:
        try:
            event = next(remaining, None)
        except _BROKEN as error:
            detail = f"damaged stream, {type(error).__name__}"
            raise ModelFailed(Reason.MALFORMED_RESPONSE, detail, reader.findings()) from error
        except Exception as error:
            raise as_model_failure(error, reader.findings()) from error
        if event is None:
            return reader.turn()
        said = reader.take(event)
        if relay is not None and said:
            relay.wrote(said, reader.findings())


def check_stream(response_dict: dict[str, Any], **more: object) -> None:
    """Check the framing of an ``InvokeAgent`` response; a ``before-parse`` handler.

    Readers of the format mistake a cut-off message for the stream's end.
    """
    if response_dict["status_code"] >= 300:
        check_error(response_dict, **more)
        return
    request_id = response_dict["headers"].get("x-amzn-requestid", "")[:MAX_CODE_CHARACTERS]
    response_dict["body"] = _Framed(response_dict["body"], request_id)


class _Framed:
    def __init__(self, body: Any, request_id: str) -> None:  # noqa: ANN401 - botocore's raw body
        self._body = body
        self._request_id = request_id

    def stream(self) -> Iterator[bytes]:
        """Yield the body's pieces.

        Raises:
            RetrievalFailed: ``malformed_response``, if it isn't a stream or was cut off.
            DeadlineExceeded: too little time is left to read a piece.
        """
        framing = Framing()
        for piece in self._body.stream():
            leave_time_to_parse(piece, current_deadline())
            if not framing.take(piece):
                break
            yield piece
        if not framing.is_whole:
            raise RetrievalFailed(
                Reason.MALFORMED_RESPONSE, code="NotAnEventStream", request_id=self._request_id
            )

    def close(self) -> None:
        self._body.close()
