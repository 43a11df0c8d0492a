"""A deployment's stacks and their outputs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.deployment.aws import CallFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from knowledge_rag.deployment.aws import Aws

DATA: Final = "data"
SERVICE: Final = "service"
ADVICE: Final = "advice"
"""Part of a deployment that posts advice."""

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

_USABLE: Final = frozenset(
    {
        "CREATE_COMPLETE",
        "IMPORT_COMPLETE",
        "IMPORT_ROLLBACK_COMPLETE",
        "UPDATE_COMPLETE",
        "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
        "UPDATE_ROLLBACK_COMPLETE",
        "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
    }
)
"""States in which all of a stack's resources exist, from the last or an earlier deployment."""


@dataclass(frozen=True, slots=True)
class StackState:
    """One stack."""

    name: str
    status: str
    reason: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def usable(self) -> bool:
        """Whether everything in it exists."""
        return self.status in _USABLE

    @property
    def changing(self) -> bool:
        """Whether CloudFormation is still changing it, or waits for someone to continue."""
        return self.status.endswith("_IN_PROGRESS")


def check_name(name: str) -> str:
    """Return a deployment's name if it is valid."""
    if not 3 <= len(name) <= 20 or not _NAME.fullmatch(name):
        raise InvalidRequest(
            f"{name[:40]!r}: a deployment's name has 3 to 20 lower-case letters, digits and"
            " single hyphens"
        )
    return name


def find_stack(aws: Aws, name: str) -> StackState | None:
    """Return a stack; ``None`` if there is none, or it was deleted.

    Raises:
        CallFailed: the call of CloudFormation failed.
    """
    try:
        answer = aws.call("cloudformation", "describe_stacks", expect="Stacks", StackName=name)
    except CallFailed as error:
        if error.code == "ValidationError" and "does not exist" in error.detail:
            return None
        raise
    stack = answer["Stacks"][0]
    if stack["StackStatus"] == "DELETE_COMPLETE":
        return None
    outputs = {each["OutputKey"]: each["OutputValue"] for each in stack.get("Outputs", [])}
    return StackState(
        stack["StackName"], stack["StackStatus"], stack.get("StackStatusReason", ""), outputs
    )


def find_stacks(aws: Aws, name: str) -> dict[str, StackState | None]:
    """Return a deployment's stacks by part; only the service for one in front of an existing knowledge base.

    Raises:
        CallFailed: the call of CloudFormation failed.
    """
    service = find_stack(aws, f"{name}-{SERVICE}")
    if service is not None and "KnowledgeBaseId" in service.outputs:  # else the data stack has it
        return {SERVICE: service}
    return {DATA: find_stack(aws, f"{name}-{DATA}"), SERVICE: service}


def outputs_of(stacks: Iterable[StackState | None]) -> dict[str, str]:
    """Return the outputs of all stacks that exist."""
    return {key: value for stack in stacks if stack for key, value in stack.outputs.items()}


@dataclass(frozen=True, slots=True)
class Deployed:
    """A usable deployment.

    Args:
        name: its setting ``name``.
        function: ARN of the retrieval function's alias.
        corpus_bucket: of the documents; ``""`` without a data stack.
        corpus_prefix: of the documents in it, which citations omit.
        agent: id and alias, with a slash between them; ``""`` without an agent.
    """

    name: str
    function: str
    corpus_bucket: str = ""
    corpus_prefix: str = ""
    agent: str = ""


def find_deployed(aws: Aws, name: str) -> Deployed:
    """Return a deployment.

    Raises:
        InvalidRequest: there is none with a retrieval function.
        CallFailed: the call of CloudFormation failed.
    """
    check_name(name)
    outputs = outputs_of(find_stacks(aws, name).values())
    if "RetrieveFunctionArn" not in outputs:
        raise InvalidRequest(
            f"there is no stack {name}-{SERVICE} with a retrieval function in {aws.region}: check"
            " its name (--stack) and the region, or deploy first"
        )
    agent = [outputs[key] for key in ("AgentId", "AgentAliasId") if key in outputs]
    return Deployed(
        name,
        outputs["RetrieveFunctionArn"],
        outputs.get("CorpusBucketName", ""),
        outputs.get("CorpusPrefix", ""),
        "/".join(agent) if len(agent) == 2 else "",
    )
