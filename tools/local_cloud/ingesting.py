"""Ingestion jobs that really cut the documents: moto has none, and the service's are in AWS."""

from __future__ import annotations

from typing import Any

import boto3

from lambdas.chunk_documents.handler import lambda_handler
from tests.support.ingestion import Ingestion, ended
from tests.support.transformation import IngestionJob
from tools.local_cloud.kinds import MADE, REGION


class IngestingCorpus(Ingestion):
    """A started job hands every object of the corpus bucket to our own transformation function.

    Attributes:
        contents: the chunks that came out, as the knowledge base would embed them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.contents: list[dict[str, Any]] = []

    def _start(self, request: dict[str, Any]) -> tuple[int, str, dict[str, Any]]:
        count = self._ingest()
        self.scripts.append(["IN_PROGRESS", ended("COMPLETE", new=count)])
        return super()._start(request)

    def _ingest(self) -> int:
        (source,) = (made for made in MADE if made.kind == "AWS::Bedrock::DataSource")
        corpus, intermediate = _buckets(source.parameters)
        s3 = boto3.client("s3", region_name=REGION)
        job = IngestionJob(s3, corpus=corpus, intermediate=intermediate)
        for each in s3.list_objects_v2(Bucket=corpus)["Contents"]:
            body = s3.get_object(Bucket=corpus, Key=each["Key"])["Body"].read()
            job.add(each["Key"], body, body.decode())
        files = lambda_handler(job.event, None)["outputFiles"]
        self.contents = [content for file in files for content in job.contents(file)]
        return sum(bool(file["contentBatches"]) for file in files)


def _buckets(parameters: dict[str, Any]) -> tuple[str, str]:
    corpus = parameters["dataSourceConfiguration"]["s3Configuration"]["bucketArn"]
    transformation = parameters["vectorIngestionConfiguration"]["customTransformationConfiguration"]
    location = transformation["intermediateStorage"]["s3Location"]["uri"]
    return corpus.rsplit(":", 1)[-1], location.removeprefix("s3://").split("/")[0]
