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

from knowledge_rag.cli.backend import (
    BackendOptions,
    FunctionOption,
    GatewayOption,
    KnowledgeBaseOption,
    StackOption,
    deployed,
)
from knowledge_rag.cli.exits import ExitCode, until_stopped
from knowledge_rag.cli.options import JsonOption, KbOption, RegionOption, TimeoutOption, port_option
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
    from knowledge_rag.orchestrator.advisors.advisor import Advisor
    from knowledge_rag.orchestrator.retrieval import Budget

_DEFAULT_PORT: Final = 8321
_LEAVING_SECONDS: Final = 2.0
"""After which the process ends, even during a model's call."""

_PLACEHOLDERS: Final = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
}

REPORTS_FILE: Final = "wrong-citations.jsonl"
"""In the data folder: reports from the console."""

ANSWERS_FOLDER: Final = "answers"
"""In the data folder: the last answers, a file each."""

MISSING: Final = how_to_install("console")

_NEEDED: Final = ("markdown_it", "nh3", "sse_starlette")
"""What the console needs beyond the command line itself."""

PortOption = Annotated[
    int | None, port_option("Bedrock's API on 127.0.0.1", f"{_DEFAULT_PORT}, or a free one")
]
ConsoleOption = Annotated[
    bool, typer.Option("--console/--no-console", help="Serve the web console, too.")
]
ConsolePortOption = Annotated[
    int | None, port_option("the console on 127.0.0.1", "8320, or a free one")
]
CorpusOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Folder that was ingested: the console shows what has changed since.",
    ),
]
RepositoryOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Where the console leads to for changes, with {path}, {start} and {end}.  [default: as ingest found it]",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="PROVIDER:NAME",
        help="Model of any provider that may write the console's answers, as for ask.",
    ),
]
ModelIdOption = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Bedrock model that may write them."),
]
KeepOption = Annotated[
    bool,
    typer.Option(
        "--keep-answers/--forget-answers",
        help="Keep the console's last answers in the data folder, so that their links open after a restart.",
    ),
]
HooksOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Receive webhooks of your pager and post answers, as this TOML file says; serves nothing else.",
    ),
]
DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="With --hooks: print what would be posted, and post nothing."),
]
AgentOption = Annotated[
    str | None,
    typer.Option(metavar="ID/ALIAS", help="Bedrock agent that may write them, and its alias."),
]


def serve(
    kb: KbOption = None,
    port: PortOption = None,
    console: ConsoleOption = True,
    console_port: ConsolePortOption = None,
    corpus: CorpusOption = None,
    repository_url: RepositoryOption = None,
    model: ModelOption = None,
    model_id: ModelIdOption = None,
    agent: AgentOption = None,
    keep_answers: KeepOption = True,
    hooks: HooksOption = None,
    dry_run: DryRunOption = False,
    stack: StackOption = None,
    function: FunctionOption = None,
    knowledge_base: KnowledgeBaseOption = None,
    gateway: GatewayOption = None,
    region: RegionOption = None,
    timeout: TimeoutOption = None,
    json: JsonOption = False,
) -> None:
    """Serve a web console, and Bedrock's own API, until Ctrl-C.

    Both listen on this machine alone. The console answers questions in a browser, each step
    with its lines.

    The API speaks Retrieve (knowledge base LOCALKB001), InvokeAgent (agent LOCALAGENT, alias
    LOCALALIAS, which asks the real Lambda function) and Converse and ConverseStream (model
    local.extractive-v1). No model runs: they quote the lines that were found.

    Any Amazon Bedrock client works against it with the printed variables. The
    server looks at neither region nor credentials, but clients do not start without them.

    With --stack and the like, only the console is served. With --hooks, webhooks of your pager
    are received instead, and answers are posted where the file says.
    """
    backend = BackendOptions(function, knowledge_base, None, region, stack, gateway, timeout)
    backend.check_alone(kb=kb, corpus=corpus, **({} if hooks else {"port": port}))
    options = ConsoleOptions(
        console_port, corpus, repository_url, model_id, agent, region, keep_answers, model
    )
    if hooks is not None:
        _serve_hooks(hooks, kb, backend, options, port, dry_run=dry_run, json=json)
        return
    if dry_run:
        raise InvalidRequest("--dry-run goes with --hooks")
    if not console:
        options.check_wanted()
    if backend.is_local:
        backend.check_region("--model-id", "--agent", asks_aws=options.asks_aws())
        _serve_local(kb, port, options if console else None, backend.budget, json=json)
    elif not console:
        raise InvalidRequest("--no-console leaves nothing to serve of what is deployed")
    else:
        _serve_deployed(backend, options, json=json)
    leaving = threading.Timer(_LEAVING_SECONDS, os._exit, (ExitCode.OK,))
    leaving.daemon = True
    leaving.start()


def _serve_hooks(
    hooks: Path,
    kb: Path | None,
    backend: BackendOptions,
    options: ConsoleOptions,
    port: int | None,
    *,
    dry_run: bool,
    json: bool,
) -> None:
    from knowledge_rag.cli.hooks import HookOptions, serve_hooks

    if options.port is not None or options.corpus is not None or options.repository_url:
        raise InvalidRequest(
            "--console-port, --corpus and --repository-url don't go with --hooks: links stand in its file"
        )

    serve_hooks(hooks, kb, backend, options.advisor, HookOptions(port, dry_run, json))


