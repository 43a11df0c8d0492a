"""Becomes ``knowledge-rag`` again and again: each command is a process of its own, forked with its imports done.

Starting Python and importing numpy, onnxruntime and botocore take longer than what most commands do.
What reads the environment when it is imported (the Lambdas' handlers) is left to each command.
"""

from __future__ import annotations

import gc
import io
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

IMPORTED = (
    "knowledge_rag.cli.app", "knowledge_rag.cli.advice", "knowledge_rag.cli.evidence",
    "knowledge_rag.cli.knowledge_bases", "knowledge_rag.cli.recommendation",
    "knowledge_rag.cli.verification", "knowledge_rag.core.net.clients", "knowledge_rag.local.embeddings",
    "knowledge_rag.guardrails.verify", "knowledge_rag.local.bedrock.server", "knowledge_rag.local.ingest",
    "knowledge_rag.local.local_retrieval", "knowledge_rag.orchestrator.consultation", "anyio._backends._asyncio",
    "boto3", "encodings.idna", "encodings.utf_8_sig", "httpx", "pydantic.type_adapter",
    "typer._adapters", "uvicorn.lifespan.off", "uvicorn.lifespan.on", "uvicorn.loops.asyncio",
    "uvicorn.protocols.http.h11_impl",
)  # fmt: skip
MAX_ORDER = 100_000
"""Bytes of a command and its environment that one message holds."""


class Zygote:
    """The process that becomes commands; it ends with the one that made it."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def close(self) -> None:
        """End it."""
        self._ours.close()
        self._process.wait()

    def run(
        self, argv: Sequence[str], environment: Mapping[str, str], folder: str, seconds: float
    ) -> subprocess.CompletedProcess[bytes] | None:
        """Run a command to its end, with nothing on its standard input.

        Returns:
            What it left behind; ``None`` where the order is too long to be given.

        Raises:
            subprocess.TimeoutExpired: it took longer, and was killed.
        """
        order = json.dumps([list(argv), dict(environment), folder]).encode()
        if len(order) > MAX_ORDER:
            return None
        told, tells = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        out, err = io.BytesIO(), io.BytesIO()
        with told, selectors.DefaultSelector() as streams:
            with tells:
                ends = [os.pipe(), os.pipe()]
                socket.send_fds(self._ours, [order], [tells.fileno(), *(end[1] for end in ends)])
            for (reads, writes), taken in zip(ends, (out, err), strict=True):
                os.close(writes)
                streams.register(reads, selectors.EVENT_READ, taken)
            pid = int(told.recv(100))
            try:
                _take_all(streams, seconds)
                told.settimeout(seconds)
                code = int(told.recv(100))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(argv), seconds) from None
            finally:
                for reads, _ in ends:
                    os.close(reads)
        return subprocess.CompletedProcess(list(argv), code, out.getvalue(), err.getvalue())


def _take_all(streams: selectors.BaseSelector, seconds: float) -> None:
    while streams.get_map():
        ready = streams.select(seconds)
        if not ready:
            raise TimeoutError
        for key, _ in ready:
            data = os.read(key.fd, 65536)
            key.data.write(data)
            if not data:
                streams.unregister(key.fd)


def _serve(orders: socket.socket) -> None:
    """Fork a process for each order, and tell how it ended; only these processes come back."""
    running: dict[int, socket.socket] = {}
    ended, ends = socket.socketpair()
    ended.settimeout(0)
    ends.settimeout(0)
    signal.set_wakeup_fd(ends.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with selectors.DefaultSelector() as waiting:
        waiting.register(orders, selectors.EVENT_READ)
        waiting.register(ended, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.fileobj is ended:
                    ended.recv(4096)
                    _tell(running)
                    continue
                data, fds, _, _ = socket.recv_fds(orders, MAX_ORDER + 1, 3)
                if not data:
                    os._exit(0)
                teller = socket.socket(fileno=fds[0])
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for one in (teller, orders, ended, ends, *running.values()):
                        one.close()
                    return _become(json.loads(data), fds[1:])
                for fd in fds[1:]:
                    os.close(fd)
                teller.send(str(pid).encode())
                running[pid] = teller


def _tell(running: dict[int, socket.socket]) -> None:
    with suppress(ChildProcessError):
        while running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with running.pop(pid) as teller, suppress(BrokenPipeError):
                teller.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(order: list[Any], streams: list[int]) -> None:
    """Make this process what the command's would be when it has started."""
    argv, environment, folder = order
    for ours, standard in zip(streams, (1, 2), strict=True):
        os.dup2(ours, standard)
        os.close(ours)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = argv
    sys.modules["__main__"].__package__ = None  # as that of a script, which is named by its file
    given = partial(open, mode="w", encoding="utf-8", closefd=False)
    sys.stdout, sys.stderr = given(1), given(2, errors="backslashreplace", buffering=1)
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr


if __name__ == "__main__":
    for name in IMPORTED:
        import_module(name)
    sys.modules["knowledge_rag.cli.app"].command_line()
    gc.collect()
    gc.freeze()  # a command that ends would look through all of it for garbage, and copy it by that
    early = {"lambdas.reporting"} & sys.modules.keys()
    assert not early, f"{early} would have the environment of another command"
    _serve(socket.socket(fileno=int(sys.argv[1])))
    from knowledge_rag.__main__ import main

    main()
