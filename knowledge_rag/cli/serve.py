"""``knowledge-rag serve``."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.cli.options import JsonOption, KbOption
from knowledge_rag.cli.terminal import err, print_json
from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Iterator


def serve(
    kb: KbOption = None,
    port: Annotated[
        int,
        typer.Option(metavar="N", min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one."),
    ] = 8321,
    json: JsonOption = False,
) -> None:
    """Serve a knowledge base on loopback, speaking Bedrock's Retrieve API, until Ctrl-C.

    Any client of Amazon Bedrock works against it: point it there with the variable
    AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME.
    """
    from knowledge_rag.cli.knowledge_bases import opened
    from knowledge_rag.local.retrieve_operation import KNOWLEDGE_BASE_ID
    from knowledge_rag.local.server import serve as serve_wire_api

    with _until_told_to_stop(), opened(kb) as knowledge_base:

        def ready(endpoint_url: str) -> None:
            if json:
                print_json({"endpoint_url": endpoint_url, "knowledge_base_id": KNOWLEDGE_BASE_ID})
                sys.stdout.flush()
                return
            path = neutralise(str(knowledge_base.path))
            err().print(f"serving {path} ({knowledge_base.chunks} chunks), Ctrl-C stops")
            err().print(f"export AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME={endpoint_url}")
            err().print(f"export KNOWLEDGE_BASE_ID={KNOWLEDGE_BASE_ID}")

        serve_wire_api(knowledge_base, port=port, on_ready=ready)


@contextmanager
def _until_told_to_stop() -> Iterator[None]:
    """Make Ctrl-C and SIGTERM, whenever they come, the ordinary end of the block."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        return
