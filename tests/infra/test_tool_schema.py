"""The gateway's tool is the action group's operation in the few words that a gateway knows."""

import json
from pathlib import Path

import pytest

from infra.tool_schema import MAX_INSTRUCTIONS_CHARACTERS, instructions_of, tools_of
from knowledge_rag.core.outcome import TOOL_NAMES
from lambdas.retrieve_knowledge.events import ARGUMENTS

DOCUMENT = json.loads(
    (Path(__file__).parents[2] / "schemas/retrieve_knowledge.openapi.json").read_text()
)


def with_schema(schema, **operation):
    body = {"content": {"application/json": {"schema": schema}}}
    look = {"operationId": "look", "description": "d", "requestBody": body} | operation
    return {"paths": {"/look": {"post": look}}}


def test_the_tool_is_one_that_the_function_serves():
    (tool,) = tools_of(DOCUMENT)
    assert tool.name in TOOL_NAMES
    assert "status" in tool.description
    assert tuple(tool.arguments.properties) == ARGUMENTS
    assert tool.arguments.required == ("query",)
    assert all(argument.description for argument in tool.arguments.properties.values())


def test_the_bounds_that_a_gateway_cannot_say_stand_in_the_descriptions():
    (tool,) = tools_of(DOCUMENT)
    assert tool.arguments.properties["max_results"].type == "integer"
    assert "1 to 5" in tool.arguments.properties["max_results"].description
    assert "Not blank" in tool.arguments.properties["query"].description


def test_lists_and_objects_keep_their_shape():
    document = with_schema(
        {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}}
    )
    (tool,) = tools_of(document)
    assert tool.arguments.properties["tags"].items.type == "string"


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (with_schema({"$ref": "#/components/schemas/X"}), "a schema without a type"),
        (with_schema({"type": "null"}), "a schema without a type"),
        (with_schema({"type": "object"}, parameters=[{"name": "q"}]), "has parameters"),
        (with_schema({"type": "object"}, requestBody={}), "no JSON request body"),
        (with_schema({"type": "object"}, requestBody="x"), "no JSON request body"),
        (with_schema("x"), "a schema without a type"),
        (with_schema({"type": "object", "properties": {"q": "x"}}), "a schema without a type"),
        (with_schema({"type": "object", "properties": ["q"]}), "properties that are no object"),
    ],
)
def test_what_a_tool_cannot_say_is_refused(document, reason):
    with pytest.raises(ValueError, match=reason) as raised:
        tools_of(document)
    assert str(raised.value).startswith("POST /look")


@pytest.mark.parametrize(
    "document",
    [{}, {"info": "x"}, {"info": {}}, {"info": {"description": " "}}, {"info": {"description": 1}}],
)
def test_a_schema_that_says_nothing_of_itself_is_refused(document):
    with pytest.raises(ValueError, match=r"no info\.description"):
        instructions_of(document)


def test_a_gateway_says_no_more_of_itself_than_the_service_takes():
    longest = "x" * MAX_INSTRUCTIONS_CHARACTERS
    assert instructions_of({"info": {"description": longest}}) == longest
    with pytest.raises(ValueError, match="1 to 2048 characters"):
        instructions_of({"info": {"description": longest + "x"}})
