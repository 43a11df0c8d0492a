"""Refuses a deployment in front of a bucket or a knowledge base that it can't work with.

Only what is known to be wrong is refused. What the step may not look at, since a policy of the owner's keeps
it from that, is named in the answer: the roles that read may be allowed.
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
    """Return what is to be known about a bucket.

    Args:
        s3: client of S3.
        bucket: which, and how it is to be used.
        setting: that names the bucket.
        clock: that new rights are waited for with.

    Raises:
        InvalidSettings: no document in it can be read; says why and what to do.
    """

    def find(
        operation: str,
        absent: Collection[str],
        **parameters: Any,  # noqa: ANN401 - whatever the operation takes
    ) -> dict[str, Any] | None:
        try:
            answer: dict[str, Any] = getattr(s3, operation)(**parameters)
        except ClientError as error:
            if error_code(error) in absent:
                return None
            # S3 names the region to those who may not look at the bucket, too
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
    return f"{bucket.name}: {_said(found)}" if found else f"{bucket.name} is as it should be"


def check_base(client: Any, base: str, wanted: str, search: str, clock: Clock) -> str:  # noqa: ANN401 - boto3's client
    """Return what is to be known about a knowledge base.

    Args:
        client: of Bedrock's control plane.
        base: id of the knowledge base.
        wanted: type that is set, VECTOR or MANAGED.
        search: HYBRID or SEMANTIC.
        clock: that new rights are waited for with.

    Raises:
        InvalidSettings: it isn't there, or can't be asked as it is set; says why and what to do.
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
            f"knowledge_base_id = {base}: it is of type {kind}; VECTOR and MANAGED ones can be asked"
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
            f"search_type = HYBRID: {base} keeps its vectors in S3 Vectors, which has no keyword search."
            " Set search_type=SEMANTIC"
        )
    return f"{base} is {kind} and {found['status']}"


def _said(found: list[Fault]) -> str:
    return " ".join(f"{each.detail}. {each.action}" for each in found)
