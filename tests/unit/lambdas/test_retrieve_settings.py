import json
import re
from datetime import date
from pathlib import Path

import pytest

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.policy_settings import present_day
from knowledge_rag.core.retrieval import Guardrail, KnowledgeBaseType, SearchType
from lambdas.retrieve_knowledge import settings
from lambdas.retrieve_knowledge.settings import Settings, load_settings

LEAST = {"KNOWLEDGE_BASE_ID": "TESTKB0001", "AWS_REGION": "eu-west-1"}


def load(**values):
    return load_settings({**LEAST, **values})


def test_the_defaults():
    loaded = load()
    assert loaded == Settings(loaded.search, "eu-west-1")
    assert loaded.search.knowledge_base_id == "TESTKB0001"
    assert loaded.search.search_type is SearchType.HYBRID
    assert loaded.search.evidence_floor is None
    assert loaded.search.guardrail is None
    assert loaded.search.priority is None
    assert (loaded.deadline_seconds, loaded.max_queries_per_turn) == (1.8, 3)
    assert not loaded.log_query_text
    assert not loaded.raise_internal_errors


def test_every_setting_is_read():
    loaded = load(
        SEARCH_TYPE="semantic",
        EVIDENCE_FLOOR_HYBRID="0.2",
        EVIDENCE_FLOOR_SEMANTIC="0.55",
        GUARDRAIL_ID="gr1",
        GUARDRAIL_VERSION="7",
        MAX_QUERIES_PER_TURN="0",
        DEADLINE_SECONDS="0.5",
        LOG_QUERY_TEXT="true",
        RAISE_INTERNAL_ERRORS="1",
    )
    assert loaded.search.search_type is SearchType.SEMANTIC
    assert loaded.search.evidence_floor == 0.55
    assert loaded.search.guardrail == Guardrail("gr1", "7")
    assert (loaded.deadline_seconds, loaded.max_queries_per_turn) == (0.5, 0)
    assert loaded.log_query_text
    assert loaded.raise_internal_errors


def test_the_floor_is_that_of_the_search_type():
    assert load(EVIDENCE_FLOOR_SEMANTIC="0.5").search.evidence_floor is None
    assert load(EVIDENCE_FLOOR_HYBRID="0").search.evidence_floor == 0


def test_the_policy_is_turned_on_by_one_setting():
    priority = load(SOURCE_POLICY="Website-First").search.priority
    assert (priority.secondary_scope, priority.today) == (None, present_day)
    assert load(SOURCE_POLICY="off") == load()


def test_the_policy_s_scope_and_day_are_read():
    scope = '{"equals": {"key": "service", "value": "north"}}'
    loaded = load(SOURCE_POLICY="website-first", SECONDARY_SCOPE=scope, POLICY_TODAY="2026-11-21")
    assert loaded.search.priority.secondary_scope == json.loads(scope)
    assert loaded.search.priority.today() == date(2026, 11, 21)


def test_the_documents_of_an_existing_knowledge_base_are_below_one_prefix():
    assert load().search.source_root == ""
    assert load(SOURCE_BUCKET="docs").search.source_root == "s3://docs/"
    for prefix in ("team/runbooks", "team/runbooks/"):
        loaded = load(SOURCE_BUCKET="docs", SOURCE_PREFIX=prefix, KNOWLEDGE_BASE_TYPE="Managed")
        assert loaded.search.source_root == "s3://docs/team/runbooks/"
        assert loaded.search.knowledge_base_type is KnowledgeBaseType.MANAGED


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"SOURCE_BUCKET": "No_Bucket"}, "SOURCE_BUCKET='No_Bucket': must match"),
        ({"SOURCE_BUCKET": "docs", "SOURCE_PREFIX": "/runbooks"}, "SOURCE_PREFIX='/runbooks': must be a folder in the bucket"),
        ({"SOURCE_BUCKET": "docs", "SOURCE_PREFIX": "a/../b"}, "must be a folder in the bucket"),
        ({"SOURCE_PREFIX": "runbooks/"}, "SOURCE_PREFIX goes with SOURCE_BUCKET"),
        ({"KNOWLEDGE_BASE_TYPE": "MANAGED"}, "KNOWLEDGE_BASE_TYPE=MANAGED goes with SOURCE_BUCKET"),
        ({"KNOWLEDGE_BASE_TYPE": "KENDRA"}, "must be VECTOR or MANAGED"),
        ({"SOURCE_BUCKET": "docs", "SOURCE_POLICY": "website-first"}, "SOURCE_POLICY=website-first needs dates"),
    ],
)  # fmt: skip
def test_settings_of_an_existing_knowledge_base_are_checked_together(values, says):
    with pytest.raises(InvalidSettings, match=re.escape(says)):
        load(**values)


