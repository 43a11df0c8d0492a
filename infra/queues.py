"""FIFO queues that a function serves; failed messages go to a dead-letter queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from infra.cloudformation import acknowledge

if TYPE_CHECKING:
    from constructs import Construct, IDependable

DEAD_LETTER_RETENTION: Final = cdk.Duration.days(14)
"""SQS's maximum."""


def dead_letters(scope: Construct, name: str) -> sqs.Queue:
    """Create the queue of messages that can't be served."""
    dead = sqs.Queue(
        scope,
        "DeadLetters",
        queue_name=name,
        fifo=True,
        enforce_ssl=True,
        retention_period=DEAD_LETTER_RETENTION,
    )
    acknowledge(dead, "AwsSolutions-SQS3", "It is the queue of dead letters itself.")
    return dead


def serve(
    scope: Construct, queue: sqs.Queue, alias: lambda_.Alias, *, batch_size: int, after: IDependable
) -> lambda_.EventSourceMapping:
    """Let a function serve a queue once its grants exist (``after``); only failed messages of a batch are redelivered."""
    mapping = lambda_.EventSourceMapping(
        scope,
        "Served",
        target=alias,
        event_source_arn=queue.queue_arn,
        batch_size=batch_size,
        report_batch_item_failures=True,
    )
    mapping.node.add_dependency(after)
    return mapping
