"""The deployment's settings, read once from CDK's context and checked as a whole.

``cdk.json`` has them as an object under ``knowledge-rag``; ``-c knowledge-rag:entrypoint=both``
overrides one value. A preset supplies the values that are not set. All errors are reported together.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from enum import StrEnum
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from infra import setting_values as parse
from infra.models import check_embedding, destination_regions
from infra.setting_values import MISSING, Problems
from knowledge_rag.core.alarms import Thresholds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    _Values = Mapping[str, Any]

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
    """Access to the collection's endpoint: anyone with credentials, or only Bedrock."""

    PUBLIC = "public"
    PRIVATE = "private"


class Entrypoint(StrEnum):
    """How callers reach the retrieval function."""

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
    """A score threshold without a fixed value: measured after the deployment, or none."""

    AUTO = "auto"
    OFF = "off"


class SourcePolicy(StrEnum):
    """Which sources come first."""

    OFF = "off"
    WEBSITE_FIRST = "website-first"


class PolicyMode(StrEnum):
    """What happens to a call that the gateway's policies deny."""

    ENFORCE = "enforce"
    LOG_ONLY = "log-only"


class Release(StrEnum):
    """How a new version of the retrieval function reaches callers."""

    AT_ONCE = "at-once"
    CANARY = "canary"


class DateOrder(StrEnum):
    """Order of day and month in dates such as ``03/04/2026``."""

    UNSET = ""
    MDY = "mdy"
    DMY = "dmy"


class GatewayAuthorizer(StrEnum):
    """How callers of the gateway authenticate."""

    IAM = "iam"
    JWT = "jwt"


class KnowledgeBaseType(StrEnum):
    """Bedrock's type of a knowledge base."""

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
    """The parser of a setting's value, and its default in each preset."""

    parse: Callable[[Any], Any]
    dev: Any
    prod: Any


def _setting(parse: Callable[[Any], Any], dev: object, *prod: object, key: str = "") -> Any:  # noqa: ANN401 - a field of any type
    """Declare a setting; ``prod`` defaults to the value of ``dev``, ``key`` to the field's name."""
    return field(metadata={"key": key, "setting": Setting(parse, dev, *(prod or (dev,)))})


