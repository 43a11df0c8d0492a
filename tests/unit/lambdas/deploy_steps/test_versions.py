"""Old versions are removed, and never one that is used or may be wanted back."""

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from lambdas.deploy_steps import handler
from lambdas.deploy_steps.handler import KEPT, remove_old


@pytest.fixture
def function():
    """Lambda's client, and how to say which versions and aliases there are."""
    client = boto3.client(
        "lambda", "us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing"
    )
    with Stubber(client) as stub:

        def has(*versions, **aliases):
            made = [
                {"FunctionVersion": str(uses)}
                if isinstance(uses, int)
                else {
                    "FunctionVersion": str(uses[0]),
                    "RoutingConfig": {"AdditionalVersionWeights": {str(uses[1]): 0.1}},
                }
                for uses in aliases.values()
            ]
            stub.add_response("list_aliases", {"Aliases": made}, {"FunctionName": "f"})
            listed = [{"Version": version} for version in ("$LATEST", *map(str, versions))]
            stub.add_response(
                "list_versions_by_function", {"Versions": listed}, {"FunctionName": "f"}
            )

        def loses(*versions):
            for version in versions:
                wanted = {"FunctionName": "f", "Qualifier": str(version)}
                stub.add_response("delete_function", {}, wanted)

        yield client, has, loses, stub
        stub.assert_no_pending_responses()


def test_the_newest_five_beside_the_one_in_use_are_kept(function):
    client, has, loses, _ = function
    has(2, 3, 4, 9, 10, 11, 12, 13, live=13)
    loses(2, 3)
    assert remove_old(client, "f") == ["2", "3"]
    assert KEPT == 5


def test_nothing_goes_while_there_are_few(function):
    client, has, _, _ = function
    has(1, 2, 3, 4, 5, 6, live=6)
    assert remove_old(client, "f") == []


def test_an_old_version_that_an_alias_uses_is_kept(function, monkeypatch):
    monkeypatch.setattr(handler, "KEPT", 1)
    client, has, loses, _ = function
    has(1, 2, 3, 4, 5, live=1, other=(3, 2))
    loses(4)
    assert remove_old(client, "f") == ["4"]


def test_versions_are_compared_as_numbers(function, monkeypatch):
    monkeypatch.setattr(handler, "KEPT", 1)
    client, has, loses, _ = function
    has(9, 10, 100, live=100)
    loses(9)
    assert remove_old(client, "f") == ["9"]


def test_what_lambda_refuses_is_told(function, monkeypatch):
    monkeypatch.setattr(handler, "KEPT", 0)
    client, has, _, stub = function
    has(1, 2, live=2)
    stub.add_client_error("delete_function", "ResourceConflictException")
    with pytest.raises(ClientError):
        remove_old(client, "f")
