"""Monitoring of the deployment: the topic, the alarms and the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs import Construct

from infra.alarms import Alarms
from infra.dashboard import Dashboard
from infra.notifications import Notifications

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

    from infra.alarms import Emitters
    from infra.dashboard import Doors
    from infra.settings import Settings


class Monitoring(Construct):
    """Alarms, the topic that they are sent to, and a dashboard for people on call.

    Args:
        emitters: the sources of the watched metrics.
        retrieve_log_group_name: log group of the retrieval function; if it is the log group's attribute,
            CloudFormation deploys the log group first.
        collection_name: name of the OpenSearch Serverless collection, ``""`` without one.
        canary: whether there is a canary.
        doors: the function's entry points and its guardrail.
        encryption_key: key of the topic; if it is the stack's own, its policy is extended.
    """

    def __init__(  # noqa: PLR0913 - a construct's properties are keyword arguments
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        emitters: Emitters,
        retrieve_log_group_name: str,
        collection_name: str,
        canary: bool,
        doors: Doors,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.topic = Notifications(
            self, "Notifications", settings=settings, encryption_key=encryption_key
        ).topic
        self.alarms = alarms = Alarms(
            self,
            "Alarms",
            settings=settings,
            emitters=emitters,
            topic=self.topic,
            retrieve_log_group_name=retrieve_log_group_name,
            canary=canary,
        )
        self.dashboard = Dashboard(
            self,
            "Dashboard",
            settings=settings,
            emitters=emitters,
            alarms=alarms,
            retrieve_log_group_name=retrieve_log_group_name,
            collection_name=collection_name,
            doors=doors,
        )
