"""``knowledge-rag smoke``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.inputs import TOKEN_VARIABLE, gateway_token
from knowledge_rag.cli.options import JsonOption, ProfileOption, RegionOption
from knowledge_rag.cli.progress import progress_bar
from knowledge_rag.cli.reports import print_report


def smoke(
    name: Annotated[
        str, typer.Option(metavar="DEPLOYMENT", help="The deployment's setting `name`.")
    ],
    region: RegionOption = None,
    profile: ProfileOption = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Your own questions, JSON Lines with query, and optionally topic and source_file.  "
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
    apply: Annotated[
        bool,
        typer.Option(
            "--apply",
            help="Measure the evidence floor with 383 questions, or yours, and write it to the "
            "parameter that the function reads.",
        ),
    ] = False,
    test_alarm: Annotated[
        bool,
        typer.Option(
            "--test-alarm",
            help="Send one marked alarm through the advice stack, and follow it to each destination, "
            "where people see it.",
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Test a deployment in AWS: every citation, byte for byte.

    Checks its documents and answers against the promises. Asks about forty questions, which costs cents, and changes
    nothing without --apply or --test-alarm. Exits 1 if a promise is broken, 3 if something was unavailable or could
    not be checked.
    """
    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.smoke.questions import (
        floor_questions,
        load_questions,
        shipped_questions,
    )
    from knowledge_rag.deployment.smoke.report import as_text
    from knowledge_rag.deployment.smoke.trial import try_deployment
    from knowledge_rag.deployment.stacks import check_name

    usual = floor_questions() if apply else shipped_questions()
    asked = load_questions(questions, usual) if questions else usual
    aws = Aws(region, profile)
    aws.required_region()
    with progress_bar() as progress:
        trial = try_deployment(
            aws,
            check_name(name),
            asked,
            progress,
            token=gateway_token(token_file),
            apply=apply,
            test_alarm=test_alarm,
        )
    print_report(trial.to_dict() if json else as_text(trial), passed=not trial.broken)
    if trial.doubtful:
        raise typer.Exit(ExitCode.DEGRADED)
