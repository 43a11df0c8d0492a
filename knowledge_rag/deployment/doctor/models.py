"""Whether the models may be used: the one that embeds, and the agent's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.deployment.doctor.finding import Finding, Status
from knowledge_rag.deployment.errors import CallFailed, Trouble

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.doctor.finding import Patient

EMBEDDING: Final = "embedding model"
AGENT: Final = "agent model"

DEFAULT_EMBEDDING_MODEL: Final = "amazon.titan-embed-text-v2:0"
"""``embedding_model`` of both presets, see docs/settings.md."""

DEFAULT_AGENT_MODEL: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
"""``agent_model`` of both presets."""

_NOT_THERE: Final = frozenset({"ResourceNotFoundException", "ValidationException"})
_PROFILE: Final = re.compile(
    r"(us|eu|jp|au|apac|global)\.|arn:[a-z-]+:bedrock:.*inference-profile/"
)
_OPTIONAL: Final = " Only an agent needs it (entrypoint=agent or both)."


def check_embedding_model(patient: Patient) -> tuple[Finding, ...]:
    """Look the embedding model up."""
    return (_judged(patient.aws, EMBEDDING, patient.embedding_model),)


def check_agent_model(patient: Patient) -> tuple[Finding, ...]:
    """Look the agent's model or inference profile up; without a wish for an agent it is optional."""
    model = patient.agent_model
    if _PROFILE.match(model):
        finding = _profile(patient.aws, model)
    else:
        finding = _judged(patient.aws, AGENT, model)
    if finding.status is Status.PROBLEM and not patient.agent_wanted:
        finding = Finding(AGENT, Status.WARNING, finding.detail, finding.action + _OPTIONAL)
    return (finding,)


def _judged(aws: Aws, check: str, model: str) -> Finding:
    try:
        details = aws.call("bedrock", "get_foundation_model", modelIdentifier=model)
    except CallFailed as error:
        if error.code not in _NOT_THERE:
            raise
        return _absent(check, model, aws.region, "list-foundation-models")
    lifecycle = details["modelDetails"].get("modelLifecycle", {}).get("status", "ACTIVE")
    try:
        access = aws.call("bedrock", "get_foundation_model_availability", modelId=model)
    except CallFailed as error:
        if error.trouble is not Trouble.DENIED:
            raise
        return Finding(
            check,
            Status.UNKNOWN,
            f"{model} exists; whether the account may use it is not known: {error}",
            "Grant that permission, or invoke the model once.",
        )
    return _access(check, model, access) or _lifecycle(check, model, lifecycle)


def _access(check: str, model: str, access: Mapping[str, Any]) -> Finding | None:
    """Judge what GetFoundationModelAvailability says; ``None`` where nothing is in the way.

    An agreement that is missing is made on the first call of a caller who may subscribe in AWS
    Marketplace; a knowledge base or an agent may not, so a person has to be the first.
    """
    hard = {
        "regionAvailability": "is not available in this region",
        "authorizationStatus": "is not authorised for this account or caller",
    }
    good = {"AVAILABLE", "AUTHORIZED"}
    for key, what in hard.items():
        if access.get(key, "AVAILABLE") not in good:
            action = "Choose another model or region, or ask who manages the account's policies."
            return Finding(check, Status.PROBLEM, f"{model} {what}", action)
    agreement = access.get("agreementAvailability", {}).get("status", "AVAILABLE")
    if agreement not in good or access.get("entitlementAvailability", "AVAILABLE") not in good:
        return Finding(
            check,
            Status.WARNING,
            f"{model} has not been subscribed to yet (agreement {agreement})",
            "Invoke it once in the console's playground, as someone who may subscribe in Marketplace.",
        )
    return None


def _lifecycle(check: str, model: str, lifecycle: str) -> Finding:
    if lifecycle == "ACTIVE":
        return Finding(check, Status.OK, f"{model} may be used")
    return Finding(
        check,
        Status.WARNING,
        f"{model} may be used, but is {lifecycle.lower()}: it has an end date",
        "Choose a newer model before the first ingestion: another one needs a new index.",
    )


def _profile(aws: Aws, profile: str) -> Finding:
    try:
        found = aws.call("bedrock", "get_inference_profile", inferenceProfileIdentifier=profile)
    except CallFailed as error:
        if error.code not in _NOT_THERE:
            raise
        return _absent(AGENT, profile, aws.region, "list-inference-profiles")
    regions = sorted({arn.split(":")[3] for each in found["models"] if (arn := each["modelArn"])})
    status = found.get("status", "")
    if status != "ACTIVE":
        return Finding(AGENT, Status.PROBLEM, f"{profile} is {status}", "Choose another profile.")
    where = ", ".join(region for region in regions if region) or "any region"
    return Finding(AGENT, Status.OK, f"{profile} is active, and sends requests to {where}")


def _absent(check: str, model: str, region: str, listing: str) -> Finding:
    return Finding(
        check,
        Status.PROBLEM,
        f"{region} has no {model}",
        f"Choose one that `aws bedrock {listing} --region {region}` lists.",
    )
