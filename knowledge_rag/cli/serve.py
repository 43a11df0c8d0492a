"""`knowledge-rag serve`."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from knowledge_rag.cli.advisors import WriterOptions
from knowledge_rag.cli.backend import BackendOptions, deployed
from knowledge_rag.cli.exits import ExitCode, until_stopped
from knowledge_rag.cli.options import JsonOption, KbOption, port_option, with_options
from knowledge_rag.cli.terminal import (
    err,
    log_to_standard_error,
    out,
    print_address,
    print_json,
    print_note,
)
from knowledge_rag.core.errors import InvalidRequest, how_to_install
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.local.errors import NotInstalled, ServerFailed

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from knowledge_rag.console.app import ConsoleSettings
    from knowledge_rag.guardrails.staleness import Corpus
    from knowledge_rag.local.knowledge_base import KnowledgeBase

_DEFAULT_PORT: Final = 8321
_LEAVING_SECONDS: Final = 2.0
"""Seconds after which the process ends, even during a model's call."""

_PLACEHOLDERS: Final = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
}

REPORTS_FILE: Final = "wrong-citations.jsonl"
"""File in the data folder for reports from the console."""

ANSWERS_FOLDER: Final = "answers"
"""Folder in the data folder for recent answers, a file each."""

MISSING: Final = how_to_install("console")

_NEEDED: Final = ("markdown_it", "nh3", "sse_starlette")
"""Packages that the console needs in addition to the command line's."""

PortOption = Annotated[
    int | None, port_option("Bedrock's API on 127.0.0.1", f"{_DEFAULT_PORT}, or a free one")
]
ConsoleOption = Annotated[
    bool, typer.Option("--console/--no-console", help="Serve the web console, too.")
]
HooksOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Receive webhooks of your pager and post answers, configured by this TOML file; serves nothing else.",
    ),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="With --hooks: print posts instead of sending them.")
]


@dataclass(frozen=True, slots=True)
class ConsoleOptions:
    """Options of the console; ``None`` if not given."""

    console_port: Annotated[
        int | None, port_option("the console on 127.0.0.1", "8320, or a free one")
    ] = None
    corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder that was ingested: the console shows what has changed since.",
        ),
    ] = None
    rules: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Alert rules, as for coverage: the console's health page lists alerts without a runbook. "
            "May be given several times.",
        ),
    ] = None
    repository_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Template of the console's links for changes, with {path}, {start} and {end}.  [default: as ingest found it]",
        ),
    ] = None
    a2a: Annotated[
        bool,
        typer.Option(
            "--a2a",
            help="Answer other agents over A2A at the console's address; needs the extra a2a.",
        ),
    ] = False
    keep_answers: Annotated[
        bool,
        typer.Option(
            "--keep-answers/--forget-answers",
            help="Keep the console's recent answers in the data folder, so that their links work after a restart.",
        ),
    ] = True

    @property
    def given(self) -> bool:
        """Whether an option of the console alone is given."""
        wanted = (self.console_port, self.corpus, self.rules, self.repository_url)
        return self.a2a or any(one is not None for one in wanted)

    def check_installed(self) -> None:
        """Refuse what isn't installed, where an option asks for it."""
        if self.a2a and not (is_installed() and find_spec("a2a")):
            raise NotInstalled(f"the A2A SDK is missing: {how_to_install('a2a')}")

    def settings(self, about: str) -> ConsoleSettings:
        """Return the console's settings."""
        from knowledge_rag.console.app import ConsoleSettings
        from knowledge_rag.core.repository_links import RepositoryLinks
        from knowledge_rag.local.settings import LocalSettings

        repository = RepositoryLinks(self.repository_url) if self.repository_url else None
        data = LocalSettings.from_environment().data_dir
        answers = data / ANSWERS_FOLDER if self.keep_answers else None
        settings = ConsoleSettings(about, repository, data / REPORTS_FILE, answers)
        if not self.a2a:
            return settings
        from knowledge_rag.console.agent_api import Agents

        return replace(settings, agents=Agents)

    def files(self, kb_path: Path) -> Corpus | None:
        """Return the documents of the folder that was ingested, if it is known."""
        from knowledge_rag.local.corpus_files import CorpusFiles

        folder = self.folder(kb_path)
        return CorpusFiles(folder) if folder is not None else None

    def folder(self, kb_path: Path) -> Path | None:
        """Return the folder that was ingested, if it is known: the named one, or the sample's."""
        from knowledge_rag.cli.config import config
        from knowledge_rag.cli.knowledge_bases import SAMPLE_CORPUS, SAMPLE_FILE
        from knowledge_rag.core.files import shipped
        from knowledge_rag.local.settings import LocalSettings

        if self.corpus is not None:
            return self.corpus
        if kb_path == LocalSettings.from_environment().data_dir / SAMPLE_FILE:
            return shipped(SAMPLE_CORPUS)
        return config().corpus


