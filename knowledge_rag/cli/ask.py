"""``knowledge-rag ask``."""

from __future__ import annotations

import sys
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
    str | None,
    typer.Argument(help="Your question; optional with --incident, and prompted for at a terminal."),
]
IncidentOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help=(
            "JSON of an alert or incident, from your pager or hand-written (PagerDuty, Opsgenie, "
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
        help="Template of links to cited lines, with {path}, {start} and {end}.  [default: as ingest found it]",
    ),
]
ExplainOption = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="Also show the queries and the evidence; with --json, the evidence for `verify`.",
    ),
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
        help="The procedure to show if an answer offered several: its lines, as printed.",
    ),
]


OpenOption = Annotated[
    int | None,
    typer.Option(
        "--open",
        metavar="N",
        min=1,
        help="Open the N-th citation of the answer at its line, in VISUAL, EDITOR or PAGER.",
    ),
]
CorpusOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Folder with the documents, for --open.  [default: the ingested one]"
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
    open_number: OpenOption = None,
    corpus: CorpusOption = None,
    repository_url: RepositoryOption = None,
    max_tokens: MaxTokensOption = None,
    json: JsonOption = False,
) -> None:
    """Get steps for a question or an incident, each with its lines.

    At a terminal it then takes further questions, such as "how do I undo it?", until an empty line. If it is
    unclear which procedure is meant, it asks. Exits 1 if nothing is documented, 3 if the knowledge base is
    unavailable.
    """
    from knowledge_rag.cli.advice import consulted, incident_of, placed
    from knowledge_rag.cli.config import config
    from knowledge_rag.cli.conversation import Conversation, first_question, since_asked
    from knowledge_rag.cli.evidence import exit_code_of
    from knowledge_rag.cli.knowledge_bases import chosen
    from knowledge_rag.cli.terminal import print_json
    from knowledge_rag.orchestrator.consultation import evidence_of

    form = AnswerFormat.JSON if json else form
    if max_tokens and form in (AnswerFormat.SLACK, AnswerFormat.SMS):
        raise InvalidRequest(f"--max-tokens doesn't go with --format {form}")
    backend = replace(backend, search=search)
    backend.check_alone(kb=kb)
    if advisor is AdvisorName.MODEL:
        model = model or config().model
    backend.check_region("--advisor", asks_aws=asks_aws(advisor.value, model))
    if question is None and incident is None and form is AnswerFormat.TERMINAL:
        question = first_question()
    asked = placed(incident_of(question, incident), at)
    choice = AdvisorChoice(advisor.value, model_id, agent, backend.region, model)
    if (open_number or corpus) and form is not AnswerFormat.TERMINAL:
        option = "--open" if open_number else "--corpus"
        raise InvalidRequest(
            f"{option} goes with --format {AnswerFormat.TERMINAL}, not with {form}"
        )
    asked_kb = chosen(kb, quiet=True) if backend.is_local else None
    write = partial(_text, form, asked, asked_kb, repository_url, question)
    fit = partial(_fitted, write, max_tokens)

    if form is AnswerFormat.TERMINAL:
        by_model = advisor is not AdvisorName.EXTRACTIVE
        talk = Conversation(backend, choice, asked_kb, corpus, fit, by_model, explain)
        consultation = talk.hold(question, asked, kb, open_number)
    else:
        consultation = fit(consulted(question, asked, backend, choice, kb=kb))
        if form is AnswerFormat.JSON:
            since = since_asked(asked_kb, consultation)
            more = {"since_ingest": since.to_dict()} if since else {}
            more |= {"evidence": evidence_of(consultation).to_dict()} if explain else {}
            print_json(_as_output(consultation.recommendation) | more)
        else:
            sys.stdout.write(write(consultation))
    raise typer.Exit(exit_code_of(consultation.recommendation.status))


def _as_output(recommendation: Recommendation) -> dict[str, Any]:
    from knowledge_rag.orchestrator.recommendation import AGENT_ID

    return {"agent_outputs": {AGENT_ID: recommendation.to_dict()}}


def _fitted(
    write: Callable[[Consultation], str], max_tokens: int | None, consultation: Consultation
) -> Consultation:
    if not max_tokens:
        return consultation
    from knowledge_rag.orchestrator.fitting import within

    return within(consultation, write, max_tokens)


def _text(
    form: AnswerFormat,
    incident: Incident,
    kb_path: Path | None,
    repository_url: str | None,
    question: str | None,
    consultation: Consultation,
) -> str:
    """Return an answer in its output format."""
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
