"""``knowledge-rag smoke --apply``: the floor of a deployment whose store scores as those in AWS do.

The function is the real one and reads its floor from moto's Parameter Store, which the command writes.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import pytest

from knowledge_rag.deployment.smoke import clients
from knowledge_rag.deployment.smoke.clients import FunctionClient
from lambdas.retrieve_knowledge import floor as function_floor
from lambdas.retrieve_knowledge import service
from lambdas.retrieve_knowledge.handler import lambda_handler
from tests.support.account import account_fixture, moto_fixture  # noqa: F401 - fixtures
from tests.support.cli import assert_one_line
from tests.support.deployed import NAME, PARAMETER, Deployment
from tests.support.patience import MOST_SECONDS, patient_function
from tests.support.played_aws import DENIED
from tests.support.store import cosines, euclidean, holding, hybrid, retrieve


def call(event, context):
    with redirect_stdout(io.StringIO()):
        return lambda_handler(event, context)


@pytest.fixture
def deployed(account, aws_environment, monkeypatch, settled):
    """Deploy in front of a store, with the default floor that the stack gives."""
    holding(settled.data / "sample.kb")
    monkeypatch.setattr(function_floor, "MAX_AGE_SECONDS", 0.5)
    monkeypatch.setattr(clients, "FUNCTION_READ_SECONDS", MOST_SECONDS)
    monkeypatch.setattr(FunctionClient, "seconds", MOST_SECONDS)
    made = Deployment(account, call)

    def deploy(scored, default, search_type="HYBRID"):
        account.played.play("bedrock-agent-runtime", "Retrieve", retrieve(scored))
        for name, value in account.played.endpoint("bedrock-agent-runtime").items():
            aws_environment.setenv(name, value)
        aws_environment.setenv("AWS_ENDPOINT_URL_SSM", account.address)
        aws_environment.setenv("SEARCH_TYPE", search_type)
        aws_environment.setenv(f"EVIDENCE_FLOOR_{search_type}", str(default))
        aws_environment.setenv("FLOOR_PARAMETER", PARAMETER)
        service.reset()
        made.make()

    with patient_function():
        yield deploy
    made.close()


@pytest.fixture
def smoke(cli, account):
    def run(*arguments):
        return cli("smoke", "--name", NAME, "--json", *arguments, **account.environment)

    return run


def promised(ran):
    (found,) = [each for each in ran.json["promises"] if each["promise"] == "evidence floor"]
    return found


def written(account):
    found = account.client("ssm").get_parameters(Names=[PARAMETER])["Parameters"]
    return found[0]["Value"] if found else None


ANSWERED = (0, 3)
"""On a busy machine one of the questions may not be answered in time, which is no matter of the floor."""


def test_off_topic_questions_become_no_match_after_one_command(smoke, deployed, account):
    deployed(hybrid, 0.385)
    ran = smoke("--apply")
    assert ran.code in ANSWERED, ran.out
    floor = ran.json["floor"]
    assert written(account) == f"{floor['chosen']:g}"
    other = floor["on_other_half"]
    assert other["on_topic"] > 100
    assert other["off_topic"] > 75
    assert other["lost"] <= 0.05
    assert other["rejected"] >= 0.90
    after = smoke()
    assert promised(after)["verdict"] == "kept"
    assert "(parameter)" in promised(after)["detail"]


def test_vectors_alone_lose_nothing_and_what_is_missing_is_reported(smoke, deployed, account):
    deployed(cosines, 0.2, "SEMANTIC")
    ran = smoke("--apply")
    assert ran.code == 1
    assert ran.json["floor"]["on_other_half"]["lost"] <= 0.05
    assert 0.6 < ran.json["floor"]["on_other_half"]["rejected"] < 0.9
    assert promised(ran)["verdict"] == "broken"
    assert "search_type=HYBRID" in promised(ran)["action"]
    assert float(written(account)) > 0.2


@pytest.mark.parametrize(("scored", "default"), [(euclidean, 0.385), (cosines, 0.2)])
def test_the_default_of_a_store_loses_nothing(smoke, deployed, scored, default):
    deployed(scored, default, "SEMANTIC")
    ran = smoke()
    assert ran.code == 0, ran.out
    measured = ran.json["floor"]
    assert (measured["floor"], measured["source"]) == (default, "default")
    assert measured["in_use"]["lost"] == 0
    assert measured["in_use"]["rejected"] > 0


def test_a_parameter_that_may_not_be_written_is_named_with_its_permission(smoke, deployed, account):
    deployed(hybrid, 0.385)
    account.refuse("ssm", "PutParameter", DENIED)
    ran = smoke("--apply")
    assert ran.code == 3
    assert "missing permission ssm:PutParameter" in promised(ran)["detail"]


def test_a_deployment_with_a_floor_of_its_own_has_nothing_to_apply(smoke, account):
    account.deploy(f"{NAME}-service", RetrieveFunctionArn="arn")
    ran = smoke("--apply")
    assert ran.code == 2
    assert_one_line(ran.err, "evidence_floor=auto")


def test_too_few_questions_choose_no_floor(smoke, deployed, tmp_path):
    deployed(hybrid, 0.385)
    own = tmp_path / "own.jsonl"
    own.write_text('{"query": "Redis evicts keys"}\n')
    ran = smoke("--apply", "--questions", own)
    assert ran.code == 2
    assert_one_line(ran.err, "1 questions of topic on are too few", "--questions")
