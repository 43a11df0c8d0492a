"""Who may do what: every permission of all templates, against a list that a person has read.

`grants.txt` is that list, over deployments that have everything between them. A grant that is not on
it fails, one that is on it and no longer given fails too. What the roles on the retrieval path hold is judged once
more by policy_sentry's access levels, which do not come from this project.
"""

import copy
import json
import re
from pathlib import Path

import pytest

from tests.infra import iam
from tests.infra.synthesis import (
    ADOPTED,
    ADVISED,
    ADVISED_BRIEFLY,
    DEPLOYMENTS,
    DISPOSABLE,
    EVERYTHING,
    EXISTING,
    synthesized,
)

GRANTS = Path(__file__).parent / "grants.txt"

TELLS = {"logs:CreateLogStream", "logs:PutLogEvents"}
TRACES = {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}
DECRYPTS = {"kms:Decrypt"}
INVOKES = {"lambda:InvokeFunction"}
WRITES = {
    # on the way of a query nothing is written but logs and traces
    "RetrievalRetrieveRole": TELLS | TRACES | DECRYPTS,
    "AgentRole": DECRYPTS | {"kms:GenerateDataKey"},
    # evaluating a policy is called managing permissions
    "GatewayRole": INVOKES
    | {"bedrock-agentcore:AuthorizeAction", "bedrock-agentcore:PartiallyAuthorizeActions"},
    "HarnessRole": TELLS
    | TRACES
    | {
        "bedrock-agentcore:GetWorkloadAccessToken",
        "bedrock-agentcore:GetWorkloadAccessTokenForJWT",
        "bedrock-agentcore:InvokeGateway",
        "cloudwatch:PutMetricData",
        "logs:CreateLogGroup",
    },
    "CanaryRole": INVOKES,
    "DevOpsAgentRole": {"bedrock-agentcore:InvokeGateway"},
    "MonitoringNotificationsChatRole": set(),
    # on the way of a document: the vectors and the intermediate bucket
    "KnowledgeBaseRole": INVOKES
    | DECRYPTS
    | {
        "aoss:APIAccessAll",
        "s3:PutObject",
        "kms:GenerateDataKey",
        "s3vectors:PutVectors",
        "s3vectors:DeleteVectors",
    },
    "ChunkDocumentsChunkRole": TELLS | TRACES | DECRYPTS | {"s3:PutObject", "kms:GenerateDataKey"},
    # while it deploys: the index's mapping, a search as the knowledge base, the folder's mirror
    "DeployStepsDoRole": TELLS
    | TRACES
    | DECRYPTS
    | {
        "aoss:APIAccessAll",
        "sts:AssumeRole",
        "bedrock:StopIngestionJob",
        "s3:PutObject",
        "s3:DeleteObject",
        "s3:DeleteObjectVersion",
        "kms:GenerateDataKey",
    },
    # of versions, whose ARN has one: the function's own has none
    "KeptVersionsStepsDoRole": TELLS | TRACES | DECRYPTS | {"lambda:DeleteFunction"},
    "ReleaseCheckRole": TELLS
    | TRACES
    | DECRYPTS
    | INVOKES
    | {"codedeploy:PutLifecycleEventHookExecutionStatus"},
    # CodeDeploy's: it moves the one alias
    "ReleaseRole": INVOKES | {"lambda:UpdateAlias"},
    # deleting a message is how it is served
    # its own queue and receipts, and the destinations; of retrieval it may ask the function alone
    "AdviseRole": TELLS
    | TRACES
    | DECRYPTS
    | INVOKES
    | {
        "s3:PutObject",
        "kms:GenerateDataKey",
        "sns:Publish",
        "ssm:CreateOpsItem",
        "sqs:DeleteMessage",
        "sqs:ReceiveMessage",
        "sqs:SendMessage",
    },
    # it empties that bucket when the advice stack is deleted
    "StepsDoRole": TELLS | TRACES | {"s3:DeleteObject", "s3:DeleteObjectVersion"},
    "StartIngestionStartRole": TELLS
    | TRACES
    | DECRYPTS
    | {"bedrock:StartIngestionJob", "sqs:DeleteMessage", "sqs:ReceiveMessage"},
}
"""Every role, and all that it may do which policy_sentry does not call reading or listing."""


