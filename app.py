"""Synthesizes the stacks of one deployment; ``cdk.json`` names this file to the CDK command line.

The settings come from the context (``docs/reference/settings.md``). Errors in them, or in the files that are
deployed, are printed a line each, and the exit code is 2.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

try:
    import aws_cdk as cdk
    from cdk_nag import AwsSolutionsChecks
except ModuleNotFoundError as error:
    sys.exit(
        f"{error.name} is not installed for {sys.executable}: run `make synth` once, which prepares"
        " .venv, or install requirements/dev.txt into the active environment"
    )

from infra.account import add_tags, stack_options
from infra.advice_stack import AdviceStack
from infra.bundling import BundlingError
from infra.data_stack import DataStack
from infra.service_stack import ServiceStack
from infra.settings import SettingsError, load_settings
from infra.sources import SourcesError, load_sources

if TYPE_CHECKING:
    from infra.settings import Settings


def main() -> int:
    """Synthesize; return the exit code."""
    app = cdk.App()
    try:
        settings = load_settings(app.node.get_all_context(), os.environ.get("CDK_DEFAULT_REGION"))
        load_sources(settings)
        add_stacks(app, settings)
    except (SettingsError, SourcesError, BundlingError) as error:
        print(error, file=sys.stderr)  # noqa: T201 -- the command line's own output
        return 2
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()
    return 0


def add_stacks(app: cdk.App, settings: Settings) -> None:
    """Add the stacks, data first.

    There is no data stack with an existing knowledge base, and no advice stack without destinations.
    """
    existing = bool(settings.existing.knowledge_base_id)
    data = (
        None
        if existing
        else DataStack(
            app,
            f"{settings.name}-data",
            settings=settings,
            description="Knowledge RAG: corpus, vector store, knowledge base and its ingestion.",
            **stack_options(settings.account),
        )
    )
    service = ServiceStack(
        app,
        f"{settings.name}-service",
        settings=settings,
        data=data,
        description="Knowledge RAG: retrieval function, its entry points and its alarms.",
        **stack_options(settings.account),
    )
    if data is not None:
        service.add_stack_dependency(data)
    if settings.advice.destinations:
        advice = AdviceStack(
            app,
            f"{settings.name}-advice",
            settings=settings,
            description="Knowledge RAG: posts the steps for alarms where people are.",
            **stack_options(settings.account),
        )
        advice.add_stack_dependency(service)
    add_tags(app, settings)


if __name__ == "__main__":
    sys.exit(main())
