"""Logs that an AWS service delivers for one of our resources to a log group of the deployment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.encryption import log_group

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

    from infra.settings import Settings

FOLDER: Final = "/aws/vendedlogs"
"""Services may write to log groups below it without a resource policy, whose size would be limited."""


class LogDelivery(Construct):
    """Delivers a resource's application logs.

    Args:
        part: part of the deployment; the log group is ``/aws/vendedlogs/<name>-<part>``.
        resource_arn: the resource that emits the logs.
        encryption_key: key of the log group; its policy has to allow the log group.
    """

    def __init__(  # noqa: PLR0913 - a construct's properties are keyword arguments
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        part: str,
        resource_arn: str,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        name = f"{settings.name}-{part}"
        group = log_group(
            self, "Logs", name=f"{FOLDER}/{name}", settings=settings, encryption_key=encryption_key
        )
        source = logs.CfnDeliverySource(
            self, "Source", name=name, resource_arn=resource_arn, log_type="APPLICATION_LOGS"
        )
        destination = logs.CfnDeliveryDestination(
            self,
            "Destination",
            name=name,
            delivery_destination_type="CWL",
            destination_resource_arn=group.log_group_arn,
            output_format="json",
        )
        logs.CfnDelivery(
            self,
            "Delivery",
            delivery_source_name=source.ref,  # orders it behind the source
            delivery_destination_arn=destination.attr_arn,
        )
