"""What an organisation prescribes: its key, the bound of its roles, its tags, its bootstrap."""

import json
import re

import pytest
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from infra.account import TAGS_FOR_EVER
from infra.setting_values import MAX_TAGS, OWN_TAG
from infra.settings import SettingsError, load_settings
from tests.docs.site import Page
from tests.infra.iam import listed, render
from tests.infra.parts import PROJECT, data, of_type, only
from tests.infra.synthesis import ADOPTED, DISPOSABLE, synthesized

KEY = ADOPTED["kms_key_arn"]
OWN = {"customer_managed_key": True}
OPENSEARCH = {
    "permissions_boundary": "arn:${AWS::Partition}:iam::${AWS::AccountId}:policy/team",
    **{
        name: ADOPTED[name]
        for name in (
            "tags",
            "bootstrap_qualifier",
            "deploy_role_arn",
            "execution_role_arn",
            "assets_role_arn",
            "assets_bucket",
        )
    },
}


def read(region="us-east-1", **values):
    return load_settings({"knowledge-rag": values}, region).account


def problem(region="us-east-1", **values):
    with pytest.raises(SettingsError) as raised:
        read(region, **values)
    (line,) = str(raised.value).splitlines()[1:]
    return line.strip()


def test_nothing_is_prescribed_unless_it_is_set():
    assert read(preset="prod") == read()
    assert (read().key, read().tags, read().qualifier) == ("", {}, "")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (OWN | {"kms_key_arn": "alias/team"}, "allowed: the ARN of a KMS key"),
        (OWN | {"kms_key_arn": "arn:aws:kms:us-east-1:123456789012:alias/team"}, "the ARN of a KMS key"),
        (OWN | {"kms_key_arn": KEY.rpartition("/")[2]}, "the ARN of a KMS key"),
        (OWN | {"kms_key_arn": KEY.replace("us-east-1", "eu-west-1")}, "a key of us-east-1, where this is deployed"),
        ({"kms_key_arn": KEY}, "unset unless customer_managed_key=true"),
        ({"permissions_boundary": "team-boundary"}, "the ARN of a managed policy"),
        ({"permissions_boundary": "arn:aws:iam::123456789012:role/team"}, "the ARN of a managed policy"),
        ({"tags": {"aws:team": "sre"}}, "keys of your own; aws:team is reserved"),
        ({"tags": {"AWS:team": "sre"}}, "keys of your own; AWS:team is reserved"),
        ({"tags": {OWN_TAG: "sre"}}, f"keys of your own; {OWN_TAG} is reserved"),
        ({"tags": {f"tag-{n}": "" for n in range(MAX_TAGS)}}, "at most 49 tags"),
        ({"tags": {"Team": "a", "team": "b"}}, "keys that differ by more than their case"),
        ({"tags": {"team": "sré"}}, "values of at most 256"),
        ({"tags": {"team": "a" * 257}}, "values of at most 256"),
        ({"tags": {"": "sre"}}, "keys of 1 to 128"),
        ({"tags": {"a" * 129: "sre"}}, "keys of 1 to 128"),
        ({"tags": {"team": 7}}, "an object of strings"),
        ({"tags": "team"}, "an object of strings"),
        ({"tags": "{team"}, "an object of strings"),
        ({"tags": ["team"]}, "an object of strings"),
        ({"bootstrap_qualifier": "platform-team"}, "1 to 10 lower-case letters"),
        ({"bootstrap_qualifier": "Platform"}, "1 to 10 lower-case letters"),
        ({"deploy_role_arn": "team-deploy"}, "the ARN of a role"),
        ({"execution_role_arn": "arn:aws:iam::1:role/x"}, "the ARN of a role"),
        ({"assets_role_arn": "arn:aws:iam::${AWS::Partition}:role/x"}, "the ARN of a role"),
        ({"assets_bucket": "s3://assets"}, "the name of a bucket"),
    ],
)  # fmt: skip
def test_what_can_not_be_is_refused_with_what_can(values, told):
    assert told in problem(**values)


