"""Settings, client and retriever, which outlive a call."""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from knowledge_rag.core.background import Background
from knowledge_rag.core.bedrock import create_client
from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.retrieval import Retriever
from lambdas.retrieve_knowledge.floor import EvidenceFloor
from lambdas.retrieve_knowledge.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.core.bedrock import BedrockClient
    from knowledge_rag.core.net.clients import AwsClient
    from knowledge_rag.core.net.deadline import Deadline
    from lambdas.retrieve_knowledge.settings import Settings


class Service(NamedTuple):
    """Everything that a call needs and that outlives it."""

    settings: Settings
    client: BedrockClient
    retriever: Retriever
    floor: EvidenceFloor
    documents: AwsClient | None = None

    def prepare(self) -> None:
        """Do what takes time and no network.

        Raises:
            InvalidSettings: the certificate bundle or the proxy setting is wrong.
        """
        for client in self._clients():
            client.prepare()

    def close(self) -> None:
        """Close every connection."""
        for client in self._clients():
            client.close()

    def _clients(self) -> Iterator[AwsClient]:
        yield self.client
        if self.documents is not None:
            yield self.documents


def _make(settings: Settings) -> Service:
    if settings.search.priority is not None:  # loaded where it is used, and before the first query
        import knowledge_rag.core.policy  # noqa: F401, PLC0415
    client = create_client(settings.region)
    floor = EvidenceFloor(settings.search.evidence_floor, settings.floor_parameter, settings.region)
    documents = read = None
    if settings.search.source_root:
        # loaded where it is used
        from knowledge_rag.core import originals  # noqa: PLC0415

        documents = originals.create_client(settings.region)
        folder = Path(tempfile.gettempdir(), "knowledge-rag-documents")
        read = originals.BucketOriginals(documents, settings.search.source_root, folder)
    retriever = Retriever(client.api, settings.search, lambda: floor.current.value, read)
    return Service(settings, client, retriever, floor, documents)


_lock = threading.Lock()
_making: Background[Service] | None = None
"""The service in the making, or made. botocore fetches the first credentials while it makes a client,
from wherever they come and with timeouts of its own (a container's endpoint that is silent: 9 s)."""


def service(deadline: Deadline | None = None) -> Service:
    """Return the process's service, made on first use from the environment.

    Args:
        deadline: until when to wait for it; one that is made later serves the next call.

    Raises:
        InvalidSettings: the environment is wrong; nothing is kept, so the next call says so again.
        DeadlineExceeded: it could not be made in time.
    """
    making = _making
    if making is None or making.result is None:
        making = _under_way()
        if not making.over.wait(None if deadline is None else deadline.remaining()):
            raise DeadlineExceeded("making the AWS client took too long")
    if making.result is None:
        raise making.error or RuntimeError("not over yet")
    return making.result


def start(settings: Settings) -> None:
    """Make the service with other settings than the environment's, in place of any there is.

    The local commands wait longer than a deployed function may.

    Args:
        settings: for all calls until :func:`reset`.
    """
    global _making  # noqa: PLW0603 - one a process
    reset()
    with _lock:
        _making = Background("service", lambda: _make(settings))


def reset() -> None:
    """Close the service, if there is one; the next call makes another from the environment."""
    global _making
    with _lock:
        making, _making = _making, None
    if making is not None and making.result is not None:
        making.result.close()


def _under_way() -> Background[Service]:
    global _making  # noqa: PLW0603 - one a process
    with _lock:
        if _making is None or _making.error is not None:
            settings = load_settings(os.environ)
            _making = Background("service", lambda: _make(settings))
        return _making
