from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.filters import MAX_DEPTH, InvalidFilter, parse_filter
from knowledge_rag.local.index import MetadataColumns, column_arrays

KEYS = st.sampled_from(["service", "line", "tags", "on", "absent"])
STRINGS = st.sampled_from(["", "r", "rds", "rds-1", "ecs", "1"])
NUMBERS = st.sampled_from([-1, 0, 1, 1.0, 2.5, 10])
SCALARS = st.one_of(STRINGS, NUMBERS, st.booleans())
VALUES = st.one_of(SCALARS, st.lists(STRINGS, max_size=3))
METADATA = st.dictionaries(st.sampled_from(["service", "line", "tags", "on"]), VALUES)
OPERANDS = {
    "equals": SCALARS,
    "notEquals": SCALARS,
    "greaterThan": NUMBERS,
    "greaterThanOrEquals": NUMBERS,
    "lessThan": NUMBERS,
    "lessThanOrEquals": NUMBERS,
    "in": st.lists(SCALARS, min_size=1, max_size=3),
    "notIn": st.lists(SCALARS, min_size=1, max_size=3),
    "startsWith": STRINGS,
    "stringContains": STRINGS,
    "listContains": SCALARS,
}


def columns_of(rows):
    return MetadataColumns(column_arrays(rows, len(rows)), len(rows), lambda: rows)


def comparison(operator):
    body = st.fixed_dictionaries({"key": KEYS, "value": OPERANDS[operator]})
    return body.map(lambda body: {operator: body})


FILTERS = st.recursive(
    st.sampled_from(sorted(OPERANDS)).flatmap(comparison),
    lambda members: st.builds(
        lambda operator, joined: {operator: joined},
        st.sampled_from(["andAll", "orAll"]),
        st.lists(members, min_size=2, max_size=3),
    ),
    max_leaves=6,
)


def typed(value):
    """Tell booleans from numbers, which Python takes for equal."""
    return (isinstance(value, bool), value) if not isinstance(value, list) else value


def numeric(found):
    return type(found) in (int, float)


def strings(found):
    return [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, str)]


# each positive operator, the long way round
MEANING = {
    "equals": lambda found, wanted: typed(found) == typed(wanted),
    "in": lambda found, wanted: typed(found) in [typed(value) for value in wanted],
    "greaterThan": lambda found, wanted: numeric(found) and found > wanted,
    "greaterThanOrEquals": lambda found, wanted: numeric(found) and found >= wanted,
    "lessThan": lambda found, wanted: numeric(found) and found < wanted,
    "lessThanOrEquals": lambda found, wanted: numeric(found) and found <= wanted,
    "startsWith": lambda found, wanted: isinstance(found, str) and found.startswith(wanted),
    "stringContains": lambda found, wanted: any(wanted in one for one in strings(found)),
    "listContains": lambda found, wanted: isinstance(found, list) and wanted in found,
}


def expected(wire, metadata):
    ((operator, body),) = wire.items()
    if operator in ("andAll", "orAll"):
        join = {"andAll": all, "orAll": any}[operator]
        return join(expected(member, metadata) for member in body)
    if operator in ("notEquals", "notIn"):
        return not expected({{"notEquals": "equals", "notIn": "in"}[operator]: body}, metadata)
    key = body["key"]
    return key in metadata and MEANING[operator](metadata[key], body["value"])


def passes(wire, metadata):
    return bool(columns_of([metadata]).mask(parse_filter(wire))[0])


@given(FILTERS, st.lists(METADATA, max_size=6))
def test_means_what_the_language_says(wire, rows):
    wanted = parse_filter(wire)
    columns = columns_of(rows)
    assert columns.mask(wanted).tolist() == [expected(wire, row) for row in rows]
    assert columns.mask(wanted) is columns.mask(wanted)


