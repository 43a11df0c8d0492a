"""An AWS account on this machine: moto where it plays the operation, played answers elsewhere."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tests.support.played_aws import PlayedAws

if TYPE_CHECKING:
    from collections.abc import Iterator

REGION = "us-east-1"
ACCOUNT_ID = "123456789012"
PLAYED = ("bedrock", "lambda", "opensearchserverless", "service-quotas")
"""Services of which moto does not play what is asked."""

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}


class Account:
    """One account, empty at first.

    Attributes:
        played: answers of the operations that moto does not play.
        environment: what sends an unmodified boto3 here.
    """

    def __init__(self, address: str, played: PlayedAws) -> None:
        self.address = address
        self.played = played
        self.environment = {"AWS_ENDPOINT_URL": address, "AWS_REGION": REGION, **CREDENTIALS}
        for service in PLAYED:
            self.environment |= played.endpoint(service)

    def client(self, service: str) -> Any:
        """Give a client of what moto plays."""
        return boto3.client(
            service,
            endpoint_url=self.address,
            region_name=REGION,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        )

    def refuse(self, service: str, operation: str, answer: Any) -> None:
        """Take one service from moto, and answer one operation of it so."""
        self.played.play(service, operation, answer)
        self.environment |= self.played.endpoint(service)

    def bootstrap(self, version: str = "30") -> None:
        """Leave what ``cdk bootstrap`` leaves."""
        name = "/cdk-bootstrap/hnb659fds/version"
        self.client("ssm").put_parameter(Name=name, Value=version, Type="String")

    def deploy(self, name: str, **outputs: str) -> None:
        """Make a stack that has these outputs."""
        import json

        template = {
            "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
            "Outputs": {key: {"Value": value} for key, value in outputs.items()},
        }
        self.client("cloudformation").create_stack(
            StackName=name, TemplateBody=json.dumps(template)
        )

    def is_healthy(self) -> None:
        """Play an account in which a deployment can work."""
        play = self.played.play
        play("bedrock", "GetFoundationModel", {"modelDetails": {"modelArn": "a", "modelId": "m"}})
        play(
            "bedrock",
            "GetFoundationModelAvailability",
            {
                "modelId": "m",
                "agreementAvailability": {"status": "AVAILABLE"},
                "authorizationStatus": "AUTHORIZED",
                "entitlementAvailability": "AVAILABLE",
                "regionAvailability": "AVAILABLE",
            },
        )
        arns = [f"arn:aws:bedrock:{each}::foundation-model/m" for each in ("us-west-2", REGION)]
        models = [{"modelArn": arn} for arn in arns]
        play("bedrock", "GetInferenceProfile", {"status": "ACTIVE", "models": models})
        play("lambda", "GetAccountSettings", concurrency(1000, 1000))
        play("service-quotas", "GetServiceQuota", retrieve_quota(20.0))
        limits = {"maxIndexingCapacityInOCU": 10, "maxSearchCapacityInOCU": 10}
        settings = {"accountSettingsDetail": {"capacityLimits": limits}}
        play("opensearchserverless", "GetAccountSettings", settings)
        play("opensearchserverless", "ListCollections", {"collectionSummaries": []})
        play("opensearchserverless", "ListCollectionGroups", {"collectionGroupSummaries": []})
        self.bootstrap()


def concurrency(total: int, unreserved: int) -> dict[str, Any]:
    """Give GetAccountSettings' answer."""
    limit = {"ConcurrentExecutions": total, "UnreservedConcurrentExecutions": unreserved}
    return {"AccountLimit": limit}


def retrieve_quota(rate: float) -> dict[str, Any]:
    """Give GetServiceQuota's answer for Retrieve."""
    name = "(Knowledge Bases) Retrieve requests per second"
    return {"Quota": {"QuotaCode": "L-F0D0E0B9", "QuotaName": name, "Value": rate}}


@pytest.fixture(scope="session", name="moto")
def moto_fixture() -> Iterator[str]:
    """Start moto's server; give its address."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    yield f"http://127.0.0.1:{port}"
    server.stop()


@pytest.fixture(name="account")
def account_fixture(moto: str) -> Iterator[Account]:
    """Give a healthy account."""
    import urllib.request

    urllib.request.urlopen(urllib.request.Request(f"{moto}/moto-api/reset", method="POST")).close()
    played = PlayedAws()
    made = Account(moto, played)
    made.is_healthy()
    yield made
    played.close()
