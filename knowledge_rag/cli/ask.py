"""``knowledge-rag ask``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.cli.options import JsonOption, KbOption, RegionOption, Search

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class AdvisorName(StrEnum):
    """Who writes the guidance."""

    EXTRACTIVE = "extractive"
    CONVERSE = "converse"
    AGENT = "agent"


def ask(
    question: Annotated[
        str | None, typer.Argument(help="What you want to know; may be left out with --incident.")
    ] = None,
    incident: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=(
                "JSON of an incident: what you write yourself, a webhook of Alertmanager, or an "
                "alarm of CloudWatch; - is standard input."
            ),
        ),
    ] = None,
    kb: KbOption = None,
    search: Annotated[Search, typer.Option(help="Vectors and keywords, or vectors alone.")] = (
        Search.HYBRID
    ),
    advisor: Annotated[
        AdvisorName,
        typer.Option(
            help="Who writes: nobody (steps are lifted from the lines), a Bedrock model, or a Bedrock agent."
        ),
    ] = AdvisorName.EXTRACTIVE,
    model_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Bedrock model for --advisor converse.")
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(metavar="ID/ALIAS", help="Bedrock agent and its alias for --advisor agent."),
    ] = None,
    region: RegionOption = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what was asked and the evidence, too.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Get steps for a question or an incident, each with the lines that say so.

    Exits 1 if nothing is documented, 3 if that could not be found out.
    """
    import asyncio

    from knowledge_rag.cli.advisors import chosen_advisor
    from knowledge_rag.cli.asking import Answered, incident_of, queries_of
    from knowledge_rag.cli.evidence import exit_code_for_status
    from knowledge_rag.cli.knowledge_bases import opened
    from knowledge_rag.cli.recommendation import show_evidence, show_recommendation
    from knowledge_rag.cli.terminal import out, print_json
    from knowledge_rag.core.retrieval import SearchType
    from knowledge_rag.local.local_retrieval import local_retrieval
    from knowledge_rag.orchestrator.consultation import consult
    from knowledge_rag.orchestrator.recommendation import AGENT_ID
    from knowledge_rag.orchestrator.retrieval import gather

    about = incident_of(question, incident)
    writer = chosen_advisor(advisor, model_id=model_id, agent=agent, region=region)
    queries = queries_of(question, about)
    with (
        opened(kb) as knowledge_base,
        local_retrieval(knowledge_base, search_type=SearchType(search.value.upper())) as way,
    ):
        outcomes = asyncio.run(gather(queries, way))
    # outside the block, which hides the user's own AWS settings from the local function
    answered = Answered(queries, outcomes)
    notify = None if json else _tell
    consultation = asyncio.run(consult(about, answered, writer, queries=queries, notify=notify))
    recommendation = consultation.recommendation
    if json:
        print_json({"agent_outputs": {AGENT_ID: recommendation.to_dict()}})
    else:
        if explain:
            show_evidence(out(), consultation.findings)
        show_recommendation(out(), recommendation)
    raise typer.Exit(exit_code_for_status(recommendation.status))


def _tell(event: Mapping[str, Any]) -> None:
    """Say on standard error what is going on, where somebody is watching."""
    from knowledge_rag.cli.terminal import err

    console = err()
    if console.is_terminal and event["event"] == "found":
        console.print(f"found {event['sources']} passages, writing ...", style="dim")
