"""The errors of the local knowledge base.

::

    KnowledgeRagError
    ├── UnusableCorpus            the folder to ingest is missing, not a folder, or has no documents
    ├── UnusableKnowledgeBase     the file is missing, not a knowledge base, of another version, damaged
    ├── KnowledgeBaseBusy         another ingest has locked it
    ├── IngestFailed              it could not be written (full disk, no permission)
    ├── ModelUnavailable          the embedding model isn't available; says what is missing
    ├── NotInstalled              a command needs an extra that is missing
    └── ServerFailed              the wire server could not start (port taken)

``Damage`` describes a problem inside a knowledge base before the file is known; it becomes
``UnusableKnowledgeBase``. The first two are bad input; the others are environment failures. Each
message is one line that names the file and the fix.
"""

from __future__ import annotations

from typing import Final

from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.core.neutral import neutralise


class UnusableCorpus(KnowledgeRagError):  # noqa: N818 - named for what it is, as in core.errors
    """A folder that can't be ingested: missing, not a folder, or without documents."""


class UnusableKnowledgeBase(KnowledgeRagError):  # noqa: N818
    """A file that can't be searched: missing, not a knowledge base, another version, damaged."""


class Damage(Exception):  # noqa: N818 - never leaves this package
    """Stored data that no ingest writes; ``store.explained`` names the file."""


class KnowledgeBaseBusy(KnowledgeRagError):  # noqa: N818
    """Another ingest is writing this knowledge base."""


class IngestFailed(KnowledgeRagError):  # noqa: N818
    """An ingest that could not be written; the knowledge base is as the last commit left it."""


class ModelUnavailable(KnowledgeRagError):  # noqa: N818
    """The embedding model is missing or is not the published one."""


class NotInstalled(KnowledgeRagError):  # noqa: N818
    """A package that only some commands need is missing; the message says how to install it."""


class ServerFailed(KnowledgeRagError):  # noqa: N818
    """The wire server could not start."""


_SHOWN: Final = 300
"""Maximum characters of an unforeseen exception's message."""


def described(error: Exception) -> str:
    """Return an exception's type, message and location in one line that can't steer a terminal."""
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    frame = f" ({where.tb_frame.f_code.co_name}, line {where.tb_lineno})" if where else ""
    text = " ".join(str(error).split())[:_SHOWN]
    return neutralise(f"{type(error).__name__}: {text}{frame}")