def is_installed() -> bool:
    """Whether all that the console needs is there."""
    return all(map(find_spec, _NEEDED))


def _serve_local(
    kb: Path | None,
    port: int | None,
    options: ConsoleOptions | None,
    budget: Budget,
    *,
    json: bool,
) -> None:
    from knowledge_rag.cli.knowledge_bases import opened
    from knowledge_rag.local.bedrock.server import serve as serve_wire_api

    wanted = _DEFAULT_PORT if port is None else port
    if options is not None and options.port == wanted != 0:
        raise InvalidRequest(f"--port and --console-port are both {wanted}: they need two ports")
    if options is not None and not is_installed():
        print_note("no console:", MISSING)
        options = None
    with until_stopped(), opened(kb) as found, ExitStack() as stack:
        console = _local_console(found, options, budget) if options else None

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
    found: KnowledgeBase, options: ConsoleOptions, budget: Budget
) -> Callable[[str], AbstractContextManager[str]]:
    """Check the console's options, and return what serves it, from the wire API's address to its own."""
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
        budget=budget,
        corrected=lambda text: found.corrected(text).text,
    )
    advisors = options.advisors()

    def console(endpoint_url: str) -> AbstractContextManager[str]:
        function = FunctionInItsProcess(endpoint_url, budget.working_seconds, found)
        return local_console(function, documents, advisors, settings, options.port)

    return console


def _serve_deployed(backend: BackendOptions, options: ConsoleOptions, *, json: bool) -> None:
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
            options.advisors(asked.agent),
            options.settings(asked.about),
            prepare=asked.retrieval.prepare,
        )
        with running(app, options.port) as url:
            print_address(asked.about, url, json=json, key="console_url")
            threading.Event().wait()


def _print_addresses(
    found: KnowledgeBase, endpoint_url: str, console_url: str | None, *, json: bool
) -> None:
    """Print the addresses, and how to connect."""
    from knowledge_rag.local.bedrock.answers import AGENT_ID, ALIAS_ID, MODEL_ID
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


@dataclass(frozen=True, slots=True)
class ConsoleOptions:
    """Options of the console; ``None`` where not given."""

    port: int | None = None
    corpus: Path | None = None
    repository_url: str | None = None
    model_id: str | None = None
    agent: str | None = None
    region: str | None = None
    keep_answers: bool = True
    model: str | None = None

    def check_wanted(self) -> None:
        """Refuse console options together with --no-console."""
        given = (
            self.port, self.corpus, self.repository_url, self.model, self.model_id, self.agent
        )  # fmt: skip
        if any(one is not None for one in given):
            raise InvalidRequest(
                "--console-port, --corpus, --repository-url, --model, --model-id and --agent are the console's"
            )

    def settings(self, about: str) -> ConsoleSettings:
        """Return the console's settings."""
        from knowledge_rag.console.app import ConsoleSettings
        from knowledge_rag.local.settings import LocalSettings
        from knowledge_rag.local.source_links import RepositoryLinks

        repository = RepositoryLinks(self.repository_url) if self.repository_url else None
        data = LocalSettings.from_environment().data_dir
        answers = data / ANSWERS_FOLDER if self.keep_answers else None
        return ConsoleSettings(about, repository, data / REPORTS_FILE, answers)

    def asks_aws(self) -> bool:
        """Whether one of the advisors is Bedrock's."""
        from knowledge_rag.cli.advice import asks_aws

        return bool(self.model_id or self.agent) or asks_aws("model", self.model)

    def advisor(self, deployed_agent: str) -> Advisor:
        """Return the default advisor."""
        return next(iter(self.advisors(deployed_agent).values()))

    def advisors(self, deployed_agent: str = "") -> dict[str, Advisor]:
        """Return the advisors by name; the default first."""
        from knowledge_rag.cli.advice import AdvisorChoice, chosen_advisor

        choices = [AdvisorChoice("extractive")]
        if self.agent:
            choices.insert(0, AdvisorChoice("agent", agent=self.agent, region=self.region))
        elif deployed_agent:
            choices.append(AdvisorChoice("agent", region=self.region))
        if self.model_id:
            choices.insert(0, AdvisorChoice("converse", model_id=self.model_id, region=self.region))
        if self.model:
            choices.insert(0, AdvisorChoice("model", model=self.model, region=self.region))
        return {one.name: chosen_advisor(one, deployed_agent) for one in choices}

    def files(self, kb_path: Path) -> Corpus | None:
        """Return the folder that was ingested, if it is known: the named one, or the sample's."""
        from knowledge_rag.cli.knowledge_bases import SAMPLE_CORPUS, SAMPLE_FILE
        from knowledge_rag.core.resources import shipped
        from knowledge_rag.local.corpus import CorpusFiles
        from knowledge_rag.local.settings import LocalSettings

        if self.corpus is not None:
            return CorpusFiles(self.corpus)
        if kb_path == LocalSettings.from_environment().data_dir / SAMPLE_FILE:
            return CorpusFiles(shipped(SAMPLE_CORPUS))
        return None
