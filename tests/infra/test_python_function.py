"""The Lambda factory: what a function is, what its role may do, and when it gets a new version."""

from functools import cache

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Annotations, Match, Template
from cdk_nag import AwsSolutionsChecks

from infra import python_function
from infra.bundle_target import PYTHON_RUNTIME
from infra.bundling import BUNDLES, Bundle, bundle
from infra.encryption import allow_log_groups
from infra.python_function import RUNTIME, PythonFunction
from infra.settings import load_settings
from tests.support.bundles import RETRIEVE

SETTINGS = load_settings({"knowledge-rag": {"name": "here"}})
PROD = load_settings({"knowledge-rag": {"preset": "prod"}})


def make(stack, construct_id="Retrieve", **change):
    given = {
        "name": "here-retrieve",
        "module": RETRIEVE,
        "description": "answers with cited lines",
        "environment": {"SEARCH_TYPE": "HYBRID"},
        "timeout": cdk.Duration.seconds(10),
        "memory_mb": 512,
        "settings": SETTINGS,
    }
    return PythonFunction(stack, construct_id, **(given | change))


@cache
def bare():
    stack = cdk.Stack()
    make(stack)
    return Template.from_stack(stack)


@cache
def encrypted():
    stack = cdk.Stack()
    key = kms.Key(stack, "Key")
    allow_log_groups(key, "/aws/lambda/here-*")
    make(stack, encryption_key=key, snap_start=True, reserved_concurrency=20, settings=PROD)
    return Template.from_stack(stack)


def only(template, kind):
    (resource,) = template.find_resources(kind).values()
    return resource["Properties"]


def statements(template):
    (policy,) = only(template, "AWS::IAM::Role")["Policies"]
    return {each["Sid"]: each for each in policy["PolicyDocument"]["Statement"]}


def test_a_function_is_python_3_13_on_arm64_traced_and_logging_json():
    bare().has_resource_properties(
        "AWS::Lambda::Function",
        {
            "FunctionName": "here-retrieve",
            "Description": "answers with cited lines",
            "Runtime": "python3.13",
            "Architectures": ["arm64"],
            "Handler": "lambdas.retrieve_knowledge.handler.lambda_handler",
            "TracingConfig": {"Mode": "Active"},
            "LoggingConfig": Match.object_like({"LogFormat": "JSON"}),
            "Timeout": 10,
            "MemorySize": 512,
        },
    )


def test_bundles_are_built_for_the_runtime_it_runs_on():
    assert RUNTIME.name == f"python{PYTHON_RUNTIME}"


def test_its_metrics_are_the_deployment_s():
    variables = only(bare(), "AWS::Lambda::Function")["Environment"]["Variables"]
    assert variables == {
        "POWERTOOLS_SERVICE_NAME": "here",
        "POWERTOOLS_LOG_LEVEL": "INFO",
        "SEARCH_TYPE": "HYBRID",
    }


def test_what_is_not_asked_for_is_left_to_the_account():
    function = only(bare(), "AWS::Lambda::Function")
    assert {"ReservedConcurrentExecutions", "SnapStart", "KmsKeyArn"} & function.keys() == set()


def test_what_is_asked_for_is_there():
    function = only(encrypted(), "AWS::Lambda::Function")
    assert function["ReservedConcurrentExecutions"] == 20
    assert function["SnapStart"] == {"ApplyOn": "PublishedVersions"}
    (key,) = encrypted().find_resources("AWS::KMS::Key")
    assert function["KmsKeyArn"] == {"Fn::GetAtt": [key, "Arn"]}
    assert only(encrypted(), "AWS::Logs::LogGroup")["KmsKeyId"] == {"Fn::GetAtt": [key, "Arn"]}


@pytest.mark.parametrize(
    ("template", "days", "policy"), [(bare, 14, "Delete"), (encrypted, 90, "RetainExceptOnCreate")]
)
def test_logs_are_kept_as_the_settings_say(template, days, policy):
    ((_, group),) = template().find_resources("AWS::Logs::LogGroup").items()
    assert group["Properties"]["LogGroupName"] == "/aws/lambda/here-retrieve"
    assert group["Properties"]["RetentionInDays"] == days
    assert group["DeletionPolicy"] == policy


def test_the_function_writes_to_that_group():
    (group,) = bare().find_resources("AWS::Logs::LogGroup")
    logging = only(bare(), "AWS::Lambda::Function")["LoggingConfig"]
    assert logging["LogGroup"] == {"Ref": group}


