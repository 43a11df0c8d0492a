"""Runs a deployment: functions that answer, metrics, alarms, a canary, documents that are ingested.

The functions are the deployed ones, called in this process with the environment of their deployment, and with
their roles' rights. Retrieval uses the local knowledge base with the sample documents, with scores mapped to the
scale of the deployed store. Time passes only in :meth:`Life.wait`.
"""

from __future__ import annotations

import ast
import json
import os
import threading
import time
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self
from urllib.request import Request, urlopen

import boto3

from knowledge_rag.core import telemetry
from knowledge_rag.local.action_group import collected_output
from knowledge_rag.local.bedrock.retrieve import KNOWLEDGE_BASE_ID as LOCAL_KNOWLEDGE_BASE
from tests.support.cloudwatch import TemplateAlarm, emitted
from tests.support.loopback import Loopback, Raw
from tests.support.mcp_gateway import TOOL, McpGateway
from tools.local_cloud.account import LocalAccount
from tools.local_cloud.changes import deployed_changes
from tools.local_cloud.kinds import GATEWAYS, MADE, REGION
from tools.local_cloud.registration import INVOKED, LambdaContext

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.local_cloud.changes import Changes
    from tools.local_cloud.deployment import Cloud

MINUTE = 60
CANARY_SECONDS = 300
PATIENCE_SECONDS = 30.0
IDLE_SECONDS = 2.0
"""Seconds of real time after which Lambda ends an environment here: a new one reads its parameters."""


class _Context(LambdaContext):
    """Lambda's context for a function that a gateway calls."""

    class client_context:  # noqa: N801 - Lambda's name
        """The gateway's data about the call."""

        custom = {"bedrockAgentCoreToolName": TOOL}  # noqa: RUF012 - as Lambda has it


class _Runtime(Loopback):
    """Bedrock's Retrieve, which checks the caller's rights before it searches.

    Attributes:
        role: role of the calling function.
        ready: whether the documents have been ingested.
        euclidean: whether the store scores by distance, as OpenSearch does.
    """

    def __init__(self, endpoint: str) -> None:
        self.role = ""
        self.ready = False
        self.euclidean = True
        self._endpoint = endpoint
        super().__init__()

    def respond(self, method: str, path: str, headers: Any, body: bytes) -> Raw:  # noqa: ARG002 - one operation
        knowledge_base = path.split("/")[2]
        if not may(self.role, "bedrock:Retrieve", f"knowledge-base/{knowledge_base}"):
            refused = {"message": "User is not authorized to perform: bedrock:Retrieve"}
            kind = (("x-amzn-ErrorType", "AccessDeniedException"),)
            return Raw(json.dumps(refused).encode(), status=403, headers=kind)
        if not self.ready:
            return Raw(json.dumps({"retrievalResults": []}).encode())
        asked = json.loads(body)
        asked.pop("guardrailConfiguration", None)  # there is none here
        request = Request(  # noqa: S310 - a server of ours
            f"{self._endpoint}/knowledgebases/{LOCAL_KNOWLEDGE_BASE}/retrieve",
            json.dumps(asked).encode(),
            {"Content-Type": "application/json"},
        )
        with urlopen(request, timeout=10) as answer:  # noqa: S310 - likewise
            found = json.load(answer)
        for result in found["retrievalResults"]:
            if self.euclidean:  # OpenSearch's score for a distance, computed from the cosine
                result["score"] = 1 / (3 - 2 * min(result["score"], 1.0))
        return Raw(json.dumps(found).encode())