def test_tags_may_be_an_object_its_json_or_pairs():
    wanted = {"team": "sre", "cost-centre": "a=b"}
    for given in (wanted, json.dumps(wanted), "team=sre, cost-centre=a=b,"):
        assert read(tags=given).tags == wanted
    most = {f"tag-{n}": "" for n in range(MAX_TAGS - 1)}
    assert read(tags=most).tags == most


def test_the_region_of_a_key_is_left_to_the_deployment_where_it_is_not_known():
    assert read(None, **OWN, kms_key_arn=KEY.replace("us-east-1", "eu-west-1")).key


@pytest.fixture(scope="module")
def adopted():
    return synthesized(**ADOPTED)


def resources(deployment):
    for template in deployment.templates:
        yield from template["Resources"].values()


def test_every_role_has_the_boundary(adopted):
    roles = [each for each in resources(adopted) if each["Type"] == "AWS::IAM::Role"]
    assert len(roles) == 11
    bounds = {each["Properties"].get("PermissionsBoundary") for each in roles}
    assert bounds == {ADOPTED["permissions_boundary"]}


def test_a_boundary_of_whichever_account_is_deployed_to():
    for each in resources(synthesized(**OPENSEARCH)):
        if each["Type"] == "AWS::IAM::Role":
            bounded = {"Fn::Sub": OPENSEARCH["permissions_boundary"]}
            assert each["Properties"]["PermissionsBoundary"] == bounded


def tagging(kind):
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", kind).schema
    place = schema.get("tagging", {}).get("tagProperty", "/properties/Tags")
    name = place.rpartition("/")[2]
    takes = schema.get("tagging", {}).get("taggable", True) and name in schema["properties"]
    return name, takes, place in schema.get("createOnlyProperties", [])


@pytest.mark.parametrize("settings", [ADOPTED, OPENSEARCH], ids=["s3-vectors", "opensearch"])
def test_everything_whose_tags_can_be_changed_has_them(settings):
    own = {OWN_TAG: load_settings({"knowledge-rag": settings}).name}
    seen = set()
    for each in resources(synthesized(**settings)):
        kind = each["Type"]
        if kind.startswith("Custom::"):
            continue
        name, takes, for_ever = tagging(kind)
        given = each.get("Properties", {}).get(name, {})
        found = given if isinstance(given, dict) else {it["Key"]: it["Value"] for it in given}
        expected = (own if for_ever else ADOPTED["tags"] | own) if takes else {}
        assert found == expected, kind
        assert for_ever == (kind in TAGS_FOR_EVER)
        seen.add(kind)
    assert seen >= {"AWS::IAM::Role", "AWS::Lambda::Function", "AWS::S3::Bucket"}


def test_the_key_of_the_settings_is_used_for_all_that_a_key_is_used_for(adopted):
    own = synthesized(**{k: v for k, v in ADOPTED.items() if k != "kms_key_arn"})
    keys = {
        stack: [
            name for name, each in template["Resources"].items() if each["Type"] == "AWS::KMS::Key"
        ]
        for stack, template in zip(("data", "service"), own.templates, strict=True)
    }
    for stack, made, given in zip(
        ("data", "service"), own.templates, adopted.templates, strict=True
    ):
        (name,) = keys[stack]
        text = json.dumps(made["Resources"])
        uses = text.count(json.dumps({"Fn::GetAtt": [name, "Arn"]})) - _of_alias(made, name)
        assert json.dumps(given["Resources"]).count(KEY) == uses
        assert not of_type(given, "AWS::KMS::Key")


def _of_alias(template, key):
    aliases = of_type(template, "AWS::KMS::Alias").values()
    return sum(json.dumps(each).count(key) for each in aliases)


