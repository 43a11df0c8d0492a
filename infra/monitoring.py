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
        emitters: whose metrics are watched.
        retrieve_log_group_name: of the retrieval function; given as the log group's own attribute,
            it orders what is deployed.
        collection_name: of the OpenSearch Serverless collection, ``""`` where the vectors live
            elsewhere.
        canary: whether a canary asks.
        doors: in front of the function, and its guardrail.
        encryption_key: that messages are kept under; a key of ours, whose policy is added to.
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
