"""What earlier deployments of this name left behind: it costs money, or takes names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.deployment.doctor.finding import Finding, Status
from knowledge_rag.deployment.stacks import DATA, find_stack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.doctor.finding import Patient

COLLECTIONS: Final = "leftover collections"
GROUPS: Final = "leftover collection groups"
VECTOR_BUCKETS: Final = "leftover vector buckets"
KNOWLEDGE_BASES: Final = "leftover knowledge bases"

OCU_HOUR_DOLLARS: Final = 0.24
PRICE_DATE: Final = "2026-11-21"
PRICE_REGION: Final = "us-east-1"

_MAX_PAGES: Final = 20


def check_collections(patient: Patient) -> tuple[Finding, ...]:
    """Look for collections that no stack owns."""
    names = _named(patient, _pages(patient.aws, "opensearchserverless", "list_collections"))
    stack = find_stack(patient.aws, f"{patient.name}-{DATA}")
    own = stack.outputs.get("CollectionName", "") if stack else ""
    if stack and not own:  # a stack on its way, or of another store: all may be its own
        return (Finding(COLLECTIONS, Status.OK, "none that the data stack does not own"),)
    left = [name for name in names if name != own]
    price = (
        f"; one outside a group is billed for at least 1 OCU, ${OCU_HOUR_DOLLARS:.2f} an hour"
        f" ({PRICE_REGION}, {PRICE_DATE})"
    )
    return (_judged(COLLECTIONS, left, price, "aws opensearchserverless delete-collection --id"),)


def check_groups(patient: Patient) -> tuple[Finding, ...]:
    """Look for collection groups that no stack owns, and what their minimum costs."""
    groups = list(_pages(patient.aws, "opensearchserverless", "list_collection_groups"))
    names = _named(patient, groups)
    if names and find_stack(patient.aws, f"{patient.name}-{DATA}"):
        return (Finding(GROUPS, Status.OK, "none that the data stack does not own"),)
    floor = sum(_minimum(each) for each in groups if each.get("name") in names)
    price = f"; ${floor * OCU_HOUR_DOLLARS:.2f} an hour when idle ({PRICE_REGION}, {PRICE_DATE})"
    command = "aws opensearchserverless delete-collection-group --id"
    return (_judged(GROUPS, names, price, command),)


def check_vector_buckets(patient: Patient) -> tuple[Finding, ...]:
    """Look for vector buckets that no stack owns; they cost their storage only."""
    buckets = _pages(patient.aws, "s3vectors", "list_vector_buckets", prefix=f"{patient.name}-")
    names = [each["vectorBucketName"] for each in buckets]
    if names and find_stack(patient.aws, f"{patient.name}-{DATA}"):
        return (Finding(VECTOR_BUCKETS, Status.OK, "none that the data stack does not own"),)
    command = "aws s3vectors delete-vector-bucket --vector-bucket-name"
    found = _judged(VECTOR_BUCKETS, names, "; they cost what they store", command)
    if found.status is Status.PROBLEM:  # they have names of their own: nothing collides
        return (Finding(found.check, Status.WARNING, found.detail, found.action),)
    return (found,)


def check_knowledge_bases(patient: Patient) -> tuple[Finding, ...]:
    """Look for knowledge bases that no stack owns."""
    names = _named(patient, _pages(patient.aws, "bedrock-agent", "list_knowledge_bases"))
    if names and find_stack(patient.aws, f"{patient.name}-{DATA}"):
        return (Finding(KNOWLEDGE_BASES, Status.OK, "none that the data stack does not own"),)
    price = "; they cost nothing themselves, but their vectors may"
    command = "aws bedrock-agent delete-knowledge-base --knowledge-base-id"
    return (_judged(KNOWLEDGE_BASES, names, price, command),)


def _judged(check: str, names: list[str], price: str, command: str) -> Finding:
    if not names:
        return Finding(check, Status.OK, "none")
    detail = f"{', '.join(names)}: no stack owns {'it' if len(names) == 1 else 'them'}{price}"
    action = f"Delete what nobody uses (`{command} ...`): a new deployment may want the name."
    return Finding(check, Status.PROBLEM, detail, action)


def _minimum(group: dict[str, Any]) -> float:
    limits = group.get("capacityLimits", {})
    searching = limits.get("minSearchCapacityInOCU", 0)
    return float(searching) + float(limits.get("minIndexingCapacityInOCU", 0))


def _named(patient: Patient, items: Any) -> list[str]:  # noqa: ANN401 - an iterable of what boto3 gives
    """Keep the deployment's own: its name, and the hash that its stack appends."""
    own: Callable[[str], object] = re.compile(
        rf"{re.escape(patient.name)}-[0-9a-f]{{6,8}}"
    ).fullmatch
    return sorted(each["name"] for each in items if own(each["name"]))


def _pages(
    aws: Aws,
    service: str,
    operation: str,
    **parameters: Any,  # noqa: ANN401 - whatever the operation takes
) -> Iterator[dict[str, Any]]:
    """Give the items of a listing, page after page."""
    token: dict[str, Any] = {}
    for _ in range(_MAX_PAGES):
        answer = aws.call(service, operation, **parameters, **token)
        for value in answer.values():
            if isinstance(value, list):
                yield from value
        if not answer.get("nextToken"):
            return
        token = {"nextToken": answer["nextToken"]}
