"""The permissions that the handbook lists are real ones, and all that are needed."""

from __future__ import annotations

import re
from pathlib import Path

import botocore.session
import pytest
from policy_sentry.querying.actions import get_actions_for_service

from knowledge_rag.deployment.aws import action_of

ROOT = Path(__file__).parents[3]
HANDBOOK = (ROOT / "docs/operations/doctor-and-smoke.md").read_text(encoding="utf-8")
LISTED = set(re.findall(r"`([a-z0-9-]+:[A-Z][A-Za-z]+)`", HANDBOOK))
CALL = re.compile(
    r'(?:\.call|\.find|_pages)\(\s*(?:aws,\s*|planned\.aws,\s*)?"([a-z0-9-]+)",\s*"([a-z_]+)"'
)

FIND = re.compile(r'find\(\s*"([a-z_]+)"')
"""Of S3, in what ``doctor`` and a deployment share."""


def calls():
    """Every operation that the package's sources call by name."""
    sources = sorted((ROOT / "knowledge_rag/deployment").rglob("*.py"))
    found = {call for path in sources for call in CALL.findall(path.read_text(encoding="utf-8"))}
    of_buckets = (ROOT / "knowledge_rag/core/given_bucket.py").read_text(encoding="utf-8")
    found |= {("s3", operation) for operation in FIND.findall(of_buckets)}
    from knowledge_rag.deployment.doctor.checks import SERVICES

    return sorted(found | set(SERVICES.values()))


def test_the_calls_are_found_in_the_sources():
    assert len(calls()) >= 20


@pytest.mark.parametrize(("service", "operation"), calls())
def test_the_permission_of_each_call_is_listed(service, operation):
    client = botocore.session.get_session().create_client(
        service, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
    )
    action = action_of(client, operation)
    assert action in LISTED or action == "sts:GetCallerIdentity"  # which takes none


@pytest.mark.parametrize("action", sorted(LISTED))
def test_each_listed_permission_exists(action):
    service, _, operation = action.partition(":")
    if action in get_actions_for_service(service):
        return
    # newer than the list of actions
    model = botocore.session.get_session().get_service_model(service)
    assert operation in model.operation_names
