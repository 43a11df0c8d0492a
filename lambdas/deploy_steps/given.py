"""Refuses a deployment whose existing bucket or knowledge base can't work with it.

Only certain faults are refused. If a policy of the owner prevents a check, the answer says so and the deployment
continues, because the roles that read may still be allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.given_bucket import Harm, faults
from lambdas.custom_resource import error_code, with_new_rights

if TYPE_CHECKING:
    from collections.abc import Collection

    from knowledge_rag.core.given_bucket import Fault, GivenBucket
    from lambdas.custom_resource import Clock

S3_VECTORS: Final = "S3_VECTORS"
_GONE: Final = frozenset({"DELETING", "DELETE_UNSUCCESSFUL", "FAILED"})
_REGION: Final = "x-amz-bucket-region"


def check_bucket(s3: Any, bucket: GivenBucket, setting: str, clock: Clock) -> str:  # noqa: ANN401 - boto3's client
    """Check a bucket and return the findings as text.

    Args:
        s3: client of S3.
        bucket: the bucket, and its intended use.
        setting: the setting that names the bucket.
        clock: clock for waiting until new rights are effective.

    Raises:
        InvalidSettings: no document in it can be read; the message has the reason and the remedy.
    """

    def find(
        operation: str,
        absent: Collection[str],
        **parameters: Any,  # noqa: ANN401 - any parameters of the operation
    ) -> dict[str, Any] | None:
        try:
            answer: dict[str, Any] = getattr(s3, operation)(**parameters)
        except ClientError as error:
            if error_code(error) in absent:
                return None
            # S3 names the region even to callers without access to the bucket
            headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
            region = headers.get(_REGION, bucket.region)
            if region != bucket.region:
                return {"BucketRegion": region}
            raise
        return answer

    try:
        found = with_new_rights(lambda: list(faults(bucket, find)), clock)
    except ClientError as error:
        return f"{bucket.name} could not be checked: {error}"
    if unreadable := [each for each in found if each.harm is Harm.UNREADABLE]:
        raise InvalidSettings(f"{setting} = {bucket.name}: {_said(unreadable)}")
    return f"{bucket.name}: {_said(found)}" if found else f"{bucket.name}: no problems found"


def check_base(client: Any, base: str, wanted: str, search: str, clock: Clock) -> str:  # noqa: ANN401 - boto3's client
    """Check a knowledge base and return the findings as text.

    Args:
        client: client of Bedrock's control plane.
        base: id of the knowledge base.
        wanted: type in the settings, VECTOR or MANAGED.
        search: HYBRID or SEMANTIC.
        clock: clock for waiting until new rights are effective.

    Raises:
        InvalidSettings: it doesn't exist, or can't be searched with the settings; the message has the reason
            and the remedy.
    """
    try:
        answer = with_new_rights(lambda: client.get_knowledge_base(knowledgeBaseId=base), clock)
    except ClientError as error:
        if error_code(error) in ("ResourceNotFoundException", "ValidationException"):
            raise InvalidSettings(
                f"knowledge_base_id = {base}: there is no such knowledge base in this account and"
                " region"
            ) from error
        return f"{base} could not be checked: {error}"
    found = answer["knowledgeBase"]
    kind = found["knowledgeBaseConfiguration"]["type"]
    if kind not in ("VECTOR", "MANAGED"):
        raise InvalidSettings(
            f"knowledge_base_id = {base}: it is of type {kind}; only VECTOR and MANAGED are supported"
        )
    if kind != wanted:
        raise InvalidSettings(
            f"knowledge_base_type = {wanted}: {base} is of type {kind}. Set knowledge_base_type={kind}"
        )
    if found["status"] in _GONE:
        raise InvalidSettings(f"knowledge_base_id = {base}: its status is {found['status']}")
    store = found.get("storageConfiguration", {}).get("type")
    if store == S3_VECTORS and search == "HYBRID":
        raise InvalidSettings(
            f"search_type = HYBRID: {base} stores its vectors in S3 Vectors, which has no keyword search."
            " Set search_type=SEMANTIC"
        )
    return f"{base} is {kind} and {found['status']}"


def _said(found: list[Fault]) -> str:
    return " ".join(f"{each.detail}. {each.action}" for each in found)
