"""The resource types that the stacks use and moto's CloudFormation does not know.

Each names the operation that creates it; its properties are checked against that operation and, where
moto plays it, the operation is really called. Everything made is kept, for the test to look at.
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

    ``reference`` is what ``Ref`` gives, ``attributes`` what ``GetAtt`` gives, ``parameters`` what the
    service was asked.
    """

    kind: str
    reference: str
    parameters: dict[str, Any]
    attributes: dict[str, str] = field(default_factory=dict)


MADE: list[Made] = []
SEARCHING: list[Searching] = []
"""The one that serves the collections' endpoints, while a cloud runs."""
GATEWAYS: list[str] = []
"""The address that gateways get, where one is served."""
_COUNTS: Counter[str] = Counter()


@dataclass(frozen=True, slots=True)
class Kind:
    """One resource type.

    Args:
        service: of botocore.
        operation: that creates it.
        describe: from the parameters and the service's answer to ``Ref`` and the attributes.
        played: whether moto plays the operation.
        apart: properties that belong to no operation, or to one that ``prepare`` names.
        prepare: rewrites properties before they are matched; checks those that stand apart.
        deleting: the operation that deletes it, where moto plays one, and its parameters.
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
        InvalidPropertiesError: the properties are not what the service takes.
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


def _named(member: str, **attributes: str) -> Any:
    def describe(asked: dict[str, Any], _answer: dict[str, Any]) -> tuple[str, dict[str, str]]:
        return asked[member], {
            name: template.format(**asked) for name, template in attributes.items()
        }

    return describe


def _collection(asked: dict[str, Any], _: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The service refuses a collection that no encryption and no network policy covers yet."""
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
    """The service takes one document, which CloudFormation spells out."""
    collection = properties.pop("CollectionEndpoint").rpartition("/")[2]
    schema = {key: properties.pop(key) for key in ("Mappings", "Settings") if key in properties}
    SEARCHING[0].add(f"/{collection}/{properties['IndexName']}", schema["Mappings"]["Properties"])
    return {"Id": collection, "IndexSchema": schema} | properties


def _knowledge_base(_: dict[str, Any], __: dict[str, Any]) -> tuple[str, dict[str, str]]:
    made = KNOWLEDGE_BASE_ID  # moto's ids are none that the service would give
    return made, {
        "KnowledgeBaseId": made,
        "KnowledgeBaseArn": arn("bedrock", f"knowledge-base/{made}"),
    }


def _data_source(asked: dict[str, Any], _: dict[str, Any]) -> tuple[str, dict[str, str]]:
    made = DATA_SOURCE_ID
    return f"{asked['knowledgeBaseId']}|{made}", {"DataSourceId": made}


def _agent_properties(properties: dict[str, Any]) -> dict[str, Any]:
    for group in properties.get("ActionGroups", []):
        wanted = {key: value for key, value in group.items() if not key.startswith("SkipResource")}
        parameters(
            "bedrock-agent",
            "CreateAgentActionGroup",
            wanted | {"AgentId": "AGENT00001", "AgentVersion": "DRAFT"},
        )
    return properties


def _agent(_: dict[str, Any], __: dict[str, Any]) -> tuple[str, dict[str, str]]:
    made = identifier("AG")
    own = arn("bedrock", f"agent/{made}")
    return made, {"AgentId": made, "AgentArn": own, "AgentVersion": "DRAFT"}


def _agent_alias(asked: dict[str, Any], _: dict[str, Any]) -> tuple[str, dict[str, str]]:
    alias = identifier("AL")
    return f"{asked['agentId']}|{alias}", {
        "AgentAliasId": alias,
        "AgentAliasArn": arn("bedrock", f"agent-alias/{asked['agentId']}/{alias}"),
    }


def _guardrail(_: dict[str, Any], __: dict[str, Any]) -> tuple[str, dict[str, str]]:
    made = identifier("GR").lower()
    own = arn("bedrock", f"guardrail/{made}")
    return own, {"GuardrailId": made, "GuardrailArn": own, "Version": "DRAFT"}


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


def _gateway_target(asked: dict[str, Any], _: dict[str, Any]) -> tuple[str, dict[str, str]]:
    made = identifier("TG")
    return f"{asked['gatewayIdentifier']}|{made}", {"TargetId": made}


def _gateway_rate_limit(asked: dict[str, Any], _: dict[str, Any]) -> tuple[str, dict[str, str]]:
    return f"{asked['gatewayIdentifier']}|{identifier('RL').lower()}", {}