class TestRole:
    def test_it_may_write_its_own_logs_and_traces_and_nothing_else(self):
        (group,) = bare().find_resources("AWS::Logs::LogGroup")
        assert statements(bare()) == {
            "WriteOwnLogs": {
                "Sid": "WriteOwnLogs",
                "Effect": "Allow",
                "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
                "Resource": {"Fn::GetAtt": [group, "Arn"]},
            },
            "WriteTraces": {
                "Sid": "WriteTraces",
                "Effect": "Allow",
                "Action": ["xray:PutTraceSegments", "xray:PutTelemetryRecords"],
                "Resource": "*",
            },
        }
        bare().resource_count_is("AWS::IAM::Policy", 0)
        assert "ManagedPolicyArns" not in only(bare(), "AWS::IAM::Role")

    def test_only_lambda_takes_it_on(self):
        trust = only(bare(), "AWS::IAM::Role")["AssumeRolePolicyDocument"]["Statement"]
        assert [each["Principal"] for each in trust] == [{"Service": "lambda.amazonaws.com"}]

    def test_a_key_is_used_through_lambda_alone(self):
        (key,) = encrypted().find_resources("AWS::KMS::Key")
        statement = statements(encrypted())["UseKey"]
        assert statement["Action"] == "kms:Decrypt"
        assert statement["Resource"] == {"Fn::GetAtt": [key, "Arn"]}
        via = statement["Condition"]["StringEquals"]["kms:ViaService"]
        assert via == {"Fn::Join": ["", ["lambda.", {"Ref": "AWS::Region"}, ".amazonaws.com"]]}

    def test_what_is_granted_later_is_a_policy_of_its_own_that_the_function_waits_for(self):
        stack = cdk.Stack()
        made = make(stack)
        made.function.add_to_role_policy(
            iam.PolicyStatement(actions=["s3:GetObject"], resources=["arn:aws:s3:::a/b"])
        )
        template = Template.from_stack(stack)
        ((name, policy),) = template.find_resources("AWS::IAM::Policy").items()
        (granted,) = policy["Properties"]["PolicyDocument"]["Statement"]
        assert granted["Action"] == "s3:GetObject"
        ((_, function),) = template.find_resources("AWS::Lambda::Function").items()
        assert name in function["DependsOn"]


class TestKeyPolicy:
    def test_the_logs_service_may_use_the_key_for_the_named_groups_only(self):
        (statement,) = (
            each
            for each in only(encrypted(), "AWS::KMS::Key")["KeyPolicy"]["Statement"]
            if each.get("Sid") == "AllowLogGroups"
        )
        service = statement["Principal"]["Service"]["Fn::Join"][1]
        assert service == ["logs.", {"Ref": "AWS::Region"}, ".amazonaws.com"]
        (group,) = statement["Condition"]["ArnLike"]["kms:EncryptionContext:aws:logs:arn"]
        assert group["Fn::Join"][1][-1] == ":log-group:/aws/lambda/here-*"
        assert not {action for action in statement["Action"] if "*" in action}


class TestVersions:
    def version(self, **change):
        stack = cdk.Stack()
        make(stack, **change)
        template = Template.from_stack(stack)
        ((name, _),) = template.find_resources("AWS::Lambda::Version").items()
        alias = only(template, "AWS::Lambda::Alias")
        assert alias["Name"] == "live"
        assert alias["FunctionVersion"] == {"Fn::GetAtt": [name, "Version"]}
        return name

    def test_the_same_code_and_configuration_are_the_same_version(self):
        assert self.version() == self.version()

    @pytest.mark.parametrize(
        "change",
        [
            {"environment": {"SEARCH_TYPE": "SEMANTIC"}},
            {"memory_mb": 1024},
            {"module": "lambdas.chunk_documents.handler"},
            {"snap_start": True},
        ],
        ids=str,
    )
    def test_another_configuration_is_another_version(self, change):
        assert self.version(**change) != self.version()

    def test_other_code_is_another_version(self, monkeypatch):
        before = self.version()
        path = bundle(RETRIEVE, BUNDLES).path
        changed = Bundle(path, "0" * 64, byte_code=True)
        monkeypatch.setattr(python_function, "_bundle", lambda _: changed)
        assert self.version() != before

    def test_a_failed_asynchronous_call_is_not_made_again(self):
        calls = only(bare(), "AWS::Lambda::EventInvokeConfig")
        assert calls["MaximumRetryAttempts"] == 0

    def test_unless_it_is_asked_for(self):
        stack = cdk.Stack()
        make(stack, async_retries=2)
        calls = only(Template.from_stack(stack), "AWS::Lambda::EventInvokeConfig")
        assert calls["MaximumRetryAttempts"] == 2


class TestReview:
    def findings(self, **grant):
        app = cdk.App()
        cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
        stack = cdk.Stack(app, "Stack")
        made = make(stack, snap_start=True)
        if grant:
            made.role.add_to_policy(iam.PolicyStatement(**grant))
        try:
            app.synth()
        except RuntimeError as error:
            return str(error)
        return ""

    def test_it_passes(self):
        assert self.findings() == ""

    def test_its_acknowledgement_does_not_excuse_what_is_granted_later(self):
        assert self.findings(actions=["s3:GetObject"], resources=["*"])


class TestNotes:
    def test_nothing_is_left_to_warn_of(self):
        stack = cdk.Stack()
        make(stack, snap_start=True)
        if bundle(RETRIEVE, BUNDLES).byte_code:
            assert Annotations.from_stack(stack).find_warning("*", Match.any_value()) == []

    def test_a_bundle_without_byte_code_is_told(self, monkeypatch):
        bare_bundle = Bundle(bundle(RETRIEVE, BUNDLES).path, "0" * 64, byte_code=False)
        monkeypatch.setattr(python_function, "_bundle", lambda _: bare_bundle)
        stack = cdk.Stack()
        make(stack)
        Annotations.from_stack(stack).has_warning(
            "/Default/Retrieve/Function", Match.string_like_regexp("no Python 3.13 here")
        )
