"""Monitoring of the deployment: the topic, the alarms and the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs import Construct

from infra.alarms import Alarms, Emitters, alarm_topic
from infra.dashboard import Dashboard

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

    from infra.settings import Settings


class Monitoring(Construct):
    """Alarms, the topic that they are sent to, and a dashboard for people on call.

    Args:
        settings: of the deployment.
        retrieve_function_name: of the retrieval function.
        chunk_function_name: of the transformation's function.
        starter_function_name: of the ingestion starter.
        retrieve_log_group_name: of the retrieval function; given as the log group's own attribute,
            it orders what is deployed.
        collection_name: of the OpenSearch Serverless collection, ``""`` or ``None`` where the
            vectors live elsewhere.
        encryption_key: that messages are kept under; a key of ours, whose policy is added to.

    Attributes:
        topic: that alarms are sent to.
        alarms: all of them.
        dashboard: for people on call.
    """

    def __init__(  # noqa: PLR0913 - a construct's properties are keyword arguments
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        retrieve_function_name: str,
        chunk_function_name: str,
        starter_function_name: str,
        retrieve_log_group_name: str,
        collection_name: str | None = None,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        emitters = Emitters(
            deployment=settings.name,
            retrieve_function=retrieve_function_name,
            chunk_function=chunk_function_name,
            ingestion_function=starter_function_name,
        )
        self.topic = alarm_topic(self, "Topic", settings=settings, encryption_key=encryption_key)
        self.alarms = Alarms(
            self,
            "Alarms",
            settings=settings,
            emitters=emitters,
            topic=self.topic,
            retrieve_log_group_name=retrieve_log_group_name,
        )
        self.dashboard = Dashboard(
            self,
            "Dashboard",
            settings=settings,
            emitters=emitters,
            alarms=self.alarms,
            retrieve_log_group_name=retrieve_log_group_name,
            collection_name=collection_name or "",
        )
