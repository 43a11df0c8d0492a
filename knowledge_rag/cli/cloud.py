"""``knowledge-rag doctor``, ``smoke`` and ``gameday``, which are about the deployment to AWS."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.inputs import TOKEN_VARIABLE, gateway_token, read_input
from knowledge_rag.cli.options import JsonOption, ProfileOption, RegionOption
from knowledge_rag.cli.reports import print_report, progress_bar
from knowledge_rag.cli.terminal import out, print_json


def _setting(metavar: str, name: str) -> Any:  # noqa: ANN401 - as typer has it
    return typer.Option(metavar=metavar, help=f"The setting `{name}`, if you have one.")


def doctor(
    region: RegionOption = None,
    profile: ProfileOption = None,
    name: Annotated[
        str, typer.Option(metavar="DEPLOYMENT", help="The deployment's setting `name`.")
    ] = "knowledge-rag-dev",
    embedding_model: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The setting `embedding_model`.  [default: the presets']"),
    ] = None,
    agent_model: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="The setting `agent_model`, if you want an agent.  [default: none]"
        ),
    ] = None,
    documents_bucket: Annotated[str, _setting("NAME", "documents_bucket")] = "",
    documents_key: Annotated[str, _setting("ARN", "documents_key")] = "",
    kms_key_arn: Annotated[str, _setting("ARN", "kms_key_arn")] = "",
    permissions_boundary: Annotated[str, _setting("ARN", "permissions_boundary")] = "",
    bootstrap_qualifier: Annotated[str, _setting("TEXT", "bootstrap_qualifier")] = "",
    advice_destinations: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The setting `advice_destinations`, to post answers."),
    ] = None,
    advice_secret_arn: Annotated[str, _setting("ARN", "advice_secret_arn")] = "",
    advice_secret_key: Annotated[str, _setting("ARN", "advice_secret_key")] = "",
    advice_model: Annotated[str, _setting("ID", "advice_model")] = "",
    json: JsonOption = False,
) -> None:
    """Check whether a deployment to AWS can work before you make it.

    Changes nothing. Exits 1 if something prevents it, 4 if AWS didn't answer at all.
    """
    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.doctor.checks import (
        DEFAULT_AGENT_MODEL,
        DEFAULT_EMBEDDING_MODEL,
        PlannedDeployment,
    )
    from knowledge_rag.deployment.doctor.examination import as_text, examine
    from knowledge_rag.deployment.stacks import check_name

    given = advice_destinations
    text = read_input(str(given)).decode("utf-8", "replace") if given else ""
    planned = PlannedDeployment(
        Aws(region, profile),
        check_name(name),
        embedding_model or DEFAULT_EMBEDDING_MODEL,
        agent_model or DEFAULT_AGENT_MODEL,
        agent_wanted=agent_model is not None,
        documents_bucket=documents_bucket,
        documents_key=documents_key,
        kms_key_arn=kms_key_arn,
        permissions_boundary=permissions_boundary,
        bootstrap_qualifier=bootstrap_qualifier,
        advice_destinations=text,
        advice_secret_arn=advice_secret_arn,
        advice_secret_key=advice_secret_key,
        advice_model=advice_model,
    )
    with progress_bar() as progress:
        diagnosis = examine(planned, progress)
    print_report(diagnosis.to_dict() if json else as_text(diagnosis), passed=not diagnosis.problems)
    if diagnosis.blind:
        raise typer.Exit(ExitCode.FAILED)


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
    from knowledge_rag.deployment.smoke.promises import as_text
    from knowledge_rag.deployment.smoke.questions import (
        floor_questions,
        load_questions,
        shipped_questions,
    )
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


def gameday(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this fault; may be given several times."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the faults and run none.")] = False,
    json: JsonOption = False,
) -> None:
    """Run every known fault against the real function.

    Shows the time, answer, metrics and alarms of each; takes about a minute. Exits 1 if any
    promise is broken: an answer after 2 s, a wrong status, an alarm that doesn't fire.
    """
    from knowledge_rag.evaluation.gameday import as_list, as_table, chosen, run_gameday

    faults = chosen(only or [])
    if list_:
        names = [{"name": it.name, "group": it.group, "what": it.what} for it in faults]
        if json:
            print_json(names)
        else:
            out().print(as_list(faults))
        return
    with progress_bar() as progress:
        day = run_gameday(faults, progress)
    if json:
        print_json(day.to_dict())
    else:
        out().print(as_table(day))
    if not day.kept:
        raise typer.Exit(ExitCode.FINDINGS)
