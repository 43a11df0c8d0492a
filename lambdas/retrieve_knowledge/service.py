"""What the function keeps between calls: settings, client, retriever."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowledge_rag.core.bedrock import create_client
from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.retrieval import Retriever
from lambdas.retrieve_knowledge.settings import load_settings

if TYPE_CHECKING:
    from knowledge_rag.core.bedrock import BedrockClient
    from knowledge_rag.core.deadline import Deadline
    from lambdas.retrieve_knowledge.settings import Settings


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that a call needs and that outlives it."""

    settings: Settings
    client: BedrockClient
    retriever: Retriever


class _Making:
    """The service in the making, on a thread of its own.

    botocore fetches the first credentials while it makes a client, from wherever they come and with
    timeouts of its own (a container's endpoint that is silent: 9 s), and can't be told to stop.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.over = threading.Event()
        self.service: Service | None = None
        self.error: Exception | None = None
        threading.Thread(target=self._run, name="service", daemon=True).start()

    def made(self) -> Service:
        """Give the service, once it is over, or raise what kept it from being made."""
        if self.service is None:
            raise self.error or RuntimeError("not over yet")
        return self.service

    def _run(self) -> None:
        try:
            client = create_client(self._settings.region)
            self.service = Service(
                self._settings, client, Retriever(client.api, self._settings.search)
            )
        except Exception as error:  # noqa: BLE001 - raised again by whoever waits for it
            self.error = error
        self.over.set()


_lock = threading.Lock()
_making: _Making | None = None


def service(deadline: Deadline | None = None) -> Service:
    """Give the process's service, made on first use from the environment.

    Args:
        deadline: until when to wait for it; one that is made later serves the next call.

    Raises:
        InvalidSettings: the environment is wrong; nothing is kept, so the next call says so again.
        DeadlineExceeded: it could not be made in time.
    """
    making = _making
    if making is None or making.service is None:
        making = _under_way()
        if not making.over.wait(None if deadline is None else deadline.remaining()):
            raise DeadlineExceeded("making the AWS client took too long")
    return making.made()


def reset() -> None:
    """Close the service, if there is one; the next call makes another from the environment."""
    global _making
    with _lock:
        making, _making = _making, None
    if making is not None and making.service is not None:
        making.service.client.close()


def _under_way() -> _Making:
    global _making  # noqa: PLW0603 - one a process
    with _lock:
        if _making is None or _making.error is not None:
            _making = _Making(load_settings(os.environ))
        return _making
