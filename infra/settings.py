"""The deployment's settings: context of ``cdk.json`` and ``-c``, read once and checked as a whole.

``cdk.json`` holds them as an object under ``knowledge-rag``; one value is overridden on the command
line by ``-c knowledge-rag:entrypoint=both``. A preset gives every value that is not set. Whatever is
wrong is told at once: each setting by its name, with what it may be.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from infra.models import check_embedding, destination_regions
from infra.setting_types import (
    MISSING,
    Problems,
    choice,
    email,
    locator,
    name,
    names,
    number,
    switch,
    text,
    whole,
)
from infra.settings_context import given_values
from infra.settings_sources import SOURCE_SETTINGS, check_sources, source_settings
from knowledge_rag.core.alarms import Thresholds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from infra.settings_sources import SourceSettings

_LOG_RETENTION_DAYS: Final = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827)
"""What CloudWatch Logs accepts, up to five years."""

_OCU: Final = (1, 2, 4, 8, 16, 32, 48, 64, 80, 96)
"""Capacities that OpenSearch Serverless documents for the limits of a collection group."""


class Preset(StrEnum):
    """Values for everything that is not set."""

    DEV = "dev"
    PROD = "prod"


class VectorStore(StrEnum):
    """Where the vectors live."""

    OPENSEARCH = "opensearch"
    S3_VECTORS = "s3-vectors"


class Generation(StrEnum):
    """Generation of OpenSearch Serverless: the next one scales to its minimum capacity when idle."""

    CLASSIC = "classic"
    NEXTGEN = "nextgen"


class Network(StrEnum):
    """Who reaches the collection's endpoint: everyone with credentials, or Bedrock alone."""

    PUBLIC = "public"
    PRIVATE = "private"


class Entrypoint(StrEnum):
    """What stands in front of the retrieval function."""

    AGENT = "agent"
    GATEWAY = "gateway"
    BOTH = "both"
    NONE = "none"


class SearchType(StrEnum):
    """How the knowledge base is searched."""

    HYBRID = "HYBRID"
    SEMANTIC = "SEMANTIC"


class GatewayAuthorizer(StrEnum):
    """How callers of the gateway prove who they are."""

    IAM = "iam"
    JWT = "jwt"


