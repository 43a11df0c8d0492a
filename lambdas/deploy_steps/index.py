"""Waits until the knowledge base's role can search the OpenSearch index.

The service acknowledges an index before it is searchable, and rights before they are effective. A knowledge
base that is created in between fails, and the deployment with it. So this step searches the index like
Bedrock: with the knowledge base's own role.

It also completes the mapping with properties that CloudFormation doesn't support: text is never detected as a
date, and a keyword is found under both ``<field>`` and ``<field>.keyword``. Bedrock doesn't document which of
the two its filters use; indexes that Bedrock creates itself have the second.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, NoCredentialsError
from botocore.httpsession import URLLib3Session

from knowledge_rag.core.errors import DeadlineExceeded
from lambdas.reporting import logger

if TYPE_CHECKING:
    from lambdas.custom_resource import Clock

READY_SECONDS: Final = 300
"""Timeout for the index. Rights take up to a minute, an index some seconds."""
POLL_SECONDS: Final = 3
ANSWERS: Final = 3
"""Consecutive searches that must succeed: one node may know the index while another doesn't."""
MAX_KEYWORD: Final = 8_191
"""Maximum characters of text that can be matched as a whole; longer text is stored without that. Lucene refuses
a document with a keyword of more than 32,766 bytes."""
_SECONDS: Final = 10
_MAX_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class Index:
    """One index: its collection's ``endpoint``, its name, and its keyword and text fields."""

    endpoint: str
    name: str
    keywords: tuple[str, ...]
    words: tuple[str, ...]

    def mapping(self) -> dict[str, Any]:
        """Return the additions to the mapping; existing fields keep their type."""
        exact = {"type": "keyword", "ignore_above": MAX_KEYWORD}
        return {
            "date_detection": False,
            "properties": {
                **{name: exact | {"fields": {"keyword": exact}} for name in self.keywords},
                **{name: {"type": "text", "fields": {"keyword": exact}} for name in self.words},
            },
        }


class NotReadyError(Exception):
    """The index is not ready yet; the message is the service's answer."""


def make_ready(index: Index, reader_role: str, clock: Clock) -> None:
    """Complete the index's mapping, and wait until ``reader_role`` can search it.

    Raises:
        DeadlineExceeded: the role couldn't within :data:`READY_SECONDS`; the message has the last answer.
    """
    clock = clock.until(clock.now() + READY_SECONDS)
    mapped, answered = False, 0
    while answered < ANSWERS:
        try:
            mapped = mapped or _map(index)
            _search(index, _assumed(reader_role))
            answered += 1
        except (NotReadyError, BotoCoreError, ClientError, HTTPClientError) as error:
            answered = 0
            if clock.left() < POLL_SECONDS:
                raise DeadlineExceeded(
                    f"the index {index.name} can't be searched by {reader_role} after"
                    f" {READY_SECONDS} s. The last answer: {error}. Check that no policy of the"
                    " organisation denies aoss:APIAccessAll or sts:AssumeRole, and deploy again"
                ) from error
            logger.info("the index is not ready", answer=str(error))
        if answered < ANSWERS:
            clock.sleep(POLL_SECONDS)


def _map(index: Index) -> bool:
    """Complete the mapping; if the service rejects that, CloudFormation's mapping stays."""
    status, text = _ask("PUT", index, "_mapping", index.mapping(), boto3.Session())
    if status == 400:
        logger.warning("the index keeps its original mapping", answer=text)
    elif status >= 300:
        raise NotReadyError(f"the mapping failed with {status}: {text}")
    return True


def _search(index: Index, reader: boto3.Session) -> None:
    status, text = _ask("POST", index, "_search", {"size": 0}, reader)
    if status >= 300:
        raise NotReadyError(f"a search failed with {status}: {text}")


def _assumed(role: str) -> boto3.Session:
    """Return a session of the role that is limited to calls of collections."""
    allowed = {"Effect": "Allow", "Action": "aoss:APIAccessAll", "Resource": "*"}
    answer = boto3.client("sts").assume_role(
        RoleArn=role,
        RoleSessionName="index-ready",
        DurationSeconds=900,
        Policy=json.dumps({"Version": "2012-10-17", "Statement": [allowed]}),
    )["Credentials"]
    return boto3.Session(answer["AccessKeyId"], answer["SecretAccessKey"], answer["SessionToken"])


def _ask(
    method: str, index: Index, what: str, body: dict[str, Any], caller: boto3.Session
) -> tuple[int, str]:
    """Send a signed request; return the status and the beginning of the answer in one line."""
    data = json.dumps(body).encode()
    request = AWSRequest(
        method, f"{index.endpoint}/{index.name}/{what}", {"Content-Type": "application/json"}, data
    )
    credentials = caller.get_credentials()
    if credentials is None:
        raise NoCredentialsError
    signer = SigV4Auth(credentials, "aoss", caller.region_name)
    request.headers["X-Amz-Content-SHA256"] = signer.payload(request)  # the service requires it
    signer.add_auth(request)
    response = URLLib3Session(timeout=_SECONDS).send(request.prepare())
    return response.status_code, " ".join(response.text.split())[:_MAX_SHOWN]
