"""The vector store in S3 Vectors: no cost when idle, no keyword search.

A knowledge base with it accepts at most 1 KB of metadata per chunk ("Metadata support" in the Bedrock user
guide). Ours is 0.5 to 0.9 KB. A rare chunk with more, from very long headings and paths, makes its
document fail, which the ingestion job reports and counts. Results are as exact as with OpenSearch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import aws_cdk as cdk
from aws_cdk import aws_bedrock as bedrock
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3vectors as s3vectors
from constructs import Construct

from infra.cloudformation import allow, on_behalf_of
from infra.encryption import allow_service, key_identity, use_key
from infra.vector_store import INDEX_PREFIX, METADATA_FIELD, TEXT_FIELD, short_hash
from knowledge_rag.core.key_policy import VECTORS

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from constructs import IDependable

    from infra.deploy_steps import DeploySteps
    from infra.settings import Settings

UNFILTERABLE: Final = (TEXT_FIELD, METADATA_FIELD)
"""Bedrock's fields for a chunk's text and its own data; filterable metadata is limited to 2 KB."""

_DISTANCE: Final = "cosine"

_ACTIONS: Final = (
    "s3vectors:DeleteVectors",
    "s3vectors:GetIndex",
    "s3vectors:GetVectors",
    "s3vectors:PutVectors",
    "s3vectors:QueryVectors",
)
"""Actions that "Create a service role for Knowledge Bases" lists for a vector index."""


class S3VectorsStore(Construct):
    """A vector bucket with one index; see :class:`infra.vector_store.Store` for its attributes."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.collection_name = ""
        dimension = settings.store.embedding_dimension
        self.index_name = f"{INDEX_PREFIX}-{short_hash([dimension, _DISTANCE, UNFILTERABLE])}"
        self.identity = f"s3-vectors/{self.index_name}/{key_identity(settings)}"
        bucket = s3vectors.CfnVectorBucket(
            self, "Vectors", encryption_configuration=_encryption(encryption_key)
        )
        self._index = s3vectors.CfnIndex(
            self,
            "Index",
            index_name=self.index_name,
            vector_bucket_arn=bucket.attr_vector_bucket_arn,
            data_type="float32",
            dimension=dimension,
            distance_metric=_DISTANCE,
            metadata_configuration=s3vectors.CfnIndex.MetadataConfigurationProperty(
                non_filterable_metadata_keys=list(UNFILTERABLE)
            ),
        )
        self._key = encryption_key
        if encryption_key is not None:
            _allow_indexing(self, encryption_key)
        self.storage = bedrock.CfnKnowledgeBase.StorageConfigurationProperty(
            type="S3_VECTORS",
            s3_vectors_configuration=bedrock.CfnKnowledgeBase.S3VectorsConfigurationProperty(
                index_arn=self._index.attr_index_arn
            ),
        )

    def open_to(self, role: iam.Role, steps: DeploySteps) -> IDependable:  # noqa: ARG002 - an index here is ready once it is made
        """Let a role read and write the index, by IAM only."""
        return iam.Policy(
            self,
            "Use",
            roles=[role],
            statements=[
                allow("UseVectors", list(_ACTIONS), [self._index.attr_index_arn]),
                *use_key(self, self._key, via="s3vectors", write=True),
            ],
        )


def _allow_indexing(scope: Construct, key: kms.IKey) -> None:
    """Let S3 Vectors maintain the index under the key, as its own service principal.

    Without it no index can be created; see "Data protection and encryption in S3 Vectors".
    """
    buckets = cdk.Stack.of(scope).format_arn(
        service="s3vectors", resource="bucket", resource_name="*"
    )
    allow_service(key, VECTORS, on_behalf_of(buckets))


def _encryption(
    key: kms.IKey | None,
) -> s3vectors.CfnVectorBucket.EncryptionConfigurationProperty | None:
    if key is None:
        return None
    return s3vectors.CfnVectorBucket.EncryptionConfigurationProperty(
        sse_type="aws:kms", kms_key_arn=key.key_arn
    )
