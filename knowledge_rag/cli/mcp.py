"""``knowledge-rag mcp``."""

from __future__ import annotations

import asyncio
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.cli.options import JsonOption, KbOption, Search
from knowledge_rag.cli.stopping import until_told_to_stop
from knowledge_rag.cli.terminal import err, out, print_json
from knowledge_rag.core.errors import InvalidRequest, KnowledgeRagError
from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Callable

_DEFAULT_PORT = 8322


def mcp(
    kb: KbOption = None,
    search: Annotated[Search, typer.Option(help="Vectors and keywords, or vectors alone.")] = (
        Search.HYBRID
    ),
    http: Annotated[
        bool, typer.Option("--http", help="Serve HTTP on 127.0.0.1, not standard input and output.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=65535,
            help=f"Port of --http; 0 takes a free one.  [default: {_DEFAULT_PORT}]",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Serve a knowledge base to agents and editors, by the Model Context Protocol.

    It offers retrieve_knowledge, through the real Lambda, verify_citations, which holds an answer
    against what was retrieved, and the documents with their lines. It only reads. Without --http it
    speaks over standard input and output, as clients start it, until standard input is closed.
    """
    if not http and (port is not None or json):
        raise InvalidRequest("--port and --json go with --http: standard output is the protocol's")
    if find_spec("mcp") is None:
        raise KnowledgeRagError(
            "the Model Context Protocol's SDK is missing: install knowledge-rag[mcp]"
        )
    from knowledge_rag.cli.knowledge_bases import opened
    from knowledge_rag.core.retrieval import Query, SearchType
    from knowledge_rag.local.local_retrieval import local_retrieval
    from knowledge_rag.mcp_server.documents import KnowledgeBaseDocuments
    from knowledge_rag.mcp_server.server import create_server
    from knowledge_rag.mcp_server.serving import log_to_standard_error, run_stdio, serve_http

    log_to_standard_error()
    search_type = SearchType(search.value.upper())
    with (
        until_told_to_stop(),
        opened(kb) as knowledge_base,
        local_retrieval(knowledge_base, search_type=search_type) as retrieval,
    ):
        # the first question would wait for the function's client and the model's first run
        asyncio.run(retrieval.retrieve(Query("warm up")))
        documents = KnowledgeBaseDocuments(knowledge_base.path)
        server = create_server(retrieval, documents, one_client=not http)
        if http:
            about = f"{knowledge_base.path} ({knowledge_base.chunks} chunks)"
            serve_http(server, _DEFAULT_PORT if port is None else port, _told(about, json=json))
        else:
            run_stdio(server)


def _told(about: str, *, json: bool) -> Callable[[str], None]:
    def ready(url: str) -> None:
        if json:
            print_json({"url": url})
        else:
            err().print(f"serving {neutralise(about)}, Ctrl-C stops")
            out().print(url)
        sys.stdout.flush()

    return ready
