"""Questions to a deployment: to the function, to the agent and through the gateway."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.eventstream import ParserError
from botocore.exceptions import BotoCoreError, ClientError
from botocore.httpsession import URLLib3Session
from botocore.utils import get_environ_proxies
from urllib3.exceptions import HTTPError, ReadTimeoutError

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import InvalidCitation, KnowledgeRagError, UnreadableResponse
from knowledge_rag.core.outcome import TOOL_NAMES, RetrievalResult, Status
from knowledge_rag.deployment.aws import CONNECT_SECONDS
from knowledge_rag.deployment.bounded import all_within
from knowledge_rag.deployment.errors import CallFailed, Trouble, call_failed
from knowledge_rag.orchestrator.backends import gateway as mcp
from knowledge_rag.orchestrator.backends.gateway import GATEWAY_SERVICE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from botocore.awsrequest import AWSResponse

    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.smoke.questions import Question

GIVE_UP_AFTER: Final = 2
"""Failures one after another until a client counts as closed, so that a dead one costs no minutes."""

_PASSING: Final = frozenset({Trouble.THROTTLED, Trouble.TIMEOUT})
"""Troubles that may be gone in a minute."""


class BadAnswer(KnowledgeRagError):  # noqa: N818 - named for what it is
    """A client to the knowledge base answers, but not as it was promised."""


class Client(Protocol):
    """Asks the function, the agent or the gateway."""

    name: str
    seconds: float

    def ask(self, query: str) -> Mapping[str, Any]:
        """Ask a question and give the function's body.

        Raises:
            CallFailed: nothing came back.
            BadAnswer: what came back makes no sense.
        """


@dataclass(frozen=True, slots=True)
class Answer:
    """What one question gave.

    Args:
        question: that was asked.
        seconds: until the answer was there, as seen from here.
        status: how the retrieval ended; ``None`` where there was no answer at all.
        reason: of a degraded one.
        results: with an ``ok`` one.
        failure: why there was no answer.
        passing: whether the failure may be gone in a minute.
    """

    question: Question
    seconds: float
    status: Status | None
    reason: str = ""
    results: tuple[RetrievalResult, ...] = ()
    failure: str = ""
    passing: bool = False


def ask_all(
    client: Client, questions: Sequence[Question], on_answer: Callable[[], None]
) -> list[Answer]:
    """Ask one question after the other; a client that fails twice in a row is asked nothing more."""
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

    def work() -> Mapping[str, Any]:
        return client.ask(question.query)

    ((_, ended),) = all_within(client.seconds, {client.name: work})
    seconds = time.monotonic() - started
    try:
        if ended is None:
            raise CallFailed(Trouble.TIMEOUT, client.name, "Timeout", "")  # noqa: TRY301 - read below
        return _read_answer(question, seconds, ended.result())
    except (CallFailed, BadAnswer) as error:
        passing = isinstance(error, CallFailed) and error.trouble in _PASSING
        return Answer(question, seconds, None, failure=str(error), passing=passing)
    except Exception as error:  # noqa: BLE001 - whatever came back, the other clients still have their turn
        failure = f"an answer makes no sense ({type(error).__name__}: {error})"
        return Answer(question, seconds, None, failure=failure)


def _read_answer(question: Question, seconds: float, body: Mapping[str, Any]) -> Answer:
    if "error" in body:
        raise BadAnswer(f"a question was refused: {body['error']}")
    try:
        status = Status(body["status"])
        results = tuple(_result(each) for each in body["results"])
    except (InvalidCitation, KeyError, TypeError, ValueError) as error:
        raise BadAnswer(f"an answer is not what the schema says: {error!r}") from error
    if bool(results) != (status is Status.OK):
        raise BadAnswer(f"an answer is {status} with {len(results)} results")
    return Answer(question, seconds, status, str(body.get("reason", "")), results)


def _result(wire: Mapping[str, Any]) -> RetrievalResult:
    citation, content, score = wire["citation"], wire["content"], wire.get("relevance_score")
    if not isinstance(content, str) or not isinstance(score, int | float | None):
        raise TypeError("content is no text, or relevance_score no number")
    return RetrievalResult(
        content,
        Citation(
            citation["source_file"],
            citation["start_line"],
            citation["end_line"],
            citation.get("section_header", ""),
        ),
        score,
        wire.get("metadata", {}),
    )


FUNCTION_READ_SECONDS: Final = 10
"""Twice Lambda's own limit on the function."""

