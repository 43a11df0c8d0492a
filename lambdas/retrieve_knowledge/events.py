"""The events of the function's three kinds of callers, and the answer's form for each.

- An **agent** (OpenAPI action group): arguments under ``requestBody`` or ``parameters``, all text.
  The answer is the action-group envelope, also for errors, since the agent fails on anything else.
- A **gateway** (AgentCore): the arguments themselves; the tool's name is in the client context. The
  answer is the plain body, ``{"error": ...}`` for a request that can't be served.
- A **direct** invocation: like the gateway, plus ``explain``, which explains the results' order, and
  ``canary``, which counts the question separately.

Gateways and direct callers may add ``session_id`` and ``incident_id`` to the arguments, for the metrics.

The number of queries in an agent's turn is limited through ``promptSessionAttributes``: they live as long as
the turn and carry its count.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knowledge_rag.core import telemetry
from knowledge_rag.core.citations import MAX_PATH, check_source_file
from knowledge_rag.core.errors import InvalidCitation, InvalidRequest
from knowledge_rag.core.metadata import SOURCE_FILE
from knowledge_rag.core.outcome import (
    MAX_FILTER_CHARACTERS,
    MAX_TOOL_RESULTS,
    TARGET_SEPARATOR,
    TOOL_NAMES,
)
from knowledge_rag.core.retrieval import (
    FILTER_KEYS,
    MAX_QUERY_CHARACTERS,
    MAX_SERVICE_RESULTS,
    Query,
    fit,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knowledge_rag.core.outcome import RetrievalOutcome


API_PATH: Final = "/retrieve"
HTTP_METHOD: Final = "POST"
MESSAGE_VERSION: Final = "1.0"

MAX_AGENT_RESPONSE_BYTES: Final = 25_000
"""The limit of an action group's answer is 25 KB, here read as 25,000 bytes to be safe."""

MAX_GATEWAY_RESPONSE_BYTES: Final = 100_000
"""A gateway's answer goes into a model's context unchanged: some 25,000 tokens, a reasonable share for a tool."""

MAX_DIRECT_RESPONSE_BYTES: Final = 6_000_000
"""The limit of a synchronous invocation's answer; beyond 6 MB Lambda reports an error."""

QUERY_COUNT_ATTRIBUTE: Final = "knowledgeRagQueries"
"""The prompt session attribute that counts a turn's queries."""

EXPLAIN: Final = "explain"
"""A direct caller sets it to true for an explanation of the results' order."""

CANARY: Final = "canary"
"""A schedule sets it to true for a test query, which is counted separately."""

MAX_ID_CHARACTERS: Final = 200

ARGUMENTS: Final = ("query", "max_results", *FILTER_KEYS)
"""Arguments of every caller: the properties of the OpenAPI schema's request."""

DEFAULT_MAX_RESULTS: Final = 5

_SHOWN_CHARACTERS: Final = 60
_WHOLE: Final = re.compile(r"[+-]?[0-9]+(\.0*)?")

MAX_NAME_CHARACTERS: Final = 200
"""A longer name, path or method is truncated; the service's own are shorter."""

MAX_ATTRIBUTE_BYTES: Final = 16_000
"""Attributes beyond it are not repeated; the conversation's take precedence over the turn's. More would leave
no room for an answer within its 25 KB."""

_NAMES: Final = ("actionGroup", "apiPath", "httpMethod")

_AGENT_KEYS: Final = frozenset({"messageVersion", "actionGroup", "apiPath"})
_IDS: Final = (telemetry.SESSION_ID, telemetry.INCIDENT_ID)


class Caller(StrEnum):
    """The kind of caller, by the form of the event."""

    AGENT = "agent"
    GATEWAY = "gateway"
    DIRECT = "direct"


@dataclass(frozen=True, slots=True)
class Echo:
    """Parts of an agent's event that its answer repeats; a name is ``""`` if the event has none."""

    names: Mapping[str, str] = field(default_factory=dict)
    session_attributes: Mapping[str, str] = field(default_factory=dict)
    prompt_attributes: Mapping[str, str] = field(default_factory=dict)