def test_a_job_s_copy_of_the_documents_is_under_the_key():
    for values, key in ((OWN, ["Key961B73FD", "Arn"]), (OWN | {"kms_key_arn": KEY}, KEY)):
        encryption = only(data(**values), "AWS::Bedrock::DataSource")[
            "ServerSideEncryptionConfiguration"
        ]["KmsKeyArn"]
        assert encryption == key or encryption["Fn::GetAtt"] == key
    assert "ServerSideEncryptionConfiguration" not in only(data(), "AWS::Bedrock::DataSource")


@pytest.mark.parametrize("store", [{}, {"vector_store": "s3-vectors", "search_type": "SEMANTIC"}])
def test_another_key_is_another_store(store):
    def base(**values):
        return only(data(**store, **values), "AWS::Bedrock::KnowledgeBase")["Name"]

    names = [
        base(),
        base(**OWN),
        base(**OWN, kms_key_arn=KEY),
        base(**OWN, kms_key_arn=KEY[:-1] + "0"),
    ]
    assert len(set(names)) == 4


@pytest.mark.parametrize("settings", [DISPOSABLE, OPENSEARCH], ids=["of CDK", "of the settings"])
def test_the_role_that_makes_the_index_is_let_into_it(settings):
    made = synthesized(**settings)
    manifest = json.loads((made.folder / "manifest.json").read_text())["artifacts"]
    role = manifest["knowledge-rag-dev-data"]["properties"]["cloudFormationExecutionRoleArn"]
    assert role in render(only(made.data, "AWS::OpenSearchServerless::AccessPolicy")["Policy"])
    if settings is OPENSEARCH:
        assert "role/team-platform-execution" in role
        assert "cdk-hnb659fds" not in json.dumps(made.data)


def test_the_assembly_names_the_roles_and_the_bucket_of_the_settings(adopted):
    manifest = json.loads((adopted.folder / "manifest.json").read_text())["artifacts"]
    stack = manifest["knowledge-rag-prod-service"]["properties"]
    assert stack["assumeRoleArn"] == ADOPTED["deploy_role_arn"]
    assert stack["cloudFormationExecutionRoleArn"].endswith("role/team-platform-execution")
    assert stack["bootstrapStackVersionSsmParameter"] == "/cdk-bootstrap/platform/version"
    assert stack["stackTemplateAssetObjectUrl"].startswith(f"s3://{ADOPTED['assets_bucket']}/")
    for path in adopted.folder.glob("*.assets.json"):
        for file in json.loads(path.read_text())["files"].values():
            for place in file["destinations"].values():
                assert place["bucketName"] == ADOPTED["assets_bucket"]
                assert place["assumeRoleArn"] == ADOPTED["assets_role_arn"]


def test_the_page_s_key_policy_is_that_of_the_keys_that_are_made():
    (block,) = (
        json.loads(each.text)
        for each in Page(PROJECT / "docs/adopt.md").blocks
        if each.language == "json" and each.text.startswith("[")
    )
    own = synthesized(**{k: v for k, v in ADOPTED.items() if k != "kms_key_arn"})
    made = [
        statement
        for template in own.templates
        for statement in only(template, "AWS::KMS::Key")["KeyPolicy"]["Statement"]
    ]
    assert {_line(each) for each in made} == {_line(each) for each in block}


def _line(statement):
    """A statement as comparable text, with the page's placeholders."""
    shown = {key: value for key, value in statement.items() if key != "Sid"}
    text = render_all(shown | {"Action": sorted(listed(statement["Action"]))})
    for pattern, placeholder in (
        ("<AWS::Partition>", "aws"),
        ("<AWS::Region>", "REGION"),
        ("<AWS::AccountId>", "ACCOUNT"),
        ("knowledge-rag-prod-", "NAME-"),
    ):
        text = text.replace(pattern, placeholder)
    return text


def render_all(value):
    if isinstance(value, dict) and not any(re.match(r"Fn::|Ref$", key) for key in value):
        return json.dumps({key: render_all(item) for key, item in sorted(value.items())})
    if isinstance(value, list):
        return json.dumps([render_all(item) for item in value])
    return render(value)
