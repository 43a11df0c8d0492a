"""What callers need to know of a deployment, from the outputs of its stacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.deployment.stacks import DATA, SERVICE, check_name, find_stack, outputs_of

if TYPE_CHECKING:
    from knowledge_rag.deployment.aws import Aws


@dataclass(frozen=True, slots=True)
class Deployed:
    """A deployment that can be asked.

    Args:
        name: the setting ``name`` of it.
        function: ARN of the retrieval function's alias.
        corpus_bucket: that mirrors the corpus folder; ``""`` where the data stack tells none.
        agent: id and alias, with a slash between them; ``""`` without an agent.
    """

    name: str
    function: str
    corpus_bucket: str = ""
    agent: str = ""


def find_deployed(aws: Aws, name: str) -> Deployed:
    """Look a deployment up.

    Args:
        aws: account and region.
        name: of the deployment.

    Raises:
        InvalidRequest: there is none with a retrieval function.
        CallFailed: CloudFormation can't be asked.
    """
    check_name(name)
    outputs = outputs_of(find_stack(aws, f"{name}-{part}") for part in (DATA, SERVICE))
    if "RetrieveFunctionArn" not in outputs:
        raise InvalidRequest(
            f"there is no stack {name}-{SERVICE} with a retrieval function in {aws.region}: check"
            " --stack and --region, or deploy first"
        )
    agent = [outputs[key] for key in ("AgentId", "AgentAliasId") if key in outputs]
    return Deployed(
        name,
        outputs["RetrieveFunctionArn"],
        outputs.get("CorpusBucketName", ""),
        "/".join(agent) if len(agent) == 2 else "",
    )
