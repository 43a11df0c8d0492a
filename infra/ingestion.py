"""Ingestion of documents: a folder's mirror, a bucket's events, their queue, and the chunking function."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as assets
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.cloudformation import allow, explain_objects
from infra.encryption import use_key
from infra.python_function import PythonFunction, dead_letters, serve, serving
from infra.settings import Documents, Removal
from knowledge_rag.core.chunking import ChunkingSettings
from knowledge_rag.extract.documents import EXTRACTION
from knowledge_rag.extract.markup import MARKUP_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_lambda as lambda_

    from infra.buckets import Buckets
    from infra.deploy_steps import DeploySteps
    from infra.knowledge_base import KnowledgeBase
    from infra.settings import Settings


PROJECT: Final = Path(__file__).parents[1]

HIDDEN: Final = ("**/.*", "**/.*/**")
"""Patterns of files and folders that don't count as documents, the same as in local ingestion."""
UNSUPPORTED: Final = ("rst", "adoc", "asciidoc", "org", "mdx", "md.erb", "ipynb")
"""Suffixes of documents that local ingestion reads but a Bedrock knowledge base refuses."""

MESSAGE: Final = "documents changed"
"""The body of every message: a FIFO queue keeps the first of equal ones within five minutes."""
GROUP: Final = "documents"
"""The queue's one message group: while a message is served, no other is."""
HELD_BACK: Final = cdk.Duration.minutes(6)
"""Delay of a message. It is longer than the five minutes in which equal messages are dropped, so that the job
which a message starts sees every change that the message represents."""
LOOK_EVERY: Final = cdk.Duration.minutes(5)
"""When a message that waits for a running job is redelivered."""
MAX_LOOKS: Final = 1_000
"""SQS's maximum number of deliveries; three and a half days at ``LOOK_EVERY``."""
NIGHTLY: Final = events.Schedule.cron(minute="0", hour="3")
"""In UTC. The nightly job finds changes without an event."""
RUN_JOBS: Final = tuple(
    f"bedrock:{it}" for it in ("GetIngestionJob", "ListIngestionJobs", "StartIngestionJob")
)
TIMEOUT: Final = cdk.Duration.minutes(1)
MEMORY_MB: Final = 256


