"""The vector store, in OpenSearch Serverless or in S3 Vectors.

Resources that can't be updated, only replaced, have a name with a hash of their properties: CloudFormation
creates the new one before it deletes the old one, and the two must not have the same name.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

import aws_cdk as cdk
from aws_cdk import aws_bedrock as bedrock
from aws_cdk import aws_iam as iam
from aws_cdk import aws_opensearchserverless as aoss
from aws_cdk import aws_s3vectors as s3vectors
from constructs import Construct, DependencyGroup

from infra.account import execution_role_arn
from infra.cloudformation import allow, on_behalf_of
from infra.encryption import allow_service, key_identity, use_key
from infra.settings import Generation, Network
from knowledge_rag.core import metadata
from knowledge_rag.core.key_policy import VECTORS

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from constructs import IDependable

    from infra.deploy_steps import DeploySteps
    from infra.settings import Settings, StoreSettings


VECTOR_FIELD: Final = "embedding"
TEXT_FIELD: Final = "AMAZON_BEDROCK_TEXT"
METADATA_FIELD: Final = "AMAZON_BEDROCK_METADATA"
INDEX_PREFIX: Final = "knowledge"

WORDS: Final = (metadata.TITLE, metadata.SECTION_HEADER, metadata.SECTION_PATH)
"""Metadata fields with text of any length."""
KEYWORDS: Final = (
    metadata.SOURCE_FILE,
    metadata.DOCUMENT_TYPE,
    metadata.DOCUMENT_SHA256,
    metadata.CONTENT_SHA256,
    metadata.CHUNK_ID,
    metadata.SOURCE_URL,
    *metadata.FRONT_MATTER_FIELDS,
    *metadata.HISTORY_FIELDS,
    *metadata.LIST_FIELDS,
    metadata.CAUTION,
    metadata.DRIFT,
    metadata.DATES,
)
"""Metadata fields for filters and exact look-ups. Bedrock writes each key as a field of its own, and an index
treats ``2026-01-15`` or ``1406-21`` as a date unless the field is declared: it would reject chunks with another
value, or with a date that doesn't exist."""


def index_fields(store: StoreSettings) -> dict[str, Any]:
    """Return the fields of the OpenSearch index, as in "Create a vector index" of the Bedrock user guide.

    The engine is Faiss, which filters on metadata, and the distance Euclidean, as documented for
    floating-point vectors. The text is indexed, so that hybrid search finds its words.
    """
    return {
        VECTOR_FIELD: {
            "type": "knn_vector",
            "dimension": store.embedding_dimension,
            "method": {
                "name": "hnsw",
                "engine": "faiss",
                "spaceType": "l2",
                "parameters": {"efConstruction": 512, "m": 16},
            },
        },
        TEXT_FIELD: {"type": "text", "index": True},
        METADATA_FIELD: {"type": "text", "index": False},
        **{name: {"type": "text", "index": True} for name in WORDS},
        **{name: {"type": "keyword"} for name in KEYWORDS},
    }