def _choice(dev: StrEnum, *prod: StrEnum, key: str = "") -> Any:  # noqa: ANN401 - likewise
    """Declare a setting with the values of an enumeration."""
    return _setting(parse.choice(type(dev)), dev, *prod, key=key)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSettings:
    """The bucket of the documents. Empty values mean the stack's own bucket, all its objects, and its key."""

    kind: Documents = _choice(Documents.FOLDER, key="documents")
    bucket: str = _setting(parse.bucket_name, "", key="documents_bucket")
    prefix: str = _setting(parse.key_prefix, "", key="documents_prefix")
    key: str = _setting(parse.key_arn, "", key="documents_key")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """The vector store; each capacity is in OCU and applies to indexing and to searching separately."""

    kind: VectorStore = _choice(VectorStore.OPENSEARCH, key="vector_store")
    generation: Generation = _choice(Generation.NEXTGEN)
    standby: bool = _setting(parse.switch, False, True, key="standby_replicas")
    min_search_ocu: int = _setting(parse.whole(0, 96, allowed=(0, *_OCU)), 0, 1)
    max_ocu: int = _setting(parse.whole(1, 96, allowed=_OCU), 2, 4)
    network: Network = _choice(Network.PUBLIC)
    embedding_model: str = _setting(parse.text, "amazon.titan-embed-text-v2:0")
    embedding_dimension: int = _setting(parse.whole(1, 4096), 1024)

    @property
    def sleeps(self) -> bool:
        """Whether search has no capacity when idle, so that the first query has to wait."""
        opensearch = self.kind is VectorStore.OPENSEARCH
        return opensearch and self.generation is Generation.NEXTGEN and not self.min_search_ocu


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingSettings:
    """An existing knowledge base, and the documents that contain its results."""

    knowledge_base_id: str = _setting(parse.knowledge_base_id, "")
    kind: KnowledgeBaseType = _choice(KnowledgeBaseType.VECTOR, key="knowledge_base_type")
    bucket: str = _setting(parse.bucket_name, "", key="source_bucket")
    prefix: str = _setting(parse.key_prefix, "", key="source_prefix")
    key: str = _setting(parse.key_arn, "", key="source_key")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSettings:
    """The retrieval function, and the sources it searches."""

    search_type: SearchType = _choice(SearchType.HYBRID)
    evidence_floor: float | FloorMode = _setting(
        parse.number_or(FloorMode, -1e6, 1e6, unset=FloorMode.AUTO), FloorMode.AUTO
    )
    source_policy: SourcePolicy = _choice(SourcePolicy.OFF)
    secondary_scope: str = _setting(parse.metadata_filter, "")
    date_order: DateOrder = _setting(
        parse.choice(DateOrder, "mdy or dmy, or nothing"), DateOrder.UNSET
    )
    guardrail: bool = _setting(parse.switch, False, True)
    reserved_concurrency: int = _setting(parse.whole(0, 1000), 0, 20)
    release: Release = _choice(Release.AT_ONCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrypointSettings:
    """The agent, the gateway and the harness."""

    kind: Entrypoint = _choice(Entrypoint.GATEWAY, key="entrypoint")
    agent_model: str = _setting(parse.text, "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    agent_model_regions: tuple[str, ...] = _setting(parse.names, ())
    gateway_authorizer: GatewayAuthorizer = _choice(GatewayAuthorizer.IAM)
    gateway_logs: bool = _setting(parse.switch, False)
    devops_agent_space: str = _setting(parse.agent_space, "")
    gateway_policy_engine: str = _setting(parse.policy_engine, "")
    gateway_policy_mode: PolicyMode = _choice(PolicyMode.ENFORCE)
    gateway_requests_per_minute: int = _setting(parse.whole(0, 1_000_000), 0)
    jwt_discovery_url: str = _setting(parse.discovery_url, "")
    jwt_audiences: tuple[str, ...] = _setting(parse.names, ())
    jwt_clients: tuple[str, ...] = _setting(parse.names, ())
    jwt_scopes: tuple[str, ...] = _setting(parse.names, ())
    jwt_claims: str = _setting(parse.claims, "")

    @property
    def agent(self) -> bool:
        """Whether the deployment has an agent."""
        return self.kind in {Entrypoint.AGENT, Entrypoint.BOTH}

    @property
    def gateway(self) -> bool:
        """Whether the deployment has a gateway."""
        return self.kind in _WITH_GATEWAY

    @property
    def harness(self) -> bool:
        """Whether the deployment has a harness."""
        return self.kind is Entrypoint.HARNESS


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringSettings:
    """Recipients of alarms, and the canary's question."""

    alarm_email: str = _setting(parse.email, "")
    alarm_topic_arn: str = _setting(parse.topic_arn, "")
    slack_channel: str = _setting(parse.slack_channel, "")
    teams_channel: str = _setting(parse.teams_channel, "")
    pagerduty_url: str = _setting(parse.pagerduty_url, "")
    handbook_url: str = _setting(parse.handbook_url, "")
    canary_question: str = _setting(parse.question, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceSettings:
    """Destinations of the steps for alarms; without a file of them there is no advice stack."""

    destinations: str = _setting(parse.file_path, "", key="advice_destinations")
    secret: str = _setting(parse.secret_arn, "", key="advice_secret_arn")
    secret_key: str = _setting(parse.key_arn, "", key="advice_secret_key")
    model: str = _setting(parse.model, "", key="advice_model")
    model_regions: tuple[str, ...] = _setting(parse.names, (), key="advice_model_regions")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSettings:
    """An organisation's requirements for its accounts; empty values keep CDK's defaults."""

    key: str = _setting(parse.kms_key_arn, "", key="kms_key_arn")
    permissions_boundary: str = _setting(parse.boundary_arn, "")
    tags: dict[str, str] = _setting(parse.tags, {})
    qualifier: str = _setting(parse.qualifier, "", key="bootstrap_qualifier")
    deploy_role: str = _setting(parse.role_arn, "", key="deploy_role_arn")
    execution_role: str = _setting(parse.role_arn, "", key="execution_role_arn")
    assets_role: str = _setting(parse.role_arn, "", key="assets_role_arn")
    assets_bucket: str = _setting(parse.assets_bucket, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of one deployment; ``docs/reference/settings.md`` describes each."""

    name: str = _setting(parse.name(max_characters=20), "knowledge-rag-dev", "knowledge-rag-prod")
    corpus: str = _setting(parse.text, "knowledge-corpus")
    removal: Removal = _choice(Removal.DESTROY, Removal.RETAIN, key="removal_policy")
    customer_managed_key: bool = _setting(parse.switch, False, True)
    log_retention_days: int = _setting(parse.whole(1, 1827, allowed=_LOG_RETENTION_DAYS), 14, 90)
    preset: Preset
    account: AccountSettings
    documents: DocumentSettings
    store: StoreSettings
    existing: ExistingSettings
    retrieval: RetrievalSettings
    entrypoint: EntrypointSettings
    monitoring: MonitoringSettings
    advice: AdviceSettings
    thresholds: Thresholds


_THRESHOLDS: Final[dict[str, Callable[[Any], Any]]] = {
    "latency_p95_ms": parse.whole(100, 30_000),
    "error_rate_percent": parse.number(0, 100),
    "zero_result_warning_percent": parse.number(0, 100),
    "zero_result_alarm_percent": parse.number(0, 100),
    "timeouts": parse.whole(0, 10_000),
    "min_samples": parse.whole(1, 10_000),
}


_SECTIONS: Final[dict[str, Any]] = {
    "account": AccountSettings,
    "documents": DocumentSettings,
    "store": StoreSettings,
    "existing": ExistingSettings,
    "retrieval": RetrievalSettings,
    "entrypoint": EntrypointSettings,
    "monitoring": MonitoringSettings,
    "advice": AdviceSettings,
}


def _fields(kind: Any) -> dict[str, tuple[str, Setting]]:  # noqa: ANN401 - a class of settings
    """Return the settings that a class declares: field name -> its name in the context, and the setting."""
    return {
        each.name: (each.metadata["key"] or each.name, each.metadata["setting"])
        for each in fields(kind)
        if "setting" in each.metadata
    }


def _declared() -> Iterator[tuple[str, Setting]]:
    for kind in (Settings, *_SECTIONS.values()):
        yield from _fields(kind).values()
    for key, read in _THRESHOLDS.items():
        default = getattr(Thresholds(), key)
        yield key, Setting(read, default, default)


SETTINGS: Final = dict(_declared())
"""Every setting by its name in the context."""


def load_settings(context: Mapping[str, Any], region: str | None = None) -> Settings:
    """Read the settings from CDK's context.

    Args:
        context: all of CDK's context, from ``cdk.json`` and the command line.
        region: the deployment's region, if it is known before synth.

    Raises:
        SettingsError: one or more values are wrong; the message names each.
    """
    problems = Problems()
    given = _given(context, problems)
    preset = problems.read(
        "preset", given.pop("preset", Preset.DEV), parse.choice(Preset), Preset.DEV
    )
    values = {}
    for key, (read, dev, prod) in SETTINGS.items():
        default = prod if preset is Preset.PROD else dev
        values[key] = problems.read(key, given[key], read, default) if key in given else default
    _check_together(values, given, region, problems)
    if problems.found:
        raise SettingsError("\n".join(["settings are wrong:", *problems.found]))

    def of(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - a class of settings
        return {name: values[key] for name, (key, _) in _fields(kind).items()}

    return Settings(
        preset=preset,
        thresholds=Thresholds(**{key: values[key] for key in _THRESHOLDS}),
        **of(Settings),
        **{name: kind(**of(kind)) for name, kind in _SECTIONS.items()},
    )


def _given(context: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    """Return the values that are set; the command line's override the file's."""
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
    for key in sorted(set(context) & set(known)):  # preset=prod, which would be ignored
        problems.add(key, context[key], f"{CONTEXT_KEY}:{key}, with its prefix")
    for key in sorted(set(given) - set(known)):
        problems.add_unknown(key, given.pop(key), known)
    return given


class _Rule(NamedTuple):
    """An invalid combination of settings: the setting to change, and the value that is allowed."""

    key: str
    wrong: Callable[[_Values], bool]
    allowed: str


def _unset(allowed: str, unless: Callable[[_Values], object], *keys: str) -> tuple[_Rule, ...]:
    def rule(key: str) -> _Rule:
        return _Rule(key, lambda values: bool(values[key]) and not unless(values), allowed)

    return tuple(map(rule, keys))


def _needs(other: str, *keys: str) -> tuple[_Rule, ...]:
    return _unset(f"unset unless {other} is set", itemgetter(other), *keys)


def _is(key: str, *members: StrEnum) -> Callable[[_Values], bool]:
    return lambda values: values[key] in members


_jwt: Final = _is("gateway_authorizer", GatewayAuthorizer.JWT)
_hybrid: Final = _is("search_type", SearchType.HYBRID)
_managed: Final = _is("knowledge_base_type", KnowledgeBaseType.MANAGED)
_s3_vectors: Final = _is("vector_store", VectorStore.S3_VECTORS)
_website_first: Final = _is("source_policy", SourcePolicy.WEBSITE_FIRST)
_classic: Final = _is("generation", Generation.CLASSIC)
_log_only: Final = _is("gateway_policy_mode", PolicyMode.LOG_ONLY)
_gateway: Final = _is("entrypoint", *_WITH_GATEWAY)

_RULES: Final = (
    *_unset(
        "unset unless documents=bucket",
        _is("documents", Documents.BUCKET),
        *("documents_bucket", "documents_prefix", "documents_key"),
    ),
    *_needs("documents_bucket", "documents_key"),
    _Rule(
        "search_type",
        lambda v: _s3_vectors(v) and _hybrid(v),
        "SEMANTIC with vector_store=s3-vectors, which has no keyword search",
    ),
    _Rule(
        "network",
        lambda v: _s3_vectors(v) and v["network"] is Network.PRIVATE,
        "public with vector_store=s3-vectors",
    ),
    _Rule(
        "min_search_ocu",
        lambda v: not _s3_vectors(v) and _classic(v) and v["min_search_ocu"] > 0,
        "0 with generation=classic, which never scales below its own minimum",
    ),
    _Rule("min_search_ocu", lambda v: v["min_search_ocu"] > v["max_ocu"], "at most max_ocu"),
    _Rule(
        "zero_result_warning_percent",
        lambda v: v["zero_result_warning_percent"] > v["zero_result_alarm_percent"],
        "at most zero_result_alarm_percent",
    ),
    *_unset("unset unless source_policy=website-first", _website_first, "secondary_scope"),
    _Rule(
        "source_policy",
        lambda v: _website_first(v) and not _hybrid(v),
        "off unless search_type=HYBRID",
    ),
    _Rule(
        "source_policy",
        lambda v: _website_first(v) and bool(v["source_bucket"]),
        "off with source_bucket",
    ),
    _Rule(
        "gateway_authorizer",
        lambda v: _jwt(v) and v["entrypoint"] is Entrypoint.HARNESS,
        "iam with entrypoint=harness, which signs",
    ),
    *_unset(
        "unset unless there is a gateway with gateway_authorizer=iam",
        lambda v: _gateway(v) and not _jwt(v),
        "devops_agent_space",
    ),
    *_unset("unset unless there is a gateway", _gateway, "gateway_policy_engine"),
    _Rule(
        "gateway_policy_mode",
        lambda v: _log_only(v) and not v["gateway_policy_engine"],
        "enforce unless gateway_policy_engine is set",
    ),
    *_unset(
        "unset unless gateway_authorizer=jwt",
        _jwt,
        *("jwt_discovery_url", "jwt_audiences", "jwt_clients", "jwt_scopes", "jwt_claims"),
    ),
    _Rule(
        "jwt_discovery_url",
        lambda v: _jwt(v) and not v["jwt_discovery_url"],
        "an https address that ends in /.well-known/openid-configuration, with gateway_authorizer=jwt",
    ),
    _Rule(
        "jwt_audiences",  # without one, any token of the issuer would be accepted
        lambda v: _jwt(v) and not (v["jwt_audiences"] or v["jwt_clients"]),
        "one audience or more, or jwt_clients, with gateway_authorizer=jwt",
    ),
    *_unset(
        "unset with alarm_topic_arn: subscribe to that topic",
        lambda v: not v["alarm_topic_arn"],
        *("alarm_email", "pagerduty_url"),
    ),
    *_unset(
        "unset unless customer_managed_key=true", itemgetter("customer_managed_key"), "kms_key_arn"
    ),
    *_needs("advice_destinations", "advice_secret_arn", "advice_secret_key", "advice_model"),
    *_needs("advice_model", "advice_model_regions"),
    *_needs("knowledge_base_id", "source_bucket"),
    *_needs("source_bucket", "source_prefix", "source_key"),
    _Rule(
        "knowledge_base_type",
        lambda v: _managed(v) and not v["knowledge_base_id"],
        "unset unless knowledge_base_id is set",
    ),
    _Rule(
        "source_bucket",
        lambda v: _managed(v) and bool(v["knowledge_base_id"]) and not v["source_bucket"],
        "a bucket, with knowledge_base_type=MANAGED",
    ),
)

_REGIONAL: Final = {
    "alarm_topic_arn": "a topic in {}, where the alarms are",
    "advice_secret_arn": "a secret in {}, where the function is",
    "gateway_policy_engine": "a policy engine in {}, where the gateway is",
    **dict.fromkeys(
        ("kms_key_arn", "documents_key", "source_key", "advice_secret_key"),
        "a key of {}, where this is deployed",
    ),
}

_OF_DATA: Final = (
    *("corpus", "date_order"),
    *(key for kind in (DocumentSettings, StoreSettings) for key, _ in _fields(kind).values()),
)
"""Settings of the data stack, which an existing knowledge base replaces."""


def _check_together(
    values: dict[str, Any], given: Mapping[str, Any], region: str | None, problems: Problems
) -> None:
    """Check combinations of settings, and set the regions of the models in use."""
    check_embedding(values["embedding_model"], values["embedding_dimension"], problems)
    for key, wrong, allowed in _RULES:
        if wrong(values):
            problems.add(key, MISSING if values[key] in ("", ()) else values[key], allowed)
    _find_model_regions(values, region, problems)
    for key, allowed in _REGIONAL.items():
        if region and values[key] and values[key].split(":")[3] != region:
            problems.add(key, values[key], allowed.format(region))
    if values["documents"] is Documents.BUCKET and "corpus" in given:
        problems.add("corpus", given["corpus"], "unset with documents=bucket")
    if values["knowledge_base_id"]:
        for key in (*_OF_DATA, *(["search_type"] if _managed(values) else [])):
            if key in given:
                problems.add(key, given[key], "unset with this existing knowledge base")


def _find_model_regions(values: dict[str, Any], region: str | None, problems: Problems) -> None:
    """Set the regions that each model in use may run in."""
    agents = {Entrypoint.AGENT, Entrypoint.BOTH, Entrypoint.HARNESS}
    is_used = {
        "agent_model": values["entrypoint"] in agents,
        "advice_model": bool(values["advice_model"]),
    }
    for key in (key for key, used in is_used.items() if used):
        regions = f"{key}_regions"
        values[regions] = destination_regions(key, values[key], values[regions], region, problems)
