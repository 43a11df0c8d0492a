"""Becomes ``knowledge-rag`` again and again: each command is a process of its own, forked with its imports done.

Starting Python and importing numpy, onnxruntime and botocore take longer than what most commands do.
What reads the environment when it is imported (the Lambdas' handlers) is left to each command.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

IMPORTED = (
    "knowledge_rag.cli.app", "knowledge_rag.cli.advice", "knowledge_rag.cli.evidence",
    "knowledge_rag.cli.knowledge_bases", "knowledge_rag.cli.recommendation",
    "knowledge_rag.cli.verification", "knowledge_rag.console.app", "knowledge_rag.core.net.clients",
    "knowledge_rag.drift.check", "knowledge_rag.local.bedrock.server", "knowledge_rag.local.embeddings",
    "knowledge_rag.local.ingest", "knowledge_rag.mcp_server.server", "knowledge_rag.orchestrator.consultation",
    "anyio._backends._asyncio",
    "boto3", "encodings.idna", "encodings.utf_8_sig", "httpx", "pydantic.type_adapter",
    "typer._adapters", "uvicorn.lifespan.off", "uvicorn.lifespan.on", "uvicorn.loops.asyncio",
    "uvicorn.protocols.http.h11_impl",
)  # fmt: skip
CLIENT = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({address!r})
    order = json.dumps([[{command!r}, *sys.argv[1:]], dict(os.environ), os.getcwd()]) + "\\n"
    socket.send_fds(connection, [b"\\n"], [0, 1, 2])
    connection.sendall(order.encode())
    sys.exit(int(connection.makefile().read().split()[1]))
"""
"""A program that has a zygote run the command, with its own streams."""


class Command:
    """A running command; it has what tests use of :class:`subprocess.Popen`."""

    def __init__(
        self, connection: socket.socket, stdout: IO[bytes] | None, stderr: IO[bytes] | None
    ) -> None:
        self._told = connection.makefile()
        connection.close()
        self._ended = False
        self.stdout, self.stderr = stdout, stderr
        self.pid = int(self._told.readline())
        self.returncode: int | None = None

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float) -> int:
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("knowledge-rag", timeout)
            self.returncode = int(self._told.readline())
            self._told.close()
        return self.returncode

    def communicate(self, timeout: float) -> tuple[bytes, bytes]:
        """Wait for its end; what it wrote has to fit into a pipe."""
        self.wait(timeout)
        read = [b"" if it is None or it.closed else it.read() for it in (self.stdout, self.stderr)]
        for stream in filter(None, (self.stdout, self.stderr)):
            stream.close()
        return read[0], read[1]


class Zygote:
    """The process that becomes commands; it ends with the one that made it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="zygote-")
        self.address = str(Path(self._folder.name) / "socket")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self.address)
            listening.listen(100)
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(listening.fileno())],
                pass_fds=[listening.fileno()],
                stdin=subprocess.PIPE,
            )

    def close(self) -> None:
        """End it."""
        self._process.communicate()
        self._folder.cleanup()

    def start(
        self, argv: Sequence[str], environment: Mapping[str, str], folder: str, *streams: int
    ) -> socket.socket:
        """Start a command; returns where its process id and its exit code are told, a line each."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.address)
        socket.send_fds(connection, [b"\n"], list(streams))
        order = json.dumps([list(argv), dict(environment), folder]) + "\n"
        connection.sendall(order.encode())
        return connection

    def run(
        self, argv: Sequence[str], environment: Mapping[str, str], folder: str, seconds: float
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command to its end, with nothing on its standard input.

        Raises:
            subprocess.TimeoutExpired: it took longer, and was killed.
        """
        with (
            Path(os.devnull).open("rb") as nothing,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            streams = (nothing.fileno(), out.fileno(), err.fileno())
            command = Command(self.start(argv, environment, folder, *streams), out, err)
            try:
                code = command.wait(seconds)
            finally:
                command.kill()
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(list(argv), code, out.read(), err.read())

    def write_client(self, path: Path, command: str) -> None:
        """Write a program that runs as the command does."""
        text = CLIENT.format(python=sys.executable, address=self.address, command=command)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)


def _serve(orders: socket.socket) -> None:
    """Fork a process for each command; only these processes come back."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait for commands
    while True:
        ready, _, _ = select.select([orders, sys.stdin], [], [])
        if sys.stdin in ready:
            os._exit(0)
        connection, _ = orders.accept()
        if os.fork() == 0:
            orders.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return _run(connection)
        connection.close()


def _run(connection: socket.socket) -> None:
    """Fork the command itself, and tell how it ends; only the command comes back."""
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    order = json.loads(connection.makefile().readline())
    pid = os.fork()
    if pid == 0:
        connection.close()
        return _become(order, streams)
    for stream in streams:
        os.close(stream)
    connection.sendall(f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    with suppress(BrokenPipeError):
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(order: list[Any], streams: list[int]) -> None:
    """Make this process what the command's would be when it has started."""
    argv, environment, folder = order
    for standard, ours in enumerate(streams):
        os.dup2(ours, standard)
        os.close(ours)
    # heard even where the test run was started deaf, in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = argv
    sys.modules["__main__"].__package__ = None  # as that of a script, which is named by its file
    given = partial(open, mode="w", encoding="utf-8", closefd=False)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as Python's own
    sys.stdout, sys.stderr = given(1), given(2, errors="backslashreplace", buffering=1)
    if os.isatty(1):
        sys.stdout.reconfigure(line_buffering=True)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr


if __name__ == "__main__":
    for name in IMPORTED:
        import_module(name)
    gc.collect()
    gc.freeze()  # a command that ends would look through all of it for garbage, and copy it by that
    early = {"lambdas.reporting"} & sys.modules.keys()
    assert not early, f"{early} would have the environment of another command"
    _serve(socket.socket(fileno=int(sys.argv[1])))
    if sys.argv[1:2] == ["-m"]:
        sys.argv = sys.argv[2:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        from knowledge_rag.__main__ import main

        main()
