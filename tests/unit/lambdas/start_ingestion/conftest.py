"""A loopback Bedrock, and time that passes only where somebody sleeps."""

import boto3
import pytest
from botocore.config import Config

from lambdas.custom_resource import Clock
from tests.support.ingestion import Ingestion


class Time:
    """Seconds that pass by sleeping."""

    def __init__(self):
        self.now = 0.0
        self.slept = []

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def clock(self, end=780):
        return Clock(lambda: self.now, self.sleep, end)


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def ingestion():
    server = Ingestion()
    yield server
    server.close()


@pytest.fixture
def bedrock(aws_environment, ingestion):
    aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT", ingestion.url)
    aws_environment.setenv("AWS_DEFAULT_REGION", "us-east-1")  # as Lambda does
    once = Config(retries={"total_max_attempts": 1})
    client = boto3.client("bedrock-agent", region_name="us-east-1", config=once)
    yield client
    client.close()