class Life:
    """Runs a cloud's deployments while time passes.

    Args:
        cloud: the deployments' cloud.
        endpoint: address of a local knowledge base with the sample documents.
    """

    def __init__(self, cloud: Cloud, endpoint: str) -> None:
        self._cloud = cloud
        self._lock = threading.Lock()  # the function's environment is the process's
        self._changes: dict[str, Changes] = {}
        self._reported: dict[str, set[str]] = {}
        self._states: dict[str, str] = {}
        self._records: list[tuple[float, dict[str, Any]]] = []
        self._last_call = 0.0
        self._variables: dict[str, str] = {}
        self._runtime = _Runtime(endpoint)
        self._gateway = McpGateway(self._through_gateway)
        self._account = LocalAccount(cloud)

    def __enter__(self) -> Self:
        INVOKED.append(self._call)
        GATEWAYS.append(self._gateway.url)
        os.environ.update(self._account.environment)
        os.environ["AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME"] = self._runtime.url
        return self

    def __exit__(self, *_: object) -> None:
        INVOKED.pop()
        GATEWAYS.pop()
        for server in (self._runtime, self._gateway, self._account):
            server.close()

    def now(self) -> float:
        """Return the cloud's time, seconds since 1970."""
        return self._cloud.clock.now

    def wait(self, seconds: float) -> None:
        """Let time pass, and run everything due."""
        end = self.now() + seconds
        while self.now() < end:
            before = self.now()
            step = min(MINUTE, end - before)
            names = self._deployments()
            for name in names:
                self._send_changes(name)
                self._changes[name].pass_time(step)
            self._runtime.ready = bool(self._cloud.ingestion.contents)
            if not names:
                self._cloud.clock.now = before + step
            if int(before // CANARY_SECONDS) != int(self.now() // CANARY_SECONDS):
                self._ask_canaries()
            if int(before // MINUTE) != int(self.now() // MINUTE):
                self._decide_alarms()

    def _deployments(self) -> list[str]:
        """Return the names of deployments with documents; forget the documents of deleted ones."""
        names = [
            each.parameters["name"].removesuffix("-corpus")
            for each in MADE
            if each.kind == "AWS::Bedrock::DataSource"
        ]
        for gone in set(self._changes) - set(names):
            del self._changes[gone]
            self._cloud.ingestion.forget()
        return names

    def _send_changes(self, name: str) -> None:
        """Send S3's event for each new document in the deployment's bucket."""
        stack = client("cloudformation").describe_stacks(StackName=f"{name}-data")["Stacks"][0]
        if name not in self._changes:
            self._changes[name] = deployed_changes(name, self._cloud.clock)
            self._reported[name] = set()
        outputs = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
        bucket = outputs["CorpusBucketName"]
        for each in client("s3").list_objects_v2(Bucket=bucket).get("Contents", ()):
            if each["Key"] not in self._reported[name]:
                self._reported[name].add(each["Key"])
                self._changes[name].tell(bucket, each["Key"])

    def _ask_canaries(self) -> None:
        for made in MADE:
            if made.kind == "AWS::Scheduler::Schedule":
                target = made.parameters["Target"]
                client("lambda").invoke(
                    FunctionName=target["Arn"], Payload=target["Input"].encode()
                )

    def _through_gateway(self, arguments: dict[str, Any]) -> Any:
        """Call the function like the gateway's target."""
        (target,) = (each for each in MADE if each.kind == "AWS::BedrockAgentCore::GatewayTarget")
        arn = target.parameters["targetConfiguration"]["mcp"]["lambda"]["lambdaArn"]
        function = client("lambda").get_function_configuration(FunctionName=arn)
        return self._run(
            function["Environment"]["Variables"], function["Role"], arguments, _Context()
        )

    def _call(self, function: Any, event: Any) -> Any:
        if not function.function_name.endswith("-retrieve-knowledge"):
            raise RuntimeError(f"{function.function_name} is called by its own trigger here")
        return self._run(function.environment_vars, function.role, event, LambdaContext())

    def _run(self, variables: dict[str, str], role: str, event: Any, context: object) -> Any:
        """Call the retrieval function in an environment that Lambda keeps as long as it is busy."""
        with self._lock, environment(variables):
            from lambdas.retrieve_knowledge import handler, service
            from lambdas.retrieve_knowledge.settings import load_settings

            idle = time.monotonic() - self._last_call > IDLE_SECONDS
            self._runtime.role = role.rpartition("/")[2]
            self._runtime.euclidean = variables["SEARCH_TYPE"] == "HYBRID"
            if idle or variables != self._variables:
                service.reset()
                # a busy machine is not an outage
                settings = load_settings(os.environ)
                service.start(settings._replace(deadline_seconds=PATIENCE_SECONDS))
                self._variables = variables
                handler.warm_up(PATIENCE_SECONDS)
            with collected_output() as output:
                answer = handler.lambda_handler(event, context)
            self._last_call = time.monotonic()
        for line in output.getvalue().splitlines():
            with suppress(ValueError):
                self._emit(json.loads(line))
        return answer

    def _emit(self, record: dict[str, Any]) -> None:
        """Store a metric record's samples, as CloudWatch does."""
        if "_aws" not in record:
            return
        self._records.append((self.now(), record))
        data = [
            {
                "MetricName": name,
                "Dimensions": [{"Name": key, "Value": value} for key, value in dimensions],
                "Timestamp": self._cloud.clock.utc(),
                "Values": values,
            }
            for (_, name, dimensions), values in emitted([record]).items()
        ]
        client("cloudwatch").put_metric_data(Namespace=telemetry.NAMESPACE, MetricData=data)

    def _decide_alarms(self) -> None:
        cloudwatch = client("cloudwatch")
        for made in MADE:
            if made.kind != "AWS::CloudWatch::Alarm":
                continue
            alarm = TemplateAlarm(made.parameters)
            wanted = "ALARM" if alarm.fires(*self._periods(alarm)) else "OK"
            name = made.parameters["AlarmName"]
            if self._states.get(name) != wanted:
                self._states[name] = wanted
                cloudwatch.set_alarm_state(AlarmName=name, StateValue=wanted, StateReason="decided")

    def _periods(self, alarm: TemplateAlarm) -> Iterator[Any]:
        """Yield each period's samples, the last one last."""
        for back in range(alarm.properties["EvaluationPeriods"], 0, -1):
            start = self.now() - back * alarm.period
            within = [record for at, record in self._records if start < at <= start + alarm.period]
            yield emitted(within)


@lru_cache
def _of_endpoint(service: str, _endpoint: str) -> Any:
    return boto3.client(service, region_name=REGION)  # type: ignore[call-overload] # any service


def client(service: str) -> Any:
    """Return a client of the running cloud; creating one takes longer than its calls."""
    return _of_endpoint(service, os.environ["AWS_ENDPOINT_URL"])


@contextmanager
def environment(variables: dict[str, str]) -> Iterator[None]:
    """Run the block with the variables of a function's deployment."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            if name in before:
                os.environ[name] = before[name]
            else:
                del os.environ[name]


def may(role: str, action: str, resource: str) -> bool:
    """Whether a role's own policies allow an action on a resource with this suffix, and none denies it."""
    iam = client("iam")
    effects = set()
    for name in iam.list_role_policies(RoleName=role)["PolicyNames"]:
        document = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
        if isinstance(document, str):  # moto stores a role's own as Python's repr
            document = ast.literal_eval(document)
        for statement in document["Statement"]:
            actions, resources = (
                [value] if isinstance(value, str) else value
                for value in (statement["Action"], statement["Resource"])
            )
            if any(fnmatchcase(action, each) for each in actions) and any(
                each == "*" or each.endswith((resource, "/*")) for each in resources
            ):
                effects.add(statement["Effect"])
    return effects == {"Allow"}


@contextmanager
def living(cloud: Cloud) -> Iterator[Life]:
    """Run the deployments in a cloud."""
    import tempfile
    from pathlib import Path

    from knowledge_rag.local.bedrock.server import LocalBedrock
    from knowledge_rag.local.knowledge_base import KnowledgeBase
    from tests.support.local import RUN, minilm
    from tests.support.sample import copy_of

    with tempfile.TemporaryDirectory() as folder:
        path = copy_of(Path(os.environ.get(RUN, folder)), Path(folder, "own"))
        with (
            KnowledgeBase(path, minilm()) as knowledge_base,
            LocalBedrock(knowledge_base) as bedrock,
            Life(cloud, bedrock.endpoint_url) as life,
        ):
            yield life