@with_options
def serve(
    *,
    kb: KbOption = None,
    port: PortOption = None,
    console: ConsoleOption = True,
    options: ConsoleOptions,
    writers: WriterOptions,
    hooks: HooksOption = None,
    dry_run: DryRunOption = False,
    backend: BackendOptions,
    json: JsonOption = False,
) -> None:
    """Serve a web console, and Bedrock's own API, until Ctrl-C.

    Both listen on this machine alone. The console answers questions in a browser, each step
    with its lines, and chat clients that speak OpenAI's or Anthropic's API, at /v1. With --a2a
    it answers other agents, too, which find it by its card at /.well-known/agent-card.json.

    The API offers Retrieve (knowledge base LOCALKB001), InvokeAgent (agent LOCALAGENT, alias
    LOCALALIAS, which calls the real Lambda function) and Converse and ConverseStream (model
    local.extractive-v1). No model runs: answers quote the retrieved lines.

    Any Amazon Bedrock client works against it with the printed variables. The server checks neither region nor
    credentials, but clients do not start without them.

    With --stack, --function, --knowledge-base or --gateway, only the console is served. With --hooks, webhooks of your
    pager are received instead, and answers are posted as the file says.
    """
    backend.check_alone(
        kb=kb, corpus=options.corpus, rules=options.rules, **({} if hooks else {"port": port})
    )
    if hooks is not None:
        if options.given:
            raise InvalidRequest(
                "--console-port, --corpus, --rules, --repository-url and --a2a don't go with --hooks: links stand in its file"
            )
        from knowledge_rag.cli.hooks import serve_hooks

        writers = writers.or_configured()
        serve_hooks(hooks, kb, backend, writers, port, dry_run=dry_run, json=json)
        return
    if dry_run:
        raise InvalidRequest("--dry-run goes with --hooks")
    if not console and (options.given or writers.given):
        raise InvalidRequest(
            "--console-port, --corpus, --rules, --repository-url, --a2a, --model, --model-id and --agent are the console's"
        )
    options.check_installed()
    if console:
        writers = writers.or_configured()
    if backend.is_local:
        writers.check_region(backend)
        _serve_local(kb, port, backend, options if console else None, writers, json=json)
    elif not console:
        raise InvalidRequest("--no-console leaves nothing to serve for a deployed knowledge base")
    else:
        _serve_deployed(backend, options, writers, json=json)
    leaving = threading.Timer(_LEAVING_SECONDS, os._exit, (ExitCode.OK,))
    leaving.daemon = True
    leaving.start()


def is_installed() -> bool:
    """Whether all the console's packages are installed."""
    return all(map(find_spec, _NEEDED))