def echo_of(event: Mapping[str, Any]) -> Echo:
    """Return the parts of an event, of any form, that its answer repeats, made safe to send.

    The service expects names as text and attributes as maps from text to text. Only those are repeated, so
    that the answer can always be written as JSON.
    """
    names = {name: _clean(event.get(name))[:MAX_NAME_CHARACTERS] for name in _NAMES}
    session = _attributes(event.get("sessionAttributes"), MAX_ATTRIBUTE_BYTES)
    left = MAX_ATTRIBUTE_BYTES - wire_bytes(session)
    return Echo(names, session, _attributes(event.get("promptSessionAttributes"), left))


class Fitted(NamedTuple):
    """An outcome that fits into the caller's response limit, and the response."""

    outcome: RetrievalOutcome
    answer: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """One invocation, read but not yet validated.

    Args:
        caller: kind of caller, which determines the limits and the form of the answer.
        echo: parts of an agent's event that the answer repeats.
        arguments: arguments of the query by name, unvalidated.
        problem: reason why the call can't be served, if its form is wrong.
        session_id: id of the caller's conversation, ``""`` if unknown.
        incident_id: id of the incident, ``""`` if unknown.
        queries_before: queries that this agent turn has already made.
        explain: whether the answer explains the results' order.
        canary: whether it is a test query, which is counted separately.
    """

    caller: Caller
    echo: Echo = field(default_factory=Echo)
    arguments: Mapping[str, object] = field(default_factory=dict)
    problem: InvalidRequest | None = None
    session_id: str = ""
    incident_id: str = ""
    queries_before: int = 0
    explain: bool = False
    canary: bool = False

    def query(self) -> Query:
        """Return the validated query.

        Raises:
            InvalidRequest: the request can't be served.
        """
        if self.problem is not None:
            raise self.problem
        most_results, most_of_document = _MAX_RESULTS[self.caller]
        return to_query(self.arguments, most_results, most_of_document=most_of_document)

    def answer(self, outcome: RetrievalOutcome, *, counted: bool = False) -> dict[str, Any]:
        """Return the response in the caller's form; ``counted`` queries count towards the turn's limit."""
        queries = self.queries_before + counted
        # only for direct callers: an agent's model would treat the nearest results as evidence
        body = outcome.to_dict(nearest=self.caller is Caller.DIRECT)
        return self._form(200, body, queries)

    def refuse(self, error: InvalidRequest) -> dict[str, Any]:
        """Return the response for a request that can't be served."""
        return self._form(error.status, {"error": str(error)}, self.queries_before)

    def fitted(self, outcome: RetrievalOutcome) -> Fitted:
        """Answer with as many results as the caller's response limit has room for."""
        answer, most_bytes = self.answer(outcome, counted=True), _MAX_BYTES[self.caller]
        if wire_bytes(answer) <= most_bytes:  # nearly always, so the answer is made only once
            return Fitted(outcome, answer)
        one_document = bool(str(self.arguments.get(SOURCE_FILE, "")).strip())
        smaller = fit(outcome, most_bytes, self._size, one_document=one_document)
        return Fitted(smaller, self.answer(smaller, counted=True))

    def _size(self, outcome: RetrievalOutcome) -> int:
        return wire_bytes(self.answer(outcome, counted=True))

    def _form(self, status: int, body: dict[str, object], queries: int) -> dict[str, Any]:
        if self.caller is not Caller.AGENT:
            return body
        prompt_attributes = dict(self.echo.prompt_attributes)
        if queries:
            prompt_attributes[QUERY_COUNT_ATTRIBUTE] = str(queries)
        return {
            "messageVersion": MESSAGE_VERSION,
            "response": {
                **self.echo.names,
                "httpStatusCode": status,
                "responseBody": {"application/json": {"body": _to_json(body)}},
            },
            "sessionAttributes": dict(self.echo.session_attributes),
            "promptSessionAttributes": prompt_attributes,
        }


_MAX_BYTES: Final = {
    Caller.AGENT: MAX_AGENT_RESPONSE_BYTES,
    Caller.GATEWAY: MAX_GATEWAY_RESPONSE_BYTES,
    Caller.DIRECT: MAX_DIRECT_RESPONSE_BYTES,
}


_MAX_RESULTS: Final = {
    Caller.AGENT: (MAX_TOOL_RESULTS, MAX_TOOL_RESULTS),
    Caller.GATEWAY: (MAX_TOOL_RESULTS, MAX_SERVICE_RESULTS),
    Caller.DIRECT: (MAX_SERVICE_RESULTS, MAX_SERVICE_RESULTS),
}
"""Maximum results of a search, and of a search in one document: a gateway's client may ask for the rest of a
document, but an agent's answer has no room for it."""


