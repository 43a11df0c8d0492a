"""A loopback Bedrock, and time that passes only where somebody sleeps."""

import boto3
import pytest
from botocore.config import Config

from tests.support.passing import Time


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def bedrock(aws_environment, ingestion):
    aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT", ingestion.url)
    aws_environment.setenv("AWS_DEFAULT_REGION", "us-east-1")  # as Lambda does
    once = Config(retries={"total_max_attempts": 1})
    client = boto3.client("bedrock-agent", region_name="us-east-1", config=once)
    yield client
    client.close()