class Removal(StrEnum):
    """What becomes of data when its stack is deleted."""

    RETAIN = "retain"
    DESTROY = "destroy"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """The vector store and what it holds.

    Args:
        kind: of store.
        generation: of OpenSearch Serverless.
        standby: whether a second zone holds replicas.
        min_search_ocu: capacity that search keeps when idle, OCU; 0 means that the first query after
            ten idle minutes waits 10 to 30 s, so it degrades. NextGen only.
        max_ocu: bound on indexing and on searching capacity each, OCU.
        network: who reaches it.
        embedding_model: id of the foundation model that embeds chunks and queries.
        embedding_dimension: components of its vectors.
    """

    kind: VectorStore
    generation: Generation
    standby: bool
    min_search_ocu: int
    max_ocu: int
    network: Network
    embedding_model: str
    embedding_dimension: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSettings:
    """The retrieval function.

    Args:
        search_type: of Retrieve.
        evidence_floor: lowest score that is evidence, ``None`` for no floor.
        guardrail: whether Retrieve and the agent apply the stack's guardrail.
        reserved_concurrency: calls at a time that are kept for the function and that it may not
            exceed; 0 leaves it to the account.
    """

    search_type: SearchType
    evidence_floor: float | None
    guardrail: bool
    reserved_concurrency: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrypointSettings:
    """What callers talk to.

    Args:
        kind: agent, gateway, both or none.
        agent_model: id of a foundation model or of an inference profile.
        agent_model_regions: regions that the profile sends requests to; empty for a plain model.
        gateway_authorizer: how callers of the gateway are known.
        jwt_discovery_url: OpenID configuration of their issuer; with JWT only.
        jwt_audiences: audiences that a token may name; with JWT only.
    """

    kind: Entrypoint
    agent_model: str
    agent_model_regions: tuple[str, ...]
    gateway_authorizer: GatewayAuthorizer
    jwt_discovery_url: str
    jwt_audiences: tuple[str, ...]

    @property
    def agent(self) -> bool:
        """Whether there is an agent."""
        return self.kind in {Entrypoint.AGENT, Entrypoint.BOTH}

    @property
    def gateway(self) -> bool:
        """Whether there is a gateway."""
        return self.kind in {Entrypoint.GATEWAY, Entrypoint.BOTH}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that one deployment may choose; :func:`load_settings` says what each may be.

    Args:
        name: of the deployment: prefix of every name, and the metrics' ``service`` dimension.
        preset: that gave the unset values.
        corpus: folder of documents, relative to the project.
        removal: what becomes of data when a stack is deleted.
        customer_managed_key: whether data is encrypted under a key of the account's own.
        log_retention_days: days that logs are kept.
        alarm_email: that alarms are sent to, ``""`` for none.
        sources: which come first, and how their dates are written.
        thresholds: of the alarms.
    """

    name: str
    preset: Preset
    corpus: str
    removal: Removal
    customer_managed_key: bool
    log_retention_days: int
    alarm_email: str
    store: StoreSettings
    retrieval: RetrievalSettings
    sources: SourceSettings
    entrypoint: EntrypointSettings
    thresholds: Thresholds


class SettingsError(ValueError):
    """One or more settings are wrong; the message has a line for each."""


_DEFAULTS: Final = Thresholds()

SETTINGS: Final[dict[str, tuple[Callable[[Any], Any], Any, Any]]] = {
    # name: (what it may be, dev, prod)
    "name": (name(max_characters=20), "knowledge-rag-dev", "knowledge-rag-prod"),
    "corpus": (text, "knowledge-corpus", "knowledge-corpus"),
    "removal_policy": (choice(Removal), Removal.DESTROY, Removal.RETAIN),
    "customer_managed_key": (switch, False, True),
    "log_retention_days": (whole(1, 1827, allowed=_LOG_RETENTION_DAYS), 14, 90),
    "alarm_email": (email, "", ""),
    "vector_store": (choice(VectorStore), VectorStore.OPENSEARCH, VectorStore.OPENSEARCH),
    "generation": (choice(Generation), Generation.NEXTGEN, Generation.NEXTGEN),
    "standby_replicas": (switch, False, True),
    "min_search_ocu": (whole(0, 96, allowed=(0, *_OCU)), 0, 1),
    "max_ocu": (whole(1, 96, allowed=_OCU), 2, 4),
    "network": (choice(Network), Network.PUBLIC, Network.PUBLIC),
    "embedding_model": (text, "amazon.titan-embed-text-v2:0", "amazon.titan-embed-text-v2:0"),
    "embedding_dimension": (whole(1, 4096), 1024, 1024),
    "search_type": (choice(SearchType), SearchType.HYBRID, SearchType.HYBRID),
    "evidence_floor": (number(-1e6, 1e6, optional=True), None, None),
    **SOURCE_SETTINGS,
    "guardrail": (switch, False, True),
    "reserved_concurrency": (whole(0, 1000), 0, 20),
    "entrypoint": (choice(Entrypoint), Entrypoint.GATEWAY, Entrypoint.GATEWAY),
    "agent_model": (text, *("us.anthropic.claude-sonnet-4-5-20250929-v1:0",) * 2),
    "agent_model_regions": (names, (), ()),
    "gateway_authorizer": (choice(GatewayAuthorizer), *(GatewayAuthorizer.IAM,) * 2),
    "jwt_discovery_url": (locator, "", ""),
    "jwt_audiences": (names, (), ()),
    "latency_p95_ms": (whole(100, 30_000), *(_DEFAULTS.latency_p95_ms,) * 2),
    "error_rate_percent": (number(0, 100), *(_DEFAULTS.error_rate_percent,) * 2),
    "zero_result_warning_percent": (
        number(0, 100),
        *(_DEFAULTS.zero_result_warning_percent,) * 2,
    ),
    "zero_result_alarm_percent": (number(0, 100), *(_DEFAULTS.zero_result_alarm_percent,) * 2),
    "timeouts": (whole(0, 10_000), *(_DEFAULTS.timeouts,) * 2),
    "min_samples": (whole(1, 10_000), *(_DEFAULTS.min_samples,) * 2),
}
"""Every setting: its check, its value in the dev preset, its value in the prod preset."""


def load_settings(context: Mapping[str, Any], region: str | None = None) -> Settings:
    """Read the settings from CDK's context.

    Args:
        context: everything of ``cdk.json`` and the command line.
        region: that is deployed to, where it is known before synth.

    Raises:
        SettingsError: one or more values are wrong; every one is named.
    """
    problems = Problems()
    given = given_values(context, ("preset", *SETTINGS), problems)
    preset = _preset(given.pop("preset", Preset.DEV), problems)
    values = _values(given, preset, problems)
    _check_together(values, region, problems)
    if problems.found:
        raise SettingsError("\n".join(["settings are wrong:", *problems.found]))
    return _settings(preset, values)


def _preset(value: object, problems: Problems) -> Preset:
    return problems.read("preset", value, choice(Preset), Preset.DEV)


def _values(given: Mapping[str, Any], preset: Preset, problems: Problems) -> dict[str, Any]:
    """Read each setting: what is given, else the preset's."""
    values = {}
    for key, (parse, dev, prod) in SETTINGS.items():
        default = prod if preset is Preset.PROD else dev
        values[key] = problems.read(key, given[key], parse, default) if key in given else default
    return values


