"""Runs ``knowledge-rag`` as a user does: a process of its own, a home of its own."""

from __future__ import annotations

import atexit
import json
import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from knowledge_rag.cli.knowledge_bases import USING_SAMPLE
from tests.support.command_zygote import Command, Zygote
from tests.support.launch import CANNOT
from tests.support.local import CORPUS, PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

COMMAND = Path(sys.executable).parent / "knowledge-rag"
LAUNCHER = Path(__file__).with_name("launch.py")
OF_SAMPLE = f"{USING_SAMPLE}\n"
"""What standard error says each time that the sample knowledge base is asked for want of another."""
SECONDS = 600
"""No command of a test may take longer: only one that hangs does, and a busy machine is no failure."""
FRESH = bool(os.environ.get("KNOWLEDGE_RAG_TEST_FRESH_COMMANDS"))
"""Whether each command starts Python anew; by default only those do that are restricted or change Python."""


@dataclass(frozen=True)
class Ran:
    """What a finished command left behind."""

    code: int
    out: str
    err: str

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.removesuffix("\n").split("\n")]

    @property
    def json(self) -> Any:
        (document,) = self.json_lines
        return document


class Cli:
    """The command with one user's folders.

    Args:
        data: where this user's knowledge bases are.
        cache: shared by all tests, so that the model's graph is built once.
    """

    def __init__(self, data: Path, cache: Path) -> None:
        self.data = data
        self._environment = {
            "PATH": os.environ["PATH"],
            "TMPDIR": tempfile.gettempdir(),
            "HOME": str(data),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "KNOWLEDGE_RAG_DATA_DIR": str(data),
            "KNOWLEDGE_RAG_CACHE_DIR": str(cache),
        }

    def __call__(self, *arguments: object, restrict: Sequence[str] = (), **variables: str) -> Ran:
        """Run a command to its end.

        Args:
            arguments: as typed behind ``knowledge-rag``.
            restrict: what ``tests/support/launch.py`` shall take from the process.
            variables: of the environment.
        """
        command, environment = self._command(arguments, restrict), self._environment | variables
        if not restrict and _may_fork(environment):
            done = zygote().run(command, environment, str(PROJECT), SECONDS)
        else:
            done = subprocess.run(
                command,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                env=environment,
                cwd=PROJECT,
                timeout=SECONDS,
                check=False,
            )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def each(self, commands: Mapping[str, Sequence[object]]) -> dict[str, Ran]:
        """Run several independent commands, two at a time, and give what each left behind."""
        with ThreadPoolExecutor(2) as pool:
            runs = {name: pool.submit(self, *args) for name, args in commands.items()}
            return {name: run.result() for name, run in runs.items()}

    @contextmanager
    def started(
        self,
        *arguments: object,
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        **variables: str,
    ) -> Iterator[Command | subprocess.Popen[bytes]]:
        """Start a command that goes on while the block runs; it hears Ctrl-C.

        Args:
            arguments: as typed behind ``knowledge-rag``.
            stdin: a file's number, in place of nothing to read.
            stdout: a file's number, in place of a pipe.
            stderr: likewise.
            variables: of the environment.
        """
        process = self._start(arguments, self._environment | variables, stdout, stderr, stdin=stdin)
        try:
            yield process
        finally:
            process.kill()
            process.communicate(timeout=SECONDS)

    def on_terminal(self, *arguments: object, **variables: str) -> str:
        """Run a command whose standard output and error are a terminal; return what it showed."""
        with (
            terminal() as (screen, end),
            self.started(*arguments, stdout=end, stderr=end, **variables),
        ):
            os.close(end)
            return screen.rest()

    @contextmanager
    def at_keyboard(self, *arguments: object, **variables: str) -> Iterator[Screen]:
        """Start a command whose standard input, output and error are a terminal; ends it with the block."""
        with terminal() as (screen, end):
            process = self._start(arguments, self._environment | variables, end, end, stdin=end)
            os.close(end)
            try:
                yield screen
            finally:
                process.kill()
                process.wait(SECONDS)

    def _start(
        self,
        arguments: Sequence[object],
        environment: dict[str, str],
        *outputs: int | None,
        stdin: int | None = None,
    ) -> Command | subprocess.Popen[bytes]:
        if _may_fork(environment):
            pipes = [os.pipe() if given is None else None for given in outputs]
            ends = [pipe[1] if pipe else given for pipe, given in zip(pipes, outputs, strict=True)]
            with Path(os.devnull).open("rb") as nothing:
                given = nothing.fileno() if stdin is None else stdin
                told = zygote().start(
                    self._command(arguments), environment, str(PROJECT), given, *ends
                )
            for pipe in filter(None, pipes):
                os.close(pipe[1])
            return Command(told, *(open(pipe[0], "rb") if pipe else None for pipe in pipes))  # noqa: PTH123 - its number
        stdout, stderr = (subprocess.PIPE if given is None else given for given in outputs)
        return subprocess.Popen(
            self._command(arguments, ["interruptible"]),
            env=environment,
            cwd=PROJECT,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=stdout,
            stderr=stderr,
        )

    def _command(self, arguments: Sequence[object], restrict: Sequence[str] = ()) -> list[str]:
        command = [str(COMMAND), *map(str, arguments)]
        return [sys.executable, str(LAUNCHER), *restrict, "--", *command] if restrict else command


