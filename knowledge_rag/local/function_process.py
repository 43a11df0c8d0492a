"""Runs ``retrieve_knowledge`` in a process of its own, as Lambda does, for the agent to call.

The function reads its settings from its environment and keeps its client for the life of its
process; both belong to no server that shares its own process with others' code. Events and answers
travel as one JSON object a line. The process ends when its input does, so it outlives nobody.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

FUNCTION_SECONDS: Final = 10.0
"""How long one call may take besides a deadline of the caller's own; the function itself answers
within 2 s unless it is given one."""

START_SECONDS: Final = 30.0
"""How long the process may take to be ready, on a busy machine."""

_RUN: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from knowledge_rag.local.function_process import run; run(*sys.argv[2:])"
)
_ROOT: Final = str(Path(__file__).parents[2])


class FunctionFailed(Exception):  # noqa: N818 - never leaves this package
    """The function's process could not be started, died, or did not answer in time."""


class FunctionProcess:
    """The function, started when it is first called; one call at a time.

    Args:
        deadline_seconds: when the function gives a query up; by default as in AWS.
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
        """The number of its process, ``None`` while there is none."""
        process = self._process
        return None if process is None else process.pid

    def invoke(self, event: dict[str, Any], endpoint_url: str) -> dict[str, Any]:
        """Send an event and give the function's answer.

        Args:
            event: of any shape that the function serves.
            endpoint_url: where the function's own client finds the knowledge base.

        Raises:
            FunctionFailed: there is no answer; the next call starts the function anew.
        """
        with self._lock:
            answer: dict[str, Any] = json.loads(self._answer(event, endpoint_url))
        return answer

    def close(self) -> None:
        """End the process, at once; a call that waits for it fails."""
        self._closed.set()
        self._kill()

    def _answer(self, event: dict[str, Any], endpoint_url: str) -> bytes:
        try:
            process = self._running(endpoint_url)
            line = _exchange(process, json.dumps(event).encode() + b"\n", self._seconds)
        except (OSError, ValueError) as error:  # a pipe is broken, or closed meanwhile
            self._kill()
            raise FunctionFailed(f"the function's process: {error}") from error
        if not line:
            self._kill()
            raise FunctionFailed(f"no answer of the function within {self._seconds:g} s")
        return line

    def _running(self, endpoint_url: str) -> subprocess.Popen[bytes]:
        if self._closed.is_set():
            raise FunctionFailed("the server is stopping")
        if self._process is None or self._endpoint_url != endpoint_url:
            self._kill()
            self._process = _started(endpoint_url, self._deadline_seconds)
            self._endpoint_url = endpoint_url
            if self._closed.is_set():  # meanwhile, before there was anything to end
                self._kill()
                raise FunctionFailed("the server is stopping")
            if not _exchange(self._process, b"", START_SECONDS):  # it says that it is ready
                self._kill()
                raise FunctionFailed("the function did not start")
        return self._process

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what was never written is written when it is closed
                    _there(pipe).close()


def run(endpoint_url: str, deadline_seconds: str = "") -> None:
    """Be the function: answer a line with a line until there are no more.

    Args:
        endpoint_url: where its client finds the knowledge base.
        deadline_seconds: when it gives a query up; by default as in AWS.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's to hear
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what else is printed belongs to no answer

    from knowledge_rag.core.deadline import Deadline  # noqa: PLC0415 - only the child needs them
    from knowledge_rag.local.action_group import local_action_group  # noqa: PLC0415

    deadline = float(deadline_seconds) if deadline_seconds else None
    with local_action_group(endpoint_url, deadline_seconds=deadline) as group:
        from lambdas.retrieve_knowledge.handler import WARM_UP_SECONDS  # noqa: PLC0415
        from lambdas.retrieve_knowledge.service import service  # noqa: PLC0415

        # as Lambda's initialisation does: making the client is no part of a call's time
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
    """Write a line and read one; ``b""`` if the process ended, or was ended for being late."""
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        if line:
            _there(process.stdin).write(line)
            _there(process.stdin).flush()
        answer = _there(process.stdout).readline()
    except BrokenPipeError:  # it ended before it had read the line
        return b""
    finally:
        timer.cancel()
    return answer if answer.endswith(b"\n") else b""


def _there(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101 - tells the type checker that it was asked for
    return pipe
