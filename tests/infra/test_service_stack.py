"""The service stack, in both presets and with all four entry points, from one synth."""

import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import aws_cdk as cdk
import pytest
from cdk_nag import AwsSolutionsChecks

from infra.service_stack import AGENTS_CLASSIC_NOTE, COLD_START_WARNING, ServiceStack
from infra.settings import Entrypoint, Preset
from lambdas.retrieve_knowledge.events import to_query
from tests.infra.iam import render
from tests.infra.service import of_type, only, settings

PROJECT = Path(__file__).parents[2]
KINDS = [(preset, entrypoint) for preset in Preset for entrypoint in Entrypoint]
DATA = SimpleNamespace(
    chunk_function_name="x-chunk-documents",
    starter_function_name="x-start-ingestion",
    collection_name="x-vectors",
)


def stack_name(preset, entrypoint):
    """A name as long as one may be, so that whatever is derived from it fits."""
    return f"{preset}-{entrypoint}-".ljust(20, "x")


EXPECTED = {
    Entrypoint.AGENT: {
        "AWS::Bedrock::Agent",
        "AWS::Bedrock::AgentAlias",
        "AWS::Lambda::Permission",
    },
    Entrypoint.GATEWAY: {
        "AWS::BedrockAgentCore::Gateway",
        "AWS::BedrockAgentCore::GatewayTarget",
    },
    Entrypoint.NONE: set(),
}
EXPECTED[Entrypoint.BOTH] = EXPECTED[Entrypoint.AGENT] | EXPECTED[Entrypoint.GATEWAY]


@pytest.fixture(scope="module")
def synthesized(tmp_path_factory):
    context = json.loads((PROJECT / "cdk.json").read_text())["context"]
    app = cdk.App(context=context, outdir=str(tmp_path_factory.mktemp("cdk.out")))
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    for preset, entrypoint in KINDS:
        name = stack_name(preset, entrypoint)
        chosen = settings(preset=preset, entrypoint=entrypoint, name=name)
        ServiceStack(app, name, settings=chosen, data=DATA)
    return app.synth()


@pytest.fixture(scope="module")
def template(synthesized):
    def read(preset, entrypoint):
        return synthesized.get_stack_by_name(stack_name(preset, entrypoint)).template

    return read


def outputs(template):
    return {name for name in template["Outputs"] if not name.startswith("Export")}


@pytest.mark.parametrize(("preset", "entrypoint"), KINDS)
def test_each_entry_point_has_what_it_needs_and_no_other(template, preset, entrypoint):
    kinds = {resource["Type"] for resource in template(preset, entrypoint)["Resources"].values()}
    assert kinds & EXPECTED[Entrypoint.BOTH] == EXPECTED[entrypoint]
    assert "AWS::Lambda::Function" in kinds


@pytest.mark.parametrize(("preset", "entrypoint"), KINDS)
def test_it_tells_what_is_needed_to_use_it(template, preset, entrypoint):
    expected = {"RetrieveFunctionArn", "TryIt", "AlarmTopicArn", "DashboardName", "DashboardUrl"}
    if preset is Preset.PROD:
        expected.add("GuardrailId")
    if entrypoint in {Entrypoint.AGENT, Entrypoint.BOTH}:
        expected |= {"AgentId", "AgentAliasId"}
    if entrypoint in {Entrypoint.GATEWAY, Entrypoint.BOTH}:
        expected |= {"GatewayUrl", "GatewayArn"}
    assert outputs(template(preset, entrypoint)) == expected


def test_cdk_nag_has_nothing_to_say_and_nothing_is_excused_here(synthesized):
    report = json.loads((Path(synthesized.directory) / "validation-report.json").read_text())
    findings = [
        (violation["ruleName"], violation["violatingConstructs"])
        for plugin in report["pluginReports"]
        if plugin["pluginName"] != "Construct Annotations"
        for violation in plugin["violations"]
    ]
    assert findings == []


@pytest.mark.parametrize("preset", Preset)
def test_the_knowledge_bases_id_is_read_on_deployment(template, preset):
    parameters = template(preset, Entrypoint.NONE)["Parameters"].values()
    assert {
        "Type": "AWS::SSM::Parameter::Value<String>",
        "Default": f"/{stack_name(preset, Entrypoint.NONE)}/knowledge-base-id",
    } in parameters


def test_no_stack_holds_on_to_another(template):
    for kind in KINDS:
        assert "Fn::ImportValue" not in json.dumps(template(*kind))


def test_production_has_a_key_of_its_own_that_turns(template):
    given = template(Preset.PROD, Entrypoint.BOTH)
    assert only(given, "AWS::KMS::Key")["EnableKeyRotation"] is True
    for kind, name in (
        ("AWS::Lambda::Function", "KmsKeyArn"),
        ("AWS::Logs::LogGroup", "KmsKeyId"),
        ("AWS::SNS::Topic", "KmsMasterKeyId"),
        ("AWS::Bedrock::Agent", "CustomerEncryptionKeyArn"),
    ):
        assert name in only(given, kind)


def test_development_pays_for_no_key(template):
    assert of_type(template(Preset.DEV, Entrypoint.BOTH), "AWS::KMS::Key") == []


def test_the_command_to_try_it_asks_the_alias_what_the_function_takes(template):
    command = render(template(Preset.DEV, Entrypoint.NONE)["Outputs"]["TryIt"]["Value"])
    words = shlex.split(command)
    assert words[:3] == ["aws", "lambda", "invoke"]
    assert words[words.index("--function-name") + 1] == "<RetrievalRetrieveLive>"
    assert to_query(json.loads(words[words.index("--payload") + 1]), 5).text.endswith("?")


def messages(synthesized, preset, entrypoint, level):
    stack = synthesized.get_stack_by_name(stack_name(preset, entrypoint))
    return [m.entry.data for m in stack.messages if str(m.level).endswith(level)]


def test_a_collection_that_sleeps_is_told_before_it_is_deployed(synthesized):
    (warning,) = messages(synthesized, Preset.DEV, Entrypoint.NONE, "WARNING")
    assert warning.startswith(COLD_START_WARNING)
    assert messages(synthesized, Preset.PROD, Entrypoint.NONE, "WARNING") == []


def test_that_agents_are_closed_to_new_accounts_is_told_before_one_is_deployed(synthesized):
    (note,) = messages(synthesized, Preset.PROD, Entrypoint.AGENT, "INFO")
    assert note.startswith(AGENTS_CLASSIC_NOTE)
    assert messages(synthesized, Preset.PROD, Entrypoint.GATEWAY, "INFO") == []