def unread(event: object) -> Call:
    """Return a call that only determines the form of the answer, before the event is read."""
    if isinstance(event, dict) and any(key in event for key in _AGENT_KEYS):
        return Call(Caller.AGENT, echo_of(event))
    return Call(Caller.DIRECT)


def recognise(event: object, context: object) -> Call:
    """Read an invocation of any form; the call's ``problem`` is its error, if any."""
    call = unread(event)
    if not isinstance(event, dict):
        problem = InvalidRequest("the event must be a JSON object with the argument query")
        return replace(call, problem=problem)
    if call.caller is Caller.AGENT:
        return _agent_call(event, call.echo)
    return _flat_call(event, _tool_name(context))


def _agent_call(event: dict[str, Any], echo: Echo) -> Call:
    prompt_attributes = _object(event.get("promptSessionAttributes"))
    session_attributes = _object(event.get("sessionAttributes"))
    incident_id = session_attributes.get(telemetry.INCIDENT_ID) or prompt_attributes.get(
        telemetry.INCIDENT_ID
    )
    arguments: dict[str, object] = {}
    try:
        _check_operation(event)
        arguments = _agent_arguments(event)
        problem = None
    except InvalidRequest as error:
        problem = error
    return Call(
        Caller.AGENT,
        echo,
        arguments,
        problem,
        _identifier(event.get("sessionId")),
        _identifier(incident_id),
        _count(prompt_attributes.get(QUERY_COUNT_ATTRIBUTE)),
    )


def _flat_call(event: dict[str, Any], tool: str | None) -> Call:
    caller = Caller.DIRECT if tool is None else Caller.GATEWAY
    problem = None
    if tool is not None and tool not in TOOL_NAMES:
        problem = InvalidRequest(f"no tool {tool[:40]!r}; there is {TOOL_NAMES[0]}", status=404)
    arguments = {name: value for name, value in event.items() if name not in _IDS}
    session_id, incident_id = (_identifier(event.get(name)) for name in _IDS)
    switches = {EXPLAIN: False, CANARY: False}
    for name in switches if caller is Caller.DIRECT else ():
        value = arguments.pop(name, False)
        if not isinstance(value, bool):
            problem = InvalidRequest(f"{name} must be true or false")
        switches[name] = value is True
    return Call(caller, Echo(), arguments, problem, session_id, incident_id, **switches)


def _check_operation(event: Mapping[str, Any]) -> None:
    if "function" in event and "apiPath" not in event:
        raise InvalidRequest(
            "an action group with function details is not served; there is /retrieve of the "
            "OpenAPI schema",
            status=404,
        )
    version, path, method = (event.get(k) for k in ("messageVersion", "apiPath", "httpMethod"))
    if version != MESSAGE_VERSION:
        raise InvalidRequest(f"messageVersion must be {MESSAGE_VERSION!r}, not {_short(version)}")
    if path != API_PATH:
        raise InvalidRequest(f"no path {_short(path)}; there is {API_PATH}", status=404)
    if not isinstance(method, str) or method.upper() != HTTP_METHOD:
        raise InvalidRequest(f"{API_PATH} takes {HTTP_METHOD}, not {_short(method)}", status=405)


def _agent_arguments(event: Mapping[str, Any]) -> dict[str, object]:
    content = _object(_object(event.get("requestBody")).get("content"))
    body = _object(content.get("application/json")).get("properties")
    # the body's values come last, so they override parameters of the same name
    return _pairs("parameters", event.get("parameters")) | _pairs("requestBody", body)


def _pairs(where: str, items: object) -> dict[str, object]:
    if items is None:
        return {}
    if not isinstance(items, list) or not all(
        isinstance(item, dict) and isinstance(item.get("name"), str) for item in items
    ):
        raise InvalidRequest(f"{where} must be a list of objects with name and value")
    return {item["name"]: item.get("value") for item in items}


def _tool_name(context: object) -> str | None:
    custom = getattr(getattr(context, "client_context", None), "custom", None)
    name = custom.get("bedrockAgentCoreToolName") if isinstance(custom, dict) else None
    return name.rpartition(TARGET_SEPARATOR)[2] if isinstance(name, str) else None


