"""Questions to a deployment: to the function, to the agent or the harness, and through the gateway."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from botocore.eventstream import ParserError
from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError, ReadTimeoutError

from knowledge_rag.core.errors import (
    DeadlineExceeded,
    InvalidSettings,
    KnowledgeRagError,
    RequestRefused,
    RetrievalFailed,
    UnreadableResponse,
)
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.outcome import TOOL_NAMES, RetrievalOutcome, Status
from knowledge_rag.core.response import read_json, read_outcome
from knowledge_rag.core.retrieval import Query, unproven_count
from knowledge_rag.deployment.aws import CallFailed, Trouble, all_within, call_failed
from knowledge_rag.orchestrator.backends.gateway import Bearer, KnowledgeGateway, Refused, SigV4

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.smoke.questions import Question

GIVE_UP_AFTER: Final = 2
"""Consecutive failures after which a client isn't asked again, so that a dead one costs no minutes."""

_PASSING: Final = frozenset({Trouble.THROTTLED, Trouble.TIMEOUT})
"""Failures that may be temporary."""


class BadAnswer(KnowledgeRagError):  # noqa: N818 - named for what it is
    """A client answers, but not as promised."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """How the function decided on evidence for a question.

    Args:
        floor: the one that applied, ``None`` for none.
        source: who set it: ``setting``, ``default`` or ``parameter``.
        best_score: of everything that the store returned, including results below the floor.
    """

    floor: float | None
    source: str
    best_score: float | None


@dataclass(frozen=True, slots=True)
class Reply:
    """The function's answer; with ``evidence`` if it was called directly."""

    outcome: RetrievalOutcome
    evidence: Evidence | None = None


class Client(Protocol):
    """Asks the function, the agent, the harness or the gateway."""

    name: str
    seconds: float

    def ask(self, query: str) -> Reply:
        """Ask a question and return the function's answer.

        Raises:
            CallFailed: there was no answer.
            RequestRefused, UnreadableResponse, BadAnswer: the answer is unusable.
        """


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one question.

    Args:
        question: the one asked.
        seconds: until the answer arrived here.
        status: how the retrieval ended; ``None`` if there was no answer at all.
        reason: of a degraded one.
        results: of an ``ok`` one.
        failure: why there was no answer.
        passing: whether the failure may be temporary.
        evidence: how the function decided, if the client receives it.
    """

    question: Question
    seconds: float
    status: Status | None
    reason: str = ""
    results: tuple[RetrievalResult, ...] = ()
    failure: str = ""
    passing: bool = False
    evidence: Evidence | None = None

    @property
    def searched(self) -> bool:
        """Whether the knowledge base was searched."""
        return self.status in (Status.OK, Status.NO_MATCH)


def ask_all(
    client: Client, questions: Sequence[Question], on_answer: Callable[[], None]
) -> list[Answer]:
    """Ask the questions one after the other; stop asking a client that fails twice in a row."""
    answers: list[Answer] = []
    failed = 0
    for question in questions:
        answer = _ask(client, question)
        answers.append(answer)
        on_answer()
        failed = failed + 1 if answer.status is None else 0
        if failed == GIVE_UP_AFTER:
            break
    return answers


def _ask(client: Client, question: Question) -> Answer:
    started = time.monotonic()
    ((_, ended),) = all_within(client.seconds, {client.name: partial(client.ask, question.query)})
    seconds = time.monotonic() - started
    try:
        reply = _reply(client.name, ended)
    except (CallFailed, BadAnswer) as error:
        passing = isinstance(error, CallFailed) and error.trouble in _PASSING
        return Answer(question, seconds, None, failure=str(error), passing=passing)
    except Exception as error:  # noqa: BLE001 - whatever came back, the other clients still have their turn
        failure = f"an answer is invalid ({type(error).__name__}: {error})"
        return Answer(question, seconds, None, failure=failure)
    outcome = reply.outcome
    reason = outcome.reason.value if outcome.reason else ""
    return Answer(
        question, seconds, outcome.status, reason, outcome.results, evidence=reply.evidence
    )


def _reply(name: str, ended: Future[Reply] | None) -> Reply:
    if ended is None:
        raise CallFailed(Trouble.TIMEOUT, name, "Timeout", "")
    try:
        reply = ended.result()
    except RequestRefused as error:
        raise BadAnswer(f"a question was refused: {error}") from error
    except UnreadableResponse as error:
        raise BadAnswer(f"an answer doesn't match the schema: {error}") from error
    if unproven := unproven_count(reply.outcome):
        raise BadAnswer(f"{unproven} results of an answer can't be proven")
    return reply


FUNCTION_READ_SECONDS: Final = 10
"""Twice Lambda's own limit on the function."""


