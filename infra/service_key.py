"""The service stack's own key: function environment, logs, alarm topic and the agent's prompt.

It is not the data stack's: a key policy can't name what another stack makes without the two stacks
depending on each other, and whoever may read the logs need not be able to read the corpus.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_kms as kms

from infra.log_groups import allow_log_groups

if TYPE_CHECKING:
    from constructs import Construct

    from infra.settings import Settings


def service_key(scope: Construct, settings: Settings) -> kms.Key | None:
    """Make the key, or give ``None`` where the settings ask for the services' own keys."""
    if not settings.customer_managed_key:
        return None
    key = kms.Key(
        scope,
        "Key",
        alias=f"alias/{settings.name}-service",
        description=f"{settings.name}: logs, alarms and settings of the service stack",
        enable_key_rotation=True,
        removal_policy=cdk.RemovalPolicy[settings.removal.name],
    )
    allow_log_groups(key, f"/aws/lambda/{settings.name}-*")
    return key
