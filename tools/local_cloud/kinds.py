"""The stacks' resource types that moto's CloudFormation lacks.

Each names the operation that creates it; its properties are checked against that operation and, if moto has
it, the operation is really called. All created resources are kept for the tests.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import boto3

from tests.support.ingestion import DATA_SOURCE_ID, KNOWLEDGE_BASE_ID
from tools.local_cloud.shapes import InvalidPropertiesError, parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.local_cloud.searching import Searching

ACCOUNT = "123456789012"
REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class Made:
    """A resource that was created.

    ``reference`` is the value of ``Ref``, ``attributes`` those of ``GetAtt``, ``parameters`` those of the request to
    the service.
    """

    kind: str
    reference: str
    parameters: dict[str, Any]
    attributes: dict[str, str] = field(default_factory=dict)


MADE: list[Made] = []
SEARCHING: list[Searching] = []
"""Serves the collections' endpoints while a cloud runs."""
GATEWAYS: list[str] = []
"""The address of gateways, if one is served."""
_COUNTS: Counter[str] = Counter()


@dataclass(frozen=True, slots=True)
class Kind:
    """One resource type.

    Args:
        service: botocore's name of the service.
        operation: the operation that creates it.
        describe: returns ``Ref`` and the attributes, from the parameters and the service's answer.
        played: whether moto has the operation.
        apart: properties that belong to no operation, or to one that ``prepare`` names.
        prepare: rewrites properties before they are matched; checks the ones in ``apart``.
        deleting: the operation that deletes it, if moto has one, and its parameters.
    """

    service: str
    operation: str
    describe: Callable[[dict[str, Any], dict[str, Any]], tuple[str, dict[str, str]]]
    played: bool = False
    apart: frozenset[str] = frozenset()
    prepare: Callable[[dict[str, Any]], dict[str, Any]] = dict
    deleting: Callable[[Made], tuple[str, dict[str, Any]]] | None = None


def make(kind: str, properties: dict[str, Any]) -> Made:
    """Create one resource.

    Raises:
        InvalidPropertiesError: the service wouldn't accept the properties.
    """
    rule = KINDS[kind]
    prepared = rule.prepare(dict(properties))
    wanted = {name: value for name, value in prepared.items() if name not in rule.apart}
    try:
        asked = parameters(rule.service, rule.operation, wanted)
    except InvalidPropertiesError as error:
        raise InvalidPropertiesError(f"{kind}: {error}") from None
    answer = _call(rule.service, rule.operation, asked) if rule.played else {}
    reference, attributes = rule.describe(asked, answer)
    made = Made(kind, reference, asked, attributes)
    MADE.append(made)
    return made


def unmake(made: Made) -> None:
    """Delete one resource."""
    rule = KINDS[made.kind]
    if rule.deleting is not None:
        _call(rule.service, *rule.deleting(made))
    MADE.remove(made)


def _call(service: str, operation: str, asked: dict[str, Any]) -> dict[str, Any]:
    client = boto3.client(service, region_name=REGION)  # type: ignore[call-overload] # any service
    method = "".join(f"_{c.lower()}" if c.isupper() else c for c in operation).lstrip("_")
    return getattr(client, method)(**asked)


def identifier(prefix: str) -> str:
    """Return an id of ten upper-case letters and digits, as Bedrock does, in order of creation."""
    _COUNTS[prefix] += 1
    return f"{prefix}{_COUNTS[prefix]:0{10 - len(prefix)}d}"


def arn(service: str, resource: str) -> str:
    """Return the ARN of a resource in this cloud."""
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"


def _described(reference: str, new: str = "", **attributes: str) -> Any:
    """Return a description made from templates of the request and the answer.

    ``{new}`` is a new id with the prefix ``new``, ``{ref}`` the reference itself.
    """

    def describe(asked: dict[str, Any], answer: dict[str, Any]) -> tuple[str, dict[str, str]]:
        values = asked | answer | ({"new": identifier(new)} if new else {})
        values["ref"] = reference.format(**values)
        return values["ref"], {
            name: template.format(**values) for name, template in attributes.items()
        }

    return describe