def short_hash(value: object, length: int = 8) -> str:
    """Hash any JSON value to a few hexadecimal digits, enough to distinguish two states of a stack."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:length]


class OpenSearchStore(Construct):
    """A collection with one index.

    Vectors are derived data: the collection is deleted with its stack regardless of the settings, since an
    orphan would keep costing money.

    Attributes:
        collection_name: name of the collection.
        identity: changes with the store's vectors, so that the knowledge base is replaced too.
        storage: the store's configuration for the knowledge base.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._settings = settings.store
        self._account = settings.account
        self._properties = index_fields(settings.store)
        self.collection_name = f"{settings.name}-{_collection_hash(settings)}"
        self.index_name = f"{INDEX_PREFIX}-{short_hash(self._properties)}"
        self._collection = self._make_collection(encryption_key)
        self.identity = f"{self.collection_name}/{self.index_name}"
        self.storage = bedrock.CfnKnowledgeBase.StorageConfigurationProperty(
            type="OPENSEARCH_SERVERLESS",
            opensearch_serverless_configuration=bedrock.CfnKnowledgeBase.OpenSearchServerlessConfigurationProperty(
                collection_arn=self._collection.attr_arn,
                vector_index_name=self.index_name,
                field_mapping=bedrock.CfnKnowledgeBase.OpenSearchServerlessFieldMappingProperty(
                    vector_field=VECTOR_FIELD, text_field=TEXT_FIELD, metadata_field=METADATA_FIELD
                ),
            ),
        )

    def open_to(self, role: iam.Role, steps: DeploySteps) -> IDependable:
        """Let a role use the index and the deployment create it; on a public network, wait until it is searchable.

        The access policy is created before the collection. Creating the collection takes longer than the
        rights take to propagate, and until then a caller would be refused.
        """
        access = aoss.CfnAccessPolicy(
            self,
            "Access",
            name=self.collection_name,
            type="data",
            policy=cdk.Stack.of(self).to_json_string(self._access(role, steps.role)),
        )
        self._collection.add_resource_dependency(access)
        call = iam.Policy(self, "Call", roles=[role], statements=[self._call()])
        index = self._index(access)
        if self._settings.network is Network.PRIVATE:
            return DependencyGroup(call, index)  # only Bedrock reaches the endpoint
        return self._readied(role, steps, DependencyGroup(call, index))

    def _readied(self, role: iam.Role, steps: DeploySteps, made: IDependable) -> IDependable:
        """Wait until the role can search the index; the step assumes that role to find out."""
        assume = allow("ReadIndexAsTheKnowledgeBase", ["sts:AssumeRole"], [role.role_arn])
        trust = iam.PolicyStatement(
            sid="AllowToSeeWhetherTheIndexIsReady",
            actions=["sts:AssumeRole"],
            principals=[iam.ArnPrincipal(steps.role.role_arn)],
        )
        if role.assume_role_policy is not None:
            role.assume_role_policy.add_statements(trust)
        ready, _ = steps.step(
            "Index",
            [self._call(), assume],
            {
                "Endpoint": self._collection.attr_collection_endpoint,
                "IndexName": self.index_name,
                "ReaderRole": role.role_arn,
                "Keywords": list(KEYWORDS),
                "Words": list(WORDS),
            },
            after=[made],
        )
        return ready

    def _call(self) -> iam.PolicyStatement:
        return allow("CallCollection", ["aoss:APIAccessAll"], [self._collection.attr_arn])

    def _index(self, access: aoss.CfnAccessPolicy) -> aoss.CfnIndex:
        index = aoss.CfnIndex(
            self,
            "Index",
            collection_endpoint=self._collection.attr_collection_endpoint,
            index_name=self.index_name,
            mappings=aoss.CfnIndex.MappingsProperty(properties=self._properties),
            settings=aoss.CfnIndex.IndexSettingsProperty(
                index=aoss.CfnIndex.IndexProperty(knn=True)
            ),
        )
        index.add_resource_dependency(access)
        return index

    def _make_collection(self, key: kms.IKey | None) -> aoss.CfnCollection:
        here = [f"collection/{self.collection_name}"]
        rules = [{"ResourceType": "collection", "Resource": here}]
        encryption = {"KmsARN": key.key_arn} if key else {"AWSOwnedKey": True}
        policies = [
            self._policy("encryption", {"Rules": rules, **encryption}),
            # no rule for the dashboard, so nobody can reach it
            self._policy("network", [{"Rules": rules, **_reach(self._settings.network)}]),
        ]
        standby = _standby(self._settings)
        collection = aoss.CfnCollection(
            self,
            "Collection",
            name=self.collection_name,
            type="VECTORSEARCH",
            description="Chunks of runbooks and postmortems, and their vectors",
            standby_replicas=standby,
        )
        if self._settings.generation is Generation.NEXTGEN:
            group = self._group(standby)
            collection.collection_group_name = group.name
            collection.add_resource_dependency(group)
        for policy in policies:
            collection.add_resource_dependency(policy)
        return collection

    def _policy(self, kind: str, content: object) -> aoss.CfnSecurityPolicy:
        return aoss.CfnSecurityPolicy(
            self,
            kind.capitalize(),
            name=self.collection_name,
            type=kind,
            policy=cdk.Stack.of(self).to_json_string(content),
        )

    def _group(self, standby: str) -> aoss.CfnCollectionGroup:
        return aoss.CfnCollectionGroup(
            self,
            "Group",
            name=self.collection_name,
            generation="NEXTGEN",
            standby_replicas=standby,
            capacity_limits=aoss.CfnCollectionGroup.CapacityLimitsProperty(
                min_indexing_capacity_in_ocu=0,
                max_indexing_capacity_in_ocu=self._settings.max_ocu,
                min_search_capacity_in_ocu=self._settings.min_search_ocu,
                max_search_capacity_in_ocu=self._settings.max_ocu,
            ),
        )

    def _access(self, role: iam.IRole, steps: iam.IRole) -> list[dict[str, Any]]:
        indexes = f"index/{self.collection_name}"
        return [
            _grant(
                "the knowledge base reads and writes its index",
                [f"{indexes}/{self.index_name}"],
                ["aoss:DescribeIndex", "aoss:ReadDocument", "aoss:WriteDocument"],
                role.role_arn,
            ),
            # by prefix: an update deletes the previous index, whose hash isn't known here
            _grant(
                "a deployment makes and replaces the index",
                [f"{indexes}/{INDEX_PREFIX}-*"],
                ["aoss:CreateIndex", "aoss:DeleteIndex", "aoss:DescribeIndex", "aoss:UpdateIndex"],
                execution_role_arn(self, self._account),
            ),
            _grant(
                "a deployment completes the mapping of the index",
                [f"{indexes}/{self.index_name}"],
                ["aoss:UpdateIndex"],
                steps.role_arn,
            ),
        ]


def _standby(store: StoreSettings) -> str:
    """Return whether there are standby replicas, as OpenSearch Serverless spells it.

    A collection group of the next generation is documented only with them. They don't raise its minimum
    capacity: the idle cost depends on ``min_search_ocu``.
    """
    return "ENABLED" if store.standby or store.generation is Generation.NEXTGEN else "DISABLED"


def _reach(network: Network) -> dict[str, Any]:
    if network is Network.PRIVATE:
        return {"AllowFromPublic": False, "SourceServices": ["bedrock.amazonaws.com"]}
    return {"AllowFromPublic": True}


def _grant(what: str, resources: list[str], permissions: list[str], who: str) -> dict[str, Any]:
    rule = {"ResourceType": "index", "Resource": resources, "Permission": permissions}
    return {"Description": what, "Rules": [rule], "Principal": [who]}


def _collection_hash(settings: Settings) -> str:
    """Hash the properties of a collection and its group that can't be updated."""
    store = settings.store
    return short_hash([store.generation, _standby(store), key_identity(settings)], length=6)


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
    """A vector bucket with one index; its attributes are those of :class:`OpenSearchStore`, its collection's name ``""``.

    It costs nothing when idle, and has no keyword search. A knowledge base with it accepts at most 1 KB of metadata
    per chunk ("Metadata support" in the Bedrock user guide). Ours is 0.5 to 0.9 KB. A rare chunk with more, from very
    long headings and paths, makes its document fail, which the ingestion job reports and counts. Results are as exact
    as with OpenSearch.
    """

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