def grants(template):
    """Every grant as a line, without what changes with names and digests."""
    for statement in iam.statements(template):
        for line in statement.lines():
            named = re.sub(r"knowledge-?rag-?(prod|dev)(?=[^a-z]|knowledgebaseid)", "<name>", line)
            digests = re.sub(
                r"(?<![0-9a-zA-Z])(?!20[0-9]{6}\b)([0-9a-f]{64}|[0-9a-f]{8}|[0-9a-f]{6})\b",
                "<digest>",
                named,
            )
            yield digests


def listed():
    lines = GRANTS.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def judge(template):
    """Everything that is wrong with a template's permissions."""
    found = iam.statements(template)
    problems = iam.faults(found)
    problems += [f"not listed: {line}" for line in grants(template) if line not in listed()]
    for role in {statement.holder for statement in found if not statement.principals}:
        beyond = iam.writes(found, role) - WRITES.get(role, set())
        problems += [f"{role} writes: {action}" for action in sorted(beyond)]
    return problems


def test_everything_that_is_granted_is_listed_and_everything_listed_is_granted():
    granted = {
        line
        for settings in DEPLOYMENTS
        for each in synthesized(**settings).templates
        for line in grants(each)
    }
    assert sorted(granted - listed()) == []
    assert sorted(listed() - granted) == []


@pytest.mark.parametrize("settings", DEPLOYMENTS, ids=json.dumps)
def test_no_permission_of_a_deployment_is_wrong(settings):
    assert [problem for each in synthesized(**settings).templates for problem in judge(each)] == []


def test_every_role_is_known():
    roles = {
        iam.logical(name)
        for settings in DEPLOYMENTS
        for template in synthesized(**settings).templates
        for name, resource in template["Resources"].items()
        if resource["Type"] == "AWS::IAM::Role"
    }
    assert roles == set(WRITES)


def test_the_query_path_reaches_data_by_retrieve_alone():
    found = iam.statements(synthesized(**EVERYTHING).service)
    services = ("bedrock:", "aoss:", "s3:", "s3vectors:", "dynamodb:", "ssm:", "secretsmanager:")
    held = {
        action
        for statement in found
        if statement.holder == "RetrievalRetrieveRole" and statement.effect == "Allow"
        for action in statement.actions
        if action.startswith(services)
    }
    assert held == {"bedrock:Retrieve", "bedrock:ApplyGuardrail", "ssm:GetParameter"}


@pytest.mark.parametrize("floor", ["off", 0.4])
def test_a_floor_that_is_set_needs_no_parameter_store(floor):
    found = iam.statements(synthesized(**DISPOSABLE, evidence_floor=floor).service)
    assert not any(each.startswith("ssm:") for statement in found for each in statement.actions)


def test_in_front_of_an_existing_knowledge_base_it_also_reads_documents_below_one_prefix():
    found = iam.statements(synthesized(**EXISTING).service)
    held = {
        line.partition("Allow ")[2]
        for statement in found
        if statement.holder == "RetrievalRetrieveRole" and statement.effect == "Allow"
        for line in statement.lines()
        if "s3" in line or "bedrock" in line
    }
    account = "<AWS::Region>:<AWS::AccountId>"
    through_s3 = "kms:ViaService = s3.<AWS::Region>.amazonaws.com"
    assert held == {
        f"bedrock:Retrieve on arn:<AWS::Partition>:bedrock:{account}:knowledge-base/EXISTING01",
        "s3:GetObject on arn:<AWS::Partition>:s3:::team-docs/handbook/*",
        f"kms:Decrypt on {EXISTING['source_key']} when StringEquals {through_s3}",
    }


def test_what_changes_a_knowledge_base_is_denied_by_name():
    found = iam.statements(synthesized(**EVERYTHING).service)
    denied = {
        action
        for statement in found
        if statement.holder == "RetrievalRetrieveRole" and statement.effect == "Deny"
        for action in statement.actions
    }
    assert denied >= {
        "bedrock:CreateDataSource",
        "bedrock:UpdateDataSource",
        "bedrock:DeleteDataSource",
        "bedrock:StartIngestionJob",
        "bedrock:IngestKnowledgeBaseDocuments",
        "bedrock:DeleteKnowledgeBaseDocuments",
        "bedrock:UpdateKnowledgeBase",
        "bedrock:DeleteKnowledgeBase",
    }
    assert [action for action in denied if not iam.access_level(action)] == []


