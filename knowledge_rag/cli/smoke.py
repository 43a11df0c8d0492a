"""``knowledge-rag smoke``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption, ProfileOption, RegionOption
from knowledge_rag.cli.terminal import out, print_json, progress_bar

if TYPE_CHECKING:
    from knowledge_rag.deployment.aws import Aws

TOKEN_VARIABLE: Final = "KNOWLEDGE_RAG_GATEWAY_TOKEN"  # noqa: S105 - the name of a variable


def smoke(
    name: Annotated[
        str, typer.Option(metavar="DEPLOYMENT", help="The setting `name` of the deployment.")
    ],
    region: RegionOption = None,
    profile: ProfileOption = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Your own questions, JSON Lines with query, and topic, source_file if you like.  "
            "[default: some about the sample corpus]",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"Token for a gateway with gateway_authorizer=jwt.  [default: {TOKEN_VARIABLE}]",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Try a deployment in AWS: its documents, its answers, and every citation byte for byte.

    Asks some forty questions, which costs cents. Exits 1 if a promise is broken, 3 if something was
    unavailable or could not be looked at.
    """
    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.smoke.layout import as_text
    from knowledge_rag.deployment.smoke.questions import load_questions, shipped_questions
    from knowledge_rag.deployment.smoke.trial import try_deployment
    from knowledge_rag.deployment.stacks import check_name

    asked = load_questions(questions) if questions else shipped_questions()
    aws = _located(Aws(region, profile))
    with progress_bar() as progress:
        trial = try_deployment(aws, check_name(name), asked, progress, token=_token(token_file))
    if json:
        print_json(trial.to_dict())
    else:
        out().print(as_text(trial))
    if trial.broken:
        raise typer.Exit(ExitCode.FINDINGS)
    if trial.doubtful:
        raise typer.Exit(ExitCode.DEGRADED)


def _located(aws: Aws) -> Aws:
    aws.required_region()
    return aws


def _token(path: Path | None) -> str:
    from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument

    try:
        text = path.read_text(encoding="ascii") if path else os.environ.get(TOKEN_VARIABLE, "")
    except OSError as error:
        raise UnreadableDocument(str(path), error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise UnreadableDocument(str(path), "a token is ASCII") from error
    token = text.strip()
    if not token.isprintable() or " " in token:
        raise InvalidRequest("the gateway's token is one word without spaces or line breaks")
    if path and not token:
        raise UnreadableDocument(str(path), "there is no token in it")
    return token
