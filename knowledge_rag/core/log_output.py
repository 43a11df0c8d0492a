"""Where a function's log lines go, standard output, which Lambda collects; and how many do."""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Mapping


class StandardOutput(logging.StreamHandler[TextIO]):
    """Writes to whatever ``sys.stdout`` is at the time, so that callers can redirect it."""

    @property
    def stream(self) -> TextIO:
        """The current standard output."""
        return sys.stdout

    @stream.setter
    def stream(self, _: TextIO) -> None: ...


def ascii_json(record: Mapping[str, Any]) -> str:
    """Write one log record, for ``Logger(json_serializer=...)``; what JSON lacks becomes text.

    A record stays one line to whatever reads it (many take U+2028 for a line's end), and an id that
    somebody chose can't steer the terminal that it is read in.
    """
    return json.dumps(record, default=str, separators=(",", ":"))


_LEVELS = frozenset({"DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL"})
"""Python's own; other packages in a process may have added theirs, which is chance."""


@dataclass(frozen=True, slots=True)
class LogLevel:
    """How much a function logs.

    Args:
        name: of a level of :mod:`logging`, ``None`` where the environment names none.
        problem: what is wrong with what the environment says, ``""`` for nothing.
    """

    name: str | None
    problem: str = ""


def log_level(environ: Mapping[str, str]) -> LogLevel:
    """Choose the level, as Powertools would: ``POWERTOOLS_LOG_LEVEL``, then ``LOG_LEVEL``.

    Powertools itself raises at a level that it does not know, and so before anybody can be told:
    many programs read ``LOG_LEVEL``, and some have levels of their own.
    """
    for variable in ("POWERTOOLS_LOG_LEVEL", "LOG_LEVEL"):
        text = environ.get(variable, "")
        if not text:
            continue
        if text.strip().upper() in _LEVELS:
            return LogLevel(text.strip().upper())
        return LogLevel("INFO", f"{variable}={text[:40]!r} is no log level; INFO is used")
    # Powertools takes an empty LOG_LEVEL for a level, and raises.
    return LogLevel("INFO" if "LOG_LEVEL" in environ else None)
