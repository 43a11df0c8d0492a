"""Whether the region offers the services that a deployment is made of.

No list is consulted, since every list is older than the region: each service is asked something
small, and whatever it answers, a refusal included, it answers from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.deployment.doctor.finding import Finding, Status
from knowledge_rag.deployment.errors import CallFailed, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowledge_rag.deployment.doctor.finding import Patient

SERVICES: Final = {
    "Bedrock knowledge bases": ("bedrock-agent", "list_knowledge_bases"),
    "OpenSearch Serverless": ("opensearchserverless", "list_collections"),
    "AgentCore Gateway": ("bedrock-agentcore-control", "list_gateways"),
}

_NEEDED_FOR: Final = {
    "Bedrock knowledge bases": "nothing works without it",
    "OpenSearch Serverless": "use vector_store=s3-vectors, which has no keyword search",
    "AgentCore Gateway": "use entrypoint=none, or agent where the account has Agents Classic",
}


def service_check(name: str) -> Callable[[Patient], tuple[Finding, ...]]:
    """Make the check of one service."""
    service, operation = SERVICES[name]

    def check(patient: Patient) -> tuple[Finding, ...]:
        try:
            patient.aws.call(service, operation, maxResults=1)
        except CallFailed as error:
            return (_judged(name, patient.aws.region, error),)
        return (Finding(name, Status.OK, f"offered in {patient.aws.region}"),)

    return check


def _judged(name: str, region: str, error: CallFailed) -> Finding:
    if error.trouble is Trouble.DENIED:
        return Finding(name, Status.OK, f"answers in {region} ({error})")
    if error.trouble is not Trouble.UNREACHABLE:
        raise error
    required = name == "Bedrock knowledge bases"
    return Finding(
        name,
        Status.PROBLEM if required else Status.WARNING,
        f"nothing answers in {region} ({error.code})",
        f"If the network is fine, {region} does not offer it: choose another region"
        f"{'' if required else f', or {_NEEDED_FOR[name]}'}.",
        asked=False,
    )