def _harness(asked: dict[str, Any], _: dict[str, Any]) -> tuple[str, dict[str, str]]:
    made = f"{asked['harnessName']}-{identifier('HN')}"
    return made, {"HarnessId": made, "Arn": arn("bedrock-agentcore", f"harness/{made}")}


def _renamed_type(properties: dict[str, Any]) -> dict[str, Any]:
    return properties | {"Service": properties.pop("ServiceType")}


def _devops_service(_: dict[str, Any], __: dict[str, Any]) -> tuple[str, dict[str, str]]:
    made = f"service-{identifier('DS')}"
    return made, {"ServiceId": made, "Arn": arn("aidevops", f"service/{made}")}


def _association(asked: dict[str, Any], _: dict[str, Any]) -> tuple[str, dict[str, str]]:
    return f"{asked['agentSpaceId']}|{identifier('AS')}", {}


def _function_alias(_: dict[str, Any], answer: dict[str, Any]) -> tuple[str, dict[str, str]]:
    return answer["AliasArn"], {"AliasArn": answer["AliasArn"]}


def _function_version(_: dict[str, Any], answer: dict[str, Any]) -> tuple[str, dict[str, str]]:
    return answer["FunctionArn"], {"Version": answer["Version"]}


def _mapping_properties(properties: dict[str, Any]) -> dict[str, Any]:
    """The service takes tags as a map."""
    return properties | {
        "Tags": {each["Key"]: each["Value"] for each in properties.get("Tags", [])}
    }


def _mapping(_: dict[str, Any], __: dict[str, Any]) -> tuple[str, dict[str, str]]:
    made = f"00000000-0000-0000-0000-{identifier('M')}00"
    return made, {"Id": made}


def _key_properties(properties: dict[str, Any]) -> dict[str, Any]:
    tags = [
        {"TagKey": each["Key"], "TagValue": each["Value"]} for each in properties.pop("Tags", [])
    ]
    return properties | {"Policy": json.dumps(properties.pop("KeyPolicy")), "Tags": tags}


def _key(_: dict[str, Any], answer: dict[str, Any]) -> tuple[str, dict[str, str]]:
    made = answer["KeyMetadata"]
    return made["KeyId"], {"Arn": made["Arn"], "KeyId": made["KeyId"]}


def _parameter(asked: dict[str, Any], _: dict[str, Any]) -> tuple[str, dict[str, str]]:
    return asked["Name"], {"Type": asked["Type"], "Value": asked["Value"]}


def _parameter_properties(properties: dict[str, Any]) -> dict[str, Any]:
    tags = [{"Key": key, "Value": value} for key, value in properties.pop("Tags", {}).items()]
    return properties | ({"Tags": tags} if tags else {})


def _filter_properties(properties: dict[str, Any]) -> dict[str, Any]:
    """CloudFormation names a filter that has no name."""
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
    """The service takes the destination's ARN in a structure."""
    place = {"destinationResourceArn": properties.pop("DestinationResourceArn")}
    return properties | {"DeliveryDestinationConfiguration": place}


_BOUNDS = "GuardrailPolicyArns"


def _renamed(**names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Give properties, and the parts of tags, the names that Chatbot has for them."""

    def rename(properties: dict[str, Any]) -> dict[str, Any]:
        tags = [{f"Tag{part}": it[part] for part in it} for it in properties.get("Tags", ())]
        return {names.get(key, key): value for key, value in properties.items()} | {"Tags": tags}

    return rename


def _subscription_properties(properties: dict[str, Any]) -> dict[str, Any]:
    """The service takes filters among a subscription's attributes, as text."""
    filters = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name in ("FilterPolicy", "FilterPolicyScope")
        if (value := properties.pop(name, None))
    }
    return properties | ({"Attributes": filters} if filters else {})


def _queue_policy(properties: dict[str, Any]) -> dict[str, Any]:
    (queue,) = properties["Queues"]
    return {
        "QueueUrl": queue,
        "Attributes": {"Policy": json.dumps(properties["PolicyDocument"])},
    }


def _subscription(_: dict[str, Any], answer: dict[str, Any]) -> tuple[str, dict[str, str]]:
    return answer["SubscriptionArn"], {}


def _vector_bucket_properties(properties: dict[str, Any]) -> dict[str, Any]:
    """CloudFormation names a bucket that has no name."""
    return {"VectorBucketName": f"vectors-{identifier('vb').lower()}"} | properties


def _vector_bucket(asked: dict[str, Any], _: dict[str, Any]) -> tuple[str, dict[str, str]]:
    made = arn("s3vectors", f"bucket/{asked['vectorBucketName']}")  # moto's answer has none
    return made, {"VectorBucketArn": made}


