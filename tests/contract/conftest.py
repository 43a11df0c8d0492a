"""What other people's standard tests need to be collected, and fixtures that contracts share."""

from contextlib import closing

import boto3
import pytest
from moto import mock_aws

from lambdas.chunk_documents import handler as chunk_documents
from tests.support.invoke_agent import make_client
from tests.support.transformation import CORPUS, INTERMEDIATE, IngestionJob


def pytest_configure(config: pytest.Config) -> None:
    for marker in ("benchmark", "vcr"):  # on tests of langchain-tests that are not ours to run
        config.addinivalue_line("markers", f"{marker}: of plugins that are turned off")


def service_of(request):
    """Return the service that a module's SERVICE names, by default that of agents."""
    return getattr(request.module, "SERVICE", "bedrock-agent-runtime")


@pytest.fixture(scope="module")
def client(request, bedrock):
    """An unmodified boto3 client of the local server."""
    with closing(make_client(bedrock, service_of(request))) as made:
        yield made


@pytest.fixture(scope="module")
def unchecked(request, bedrock):
    """A client that sends what botocore itself would refuse."""
    with closing(make_client(bedrock, service_of(request), parameter_validation=False)) as made:
        yield made


@pytest.fixture
def job(aws_environment):  # noqa: ARG001 - sets the environment
    """An ingestion job of the transformation, on moto's S3."""
    with mock_aws():
        s3 = boto3.client("s3", region_name="us-east-1")
        for bucket in (CORPUS, INTERMEDIATE):
            s3.create_bucket(Bucket=bucket)
        chunk_documents._service.cache_clear()
        yield IngestionJob(s3)
        chunk_documents._service.cache_clear()
