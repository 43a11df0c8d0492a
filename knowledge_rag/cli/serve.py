"""``knowledge-rag serve``."""

from __future__ import annotations

import logging
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from knowledge_rag.cli.options import JsonOption, KbOption, RegionOption
from knowledge_rag.cli.stopping import until_told_to_stop
from knowledge_rag.cli.terminal import err, out, print_json, tell
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from knowledge_rag.guardrails.staleness import Corpus
    from knowledge_rag.local.knowledge_base import KnowledgeBase
    from knowledge_rag.orchestrator.advisors.advisor import Advisor

_PLACEHOLDERS: Final = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
}
_NEEDED: Final = ("markdown_it", "nh3", "sse_starlette")
"""What the console needs beyond the command line itself."""


REPORTS_FILE: Final = "wrong-citations.jsonl"
"""In the data folder: what the console's readers reported."""


def serve(
    kb: KbOption = None,
    port: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=65535, help="Port of Bedrock's API; 0 takes a free one."
        ),
    ] = 8321,
    console: Annotated[
        bool, typer.Option("--console/--no-console", help="Serve the web console, too.")
    ] = True,
    console_port: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=65535,
            help="Port of the console; 0 takes a free one.  [default: 8320, or a free one]",
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder that was ingested: the console then tells what has changed since.",
        ),
    ] = None,
    repository_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where the console leads to for changes, with {path}, {start} and {end}.",
        ),
    ] = None,
    model_id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Bedrock model that may write the console's answers."),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(metavar="ID/ALIAS", help="Bedrock agent that may write them, and its alias."),
    ] = None,
    region: RegionOption = None,
    json: JsonOption = False,
) -> None:
    """Serve a knowledge base on loopback until Ctrl-C: a web console, and Bedrock's own API.

    The console answers questions in a browser, each step with its lines.

    The API speaks Retrieve (knowledge base LOCALKB001), InvokeAgent (agent LOCALAGENT, alias
    LOCALALIAS, which asks the real Lambda function) and Converse and ConverseStream (model
    local.extractive-v1). No model runs: what they write is lifted from the lines that were found.

    Any client of Amazon Bedrock works against it, once it has the variables that are printed. The
    server looks at neither region nor credentials, but clients do not start without them.
    """
    from knowledge_rag.cli.knowledge_bases import opened
    from knowledge_rag.local.server import serve as serve_wire_api

    if not console and (corpus or repository_url or model_id or agent or console_port is not None):
        raise InvalidRequest(
            "--console-port, --corpus, --repository-url, --model-id and --agent are the console's"
        )
    with until_told_to_stop(), opened(kb) as knowledge_base, ExitStack() as stack:
        made = (
            _console(knowledge_base, console_port, corpus, repository_url, model_id, agent, region)
            if console
            else None
        )

        def ready(endpoint_url: str) -> None:
            console_url = stack.enter_context(made(endpoint_url)) if made else None
            _tell(knowledge_base, endpoint_url, console_url, json=json)

        serve_wire_api(knowledge_base, port=port, on_ready=ready)


def _console(
    knowledge_base: KnowledgeBase,
    port: int | None,
    corpus: Path | None,
    repository_url: str | None,
    model_id: str | None,
    agent: str | None,
    region: str | None,
) -> Callable[[str], AbstractContextManager[str]] | None:
    """Prepare the console: whatever is wrong with the options shows before anything is served.

    Returns:
        From the wire API's address to the console, which gives its own address; ``None`` where what
        it needs is not installed, which is told.
    """
    if not all(map(find_spec, _NEEDED)):
        tell("no console:", "install knowledge-rag[console]")
        return None
    from knowledge_rag.console.app import ConsoleSettings
    from knowledge_rag.console.documents import KeptDocuments
    from knowledge_rag.console.links import RepositoryLinks
    from knowledge_rag.console.local_console import local_console
    from knowledge_rag.local.settings import LocalSettings
    from knowledge_rag.mcp_server.documents import KnowledgeBaseDocuments

    _log_to_standard_error()
    path = knowledge_base.path
    documents = KeptDocuments(KnowledgeBaseDocuments(path), _corpus(path, corpus))
    settings = ConsoleSettings(
        f"{path.name} ({knowledge_base.chunks} chunks)",
        RepositoryLinks(repository_url) if repository_url else None,
        LocalSettings.from_environment().data_dir / REPORTS_FILE,
    )
    advisors = _advisors(model_id, agent, region)
    return lambda endpoint_url: local_console(endpoint_url, documents, advisors, settings, port)


def _corpus(kb_path: Path, folder: Path | None) -> Corpus | None:
    """Give the folder that was ingested, if it is known: as named, or the sample's."""
    from knowledge_rag.cli.knowledge_bases import SAMPLE_CORPUS, SAMPLE_FILE
    from knowledge_rag.core.resources import shipped
    from knowledge_rag.local.corpus_files import CorpusFiles
    from knowledge_rag.local.settings import LocalSettings

    if folder is not None:
        return CorpusFiles(folder)
    if kb_path == LocalSettings.from_environment().data_dir / SAMPLE_FILE:
        return CorpusFiles(shipped(SAMPLE_CORPUS))
    return None


def _advisors(model_id: str | None, agent: str | None, region: str | None) -> dict[str, Advisor]:
    """Make those who can write; who was asked for comes first, and so writes by default."""
    from knowledge_rag.cli.advisors import Writer, chosen_advisor

    if region and not (model_id or agent):
        raise InvalidRequest("--region goes with --model-id or --agent: nothing else calls AWS")
    writers = [Writer("extractive")]
    if agent:
        writers.insert(0, Writer("agent", agent=agent, region=region))
    if model_id:
        writers.insert(0, Writer("converse", model_id=model_id, region=region))
    return {writer.name: chosen_advisor(writer) for writer in writers}


def _log_to_standard_error() -> None:
    """Tell what goes wrong while it serves, one line each, so that nothing in it steers a terminal."""

    class Neutral(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return neutralise(" ".join(super().format(record).split()))

    handler = logging.StreamHandler()
    handler.setFormatter(Neutral("%(levelname)s %(name)s: %(message)s"))
    handler.setLevel(logging.WARNING)
    logging.getLogger("knowledge_rag").addHandler(handler)


def _tell(
    knowledge_base: KnowledgeBase, endpoint_url: str, console_url: str | None, *, json: bool
) -> None:
    """Say where it is served, and how to connect."""
    from knowledge_rag.local.retrieve_operation import KNOWLEDGE_BASE_ID
    from knowledge_rag.local.scripted_agents import AGENT_ID, ALIAS_ID
    from knowledge_rag.local.scripted_models import MODEL_ID

    environment = {
        "AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME": endpoint_url,
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": endpoint_url,
        "KNOWLEDGE_BASE_ID": KNOWLEDGE_BASE_ID,
        **_PLACEHOLDERS,
    }
    if json:
        print_json(
            {
                "endpoint_url": endpoint_url,
                "console_url": console_url,
                "knowledge_base_id": KNOWLEDGE_BASE_ID,
                "agent_id": AGENT_ID,
                "agent_alias_id": ALIAS_ID,
                "model_id": MODEL_ID,
                "environment": environment,
            }
        )
    else:
        path = neutralise(str(knowledge_base.path))
        err().print(f"serving {path} ({knowledge_base.chunks} chunks), Ctrl-C stops")
        if console_url:
            err().print(f"console: {console_url}")
        for name, value in environment.items():
            out().print(f"export {name}={value}")
    sys.stdout.flush()
