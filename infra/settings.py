"""The deployment's settings, read once from CDK's context and checked as a whole.

``cdk.json`` has them as an object under ``knowledge-rag``; ``-c knowledge-rag:entrypoint=both``
overrides one value. A preset supplies the values that are not set. All errors are reported together.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from infra.account_values import (
    assets_bucket,
    boundary_arn,
    kms_key_arn,
    qualifier,
    role_arn,
    tags,
)
from infra.models import check_embedding, destination_regions
from infra.setting_values import (
    MISSING,
    Problems,
    agent_space,
    bucket_name,
    choice,
    claims,
    email,
    handbook_url,
    key_arn,
    key_prefix,
    knowledge_base_id,
    locator,
    metadata_filter,
    name,
    names,
    number,
    number_or,
    pagerduty_url,
    question,
    slack_channel,
    switch,
    teams_channel,
    text,
    topic_arn,
    whole,
)
from knowledge_rag.core.alarms import Thresholds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CONTEXT_KEY: Final = "knowledge-rag"

_LOG_RETENTION_DAYS: Final = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827)
"""Accepted by CloudWatch Logs, up to five years."""

_OCU: Final = (1, 2, 4, 8, 16, 32, 48, 64, 80, 96)
"""Capacities that OpenSearch Serverless documents for the limits of a collection group."""


class SettingsError(ValueError):
    """One or more settings are wrong; the message has a line for each."""


class Preset(StrEnum):
    """Values for everything that is not set."""

    DEV = "dev"
    PROD = "prod"


class VectorStore(StrEnum):
    """Where the vectors are stored."""

    OPENSEARCH = "opensearch"
    S3_VECTORS = "s3-vectors"


class Generation(StrEnum):
    """Generation of OpenSearch Serverless; NextGen scales to its minimum capacity when idle."""

    CLASSIC = "classic"
    NEXTGEN = "nextgen"


class Network(StrEnum):
    """Who reaches the collection's endpoint: everyone with credentials, or Bedrock alone."""

    PUBLIC = "public"
    PRIVATE = "private"


class Entrypoint(StrEnum):
    """The callers' way to the retrieval function."""

    AGENT = "agent"
    GATEWAY = "gateway"
    BOTH = "both"
    HARNESS = "harness"
    NONE = "none"


_WITH_GATEWAY: Final = frozenset({Entrypoint.GATEWAY, Entrypoint.BOTH, Entrypoint.HARNESS})


class SearchType(StrEnum):
    """How the knowledge base is searched."""

    HYBRID = "HYBRID"
    SEMANTIC = "SEMANTIC"


class FloorMode(StrEnum):
    """A floor that is no fixed score: measured after the deployment, or none at all."""

    AUTO = "auto"
    OFF = "off"


class SourcePolicy(StrEnum):
    """Which sources come first."""

    OFF = "off"
    WEBSITE_FIRST = "website-first"


class DateOrder(StrEnum):
    """Order of day and month in a date of digits and slashes."""

    UNSET = ""
    MDY = "mdy"
    DMY = "dmy"


class GatewayAuthorizer(StrEnum):
    """How callers of the gateway authenticate."""

    IAM = "iam"
    JWT = "jwt"


class KnowledgeBaseType(StrEnum):
    """The type that Bedrock gives a knowledge base."""

    VECTOR = "VECTOR"
    MANAGED = "MANAGED"


class Documents(StrEnum):
    """Where documents come from: a folder of the project, or a bucket that others write to."""

    FOLDER = "folder"
    BUCKET = "bucket"


class Removal(StrEnum):
    """What happens to data when its stack is deleted."""

    RETAIN = "retain"
    DESTROY = "destroy"


class Setting(NamedTuple):
    """The values that a setting may have, and its value in each preset."""

    parse: Callable[[Any], Any]
    dev: Any
    prod: Any


