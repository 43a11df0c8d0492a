"""Bedrock's ``Retrieve``, from a decoded request to a response body; also for a function in the same process."""

from __future__ import annotations

import json
import logging
import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from knowledge_rag.core.background import Background
from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.filters import InvalidFilter, parse_filter
from knowledge_rag.core.metadata import CHUNK_ID, SOURCE_FILE
from knowledge_rag.core.net.deadline import current_deadline
from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.local.bedrock.wire import ServiceError, check, invalid, service_model
from knowledge_rag.local.errors import described

if TYPE_CHECKING:
    from botocore.model import OperationModel

    from knowledge_rag.core.filters import Filter
    from knowledge_rag.local.knowledge_base import Hit, KnowledgeBase


KNOWLEDGE_BASE_ID: Final = "LOCALKB001"
"""Id of the one knowledge base that a local server serves; ten characters, like the service's."""
DATA_SOURCE_ID: Final = "LOCALDS001"
CORPUS_BUCKET: Final = "local-knowledge-corpus"
"""Replaces the corpus bucket's name in AWS: ``s3://<bucket>/<source_file>``."""

DEFAULT_RESULTS: Final = 5
"""The service's default for ``numberOfResults``."""

_ID = re.compile(
    r"(?:arn:aws[^:]*:bedrock:[a-z0-9-]{1,20}:[0-9]{12}:knowledge-base/)?([0-9a-zA-Z]{10})"
)
_NOT_HERE: Final = {
    "managedSearchConfiguration": "is for managed knowledge bases; this one is of type VECTOR",
    "implicitFilterConfiguration": "needs a model, which a local knowledge base doesn't have",
    "rerankingConfiguration": "needs a model, which a local knowledge base doesn't have",
}


def retrieve(
    knowledge_base: KnowledgeBase, knowledge_base_id: str, body: dict[str, Any]
) -> dict[str, object]:
    """Serve one request, with the service's checks.

    Raises:
        ServiceError: ValidationException (naming all violated constraints of the model) or
        ResourceNotFoundException.
    """
    check({**body, "knowledgeBaseId": knowledge_base_id}, operation_model())
    named = _ID.fullmatch(knowledge_base_id)
    if named is None or named[1] != KNOWLEDGE_BASE_ID:
        missing = f"Knowledge Base with id {knowledge_base_id} does not exist"
        raise ServiceError("ResourceNotFoundException", 404, missing)
    return found_in(knowledge_base, body)


def found_in(knowledge_base: KnowledgeBase, body: dict[str, Any]) -> dict[str, object]:
    """Serve one request that keeps the constraints of the service's model.

    Raises:
        ServiceError: ValidationException, if a local knowledge base can't honour it.
    """
    _refuse_unsupported(body)
    search = _vector_search(body)
    hits = knowledge_base.search(
        _query(body),
        limit=_given(search, "numberOfResults", DEFAULT_RESULTS),
        search_type=SearchType(_given(search, "overrideSearchType", SearchType.HYBRID)),
        wanted=_filter(search.get("filter")),
    )
    return {"retrievalResults": [to_wire(hit) for hit in hits]}


def to_wire(hit: Hit) -> dict[str, object]:
    """Return a hit in the service's form of a result; numbers in metadata become doubles."""
    uri = f"s3://{CORPUS_BUCKET}/{hit.metadata[SOURCE_FILE]}"
    metadata = {name: _double(value) for name, value in hit.metadata.items()}
    return {
        "content": {"type": "TEXT", "text": hit.text},
        "location": {"type": "S3", "s3Location": {"uri": uri}},
        "metadata": {
            **metadata,
            "x-amz-bedrock-kb-source-uri": uri,
            "x-amz-bedrock-kb-chunk-id": hit.metadata[CHUNK_ID],
            "x-amz-bedrock-kb-data-source-id": DATA_SOURCE_ID,
        },
        "score": hit.score,
    }


@lru_cache(maxsize=1)
def operation_model() -> OperationModel:
    """Return botocore's model of the operation."""
    return service_model().operation_model("Retrieve")


def _refuse_unsupported(body: dict[str, Any]) -> None:
    if body.get("nextToken") is not None:
        raise invalid("nextToken is not valid: all results come in one page")
    if body.get("guardrailConfiguration") is not None:
        raise invalid("guardrailConfiguration needs a guardrail, which is not available locally")
    configuration = body.get("retrievalConfiguration") or {}
    for name in (*configuration, *_vector_search(body)):
        if name in _NOT_HERE:
            raise invalid(f"{name} {_NOT_HERE[name]}")


def _vector_search(body: dict[str, Any]) -> dict[str, Any]:
    configuration = body.get("retrievalConfiguration") or {}
    search: dict[str, Any] = configuration.get("vectorSearchConfiguration") or {}
    return search


def _query(body: dict[str, Any]) -> str:
    query = body["retrievalQuery"]
    if query.get("type") == "IMAGE" or query.get("image") is not None:
        raise invalid("retrievalQuery.image: this knowledge base has only text")
    text: str = query.get("text") or ""
    if not text.strip():
        raise invalid("retrievalQuery.text must not be blank")
    return text


def _filter(wire: object) -> Filter | None:
    if wire is None:
        return None
    try:
        return parse_filter(wire)
    except InvalidFilter as error:
        raise invalid(f"retrievalConfiguration.vectorSearchConfiguration.{error}") from error


def _given(search: dict[str, Any], name: str, default: Any) -> Any:  # noqa: ANN401 - checked JSON
    value = search.get(name)
    return default if value is None else value


def _double(value: object) -> object:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


_OPERATION: Final = "Retrieve"
_logger = logging.getLogger(__name__)


class InProcessBedrock:
    """Replaces the function's client of Bedrock; the caller closes the knowledge base."""

    def __init__(self, knowledge_base: KnowledgeBase) -> None:
        self._knowledge_base = knowledge_base

    @property
    def api(self) -> InProcessBedrock:
        """What has the operations of botocore's client."""
        return self

    def prepare(self) -> None:
        """Do nothing: there is no connection."""

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def retrieve(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401 - as botocore has it
        """Search before the current deadline.

        Raises:
            ClientError: the request can't be honoured, or the search failed.
            DeadlineExceeded: the search took too long.
        """
        # the process waits for it, as it can't stop inside the model
        search = Background(_OPERATION, partial(self._found, request), daemon=False)
        if not search.over.wait(current_deadline().remaining()):
            raise DeadlineExceeded("the search took too long")
        if isinstance(search.error, ServiceError):
            raise _as_botocore(search.error)
        return search.result or {}

    def _found(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            # through JSON, so that the function never sees what the wire could not have carried
            found: dict[str, Any] = json.loads(json.dumps(found_in(self._knowledge_base, request)))
        except ServiceError:
            raise
        except Exception as error:
            # the function has to answer, as the wire's server does
            _logger.error("local retrieve failed: %s", described(error))  # noqa: TRY400
            raise ServiceError("InternalServerException", 500, "Internal server error") from error
        return found


def _as_botocore(error: ServiceError) -> ClientError:
    response: Any = {
        "Error": {"Code": error.code, "Message": str(error)},
        "ResponseMetadata": {"HTTPStatusCode": error.status},
    }
    return ClientError(response, _OPERATION)
