"""What cfn-lint does not see: documents inside strings, sizes that must agree, statistics.

Each check takes a template and gives one sentence for each thing that is wrong.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import jsonschema
from openapi_spec_validator import OpenAPIV30SpecValidator

from tests.infra.iam import render

if TYPE_CHECKING:
    from collections.abc import Iterator

_STATISTIC = re.compile(
    r"SampleCount|Sum|Average|Minimum|Maximum|IQM|"
    r"p(100|\d{1,2}(\.\d{1,10})?)|(tm|wm|tc|ts)(100|\d{1,2}(\.\d{1,10})?)|"
    r"(PR|TM|WM|TC|TS)\([^()]*:[^()]*\)"
)
_EXTENDED = re.compile(r"p(100|\d{1,2}(\.\d{1,10})?)")

_RULE = {
    "type": "object",
    "required": ["ResourceType", "Resource"],
    "additionalProperties": False,
    "properties": {
        "ResourceType": {"enum": ["collection", "index", "dashboard"]},
        "Resource": {"type": "array", "minItems": 1, "items": {"type": "string"}},
        "Permission": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "pattern": r"^aoss:[A-Za-z]+$"},
        },
    },
}
_RULES = {"type": "array", "minItems": 1, "items": _RULE}
COLLECTION_POLICIES = {
    "data": {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "required": ["Rules", "Principal"],
            "additionalProperties": False,
            "properties": {
                "Description": {"type": "string"},
                "Principal": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "string", "pattern": "^(arn:|<|saml/)"},
                },
                "Rules": {
                    **_RULES,
                    "items": {**_RULE, "required": [*_RULE["required"], "Permission"]},
                },
            },
        },
    },
    "network": {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "required": ["Rules", "AllowFromPublic"],
            "additionalProperties": False,
            "properties": {
                "Description": {"type": "string"},
                "Rules": _RULES,
                "AllowFromPublic": {"type": "boolean"},
                "SourceServices": {"type": "array", "items": {"const": "bedrock.amazonaws.com"}},
                "SourceVPCEs": {"type": "array", "items": {"type": "string"}},
            },
        },
    },
    "encryption": {
        "type": "object",
        "required": ["Rules"],
        "additionalProperties": False,
        "properties": {
            "Rules": _RULES,
            "AWSOwnedKey": {"type": "boolean"},
            "KmsARN": {"type": "string", "minLength": 1},
        },
    },
}


def of_type(template: dict[str, Any], kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give name and properties of each resource of a type."""
    for name, resource in template["Resources"].items():
        if resource["Type"] == kind:
            yield name, resource.get("Properties", {})


def action_schemas(template: dict[str, Any]) -> Iterator[str]:
    """Check that each action group's schema is JSON and OpenAPI 3.0."""
    for name, properties in of_type(template, "AWS::Bedrock::Agent"):
        for group in properties.get("ActionGroups", []):
            payload = render(group["ApiSchema"]["Payload"])
            try:
                schema = json.loads(payload)
            except ValueError as error:
                yield f"{name}: the action group's schema is no JSON: {error}"
                continue
            for error in OpenAPIV30SpecValidator(schema).iter_errors():
                yield f"{name}: {error.message}"


def dashboards(template: dict[str, Any]) -> Iterator[str]:
    """Check that each dashboard's body is JSON whose widgets lie on the grid and name statistics."""
    for name, properties in of_type(template, "AWS::CloudWatch::Dashboard"):
        try:
            body = json.loads(render(properties["DashboardBody"]))
        except ValueError as error:
            yield f"{name}: the body is no JSON: {error}"
            continue
        for number, widget in enumerate(body["widgets"], 1):
            yield from (f"{name}: widget {number} {problem}" for problem in _widget(widget))


def _widget(widget: dict[str, Any]) -> Iterator[str]:
    if widget.get("type") not in {"metric", "text", "log", "alarm", "explorer", "custom"}:
        yield f"is of no type: {widget.get('type')}"
    if not 1 <= widget.get("width", 6) + widget.get("x", 0) <= 24 or widget.get("height", 6) < 1:
        yield "is off the grid"
    for row in widget.get("properties", {}).get("metrics", []):
        options = row[-1] if isinstance(row[-1], dict) else {}
        if not _STATISTIC.fullmatch(options.get("stat", "Average")):
            yield f"has no statistic {options['stat']}"


def collection_policies(template: dict[str, Any]) -> Iterator[str]:
    """Check that OpenSearch Serverless' policies are JSON of the form that the service takes."""
    for kind in ("AccessPolicy", "SecurityPolicy"):
        for name, properties in of_type(template, f"AWS::OpenSearchServerless::{kind}"):
            try:
                policy = json.loads(render(properties["Policy"]))
            except ValueError as error:
                yield f"{name}: the policy is no JSON: {error}"
                continue
            validator = jsonschema.Draft202012Validator(COLLECTION_POLICIES[properties["Type"]])
            for error in validator.iter_errors(policy):
                yield f"{name}: {error.message}"


def dimensions(template: dict[str, Any]) -> Iterator[str]:
    """Check that index and knowledge base agree on a vector's size, at least 1."""
    sizes = {}
    for name, properties in of_type(template, "AWS::OpenSearchServerless::Index"):
        for key, field in properties["Mappings"]["Properties"].items():
            if field["Type"] == "knn_vector":
                sizes[f"{name}.{key}"] = field.get("Dimension")
    for name, properties in of_type(template, "AWS::S3Vectors::Index"):
        sizes[name] = properties.get("Dimension")
    for name, properties in of_type(template, "AWS::Bedrock::KnowledgeBase"):
        vector = properties["KnowledgeBaseConfiguration"]["VectorKnowledgeBaseConfiguration"]
        model = vector.get("EmbeddingModelConfiguration", {})
        size = model.get("BedrockEmbeddingModelConfiguration", {}).get("Dimensions")
        sizes |= {name: size} if size is not None else {}
    for name, size in sizes.items():
        if not isinstance(size, int) or not 1 <= size <= 16_000:
            yield f"{name}: {size} is no dimension"
    if len(set(sizes.values())) > 1:
        yield f"dimensions differ: {sizes}"


def statistics(template: dict[str, Any]) -> Iterator[str]:
    """Check the statistics of alarms, alone and inside metric math."""
    for name, properties in of_type(template, "AWS::CloudWatch::Alarm"):
        extended = properties.get("ExtendedStatistic")
        if extended is not None and not _EXTENDED.fullmatch(extended):
            yield f"{name}: {extended} is no percentile"
        for query in properties.get("Metrics", []):
            statistic = query.get("MetricStat", {}).get("Stat", "Sum")
            if not _STATISTIC.fullmatch(statistic):
                yield f"{name}: {statistic} is no statistic"


CHECKS = (action_schemas, dashboards, collection_policies, dimensions, statistics)