class Ingestion(Construct):
    """Ingests the bucket's documents whenever they change.

    Attributes:
        name: the function's name.
        rule_name: name of the rule that turns events into messages.
        dead_letters_name: name of the dead-letter queue.
        command: the command that starts an ingestion by hand.
    """

    def __init__(  # noqa: PLR0913 - a construct's properties are keyword arguments
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        buckets: Buckets,
        knowledge_base: KnowledgeBase,
        steps: DeploySteps,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.name = f"{settings.name}-start-ingestion"
        self.rule_name = f"{settings.name}-changes"
        self.dead_letters_name = f"{settings.name}-changes-failed.fifo"
        self._settings = settings
        self._buckets = buckets
        self._base = knowledge_base
        self._steps = steps
        self._key = encryption_key
        queue = self._queue()
        rule = self._rule(queue)
        served = self._function(queue)
        # deleted before the step that stops a running job: nothing may start after that
        served.node.add_dependency(self._tear_down())
        if settings.documents.kind is Documents.FOLDER:
            self._mirror().node.add_dependency(rule)
        self.command = (
            f"aws sqs send-message --queue-url {queue.queue_url} --message-group-id {GROUP}"
            f" --message-body '{MESSAGE}' --region {cdk.Stack.of(self).region}"
        )

    def _queue(self) -> sqs.Queue:
        dead = dead_letters(self, self.dead_letters_name)
        return sqs.Queue(
            self,
            "Changes",
            queue_name=f"{self.rule_name}.fifo",
            fifo=True,
            content_based_deduplication=True,
            delivery_delay=HELD_BACK,
            visibility_timeout=LOOK_EVERY,
            retention_period=cdk.Duration.days(14),
            enforce_ssl=True,
            dead_letter_queue=sqs.DeadLetterQueue(queue=dead, max_receive_count=MAX_LOOKS),
        )

    def _rule(self, queue: sqs.Queue) -> events.Rule:
        watched: dict[str, Any] = {"bucket": {"name": [self._buckets.corpus.bucket_name]}}
        if self._settings.documents.prefix:
            watched["object"] = {"key": [{"prefix": self._settings.documents.prefix}]}
        return events.Rule(
            self,
            "Rule",
            rule_name=self.rule_name,
            description="Reports changes of the documents.",
            event_pattern=events.EventPattern(
                source=["aws.s3"], detail_type=["Object Created", "Object Deleted"], detail=watched
            ),
            # only deployments write a folder's documents, so there are no changes that events could miss
            schedule=None if self._settings.documents.kind is Documents.FOLDER else NIGHTLY,
            targets=[
                targets.SqsQueue(
                    queue, message=events.RuleTargetInput.from_text(MESSAGE), message_group_id=GROUP
                )
            ],
        )

    def _function(self, queue: sqs.Queue) -> lambda_.EventSourceMapping:
        function = PythonFunction(
            self,
            "Start",
            name=self.name,
            module="lambdas.start_ingestion.handler",
            description="Ingests the documents after they changed, one job at a time.",
            environment={
                "KNOWLEDGE_BASE_ID": self._base.knowledge_base_id,
                "DATA_SOURCE_ID": self._base.data_source_id,
            },
            timeout=TIMEOUT,
            memory_mb=MEMORY_MB,
            settings=self._settings,
            encryption_key=self._key,
        )
        policy = iam.Policy(
            self,
            "Ingest",
            roles=[function.role],
            statements=[
                serving("ServeChanges", queue),
                allow("RunJobs", RUN_JOBS, [self._base.knowledge_base_arn]),
            ],
        )
        return serve(self, queue, function.alias, batch_size=1, after=policy)

    def _mirror(self) -> cdk.CustomResource:
        corpus, intermediate = self._buckets.corpus, self._buckets.intermediate
        folder = assets.Asset(
            self,
            "Documents",
            path=str(PROJECT / self._settings.corpus),
            exclude=[*HIDDEN, *_endings(UNSUPPORTED)],
            ignore_mode=cdk.IgnoreMode.GLOB,
            follow_symlinks=cdk.SymlinkFollowMode.BLOCK_EXTERNAL,
        )
        archive = cdk.Stack.of(self).format_arn(
            service="s3",
            region="",
            account="",
            resource=folder.s3_bucket_name,
            resource_name=folder.s3_object_key,
        )
        step, policy = self._steps.step(
            "Documents",
            [
                allow("ReadUploadedFolder", ["s3:GetObject"], [archive]),
                allow(
                    "ListObjects", ["s3:ListBucket"], [corpus.bucket_arn, intermediate.bucket_arn]
                ),
                allow(
                    "MirrorFolder",
                    ["s3:DeleteObject", "s3:PutObject"],
                    [corpus.arn_for_objects("*")],
                ),
                allow(
                    "KeepListOfWhatWasWritten",
                    ["s3:GetObject", "s3:PutObject"],
                    [intermediate.arn_for_objects(WRITTEN)],
                ),
                *use_key(self, self._key, via="s3", write=True),
            ],
            {
                "DocumentsBucket": corpus.bucket_name,
                "IntermediateBucket": intermediate.bucket_name,
                "AssetBucket": folder.s3_bucket_name,
                "AssetKey": folder.s3_object_key,
                "Chunking": chunking_version(self._settings),
            },
        )
        explain_objects(policy, corpus, "The bucket mirrors a folder: any document may come or go.")
        cdk.CfnOutput(
            cdk.Stack.of(self),
            "LastMirror",
            value=step.get_att_string("Summary"),
            description="documents that the last deployment copied",
        )
        return step

    def _tear_down(self) -> cdk.CustomResource:
        drain = allow(
            "DrainJobs",
            ["bedrock:ListIngestionJobs", "bedrock:StopIngestionJob"],
            [self._base.knowledge_base_arn],
        )
        return self._steps.tear_down(
            self._buckets.own if self._settings.removal is Removal.DESTROY else (),
            drain,
            KnowledgeBaseId=self._base.knowledge_base_id,
            DataSourceId=self._base.data_source_id,
        )


WRITTEN: Final = "mirrored.json"
"""The same as ``LIST_KEY`` in ``lambdas.deploy_steps.mirror``."""


def chunking_version(settings: Settings) -> str:
    """Return a text of everything but a document's bytes that affects its chunks."""
    order = settings.retrieval.date_order or "none"
    algorithm = ChunkingSettings().fingerprint
    return f"{algorithm}-extract-{EXTRACTION}-markup-{MARKUP_VERSION}-dates-{order}"


def _endings(suffixes: Iterable[str]) -> Iterator[str]:
    """Yield patterns of files with these suffixes, in any case, and of their metadata files."""
    for suffix in suffixes:
        ending = "".join(f"[{it}{it.upper()}]" if it.isalpha() else it for it in suffix)
        yield f"**/*.{ending}"
        yield f"**/*.{ending}.metadata.json"


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