def test_advice_asks_the_retrieval_function_alone_and_changes_nothing_of_its_rights():
    advised = synthesized(**ADVISED)
    held = {
        line.partition("Allow ")[2]
        for statement in iam.statements(advised.advice)
        if statement.holder == "AdviseRole"
        for line in statement.lines()
        if re.search(r"Allow (bedrock|lambda|aoss|s3vectors|dynamodb|iam|sts):", line)
    }
    function = "function:knowledge-rag-prod-retrieve-knowledge:live"
    where = "arn:<AWS::Partition>:lambda:<AWS::Region>:<AWS::AccountId>"
    model = "anthropic.claude-sonnet-4-5-20250929-v1:0"
    account = "arn:<AWS::Partition>:bedrock:<AWS::Region>:<AWS::AccountId>"
    profile = f"{account}:inference-profile/us.{model}"
    through = f"when StringEquals bedrock:InferenceProfileArn = {profile}"
    assert held == {
        f"lambda:InvokeFunction on {where}:{function}",
        f"bedrock:InvokeModel on {profile}",
        *(
            f"bedrock:InvokeModel on arn:<AWS::Partition>:bedrock:{region}::foundation-model/{model} {through}"
            for region in ("us-east-1", "us-east-2", "us-west-2")
        ),
    }
    assert set(grants(advised.service)) == set(grants(synthesized(preset="prod").service))
    assert set(grants(advised.data)) == set(grants(synthesized(preset="prod").data))


def test_a_topic_as_the_only_destination_needs_neither_a_secret_nor_ops_items():
    actions = {
        action
        for statement in iam.statements(synthesized(**ADVISED_BRIEFLY).advice)
        if statement.holder == "AdviseRole"
        for action in statement.actions
    }
    assert "sns:Publish" in actions
    assert not [it for it in actions if it.startswith("bedrock:")]  # without a model
    assert not [it for it in actions if it.startswith(("secretsmanager:", "ssm:", "kms:"))]


def test_a_model_without_a_profile_is_one_arn():
    advised = synthesized(**ADVISED_BRIEFLY, advice_model="amazon.nova-pro-v1:0")
    invoked = {
        line.partition("Allow ")[2]
        for statement in iam.statements(advised.advice)
        for line in statement.lines()
        if "bedrock:" in line
    }
    where = "arn:<AWS::Partition>:bedrock:<AWS::Region>::foundation-model"
    assert invoked == {f"bedrock:InvokeModel on {where}/amazon.nova-pro-v1:0"}


def inject(template=None, role="RetrievalRetrieveRole", **changes):
    """A statement as somebody in a hurry would add it to the retrieval function's role, or another."""
    statement = {"Effect": "Allow", "Action": "bedrock:Retrieve", "Resource": "*"}
    added = {key: value for key, value in (statement | changes).items() if value is not None}
    template = copy.deepcopy(template or synthesized(**EVERYTHING).service)
    policies = next(
        resource["Properties"]
        for name, resource in template["Resources"].items()
        if resource["Type"] in {"AWS::IAM::Policy", "AWS::IAM::Role"}
        and iam.logical(name).startswith(role)
        and ("PolicyDocument" in resource["Properties"] or "Policies" in resource["Properties"])
    )
    document = policies.get("PolicyDocument") or policies["Policies"][0]["PolicyDocument"]
    document["Statement"].append(added)
    return template


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"Action": "bedrock:StartIngestionJob"}, "writes: bedrock:StartIngestionJob"),
        ({"Action": ["s3:PutObject"]}, "writes: s3:PutObject"),
        ({"Action": "ssm:GetParameter"}, "not listed: RetrievalRetrieveRole: Allow ssm:GetParam"),
        (
            {"Action": "s3:GetObject", "Resource": "arn:aws:s3:::team-docs/*"},
            "not listed: RetrievalRetrieveRole: Allow s3:GetObject on arn:aws:s3:::team-docs/*",
        ),
        (
            {"Action": "kms:Decrypt", "Resource": ADOPTED["kms_key_arn"]},
            "not listed: RetrievalRetrieveRole: Allow kms:Decrypt on arn:aws:kms",
        ),
        ({"Action": "kms:GenerateDataKey"}, "writes: kms:GenerateDataKey"),
        ({"Action": "bedrock:Retrive"}, "bedrock:Retrive is no known action"),
        ({"Action": None, "NotAction": "iam:*"}, "NotAction grants what nobody listed"),
        ({"Resource": None, "NotResource": "arn:x"}, "NotResource grants what nobody listed"),
        ({"Action": "*"}, "* grants more than one action"),
        ({"Action": "bedrock:Retrieve*"}, "grants more than one action"),
        ({}, "not listed: RetrievalRetrieveRole: Allow bedrock:Retrieve on *"),
    ],
)
def test_a_permission_too_many_turns_it_red(changes, found):
    assert any(found in problem for problem in judge(inject(**changes)))


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"Action": "lambda:UpdateFunctionCode"}, "writes: lambda:UpdateFunctionCode"),
        ({"Action": "secretsmanager:GetSecretValue"}, "not listed: AdviseRole: Allow secretsmanager:Get"),
        ({"Action": "sns:Publish"}, "not listed: AdviseRole: Allow sns:Publish on *"),
        ({"Action": "bedrock:InvokeModel*"}, "grants more than one action"),
    ],
)  # fmt: skip
def test_a_permission_too_many_of_advice_turns_it_red(changes, found):
    template = inject(synthesized(**ADVISED).advice, "AdviseRole", **changes)
    assert any(found in problem for problem in judge(template))


