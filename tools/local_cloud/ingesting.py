"""Ingestion jobs that really chunk the documents, because moto has no ingestion jobs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import boto3

from lambdas.chunk_documents import handler
from tests.support.ingestion import ended
from tests.support.transformation import IngestionJob
from tools.local_cloud.changes import TimedJobs
from tools.local_cloud.kinds import MADE, REGION

if TYPE_CHECKING:
    from tools.local_cloud.changes import Clock


class IngestingCorpus(TimedJobs):
    """A started job passes the changed objects to our own transformation function, as Bedrock does.

    Attributes:
        contents: document -> its resulting chunks, as the knowledge base would embed them.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.contents: dict[str, list[dict[str, Any]]] = {}
        self._seen: dict[str, str] = {}
        self.ingest = self._ingest

    def forget(self) -> None:
        """Start over: the knowledge base was deleted."""
        for each in (self.contents, self._seen, self.started, self.jobs):
            each.clear()

    def _ingest(self) -> dict[str, Any]:
        (source,) = (made for made in MADE if made.kind == "AWS::Bedrock::DataSource")
        corpus, prefix, intermediate = _buckets(source.parameters)
        _as_deployed(source.parameters)
        s3 = boto3.client("s3", region_name=REGION)
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=corpus, Prefix=prefix)
        there = {each["Key"]: each["ETag"] for page in pages for each in page.get("Contents", ())}
        changed = [key for key, etag in there.items() if self._seen.get(key) != etag]
        gone = set(self._seen) - set(there)
        job = IngestionJob(s3, corpus=corpus, intermediate=intermediate)
        for key in changed:
            body = s3.get_object(Bucket=corpus, Key=key)["Body"].read()
            job.add(key, body, body.decode(errors="replace"))
        files = handler.lambda_handler(job.event, None)["outputFiles"] if changed else []
        failed = 0
        for key, file in zip(changed, files, strict=True):
            if file["contentBatches"]:
                self.contents[key] = job.contents(file)
            else:
                failed += 1
        for key in gone:
            self.contents.pop(key, None)
        new = sum(key not in self._seen for key in changed) - failed
        modified = len(changed) - failed - max(new, 0)
        self._seen = there
        return ended(
            "COMPLETE", new=max(new, 0), modified=modified, failed=failed, deleted=len(gone)
        )


def _as_deployed(parameters: dict[str, Any]) -> None:
    """Set the transformation function's environment to its deployment's."""
    ingestion = parameters["vectorIngestionConfiguration"]["customTransformationConfiguration"]
    (transformation,) = ingestion["transformations"]
    function = transformation["transformationFunction"]["transformationLambdaConfiguration"]
    configured = boto3.client("lambda", region_name=REGION).get_function_configuration(
        FunctionName=function["lambdaArn"]
    )
    os.environ.update(configured["Environment"]["Variables"])
    handler._service.cache_clear()  # noqa: SLF001 - settings of another deployment


def _buckets(parameters: dict[str, Any]) -> tuple[str, str, str]:
    """Return the documents' bucket and prefix, and the intermediate bucket."""
    s3 = parameters["dataSourceConfiguration"]["s3Configuration"]
    (prefix,) = s3.get("inclusionPrefixes", [""])
    transformation = parameters["vectorIngestionConfiguration"]["customTransformationConfiguration"]
    location = transformation["intermediateStorage"]["s3Location"]["uri"]
    return s3["bucketArn"].rsplit(":", 1)[-1], prefix, location.removeprefix("s3://").split("/")[0]
