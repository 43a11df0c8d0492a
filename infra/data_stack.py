"""The data stack: corpus, vectors, knowledge base, and ingestion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_ssm as ssm

from infra.buckets import Buckets
from infra.deploy_steps import DeploySteps, check_documents_bucket
from infra.encryption import stack_key
from infra.ingestion import ChunkDocuments, Ingestion
from infra.knowledge_base import KnowledgeBase
from infra.log_delivery import LogDelivery
from infra.settings import VectorStore
from infra.vector_store import OpenSearchStore, S3VectorsStore

if TYPE_CHECKING:
    from constructs import Construct

    from infra.settings import Settings


class DataStack(Stack):
    """Everything that stores or creates data.

    Its ids reach the service stack through parameters instead of exports, so that a knowledge base can be
    replaced while the service stack still refers to the old one. The collection's name is ``""`` without
    OpenSearch Serverless.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        **kwargs: Any,  # noqa: ANN401 - any property of a stack
    ) -> None:
        super().__init__(scope, construct_id, **kwargs)
        key = stack_key(
            self,
            settings,
            part="data",
            protects="corpus, vectors, and logs and settings of the data stack",
        )
        buckets = Buckets(self, "Buckets", settings=settings, encryption_key=key)
        kind: type[S3VectorsStore | OpenSearchStore] = (
            S3VectorsStore if settings.store.kind is VectorStore.S3_VECTORS else OpenSearchStore
        )
        store = kind(self, "Store", settings=settings, encryption_key=key)
        chunk = ChunkDocuments(
            self, "ChunkDocuments", settings=settings, buckets=buckets, encryption_key=key
        )
        steps = DeploySteps(self, "DeploySteps", settings=settings, encryption_key=key)
        if settings.documents.bucket:
            check_documents_bucket(steps, settings)
        base = KnowledgeBase(
            self,
            "KnowledgeBase",
            settings=settings,
            store=store,
            buckets=buckets,
            chunker=chunk.packed.alias,
            steps=steps,
            encryption_key=key,
        )
        ingestion = Ingestion(
            self,
            "StartIngestion",
            settings=settings,
            buckets=buckets,
            knowledge_base=base,
            steps=steps,
            encryption_key=key,
        )
        LogDelivery(
            self,
            "KnowledgeBaseLogs",
            settings=settings,
            part="knowledge-base",
            resource_arn=base.knowledge_base_arn,
            encryption_key=key,
        )
        self.chunk_function_name = chunk.name
        self.ingestion = ingestion
        self.collection_name = store.collection_name
        self._publish(settings, base)
        self._outputs(settings, buckets, base)

    def _publish(self, settings: Settings, base: KnowledgeBase) -> None:
        for name, value in (
            ("knowledge-base-id", base.knowledge_base_id),
            ("data-source-id", base.data_source_id),
        ):
            ssm.StringParameter(
                self,
                f"Parameter-{name}",
                parameter_name=f"/{settings.name}/{name}",
                string_value=value,
            )

    def _outputs(self, settings: Settings, buckets: Buckets, base: KnowledgeBase) -> None:
        for name, value, description in (
            ("KnowledgeBaseId", base.knowledge_base_id, "of Retrieve"),
            ("DataSourceId", base.data_source_id, "of ingestion jobs"),
            ("CorpusBucketName", buckets.corpus.bucket_name, "of the documents"),
            ("CorpusPrefix", settings.documents.prefix, "of the documents in it"),
            ("CollectionName", self.collection_name, "of OpenSearch Serverless"),
            ("IngestAgain", self.ingestion.command, "ingests the documents by hand"),
        ):
            if value:
                CfnOutput(self, name, value=value, description=description)
