"""FIFO queues that a function serves: what can't be served goes to a queue of dead letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from infra.cloudformation import acknowledge

if TYPE_CHECKING:
    from constructs import Construct, IDependable

DEAD_LETTER_RETENTION: Final = cdk.Duration.days(14)
"""The most that SQS allows."""


def dead_letters(scope: Construct, name: str) -> sqs.Queue:
    """Return the queue of what couldn't be served."""
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
    """Let a function serve a queue once its grants are there (``after``); messages that fail come again alone."""
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