class Benchmarks(Cli):
    """The benchmarks' own commands."""

    def _command(self, arguments: Sequence[object], restrict: Sequence[str] = ()) -> list[str]:
        assert not restrict
        return [sys.executable, "-m", "benchmarks", *map(str, arguments)]


def _may_fork(environment: Mapping[str, str]) -> bool:
    return not FRESH and not any(name.startswith("PYTHON") for name in environment)


@cache
def zygote() -> Zygote:
    """Return this process's zygote."""
    made = Zygote()
    atexit.register(made.close)
    return made


class Screen:
    """What a terminal has shown so far."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._shown = b""

    def until(self, text: str) -> None:
        """Wait until something is shown."""
        while text.encode() not in self._shown:
            assert self._more(), f"the terminal never showed {text!r}, but {self._shown!r}"

    def type(self, text: str) -> None:
        """Type a text at its keyboard."""
        os.write(self._handle, text.encode())

    def rest(self) -> str:
        """Wait until the other end is closed."""
        while self._more():
            pass
        return self._shown.decode()

    def _more(self) -> bool:
        ready, _, _ = select.select([self._handle], [], [], SECONDS)
        assert ready, f"the terminal shows nothing more than {self._shown!r}"
        try:
            data = os.read(self._handle, 65536)
        except OSError:  # what Linux says when the other end is closed
            return False
        self._shown += data
        return bool(data)


@contextmanager
def terminal() -> Iterator[tuple[Screen, int]]:
    """Open a terminal; gives its screen, and the end for a process, which the caller closes."""
    ours, theirs = pty.openpty()
    try:
        yield Screen(ours), theirs
    finally:
        os.close(ours)


def unprivileged(cli: Cli, *arguments: object) -> Ran:
    """Run a command that has to obey the permissions of files, or skip the test."""
    ran = cli(*arguments, restrict=["unprivileged"])
    if ran.code == CANNOT:
        pytest.skip("this superuser may not give up reading and writing everything")
    return ran


def eventually(condition: Any, what: str) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{what} never came true"
        time.sleep(0.01)


def lines_of(path: Path, start: int, end: int) -> str:
    """Give lines of a file as SPEC defines them, independently of the product."""
    text = path.read_bytes().decode().removeprefix("\ufeff")
    return "\n".join(text.split("\n")[start - 1 : end])


def assert_verbatim(results: Sequence[Mapping[str, Any]], root: Path = CORPUS) -> None:
    """Every result's content is the very lines that its citation names."""
    assert results
    for result in results:
        citation = result["citation"]
        path = root / citation["source_file"]
        assert result["content"] == lines_of(path, citation["start_line"], citation["end_line"])


def assert_one_line(err: str, *parts: str) -> None:
    """Standard error is one line that says so, and no traceback."""
    assert err.startswith("error: "), err
    assert err.endswith("\n"), err
    assert err.count("\n") == 1, err
    for part in parts:
        assert part in err
