"""Receives webhooks and posts answers, for `knowledge-rag serve --hooks`."""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

import httpx

from knowledge_rag.channel.destinations import TIMEOUT, sender
from knowledge_rag.channel.queue import Queue
from knowledge_rag.channel.receipts import Answering, Receipts
from knowledge_rag.channel.server import create_hooks, working
from knowledge_rag.channel.settings import read_settings
from knowledge_rag.channel.worker import Worker
from knowledge_rag.cli.backend import connected
from knowledge_rag.cli.exits import until_stopped
from knowledge_rag.cli.inputs import input_name, read_input
from knowledge_rag.cli.knowledge_bases import links_to_lines
from knowledge_rag.cli.terminal import err, log_to_standard_error, print_address
from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.local.http_server import ServerThread, http_server
from knowledge_rag.local.settings import LocalSettings
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor
from knowledge_rag.orchestrator.incident import Incident

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.channel.destinations import Call
    from knowledge_rag.channel.events import Event
    from knowledge_rag.channel.message import Message
    from knowledge_rag.channel.settings import HookSettings
    from knowledge_rag.cli.advisors import WriterOptions
    from knowledge_rag.cli.backend import Backend, BackendOptions
    from knowledge_rag.core.repository_links import RepositoryLinks
    from knowledge_rag.orchestrator.advisors.advisor import Advisor

DEFAULT_PORT: Final = 8322
RECEIPTS_FOLDER: Final = "receipts"
"""Folder of the receipts in the data folder, with a file for each day."""

QUEUE_FILE: Final = "hooks.sqlite"
"""File of received events and outgoing posts in the data folder."""


def serve_hooks(
    path: Path,
    kb: Path | None,
    backend: BackendOptions,
    writers: WriterOptions,
    port: int | None,
    *,
    dry_run: bool,
    json: bool,
) -> None:
    """Receive webhooks and post answers until Ctrl-C, as the settings at ``path`` say; see the options of ``serve``."""
    settings = settings_of(path)
    data = LocalSettings.from_environment().data_dir  # the block below hides the user's settings
    log_to_standard_error(info_of="knowledge_rag.channel")  # the result of each alert
    with (
        until_stopped(),
        # printed posts leave no queue and no receipts behind
        TemporaryDirectory(prefix="knowledge-rag-") if dry_run else nullcontext(data) as folder,
        asked_base(kb, backend, writers, strict=True) as asked,
    ):
        found, advisor, links = asked
        settings = replace(settings, links=settings.links or links)
        receipts = Receipts(Path(folder) / RECEIPTS_FOLDER)
        quoting = Answering(found.retrieval, None, settings.links, receipts)

        def answer_by(answering: Answering, event: Event, now: float) -> Message:
            incident = Incident.from_state(event.payload)
            incident = replace(incident, title=found.corrected(incident.title))
            return answering.answer(incident, event.name, now, event=event.key)

        quote = partial(answer_by, quoting)
        write = partial(answer_by, replace(quoting, advisor=advisor))
        by_model = not isinstance(advisor, ExtractiveAdvisor)

        with (
            closing(Queue(Path(folder) / QUEUE_FILE)) as queue,
            httpx.Client(timeout=TIMEOUT) as client,
        ):
            send = _printed if dry_run else sender(client)
            answers = (write, quote) if by_model else (quote, None)
            worker = Worker(queue, settings, answers[0], send, random.random, answers[1])
            _serve(settings, worker, port, found.about, json=json)


def settings_of(path: Path) -> HookSettings:
    """Read the settings file; keys come from the environment.

    Raises:
        InvalidSettings: something in it is wrong.
        InvalidRequest: the file can't be read.
    """
    text = read_input(str(path)).decode("utf-8", "replace")
    try:
        return read_settings(text, os.environ)
    except InvalidSettings as error:
        raise InvalidSettings(f"{input_name(str(path))}: {error}") from error


@contextmanager
def asked_base(
    kb: Path | None, backend: BackendOptions, writers: WriterOptions, *, strict: bool = False
) -> Iterator[tuple[Backend, Advisor, RepositoryLinks | None]]:
    """Yield a knowledge base to ask, its advisor, and the links to its lines if it is on this machine."""
    # a knowledge base on this machine hides the user's keys and settings
    own = writers.advisor(backend.region, "", strict=strict) if backend.is_local else None
    with connected(backend, kb) as found:
        advisor = own or writers.advisor(backend.region, found.agent, strict=strict)
        yield found, advisor, links_to_lines(found.base.path, None) if found.base else None


def _serve(
    settings: HookSettings, worker: Worker, port: int | None, about: str, *, json: bool
) -> None:
    arrived = threading.Event()
    app = create_hooks(settings, worker.queue, time.time, arrived.set)
    wanted = DEFAULT_PORT if port is None else port
    server = ServerThread(http_server(app, lifespan="off"), "hooks", wanted, "--port")
    server.start()
    try:
        with working(worker, time.time, arrived):
            print_address(about, f"{server.url}/", json=json, key="hooks_url")
            if not json:
                for hook in settings.hooks.values():
                    shown = f"POST {server.url}/hooks/{hook.name} -> {', '.join(hook.to)}"
                    err().print(neutralise(shown), markup=False)
            threading.Event().wait()
    finally:
        server.stop()


def _body(call: Call) -> object:
    """Return a body as JSON; SNS's are forms."""
    try:
        return json.loads(call.body)
    except ValueError:
        return dict(parse_qsl(call.body.decode()))


def _printed(call: Call) -> httpx.Response:
    """Print a post without its keys, and pretend that it was accepted."""
    shown: dict[str, Any] = {
        "method": call.method,
        "url": call.url,
        "headers": {**call.headers, **dict.fromkeys(call.keys, "***")},
        "body": _body(call) if call.body else None,
    }
    sys.stdout.write(json.dumps(shown) + "\n")
    sys.stdout.flush()
    return httpx.Response(200, json={"ok": True, "ts": "dry-run"})
