"""Calls the real ``retrieve_knowledge`` Lambda on this machine, as a Bedrock agent would.

The function and its settings are the ones that run in AWS. In the process of a command it asks the knowledge
base directly; with the address of this machine's server, by its own boto3 client, with its environment pointing
to that server instead of Amazon's. It keeps its settings and its client for the life of the process, which a
server that runs other code can't share: there it has a process of its own.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TextIO

from knowledge_rag.core.policy_settings import SourcePolicy
from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.local.bedrock.retrieve import KNOWLEDGE_BASE_ID, InProcessBedrock
from lambdas.retrieve_knowledge.events import API_PATH, HTTP_METHOD, MESSAGE_VERSION
from lambdas.retrieve_knowledge.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from knowledge_rag.local.knowledge_base import KnowledgeBase
    from lambdas.retrieve_knowledge.service import Client

EVIDENCE_FLOOR_HYBRID: Final = 0.185
"""For the weighted sum of cosine and keyword coverage, lowered if few of the question's words
occur (``search.keyword_support``)."""

EVIDENCE_FLOOR_SEMANTIC: Final = 0.275
"""For the cosine, lowered in the same way."""

_lock: Final = threading.Lock()


class _Split(io.TextIOBase):
    """Replaces standard output while any thread's is collected."""

    def __init__(self, usual: TextIO) -> None:
        self.usual = usual
        self.collecting = 0
        self.own = threading.local()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the usual one has
        return getattr(self.usual, name)

    def write(self, text: str, /) -> int:
        return self._current().write(text)

    def flush(self) -> None:
        self._current().flush()

    def _current(self) -> TextIO:
        current: TextIO = getattr(self.own, "buffer", self.usual)
        return current


@contextmanager
def collected_output() -> Iterator[io.StringIO]:
    """Collect what this thread writes to standard output while the block runs."""
    with _lock:
        split = sys.stdout if isinstance(sys.stdout, _Split) else _Split(sys.stdout)
        split.collecting += 1
        sys.stdout = split
    split.own.buffer = buffer = io.StringIO()
    try:
        yield buffer
    finally:
        del split.own.buffer
        with _lock:
            split.collecting -= 1
            if not split.collecting and sys.stdout is split:
                sys.stdout = split.usual


REGION: Final = "us-east-1"
"""Any region works: nothing leaves the machine."""

_POLICY: Final = frozenset({"SOURCE_POLICY", "SECONDARY_SCOPE", "POLICY_TODAY"})
"""Settings of the function that apply here as in AWS; see ``docs/source-policy.md``."""

_SHARED: Final = _POLICY | frozenset(
    {"HOME", "LANG", "ORT_DISABLE_TELEMETRY", "PATH", "SYSTEMROOT", "TMPDIR", "TZ"}
)
"""The user's variables that the function may see: those of the policy, and those that don't configure
it.

A profile, a proxy or ``AWS_IGNORE_CONFIGURED_ENDPOINT_URLS`` would send its calls elsewhere, and
names like ``LOG_LEVEL`` or ``DEADLINE_SECONDS`` mean other things to other programs.
"""

_JSON: Final = "application/json"
_TYPES: Final = {"max_results": "integer"}


@dataclass(frozen=True, slots=True)
class LambdaAnswer:
    """The function's answer: its body, and the whole envelope that an agent receives."""

    status_code: int
    body: dict[str, Any]
    envelope: dict[str, Any]


def agent_event(arguments: Mapping[str, object], *, session_id: str = "local") -> dict[str, Any]:
    """Return the event that an agent's OpenAPI action group sends; every value is sent as text."""
    properties = [
        {"name": name, "type": _TYPES.get(name, "string"), "value": str(value)}
        for name, value in arguments.items()
        if value is not None
    ]
    return {
        "messageVersion": MESSAGE_VERSION,
        "agent": {"name": "local", "id": "LOCALAGENT", "alias": "LOCALALIAS", "version": "DRAFT"},
        "inputText": str(arguments.get("query", "")),
        "sessionId": session_id,
        "actionGroup": "retrieve_knowledge",
        "apiPath": API_PATH,
        "httpMethod": HTTP_METHOD,
        "parameters": [],
        "requestBody": {"content": {_JSON: {"properties": properties}}},
        "sessionAttributes": {},
        "promptSessionAttributes": {},
    }


