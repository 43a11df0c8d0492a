"""``deploy_steps``: the steps of a deployment that CloudFormation can't do by itself.

Each step is a custom resource with a type of its own:

- ``Custom::KnowledgeIndex`` waits until the OpenSearch index can be searched.
- ``Custom::KnowledgeDocuments`` copies a folder's files to the documents' bucket. Their ingestion is
  not part of the deployment: S3 sends an event for each written object.
- ``Custom::KnowledgeBucket`` and ``Custom::KnowledgeBase`` refuse an existing bucket or knowledge base that
  can't work with the deployment.
- ``Custom::KnowledgeTearDown`` stops a running ingestion job and, if data is to be deleted with the stack,
  empties its buckets. It never blocks a deletion.
- ``Custom::KnowledgeVersions`` deletes old versions of a function after its alias moved to a new one. It
  never blocks a deployment.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from zipfile import ZipFile

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from knowledge_rag.core.errors import InvalidRequest, InvalidSettings
from knowledge_rag.core.given_bucket import GivenBucket, Harm, faults
from lambdas.custom_resource import Answer, Kind, error_code, respond, with_new_rights
from lambdas.deploy_steps.index import Index, make_ready
from lambdas.deploy_steps.mirror import Buckets, empty, mirror
from lambdas.reporting import logger

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from knowledge_rag.core.given_bucket import Fault
    from lambdas.custom_resource import Clock, Request
    from lambdas.deploy_steps.mirror import Mirrored


DRAIN_SECONDS: Final = 300
"""Maximum wait for a running job to stop, so that there is time left to empty the buckets."""
POLL_SECONDS: Final = 5
_CALLS: Final = Config(
    connect_timeout=3, read_timeout=10, retries={"mode": "standard", "max_attempts": 3}
)
"""A call without an answer fails within 45 s, so that there is time left for our own answer."""


def lambda_handler(event: object, context: Any) -> None:  # noqa: ANN401 - Lambda's
    """Serve one CloudFormation request, see :func:`lambdas.custom_resource.respond`."""
    respond(event, context, _serve)


def _serve(request: Request, clock: Clock) -> Answer:
    if request.resource not in _STEPS:
        raise InvalidRequest(f"unknown step of a deployment: {request.resource}")
    wanted, step = _STEPS[request.resource]
    return step(request, clock) if request.kind in wanted else Answer()


def _ready_index(request: Request, clock: Clock) -> Answer:
    endpoint, name, role = request.texts("Endpoint", "IndexName", "ReaderRole")
    keywords, words = (tuple(request.given.get(key, ())) for key in ("Keywords", "Words"))
    make_ready(Index(endpoint, name, keywords, words), role, clock)
    return Answer()


def _mirror(request: Request, clock: Clock) -> Answer:
    asset_bucket, asset_key, documents, intermediate, chunking = request.texts(
        "AssetBucket", "AssetKey", "DocumentsBucket", "IntermediateBucket", "Chunking"
    )
    s3 = boto3.client("s3", config=_CALLS)

    def copy() -> Mirrored:
        with tempfile.TemporaryFile() as file:
            s3.download_fileobj(asset_bucket, asset_key, file)
            with ZipFile(file) as archive:
                return mirror(s3, archive, Buckets(documents, intermediate), chunking, clock)

    done = with_new_rights(copy, clock)
    logger.info("documents mirrored", result=str(done))
    return Answer(data={"Summary": str(done)})


def _check_bucket(request: Request, clock: Clock) -> Answer:
    name, setting, key_setting = request.texts("Bucket", "Setting", "KeySetting")
    s3 = boto3.client("s3", config=_CALLS)
    bucket = GivenBucket(
        name=name,
        region=s3.meta.region_name,
        key=str(request.given.get("Key", "")),
        key_setting=key_setting,
        watched=request.given.get("Watched") == "true",
    )
    return Answer(data={"Found": _logged(check_bucket(s3, bucket, setting, clock))})


def _check_base(request: Request, clock: Clock) -> Answer:
    base, kind, search = request.texts("KnowledgeBaseId", "Type", "SearchType")
    client = boto3.client("bedrock-agent", config=_CALLS)
    return Answer(data={"Found": _logged(check_base(client, base, kind, search, clock))})


def _logged(found: str) -> str:
    logger.info("checked", found=found)
    return found


def _tear_down(request: Request, clock: Clock) -> Answer:
    """Drain the job and empty the buckets; a failed part doesn't prevent the others."""
    if "KnowledgeBaseId" in request.given:
        with _tried("drain the running job"):
            base, source = request.texts("KnowledgeBaseId", "DataSourceId")
            _drain(
                {"knowledgeBaseId": base, "dataSourceId": source},
                clock.until(clock.now() + DRAIN_SECONDS),
            )
    s3 = boto3.client("s3", config=_CALLS)
    for bucket in request.given.get("EmptiedBuckets", ()):
        with _tried(f"empty {bucket}"):
            empty(s3, bucket, clock)
    return Answer()


