"""Answers the operations that moto lacks, so that a deployment works in its account.

All other operations are passed on to moto, or to the simulated ingestion jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.support.loopback import Raw
from tests.support.played_aws import PlayedAws
from tools.local_cloud.kinds import MADE, REGION

if TYPE_CHECKING:
    from tools.local_cloud.deployment import Cloud

_HOPS = frozenset({"connection", "content-length", "host", "transfer-encoding"})


class LocalAccount(PlayedAws):
    """Answers requests to the services in ``SERVICES`` in front of a cloud.

    Attributes:
        environment: variables that direct clients here.
    """

    SERVICES = (
        "bedrock",
        "bedrock-agent",
        "bedrock-agentcore-control",
        "lambda",
        "opensearchserverless",
        "s3vectors",
        "service-quotas",
    )

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        super().__init__()
        self.environment: dict[str, str] = {}
        for service in self.SERVICES:
            self.environment |= self.endpoint(service)
        self._play_models()
        self._play_limits()
        self._play_listings()

    def respond(self, method: str, path: str, headers: Any, body: bytes) -> Raw:
        """Answer one request, or pass it on."""
        answer = super().respond(method, path, headers, body)
        if answer.status != 501:  # which simulated answers never have
            return answer
        service, _, rest = path.lstrip("/").partition("/")
        jobs = service == "bedrock-agent"
        return _passed_on(
            self._cloud.ingestion.url if jobs else self._cloud.endpoint,
            method,
            f"/{rest}",
            headers,
            body,
        )

    def _play_models(self) -> None:
        details = {"modelArn": f"arn:aws:bedrock:{REGION}::foundation-model/m", "modelId": "m"}
        self.play("bedrock", "GetFoundationModel", {"modelDetails": details})
        available = {
            "modelId": "m",
            "agreementAvailability": {"status": "AVAILABLE"},
            "authorizationStatus": "AUTHORIZED",
            "entitlementAvailability": "AVAILABLE",
            "regionAvailability": "AVAILABLE",
        }
        self.play("bedrock", "GetFoundationModelAvailability", available)
        models = [{"modelArn": details["modelArn"]}]
        self.play("bedrock", "GetInferenceProfile", {"status": "ACTIVE", "models": models})

    def _play_limits(self) -> None:
        limit = {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 1000}
        self.play("lambda", "GetAccountSettings", {"AccountLimit": limit})
        name = "(Knowledge Bases) Retrieve requests per second"
        quota = {"QuotaCode": "L-F0D0E0B9", "QuotaName": name, "Value": 20.0}
        self.play("service-quotas", "GetServiceQuota", {"Quota": quota})
        limits = {"maxIndexingCapacityInOCU": 10, "maxSearchCapacityInOCU": 10}
        settings = {"accountSettingsDetail": {"capacityLimits": limits}}
        self.play("opensearchserverless", "GetAccountSettings", settings)

    def _play_listings(self) -> None:
        """Answer with the resources that were created and still exist."""

        def made(kind: str, key: str) -> Any:
            return lambda _path, _body: {
                key: [{"name": each.parameters["name"]} for each in MADE if each.kind == kind]
            }

        self.play("bedrock-agent", "ListAgents", {"agentSummaries": []})
        self.play(
            "bedrock-agent",
            "ListKnowledgeBases",
            made("AWS::Bedrock::KnowledgeBase", "knowledgeBaseSummaries"),
        )
        self.play("bedrock-agentcore-control", "ListGateways", {"items": []})
        for kind, operation, key in (
            ("Collection", "ListCollections", "collectionSummaries"),
            ("CollectionGroup", "ListCollectionGroups", "collectionGroupSummaries"),
        ):
            self.play(
                "opensearchserverless", operation, made(f"AWS::OpenSearchServerless::{kind}", key)
            )


def _passed_on(to: str, method: str, path: str, headers: Any, body: bytes) -> Raw:
    kept = {"Content-Type": "application/json"}  # urllib's default would be a form's
    kept |= {name: value for name, value in headers.items() if name.lower() not in _HOPS}
    request = Request(to + path, body or None, kept, method=method)  # noqa: S310 - a server of ours
    try:
        answer = urlopen(request, timeout=60)  # noqa: S310 - likewise
    except HTTPError as error:
        answer = error
    with answer:
        own = ("x-amzn-ErrorType", "X-Amz-Function-Error", "x-amz-function-error")
        named = {name.lower(): answer.headers[name] for name in own if answer.headers.get(name)}
        return Raw(
            answer.read(),
            answer.headers.get("Content-Type", "application/json"),
            answer.status,
            tuple(named.items()),
        )