def _serve_local(
    kb: Path | None,
    port: int | None,
    backend: BackendOptions,
    options: ConsoleOptions | None,
    writers: WriterOptions,
    *,
    json: bool,
) -> None:
    from knowledge_rag.cli.knowledge_bases import opened
    from knowledge_rag.local.bedrock.server import serve as serve_wire_api

    wanted = _DEFAULT_PORT if port is None else port
    if options is not None and options.console_port == wanted != 0:
        raise InvalidRequest(f"--port and --console-port are both {wanted}: they need two ports")
    if options is not None and not is_installed():
        print_note("no console:", MISSING)
        options = None
    with until_stopped(), opened(kb) as found, ExitStack() as stack:
        console = _local_console(found, backend, options, writers) if options else None

        def ready(endpoint_url: str) -> None:
            url = stack.enter_context(console(endpoint_url)) if console else None
            _print_addresses(found, endpoint_url, url, json=json)

        try:
            serve_wire_api(found, port=wanted, on_ready=ready)
        except ServerFailed:
            if port is not None:
                raise
            serve_wire_api(found, port=0, on_ready=ready)  # as the console does


def _local_console(
    found: KnowledgeBase, backend: BackendOptions, options: ConsoleOptions, writers: WriterOptions
) -> Callable[[str], AbstractContextManager[str]]:
    """Check the console's options, and return a function that serves it, from the wire API's address to its own."""
    from knowledge_rag.cli.knowledge_bases import links_to_lines
    from knowledge_rag.console.documents import KeptDocuments
    from knowledge_rag.console.server import FunctionInItsProcess, local_console
    from knowledge_rag.local.knowledge_base import KnowledgeBaseDocuments

    log_to_standard_error()
    documents = KeptDocuments(KnowledgeBaseDocuments(found.path), options.files(found.path))
    about = f"{found.path.name} ({found.chunks} chunks)"
    settings = replace(
        options.settings(about),
        repository=links_to_lines(found.path, options.repository_url),
        budget=backend.budget,
        corrected=lambda text: found.corrected(text).text,
        corpus=options.folder(found.path),
        rules=tuple(options.rules or ()),
    )
    advisors = writers.advisors(backend.region)

    def console(endpoint_url: str) -> AbstractContextManager[str]:
        function = FunctionInItsProcess(endpoint_url, backend.budget.working_seconds, found)
        return local_console(function, documents, advisors, settings, options.console_port)

    return console


def _serve_deployed(
    backend: BackendOptions, options: ConsoleOptions, writers: WriterOptions, *, json: bool
) -> None:
    if not is_installed():
        raise NotInstalled(f"the web console is missing: {MISSING}")
    from knowledge_rag.console.app import create_console
    from knowledge_rag.console.documents import KeptDocuments
    from knowledge_rag.console.server import running

    log_to_standard_error()
    with until_stopped(), deployed(backend) as asked:
        app = create_console(
            asked.retrieval,
            KeptDocuments(asked.documents) if asked.documents else None,
            writers.advisors(backend.region, asked.agent),
            options.settings(asked.about),
            prepare=asked.retrieval.prepare,
        )
        with running(app, options.console_port) as url:
            print_address(asked.about, url, json=json, key="console_url")
            threading.Event().wait()


def _print_addresses(
    found: KnowledgeBase, endpoint_url: str, console_url: str | None, *, json: bool
) -> None:
    """Print the addresses, and how to connect."""
    from knowledge_rag.local.bedrock.converse import MODEL_ID
    from knowledge_rag.local.bedrock.invoke_agent import AGENT_ID, ALIAS_ID
    from knowledge_rag.local.bedrock.retrieve import KNOWLEDGE_BASE_ID

    environment = {
        "AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME": endpoint_url,
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": endpoint_url,
        "KNOWLEDGE_BASE_ID": KNOWLEDGE_BASE_ID,
        **_PLACEHOLDERS,
    }
    if json:
        names = {
            "knowledge_base_id": KNOWLEDGE_BASE_ID,
            "agent_id": AGENT_ID,
            "agent_alias_id": ALIAS_ID,
            "model_id": MODEL_ID,
        }
        addresses = {"endpoint_url": endpoint_url, "console_url": console_url}
        print_json({**addresses, **names, "environment": environment})
    else:
        path = neutralise(str(found.path))
        err().print(f"serving {path} ({found.chunks} chunks), Ctrl-C stops")
        if console_url:
            err().print(f"console: {console_url}")
        for name, value in environment.items():
            out().print(f"export {name}={value}")
    sys.stdout.flush()
