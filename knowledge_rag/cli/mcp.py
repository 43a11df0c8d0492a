"""``knowledge-rag mcp``."""

from __future__ import annotations

import asyncio
import ipaddress
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.cli.advisors import WriterOptions
from knowledge_rag.cli.backend import BackendOptions, connected
from knowledge_rag.cli.exits import until_stopped
from knowledge_rag.cli.options import JsonOption, KbOption, SearchOption, port_option, with_options
from knowledge_rag.cli.terminal import log_to_standard_error, print_address
from knowledge_rag.core.errors import InvalidRequest, how_to_install
from knowledge_rag.local.errors import NotInstalled

if TYPE_CHECKING:
    from knowledge_rag.mcp_server.tokens import Access

_DEFAULT_PORT = 8322


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """HTTP options."""

    http: Annotated[
        bool, typer.Option("--http", help="Serve HTTP instead of standard input and output.")
    ] = False
    port: Annotated[int | None, port_option("--http", str(_DEFAULT_PORT))] = None
    host: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="IP address to listen on; other than loopback only with --issuer.  [default: 127.0.0.1]",
        ),
    ] = None
    issuer: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Require access tokens of this OAuth authorization server. Off by default.",
        ),
    ] = None
    resource: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="This server's address for clients, for which tokens are issued."
        ),
    ] = None
    scope: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Required scope of tokens; may be repeated."),
    ] = None

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ("host", "issuer", "resource", "scope")}
        if not self.http:
            for name in (it for it, value in given.items() if value):
                raise InvalidRequest(f"--{name} goes with --http")
        if bool(self.issuer) != bool(self.resource) or (self.scope and not self.issuer):
            raise InvalidRequest(
                "--issuer URL and --resource URL go together: the tokens' issuer, and their audience"
            )
        if not self._is_here() and not self.issuer:
            raise InvalidRequest(
                f"--host {self.host}: anybody who can reach it could use it; add --issuer and --resource, or "
                "leave it out to serve this machine only"
            )

    def _is_here(self) -> bool:
        host = self.host or "127.0.0.1"
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError as error:
            raise InvalidRequest(f"--host {host[:60]!a}: must be an IP address") from error

    def access(self) -> Access | None:
        """Return the required access tokens; ``None`` for none."""
        from knowledge_rag.mcp_server.tokens import Access

        if self.issuer is None or self.resource is None:
            return None
        return Access(self.issuer, self.resource, tuple(self.scope or ()))


@with_options
def mcp(
    *,
    kb: KbOption = None,
    search: SearchOption = None,
    writers: WriterOptions,
    backend: BackendOptions,
    served: HttpOptions,
    json: JsonOption = False,
) -> None:
    """Serve the Model Context Protocol to agents and editors.

    It offers ask, retrieve_knowledge (through the real Lambda), verify_citations (which checks an answer against what
    was retrieved), the documents with their lines, and skills. It only reads. Without --http it uses standard input
    and output, as clients start it, until standard input is closed. With a model (--model, --model-id or --agent),
    ask returns that model's answer from the lines, verified.
    """
    if not served.http and (served.port is not None or json):
        raise InvalidRequest(
            "--port and --json go with --http: standard output carries the protocol"
        )
    if find_spec("mcp") is None:
        raise NotInstalled(f"the Model Context Protocol's SDK is missing: {how_to_install('mcp')}")
    from knowledge_rag.channel.skills import Skills
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.local.http_server import LOOPBACK
    from knowledge_rag.local.knowledge_base import KnowledgeBaseDocuments
    from knowledge_rag.mcp_server.asking import Asking
    from knowledge_rag.mcp_server.server import create_server
    from knowledge_rag.mcp_server.serving import run_stdio, serve_http

    access = served.access()
    backend = replace(backend, search=search)
    backend.check_alone(kb=kb)
    writers.check_region(backend)
    log_to_standard_error("")  # the SDK's warnings, too
    advisor = writers.advisor(backend.region, "")
    with until_stopped(), connected(backend, kb, explains_filters=True) as asked:
        about, skills = asked.about, None
        if asked.base is not None:
            # otherwise the first question would wait for the model's first run
            asyncio.run(asked.retrieval.retrieve(Query("warm up")))
            about = f"{asked.base.path} ({asked.base.chunks} chunks)"
            skills = partial(Skills, KnowledgeBaseDocuments(asked.base.path))
        asking = Asking(asked.retrieval, asked.corrected, asked.documents, skills, advisor)
        server = create_server(asking, one_client=not served.http)
        if served.http:
            ready = partial(print_address, about, json=json)
            port = _DEFAULT_PORT if served.port is None else served.port
            serve_http(server, port, ready, served.host or LOOPBACK, access)
        else:
            run_stdio(server)
