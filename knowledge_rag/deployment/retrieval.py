"""Connects graphs and chains to a deployment's retrieval function, by the deployment's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.deployment.aws import Aws
from knowledge_rag.deployment.stacks import find_deployed
from knowledge_rag.orchestrator.backends.aws import RetrievalFunction
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval

if TYPE_CHECKING:
    from knowledge_rag.orchestrator.budget import Budget


def deployed(
    name: str, *, region: str | None = None, budget: Budget | None = None
) -> BoundedRetrieval:
    """Return a client of a deployed retrieval function, found by the outputs of its stack.

    Call it once per process, and ``close()`` the client at the end. It needs
    ``cloudformation:DescribeStacks`` now, and ``lambda:InvokeFunction`` on the function's alias later.

    Args:
        name: the deployment's setting ``name``, e.g. ``knowledge-rag-prod``.
        region: of the deployment; by default the environment's or the profile's.
        budget: of one query, 2 s by default.

    Raises:
        InvalidRequest: no region is set, or there is no such deployment in it.
        CallFailed: the call of CloudFormation failed.
    """
    aws = Aws(region)
    place = aws.required_region()
    function = RetrievalFunction(find_deployed(aws, name).function, place)
    return BoundedRetrieval(function, budget)