def test_an_empty_value_counts_as_absent():
    assert load(SEARCH_TYPE="", DEADLINE_SECONDS=" ", GUARDRAIL_ID="") == load()


def test_the_region_may_be_the_default_one():
    loaded = load_settings(
        {"KNOWLEDGE_BASE_ID": "TESTKB0001", "AWS_DEFAULT_REGION": "us-gov-west-1"}
    )
    assert loaded.region == "us-gov-west-1"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KNOWLEDGE_BASE_ID", ""),
        ("KNOWLEDGE_BASE_ID", "short"),
        ("KNOWLEDGE_BASE_ID", "elevenchars"),
        ("KNOWLEDGE_BASE_ID", "TESTKB-001"),
        ("AWS_REGION", "Frankfurt"),
        ("SEARCH_TYPE", "VECTOR"),
        ("EVIDENCE_FLOOR_HYBRID", "high"),
        ("EVIDENCE_FLOOR_SEMANTIC", "nan"),
        ("GUARDRAIL_ID", "gr1"),
        ("GUARDRAIL_VERSION", "1"),
        ("SOURCE_POLICY", "pdf-first"),
        ("SECONDARY_SCOPE", "service=north"),
        ("SECONDARY_SCOPE", '{"equals": {"key": "service", "value": "north"}}'),  # no policy
        ("POLICY_TODAY", "tomorrow"),
        ("MAX_QUERIES_PER_TURN", "-1"),
        ("MAX_QUERIES_PER_TURN", "101"),
        ("MAX_QUERIES_PER_TURN", "three"),
        ("MAX_QUERIES_PER_TURN", "0000000500"),
        ("DEADLINE_SECONDS", "0"),
        ("DEADLINE_SECONDS", "1.9"),
        ("DEADLINE_SECONDS", "inf"),
        ("LOG_QUERY_TEXT", "maybe"),
        ("RAISE_INTERNAL_ERRORS", "2"),
    ],
)
def test_a_wrong_value_is_named(name, value):
    with pytest.raises(InvalidSettings, match=name):
        load(**{name: value})


def test_the_policy_goes_with_hybrid_search():
    with pytest.raises(InvalidSettings, match="SOURCE_POLICY=website-first goes with SEARCH_TYPE"):
        load(SOURCE_POLICY="website-first", SEARCH_TYPE="SEMANTIC")


def test_all_wrong_values_are_named_at_once():
    with pytest.raises(InvalidSettings) as caught:
        load_settings({"SEARCH_TYPE": "VECTOR", "DEADLINE_SECONDS": "9"})
    assert str(caught.value) == (
        "SEARCH_TYPE='VECTOR': must be HYBRID or SEMANTIC; KNOWLEDGE_BASE_ID is not set; "
        "AWS_DEFAULT_REGION is not set; DEADLINE_SECONDS='9': must be 0.1 to 1.8 seconds"
    )


def test_the_documentation_names_every_variable():
    code = Path(settings.__file__).read_text(encoding="utf-8").split('"""', 2)[2]
    read = set(re.findall(r'"([A-Z]+(?:_[A-Z]+)+)"', code)) - {"AWS_DEFAULT_REGION"}
    documented = set(re.findall(r"^([A-Z_]+)  ", settings.__doc__, re.MULTILINE))
    assert documented == read | {"EVIDENCE_FLOOR_HYBRID", "EVIDENCE_FLOOR_SEMANTIC"}