class FunctionClient:
    """A direct invocation."""

    name = "function"
    seconds = 2.0 * FUNCTION_READ_SECONDS

    def __init__(self, aws: Aws, alias: str) -> None:
        self._aws = aws
        self._alias = alias

    def ask(self, query: str) -> Reply:
        """Invoke it with a direct caller's flat arguments, and ask for an explanation."""
        answer = self._aws.call(
            "lambda",
            "invoke",
            read_seconds=FUNCTION_READ_SECONDS,
            FunctionName=self._alias,
            Payload=json.dumps({"query": query, "explain": True}).encode(),
        )
        try:
            payload = answer["Payload"].read()
        except BotoCoreError as error:
            raise call_failed(error, "lambda:InvokeFunction") from error
        if "FunctionError" in answer:
            raise BadAnswer(f"the function failed: {payload[:300].decode(errors='replace')}")
        body = read_json(payload)
        return Reply(read_outcome(body), _evidence(body))


def _evidence(body: object) -> Evidence | None:
    """Return the function's explanation; ``None`` for an older function without one."""
    explained = body.get("explanation") if isinstance(body, dict) else None
    found = explained.get("evidence") if isinstance(explained, dict) else None
    if not isinstance(found, dict):
        return None
    return Evidence(found.get("floor"), str(found.get("floor_source")), found.get("best_score"))


AGENT_READ_SECONDS: Final = 60
"""A model may think this long between two events."""

_AGENT_ACTION: Final = "bedrock:InvokeAgent"


class AgentClient:
    """Asks the agent, in a new session for each question."""

    name = "agent"
    seconds = 120.0

    def __init__(self, aws: Aws, agent_id: str, alias_id: str) -> None:
        self._aws = aws
        self._agent_id = agent_id
        self._alias_id = alias_id

    def ask(self, query: str) -> Reply:
        """Ask, read the stream to its end, and return the tool's answer in this turn."""
        answer = self._aws.call(
            "bedrock-agent-runtime",
            "invoke_agent",
            read_seconds=AGENT_READ_SECONDS,
            agentId=self._agent_id,
            agentAliasId=self._alias_id,
            sessionId=str(uuid.uuid4()),
            inputText=query,
            enableTrace=True,
        )
        said = 0
        outcomes: list[RetrievalOutcome] = []
        for event in _events(answer["completion"], self.name, _AGENT_ACTION):
            said += len(event.get("chunk", {}).get("bytes", b""))
            if (text := _tool_output(event)) is not None:
                outcomes.append(read_outcome(read_json(text)))
        return _turn(self.name, said, outcomes)


def _tool_output(event: Mapping[str, Any]) -> str | None:
    step = event.get("trace", {}).get("trace", {}).get("orchestrationTrace", {})
    output = step.get("observation", {}).get("actionGroupInvocationOutput", {}).get("text")
    return output if isinstance(output, str) else None


def _events(
    stream: Iterable[Mapping[str, Any]], name: str, action: str
) -> Iterator[Mapping[str, Any]]:
    """Yield a stream's events.

    Raises:
        CallFailed: it holds an error, or broke off.
        BadAnswer: it can't be read.
    """
    try:
        yield from stream
    except (BotoCoreError, ClientError) as error:
        raise call_failed(error, action) from error
    except HTTPError as error:  # which botocore lets through while a stream is read
        trouble = Trouble.TIMEOUT if isinstance(error, ReadTimeoutError) else Trouble.UNREACHABLE
        raise CallFailed(trouble, action, type(error).__name__, str(error)) from error
    except ParserError as error:
        raise BadAnswer(f"the {name}'s stream is damaged ({type(error).__name__})") from error


def _turn(name: str, said: int, outcomes: list[RetrievalOutcome]) -> Reply:
    """Return what the tool answered in a turn in which ``said`` characters were written."""
    if not said:
        raise BadAnswer(f"the {name}'s answer is empty")
    if not outcomes:
        raise BadAnswer(f"the {name} answered without asking the knowledge base")
    return Reply(_joined(outcomes))


