"""How documents get into the knowledge base: the starter that a deployment calls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as assets
from constructs import Construct

from infra.cloudformation import explain_objects
from infra.encryption import use_key
from infra.python_function import PythonFunction
from infra.settings import Removal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aws_cdk import aws_kms as kms

    from infra.buckets import Buckets
    from infra.knowledge_base import KnowledgeBase
    from infra.settings import Settings

PROJECT: Final = Path(__file__).parents[1]

HIDDEN: Final = ("**/.*", "**/.*/**")
"""Files and folders that are no documents, as when a folder is ingested locally."""
UNSUPPORTED: Final = ("rst", "adoc", "asciidoc", "org", "mdx", "md.erb", "ipynb")
"""Endings of documents that are read locally, and that a Bedrock knowledge base refuses to ingest."""

STARTER_TIMEOUT: Final = cdk.Duration.minutes(15)
"""The most that a function may have; an ingestion job that takes longer goes on without it."""
STARTER_MEMORY_MB: Final = 512
RESOURCE_TIMEOUT: Final = cdk.Duration.minutes(16)
"""When CloudFormation stops waiting for a starter that was killed."""


class IngestionStarter(Construct):
    """Copies the corpus and ingests it on every deployment that changes it or its chunker.

    The custom resource is the function itself and not CDK's provider framework, whose own functions
    come with wildcards; nor is it ``BucketDeployment``, which comes with an AWS-managed policy.

    Args:
        chunker: a new version of it chunks every document again.
        encryption_key: of the buckets, if they have one of the account's own.

    Attributes:
        summary: what the last deployment's ingestion came to, one line.
    """

    def __init__(  # noqa: PLR0913 - a construct's properties are keyword arguments
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        buckets: Buckets,
        knowledge_base: KnowledgeBase,
        chunker: PythonFunction,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.name = f"{settings.name}-start-ingestion"
        self._empties = settings.removal is Removal.DESTROY
        self._buckets = buckets
        self._base = knowledge_base
        self._key = encryption_key
        self._corpus = assets.Asset(
            self,
            "Documents",
            path=str(PROJECT / settings.corpus),
            exclude=[*HIDDEN, *_endings(UNSUPPORTED)],
            ignore_mode=cdk.IgnoreMode.GLOB,
            follow_symlinks=cdk.SymlinkFollowMode.BLOCK_EXTERNAL,
        )
        starter = PythonFunction(
            self,
            "Start",
            name=self.name,
            module="lambdas.start_ingestion.handler",
            description="Copies the corpus to its bucket and ingests it when the stack changes.",
            environment={},
            timeout=STARTER_TIMEOUT,
            memory_mb=STARTER_MEMORY_MB,
            settings=settings,
            encryption_key=encryption_key,
        )
        resource = self._resource(starter, chunker)
        resource.node.add_dependency(self._policy(starter))
        self.summary = resource.get_att_string("Summary")

    def _resource(self, starter: PythonFunction, chunker: PythonFunction) -> cdk.CustomResource:
        return cdk.CustomResource(
            self,
            "Ingestion",
            resource_type="Custom::KnowledgeIngestion",
            service_token=starter.alias.function_arn,
            service_timeout=RESOURCE_TIMEOUT,
            properties={
                "KnowledgeBaseId": self._base.knowledge_base_id,
                "DataSourceId": self._base.data_source_id,
                "CorpusBucket": self._buckets.corpus.bucket_name,
                "IntermediateBucket": self._buckets.intermediate.bucket_name,
                "AssetBucket": self._corpus.s3_bucket_name,
                "AssetKey": self._corpus.s3_object_key,
                "Chunker": chunker.alias.version.version,
                "EmptyOnDelete": self._empties,
            },
        )

    def _policy(self, starter: PythonFunction) -> iam.Policy:
        policy = iam.Policy(
            self,
            "Ingest",
            roles=[starter.role],
            statements=[
                *self._copying(),
                *(self._emptying() if self._empties else []),
                iam.PolicyStatement(
                    sid="RunJobs",
                    actions=[
                        "bedrock:GetIngestionJob",
                        "bedrock:ListIngestionJobs",
                        "bedrock:StartIngestionJob",
                        "bedrock:StopIngestionJob",
                    ],
                    resources=[self._base.knowledge_base_arn],
                ),
                *use_key(self, self._key, via="s3", write=True),
            ],
        )
        explain_objects(
            policy,
            self._buckets.corpus,
            "The bucket mirrors a folder: any document may come or go.",
        )
        if self._empties:
            explain_objects(
                policy, self._buckets.intermediate, "It is emptied when the stack is deleted."
            )
        return policy

    def _copying(self) -> list[iam.PolicyStatement]:
        corpus = self._buckets.corpus
        asset = cdk.Stack.of(self).format_arn(
            service="s3",
            region="",
            account="",
            resource=self._corpus.s3_bucket_name,
            resource_name=self._corpus.s3_object_key,
        )
        return [
            iam.PolicyStatement(
                sid="ReadUploadedCorpus", actions=["s3:GetObject"], resources=[asset]
            ),
            iam.PolicyStatement(
                sid="ListCorpus", actions=["s3:ListBucket"], resources=[corpus.bucket_arn]
            ),
            iam.PolicyStatement(
                sid="MirrorCorpus",
                actions=["s3:DeleteObject", "s3:GetObject", "s3:PutObject"],
                resources=[corpus.arn_for_objects("*")],
            ),
        ]

    def _emptying(self) -> list[iam.PolicyStatement]:
        both = (self._buckets.corpus, self._buckets.intermediate)
        return [
            iam.PolicyStatement(
                sid="ListVersions",
                actions=["s3:ListBucketVersions"],
                resources=[bucket.bucket_arn for bucket in both],
            ),
            iam.PolicyStatement(
                sid="EmptyWithTheStack",
                actions=["s3:DeleteObjectVersion"],
                resources=[bucket.arn_for_objects("*") for bucket in both],
            ),
        ]


def _endings(suffixes: Iterable[str]) -> Iterator[str]:
    """Yield patterns of the files that end so, in any case, and of what is said beside them."""
    for suffix in suffixes:
        ending = "".join(f"[{it}{it.upper()}]" if it.isalpha() else it for it in suffix)
        yield f"**/*.{ending}"
        yield f"**/*.{ending}.metadata.json"
