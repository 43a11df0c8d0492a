"""YAML and JSON with the place of every value, and what of it is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.extract.yaml_nodes import MAX_DEPTH, read_yaml


def one(text):
    (document,) = read_yaml(text, "a.yaml")
    return document


def values(node):
    """The plain value of a node, as `json.loads` would give it if all scalars were texts."""
    if node.kind == "mapping":
        return {key: values(value) for key, value in node.entries.items()}
    return [values(item) for item in node.items] if node.kind == "sequence" else node.text


def test_every_value_knows_its_line_and_column():
    node = one("a:\n  - b: 'see\u2028me'\r\n  - c: é😀x\n").get("a")
    first, second = node.items
    assert (first.get("b").place.line, first.get("b").place.column) == (2, 8)
    assert first.text_at("b") == "see\u2028me"
    place = second.get("c").place
    assert (place.line, place.column, place.end_line, place.end_column) == (3, 8, 3, 11)
    assert second.keys["c"].place.column == 5


def test_tags_stay_tags_and_make_nothing():
    node = one("a: !Sub 'x ${B}'\nb: !!python/object/apply:os.getcwd []\n")
    assert (node.get("a").tag, node.text_at("a")) == ("!Sub", "x ${B}")
    assert node.get("b").items == ()


def test_null_is_no_text_and_its_quoted_word_is_one():
    node = one("a: null\nb: ~\nc:\nd: 'null'\ne: !!str null\nf: no\n")
    assert [node.get(key).text for key in "abc"] == [None] * 3
    assert [node.text_at(key) for key in "def"] == ["null", "null", "no"]


def test_anchors_and_merges_are_followed_and_end_with_their_document():
    first, second = read_yaml("a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}\nc: *x\n---\nd: 1\n", "a")
    assert values(first.get("b")) == {"l": "3", "k": "1"}
    assert values(first.get("c")) == {"k": "1", "l": "2"}
    assert values(second) == {"d": "1"}
    with pytest.raises(InvalidRequest, match=r"^a:3: neither YAML nor JSON: found undefined alias"):
        read_yaml("a: &x 1\n---\nb: *x\n", "a")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: b\n c: d\n", "a.yaml:2: neither YAML nor JSON: mapping values are not allowed"),
        ("a: 1\nb: 2\na: 3\n", "a.yaml:3: duplicate key 'a'"),
        ("a: 1\n? [b]\n: 2\n", "a.yaml:2: a key is not text"),
        ("a: 1\nb: \x01\n", "a.yaml:2: character U+0001 is not allowed in YAML"),
        ("a: &a [*a]\n", "a.yaml:1: more than 100 levels deep"),
        ("\n" + "[" * 200_000, "a.yaml:2: more than 100 levels deep"),
        ('{"a": "\\ud800"}', "a.yaml:1: neither YAML nor JSON"),
        ("{{ if .Values.on }}\na: 1\n", "a.yaml:2: neither YAML nor JSON"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text, problem):
    with pytest.raises(InvalidRequest) as raised:
        read_yaml(text, "a.yaml")
    assert str(raised.value).startswith(problem)


def test_an_alias_bomb_is_refused_before_it_grows():
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 30))
    with pytest.raises(InvalidRequest, match=r"^a\.yaml:\d+: more than 1,000,000 values"):
        read_yaml("l0: &l0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + levels, "a.yaml")


def test_what_is_as_deep_as_allowed_is_read():
    assert one("[" * MAX_DEPTH + "]" * MAX_DEPTH).kind == "sequence"


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029"])
def test_what_ends_a_line_in_yaml_is_a_character_in_json(mark):
    tree = {f"a{mark}b": f" {mark} c"}
    assert values(one(json.dumps(tree, ensure_ascii=False))) == tree


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TREES = st.recursive(
    TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXTS.filter(lambda key: key != "<<"), TREES, max_size=3), st.booleans())
def test_json_is_read_as_what_it_says_however_it_is_written(tree, is_ascii):
    text = json.dumps(tree, indent="\t", ensure_ascii=is_ascii)
    try:
        document = one(text)
    except InvalidRequest as error:  # YAML can't hold every character as it is
        assert "is not allowed in YAML" in str(error)  # noqa: PT017 - sometimes there is none
    else:
        assert values(document) == tree
