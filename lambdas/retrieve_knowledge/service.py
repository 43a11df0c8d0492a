"""Objects that outlive a call: settings, clients and retriever."""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from knowledge_rag.core.background import Background
from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.retrieval import Retriever
from lambdas.retrieve_knowledge.floor import EvidenceFloor
from lambdas.retrieve_knowledge.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knowledge_rag.core.net.deadline import Deadline
    from lambdas.retrieve_knowledge.settings import Settings


class Client(Protocol):
    """A client of Bedrock or S3, such as :class:`~knowledge_rag.core.net.clients.AwsClient`."""

    @property
    def api(self) -> Any:  # noqa: ANN401 - botocore makes its classes at run time
        """What has the operations."""

    def prepare(self) -> None:
        """Do slow work that needs no network."""

    def close(self) -> None:
        """Close every connection."""


class Service(NamedTuple):
    """The objects that calls share."""

    settings: Settings
    client: Client
    retriever: Retriever
    floor: EvidenceFloor
    documents: Client | None = None

    def prepare(self) -> None:
        """Do the slow preparations that need no network.

        Raises:
            InvalidSettings: the certificate bundle or the proxy setting is wrong.
        """
        for client in self._clients():
            client.prepare()

    def close(self) -> None:
        """Close every connection."""
        for client in self._clients():
            client.close()

    def _clients(self) -> Iterator[Client]:
        yield self.client
        if self.documents is not None:
            yield self.documents


def _make(settings: Settings, client: Client | None = None) -> Service:
    if settings.search.priority is not None:  # loaded only if used, but before the first query
        import knowledge_rag.core.policy  # noqa: F401, PLC0415
    if client is None:
        # a client that is given needs nothing of botocore's
        from knowledge_rag.core import bedrock  # noqa: PLC0415

        client = bedrock.create_client(settings.region)
    floor = EvidenceFloor(settings.search.evidence_floor, settings.floor_parameter, settings.region)
    documents = read = None
    if settings.search.source_root:
        # loaded only if used
        from knowledge_rag.core import originals  # noqa: PLC0415

        documents = originals.create_client(settings.region)
        folder = Path(tempfile.gettempdir(), "knowledge-rag-documents")
        read = originals.BucketOriginals(documents, settings.search.source_root, folder)
    retriever = Retriever(client.api, settings.search, lambda: floor.current.value, read)
    return Service(settings, client, retriever, floor, documents)


_lock = threading.Lock()
_making: Background[Service] | None = None
"""The service, or its creation under way. botocore fetches the first credentials while it creates a client, from
any source and with its own timeouts (9 s for a container's endpoint that doesn't answer)."""


def service(deadline: Deadline | None = None) -> Service:
    """Return the process's service, which is created from the environment on first use.

    Args:
        deadline: maximum wait; a service that is created later serves the next call.

    Raises:
        InvalidSettings: the environment is wrong; it isn't cached, so the next call raises it again.
        DeadlineExceeded: the service could not be created in time.
    """
    making = _making
    if making is None or making.result is None:
        making = _under_way()
        if not making.over.wait(None if deadline is None else deadline.remaining()):
            raise DeadlineExceeded("creating the AWS client took too long")
    if making.result is None:
        raise making.error or RuntimeError("not over yet")
    return making.result


def start(settings: Settings, client: Client | None = None) -> Callable[[], None]:
    """Replace the service by one with these settings instead of the environment's.

    The local commands use it, because they wait longer than a deployed function may.

    Args:
        settings: settings of all calls until it ends.
        client: replaces Bedrock's, which is created otherwise.

    Returns:
        Ends it: closes the service, and puts the one before back.
    """
    global _making
    with _lock:
        before, _making = _making, Background("service", lambda: _make(settings, client))

    def end() -> None:
        global _making  # noqa: PLW0603
        reset()
        with _lock:
            _making = before

    return end


def reset() -> None:
    """Close the service, if there is one; the next call creates one from the environment."""
    global _making
    with _lock:
        making, _making = _making, None
    if making is not None and making.result is not None:
        making.result.close()


def _under_way() -> Background[Service]:
    global _making  # noqa: PLW0603 - one per process
    with _lock:
        if _making is None or _making.error is not None:
            settings = load_settings(os.environ)
            _making = Background("service", lambda: _make(settings))
        return _making