class ActionGroup:
    """Calls the function; created by :func:`local_action_group`."""

    def __init__(self, handler: Callable[[object, object], dict[str, Any]]) -> None:
        self._handler = handler

    def retrieve(self, query: str, **arguments: object) -> LambdaAnswer:
        """Ask one question as an agent does; an argument that is ``None`` is left out."""
        return self.invoke(agent_event({"query": query, **arguments}))

    def body(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return the body of the answer to an event."""
        return self.invoke(event).body

    def invoke(self, event: dict[str, Any]) -> LambdaAnswer:
        """Send an event in any form that the function supports."""
        # the function logs to standard output, from which Lambda collects logs and metrics; here standard
        # output is the user's
        with collected_output():
            answer = self._handler(event, None)
        response = answer.get("response")
        if not isinstance(response, dict):  # a direct call is answered with the bare body
            return LambdaAnswer(400 if "error" in answer else 200, answer, answer)
        body = json.loads(response["responseBody"][_JSON]["body"])
        return LambdaAnswer(response["httpStatusCode"], body, answer)


@contextmanager
def local_action_group(
    bedrock: str | Client,
    *,
    search_type: SearchType = SearchType.HYBRID,
    policy: SourcePolicy | None = None,
    deadline_seconds: float | None = None,
) -> Iterator[ActionGroup]:
    """Let the function ask a local knowledge base while the block runs.

    Changes the process's environment and restores it afterwards, so enter one block at a time.

    ``bedrock`` is the address of a :class:`~knowledge_rag.local.bedrock.server.LocalBedrock`, or the client that
    replaces the function's own. By default, the policy is the user's ``SOURCE_POLICY``, and the function gives up on a
    query as in AWS.

    Raises:
        InvalidSettings: the policy, its scope or its day is wrong, or incompatible with the search.
    """
    before = dict(os.environ)
    hidden = _POLICY if policy is SourcePolicy.OFF else frozenset()
    kept = {name: value for name, value in before.items() if name in _SHARED - hidden}
    chosen = {} if policy is None else {"SOURCE_POLICY": policy.value}
    endpoint_url, client = (bedrock, None) if isinstance(bedrock, str) else ("", bedrock)
    _become(kept | chosen | _environment(endpoint_url, search_type))
    try:
        settings = load_settings(os.environ)
        if deadline_seconds is not None:
            settings = settings._replace(deadline_seconds=deadline_seconds)
        # only now: Powertools reads its settings on import
        from lambdas.retrieve_knowledge.handler import (  # noqa: PLC0415
            WARM_UP_SECONDS,
            lambda_handler,
            warm_up,
        )
        from lambdas.retrieve_knowledge.service import start  # noqa: PLC0415

        end = start(settings, client)
        # as Lambda does before the first event: no query pays for it
        warm_up(max(WARM_UP_SECONDS, settings.deadline_seconds))
        try:
            yield ActionGroup(lambda_handler)
        finally:
            end()
    finally:
        _become(before)


@contextmanager
def action_group_of(
    knowledge_base: KnowledgeBase,
    *,
    search_type: SearchType = SearchType.HYBRID,
    policy: SourcePolicy | None = None,
    deadline_seconds: float | None = None,
) -> Iterator[ActionGroup]:
    """Let the function ask a knowledge base of this process; see :func:`local_action_group`.

    Raises:
        ModelUnavailable: the embedding model isn't available.
    """
    knowledge_base.warm_up()  # loading the model would use up a query's time
    with local_action_group(
        InProcessBedrock(knowledge_base),
        search_type=search_type,
        policy=policy,
        deadline_seconds=deadline_seconds,
    ) as group:
        yield group


def _become(environment: Mapping[str, str]) -> None:
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)


def _environment(endpoint_url: str, search_type: SearchType) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME": endpoint_url,
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "KNOWLEDGE_BASE_ID": KNOWLEDGE_BASE_ID,
        "SEARCH_TYPE": search_type.value,
        "EVIDENCE_FLOOR_HYBRID": str(EVIDENCE_FLOOR_HYBRID),
        "EVIDENCE_FLOOR_SEMANTIC": str(EVIDENCE_FLOOR_SEMANTIC),
    }


FUNCTION_SECONDS: Final = 10.0
"""Time for one call on top of the caller's own deadline; the function itself answers within 2 s unless
set otherwise."""

START_SECONDS: Final = 30.0
"""Time for the process to become ready, on a busy machine."""

_RUN: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from knowledge_rag.local.action_group import run; run(*sys.argv[2:])"
)
_ROOT: Final = str(Path(__file__).parents[2])


class FunctionFailed(Exception):  # noqa: N818 - never leaves this package
    """The function's process could not be started, died, or did not answer in time."""


class FunctionProcess:
    """The function in a process, started on the first call; one call at a time.

    The deadline is the function's own, for each query; by default as in AWS.
    """

    def __init__(self, deadline_seconds: float | None = None) -> None:
        self._deadline_seconds = deadline_seconds
        self._seconds = FUNCTION_SECONDS + (deadline_seconds or 0.0)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._endpoint_url = ""
        self._closed = threading.Event()

    @property
    def pid(self) -> int | None:
        """The id of its process, ``None`` if there is none."""
        process = self._process
        return None if process is None else process.pid

    def invoke(self, event: dict[str, Any], endpoint_url: str) -> dict[str, Any]:
        """Send an event and return the function's answer.

        Raises:
            FunctionFailed: there is no answer; the next call starts a new process.
        """
        with self._lock:
            answer: dict[str, Any] = json.loads(self._answer(event, endpoint_url))
        return answer

    def close(self) -> None:
        """End the process immediately; a call that waits for it fails."""
        self._closed.set()
        self._kill()

    def _answer(self, event: dict[str, Any], endpoint_url: str) -> bytes:
        try:
            process = self._running(endpoint_url)
            line = _exchange(process, json.dumps(event).encode() + b"\n", self._seconds)
        except (OSError, ValueError) as error:  # a pipe broke or was closed
            self._kill()
            raise FunctionFailed(f"the function's process: {error}") from error
        if not line:
            self._kill()
            raise FunctionFailed(f"no answer from the function within {self._seconds:g} s")
        return line

    def _running(self, endpoint_url: str) -> subprocess.Popen[bytes]:
        if self._closed.is_set():
            raise FunctionFailed("the server is stopping")
        if self._process is None or self._endpoint_url != endpoint_url:
            self._kill()
            self._process = _started(endpoint_url, self._deadline_seconds)
            self._endpoint_url = endpoint_url
            if self._closed.is_set():  # closed before there was a process to end
                self._kill()
                raise FunctionFailed("the server is stopping")
            if not _exchange(self._process, b"", START_SECONDS):  # it reports that it is ready
                self._kill()
                raise FunctionFailed("the function did not start")
        return self._process

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # closing flushes unwritten bytes
                    _there(pipe).close()


def run(endpoint_url: str, deadline_seconds: str = "") -> None:
    """Run the function: answer each line with a line until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # other output belongs to no answer

    from knowledge_rag.core.net.deadline import Deadline  # noqa: PLC0415 - only the child needs it

    deadline = float(deadline_seconds) if deadline_seconds else None
    with local_action_group(endpoint_url, deadline_seconds=deadline) as group:
        from lambdas.retrieve_knowledge.handler import WARM_UP_SECONDS  # noqa: PLC0415
        from lambdas.retrieve_knowledge.service import service  # noqa: PLC0415

        # as in Lambda's initialisation: creating the client isn't part of a call's time
        service(Deadline.after(WARM_UP_SECONDS)).client.prepare()
        print("{}", file=answers, flush=True)
        for line in sys.stdin.buffer:
            answer = group.invoke(json.loads(line))
            print(json.dumps(answer.envelope), file=answers, flush=True)


def _started(endpoint_url: str, deadline_seconds: float | None) -> subprocess.Popen[bytes]:
    deadline = "" if deadline_seconds is None else str(deadline_seconds)
    return subprocess.Popen(  # noqa: S603 - this very interpreter
        [sys.executable, "-P", "-c", _RUN, _ROOT, endpoint_url, deadline],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def _exchange(process: subprocess.Popen[bytes], line: bytes, seconds: float) -> bytes:
    """Write a line and read one; ``b""`` if the process ended, or was ended because it was late."""
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        if line:
            _there(process.stdin).write(line)
            _there(process.stdin).flush()
        answer = _there(process.stdout).readline()
    except BrokenPipeError:  # it ended before it read the line
        return b""
    finally:
        timer.cancel()
    return answer if answer.endswith(b"\n") else b""


def _there(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101 - tells the type checker that it was asked for
    return pipe