def _setting(parse: Callable[[Any], Any], dev: object, *prod: object, key: str = "") -> Any:  # noqa: ANN401 - a field of any type
    """Declare a setting; the value in prod is that of dev unless given, the key the field's name."""
    return field(metadata={"key": key, "setting": Setting(parse, dev, *(prod or (dev,)))})


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSettings:
    """The bucket of the documents; ``""`` for the stack's own, all of it, and its key."""

    kind: Documents = _setting(choice(Documents), Documents.FOLDER, key="documents")
    bucket: str = _setting(bucket_name, "", key="documents_bucket")
    prefix: str = _setting(key_prefix, "", key="documents_prefix")
    key: str = _setting(key_arn, "", key="documents_key")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """The vector store; capacities in OCU, those of indexing and of searching each."""

    kind: VectorStore = _setting(choice(VectorStore), VectorStore.OPENSEARCH, key="vector_store")
    generation: Generation = _setting(choice(Generation), Generation.NEXTGEN)
    standby: bool = _setting(switch, False, True, key="standby_replicas")
    min_search_ocu: int = _setting(whole(0, 96, allowed=(0, *_OCU)), 0, 1)
    max_ocu: int = _setting(whole(1, 96, allowed=_OCU), 2, 4)
    network: Network = _setting(choice(Network), Network.PUBLIC)
    embedding_model: str = _setting(text, "amazon.titan-embed-text-v2:0")
    embedding_dimension: int = _setting(whole(1, 4096), 1024)

    @property
    def sleeps(self) -> bool:
        """Whether search has no capacity when idle, so that the first query waits for it."""
        opensearch = self.kind is VectorStore.OPENSEARCH
        return opensearch and self.generation is Generation.NEXTGEN and not self.min_search_ocu


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingSettings:
    """A knowledge base that others made, and the documents that its results are located in."""

    knowledge_base_id: str = _setting(knowledge_base_id, "")
    kind: KnowledgeBaseType = _setting(
        choice(KnowledgeBaseType), KnowledgeBaseType.VECTOR, key="knowledge_base_type"
    )
    bucket: str = _setting(bucket_name, "", key="source_bucket")
    prefix: str = _setting(key_prefix, "", key="source_prefix")
    key: str = _setting(key_arn, "", key="source_key")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSettings:
    """The retrieval function, and the sources it searches."""

    search_type: SearchType = _setting(choice(SearchType), SearchType.HYBRID)
    evidence_floor: float | FloorMode = _setting(
        number_or(FloorMode, -1e6, 1e6, unset=FloorMode.AUTO), FloorMode.AUTO
    )
    source_policy: SourcePolicy = _setting(choice(SourcePolicy), SourcePolicy.OFF)
    secondary_scope: str = _setting(metadata_filter, "")
    date_order: DateOrder = _setting(choice(DateOrder, "mdy or dmy, or nothing"), DateOrder.UNSET)
    guardrail: bool = _setting(switch, False, True)
    reserved_concurrency: int = _setting(whole(0, 1000), 0, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrypointSettings:
    """The agent and the gateway."""

    kind: Entrypoint = _setting(choice(Entrypoint), Entrypoint.GATEWAY, key="entrypoint")
    agent_model: str = _setting(text, "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    agent_model_regions: tuple[str, ...] = _setting(names, ())
    gateway_authorizer: GatewayAuthorizer = _setting(
        choice(GatewayAuthorizer), GatewayAuthorizer.IAM
    )
    gateway_logs: bool = _setting(switch, False)
    devops_agent_space: str = _setting(agent_space, "")
    gateway_requests_per_minute: int = _setting(whole(0, 1_000_000), 0)
    jwt_discovery_url: str = _setting(locator, "")
    jwt_audiences: tuple[str, ...] = _setting(names, ())
    jwt_clients: tuple[str, ...] = _setting(names, ())
    jwt_scopes: tuple[str, ...] = _setting(names, ())
    jwt_claims: str = _setting(claims, "")

    @property
    def agent(self) -> bool:
        """Whether there is an agent."""
        return self.kind in {Entrypoint.AGENT, Entrypoint.BOTH}

    @property
    def gateway(self) -> bool:
        """Whether there is a gateway."""
        return self.kind in _WITH_GATEWAY

    @property
    def harness(self) -> bool:
        """Whether there is a harness."""
        return self.kind is Entrypoint.HARNESS


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringSettings:
    """Who is told of alarms, and what the canary asks."""

    alarm_email: str = _setting(email, "")
    alarm_topic_arn: str = _setting(topic_arn, "")
    slack_channel: str = _setting(slack_channel, "")
    teams_channel: str = _setting(teams_channel, "")
    pagerduty_url: str = _setting(pagerduty_url, "")
    handbook_url: str = _setting(handbook_url, "")
    canary_question: str = _setting(question, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSettings:
    """What an organisation prescribes for its accounts; ``""`` for what CDK does by itself."""

    key: str = _setting(kms_key_arn, "", key="kms_key_arn")
    permissions_boundary: str = _setting(boundary_arn, "")
    tags: dict[str, str] = _setting(tags, {})
    qualifier: str = _setting(qualifier, "", key="bootstrap_qualifier")
    deploy_role: str = _setting(role_arn, "", key="deploy_role_arn")
    execution_role: str = _setting(role_arn, "", key="execution_role_arn")
    assets_role: str = _setting(role_arn, "", key="assets_role_arn")
    assets_bucket: str = _setting(assets_bucket, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of one deployment; ``docs/reference/settings.md`` says what each one does."""

    name: str = _setting(name(max_characters=20), "knowledge-rag-dev", "knowledge-rag-prod")
    corpus: str = _setting(text, "knowledge-corpus")
    removal: Removal = _setting(
        choice(Removal), Removal.DESTROY, Removal.RETAIN, key="removal_policy"
    )
    customer_managed_key: bool = _setting(switch, False, True)
    log_retention_days: int = _setting(whole(1, 1827, allowed=_LOG_RETENTION_DAYS), 14, 90)
    preset: Preset
    account: AccountSettings
    documents: DocumentSettings
    store: StoreSettings
    existing: ExistingSettings
    retrieval: RetrievalSettings
    entrypoint: EntrypointSettings
    monitoring: MonitoringSettings
    thresholds: Thresholds


_THRESHOLDS: Final[dict[str, Callable[[Any], Any]]] = {
    "latency_p95_ms": whole(100, 30_000),
    "error_rate_percent": number(0, 100),
    "zero_result_warning_percent": number(0, 100),
    "zero_result_alarm_percent": number(0, 100),
    "timeouts": whole(0, 10_000),
    "min_samples": whole(1, 10_000),
}


def _declared() -> Iterator[tuple[str, Setting]]:
    for kind in (
        Settings,
        AccountSettings,
        DocumentSettings,
        StoreSettings,
        ExistingSettings,
        RetrievalSettings,
        EntrypointSettings,
        MonitoringSettings,
    ):
        for each in fields(kind):
            if "setting" in each.metadata:
                yield each.metadata["key"] or each.name, each.metadata["setting"]
    for key, parse in _THRESHOLDS.items():
        default = getattr(Thresholds(), key)
        yield key, Setting(parse, default, default)


SETTINGS: Final = dict(_declared())
"""Every setting by its name in the context."""


def load_settings(context: Mapping[str, Any], region: str | None = None) -> Settings:
    """Read the settings from CDK's context.

    Args:
        context: everything of ``cdk.json`` and the command line.
        region: of the deployment, where it is known before synth.

    Raises:
        SettingsError: one or more values are wrong; every one is named.
    """
    problems = Problems()
    given = _given(context, problems)
    preset = problems.read("preset", given.pop("preset", Preset.DEV), choice(Preset), Preset.DEV)
    values = {}
    for key, (parse, dev, prod) in SETTINGS.items():
        default = prod if preset is Preset.PROD else dev
        values[key] = problems.read(key, given[key], parse, default) if key in given else default
    _check_together(values, given, region, problems)
    _check_existing(values, given, problems)
    if problems.found:
        raise SettingsError("\n".join(["settings are wrong:", *problems.found]))
    return Settings(
        **_fields(Settings, values),
        preset=preset,
        account=AccountSettings(**_fields(AccountSettings, values)),
        documents=DocumentSettings(**_fields(DocumentSettings, values)),
        store=StoreSettings(**_fields(StoreSettings, values)),
        existing=ExistingSettings(**_fields(ExistingSettings, values)),
        retrieval=RetrievalSettings(**_fields(RetrievalSettings, values)),
        entrypoint=EntrypointSettings(**_fields(EntrypointSettings, values)),
        monitoring=MonitoringSettings(**_fields(MonitoringSettings, values)),
        thresholds=Thresholds(**{key: values[key] for key in _THRESHOLDS}),
    )


def _fields(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        each.name: values[each.metadata["key"] or each.name]
        for each in fields(kind)
        if "setting" in each.metadata
    }


def _given(context: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    """Return the values that are set; those of the command line override those of the file."""
    known = ("preset", *SETTINGS)
    file = context.get(CONTEXT_KEY, {})
    if isinstance(file, str):  # -c knowledge-rag='{"preset": "prod"}'
        try:
            file = json.loads(file)
        except (ValueError, RecursionError):
            file = None
    if not isinstance(file, dict):
        problems.add(CONTEXT_KEY, MISSING, "an object of settings")
        file = {}
    given = dict(file)
    for key, value in context.items():
        if key.startswith(CONTEXT_KEY + ":"):
            given[key.removeprefix(CONTEXT_KEY + ":")] = value
    for key in sorted(set(context) & set(known)):  # preset=prod, which nothing would read
        problems.add(key, context[key], f"{CONTEXT_KEY}:{key}, with its prefix")
    for key in sorted(set(given) - set(known)):
        problems.add_unknown(key, given.pop(key), known)
    return given


def _check_together(
    values: dict[str, Any], given: Mapping[str, Any], region: str | None, problems: Problems
) -> None:
    """Check combinations of settings."""
    check_embedding(values["embedding_model"], values["embedding_dimension"], problems)
    _check_documents(values, given, problems)
    _check_store(values, problems)
    if values["zero_result_warning_percent"] > values["zero_result_alarm_percent"]:
        problems.add(
            "zero_result_warning_percent",
            values["zero_result_warning_percent"],
            "at most zero_result_alarm_percent",
        )
    if values["entrypoint"] in {Entrypoint.AGENT, Entrypoint.BOTH, Entrypoint.HARNESS}:
        values["agent_model_regions"] = destination_regions(
            values["agent_model"], values["agent_model_regions"], region, problems
        )
    policy = values["source_policy"]
    if policy is SourcePolicy.OFF and values["secondary_scope"]:
        problems.add(
            "secondary_scope", values["secondary_scope"], "unset unless source_policy=website-first"
        )
    if policy is SourcePolicy.WEBSITE_FIRST and values["search_type"] is not SearchType.HYBRID:
        problems.add("source_policy", policy, "off unless search_type=HYBRID")
    _check_gateway(values, problems)
    _check_topic(values, region, problems)
    if values["kms_key_arn"] and not values["customer_managed_key"]:
        problems.add("kms_key_arn", values["kms_key_arn"], "unset unless customer_managed_key=true")
    _check_keys(values, region, problems)


def _check_keys(values: Mapping[str, Any], region: str | None, problems: Problems) -> None:
    for key in ("kms_key_arn", "documents_key", "source_key"):
        arn = values[key]
        if arn and region and arn.split(":")[3] != region:
            problems.add(key, arn, f"a key of {region}, where this is deployed")


def _check_topic(values: Mapping[str, Any], region: str | None, problems: Problems) -> None:
    arn = values["alarm_topic_arn"]
    if not arn:
        return
    if region and arn.split(":")[3] != region:
        problems.add("alarm_topic_arn", arn, f"a topic in {region}, where the alarms are")
    for key in ("alarm_email", "pagerduty_url"):
        if values[key]:
            problems.add(key, values[key], "unset with alarm_topic_arn: subscribe to that topic")


_OF_DATA: Final = (
    "corpus",
    "date_order",
    *(
        each.metadata["key"] or each.name
        for kind in (DocumentSettings, StoreSettings)
        for each in fields(kind)
    ),
)
"""Settings of the stack that an existing knowledge base stands in for."""


def _check_existing(
    values: Mapping[str, Any], given: Mapping[str, Any], problems: Problems
) -> None:
    managed = values["knowledge_base_type"] is KnowledgeBaseType.MANAGED
    only = {"source_bucket": "knowledge_base_id"}
    only |= dict.fromkeys(("source_prefix", "source_key"), "source_bucket")
    if managed:
        only["knowledge_base_type"] = "knowledge_base_id"
    for key, other in only.items():
        if values[key] and not values[other]:
            problems.add(key, values[key], f"unset unless {other} is set")
    if values["knowledge_base_id"]:
        for key in (*_OF_DATA, *(["search_type"] if managed else [])):
            if key in given:
                problems.add(key, given[key], "unset with this existing knowledge base")
        if managed and not values["source_bucket"]:
            problems.add("source_bucket", MISSING, "a bucket, with knowledge_base_type=MANAGED")
    if values["source_bucket"] and values["source_policy"] is not SourcePolicy.OFF:
        problems.add("source_policy", values["source_policy"], "off with source_bucket")


def _check_documents(
    values: Mapping[str, Any], given: Mapping[str, Any], problems: Problems
) -> None:
    if values["documents"] is Documents.FOLDER:
        for key in ("documents_bucket", "documents_prefix", "documents_key"):
            if values[key]:
                problems.add(key, values[key], "unset unless documents=bucket")
    elif "corpus" in given:
        problems.add("corpus", given["corpus"], "unset with documents=bucket")
    if values["documents_key"] and not values["documents_bucket"]:
        problems.add(
            "documents_key", values["documents_key"], "unset unless documents_bucket is set"
        )


def _check_store(values: Mapping[str, Any], problems: Problems) -> None:
    least = values["min_search_ocu"]
    if values["vector_store"] is VectorStore.S3_VECTORS:
        if values["search_type"] is SearchType.HYBRID:
            problems.add(
                "search_type",
                values["search_type"],
                "SEMANTIC with vector_store=s3-vectors, which has no keyword search",
            )
        if values["network"] is Network.PRIVATE:
            problems.add("network", values["network"], "public with vector_store=s3-vectors")
    elif values["generation"] is Generation.CLASSIC and least:
        problems.add(
            "min_search_ocu",
            least,
            "0 with generation=classic, which never scales below its own minimum",
        )
    if least > values["max_ocu"]:
        problems.add("min_search_ocu", least, "at most max_ocu")


_JWT: Final = ("jwt_discovery_url", "jwt_audiences", "jwt_clients", "jwt_scopes", "jwt_claims")


def _check_gateway(values: Mapping[str, Any], problems: Problems) -> None:
    jwt = values["gateway_authorizer"] is GatewayAuthorizer.JWT
    gateway = values["entrypoint"] in _WITH_GATEWAY
    if jwt and values["entrypoint"] is Entrypoint.HARNESS:
        problems.add("gateway_authorizer", "jwt", "iam with entrypoint=harness, which signs")
    if (space := values["devops_agent_space"]) and (jwt or not gateway):
        allowed = "unset unless there is a gateway with gateway_authorizer=iam"
        problems.add("devops_agent_space", space, allowed)
    if not jwt:
        for key in _JWT:
            if values[key]:
                problems.add(key, values[key], "unset unless gateway_authorizer=jwt")
        return
    if not values["jwt_discovery_url"]:
        allowed = "an https address that ends in /.well-known/openid-configuration"
        problems.add("jwt_discovery_url", MISSING, f"{allowed}, with gateway_authorizer=jwt")
    if not values["jwt_audiences"] and not values["jwt_clients"]:  # else any token of the issuer
        allowed = "one audience or more, or jwt_clients, with gateway_authorizer=jwt"
        problems.add("jwt_audiences", MISSING, allowed)
