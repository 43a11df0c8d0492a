"""``deploy_steps``: the steps of a deployment that CloudFormation can't do by itself.

Each is a custom resource of the data stack, told apart by its type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.core.errors import InvalidRequest
from lambdas.custom_resource import Answer, Kind, respond
from lambdas.deploy_steps.index import Index, make_ready

if TYPE_CHECKING:
    from lambdas.custom_resource import Clock, Context, Request


def lambda_handler(event: object, context: Context | None) -> None:
    """Serve one request of CloudFormation's, see :func:`lambdas.custom_resource.respond`."""
    respond(event, context, _serve)


def _serve(request: Request, clock: Clock) -> Answer:
    if request.resource != "Custom::KnowledgeIndex":
        raise InvalidRequest(f"no step of a deployment is a {request.resource}")
    if request.kind is not Kind.DELETE:
        endpoint, name, role = request.texts("Endpoint", "IndexName", "ReaderRole")
        keywords, words = (tuple(request.given.get(key, ())) for key in ("Keywords", "Words"))
        make_ready(Index(endpoint, name, keywords, words), role, clock)
    return Answer()