def _collection(asked: dict[str, Any], _: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """Refuse a collection without an encryption and a network policy, as the service does."""
    for kind in ("encryption", "network"):
        if f"collection/{asked['name']}" not in _covered(kind):
            raise InvalidPropertiesError(f"no {kind} policy covers {asked['name']} yet")
    made = f"{identifier('co')}{'x' * 10}".lower()
    endpoint = f"{SEARCHING[0].url}/{made}"
    return made, {
        "Id": made,
        "Arn": arn("aoss", f"collection/{made}"),
        "CollectionEndpoint": endpoint,
        "DashboardEndpoint": f"{endpoint}/_dashboards",
    }


def _covered(kind: str) -> set[str]:
    rules = [
        rule
        for made in MADE
        if made.parameters.get("type") == kind
        for policy in _listed(json.loads(made.parameters["policy"]))
        for rule in policy["Rules"]
    ]
    return {resource for rule in rules for resource in rule["Resource"]}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _index(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the one document that the service accepts, from CloudFormation's separate properties."""
    collection = properties.pop("CollectionEndpoint").rpartition("/")[2]
    schema = {key: properties.pop(key) for key in ("Mappings", "Settings") if key in properties}
    SEARCHING[0].add(f"/{collection}/{properties['IndexName']}", schema["Mappings"]["Properties"])
    return {"Id": collection, "IndexSchema": schema} | properties


def _agent_properties(properties: dict[str, Any]) -> dict[str, Any]:
    for group in properties.get("ActionGroups", []):
        wanted = {key: value for key, value in group.items() if not key.startswith("SkipResource")}
        parameters(
            "bedrock-agent",
            "CreateAgentActionGroup",
            wanted | {"AgentId": "AGENT00001", "AgentVersion": "DRAFT"},
        )
    return properties


def _guardrail_version(asked: dict[str, Any], _: dict[str, Any]) -> tuple[str, dict[str, str]]:
    made = asked["guardrailIdentifier"].rsplit("/", 1)[-1]
    return f"{made}|1", {"Version": "1", "GuardrailId": made}


def _gateway(asked: dict[str, Any], _: dict[str, Any]) -> tuple[str, dict[str, str]]:
    made = f"{asked['name'].lower()}-{identifier('gw').lower()}"
    url = f"https://{made}.gateway.bedrock-agentcore.{REGION}.amazonaws.com/mcp"
    return made, {
        "GatewayIdentifier": made,
        "GatewayArn": arn("bedrock-agentcore", f"gateway/{made}"),
        "GatewayUrl": GATEWAYS[-1] if GATEWAYS else url,
    }


def _renamed_type(properties: dict[str, Any]) -> dict[str, Any]:
    return properties | {"Service": properties.pop("ServiceType")}


def _mapping_properties(properties: dict[str, Any]) -> dict[str, Any]:
    """Return tags as a map, as the service requires."""
    return properties | {
        "Tags": {each["Key"]: each["Value"] for each in properties.get("Tags", [])}
    }


def _key_properties(properties: dict[str, Any]) -> dict[str, Any]:
    tags = [
        {"TagKey": each["Key"], "TagValue": each["Value"]} for each in properties.pop("Tags", [])
    ]
    return properties | {"Policy": json.dumps(properties.pop("KeyPolicy")), "Tags": tags}


def _parameter_properties(properties: dict[str, Any]) -> dict[str, Any]:
    tags = [{"Key": key, "Value": value} for key, value in properties.pop("Tags", {}).items()]
    return properties | ({"Tags": tags} if tags else {})


def _filter_properties(properties: dict[str, Any]) -> dict[str, Any]:
    """Name an unnamed filter, as CloudFormation does."""
    return {"FilterName": identifier("F")} | properties


def _json(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def prepare(properties: dict[str, Any]) -> dict[str, Any]:
        document = properties.pop("PolicyDocument" if name == "Policy" else name)
        return properties | {name: document if isinstance(document, str) else json.dumps(document)}

    return prepare


def _topic_policy(properties: dict[str, Any]) -> dict[str, Any]:
    (topic,) = properties["Topics"]
    document = json.dumps(properties["PolicyDocument"])
    return {"TopicArn": topic, "AttributeName": "Policy", "AttributeValue": document}


def _delivery_destination(properties: dict[str, Any]) -> dict[str, Any]:
    """Put the destination's ARN into a structure, as the service requires."""
    place = {"destinationResourceArn": properties.pop("DestinationResourceArn")}
    return properties | {"DeliveryDestinationConfiguration": place}


_BOUNDS = "GuardrailPolicyArns"


def _renamed(**names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Rename properties, and the parts of tags, as in Chatbot's API."""

    def rename(properties: dict[str, Any]) -> dict[str, Any]:
        tags = [{f"Tag{part}": it[part] for part in it} for it in properties.get("Tags", ())]
        return {names.get(key, key): value for key, value in properties.items()} | {"Tags": tags}

    return rename


def _subscription_properties(properties: dict[str, Any]) -> dict[str, Any]:
    """Move filters into a subscription's attributes, as text, as the service requires."""
    filters = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name in ("FilterPolicy", "FilterPolicyScope")
        if (value := properties.pop(name, None))
    }
    return properties | ({"Attributes": filters} if filters else {})


def _queue_policy(properties: dict[str, Any]) -> dict[str, Any]:
    (queue,) = properties["Queues"]
    return {"QueueUrl": queue, "Attributes": {"Policy": json.dumps(properties["PolicyDocument"])}}


def _vector_bucket_properties(properties: dict[str, Any]) -> dict[str, Any]:
    """Name an unnamed bucket, as CloudFormation does."""
    return {"VectorBucketName": f"vectors-{identifier('vb').lower()}"} | properties


def _delete(
    operation: str, parameter: str, *, several: bool = False, **more: Any
) -> Callable[[Made], tuple[str, dict[str, Any]]]:
    """Delete a resource by its ``Ref``."""

    def deleting(made: Made) -> tuple[str, dict[str, Any]]:
        return operation, {parameter: [made.reference] if several else made.reference} | more

    return deleting


def _delete_schedule(made: Made) -> tuple[str, dict[str, Any]]:
    return "DeleteSchedule", {"Name": made.reference, "GroupName": made.parameters["GroupName"]}


KINDS: dict[str, Kind] = {
    "AWS::Bedrock::Agent": Kind(
        "bedrock-agent",
        "CreateAgent",
        _described(
            "{new}",
            "AG",
            AgentId="{new}",
            AgentArn=arn("bedrock", "agent/{new}"),
            AgentVersion="DRAFT",
        ),
        apart=frozenset({"ActionGroups", "AutoPrepare", "SkipResourceInUseCheckOnDelete"}),
        prepare=_agent_properties,
    ),
    "AWS::Bedrock::AgentAlias": Kind(
        "bedrock-agent",
        "CreateAgentAlias",
        _described(
            "{agentId}|{new}",
            "AL",
            AgentAliasId="{new}",
            AgentAliasArn=arn("bedrock", "agent-alias/{agentId}/{new}"),
        ),
    ),
    "AWS::Bedrock::DataSource": Kind(
        "bedrock-agent",
        "CreateDataSource",
        _described(f"{{knowledgeBaseId}}|{DATA_SOURCE_ID}", DataSourceId=DATA_SOURCE_ID),
    ),
    "AWS::Bedrock::Guardrail": Kind(
        "bedrock",
        "CreateGuardrail",
        _described(
            arn("bedrock", "guardrail/{new}"),
            "gr",
            GuardrailId="{new}",
            GuardrailArn="{ref}",
            Version="DRAFT",
        ),
    ),
    "AWS::Bedrock::GuardrailVersion": Kind("bedrock", "CreateGuardrailVersion", _guardrail_version),
    # moto's ids are unlike the service's
    "AWS::Bedrock::KnowledgeBase": Kind(
        "bedrock-agent",
        "CreateKnowledgeBase",
        _described(
            KNOWLEDGE_BASE_ID,
            KnowledgeBaseId="{ref}",
            KnowledgeBaseArn=arn("bedrock", "knowledge-base/{ref}"),
        ),
    ),
    "AWS::BedrockAgentCore::Gateway": Kind("bedrock-agentcore-control", "CreateGateway", _gateway),
    "AWS::BedrockAgentCore::GatewayRateLimit": Kind(
        "bedrock-agentcore-control",
        "CreateGatewayRateLimit",
        _described("{gatewayIdentifier}|{new}", "rl"),
    ),
    "AWS::BedrockAgentCore::GatewayTarget": Kind(
        "bedrock-agentcore-control",
        "CreateGatewayTarget",
        _described("{gatewayIdentifier}|{new}", "TG", TargetId="{new}"),
    ),
    "AWS::BedrockAgentCore::Harness": Kind(
        "bedrock-agentcore-control",
        "CreateHarness",
        _described(
            "{harnessName}-{new}",
            "HN",
            HarnessId="{ref}",
            Arn=arn("bedrock-agentcore", "harness/{ref}"),
        ),
    ),
    "AWS::Chatbot::MicrosoftTeamsChannelConfiguration": Kind(
        "chatbot",
        "CreateMicrosoftTeamsChannelConfiguration",
        _described("{ConfigurationName}"),
        prepare=_renamed(
            TeamsChannelId="ChannelId", TeamsTenantId="TenantId", GuardrailPolicies=_BOUNDS
        ),
    ),
    "AWS::Chatbot::SlackChannelConfiguration": Kind(
        "chatbot",
        "CreateSlackChannelConfiguration",
        _described("{ConfigurationName}"),
        prepare=_renamed(SlackWorkspaceId="SlackTeamId", GuardrailPolicies=_BOUNDS),
    ),
    "AWS::CloudWatch::Alarm": Kind(
        "cloudwatch",
        "PutMetricAlarm",
        _described("{AlarmName}", Arn=arn("cloudwatch", "alarm:{AlarmName}")),
        played=True,
        deleting=_delete("DeleteAlarms", "AlarmNames", several=True),
    ),
    "AWS::CloudWatch::CompositeAlarm": Kind(
        "cloudwatch",
        "PutCompositeAlarm",
        _described("{AlarmName}", Arn=arn("cloudwatch", "alarm:{AlarmName}")),
    ),
    "AWS::CodeDeploy::Application": Kind(
        "codedeploy", "CreateApplication", _described("{applicationName}")
    ),
    "AWS::CodeDeploy::DeploymentGroup": Kind(
        "codedeploy", "CreateDeploymentGroup", _described("{deploymentGroupName}")
    ),
    "AWS::DevOpsAgent::Association": Kind(
        "devops-agent", "AssociateService", _described("{agentSpaceId}|{new}", "AS")
    ),
    "AWS::DevOpsAgent::Service": Kind(
        "devops-agent",
        "RegisterService",
        _described("service-{new}", "DS", ServiceId="{ref}", Arn=arn("aidevops", "service/{ref}")),
        prepare=_renamed_type,
    ),
    # moto knows buses, but not the value of a reference to one
    "AWS::Events::EventBus": Kind(
        "events",
        "CreateEventBus",
        _described("{Name}", Name="{Name}", Arn=arn("events", "event-bus/{Name}")),
        played=True,
        deleting=_delete("DeleteEventBus", "Name"),
    ),
    # moto knows keys, but not the tags that CloudFormation gives them
    "AWS::KMS::Key": Kind(
        "kms",
        "CreateKey",
        _described("{KeyMetadata[KeyId]}", KeyId="{ref}", Arn="{KeyMetadata[Arn]}"),
        played=True,
        apart=frozenset({"Enabled", "EnableKeyRotation", "PendingWindowInDays"}),
        prepare=_key_properties,
        deleting=_delete("ScheduleKeyDeletion", "KeyId", PendingWindowInDays=7),
    ),
    "AWS::Lambda::Alias": Kind(
        "lambda",
        "CreateAlias",
        _described("{AliasArn}", AliasArn="{ref}"),
        played=True,
        apart=frozenset({"ProvisionedConcurrencyConfig"}),
    ),
    "AWS::Lambda::EventInvokeConfig": Kind(
        "lambda", "PutFunctionEventInvokeConfig", _described("{FunctionName}"), played=True
    ),
    # moto would poll a queue, and call the function in Docker; `changes` does both here
    "AWS::Lambda::EventSourceMapping": Kind(
        "lambda",
        "CreateEventSourceMapping",
        _described("00000000-0000-0000-0000-{new}00", "M", Id="{ref}"),
        prepare=_mapping_properties,
    ),
    "AWS::Lambda::Version": Kind(
        "lambda",
        "PublishVersion",
        _described("{FunctionArn}", Version="{Version}"),
        played=True,
        apart=frozenset({"ProvisionedConcurrencyConfig", "RuntimePolicy"}),
    ),
    "AWS::Logs::Delivery": Kind(
        "logs", "CreateDelivery", _described("{deliverySourceName}"), apart=frozenset({"Tags"})
    ),
    "AWS::Logs::DeliveryDestination": Kind(
        "logs",
        "PutDeliveryDestination",
        _described("{name}", Arn=arn("logs", "delivery-destination:{name}")),
        apart=frozenset({"Tags"}),
        prepare=_delivery_destination,
    ),
    "AWS::Logs::DeliverySource": Kind(
        "logs", "PutDeliverySource", _described("{name}"), apart=frozenset({"Tags"})
    ),
    "AWS::Logs::MetricFilter": Kind(
        "logs",
        "PutMetricFilter",
        _described("{filterName}"),
        played=True,
        prepare=_filter_properties,
    ),
    "AWS::OpenSearchServerless::AccessPolicy": Kind(
        "opensearchserverless", "CreateAccessPolicy", _described("{name}")
    ),
    "AWS::OpenSearchServerless::Collection": Kind(
        "opensearchserverless", "CreateCollection", _collection
    ),
    "AWS::OpenSearchServerless::CollectionGroup": Kind(
        "opensearchserverless",
        "CreateCollectionGroup",
        _described("{name}", Arn=arn("aoss", "collection-group/{name}"), Id="{name}"),
    ),
    "AWS::OpenSearchServerless::Index": Kind(
        "opensearchserverless", "CreateIndex", _described("{indexName}"), prepare=_index
    ),
    "AWS::OpenSearchServerless::SecurityPolicy": Kind(
        "opensearchserverless", "CreateSecurityPolicy", _described("{name}"), played=True
    ),
    # moto would enforce it, ignoring its conditions: every upload without TLS, here all of them, would be
    # refused
    "AWS::S3::BucketPolicy": Kind(
        "s3", "PutBucketPolicy", _described("{Bucket}"), prepare=_json("Policy")
    ),
    "AWS::S3Vectors::Index": Kind(
        "s3vectors",
        "CreateIndex",
        _described("{vectorBucketArn}/index/{indexName}", IndexArn="{ref}"),
        played=True,
        deleting=_delete("DeleteIndex", "indexArn"),
    ),
    "AWS::S3Vectors::VectorBucket": Kind(
        "s3vectors",
        "CreateVectorBucket",
        # moto's answer has no ARN
        _described(arn("s3vectors", "bucket/{vectorBucketName}"), VectorBucketArn="{ref}"),
        played=True,
        prepare=_vector_bucket_properties,
        deleting=_delete("DeleteVectorBucket", "vectorBucketArn"),
    ),
    "AWS::Scheduler::Schedule": Kind(
        "scheduler",
        "CreateSchedule",
        _described("{Name}", Arn="{Name}"),
        played=True,
        deleting=_delete_schedule,
    ),
    "AWS::Scheduler::ScheduleGroup": Kind(
        "scheduler",
        "CreateScheduleGroup",
        _described("{Name}", Arn=arn("scheduler", "schedule-group/{Name}")),
        played=True,
        deleting=_delete("DeleteScheduleGroup", "Name"),
    ),
    "AWS::SQS::QueuePolicy": Kind(
        "sqs", "SetQueueAttributes", _described("{QueueUrl}"), played=True, prepare=_queue_policy
    ),
    "AWS::SNS::Subscription": Kind(
        "sns",
        "Subscribe",
        _described("{SubscriptionArn}"),
        played=True,
        apart=frozenset({"Region"}),
        prepare=_subscription_properties,
        deleting=_delete("Unsubscribe", "SubscriptionArn"),
    ),
    "AWS::SNS::TopicPolicy": Kind(
        "sns", "SetTopicAttributes", _described("{TopicArn}"), played=True, prepare=_topic_policy
    ),
    # moto knows parameters, but not the tags that CloudFormation gives them
    "AWS::SSM::Parameter": Kind(
        "ssm",
        "PutParameter",
        _described("{Name}", Type="{Type}", Value="{Value}"),
        played=True,
        prepare=_parameter_properties,
        deleting=_delete("DeleteParameter", "Name"),
    ),
}
