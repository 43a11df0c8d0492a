"""The service stack: the retrieval function, its entry points, and its monitoring."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from aws_cdk import Annotations, CfnOutput, Stack
from aws_cdk import aws_ssm as ssm

from infra import advice_stack as advice
from infra.agent import Agent
from infra.alarms import Emitters
from infra.dashboard import Doors
from infra.deploy_steps import check_knowledge_base, check_source_bucket
from infra.encryption import stack_key
from infra.gateway import DevOpsAgent, Gateway
from infra.guardrail import Guardrail
from infra.harness import Harness
from infra.log_delivery import LogDelivery
from infra.monitoring import Canary, Monitoring, canary_question
from infra.release import WATCHED, CanaryRelease, KeptVersions
from infra.retrieval import Retrieval
from infra.settings import Release
from infra.sources import load_sources

if TYPE_CHECKING:
    from constructs import Construct

    from infra.data_stack import DataStack
    from infra.settings import Settings

COLD_START_WARNING: Final = (
    "min_search_ocu is 0: after ten idle minutes the collection sleeps, and the first query waits 10"
    " to 30 seconds for it, which is over the budget of 2, so it answers degraded. Set min_search_ocu"
    " to 1 where people are on call."
)

AGENTS_CLASSIC_NOTE: Final = (
    "Bedrock Agents is closed to accounts that did not use it before July 30, 2026; there, deploy with"
    " entrypoint=gateway."
)


class ServiceStack(Stack):
    """Everything but the data; it can be deleted and created again without a new ingestion.

    Args:
        settings: the deployment's settings.
        data: the data stack; ``None`` with an existing knowledge base.

    The knowledge base's id comes from a parameter of the data stack instead of an export, so that a
    knowledge base can be replaced while this stack still refers to the old one. Names of monitored resources in
    the data stack are plain strings: the stacks share no references.

    Raises:
        SourcesError: a file that is deployed is missing or wrong.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        data: DataStack | None,
        **kwargs: Any,  # noqa: ANN401 - any property of a stack
    ) -> None:
        super().__init__(scope, construct_id, **kwargs)
        self._settings = settings
        self._sources = load_sources(settings)
        self._key = stack_key(
            self,
            settings,
            part="service",
            protects="logs, alarms and settings of the service stack",
        )
        self._guardrail = (
            Guardrail(self, "Guardrail", settings=settings)
            if settings.retrieval.guardrail
            else None
        )
        self._doors = Doors(guardrail_arn=self._guardrail.arn if self._guardrail else "")
        self._retrieval = Retrieval(
            self,
            "Retrieval",
            settings=settings,
            knowledge_base_id=settings.existing.knowledge_base_id
            or ssm.StringParameter.value_for_string_parameter(
                self, f"/{settings.name}/knowledge-base-id"
            ),
            guardrail=self._guardrail,
            encryption_key=self._key,
        )
        function = self._retrieval.alias.function_arn
        self._output("RetrieveFunctionArn", function, "invoke this alias")
        kept = KeptVersions(
            self,
            "KeptVersions",
            settings=settings,
            function_name=self._retrieval.name,
            alias=self._retrieval.alias,
            encryption_key=self._key,
        )
        self._output("RollBack", kept.rollback, "goes back to the version before the newest")
        self._output("TryIt", _command(function, self.region), "asks the function a question")
        if parameter := self._retrieval.floor_parameter:
            self._output("EvidenceFloorParameter", parameter, "written by `smoke --apply`")
        if existing := settings.existing.knowledge_base_id:
            self._output("KnowledgeBaseId", existing, "of Retrieve, made by others")
            check_knowledge_base(kept.steps, settings)
        if settings.existing.bucket:
            check_source_bucket(kept.steps, settings)
        if self._guardrail is not None:
            self._output("GuardrailId", self._guardrail.guardrail_id, "applied to every query")
        if settings.entrypoint.agent:
            self._add_agent()
        if settings.entrypoint.gateway:
            self._add_gateway()
        self._add_monitoring(data)
        self._warn()

    def _add_agent(self) -> None:
        agent = Agent(
            self,
            "Agent",
            settings=self._settings,
            sources=self._sources,
            retrieve=self._retrieval.alias,
            guardrail=self._guardrail,
            encryption_key=self._key,
        )
        self._doors = replace(self._doors, agent_alias_arn=agent.alias_arn)
        self._output("AgentId", agent.agent_id, "of InvokeAgent")
        self._output("AgentAliasId", agent.alias_id, "of InvokeAgent")
        Annotations.of(self).add_info_v2("knowledge-rag:agentsClassic", AGENTS_CLASSIC_NOTE)

    def _add_gateway(self) -> None:
        gateway = Gateway(
            self,
            "Gateway",
            settings=self._settings,
            sources=self._sources,
            retrieve=self._retrieval.alias,
        )
        self._doors = replace(self._doors, gateway_arn=gateway.arn)
        if self._settings.entrypoint.gateway_logs:
            LogDelivery(
                self,
                "GatewayLogs",
                settings=self._settings,
                part="gateway",
                resource_arn=gateway.arn,
                encryption_key=self._key,
            )
        if self._settings.entrypoint.devops_agent_space:
            DevOpsAgent(self, "DevOpsAgent", settings=self._settings, gateway=gateway)
        if self._settings.entrypoint.harness:
            harness = Harness(
                self, "Harness", settings=self._settings, sources=self._sources, gateway=gateway
            )
            self._output("HarnessArn", harness.arn, "of InvokeHarness")
        self._output("GatewayUrl", gateway.url, "of the Model Context Protocol")
        self._output("GatewayArn", gateway.arn, "callers need InvokeGateway on it")

    def _add_monitoring(self, data: DataStack | None) -> None:
        question = canary_question(self._settings)
        if question:
            Canary(
                self,
                "Canary",
                settings=self._settings,
                question=question,
                retrieve=self._retrieval.alias,
            )
        monitoring = Monitoring(
            self,
            "Monitoring",
            settings=self._settings,
            emitters=Emitters(
                deployment=self._settings.name,
                retrieve_function=self._retrieval.name,
                chunk_function=data.chunk_function_name if data else "",
                ingestion_function=data.ingestion.name if data else "",
                change_rule=data.ingestion.rule_name if data else "",
                dead_letters=data.ingestion.dead_letters_name if data else "",
                gateway_arn=self._doors.gateway_arn,
                **(_advice(self._settings) if self._settings.advice.destinations else {}),
            ),
            retrieve_log_group_name=self._retrieval.log_group_name,
            collection_name=data.collection_name if data else "",
            canary=bool(question),
            doors=self._doors,
            encryption_key=self._key,
        )
        if self._settings.retrieval.release is Release.CANARY:
            CanaryRelease(
                self,
                "Release",
                settings=self._settings,
                function_name=self._retrieval.name,
                alias=self._retrieval.alias,
                question=question or self._settings.name,
                alarms=[it for it in monitoring.alarms.loud if it.node.id in WATCHED],
                encryption_key=self._key,
            )
        self._output("AlarmTopicArn", monitoring.topic.topic_arn, "alarms are sent to it")
        self._output("DashboardName", monitoring.dashboard.name, "of CloudWatch")
        self._output("DashboardUrl", monitoring.dashboard.url, "look here first")

    def _warn(self) -> None:
        if self._settings.store.sleeps and not self._settings.existing.knowledge_base_id:
            Annotations.of(self).add_warning_v2("knowledge-rag:coldStart", COLD_START_WARNING)

    def _output(self, name: str, value: str, description: str) -> None:
        CfnOutput(self, name, value=value, description=description)


def _advice(settings: Settings) -> dict[str, str]:
    """Return the names of the monitored resources in the advice stack."""
    return {
        "advice_function": advice.function_name(settings),
        "advice_rule": advice.alarm_rule_name(settings),
        "advice_dead_letters": advice.dead_letters_name(settings),
    }


def _command(function_arn: str, region: str) -> str:
    question = json.dumps({"query": "How do we fail over a database?"})
    return (
        f"aws lambda invoke --region {region} --function-name {function_arn}"
        f" --cli-binary-format raw-in-base64-out --payload '{question}' /dev/stdout"
    )