def changed(kind, **properties):
    """The same templates with properties of the first resource of a kind replaced."""
    for template in copy.deepcopy(synthesized(**EVERYTHING).templates):
        for resource in template["Resources"].values():
            if resource["Type"] == kind:
                resource["Properties"] |= properties
                return template
    raise AssertionError(f"no {kind}")


ANYONE = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*", "Principal": "*"}],
}


@pytest.mark.parametrize(
    ("kind", "properties", "found"),
    [
        (
            "AWS::IAM::Role",
            {"ManagedPolicyArns": ["arn:aws:iam::aws:policy/AmazonBedrockFullAccess"]},
            "managed policy arn:aws:iam::aws:policy/AmazonBedrockFullAccess",
        ),
        ("AWS::S3::BucketPolicy", {"PolicyDocument": ANYONE}, "allows s3:GetObject to anyone"),
        (
            "AWS::S3::BucketPolicy",
            {
                "PolicyDocument": {
                    "Statement": [ANYONE["Statement"][0] | {"Principal": {"AWS": "*"}}]
                }
            },
            "allows s3:GetObject to anyone",
        ),
        (
            "AWS::IAM::Role",
            {
                "AssumeRolePolicyDocument": {
                    "Statement": [
                        {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "*"}}
                    ]
                }
            },
            "allows sts:AssumeRole to anyone",
        ),
        ("AWS::KMS::Key", {"KeyPolicy": ANYONE}, "allows s3:GetObject to anyone"),
        ("AWS::SNS::TopicPolicy", {"PolicyDocument": ANYONE}, "allows s3:GetObject to anyone"),
        (
            "AWS::Lambda::Permission",
            {"SourceArn": "arn:aws:bedrock:*", "Principal": "*"},
            "allows lambda:InvokeFunction to anyone",
        ),
        (
            "AWS::OpenSearchServerless::AccessPolicy",
            {
                "Policy": json.dumps(
                    [
                        {
                            "Rules": [
                                {
                                    "ResourceType": "index",
                                    "Resource": ["index/*/*"],
                                    "Permission": ["aoss:*"],
                                }
                            ],
                            "Principal": ["arn:aws:iam::123456789012:root"],
                        }
                    ]
                )
            },
            "not listed: StoreAccess (data): Allow aoss:* on index/*/*",
        ),
        (
            "AWS::SNS::Topic",
            {"DataProtectionPolicy": ANYONE},
            "AWS::SNS::Topic has a policy nobody judges",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and "::" in value else "",
)
def test_a_policy_that_opens_a_resource_turns_it_red(kind, properties, found):
    assert any(found in problem for problem in judge(changed(kind, **properties)))


def test_a_function_that_any_caller_of_a_service_may_invoke_turns_it_red():
    template = changed("AWS::Lambda::Permission")
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Lambda::Permission":
            resource["Properties"].pop("SourceArn", None)
            resource["Properties"].pop("SourceAccount", None)
    assert any("any caller of the service" in problem for problem in judge(template))
