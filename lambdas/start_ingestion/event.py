"""CloudFormation's request to a custom resource, and the answer that it waits for.

The shapes are those of "Custom resource request objects" and "Custom resource response objects" in
the CloudFormation user guide. Every property arrives as text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from botocore.awsrequest import AWSRequest
from botocore.httpsession import URLLib3Session

from knowledge_rag.core.errors import InvalidRequest

MAX_REASON: Final = 1_000
"""Bytes of a failure's reason. CloudFormation refuses a whole answer of more than 4,096, and the stack
waits for its timeout."""
_ANSWER_TIMEOUT: Final = 10
"""Seconds for one attempt to answer."""


class Kind(StrEnum):
    """The operation on the custom resource."""

    CREATE = "Create"
    UPDATE = "Update"
    DELETE = "Delete"


@dataclass(frozen=True, slots=True)
class Properties:
    """The custom resource's properties in the template.

    The corpus was uploaded as a zip, the asset. Another version of the chunker makes every document be
    chunked again.
    """

    knowledge_base_id: str
    data_source_id: str
    corpus_bucket: str
    intermediate_bucket: str
    asset_bucket: str
    asset_key: str
    chunker: str
    empty_on_delete: bool


@dataclass(frozen=True, slots=True)
class Request:
    """One request of CloudFormation's; the ids go back as they came."""

    kind: Kind
    response_url: str
    stack_id: str
    request_id: str
    logical_id: str
    physical_id: str
    given: dict[str, Any]

    def properties(self) -> Properties:
        """Read the properties.

        Raises:
            InvalidRequest: some are missing; every one is named.
        """
        names = {
            "knowledge_base_id": "KnowledgeBaseId",
            "data_source_id": "DataSourceId",
            "corpus_bucket": "CorpusBucket",
            "intermediate_bucket": "IntermediateBucket",
            "asset_bucket": "AssetBucket",
            "asset_key": "AssetKey",
            "chunker": "Chunker",
        }
        values = {name: self.given.get(key) for name, key in names.items()}
        missing = [names[name] for name, value in values.items() if not value]
        if missing:
            raise InvalidRequest(f"the resource's properties lack {', '.join(missing)}")
        return Properties(
            **{name: str(value) for name, value in values.items()},
            empty_on_delete=str(self.given.get("EmptyOnDelete")).lower() == "true",
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to CloudFormation: why it failed, ``""`` for a success, and the resource's attributes."""

    reason: str = ""
    data: dict[str, str] = field(default_factory=dict)


def read_request(event: object) -> Request:
    """Read the event.

    Raises:
        InvalidRequest: it is none of CloudFormation's, so that nobody waits for an answer.
    """
    if not isinstance(event, dict):
        raise InvalidRequest("this is no request of CloudFormation's: the event is no object")
    try:
        return Request(
            Kind(event["RequestType"]),
            str(event["ResponseURL"]),
            str(event["StackId"]),
            str(event["RequestId"]),
            str(event["LogicalResourceId"]),
            # one resource for good: an update never deletes what an earlier one made
            str(event.get("PhysicalResourceId") or event["LogicalResourceId"]),
            dict(event.get("ResourceProperties") or {}),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidRequest(f"this is no request of CloudFormation's: {error!r}") from error


def send(request: Request, answer: Answer) -> None:
    """Put the answer where CloudFormation waits for it.

    Raises:
        botocore.exceptions.HTTPClientError: the place can't be reached.
        ConnectionError: it refuses the answer.
    """
    body = {
        "Status": "FAILED" if answer.reason else "SUCCESS",
        "Reason": answer.reason.encode("utf-8", "replace")[:MAX_REASON].decode("utf-8", "ignore"),
        "PhysicalResourceId": request.physical_id,
        "StackId": request.stack_id,
        "RequestId": request.request_id,
        "LogicalResourceId": request.logical_id,
        "Data": answer.data,
    }
    # the address is signed without a content type: none may be sent
    # in UTF-8: escaped, a text that is not English would be up to six times as long
    data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    put = AWSRequest("PUT", request.response_url, {"Content-Type": ""}, data)
    response = URLLib3Session(timeout=_ANSWER_TIMEOUT).send(put.prepare())
    if response.status_code >= 300:
        raise ConnectionError(f"the answer was refused with {response.status_code}")
