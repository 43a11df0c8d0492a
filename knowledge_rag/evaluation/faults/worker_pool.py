"""Runs faults in parallel, each in a process that has the environment to itself."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from knowledge_rag.evaluation.faults.catalogue import named
from knowledge_rag.evaluation.faults.model import CannotRun, Fault
from knowledge_rag.evaluation.faults.run import Broken, FaultResult, run_fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WATCHED_SECONDS: Final = 35.0
"""Maximum time of a fault; a client that still waits then is interrupted, and reported in the row."""

RunFault = Callable[[Fault], FaultResult]
"""Runs a fault; a module-level function, which a new process can import."""


def run_all(
    faults: Sequence[Fault],
    progress: Callable[[int], None],
    *,
    run: RunFault = run_fault,
    workers: int = 6,
) -> list[FaultResult]:
    """Run faults in parallel and return the outcome of each, in order.

    Args:
        faults: rows of the catalogue.
        progress: called with the number of finished faults, first with 0.
        run: runs one fault: by default against the function.
        workers: number of processes; rows mostly wait.

    Raises:
        CannotRun: a process that runs faults could not start, or died.
    """
    results: dict[str, FaultResult] = {}
    longest_first = sorted(faults, key=lambda it: it.pause_seconds + it.calls, reverse=True)
    with (
        # a killed process doesn't clean up, so its files go where this process removes them
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(
            min(workers, len(faults)),
            multiprocessing.get_context("spawn"),
            _prepare,
            (folder,),
        ) as pool,
    ):
        try:
            with _interrupt_delayed():
                running = [
                    pool.submit(_run, fault.name, run, WATCHED_SECONDS) for fault in longest_first
                ]
            progress(0)
            for future in as_completed(running):
                result = future.result()
                results[result.name] = result
                progress(len(results))
        except BrokenProcessPool as error:
            raise CannotRun("a process that runs faults could not start, or died") from error
        except BaseException:  # Ctrl-C above all: don't wait for queued faults
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.kill()
            raise
    return [results[fault.name] for fault in faults]


@contextmanager
def _interrupt_delayed() -> Iterator[None]:
    """Delay Ctrl-C until the block ends: a process interrupted while starting prints a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare(folder: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the parent
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


class _StillWaiting(BaseException):
    """The time of a fault is over; no client catches it as its own failure."""


def _run(name: str, run: RunFault, watched_seconds: float) -> FaultResult:
    fault = named(name)
    try:
        with _interrupted_after(watched_seconds + fault.pause_seconds):
            return run(fault)
    except CannotRun as error:
        return FaultResult(name, 0.0, "", not_run=str(error))
    except _StillWaiting:
        waiting = f"still waiting after {watched_seconds:.0f} s"
        late = Broken("answered in time", "an answer", waiting, timing=True)
        return FaultResult(name, watched_seconds, waiting, broken=(late,))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the game day goes on, and reports it
        broken = Broken("run", "to the end", f"{type(error).__name__}: {error}")
        return FaultResult(name, 0.0, "not run to the end", broken=(broken,))


@contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    def interrupt(*_: object) -> None:
        raise _StillWaiting

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