MAX_RESULTS: Final = 5


class FunctionClient:
    """A direct invocation."""

    name = "function"
    seconds = 2.0 * FUNCTION_READ_SECONDS

    def __init__(self, aws: Aws, alias: str) -> None:
        self._aws = aws
        self._alias = alias

    def ask(self, query: str) -> Mapping[str, Any]:
        """Invoke it with the flat arguments of a direct caller."""
        answer = self._aws.call(
            "lambda",
            "invoke",
            read_seconds=FUNCTION_READ_SECONDS,
            FunctionName=self._alias,
            Payload=json.dumps({"query": query, "max_results": MAX_RESULTS}).encode(),
        )
        try:
            payload = answer["Payload"].read()
        except BotoCoreError as error:
            raise call_failed(error, "lambda:InvokeFunction") from error
        if "FunctionError" in answer:
            raise BadAnswer(f"the function failed: {payload[:300].decode(errors='replace')}")
        return read_body(payload, "the function")


def read_body(data: bytes | str, who: str) -> Mapping[str, Any]:
    """Parse the function's body."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"{who} answers with what is no JSON") from error
    if not isinstance(body, dict):
        raise BadAnswer(f"{who} answers with JSON that is no object")
    return body


AGENT_READ_SECONDS: Final = 60
"""A model may think that long between two events."""

_AGENT_ACTION: Final = "bedrock:InvokeAgent"


class AgentClient:
    """One session a question."""

    name = "agent"
    seconds = 120.0

    def __init__(self, aws: Aws, agent_id: str, alias_id: str) -> None:
        self._aws = aws
        self._agent_id = agent_id
        self._alias_id = alias_id

    def ask(self, query: str) -> Mapping[str, Any]:
        """Ask, read the stream to its end, and give what the tool answered in this turn."""
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
        said, bodies = 0, []
        try:
            for event in answer["completion"]:
                said += len(event.get("chunk", {}).get("bytes", b""))
                if (text := _tool_output(event)) is not None:
                    bodies.append(read_body(text, "the agent's tool"))
        except (BotoCoreError, ClientError) as error:
            raise call_failed(error, _AGENT_ACTION) from error
        except HTTPError as error:  # which botocore lets through while a stream is read
            trouble = (
                Trouble.TIMEOUT if isinstance(error, ReadTimeoutError) else Trouble.UNREACHABLE
            )
            raise CallFailed(trouble, _AGENT_ACTION, type(error).__name__, str(error)) from error
        except ParserError as error:
            raise BadAnswer(f"the agent's stream is damaged ({type(error).__name__})") from error
        if not said:
            raise BadAnswer("the agent said nothing")
        if not bodies:
            raise BadAnswer("the agent answered without asking the knowledge base")
        return _joined(bodies)


def _tool_output(event: Mapping[str, Any]) -> str | None:
    step = event.get("trace", {}).get("trace", {}).get("orchestrationTrace", {})
    output = step.get("observation", {}).get("actionGroupInvocationOutput", {}).get("text")
    return output if isinstance(output, str) else None


def _joined(bodies: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Merge the bodies of one turn's queries: all results, or the first degraded one."""
    for body in bodies:
        if "error" in body:
            return body
    results = [result for body in bodies for result in body.get("results", [])]
    if results:
        return {"status": Status.OK.value, "results": results}
    degraded = [body for body in bodies if body.get("status") == Status.DEGRADED]
    return degraded[0] if degraded else bodies[0]


GATEWAY_READ_SECONDS: Final = 15
_GATEWAY_ACTION: Final = "bedrock-agentcore:InvokeGateway"
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


