"""``knowledge-rag mcp``."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.cli.backend import Backend, BackendOptions, deployed
from knowledge_rag.cli.exits import until_stopped
from knowledge_rag.cli.options import JsonOption, KbOption, SearchOption, port_option, with_options
from knowledge_rag.cli.terminal import log_to_standard_error, print_address
from knowledge_rag.core.errors import InvalidRequest, how_to_install
from knowledge_rag.local.errors import NotInstalled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_DEFAULT_PORT = 8322


@with_options
def mcp(
    *,
    kb: KbOption = None,
    search: SearchOption = None,
    backend: BackendOptions,
    http: Annotated[
        bool, typer.Option("--http", help="Serve HTTP on 127.0.0.1, not standard input and output.")
    ] = False,
    port: Annotated[int | None, port_option("--http", str(_DEFAULT_PORT))] = None,
    json: JsonOption = False,
) -> None:
    """Serve the Model Context Protocol to agents and editors.

    It offers ask, retrieve_knowledge, through the real Lambda, verify_citations, which checks an
    answer against what was retrieved, the documents with their lines, and skills. It only reads.
    Without --http it speaks over standard input and output, as clients start it, until standard
    input is closed.
    """
    if not http and (port is not None or json):
        raise InvalidRequest("--port and --json go with --http: standard output is the protocol's")
    if find_spec("mcp") is None:
        raise NotInstalled(f"the Model Context Protocol's SDK is missing: {how_to_install('mcp')}")
    from knowledge_rag.mcp_server.server import create_server
    from knowledge_rag.mcp_server.serving import run_stdio, serve_http

    backend = replace(backend, search=search)
    backend.check_alone(kb=kb)
    backend.check_region()
    log_to_standard_error("")  # the SDK's warnings, too
    with until_stopped(), _here(backend, kb) if backend.is_local else deployed(backend) as asked:
        server = create_server(
            asked.retrieval,
            asked.documents,
            skills=asked.skills,
            corrected=asked.corrected,
            one_client=not http,
        )
        if http:
            ready = partial(print_address, asked.about, json=json)
            serve_http(server, _DEFAULT_PORT if port is None else port, ready)
        else:
            run_stdio(server)


@contextmanager
def _here(backend: BackendOptions, kb: Path | None) -> Iterator[Backend]:
    from knowledge_rag.channel.skills import Skills
    from knowledge_rag.cli.knowledge_bases import opened
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.local.knowledge_base import KnowledgeBaseDocuments
    from knowledge_rag.local.local_retrieval import local_retrieval

    with (
        opened(kb) as knowledge_base,
        local_retrieval(
            knowledge_base, search_type=backend.search_type, budget=backend.budget, unexplained=()
        ) as retrieval,
    ):
        # the first question would wait for the model's first run
        asyncio.run(retrieval.retrieve(Query("warm up")))
        about = f"{knowledge_base.path} ({knowledge_base.chunks} chunks)"
        documents = KnowledgeBaseDocuments(knowledge_base.path)
        yield Backend(
            retrieval,
            about,
            documents,
            skills=partial(Skills, documents),
            corrected=lambda text: knowledge_base.corrected(text).text,
        )
