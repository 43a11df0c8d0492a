"""The failures of the local knowledge base.

::

    KnowledgeRagError
    ├── UnusableCorpus            the folder to ingest is missing, no folder, or holds no documents
    ├── UnusableKnowledgeBase     the file is missing, no knowledge base, of another version, damaged
    ├── KnowledgeBaseBusy         another ingest holds it
    ├── IngestFailed              could not be written (full disk, no permission)
    ├── ModelUnavailable          the embedding model can't be had; says what is missing
    ├── NotInstalled              what a command needs comes with an extra that is missing
    └── ServerFailed              the wire server could not start (port taken)

``Damage`` is what is wrong inside a knowledge base, before it is known which file that is; it
becomes ``UnusableKnowledgeBase``. The first two are bad input; the others are failures of the surroundings. Each message is one line
that names the file and the way to mend it.
"""

from __future__ import annotations

from knowledge_rag.core.errors import KnowledgeRagError


class UnusableCorpus(KnowledgeRagError):  # noqa: N818 - named for what it is, as in core.errors
    """A folder that can't be ingested: missing, not a folder, or without documents."""


class UnusableKnowledgeBase(KnowledgeRagError):  # noqa: N818
    """A file that can't be searched: missing, not a knowledge base, another version, damaged."""


class Damage(Exception):  # noqa: N818 - never leaves this package
    """Stored data that no ingest stores; ``store.explained`` names the file."""


class KnowledgeBaseBusy(KnowledgeRagError):  # noqa: N818
    """Another ingest is writing this knowledge base."""


class IngestFailed(KnowledgeRagError):  # noqa: N818
    """An ingest that could not be written; it is as the last commit left it."""


class ModelUnavailable(KnowledgeRagError):  # noqa: N818
    """The embedding model is missing or is not the published one."""


class NotInstalled(KnowledgeRagError):  # noqa: N818
    """A package that only some commands need is missing; says how to install it."""


class ServerFailed(KnowledgeRagError):  # noqa: N818
    """The wire server could not start."""
