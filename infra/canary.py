"""The canary: a schedule asks a documented question every five minutes, whether or not there is other traffic."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from infra.cloudformation import allow, on_behalf_of
from infra.setting_values import OFF
from infra.settings import Documents
from infra.sources import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

    from aws_cdk import aws_lambda as lambda_

    from infra.settings import Settings

EVERY: Final = "rate(5 minutes)"
"""Equals a period of its alarm, so that each period has data."""


def canary_question(settings: Settings, project: Path = PROJECT) -> str:
    """Return the canary's question, ``""`` for no canary.

    The default is the title of the folder's first document that has one. A store that sleeps when idle gets
    no canary: it would never sleep, and always be billed. For an existing knowledge base or a bucket, the
    documents aren't known, so there is a canary only if a question is set.
    """
    asked = settings.monitoring.canary_question
    if settings.existing.knowledge_base_id:
        return "" if asked == OFF else asked
    if settings.store.sleeps or asked == OFF:
        return ""
    if asked or settings.documents.kind is Documents.BUCKET:
        return asked
    return _first_title(project / settings.corpus)


def _first_title(corpus: Path) -> str:
    for path in sorted(corpus.rglob("*.md")):
        for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
            if line.startswith("# "):
                return line.removeprefix("# ").strip()
    return ""


class Canary(Construct):
    """A schedule that invokes the retrieval function.

    It may invoke only that alias. A failed call isn't repeated: the next one follows in five minutes, and
    the alarm considers three.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        question: str,
        retrieve: lambda_.IAlias,
    ) -> None:
        super().__init__(scope, construct_id)
        group = scheduler.CfnScheduleGroup(self, "Group", name=settings.name)
        invoke = allow("InvokeRetrieval", ["lambda:InvokeFunction"], [retrieve.function_arn])
        role = iam.Role(
            self,
            "Role",
            description=f"{settings.name}: what the canary's schedule may do",
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com", conditions=on_behalf_of(group.attr_arn)
            ),
            inline_policies={"canary": iam.PolicyDocument(statements=[invoke])},
        )
        scheduler.CfnSchedule(
            self,
            "Schedule",
            name=f"{settings.name}-canary",
            group_name=group.ref,
            description="Asks a documented question, so that an outage is seen without traffic.",
            schedule_expression=EVERY,
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=retrieve.function_arn,
                role_arn=role.role_arn,
                input=json.dumps({"query": question, "max_results": 1, "canary": True}),
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(maximum_retry_attempts=0),
            ),
        )