def _joined(outcomes: list[RetrievalOutcome]) -> RetrievalOutcome:
    """Merge the outcomes of one turn's queries: all results, or the first degraded one."""
    results = tuple(result for outcome in outcomes for result in outcome.results)
    if results:
        return RetrievalOutcome(Status.OK, results)
    degraded = [outcome for outcome in outcomes if outcome.status is Status.DEGRADED]
    return degraded[0] if degraded else outcomes[0]


_HARNESS_ACTION: Final = "bedrock-agentcore:InvokeHarness"


class HarnessClient:
    """Asks the harness, in a new session for each question."""

    name = "harness"
    seconds = 150.0
    """More than a deployed harness gives its own loop."""

    def __init__(self, aws: Aws, arn: str) -> None:
        self._aws = aws
        self._arn = arn

    def ask(self, query: str) -> Reply:
        """Ask, read the stream to its end, and return the tool's answer in this turn."""
        answer = self._aws.call(
            "bedrock-agentcore",
            "invoke_harness",
            read_seconds=AGENT_READ_SECONDS,
            harnessArn=self._arn,
            runtimeSessionId=str(uuid.uuid4()),
            messages=[{"role": "user", "content": [{"text": query}]}],
        )
        said = 0
        outcomes: list[RetrievalOutcome] = []
        result: list[Mapping[str, Any]] | None = None
        for event in _events(answer["stream"], self.name, _HARNESS_ACTION):
            if "contentBlockStart" in event:
                result = [] if "toolResult" in event["contentBlockStart"]["start"] else None
            elif "contentBlockDelta" in event:
                delta = event["contentBlockDelta"]["delta"]
                said += len(delta.get("text", ""))
                if result is not None:
                    result += delta.get("toolResult", ())
            elif "contentBlockStop" in event and result is not None:
                outcomes.append(read_outcome(_tool_result(result)))
                result = None
        return _turn(self.name, said, outcomes)


def _tool_result(parts: Iterable[Mapping[str, Any]]) -> object:
    """Return the JSON that a tool answered: as such, or as text in pieces."""
    parts = list(parts)
    for part in parts:
        if "json" in part:
            return part["json"]
    return read_json("".join(part.get("text", "") for part in parts))


_GATEWAY_ACTION: Final = "bedrock-agentcore:InvokeGateway"
_NO_TOOL: Final = {"NoSuchTool": "has no tool", "SeveralTools": "has several tools"}


class GatewayClient:
    """Asks through the gateway, like the orchestrator."""

    name = "gateway"
    seconds = 45.0

    def __init__(self, aws: Aws, url: str, token: str = "") -> None:
        self._refused = (
            "it does not accept the token"
            if token
            else f"grant {_GATEWAY_ACTION}, or pass a token with --token-file for gateway_authorizer=jwt"
        )
        try:
            authorisation = Bearer(token) if token else SigV4(aws.region, find=aws.credentials)
            self._gateway = KnowledgeGateway(url, authorisation)
        except InvalidSettings as error:
            raise BadAnswer(str(error)) from error

    def ask(self, query: str) -> Reply:
        """Call the tool, in a session that begins with the first question."""
        try:
            return Reply(self._gateway.ask(Query(query), Deadline.after(self.seconds)))
        except Refused as error:
            raise BadAnswer(f"the gateway refuses a call: {error.message}") from error
        except RetrievalFailed as error:
            if error.code in _NO_TOOL:
                what = f"the gateway {_NO_TOOL[error.code]} {TOOL_NAMES[0]}"
                raise BadAnswer(what) from error
            trouble, detail = Trouble.NO_CREDENTIALS, "none to sign with"
            raise CallFailed(trouble, _GATEWAY_ACTION, error.code, detail) from error
        except ClientError as error:
            raise self._answered(error) from error
        except DeadlineExceeded as error:
            raise CallFailed(Trouble.TIMEOUT, _GATEWAY_ACTION, "Timeout", "") from error
        except BotoCoreError as error:
            raise call_failed(error, _GATEWAY_ACTION) from error

    def _answered(self, error: ClientError) -> CallFailed | BadAnswer:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        if status in (401, 403):
            return BadAnswer(f"the gateway refuses the caller (HTTP {status}): {self._refused}")
        if status in (429, 503):
            code, detail = f"HTTP {status}", "the gateway is busy"
            return CallFailed(Trouble.THROTTLED, _GATEWAY_ACTION, code, detail)
        return BadAnswer(f"the gateway answers HTTP {status}")
