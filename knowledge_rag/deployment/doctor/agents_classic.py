"""Whether this account may still make agents.

Bedrock Agents Classic is closed to new customers since 2026-07-30 and no operation tells who is one,
so it is inferred: whoever has an agent is a customer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.deployment.doctor.finding import Finding, Status

if TYPE_CHECKING:
    from knowledge_rag.deployment.doctor.finding import Patient

AGENTS_CLASSIC: Final = "Agents Classic"


def check_agents_classic(patient: Patient) -> tuple[Finding, ...]:
    """Look for an agent."""
    found = patient.aws.call("bedrock-agent", "list_agents", maxResults=100)["agentSummaries"]
    if found:
        count = f"{len(found)} agent{'s' if len(found) > 1 else ''}"
        detail = f"the account has {count} in {patient.aws.region}, so it may make more"
        return (Finding(AGENTS_CLASSIC, Status.OK, detail),)
    return (
        Finding(
            AGENTS_CLASSIC,
            Status.UNKNOWN,
            f"no agent in {patient.aws.region}; the service is closed to new customers since July"
            " 2026, and no API says who is one",
            "Keep entrypoint=gateway; if you need an agent, try `aws bedrock-agent create-agent"
            " --agent-name probe`, which a closed account is refused, and delete it again.",
        ),
    )
