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

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.given_bucket import GivenBucket
from lambdas.custom_resource import Answer, Kind, error_code, respond, with_new_rights
from lambdas.deploy_steps.given import check_base, check_bucket
from lambdas.deploy_steps.index import Index, make_ready
from lambdas.deploy_steps.mirror import Buckets, empty, mirror
from lambdas.deploy_steps.versions import remove_old
from lambdas.reporting import logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lambdas.custom_resource import Clock, Context, Request
    from lambdas.deploy_steps.mirror import Mirrored

DRAIN_SECONDS: Final = 300
"""Maximum wait for a running job to stop, so that there is time left to empty the buckets."""
POLL_SECONDS: Final = 5
_CALLS: Final = Config(
    connect_timeout=3, read_timeout=10, retries={"mode": "standard", "max_attempts": 3}
)
"""A call without an answer fails within 45 s, so that there is time left for our own answer."""


def lambda_handler(event: object, context: Context | None) -> None:
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
