"""The knowledge base's buckets: one for the documents, one for intermediate data of ingestion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.cloudformation import acknowledge, allow, explain_objects, resource_of
from infra.encryption import use_key
from infra.settings import Removal

if TYPE_CHECKING:
    from aws_cdk import aws_iam as iam

    from infra.settings import Settings

INTERMEDIATE_DAYS: Final = 7
"""Retention of an ingestion job's batches: long enough to investigate a failed job."""
BATCHES: Final = "batches/"
"""Prefix of an ingestion job's batches, which Bedrock writes and reads. Objects outside it don't expire: the
text of web pages and PDFs, whose lines are cited (``chunk_documents``)."""
OLD_VERSION_DAYS: Final = 90
"""How long a document can be restored after it was changed or deleted."""
_UPLOAD_DAYS: Final = 1


class Buckets(Construct):
    """Private, TLS-only, encrypted; the corpus is versioned, intermediate batches expire.

    If data is deleted with the stack, ``deploy_steps`` empties them: CDK's own ``auto_delete_objects``
    adds a function with an AWS-managed policy. A bucket that the settings name is only read.

    Attributes:
        corpus: the documents; a key, without the prefix if there is one, is the path in citations.
        intermediate: batches of an ingestion job's text and chunks, and the text of pages and PDFs.
        own: the buckets that belong to the stack.
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
        # the log bucket's policy lets the service write, not an ACL: ACLs are off everywhere
        self.node.set_context("@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy", True)  # noqa: FBT003 - a flag's value
        given = settings.documents
        self._foreign_key = (
            kms.Key.from_key_arn(self, "DocumentsKey", given.key) if given.key else None
        )
        logs = self._log_bucket(settings) if settings.removal is Removal.RETAIN else None
        own = [] if given.bucket else [self._corpus(settings, encryption_key, logs)]
        self.corpus: s3.IBucket = (
            own[0] if own else s3.Bucket.from_bucket_name(self, "Documents", given.bucket)
        )
        self._documents = f"{given.prefix}*"
        self.intermediate = private_bucket(
            self,
            "Intermediate",
            settings=settings,
            encryption_key=encryption_key,
            expiry=s3.LifecycleRule(
                id="batches", prefix=BATCHES, expiration=cdk.Duration.days(INTERMEDIATE_DAYS)
            ),
            **_logged(logs, "intermediate/"),
        )
        self.own: list[s3.Bucket] = [*own, self.intermediate]
        if logs is None:
            for bucket in self.own:
                acknowledge(
                    bucket,
                    "AwsSolutions-S1",
                    "This deployment's data goes with its stack (removal_policy=destroy):"
                    " logs that S3 still delivers after the log bucket was emptied would hold up its"
                    " deletion. With removal_policy=retain access is logged.",
                )

    def _corpus(
        self, settings: Settings, key: kms.IKey | None, logs: s3.Bucket | None
    ) -> s3.Bucket:
        corpus = private_bucket(
            self,
            "Corpus",
            settings=settings,
            encryption_key=key,
            expiry=s3.LifecycleRule(
                id="old-versions", noncurrent_version_expiration=cdk.Duration.days(OLD_VERSION_DAYS)
            ),
            versioned=True,
            **_logged(logs, "corpus/"),
        )
        # CDK's own property would add a function with an AWS-managed policy
        resource = resource_of(corpus, s3.CfnBucket)
        resource.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
            event_bridge_configuration=s3.CfnBucket.EventBridgeConfigurationProperty(
                event_bridge_enabled=True
            )
        )
        return corpus

    def read_documents(self, conditions: dict[str, Any] | None = None) -> list[iam.PolicyStatement]:
        """Return the permissions to list, read and decrypt the documents.

        Args:
            conditions: conditions of the statements on the bucket.
        """
        return [
            # without it S3 answers "access denied" for an object that doesn't exist
            allow("ListDocuments", ["s3:ListBucket"], [self.corpus.bucket_arn], conditions),
            allow(
                "ReadDocuments",
                ["s3:GetObject"],
                [self.corpus.arn_for_objects(self._documents)],
                conditions,
            ),
            *use_key(self, self._foreign_key, via="s3", sid="UseKeyOfDocuments"),
        ]

    def explain_documents(self, holder: Construct, reason: str) -> None:
        """Acknowledge that a policy of ``holder`` reaches every document."""
        explain_objects(holder, self.corpus, reason, self._documents)

    def _log_bucket(self, settings: Settings) -> s3.Bucket:
        """Create the bucket of access logs; S3 can deliver them under its own key only."""
        expiry = s3.LifecycleRule(
            id="logs", expiration=cdk.Duration.days(settings.log_retention_days)
        )
        return private_bucket(
            self,
            "AccessLogs",
            settings=settings,
            encryption_key=None,
            expiry=expiry,
            bucket_key_enabled=None,
        )


def private_bucket(
    scope: Construct,
    construct_id: str,
    *,
    settings: Settings,
    encryption_key: kms.IKey | None,
    expiry: s3.LifecycleRule,
    **more: Any,  # noqa: ANN401 - a bucket's own
) -> s3.Bucket:
    """Create a bucket for this account only, over TLS, whose incomplete uploads are aborted."""
    uploads = s3.LifecycleRule(
        id="uploads", abort_incomplete_multipart_upload_after=cdk.Duration.days(_UPLOAD_DAYS)
    )
    more.setdefault("bucket_key_enabled", encryption_key is not None)
    return s3.Bucket(
        scope,
        construct_id,
        encryption=s3.BucketEncryption.KMS if encryption_key else s3.BucketEncryption.S3_MANAGED,
        encryption_key=encryption_key,
        removal_policy=cdk.RemovalPolicy[settings.removal.name],
        lifecycle_rules=[uploads, expiry],
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
        enforce_ssl=True,
        minimum_tls_version=1.2,
        **more,
    )


def _logged(logs: s3.Bucket | None, prefix: str) -> dict[str, Any]:
    return {"server_access_logs_bucket": logs, "server_access_logs_prefix": prefix} if logs else {}
