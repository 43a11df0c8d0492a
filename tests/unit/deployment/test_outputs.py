"""What a trial reads of a deployment is what the stacks tell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

INFRA = Path(__file__).parents[3] / "infra"
TRIAL = Path(__file__).parents[3] / "knowledge_rag/deployment/smoke/trial.py"
READ = {
    "data": ("KnowledgeBaseId", "DataSourceId", "CorpusBucketName", "CorpusPrefix"),
    "service": (
        "RetrieveFunctionArn",
        "AgentId",
        "AgentAliasId",
        "HarnessArn",
        "GatewayUrl",
        "EvidenceFloorParameter",
    ),
    "advice": ("AdviceBusName", "AdviceBucketName"),
}


@pytest.mark.parametrize(("stack", "output"), [(s, name) for s in READ for name in READ[s]])
def test_the_stack_has_the_output(stack, output):
    source = (INFRA / f"{stack}_stack.py").read_text(encoding="utf-8")
    assert re.search(rf'(_output\(|\()"{output}",', source)


def test_no_other_output_is_read():
    named = set(re.findall(r'"([A-Z][a-z]+[A-Z][A-Za-z]+)"', TRIAL.read_text(encoding="utf-8")))
    assert named == {name for names in READ.values() for name in names}