def _check_together(values: dict[str, Any], region: str | None, problems: Problems) -> None:
    """Check what no value can be blamed for alone."""
    check_embedding(values["embedding_model"], values["embedding_dimension"], problems)
    if values["vector_store"] is VectorStore.S3_VECTORS:
        _check_s3_vectors(values, problems)
    elif values["generation"] is Generation.CLASSIC and values["min_search_ocu"]:
        problems.add(
            "min_search_ocu",
            values["min_search_ocu"],
            "0 with generation=classic, which never scales below its own minimum",
        )
    if values["min_search_ocu"] > values["max_ocu"]:
        problems.add("min_search_ocu", values["min_search_ocu"], "at most max_ocu")
    if values["zero_result_warning_percent"] > values["zero_result_alarm_percent"]:
        problems.add(
            "zero_result_warning_percent",
            values["zero_result_warning_percent"],
            "at most zero_result_alarm_percent",
        )
    if values["entrypoint"] in {Entrypoint.AGENT, Entrypoint.BOTH}:
        values["agent_model_regions"] = destination_regions(
            values["agent_model"], values["agent_model_regions"], region, problems
        )
    check_sources(values, problems)
    _check_gateway(values, problems)


def _check_s3_vectors(values: Mapping[str, Any], problems: Problems) -> None:
    if values["search_type"] is SearchType.HYBRID:
        problems.add(
            "search_type",
            values["search_type"],
            "SEMANTIC with vector_store=s3-vectors, which has no keyword search",
        )
    if values["network"] is Network.PRIVATE:
        problems.add("network", values["network"], "public with vector_store=s3-vectors")


def _check_gateway(values: Mapping[str, Any], problems: Problems) -> None:
    jwt = values["gateway_authorizer"] is GatewayAuthorizer.JWT
    for key, allowed in (
        ("jwt_discovery_url", "an https address that ends in /.well-known/openid-configuration"),
        ("jwt_audiences", "one audience or more"),
    ):
        if jwt and not values[key]:
            problems.add(key, MISSING, f"{allowed}, with gateway_authorizer=jwt")
        if values[key] and not jwt:
            problems.add(key, values[key], "unset unless gateway_authorizer=jwt")


def _settings(preset: Preset, values: Mapping[str, Any]) -> Settings:
    return Settings(
        name=values["name"],
        preset=preset,
        corpus=values["corpus"],
        removal=values["removal_policy"],
        customer_managed_key=values["customer_managed_key"],
        log_retention_days=values["log_retention_days"],
        alarm_email=values["alarm_email"],
        store=_store(values),
        retrieval=RetrievalSettings(
            search_type=values["search_type"],
            evidence_floor=values["evidence_floor"],
            guardrail=values["guardrail"],
            reserved_concurrency=values["reserved_concurrency"],
        ),
        sources=source_settings(values),
        entrypoint=EntrypointSettings(
            kind=values["entrypoint"],
            agent_model=values["agent_model"],
            agent_model_regions=values["agent_model_regions"],
            gateway_authorizer=values["gateway_authorizer"],
            jwt_discovery_url=values["jwt_discovery_url"],
            jwt_audiences=values["jwt_audiences"],
        ),
        thresholds=Thresholds(
            latency_p95_ms=values["latency_p95_ms"],
            error_rate_percent=values["error_rate_percent"],
            zero_result_warning_percent=values["zero_result_warning_percent"],
            zero_result_alarm_percent=values["zero_result_alarm_percent"],
            timeouts=values["timeouts"],
            min_samples=values["min_samples"],
        ),
    )


def _store(values: Mapping[str, Any]) -> StoreSettings:
    return StoreSettings(
        kind=values["vector_store"],
        generation=values["generation"],
        standby=values["standby_replicas"],
        min_search_ocu=values["min_search_ocu"],
        max_ocu=values["max_ocu"],
        network=values["network"],
        embedding_model=values["embedding_model"],
        embedding_dimension=values["embedding_dimension"],
    )