@pytest.mark.parametrize("typed", ["Payments", "PAYMENTS", "payments"])
def test_a_service_or_type_is_found_however_it_is_written(typed):
    for key in ("service", "document_type"):
        for stored in ("payments", "Payments"):
            for wire in (
                {"equals": {"key": key, "value": typed}},
                {"in": {"key": key, "value": ["rds", typed]}},
                {"startsWith": {"key": key, "value": typed[:4]}},
            ):
                assert passes(wire, {key: stored})
            assert not passes({"notEquals": {"key": key, "value": typed}}, {key: stored})
    assert passes({"listContains": {"key": "service", "value": typed}}, {"service": ["Payments"]})


def test_other_attributes_are_compared_as_the_service_does():
    assert not passes({"equals": {"key": "owner", "value": "SRE"}}, {"owner": "sre"})


def test_many_different_filters_do_not_pile_up():
    columns = columns_of([{"line": n} for n in range(3)])
    for n in range(1000):
        columns.mask(parse_filter({"equals": {"key": "line", "value": n}}))
    assert len(columns._masks) <= 64


ONE = {"equals": {"key": "a", "value": 1}}
NO_OPERATOR = "filter: a filter is an object with exactly one operator"
NO_PAIR = "filter.equals: takes an object with key and value"
NO_KEY = "filter.equals.key: must be a string of 1 to 100 characters"
NO_SCALAR = "filter.equals.value: must be a string, a number or a boolean"
A_LIST = "must be a list of 1 to 1000 strings, numbers or booleans"


def of_a(operator, value):
    return {operator: {"key": "a", "value": value}}


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        *[(odd, NO_OPERATOR) for odd in (None, [], {}, ONE | of_a("in", [1]))],
        *[({"equals": odd}, NO_PAIR) for odd in ({"key": "a"}, ["a", 1], {"key": "a", "value": 1, "more": 2})],
        *[({"equals": {"key": key, "value": 1}}, NO_KEY) for key in ("", "k" * 101)],
        *[(of_a("equals", odd), NO_SCALAR) for odd in ([1], None)],
        (of_a("like", 1), "filter.like: unknown filter operator"),
        (of_a("greaterThan", "1"), "filter.greaterThan.value: must be a number"),
        ({"lessThan": {"key": "a", "value": True}}, "filter.lessThan.value: must be a number"),
        (of_a("startsWith", 1), "filter.startsWith.value: must be a string"),
        *[(of_a("in", odd), f"filter.in.value: {A_LIST}") for odd in ("x", [*range(1001)])],
        (of_a("notIn", []), f"filter.notIn.value: {A_LIST}"),
        ({"andAll": [ONE]}, "filter.andAll: takes a list of at least 2 filters"),
        ({"orAll": {}}, "filter.orAll: takes a list of at least 2 filters"),
        ({"orAll": [ONE, {"x": {}}]}, "filter.orAll.2.x: unknown filter operator"),
    ],
)  # fmt: skip
def test_what_the_service_refuses_is_refused(wire, message):
    with pytest.raises(InvalidFilter) as refusal:
        parse_filter(wire)
    assert str(refusal.value) == message


def test_bottomless_nesting_is_refused():
    wire = ONE
    for _ in range(MAX_DEPTH + 1):
        wire = {"andAll": [wire, wire]}
    with pytest.raises(InvalidFilter, match="nested deeper"):
        parse_filter(wire)


def test_many_comparisons_are_refused():
    with pytest.raises(InvalidFilter, match="takes at most 100 filters"):
        parse_filter({"orAll": [ONE] * 101})
    with pytest.raises(InvalidFilter, match="at most 100 comparisons"):
        parse_filter({"orAll": [{"andAll": [ONE] * 51}] * 2})
    assert parse_filter({"orAll": [{"andAll": [ONE] * 50}] * 2})


def test_a_list_costs_one_look_a_value_however_long_it_is():
    rows = [{"line": n} for n in range(20_000)]
    wanted = parse_filter({"in": {"key": "line", "value": list(range(0, 2000, 2))}})
    columns = columns_of(rows)
    started = time.process_time()
    assert columns.mask(wanted).sum() == 1000
    assert time.process_time() - started < 1.0  # one by one it takes seconds
