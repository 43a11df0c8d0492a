"""Quotas that a deployment, or an incident, runs into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.deployment.doctor.finding import Finding, Status
from knowledge_rag.deployment.errors import CallFailed

if TYPE_CHECKING:
    from knowledge_rag.deployment.doctor.finding import Patient

RETRIEVE: Final = "quota: Retrieve"
CONCURRENCY: Final = "quota: Lambda concurrency"
CAPACITY: Final = "quota: OpenSearch capacity"

_RETRIEVE_CODE: Final = "L-F0D0E0B9"
_RETRIEVE_NAME: Final = "Retrieve requests per second"
_CONCURRENCY_CODE: Final = "L-B99A9384"

ENOUGH_RETRIEVES: Final = 20
"""Requests a second: six people or agents with three queries each, within one second."""

RESERVED: Final = 20
"""``reserved_concurrency`` of the prod preset."""

KEPT_UNRESERVED: Final = 100
"""Lambda lets nobody reserve what would leave the account less than this."""

ENOUGH_OCU: Final = 2
"""``max_ocu`` of the dev preset, of indexing and of searching, each."""


def check_retrieve(patient: Patient) -> tuple[Finding, ...]:
    """Look up how many queries a second the account may make."""
    try:
        answer = patient.aws.call(
            "service-quotas", "get_service_quota", ServiceCode="bedrock", QuotaCode=_RETRIEVE_CODE
        )
    except CallFailed as error:
        if error.code != "NoSuchResourceException":
            raise
        return (_untold("the service tells none"),)
    quota = answer["Quota"]
    if _RETRIEVE_NAME not in quota.get("QuotaName", ""):  # another quota's code by now
        return (_untold(f"{_RETRIEVE_CODE} is {quota.get('QuotaName')!r} by now"),)
    rate = quota["Value"]
    action = f"Ask for more by quota code {_RETRIEVE_CODE} before many agents query at once."
    few = rate < ENOUGH_RETRIEVES
    status = Status.WARNING if few else Status.OK
    return (Finding(RETRIEVE, status, f"{rate:g} requests a second", action if few else ""),)


def _untold(why: str) -> Finding:
    action = "Look it up in the Service Quotas console, under Amazon Bedrock."
    return Finding(RETRIEVE, Status.UNKNOWN, f"not told: {why}", action)


def check_concurrency(patient: Patient) -> tuple[Finding, ...]:
    """Look up how many invocations at a time the account has, and could reserve."""
    limit = patient.aws.call("lambda", "get_account_settings")["AccountLimit"]
    total, free = limit["ConcurrentExecutions"], limit["UnreservedConcurrentExecutions"]
    spare = max(0, free - KEPT_UNRESERVED)
    detail = f"{total} invocations at a time, {spare} of them could be reserved"
    if spare >= RESERVED:
        return (Finding(CONCURRENCY, Status.OK, detail),)
    action = (
        f"Deploy with reserved_concurrency=0, or ask for more by quota code {_CONCURRENCY_CODE}:"
        f" the prod preset reserves {RESERVED}, and its deployment would fail."
    )
    return (Finding(CONCURRENCY, Status.WARNING, detail, action),)


def check_capacity(patient: Patient) -> tuple[Finding, ...]:
    """Look up the account's own bounds on OpenSearch Serverless."""
    answer = patient.aws.call("opensearchserverless", "get_account_settings")
    limits = answer["accountSettingsDetail"].get("capacityLimits", {})
    indexing = limits.get("maxIndexingCapacityInOCU")
    searching = limits.get("maxSearchCapacityInOCU")
    if indexing is None or searching is None:
        detail = "the account sets no bound of its own"
        return (Finding(CAPACITY, Status.OK, detail),)
    detail = f"at most {indexing} OCU for indexing and {searching} for searching"
    if min(indexing, searching) >= ENOUGH_OCU:
        return (Finding(CAPACITY, Status.OK, detail),)
    action = "Raise it: `aws opensearchserverless update-account-settings`."
    return (Finding(CAPACITY, Status.WARNING, detail, action),)
