"""Bedrock's rules for an action group's schema, each by a schema that breaks it alone."""

import json
from copy import deepcopy
from pathlib import Path

import pytest

from infra.tool_schema import MAX_OPERATIONS, MAX_SCHEMA_BYTES, find_problems

OPERATION = {
    "operationId": "look",
    "description": "Looks.",
    "requestBody": {
        "content": {
            "application/json": {
                "schema": {"type": "object", "properties": {"enum": {"type": "string"}}}
            }
        }
    },
    "responses": {"200": {"description": "Seen."}},
}
SCHEMA = {"openapi": "3.0.3", "info": {"title": "t"}, "paths": {"/look": {"post": OPERATION}}}


def problem(schema):
    (line,) = find_problems(schema if isinstance(schema, str) else json.dumps(schema))
    return line


def changed(change):
    schema = deepcopy(SCHEMA)
    change(schema["paths"]["/look"]["post"], schema)
    return schema


def test_our_own_schema_keeps_every_rule():
    path = Path(__file__).parents[2] / "schemas/retrieve_knowledge.openapi.json"
    assert find_problems(path.read_text()) == []


def test_a_property_may_be_called_enum():
    assert find_problems(json.dumps(SCHEMA)) == []


@pytest.mark.parametrize("text", ["{", "[]", '"3.0.3"'])
def test_what_is_no_json_object_is_refused(text):
    assert "JSON" in problem(text)


@pytest.mark.parametrize("version", ["3.1.0", "2.0", "3.0", 3.0, None])
def test_only_openapi_3_0_is_taken(version):
    line = problem(SCHEMA | {"openapi": version})
    assert line.startswith(f"openapi is {json.dumps(version)}")


@pytest.mark.parametrize("name", [None, "", "  "])
def test_an_operation_needs_an_id(name):
    line = problem(changed(lambda operation, _: operation.update(operationId=name)))
    assert line == "POST /look has no operationId"


def test_two_operations_need_two_ids():
    line = problem(changed(lambda _, schema: schema["paths"].update({"/b": {"get": OPERATION}})))
    assert line == "GET /b has the operationId 'look' of POST /look; each needs its own"


def test_an_operation_needs_a_description_a_summary_is_none():
    def only_summary(operation, _):
        operation["summary"] = operation.pop("description")

    assert problem(changed(only_summary)).startswith("POST /look has no description")


def test_a_response_needs_a_description():
    line = problem(changed(lambda operation, _: operation["responses"].update({"400": {}})))
    assert line == "POST /look has no description of its response 400"


@pytest.mark.parametrize("responses", [None, {}, []])
def test_an_operation_needs_responses(responses):
    line = problem(changed(lambda operation, _: operation.update(responses=responses)))
    assert line == "POST /look has no responses"


@pytest.mark.parametrize("place", ["properties", "items", "allOf"])
def test_enum_is_refused_wherever_it_stands(place):
    inner = {"type": "string", "enum": ["a"]}
    outer = {"properties": {"kind": inner}, "items": inner, "allOf": [inner]}[place]

    def add(operation, _):
        operation["requestBody"]["content"]["application/json"]["schema"] = {place: outer}

    line = problem(changed(add))
    assert "has enum, which action groups refuse" in line
    assert f"/schema/{place}" in line


@pytest.mark.parametrize("count", [0, MAX_OPERATIONS + 1])
def test_an_action_group_has_one_to_eleven_operations(count):
    paths = {f"/{n}": {"post": OPERATION | {"operationId": f"o{n}"}} for n in range(count)}
    assert problem(SCHEMA | {"paths": paths}).startswith(f"has {count} operations")


def test_eleven_operations_are_taken():
    paths = {f"/{n}": {"post": OPERATION | {"operationId": f"o{n}"}} for n in range(11)}
    assert find_problems(json.dumps(SCHEMA | {"paths": paths})) == []


def test_a_schema_that_is_too_long_is_refused_by_its_bytes():
    long = SCHEMA | {"info": {"title": "é" * (MAX_SCHEMA_BYTES // 2)}}
    assert "are sent in line" in problem(json.dumps(long, ensure_ascii=False))


def test_every_broken_rule_is_told():
    schema = changed(lambda operation, _: operation.update(operationId="", description=""))
    assert len(find_problems(json.dumps(schema | {"openapi": "3.1.0"}))) == 3
