"""The retrieval function in AWS: its settings and its minimal permissions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.cloudformation import acknowledge, allow, resource_of
from infra.python_function import PythonFunction
from infra.settings import FloorMode, KnowledgeBaseType, SourcePolicy, VectorStore

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

    from infra.guardrail import Guardrail
    from infra.settings import ExistingSettings, Settings

MODULE: Final = "lambdas.retrieve_knowledge.handler"

TIMEOUT: Final = Duration.seconds(5)
"""The function has its own time budget of 2 s. Lambda's timeout also includes an initialisation that is repeated
because its sandbox failed, some 2 s at this memory; a kill then would leave the agent without any answer
instead of a slow one."""

MEMORY_MB: Final = 1024
"""0.6 of a processor. A warm call uses a few milliseconds of one, but the first call after a restore
opens a TLS connection, and reading 100 large results takes tens of milliseconds: with a quarter of a
processor, that would shorten the search's 2 s. The time that it saves offsets its cost."""

DEFAULT_FLOORS: Final = {VectorStore.OPENSEARCH: 0.385, VectorStore.S3_VECTORS: 0.2}
"""Score threshold of ``evidence_floor=auto`` until one is measured: the store's score of a cosine of 0.2,
1 / (1 + squared distance) in OpenSearch and the cosine itself in S3 Vectors. It rejects little, and
nothing that is documented."""

DENIED: Final = (
    "bedrock:CreateDataSource",
    "bedrock:DeleteDataSource",
    "bedrock:DeleteKnowledgeBase",
    "bedrock:DeleteKnowledgeBaseDocuments",
    "bedrock:IngestKnowledgeBaseDocuments",
    "bedrock:StartIngestionJob",
    "bedrock:UpdateDataSource",
    "bedrock:UpdateKnowledgeBase",
)
"""Actions that change a knowledge base. No policy allows them, and the denial also overrides policies added later."""


