"""``knowledge-rag doctor``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.inputs import read_input
from knowledge_rag.cli.options import JsonOption, ProfileOption, RegionOption
from knowledge_rag.cli.progress import progress_bar
from knowledge_rag.cli.reports import print_report


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
    documents_bucket: Annotated[
        str, typer.Option(metavar="NAME", help="The setting `documents_bucket`, if you have one.")
    ] = "",
    documents_key: Annotated[
        str, typer.Option(metavar="ARN", help="The setting `documents_key`, if you have one.")
    ] = "",
    kms_key_arn: Annotated[
        str, typer.Option(metavar="ARN", help="The setting `kms_key_arn`, if you have one.")
    ] = "",
    permissions_boundary: Annotated[
        str,
        typer.Option(metavar="ARN", help="The setting `permissions_boundary`, if you have one."),
    ] = "",
    bootstrap_qualifier: Annotated[
        str,
        typer.Option(metavar="TEXT", help="The setting `bootstrap_qualifier`, if you have one."),
    ] = "",
    advice_destinations: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The setting `advice_destinations`, to post answers."),
    ] = None,
    advice_secret_arn: Annotated[
        str, typer.Option(metavar="ARN", help="The setting `advice_secret_arn`, if you have one.")
    ] = "",
    advice_secret_key: Annotated[
        str, typer.Option(metavar="ARN", help="The setting `advice_secret_key`, if you have one.")
    ] = "",
    advice_model: Annotated[
        str, typer.Option(metavar="ID", help="The setting `advice_model`, if you have one.")
    ] = "",
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