class GatewayClient:
    """A session of the protocol: initialised with the first question, then reused."""

    name = "gateway"
    seconds = 3.0 * GATEWAY_READ_SECONDS

    def __init__(self, aws: Aws, url: str, token: str = "") -> None:
        where = urlsplit(url)
        if where.scheme != "https" and where.hostname not in _LOOPBACK:
            raise BadAnswer(f"the gateway's address is not https: {url[:200]}")
        self._aws = aws
        self._url = url
        self._token = token
        options: dict[str, Any] = {  # whose annotations are narrower than what is taken
            "verify": aws.ca_bundle or True,
            "timeout": (CONNECT_SECONDS, GATEWAY_READ_SECONDS),
        }
        self._http = URLLib3Session(proxies=get_environ_proxies(url), **options)
        self._session: dict[str, str] = {}
        self._tool = ""
        self._sent = 0

    def ask(self, query: str) -> Mapping[str, Any]:
        """Call the tool."""
        if not self._tool:
            self._begin()
        arguments = {"query": query, "max_results": MAX_RESULTS}
        result = self._request("tools/call", {"name": self._tool, "arguments": arguments})
        try:
            body = mcp.tool_body(result)
        except mcp.Refused as error:
            raise BadAnswer(f"the gateway's tool failed: {error.message}") from error
        except UnreadableResponse as error:
            raise BadAnswer(f"the gateway's tool: {error}") from error
        if not isinstance(body, dict):
            raise BadAnswer("the gateway's tool answers with JSON that is no object")
        return body

    def _begin(self) -> None:
        begun = self._request("initialize", mcp.introduction("knowledge-rag smoke"))
        try:
            self._session["MCP-Protocol-Version"] = mcp.protocol_of(begun)
            self._send(mcp.notification("notifications/initialized"))
            tools = mcp.tool_names(self._request("tools/list", {}))
        except UnreadableResponse as error:
            raise BadAnswer(str(error)) from error
        fitting = mcp.retrieval_tools(tools)
        if not fitting:
            raise BadAnswer(
                f"the gateway has no tool {TOOL_NAMES[0]}, but {', '.join(tools) or 'none'}"
            )
        self._tool = fitting[0]

    def _request(self, method: str, parameters: Mapping[str, object]) -> Mapping[str, Any]:
        self._sent += 1
        response = self._send(mcp.request(self._sent, method, parameters))
        kind = response.headers.get("content-type", "")
        try:
            result = mcp.read_result(response.content, kind, self._sent)
            if "mcp-session-id" in response.headers:
                self._session["Mcp-Session-Id"] = mcp.session_id(response.headers["mcp-session-id"])
        except mcp.Refused as error:
            raise BadAnswer(f"the gateway refuses {method}: {error.message}") from error
        except UnreadableResponse as error:
            raise BadAnswer(f"{method}: {error}") from error
        return result

    def _send(self, message: bytes) -> AWSResponse:
        headers = {**mcp.HEADERS, **self._session}
        request = AWSRequest("POST", self._url, headers, message)
        self._authorise(request)
        try:
            response: AWSResponse = self._http.send(request.prepare())
            _ = response.content  # read here, where failures are handled
        except BotoCoreError as error:
            raise call_failed(error, _GATEWAY_ACTION) from error
        _check_status(response, with_token=bool(self._token))
        return response

    def _authorise(self, request: AWSRequest) -> None:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
            return
        credentials = self._aws.credentials()
        if credentials is None:
            raise CallFailed(
                Trouble.NO_CREDENTIALS, _GATEWAY_ACTION, "NoCredentials", "none to sign with"
            )
        SigV4Auth(credentials, GATEWAY_SERVICE, self._aws.region).add_auth(request)


def _check_status(response: AWSResponse, *, with_token: bool) -> None:
    status = response.status_code
    if status < 300:
        return
    if status in (401, 403):
        hint = (
            "it does not accept the token"
            if with_token
            else f"grant {_GATEWAY_ACTION}, or give a token by --token-file with gateway_authorizer=jwt"
        )
        raise BadAnswer(f"the gateway refuses the caller (HTTP {status}): {hint}")
    if status in (429, 503):
        raise CallFailed(
            Trouble.THROTTLED, _GATEWAY_ACTION, f"HTTP {status}", "the gateway is busy"
        )
    raise BadAnswer(f"the gateway answers HTTP {status}")
