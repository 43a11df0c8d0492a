"""``knowledge-rag retrieve``."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_rag.cli.options import (
    JsonOption,
    KbOption,
    Search,
    TimeoutOption,
    budget_of,
    max_tokens_option,
)
from knowledge_rag.cli.terminal import out, print_json, printed
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.policy_settings import SourcePolicy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from knowledge_rag.guardrails.staleness import CitedLines


def retrieve(
    query: Annotated[str, typer.Argument(help="Your question.")],
    kb: KbOption = None,
    max_results: Annotated[
        str, typer.Option(metavar="N", help="Number of results, clamped to 1-100.")
    ] = "5",
    search: Annotated[Search, typer.Option(help="Vectors and keywords, or vectors only.")] = (
        Search.HYBRID
    ),
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="KEY=VALUE",
            help="Only documents with this document_type or service, or the one source_file, in line order.",
        ),
    ] = None,
    policy: Annotated[
        SourcePolicy | None,
        typer.Option(
            help="Which sources come first.  [default: SOURCE_POLICY, else off]", show_default=False
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the order before and after the policy, and why.")
    ] = False,
    timeout: TimeoutOption = None,
    max_tokens: Annotated[
        int | None,
        max_tokens_option("Print at most N tokens of passages, the first one in any case."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Retrieve the lines that answer a question.

    It calls the real Lambda. Exits 1 if nothing is documented, 3 if the knowledge base could not be searched.
    """
    from knowledge_rag.cli.evidence import (
        exit_code_of,
        show_changes,
        show_explanation,
        show_outcome,
    )
    from knowledge_rag.cli.knowledge_bases import asked, chosen
    from knowledge_rag.core.metadata import SOURCE_FILE
    from knowledge_rag.core.outcome import NEAREST, Reason
    from knowledge_rag.local.settings import timed_out
    from knowledge_rag.local.since_ingest import since_ingest

    budget = budget_of(timeout)
    if policy is SourcePolicy.WEBSITE_FIRST and search is Search.SEMANTIC:
        raise InvalidRequest(f"--policy {policy} goes with --search {Search.HYBRID}")
    event = {"query": query, "max_results": max_results, "explain": explain}
    event |= _arguments(filters or [])
    path = chosen(kb)
    with asked(path, search.search_type, policy, budget) as ask:
        body = ask(event)
    if "error" in body:
        raise InvalidRequest(body["error"])
    body.pop(NEAREST, None)  # programs pass the output to models, as evidence
    if body.get("reason") == Reason.TIMEOUT:
        body["notice"] = timed_out(budget.seconds)
    if max_tokens and body["results"]:
        body = _shortened(body, path, max_tokens, json=json)
    since = since_ingest(path, _cited(body))
    if json:
        print_json(body | ({"since_ingest": since.to_dict()} if since else {}))
    else:
        show_outcome(out(), body, path)
        show_changes(since, path)
        if "explanation" in body:
            explanation, one_document = body["explanation"], SOURCE_FILE in event
            show_explanation(out(), explanation, one_document=one_document)
    raise typer.Exit(exit_code_of(body["status"]))


def _shortened(body: dict[str, Any], path: Path, most: int, *, json: bool) -> dict[str, Any]:
    from knowledge_rag.cli.evidence import show_outcome
    from knowledge_rag.core.tokens import token_bound
    from knowledge_rag.orchestrator.fitting import first_that_fit

    def cost(results: Sequence[Any]) -> float:
        given = {**body, "results": results}
        text = dumps(given) if json else printed(lambda console: show_outcome(console, given, path))
        return token_bound(text)

    kept, left_out = first_that_fit(body["results"], cost, most)
    notice = " ".join(filter(None, (body.get("notice"), left_out)))
    return {**body, "results": kept} | ({"notice": notice} if notice else {})


def _cited(body: Mapping[str, Any]) -> list[CitedLines]:
    from knowledge_rag.core.citations import Citation
    from knowledge_rag.core.metadata import DOCUMENT_SHA256
    from knowledge_rag.guardrails.staleness import CitedLines

    return [
        CitedLines(
            Citation(**result["citation"]),
            result["content"],
            result.get("metadata", {}).get(DOCUMENT_SHA256),
        )
        for result in body["results"]
    ]


def _arguments(filters: list[str]) -> dict[str, str]:
    from knowledge_rag.core.chunks import DocumentType
    from knowledge_rag.core.metadata import DOCUMENT_TYPE
    from knowledge_rag.core.retrieval import FILTER_KEYS

    arguments: dict[str, str] = {}
    for text in filters:
        key, equals, value = text.partition("=")
        if not (equals and value.strip()):
            raise InvalidRequest(f"--filter {text!r}: write KEY=VALUE, e.g. service=rds")
        if key not in FILTER_KEYS:
            raise InvalidRequest(f"--filter {text!r}: KEY is one of {', '.join(FILTER_KEYS)}")
        if key in arguments:
            raise InvalidRequest(f"--filter {text!r}: duplicate filter for {key}")
        if key == DOCUMENT_TYPE:
            value = value.strip().lower()
            if value not in tuple(DocumentType):
                known = ", ".join(DocumentType)
                raise InvalidRequest(f"--filter {text!r}: {key} is one of {known}")
        arguments[key] = value
    return arguments