def _vector_index(asked: dict[str, Any], _: dict[str, Any]) -> tuple[str, dict[str, str]]:
    made = f"{asked['vectorBucketArn']}/index/{asked['indexName']}"
    return made, {"IndexArn": made}


def _delete(
    operation: str, parameter: str, *, several: bool = False
) -> Callable[[Made], tuple[str, dict[str, Any]]]:
    """Delete a resource by what ``Ref`` gives."""

    def deleting(made: Made) -> tuple[str, dict[str, Any]]:
        return operation, {parameter: [made.reference] if several else made.reference}

    return deleting


def _delete_key(made: Made) -> tuple[str, dict[str, Any]]:
    return "ScheduleKeyDeletion", {"KeyId": made.reference, "PendingWindowInDays": 7}


def _delete_schedule(made: Made) -> tuple[str, dict[str, Any]]:
    return "DeleteSchedule", {"Name": made.reference, "GroupName": made.parameters["GroupName"]}


def _delete_vectors(made: Made) -> tuple[str, dict[str, Any]]:
    return "DeleteVectorBucket", {"vectorBucketArn": made.reference}


def _delete_index(made: Made) -> tuple[str, dict[str, Any]]:
    return "DeleteIndex", {"indexArn": made.reference}


KINDS: dict[str, Kind] = {
    "AWS::Bedrock::Agent": Kind(
        "bedrock-agent",
        "CreateAgent",
        _agent,
        apart=frozenset({"ActionGroups", "AutoPrepare", "SkipResourceInUseCheckOnDelete"}),
        prepare=_agent_properties,
    ),
    "AWS::Bedrock::AgentAlias": Kind("bedrock-agent", "CreateAgentAlias", _agent_alias),
    "AWS::Bedrock::DataSource": Kind("bedrock-agent", "CreateDataSource", _data_source),
    "AWS::Bedrock::Guardrail": Kind("bedrock", "CreateGuardrail", _guardrail),
    "AWS::Bedrock::GuardrailVersion": Kind("bedrock", "CreateGuardrailVersion", _guardrail_version),
    "AWS::Bedrock::KnowledgeBase": Kind("bedrock-agent", "CreateKnowledgeBase", _knowledge_base),
    "AWS::BedrockAgentCore::Gateway": Kind("bedrock-agentcore-control", "CreateGateway", _gateway),
    "AWS::BedrockAgentCore::GatewayRateLimit": Kind(
        "bedrock-agentcore-control", "CreateGatewayRateLimit", _gateway_rate_limit
    ),
    "AWS::BedrockAgentCore::GatewayTarget": Kind(
        "bedrock-agentcore-control", "CreateGatewayTarget", _gateway_target
    ),
    "AWS::BedrockAgentCore::Harness": Kind("bedrock-agentcore-control", "CreateHarness", _harness),
    "AWS::Chatbot::MicrosoftTeamsChannelConfiguration": Kind(
        "chatbot",
        "CreateMicrosoftTeamsChannelConfiguration",
        _named("ConfigurationName"),
        prepare=_renamed(
            TeamsChannelId="ChannelId", TeamsTenantId="TenantId", GuardrailPolicies=_BOUNDS
        ),
    ),
    "AWS::Chatbot::SlackChannelConfiguration": Kind(
        "chatbot",
        "CreateSlackChannelConfiguration",
        _named("ConfigurationName"),
        prepare=_renamed(SlackWorkspaceId="SlackTeamId", GuardrailPolicies=_BOUNDS),
    ),
    "AWS::CloudWatch::Alarm": Kind(
        "cloudwatch",
        "PutMetricAlarm",
        _named("AlarmName", Arn=arn("cloudwatch", "alarm:{AlarmName}")),
        played=True,
        deleting=_delete("DeleteAlarms", "AlarmNames", several=True),
    ),
    "AWS::CloudWatch::CompositeAlarm": Kind(
        "cloudwatch",
        "PutCompositeAlarm",
        _named("AlarmName", Arn=arn("cloudwatch", "alarm:{AlarmName}")),
    ),
    "AWS::DevOpsAgent::Association": Kind(
        "devops-agent",
        "AssociateService",
        _association,
    ),
    "AWS::DevOpsAgent::Service": Kind(
        "devops-agent", "RegisterService", _devops_service, prepare=_renamed_type
    ),
    # moto knows keys, but not the tags that CloudFormation gives them
    "AWS::KMS::Key": Kind(
        "kms",
        "CreateKey",
        _key,
        played=True,
        apart=frozenset({"Enabled", "EnableKeyRotation", "PendingWindowInDays"}),
        prepare=_key_properties,
        deleting=_delete_key,
    ),
    "AWS::Lambda::Alias": Kind(
        "lambda",
        "CreateAlias",
        _function_alias,
        played=True,
        apart=frozenset({"ProvisionedConcurrencyConfig"}),
    ),
    "AWS::Lambda::EventInvokeConfig": Kind(
        "lambda", "PutFunctionEventInvokeConfig", _named("FunctionName"), played=True
    ),
    # moto would poll a queue, and call the function in Docker; `changes` does both here
    "AWS::Lambda::EventSourceMapping": Kind(
        "lambda", "CreateEventSourceMapping", _mapping, prepare=_mapping_properties
    ),
    "AWS::Lambda::Version": Kind(
        "lambda",
        "PublishVersion",
        _function_version,
        played=True,
        apart=frozenset({"ProvisionedConcurrencyConfig", "RuntimePolicy"}),
    ),
    "AWS::Logs::Delivery": Kind(
        "logs", "CreateDelivery", _named("deliverySourceName"), apart=frozenset({"Tags"})
    ),
    "AWS::Logs::DeliveryDestination": Kind(
        "logs",
        "PutDeliveryDestination",
        _named("name", Arn=arn("logs", "delivery-destination:{name}")),
        apart=frozenset({"Tags"}),
        prepare=_delivery_destination,
    ),
    "AWS::Logs::DeliverySource": Kind(
        "logs", "PutDeliverySource", _named("name"), apart=frozenset({"Tags"})
    ),
    "AWS::Logs::MetricFilter": Kind(
        "logs", "PutMetricFilter", _named("filterName"), played=True, prepare=_filter_properties
    ),
    "AWS::OpenSearchServerless::AccessPolicy": Kind(
        "opensearchserverless", "CreateAccessPolicy", _named("name")
    ),
    "AWS::OpenSearchServerless::Collection": Kind(
        "opensearchserverless", "CreateCollection", _collection
    ),
    "AWS::OpenSearchServerless::CollectionGroup": Kind(
        "opensearchserverless",
        "CreateCollectionGroup",
        _named("name", Arn=arn("aoss", "collection-group/{name}"), Id="{name}"),
    ),
    "AWS::OpenSearchServerless::Index": Kind(
        "opensearchserverless", "CreateIndex", _named("indexName"), prepare=_index
    ),
    "AWS::OpenSearchServerless::SecurityPolicy": Kind(
        "opensearchserverless",
        "CreateSecurityPolicy",
        _named("name"),
        played=True,
    ),
    # moto would enforce it, and without looking at its conditions: every upload without TLS, here
    # all of them, would be refused
    "AWS::S3::BucketPolicy": Kind(
        "s3", "PutBucketPolicy", _named("Bucket"), prepare=_json("Policy")
    ),
    "AWS::S3Vectors::Index": Kind(
        "s3vectors",
        "CreateIndex",
        _vector_index,
        played=True,
        deleting=_delete_index,
    ),
    "AWS::S3Vectors::VectorBucket": Kind(
        "s3vectors",
        "CreateVectorBucket",
        _vector_bucket,
        played=True,
        prepare=_vector_bucket_properties,
        deleting=_delete_vectors,
    ),
    "AWS::Scheduler::Schedule": Kind(
        "scheduler",
        "CreateSchedule",
        _named("Name", Arn="{Name}"),
        played=True,
        deleting=_delete_schedule,
    ),
    "AWS::Scheduler::ScheduleGroup": Kind(
        "scheduler",
        "CreateScheduleGroup",
        _named("Name", Arn=arn("scheduler", "schedule-group/{Name}")),
        played=True,
        deleting=_delete("DeleteScheduleGroup", "Name"),
    ),
    "AWS::SQS::QueuePolicy": Kind(
        "sqs", "SetQueueAttributes", _named("QueueUrl"), played=True, prepare=_queue_policy
    ),
    "AWS::SNS::Subscription": Kind(
        "sns",
        "Subscribe",
        _subscription,
        played=True,
        apart=frozenset({"Region"}),
        prepare=_subscription_properties,
        deleting=_delete("Unsubscribe", "SubscriptionArn"),
    ),
    "AWS::SNS::TopicPolicy": Kind(
        "sns", "SetTopicAttributes", _named("TopicArn"), played=True, prepare=_topic_policy
    ),
    # moto knows parameters, but not the tags that CloudFormation gives them
    "AWS::SSM::Parameter": Kind(
        "ssm",
        "PutParameter",
        _parameter,
        played=True,
        prepare=_parameter_properties,
        deleting=_delete("DeleteParameter", "Name"),
    ),
}
