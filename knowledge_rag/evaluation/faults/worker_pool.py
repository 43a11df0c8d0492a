"""Processes that run faults side by side, each fault in one that has the environment to itself.

``python -m knowledge_rag.evaluation.faults.worker_pool TARGET`` is one worker: it reads
a fault's name a line and answers with a line of JSON, ``{"result": {...}}`` or ``{"cannot_run": "why"}``.
Before that it says ``{}`` once all is loaded, because loading is no part of any fault.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, Final, Self

from knowledge_rag.evaluation.faults.catalogue import named
from knowledge_rag.evaluation.faults.model import CannotRun
from knowledge_rag.evaluation.faults.run import Broken, FaultResult, run_fault
from knowledge_rag.evaluation.faults.scenario import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knowledge_rag.evaluation.faults.model import Fault


def main(target: Target) -> None:
    """Run the faults that standard input names until it ends."""
    for package in target.packages:
        with suppress(ImportError):  # each row says so
            import_module(package)
    _say({})
    for line in sys.stdin:
        _say(_run(line.strip(), target))


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _run(name: str, target: Target) -> dict[str, Any]:
    try:
        return {"result": run_fault(named(name), target).to_dict()}
    except CannotRun as error:
        return {"cannot_run": str(error)}
    except Exception:  # noqa: BLE001 - the game day goes on, and reports it as a broken promise
        return {"failed": traceback.format_exc()}


WATCHED_SECONDS: Final = 35.0
"""Longest time of a fault; a client that still waits then is ended, and the row says so."""

LOADING_SECONDS: Final = 120.0
"""How long a client's packages may take to load; on a busy machine some take half a minute."""

_WORKERS: Final = {Target.FUNCTION: 6}
_WORKERS_OF_OTHERS: Final = 10
"""Rows mostly wait; those of other clients for as long as they are watched."""

_MODULE: Final = "knowledge_rag.evaluation.faults.worker_pool"


@dataclass(frozen=True, slots=True)
class NotRun:
    """A fault that this machine can't run, and why."""

    name: str
    why: str


def run_all(
    faults: Sequence[Fault], target: Target, progress: Callable[[str], None]
) -> list[FaultResult | NotRun]:
    """Run faults side by side and return the outcome of each, in their order.

    A fault that the function answered late is run again with nothing beside it, and that counts: a
    machine that stalls is no fault of the function, and what is late twice is.

    Args:
        faults: rows of the catalogue.
        target: whom they happen to.
        progress: called with a fault's name whenever one is over.
    """
    results = _side_by_side(faults, target, progress)
    for fault in faults:
        result = results[fault.name]
        if target.promises and isinstance(result, FaultResult) and result.late:
            with _Worker(target) as worker:
                results[fault.name] = worker.run(fault)
    return [results[fault.name] for fault in faults]


def _side_by_side(
    faults: Sequence[Fault], target: Target, progress: Callable[[str], None]
) -> dict[str, FaultResult | NotRun]:
    results: dict[str, FaultResult | NotRun] = {}
    # the longest first
    queue = deque(sorted(faults, key=lambda it: it.pause_seconds + it.calls, reverse=True))
    # made here: one that its own thread makes could miss being stopped
    count = min(_WORKERS.get(target, _WORKERS_OF_OTHERS), len(faults))
    workers = [_Worker(target) for _ in range(count)]

    def work(worker: _Worker) -> None:
        with worker:
            while queue:
                try:
                    fault = queue.popleft()
                except IndexError:  # another worker took the last one
                    return
                results[fault.name] = worker.run(fault)
                progress(fault.name)

    with ThreadPoolExecutor(max(count, 1)) as pool:
        try:
            for done in [pool.submit(work, worker) for worker in workers]:
                done.result()
        except BaseException:  # Ctrl-C above all: nobody is to wait for what is still queued
            queue.clear()
            for worker in workers:
                worker.stop()
            raise
    return results


class _Worker:
    """One process at a time; a new one in place of one that had to be ended."""

    def __init__(self, target: Target) -> None:
        self._command = [sys.executable, "-m", _MODULE, target.value]
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        # a process that is killed clears nothing away, so it leaves its files where we do
        self._folder = tempfile.TemporaryDirectory()
        self._process: subprocess.Popen[str] | None = None
        self._starting = threading.Lock()
        self._stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._errors.close()
        self._folder.cleanup()

    def stop(self) -> None:
        """Kill the process, whatever it is doing; another thread may be waiting for it."""
        with self._starting:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def run(self, fault: Fault) -> FaultResult | NotRun:
        process = self._running()
        started = time.monotonic() + fault.pause_seconds
        answer = self._ask(process, fault.name, WATCHED_SECONDS + fault.pause_seconds)
        if answer is None:
            seconds = time.monotonic() - started
            waiting = f"still waiting after {seconds:.0f} s"
            late = Broken("answered in time", "an answer", waiting, timing=True)
            return FaultResult(fault.name, seconds, waiting, broken=(late,))
        if "result" in answer:
            return FaultResult.from_dict(answer["result"])
        if "cannot_run" in answer:
            return NotRun(fault.name, answer["cannot_run"])
        broken = Broken("played", "to its end", _last_line(answer["failed"]))
        return FaultResult(fault.name, 0.0, "not played to its end", broken=(broken,))

    def _running(self) -> subprocess.Popen[str]:
        if self._process is not None:
            return self._process
        process = self._start()
        if loaded := self._answer(process, LOADING_SECONDS):
            raise CannotRun(f"no process to run faults in: {_last_line(loaded['failed'])}")
        return process

    def _start(self) -> subprocess.Popen[str]:
        with self._starting:
            if self._stopped:
                raise CannotRun("stopped")
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter and a module of ours
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                encoding="utf-8",
                env=os.environ | {"TMPDIR": self._folder.name},
                start_new_session=True,  # a terminal's Ctrl-C is this process's to hear
            )
            return self._process

    def _ask(
        self, process: subprocess.Popen[str], name: str, seconds: float
    ) -> dict[str, Any] | None:
        assert process.stdin is not None  # noqa: S101 - for the type checker: it was asked for
        with suppress(BrokenPipeError):  # the process has died, which its answer will say
            process.stdin.write(f"{name}\n")
            process.stdin.flush()
        return self._answer(process, seconds)

    def _answer(self, process: subprocess.Popen[str], seconds: float) -> dict[str, Any] | None:
        assert process.stdout is not None  # noqa: S101 - as above
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        line = process.stdout.readline() if ready else ""
        if line.endswith("\n"):
            answer: dict[str, Any] = json.loads(line)
            return answer
        self._end()
        if not ready:
            return None
        self._errors.seek(0)
        return {"failed": self._errors.read().decode(errors="replace") or "it ended"}

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


if __name__ == "__main__":
    main(Target(sys.argv[1]))