def _remove_old_versions(request: Request, _clock: Clock) -> Answer:
    (function,) = request.texts("Function")
    with _tried("remove old versions"):
        removed = remove_old(boto3.client("lambda", config=_CALLS), function)
        logger.info("old versions removed", function=function, versions=removed)
    return Answer()


def _drain(source: dict[str, str], clock: Clock) -> None:
    """Stop running jobs and wait until they have stopped: a data source in use can't be deleted."""
    client = boto3.client("bedrock-agent", config=_CALLS)
    while True:
        latest = client.list_ingestion_jobs(
            **source, sortBy={"attribute": "STARTED_AT", "order": "DESCENDING"}, maxResults=10
        )["ingestionJobSummaries"]
        active = [it for it in latest if it["status"] in {"STARTING", "IN_PROGRESS", "STOPPING"}]
        for job in active:
            if job["status"] != "STOPPING":
                _stop(client, source, job["ingestionJobId"])
        if not active or clock.left() < POLL_SECONDS:
            return
        clock.sleep(POLL_SECONDS)


def _stop(client: Any, source: dict[str, str], job_id: str) -> None:  # noqa: ANN401 - boto3's client
    try:
        client.stop_ingestion_job(**source, ingestionJobId=job_id)
    except ClientError as error:
        # it has just ended by itself, or can't be stopped yet
        if "AccessDenied" in error_code(error):
            raise
        logger.info("the job can't be stopped now", job=job_id, answer=str(error))


@contextmanager
def _tried(what: str) -> Iterator[None]:
    try:
        yield
    except Exception:  # noqa: BLE001 - a deployment or a deletion continues with the rest
        logger.exception("step failed", step=what)


_GONE: Final = frozenset({"DELETING", "DELETE_UNSUCCESSFUL", "FAILED"})
_REGION: Final = "x-amz-bucket-region"


def check_bucket(s3: Any, bucket: GivenBucket, setting: str, clock: Clock) -> str:  # noqa: ANN401 - boto3's client
    """Check a bucket, named by a setting, and return the findings as text.

    Only certain faults are refused. If a policy of the owner prevents a check, the answer says so and the deployment
    continues, because the roles that read may still be allowed.

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
    """Check a knowledge base and return the findings as text, likewise.

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
    if store == "S3_VECTORS" and search == "HYBRID":
        raise InvalidSettings(
            f"search_type = HYBRID: {base} stores its vectors in S3 Vectors, which has no keyword search."
            " Set search_type=SEMANTIC"
        )
    return f"{base} is {kind} and {found['status']}"


def _said(found: list[Fault]) -> str:
    return " ".join(f"{each.detail}. {each.action}" for each in found)


KEPT: Final = 5
"""Versions that stay for a rollback, of those that no alias uses."""


def remove_old(client: Any, function: str) -> list[str]:  # noqa: ANN401 - boto3's client
    """Delete a function's versions except those that an alias uses and the newest :data:`KEPT`; return them, oldest first.

    Raises:
        botocore.exceptions.ClientError: Lambda refuses.
    """
    used: set[str] = set()
    for page in client.get_paginator("list_aliases").paginate(FunctionName=function):
        for alias in page["Aliases"]:
            weights = alias.get("RoutingConfig", {}).get("AdditionalVersionWeights", {})
            used |= {alias["FunctionVersion"], *weights}
    pages = client.get_paginator("list_versions_by_function").paginate(FunctionName=function)
    versions = [each["Version"] for page in pages for each in page["Versions"]]
    idle = sorted((it for it in versions if it.isdigit() and it not in used), key=int)
    old = idle[: max(0, len(idle) - KEPT)]
    for version in old:
        client.delete_function(FunctionName=function, Qualifier=version)
    return old


_MADE: Final = frozenset({Kind.CREATE, Kind.UPDATE})
_STEPS: Final[dict[str, tuple[frozenset[Kind], Callable[[Request, Clock], Answer]]]] = {
    "Custom::KnowledgeIndex": (_MADE, _ready_index),
    "Custom::KnowledgeBucket": (_MADE, _check_bucket),
    "Custom::KnowledgeBase": (_MADE, _check_base),
    "Custom::KnowledgeDocuments": (_MADE, _mirror),
    "Custom::KnowledgeVersions": (frozenset({Kind.UPDATE}), _remove_old_versions),
    "Custom::KnowledgeTearDown": (frozenset({Kind.DELETE}), _tear_down),
}
"""Type of a resource -> the kinds of requests that run its step, and the step."""
