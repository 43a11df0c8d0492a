"""Every preset with every entry point, and each other setting turned: `make nightly`."""

import itertools
import json

import pytest

from infra.settings import Entrypoint, Preset
from tests.infra.test_templates import test_cfn_lint_finds_no_error as lint

pytestmark = pytest.mark.nightly

KEY = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
BOUNDARY = "arn:${AWS::Partition}:iam::${AWS::AccountId}:policy/team-boundary"
TURNED = [
    {"network": "private"},
    {"generation": "classic", "min_search_ocu": 0},
    {"standby_replicas": True},
    {"customer_managed_key": True, "guardrail": True},
    {"removal_policy": "retain"},
    {"alarm_email": "on-call@example.com", "handbook_url": "https://wiki.example.com/alarms"},
    {
        "alarm_topic_arn": "arn:aws:sns:us-east-1:123456789012:on-call",
        "teams_channel": f"{'0' * 8}-0000-4000-8000-{'0' * 12}/{'0' * 8}-0000-4000-8000-{'0' * 12}/"
        "19%3aabc%40thread.tacv2",
    },
    {"documents": "bucket"},
    {"documents": "bucket", "documents_prefix": "sre/", "removal_policy": "destroy"},
    {"documents": "bucket", "documents_bucket": "team-runbooks", "customer_managed_key": True},
    {"min_search_ocu": 1, "canary_question": "What now?"},
    {"search_type": "SEMANTIC", "evidence_floor": 0.4},
    {"source_policy": "website-first", "evidence_floor": 0.4, "date_order": "dmy"},
    {"embedding_model": "cohere.embed-english-v3", "embedding_dimension": 1024},
    {"embedding_dimension": 256},
    {"agent_model": "amazon.nova-pro-v1:0"},
    {"agent_model": "global.anthropic.claude-sonnet-4-5-20250929-v1:0"},
    {"reserved_concurrency": 50},
    {"release": "canary"},
    {"release": "canary", "customer_managed_key": True},
    {"release": "canary", "knowledge_base_id": "EXISTING01"},
    {
        "gateway_authorizer": "jwt",
        "jwt_discovery_url": "https://id.example.com/.well-known/openid-configuration",
        "jwt_audiences": ["sre"],
    },
    {"vector_store": "s3-vectors", "search_type": "SEMANTIC"},
    {"knowledge_base_id": "EXISTING01"},
    {"knowledge_base_id": "EXISTING01", "source_bucket": "team-docs", "guardrail": True},
    {
        "knowledge_base_id": "EXISTING01",
        "knowledge_base_type": "MANAGED",
        "source_bucket": "team-docs",
        "source_prefix": "handbook/",
    },
    {"vector_store": "s3-vectors", "search_type": "SEMANTIC", "customer_managed_key": True},
    {"network": "private", "customer_managed_key": True},
    {"customer_managed_key": True, "kms_key_arn": KEY, "permissions_boundary": BOUNDARY},
    {"tags": {"team": "sre"}, "bootstrap_qualifier": "platform"},
    {"execution_role_arn": "arn:aws:iam::123456789012:role/team-execution"},
    {"generation": "classic", "name": "a23456789012345678-0"},
    {
        "generation": "classic",
        "network": "private",
        "standby_replicas": True,
        "customer_managed_key": True,
    },
]
ALL = [
    *(
        {"preset": preset, "entrypoint": entry}
        for preset, entry in itertools.product(Preset, Entrypoint)
    ),
    *({"preset": "dev", "entrypoint": "both"} | turned for turned in TURNED),
]


@pytest.mark.parametrize("settings", ALL, ids=json.dumps)
def test_a_combination_passes_cdk_nag_and_cfn_lint(settings):
    lint(settings)  # what cdk-nag finds raises at synth
