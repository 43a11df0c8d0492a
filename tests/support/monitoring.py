"""A bare stack that is monitored, synthesized once for each set of settings."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from aws_cdk import App, Stack
from aws_cdk import aws_logs as logs
from aws_cdk.assertions import Template

from infra.alarms import Emitters
from infra.dashboard import Doors
from infra.encryption import stack_key
from infra.monitoring import Monitoring
from infra.settings import load_settings

COLLECTION = "knowledge-rag"
GATEWAY = "arn:aws:bedrock-agentcore:us-east-1:123456789012:gateway/knowledge-rag-dev-0123456789"


@lru_cache
def monitored(
    preset: str = "dev",
    collection: str = COLLECTION,
    *,
    canary: bool = True,
    gateway: str = GATEWAY,
    **changed: Any,
) -> dict[str, Any]:
    """Give the template of a stack that holds the monitoring of a deployment and no more."""
    settings = load_settings({"knowledge-rag": {"preset": preset, **changed}}, "us-east-1")
    stack = Stack(App(builtin_cloud_formation_validation=False), "Monitored")
    Monitoring(
        stack,
        "Monitoring",
        settings=settings,
        emitters=Emitters(
            deployment=settings.name,
            retrieve_function=f"{settings.name}-retrieve",
            chunk_function=f"{settings.name}-chunk",
            ingestion_function=f"{settings.name}-ingest",
            change_rule=f"{settings.name}-changes",
            dead_letters=f"{settings.name}-changes-failed.fifo",
            gateway_arn=gateway,
            advice_function=f"{settings.name}-advise-incident",
            advice_rule=f"{settings.name}-advise-alarms",
            advice_dead_letters=f"{settings.name}-alerts-failed.fifo",
        ),
        retrieve_log_group_name=logs.LogGroup(stack, "RetrieveLog").log_group_name,
        collection_name=collection,
        canary=canary,
        doors=Doors(),
        encryption_key=stack_key(stack, settings, part="service", protects="alarms"),
    )
    return Template.from_stack(stack).to_json()


def resources(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Give the properties of each resource of a type."""
    return [
        resource["Properties"]
        for resource in template["Resources"].values()
        if resource["Type"] == kind
    ]
