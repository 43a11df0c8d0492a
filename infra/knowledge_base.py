"""The knowledge base, its data source and the role that Bedrock assumes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_bedrock as bedrock
from constructs import Construct

from infra.buckets import BATCHES
from infra.cloudformation import allow, explain_objects, model_arn, service_role
from infra.models import CHOOSES_DIMENSION
from infra.vector_store import short_hash

if TYPE_CHECKING:
    from aws_cdk import aws_iam as iam
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_lambda as lambda_

    from infra.buckets import Buckets
    from infra.deploy_steps import DeploySteps
    from infra.settings import Settings, StoreSettings
    from infra.vector_store import OpenSearchStore, S3VectorsStore


class KnowledgeBase(Construct):
    """A vector knowledge base over the corpus bucket, chunked by our own function.

    Args:
        store: the vector store; Bedrock's role is granted access to it.
        chunker: alias of ``chunk_documents``.
        steps: the deployment's steps, one of which waits until the store is ready.
        encryption_key: the buckets' key, if it is one of the account's own.
    """

    def __init__(  # noqa: PLR0913 - a construct's properties are keyword arguments
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        store: OpenSearchStore | S3VectorsStore,
        buckets: Buckets,
        chunker: lambda_.IAlias,
        steps: DeploySteps,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._model = model_arn(self, settings.store.embedding_model)
        role = self._role(buckets, chunker, encryption_key)
        ready = store.open_to(role, steps)
        base = bedrock.CfnKnowledgeBase(
            self,
            "Base",
            # different vectors need a new knowledge base, and that needs a new name
            name=f"{settings.name}-{short_hash([store.identity, settings.store.embedding_model])}",
            description="Runbooks and postmortems, in chunks of exact lines",
            role_arn=role.role_arn,
            knowledge_base_configuration=_configuration(self._model, settings.store),
            storage_configuration=store.storage,
        )
        base.node.add_dependency(ready)
        self.knowledge_base_id = base.attr_knowledge_base_id
        self.knowledge_base_arn = base.attr_knowledge_base_arn
        source = self._source(settings, buckets, chunker, encryption_key)
        self.data_source_id = source.attr_data_source_id

    def _role(self, buckets: Buckets, chunker: lambda_.IAlias, key: kms.IKey | None) -> iam.Role:
        own = {"StringEquals": {"aws:ResourceAccount": cdk.Aws.ACCOUNT_ID}}
        statements = [
            allow("Embed", ["bedrock:InvokeModel"], [self._model]),
            *buckets.read_documents(own),
            allow(
                "ExchangeBatches",
                ["s3:GetObject", "s3:PutObject"],
                [buckets.intermediate.arn_for_objects("*")],
                own,
            ),
            allow("Chunk", ["lambda:InvokeFunction"], [chunker.function_arn]),
            *_use_while_ingesting(key),
        ]
        bases = cdk.Stack.of(self).format_arn(
            service="bedrock", resource="knowledge-base", resource_name="*"
        )
        role = service_role(  # see "Service role" in the Bedrock user guide
            self,
            "bedrock",
            bases,
            description="Bedrock ingests the corpus and searches the vectors with it",
            policy="KnowledgeBase",
            statements=statements,
        )
        buckets.explain_documents(
            role, "Every object there is a document, and their names are not known here."
        )
        explain_objects(
            role, buckets.intermediate, "Bedrock names the batches of an ingestion job itself."
        )
        return role

    def _source(
        self, settings: Settings, buckets: Buckets, chunker: lambda_.IAlias, key: kms.IKey | None
    ) -> bedrock.CfnDataSource:
        source = bedrock.CfnDataSource
        transformation = source.TransformationProperty(
            step_to_apply="POST_CHUNKING",
            transformation_function=source.TransformationFunctionProperty(
                transformation_lambda_configuration=source.TransformationLambdaConfigurationProperty(
                    lambda_arn=chunker.function_arn
                )
            ),
        )
        encryption = None
        if key is not None:
            encryption = source.ServerSideEncryptionConfigurationProperty(kms_key_arn=key.key_arn)
        return source(
            self,
            "Corpus",
            name=f"{settings.name}-corpus",
            description="Documents of the corpus bucket",
            knowledge_base_id=self.knowledge_base_id,
            # the vectors are deleted with their index; by then the rights to delete them singly are gone
            data_deletion_policy="RETAIN",
            server_side_encryption_configuration=encryption,
            data_source_configuration=source.DataSourceConfigurationProperty(
                type="S3",
                s3_configuration=source.S3DataSourceConfigurationProperty(
                    bucket_arn=buckets.corpus.bucket_arn,
                    bucket_owner_account_id=cdk.Stack.of(self).account,
                    inclusion_prefixes=[settings.documents.prefix]
                    if settings.documents.prefix
                    else None,
                ),
            ),
            vector_ingestion_configuration=source.VectorIngestionConfigurationProperty(
                chunking_configuration=source.ChunkingConfigurationProperty(
                    chunking_strategy="NONE"
                ),
                custom_transformation_configuration=source.CustomTransformationConfigurationProperty(
                    intermediate_storage=source.IntermediateStorageProperty(
                        s3_location=source.S3LocationProperty(
                            uri=f"s3://{buckets.intermediate.bucket_name}/{BATCHES}"
                        )
                    ),
                    transformations=[transformation],
                ),
            ),
        )


def _use_while_ingesting(key: kms.IKey | None) -> list[iam.PolicyStatement]:
    """Return the permission to use the key for the buckets and for a job's transient copy of the documents.

    It has no condition, as in "Encryption of transient data storage during data ingestion": the service
    through which Bedrock encrypts that copy isn't documented.
    """
    if key is None:
        return []
    actions = ["kms:Decrypt", "kms:GenerateDataKey"]
    return [allow("UseKey", actions, [key.key_arn])]


def _configuration(
    model: str, store: StoreSettings
) -> bedrock.CfnKnowledgeBase.KnowledgeBaseConfigurationProperty:
    base = bedrock.CfnKnowledgeBase
    embedding = None
    if store.embedding_model in CHOOSES_DIMENSION:
        embedding = base.EmbeddingModelConfigurationProperty(
            bedrock_embedding_model_configuration=base.BedrockEmbeddingModelConfigurationProperty(
                dimensions=store.embedding_dimension, embedding_data_type="FLOAT32"
            )
        )
    return base.KnowledgeBaseConfigurationProperty(
        type="VECTOR",
        vector_knowledge_base_configuration=base.VectorKnowledgeBaseConfigurationProperty(
            embedding_model_arn=model, embedding_model_configuration=embedding
        ),
    )
