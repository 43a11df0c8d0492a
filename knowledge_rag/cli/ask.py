"""``knowledge-rag ask``."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from enum import StrEnum
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from knowledge_rag.cli.advisors import AdvisorChoice, AdvisorName, asks_aws
from knowledge_rag.cli.backend import BackendOptions
from knowledge_rag.cli.options import (
    JsonOption,
    KbOption,
    SearchOption,
    max_tokens_option,
    with_options,
)
from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowledge_rag.guardrails.staleness import CitedLines
    from knowledge_rag.orchestrator.consultation import Consultation
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.recommendation import Recommendation


class AnswerFormat(StrEnum):
    """Form of an answer."""

    TERMINAL = "terminal"
    SLACK = "slack"
    MARKDOWN = "markdown"
    TEXT = "text"
    SMS = "sms"
    JSON = "json"


QuestionArgument = Annotated[
    str | None, typer.Argument(help="Your question; optional with --incident.")
]
IncidentOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help=(
            "JSON of an alert or incident, as your pager sends it or as you write it (PagerDuty, Opsgenie, "
            "Alertmanager, Grafana, CloudWatch, Datadog and others); - is standard input."
        ),
    ),
]
AdvisorOption = Annotated[
    AdvisorName,
    typer.Option(
        help=(
            "Who writes: nobody (steps are quoted), a model of any provider, a Bedrock model that cites, "
            "or a Bedrock agent."
        )
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="PROVIDER:NAME",
        help=(
            "Model for --advisor model, such as openai:NAME, anthropic:NAME, ollama:NAME or "
            "bedrock_converse:NAME. Its key comes from the environment."
        ),
    ),
]
ModelIdOption = Annotated[
    str | None, typer.Option(metavar="ID", help="Bedrock model for --advisor converse.")
]
AgentOption = Annotated[
    str | None,
    typer.Option(
        metavar="ID/ALIAS",
        help="Bedrock agent and its alias for --advisor agent.  [default: that of --stack]",
    ),
]
FORMAT: Final = typer.Option(
    "--format",
    help="How to print it: for this terminal, as Slack's blocks, a Markdown note, text, an SMS, or JSON.",
)
RepositoryOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Where cited lines can be opened, with {path}, {start} and {end}.  [default: as ingest found it]",
    ),
]
ExplainOption = Annotated[
    bool, typer.Option("--explain", help="Also show the queries and the evidence.")
]


MaxTokensOption = Annotated[
    int | None,
    max_tokens_option(
        "Print at most N tokens: the first procedures that fit, whole, and the others by their lines."
    ),
]
AtOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE:LINE",
        help="The procedure to give, where an answer has offered several: lines as it showed them.",
    ),
]


@with_options
def ask(
    *,
    question: QuestionArgument = None,
    incident: IncidentOption = None,
    at: AtOption = None,
    kb: KbOption = None,
    search: SearchOption = None,
    backend: BackendOptions,
    advisor: AdvisorOption = AdvisorName.EXTRACTIVE,
    model: ModelOption = None,
    model_id: ModelIdOption = None,
    agent: AgentOption = None,
    explain: ExplainOption = False,
    form: Annotated[AnswerFormat, FORMAT] = AnswerFormat.TERMINAL,
    repository_url: RepositoryOption = None,
    max_tokens: MaxTokensOption = None,
    json: JsonOption = False,
) -> None:
    """Get steps for a question or an incident, each with its lines.

    Where it is unclear which procedure is meant, a terminal asks which one. Exits 1 if nothing is documented,
    3 if the knowledge base is unavailable.
    """
    from knowledge_rag.cli.advice import LiveAnswer, chosen_of, consulted, incident_of, placed
    from knowledge_rag.cli.evidence import exit_code_of, show_changes
    from knowledge_rag.cli.knowledge_bases import chosen
    from knowledge_rag.cli.recommendation import show_evidence, show_recommendation
    from knowledge_rag.cli.terminal import out, print_json
    from knowledge_rag.local.since_ingest import since_ingest

    form = AnswerFormat.JSON if json else form
    if max_tokens and form in (AnswerFormat.SLACK, AnswerFormat.SMS):
        raise InvalidRequest(f"--max-tokens doesn't go with --format {form}")
    backend = replace(backend, search=search)
    backend.check_alone(kb=kb)
    backend.check_region("--advisor", asks_aws=asks_aws(advisor.value, model))
    asked = placed(incident_of(question, incident), at)
    choice = AdvisorChoice(advisor.value, model_id, agent, backend.region, model)
    asked_kb = chosen(kb, quiet=True) if backend.is_local else None
    by_model = advisor is not AdvisorName.EXTRACTIVE
    while True:
        is_shown = form is AnswerFormat.TERMINAL
        with LiveAnswer(by_model=by_model) if is_shown else nullcontext() as live:
            notify = live.notify if live else None
            consultation = consulted(question, asked, backend, choice, kb=kb, notify=notify)
        write = partial(_text, form, asked, asked_kb, repository_url, question)
        if max_tokens:
            consultation = _fitted(consultation, write, max_tokens)
        recommendation = consultation.recommendation
        since = since_ingest(asked_kb, _cited(consultation)) if asked_kb else None
        if form is AnswerFormat.JSON:
            print_json(
                _as_output(recommendation) | ({"since_ingest": since.to_dict()} if since else {})
            )
        elif form is not AnswerFormat.TERMINAL:
            sys.stdout.write(write(consultation))
        else:
            if explain:
                show_evidence(out(), consultation.findings)
            show_recommendation(out(), recommendation)
            if asked_kb:
                show_changes(since, asked_kb)
            if not (asked.at or asked.is_group) and (place := chosen_of(recommendation)):
                asked = replace(asked, at=place)
                continue
        raise typer.Exit(exit_code_of(recommendation.status))


def _as_output(recommendation: Recommendation) -> dict[str, Any]:
    from knowledge_rag.orchestrator.recommendation import AGENT_ID

    return {"agent_outputs": {AGENT_ID: recommendation.to_dict()}}


def _fitted(
    consultation: Consultation, write: Callable[[Consultation], str], max_tokens: int
) -> Consultation:
    from knowledge_rag.core.tokens import token_bound
    from knowledge_rag.orchestrator.fitting import fitted

    def fits(given: Recommendation) -> bool:
        return token_bound(write(replace(consultation, recommendation=given))) <= max_tokens

    given = fitted(consultation.recommendation, fits)
    return replace(consultation, recommendation=given)


def _text(
    form: AnswerFormat,
    incident: Incident,
    kb_path: Path | None,
    repository_url: str | None,
    question: str | None,
    consultation: Consultation,
) -> str:
    """Return an answer in the form that it is printed in."""
    from knowledge_rag.channel.markdown import to_note
    from knowledge_rag.channel.message import message_of
    from knowledge_rag.channel.slack import to_slack
    from knowledge_rag.channel.text import to_short, to_text
    from knowledge_rag.cli.knowledge_bases import links_to_lines
    from knowledge_rag.cli.recommendation import lines_of
    from knowledge_rag.orchestrator.incident import Incident

    if form is AnswerFormat.JSON:
        return dumps(_as_output(consultation.recommendation))
    if form is AnswerFormat.TERMINAL:
        lines = lines_of(consultation.recommendation, None)
        return "\n".join("".join(text for text, _ in line) for line in lines)
    links = links_to_lines(kb_path, repository_url)
    title = question if question and Incident.pasted_in(question) is None else ""
    message = message_of(incident, consultation, links, title=title)
    if form is AnswerFormat.SLACK:
        return dumps(to_slack(message)) + "\n"
    writers = {
        AnswerFormat.MARKDOWN: to_note,
        AnswerFormat.TEXT: to_text,
        AnswerFormat.SMS: to_short,
    }
    return writers[form](message).rstrip("\n") + "\n"


def _cited(consultation: Consultation) -> list[CitedLines]:
    from knowledge_rag.guardrails.staleness import CitedLines

    shown = consultation.recommendation.shown
    return [
        CitedLines.of(result)
        for result in consultation.findings.ledger.results
        if any(citation.overlaps(result.citation) for citation in shown)
    ]
