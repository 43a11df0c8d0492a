"""Errors as botocore's models of the services have them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from knowledge_rag.local.bedrock.validation import ServiceError, service_model

if TYPE_CHECKING:
    from collections.abc import Mapping


@lru_cache(maxsize=32)
def modelled_error(service: str, code: str, message: str) -> ServiceError:
    """Give an error of a service's model, with the status that the model gives it."""
    status = service_model(service).shape_for(code).metadata["error"]["httpStatusCode"]
    return ServiceError(code, status, message)


def modelled_exceptions(service: str, stream: str) -> tuple[str, ...]:
    """Give the names of the exceptions that a service's model has in a stream."""
    members: Mapping[str, Any] = getattr(service_model(service).shape_for(stream), "members", {})
    return tuple(shape.name for shape in members.values() if shape.metadata.get("exception"))
