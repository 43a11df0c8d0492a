"""botocore's models of the services that the local server plays."""

from __future__ import annotations

from functools import lru_cache

from botocore.loaders import Loader
from botocore.model import ServiceModel


@lru_cache(maxsize=2)
def service_model(service: str = "bedrock-agent-runtime") -> ServiceModel:
    """Give botocore's model of a service; no profile or other setting of the user's is looked at."""
    return ServiceModel(Loader().load_service_model(service, "service-2"), service)
