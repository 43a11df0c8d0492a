"""Logs that services deliver: of which resource, into which log group, under which key."""

from tests.infra.iam import render
from tests.infra.synthesis import DISPOSABLE, EVERYTHING, synthesized
from tests.support.monitoring import resources


def delivered(template):
    sources = resources(template, "AWS::Logs::DeliverySource")
    assert len(resources(template, "AWS::Logs::Delivery")) == len(sources)
    assert {each["LogType"] for each in sources} <= {"APPLICATION_LOGS"}
    return {each["Name"]: render(each["ResourceArn"]) for each in sources}


def groups(template):
    found = resources(template, "AWS::Logs::LogGroup")
    return {each["LogGroupName"]: each for each in found}


def test_the_knowledge_base_s_ingestion_is_logged():
    data = synthesized(**DISPOSABLE).data
    name = "knowledge-rag-dev-knowledge-base"
    assert delivered(data) == {name: "<KnowledgeBase.KnowledgeBaseArn>"}
    assert groups(data)[f"/aws/vendedlogs/{name}"]["RetentionInDays"] == 14


def test_the_gateway_s_calls_are_logged_on_demand_only():
    assert delivered(synthesized(**DISPOSABLE).service) == {}
    service = synthesized(**EVERYTHING).service
    name = "knowledge-rag-prod-gateway"
    assert delivered(service) == {name: "<Gateway.GatewayArn>"}
    group = groups(service)[f"/aws/vendedlogs/{name}"]
    assert "KmsKeyId" in group
    assert group["RetentionInDays"] == 90
