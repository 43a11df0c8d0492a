"""Exit codes, and which failure gets which."""

from __future__ import annotations

from enum import IntEnum

from knowledge_rag.core.errors import (
    InvalidRequest,
    InvalidSettings,
    KnowledgeRagError,
    UnreadableDocument,
)
from knowledge_rag.local.errors import UnusableCorpus, UnusableKnowledgeBase

_BAD_INPUT = (
    InvalidRequest, InvalidSettings, UnreadableDocument, UnusableCorpus, UnusableKnowledgeBase,
)  # fmt: skip


class ExitCode(IntEnum):
    """What a command's exit code says."""

    OK = 0
    FINDINGS = 1
    """Something was found wanting, or nothing was found."""
    BAD_INPUT = 2
    """The command line, a file or a setting is wrong."""
    DEGRADED = 3
    """The knowledge base could not be searched."""
    FAILED = 4
    """Any other failure."""
    INTERRUPTED = 130
    """Ended by Ctrl-C: 128 + SIGINT, as shells have it; other signals likewise, SIGTERM 143."""


def exit_code_for(error: KnowledgeRagError) -> ExitCode:
    """Tell a caller's mistake from a failure of the surroundings."""
    return ExitCode.BAD_INPUT if isinstance(error, _BAD_INPUT) else ExitCode.FAILED
