"""Runs faults side by side, each in a process that has the environment to itself."""

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
"""Longest time of a fault; a client that still waits then is interrupted, and the row says so."""

RunFault = Callable[[Fault], FaultResult]
"""Lets somebody meet a fault; a function of a module, which a new process can import."""


def run_all(
    faults: Sequence[Fault],
    progress: Callable[[int], None],
    *,
    run: RunFault = run_fault,
    workers: int = 6,
) -> list[FaultResult]:
    """Run faults side by side and return the outcome of each, in their order.

    Args:
        faults: rows of the catalogue.
        progress: called with how many faults are over, first with 0.
        run: who meets them: by default the function.
        workers: processes; rows mostly wait.

    Raises:
        CannotRun: a process that runs faults could not start, or died.
    """
    results: dict[str, FaultResult] = {}
    longest_first = sorted(faults, key=lambda it: it.pause_seconds + it.calls, reverse=True)
    with (
        # a process that is killed clears nothing away, so it leaves its files where we do
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(
            min(workers, len(faults)),
            multiprocessing.get_context("spawn"),
            _prepare,
            (folder,),
        ) as pool,
    ):
        try:
            with _interrupt_held_back():
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
        except BaseException:  # Ctrl-C above all: nobody is to wait for what is still queued
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.kill()
            raise
    return [results[fault.name] for fault in faults]


@contextmanager
def _interrupt_held_back() -> Iterator[None]:
    """Hear Ctrl-C when the block is over: a process whose start is broken off prints a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare(folder: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is the parent's to hear
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


class _StillWaiting(BaseException):
    """The time of a fault is over; no client takes it for a failure of its own."""


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
        broken = Broken("played", "to its end", f"{type(error).__name__}: {error}")
        return FaultResult(name, 0.0, "not played to its end", broken=(broken,))


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