def _identifier(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return value[:MAX_ID_CHARACTERS].encode(errors="replace").decode()


def _count(value: object) -> int:
    # only this function writes it; an unreadable count starts at 0
    if not isinstance(value, str) or not value.isascii() or not value.isdigit():
        return 0
    return int(value[:6])


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _short(value: object) -> str:
    # only text is shown: the repr of a deeply nested value recurses, that of a huge one takes long
    return repr(value[:60]) if isinstance(value, str) else type(value).__name__


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def to_query(
    arguments: Mapping[str, object], most_results: int, *, most_of_document: int | None = None
) -> Query:
    """Validate the arguments of a call.

    Args:
        arguments: name -> value, unvalidated.
        most_results: ``max_results`` is clamped to it.
        most_of_document: ``max_results`` is clamped to it instead with ``source_file``; ``None`` for the same.

    Raises:
        InvalidRequest: an argument is missing, unknown, or invalid.
    """
    unknown = [name for name in arguments if name not in ARGUMENTS]
    if unknown:
        names = ", ".join(repr(str(name)[:40]) for name in unknown[:3])
        raise InvalidRequest(f"unknown argument {names}; known: {', '.join(ARGUMENTS)}")
    given = {key: _FILTERS[key](key, arguments[key]) for key in FILTER_KEYS if key in arguments}
    filters = {key: value for key, value in given.items() if value}
    if SOURCE_FILE in filters and most_of_document is not None:
        most_results = most_of_document
    return Query(
        _query(arguments.get("query")),
        _max_results(arguments.get("max_results", DEFAULT_MAX_RESULTS), most_results),
        filters,
    )


def _query(value: object) -> str:
    if value is None:
        raise InvalidRequest("query is missing")
    if not isinstance(value, str):
        raise InvalidRequest("query must be text")
    if not value.strip():
        raise InvalidRequest("query is blank")
    if len(value) > MAX_QUERY_CHARACTERS:
        raise InvalidRequest(
            f"query is {len(value)} characters long; at most {MAX_QUERY_CHARACTERS} are allowed"
        )
    return _encodable("query", value)


def _max_results(value: object, most: int) -> int:
    whole = f"max_results must be a whole number from 1 to {most}"
    if isinstance(value, str):
        if not _WHOLE.fullmatch(value.strip()):
            raise InvalidRequest(f"{whole}, not {value[:40]!r}")
        value = float(value)  # a number too long for a float becomes infinite, and is clamped
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidRequest(f"{whole}, not {type(value).__name__}")
    elif isinstance(value, float) and not value.is_integer():
        raise InvalidRequest(f"{whole}, not {value}")
    return int(min(max(value, 1), most))


def _filter(name: str, value: object) -> str:
    # agents fill unknown values with blanks, which mean no filter instead of one that nothing passes
    return _encodable(name, _text(name, value, MAX_FILTER_CHARACTERS).strip())


def _source_file(name: str, value: object) -> str:
    path = _encodable(name, _text(name, value, MAX_PATH))
    if not path.strip():
        return ""
    try:
        return check_source_file(path)
    except InvalidCitation as error:
        raise InvalidRequest(
            f"{name} {path[:_SHOWN_CHARACTERS]!r} is not the path of a document as in citations: "
            "relative to the root of the corpus, separated by /, without .. or a backslash"
        ) from error


_FILTERS: Final[Mapping[str, Callable[[str, object], str]]] = {
    key: _source_file if key == SOURCE_FILE else _filter for key in FILTER_KEYS
}


def _text(name: str, value: object, longest: int) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"{name} must be text")
    if len(value) > longest:
        raise InvalidRequest(f"{name} is longer than {longest} characters")
    return value


def _encodable(name: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            f"{name} contains a lone surrogate, which isn't a character"
        ) from error
    return value


def wire_bytes(answer: object) -> int:
    """Return the size of an answer in bytes, as Lambda's runtime writes it.

    Up to Python 3.11 the runtime escapes everything but ASCII, from 3.12 on it writes UTF-8.
    """
    text = json.dumps(answer, ensure_ascii=sys.version_info < (3, 12), allow_nan=False)
    return len(text.encode())


def _attributes(value: object, most_bytes: int) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    texts = {
        _clean(name): _clean(text)
        for name, text in value.items()
        if isinstance(name, str) and isinstance(text, str)
    }
    return texts if wire_bytes(texts) <= most_bytes else {}


def _clean(value: object) -> str:
    # a lone surrogate is not a character and can't be written as UTF-8
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""