class Retrieval(Construct):
    """``retrieve_knowledge``, with read access to one knowledge base and the documents of an existing one.

    Args:
        knowledge_base_id: id of the knowledge base, which may be known only on deployment.
        guardrail: guardrail that Retrieve applies, if any.
        encryption_key: key of its environment and its log, if it is one of the account's own.

    Attributes:
        floor_parameter: name of the parameter with the measured score threshold, ``""`` for none.
    """

    def __init__(  # noqa: PLR0913 - a construct's properties are keyword arguments
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        knowledge_base_id: str,
        guardrail: Guardrail | None = None,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.name = f"{settings.name}-retrieve-knowledge"
        measured = self.floor_parameter = _floor_parameter(settings, knowledge_base_id)
        packed = PythonFunction(
            self,
            "Retrieve",
            name=self.name,
            module=MODULE,
            description="Answers a question with cited lines of runbooks and postmortems.",
            environment=_environment(settings, knowledge_base_id, guardrail, measured),
            timeout=TIMEOUT,
            memory_mb=MEMORY_MB,
            settings=settings,
            encryption_key=encryption_key,
            reserved_concurrency=settings.retrieval.reserved_concurrency,
            snap_start=True,
            keep_versions=True,
        )
        knowledge_base = Stack.of(self).format_arn(
            service="bedrock", resource="knowledge-base", resource_name=knowledge_base_id
        )
        _grant_search(packed.role, knowledge_base, guardrail)
        _grant_documents(packed.role, settings.existing)
        if measured:
            _grant_floor(packed.role, measured)
        _follow(packed.function, knowledge_base_id, guardrail)
        self.alias = packed.alias
        self.log_group_name = packed.log_group.log_group_name


def _environment(
    settings: Settings, knowledge_base_id: str, guardrail: Guardrail | None, floor_parameter: str
) -> dict[str, str]:
    retrieval, existing = settings.retrieval, settings.existing
    floor = retrieval.evidence_floor
    # an existing knowledge base's store is unknown, so it has no default until one is measured
    if floor is FloorMode.AUTO and not existing.knowledge_base_id:
        floor = DEFAULT_FLOORS[settings.store.kind]
    managed = existing.kind is KnowledgeBaseType.MANAGED
    policed = retrieval.source_policy is not SourcePolicy.OFF
    variables = {
        "KNOWLEDGE_BASE_ID": knowledge_base_id,
        "KNOWLEDGE_BASE_TYPE": existing.kind.value if managed else "",
        "SOURCE_BUCKET": existing.bucket,
        "SOURCE_PREFIX": existing.prefix,
        "SEARCH_TYPE": retrieval.search_type.value,
        f"EVIDENCE_FLOOR_{retrieval.search_type}": ""
        if isinstance(floor, FloorMode)
        else str(floor),
        "FLOOR_PARAMETER": floor_parameter,
        "GUARDRAIL_ID": guardrail.guardrail_id if guardrail else "",
        "GUARDRAIL_VERSION": guardrail.version if guardrail else "",
        "SOURCE_POLICY": retrieval.source_policy.value if policed else "",
        "SECONDARY_SCOPE": retrieval.secondary_scope,
    }
    return {name: value for name, value in variables.items() if value}


def _floor_parameter(settings: Settings, knowledge_base_id: str) -> str:
    """Return the name of the parameter with the measured score threshold, ``""`` unless it is measured.

    It contains the knowledge base's id and the search type, because scores of others can't be compared.
    """
    if settings.retrieval.evidence_floor is not FloorMode.AUTO:
        return ""
    search = settings.retrieval.search_type.value.lower()
    return f"/{settings.name}/evidence-floor/{knowledge_base_id}/{search}"


def _grant_floor(role: iam.Role, parameter: str) -> None:
    arn = Stack.of(role).format_arn(
        service="ssm", resource="parameter", resource_name=parameter.removeprefix("/")
    )
    role.add_to_policy(allow("ReadFloor", ["ssm:GetParameter"], [arn]))


def _grant_documents(role: iam.Role, existing: ExistingSettings) -> None:
    """Let the function read and decrypt the documents of an existing knowledge base."""
    if not existing.bucket:
        return
    stack = Stack.of(role)
    objects = stack.format_arn(
        service="s3",
        region="",
        account="",
        resource=existing.bucket,
        resource_name=f"{existing.prefix}*",
    )
    role.add_to_policy(allow("ReadDocuments", ["s3:GetObject"], [objects]))
    if existing.key:
        role.add_to_policy(
            allow(
                "DecryptDocuments",
                ["kms:Decrypt"],
                [existing.key],
                {"StringEquals": {"kms:ViaService": f"s3.{stack.region}.amazonaws.com"}},
            )
        )
    acknowledge(
        role,
        f"AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::{existing.bucket}/{existing.prefix}*]",
        "It reads whichever document a result is from, below this prefix alone.",
    )


def _grant_search(role: iam.Role, knowledge_base: str, guardrail: Guardrail | None) -> None:
    role.add_to_policy(allow("SearchOneKnowledgeBase", ["bedrock:Retrieve"], [knowledge_base]))
    if guardrail is not None:
        role.add_to_policy(guardrail.apply_statement)
    role.add_to_policy(
        iam.PolicyStatement(
            sid="ChangeNoKnowledgeBase",
            effect=iam.Effect.DENY,
            actions=list(DENIED),
            resources=["*"],
        )
    )


def _follow(
    function: lambda_.Function, knowledge_base_id: str, guardrail: Guardrail | None
) -> None:
    """Publish a new version when a value that is known only on deployment changes.

    Synth names a version by the properties that it can see. A replaced knowledge base is
    another value of the same parameter, so the alias would stay on the version that searches the old one.
    CloudFormation replaces a version when its description changes.
    """
    version = resource_of(function.current_version, lambda_.CfnVersion)
    applied = f", guardrail version {guardrail.version}" if guardrail else ""
    version.description = f"knowledge base {knowledge_base_id}{applied}"
