"""A deployment on this machine: stacks and bucket in moto, the real function behind every way to it."""

from __future__ import annotations

import io
import json
import threading
from contextlib import closing, redirect_stdout
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from knowledge_rag.local.action_group import local_action_group
from knowledge_rag.local.bedrock.server import LocalBedrock
from knowledge_rag.local.knowledge_base import KnowledgeBase
from tests.support.event_stream import (
    chunk,
    harness_text,
    harness_tool_result,
    stream,
    tool_output,
)
from tests.support.ingestion import DATA_SOURCE_ID, KNOWLEDGE_BASE_ID, Ingestion, ended
from tests.support.local import CORPUS, minilm
from tests.support.mcp_gateway import TOOL, McpGateway
from tests.support.patience import patient_function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.account import Account
    from tests.support.cli import Cli, Ran

NAME = "knowledge-rag-dev"
BUCKET = "corpus-of-the-deployment"
PARAMETER = "/knowledge-rag-dev/evidence-floor/LOCALKB000/hybrid"
ALIAS = "arn:aws:lambda:us-east-1:123456789012:function:knowledge-rag-dev-retrieve-knowledge:live"


@pytest.fixture(name="function", scope="module")
def function_fixture(settled: Cli, first_use: Ran) -> Iterator[Callable[..., Any]]:
    """Give the real function, on the sample knowledge base."""
    assert first_use.code == 0
    with (
        KnowledgeBase(settled.data / "sample.kb", minilm()) as knowledge_base,
        LocalBedrock(knowledge_base) as bedrock,
        patient_function(),
        local_action_group(bedrock.endpoint_url),
    ):
        from lambdas.retrieve_knowledge.handler import lambda_handler

        def call(event: object, context: object) -> Any:
            with redirect_stdout(io.StringIO()):
                return lambda_handler(event, context)

        yield call


class Deployment:
    """What a deployment leaves in an account.

    Args:
        account: that it is in.
        function: ``retrieve_knowledge``: from event and context to the answer.

    Attributes:
        gateway: in AgentCore's place.
        ingestion: in the place of Bedrock's ingestion jobs; the last one is complete.
    """

    def __init__(self, account: Account, function: Any) -> None:
        self.account = account
        self._function = function
        self._lock = threading.Lock()  # the function writes to this process's standard output
        self.gateway = McpGateway(self._ask_as_gateway)
        self.ingestion = Ingestion()
        self.ingestion.jobs["JOB0000001"] = [ended("COMPLETE", new=28)]
        account.environment["AWS_ENDPOINT_URL_BEDROCK_AGENT"] = self.ingestion.url
        account.environment |= account.played.endpoint("bedrock-agent-runtime")
        account.played.play("lambda", "Invoke", self._invoke)
        account.played.play("bedrock-agent-runtime", "InvokeAgent", self._invoke_agent)
        account.environment |= account.played.endpoint("bedrock-agentcore")
        account.played.play("bedrock-agentcore", "InvokeHarness", self._invoke_harness)

    def close(self) -> None:
        self.gateway.close()
        self.ingestion.close()

    def make(self, *parts: str, corpus: Path = CORPUS, **outputs: str) -> None:
        """Make the stacks, and the bucket with the corpus.

        Args:
            parts: of the deployment, all unless some are named.
            corpus: folder of documents.
            outputs: that differ from the usual ones; others are the service's.
        """
        usual = {
            "data": {
                "KnowledgeBaseId": KNOWLEDGE_BASE_ID,
                "DataSourceId": DATA_SOURCE_ID,
                "CorpusBucketName": BUCKET,
            },
            "service": {
                "RetrieveFunctionArn": ALIAS,
                "AgentId": "AGENT00001",
                "AgentAliasId": "ALIAS00001",
                "GatewayUrl": self.gateway.url,
                "EvidenceFloorParameter": PARAMETER,
            },
        }
        for part in parts or usual:
            made = usual[part] | {
                key: value
                for key, value in outputs.items()
                if key in usual[part] or (part == "service" and key not in usual["data"])
            }
            self.account.deploy(f"{NAME}-{part}", **made)
        s3 = self.account.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        for path in sorted(corpus.rglob("*.md")):
            key = path.relative_to(corpus).as_posix()
            s3.put_object(Bucket=BUCKET, Key=key, Body=path.read_bytes())

    def replace(self, source_file: str, content: bytes) -> None:
        """Put another version of a document into the bucket, without an ingestion."""
        self.account.client("s3").put_object(Bucket=BUCKET, Key=source_file, Body=content)

    def _call(self, event: dict[str, Any], context: Any = None) -> dict[str, Any]:
        with self._lock:
            answer: dict[str, Any] = self._function(event, context)
        return answer

    def _invoke(self, path: str, body: bytes) -> dict[str, Any]:
        assert ALIAS in path.replace("%3A", ":"), path
        return self._call(json.loads(body))

    def _invoke_agent(self, _path: str, body: bytes) -> Any:
        found = self._call({"query": json.loads(body)["inputText"], "max_results": 5})
        return stream(tool_output(found), chunk("See the runbook."))

    def _invoke_harness(self, _path: str, body: bytes) -> Any:
        ((asked,),) = (each["content"] for each in json.loads(body)["messages"])
        found = self._call({"query": asked["text"], "max_results": 5})
        return stream(
            harness_tool_result({"text": json.dumps(found)}), harness_text("See the runbook.")
        )

    def _ask_as_gateway(self, arguments: dict[str, Any]) -> dict[str, Any]:
        client = SimpleNamespace(custom={"bedrockAgentCoreToolName": TOOL})
        return self._call(arguments, SimpleNamespace(client_context=client))


@pytest.fixture(name="deployment")
def deployment_fixture(account: Account, function: Callable[..., Any]) -> Iterator[Deployment]:
    """Give a deployment with all its parts."""
    with closing(Deployment(account, function)) as made:
        made.make()
        yield made
