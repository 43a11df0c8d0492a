"""The chunking function in AWS: its settings and its permissions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.cloudformation import allow, explain_objects
from infra.encryption import use_key
from infra.python_function import PythonFunction

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

    from infra.buckets import Buckets
    from infra.settings import Settings

CHUNK_TIMEOUT: Final = cdk.Duration.minutes(5)
"""A hundred times the chunker's run time for the largest document that it accepts."""
CHUNK_MEMORY_MB: Final = 1024


class ChunkDocuments(Construct):
    """``chunk_documents``, the data source's transformation function."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        buckets: Buckets,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.name = f"{settings.name}-chunk-documents"
        environment = {
            "DATE_ORDER": settings.retrieval.date_order.value,
            "CORPUS_PREFIX": settings.documents.prefix,
        }
        self.packed = PythonFunction(
            self,
            "Chunk",
            name=self.name,
            module="lambdas.chunk_documents.handler",
            description="Cuts documents of an ingestion job into chunks of exact lines.",
            environment={name: value for name, value in environment.items() if value},
            timeout=CHUNK_TIMEOUT,
            memory_mb=CHUNK_MEMORY_MB,
            settings=settings,
            encryption_key=encryption_key,
        )
        policy = iam.Policy(
            self,
            "Documents",
            roles=[self.packed.role],
            statements=[
                *buckets.read_documents(),
                allow("ListBatches", ["s3:ListBucket"], [buckets.intermediate.bucket_arn]),
                allow(
                    "ExchangeBatches",
                    ["s3:GetObject", "s3:PutObject"],
                    [buckets.intermediate.arn_for_objects("*")],
                ),
                *use_key(self, encryption_key, via="s3", write=True),
            ],
        )
        self.packed.alias.node.add_dependency(policy)
        buckets.explain_documents(policy, "It reads whichever document Bedrock names.")
        explain_objects(policy, buckets.intermediate, "Bedrock names the batches of a job itself.")
