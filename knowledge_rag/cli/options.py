"""Options shared by several commands."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin, get_type_hints

import typer

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.local.settings import LOCAL_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowledge_rag.core.retrieval import SearchType
    from knowledge_rag.orchestrator.budget import Budget


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command use the annotated fields of its dataclasses as options, each by its own name."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, tuple[Any, list[str]]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if not is_dataclass(parameter.annotation):
            parameters.append(parameter)
            continue
        options = _options_of(parameter.annotation)
        groups[parameter.name] = parameter.annotation, [it.name for it in options]
        parameters += options

    @wraps(command, assigned=("__module__", "__name__", "__doc__"))
    def run(**given: Any) -> None:  # noqa: ANN401 - options are of any type
        made = {
            name: group(**{it: given.pop(it) for it in own if it in given})
            for name, (group, own) in groups.items()
        }
        command(**given, **made)

    run.__annotations__ = {it.name: it.annotation for it in parameters}
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def _options_of(group: Any) -> list[inspect.Parameter]:  # noqa: ANN401 - a dataclass
    hints = get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(it.name, kind, default=it.default, annotation=hints[it.name])
        for it in fields(group)
        if get_origin(hints[it.name]) is Annotated
    ]


class Format(StrEnum):
    """Output format."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


class Search(StrEnum):
    """Search type."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"

    @property
    def search_type(self) -> SearchType:
        """The knowledge base's name of the search type."""
        from knowledge_rag.core.retrieval import SearchType

        return SearchType(self.value.upper())


def port_option(of: str, default: str) -> Any:  # noqa: ANN401 - as typer has it
    """Return the option for a port on loopback."""
    text = f"Port of {of}; 0 picks a free one.  [default: {default}]"
    return typer.Option(metavar="N", min=0, max=65535, help=text)


def budget_of(timeout: float | None) -> Budget:
    """Return the budget of each query of a knowledge base on this machine."""
    from knowledge_rag.core.errors import InvalidSettings
    from knowledge_rag.orchestrator.budget import MAX_BUDGET_SECONDS, MIN_BUDGET_SECONDS, Budget

    try:
        return Budget(LOCAL_TIMEOUT_SECONDS if timeout is None else timeout)
    except InvalidSettings as error:
        allowed = f"{MIN_BUDGET_SECONDS:g} to {MAX_BUDGET_SECONDS:g} seconds"
        raise InvalidRequest(f"--timeout {timeout:g}: must be {allowed}") from error


MIN_TOKENS = 100
"""Minimum budget: room for results and their places."""


def max_tokens_option(what: str) -> Any:  # noqa: ANN401 - as typer has it
    """Return the option for the maximum output, in tokens."""
    text = f"{what} Tokens are estimated from kinds of characters."
    return typer.Option("--max-tokens", metavar="N", min=MIN_TOKENS, help=text)


JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")
]
KbOption = Annotated[
    Path | None,
    typer.Option(
        "--kb",
        metavar="PATH",
        help="Knowledge base file.  [default: KNOWLEDGE_RAG_KB, else your own, else the sample one]",
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        help=f"Limit for a local search, 0.1 to 600.  [default: {LOCAL_TIMEOUT_SECONDS:g}]",
    ),
]
SearchOption = Annotated[
    Search | None, typer.Option(help="Vectors and keywords, or vectors only.  [default: hybrid]")
]
RegionOption = Annotated[
    str | None,
    typer.Option(metavar="REGION", help="AWS region.  [default: as in the AWS command line]"),
]
ProfileOption = Annotated[
    str | None, typer.Option(metavar="PROFILE", help="Profile of your AWS configuration files.")
]


FormatOption = Annotated[Format, typer.Option("--format", help="Output format.")]


def chosen_format(form: Format, *, json: bool) -> Format:
    """Return the format; ``--json`` is short for ``--format json``."""
    if json and form is Format.SARIF:
        raise InvalidRequest(f"--json and --format {form}: choose one")
    return Format.JSON if json else form
