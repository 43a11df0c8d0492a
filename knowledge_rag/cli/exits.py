"""Ends commands: exit codes, and signals."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, NoReturn

from knowledge_rag.core.errors import (
    InvalidRequest,
    InvalidSettings,
    KnowledgeRagError,
    UnreadableDocument,
)
from knowledge_rag.local.errors import UnusableCorpus, UnusableKnowledgeBase

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_BAD_INPUT = (
    InvalidRequest, InvalidSettings, UnreadableDocument, UnusableCorpus, UnusableKnowledgeBase,
)  # fmt: skip


class ExitCode(IntEnum):
    """Exit codes; the generated reference shows the texts below them."""

    OK = 0
    FINDINGS = 1
    """There are findings, or nothing was found."""
    BAD_INPUT = 2
    """The command line, a file or a setting is wrong."""
    DEGRADED = 3
    """The knowledge base could not be searched."""
    FAILED = 4
    """Any other failure."""
    INTERRUPTED = 130
    """Interrupted by Ctrl-C: 128 + SIGINT, as in shells; other signals in the same way, SIGTERM 143."""


def exit_code_for(error: KnowledgeRagError) -> ExitCode:
    """Return BAD_INPUT for the caller's errors, else FAILED."""
    return ExitCode.BAD_INPUT if isinstance(error, _BAD_INPUT) else ExitCode.FAILED


def exit_cleanly_when_killed() -> None:
    """Turn SIGTERM and a closed terminal into an exception, so that clean-up runs."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # not every system has both
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _exit)


def _exit(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


@contextmanager
def until_stopped() -> Iterator[None]:
    """End the block normally on Ctrl-C and SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        return
