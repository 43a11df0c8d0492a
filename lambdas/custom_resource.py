"""CloudFormation's request to a custom resource, the time that it leaves, and the answer that it waits for.

The shapes are those of "Custom resource request objects" and "Custom resource response objects" in
the CloudFormation user guide. Every property arrives as text.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from botocore.awsrequest import AWSRequest
from botocore.exceptions import ClientError, HTTPClientError
from botocore.httpsession import URLLib3Session

from knowledge_rag.core.errors import DeadlineExceeded, InvalidRequest
from lambdas.reporting import begin, logger

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_REASON: Final = 1_000
"""Bytes of a failure's reason. CloudFormation refuses a whole answer of more than 4,096, and the stack
waits for its timeout."""
ANSWER_SECONDS: Final = 60
"""Kept back from the function's time for the answer and for the last poll before it."""
DEFAULT_SECONDS: Final = 840
"""Where nobody says how much time there is."""
PROPAGATION_SECONDS: Final = 90
"""How long new rights may take to be known; what is refused later is refused for good."""
RETRY_SECONDS: Final = 15
_ANSWER_TIMEOUT: Final = 10
"""Seconds for one attempt to answer."""
_ANSWER_ATTEMPTS: Final = 3
_REFUSED: Final = frozenset({"403", "AccessDenied", "AccessDeniedException"})
"""Codes of a call without rights; an answer to HEAD has no body and so no code but its status."""

_T = TypeVar("_T")


class Kind(StrEnum):
    """The operation on the custom resource."""

    CREATE = "Create"
    UPDATE = "Update"
    DELETE = "Delete"


@dataclass(frozen=True, slots=True)
class Request:
    """One request of CloudFormation's; the ids go back as they came.

    ``resource`` is the type in the template, ``Custom::...``; ``given`` are its properties, all text.
    """

    kind: Kind
    resource: str
    response_url: str
    stack_id: str
    request_id: str
    logical_id: str
    physical_id: str
    given: dict[str, Any]

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return properties in the order of their names.

        Raises:
            InvalidRequest: some are missing; every one is named.
        """
        missing = [name for name in names if not self.given.get(name)]
        if missing:
            raise InvalidRequest(f"the resource's properties lack {', '.join(missing)}")
        return tuple(str(self.given[name]) for name in names)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to CloudFormation: why it failed, ``""`` for a success, and the resource's attributes."""

    reason: str = ""
    data: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Clock:
    """A monotonic clock, in seconds, with an end at which work has to be over."""

    now: Callable[[], float]
    sleep: Callable[[float], None]
    end: float

    def left(self) -> float:
        """Return the seconds that are left, negative when there are none."""
        return self.end - self.now()

    def until(self, end: float) -> Clock:
        """Return the same clock with an end that is no later."""
        return Clock(self.now, self.sleep, min(end, self.end))

    def check(self, what: str) -> None:
        """Check that there is time left.

        Raises:
            DeadlineExceeded: there is none; the message has ``what`` was being done.
        """
        if self.left() <= 0:
            raise DeadlineExceeded(f"the function's time is up while {what}")


class Context(Protocol):
    """What is used of Lambda's context."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the function is killed."""


def respond(
    event: object, context: Context | None, work: Callable[[Request, Clock], Answer]
) -> None:
    """Do what CloudFormation asks for, and answer it whatever comes of it.

    An error of the work is a failure of the resource. A deletion never fails: it would leave a stack
    that nobody can delete.

    Args:
        event: the function's.
        context: Lambda's; says how much time is left.
        work: has until the clock's end.

    Raises:
        InvalidRequest: the event is none of CloudFormation's.
        ConnectionError: CloudFormation could not be answered; it gives up by itself later.
        botocore.exceptions.HTTPClientError: likewise.
    """
    begin()
    request = read_request(event)
    seconds = context.get_remaining_time_in_millis() / 1000 if context else DEFAULT_SECONDS
    clock = Clock(time.monotonic, time.sleep, time.monotonic() + seconds - ANSWER_SECONDS)
    try:
        answer = work(request, clock)
    except Exception as error:  # noqa: BLE001 - CloudFormation waits for what is not answered
        logger.exception("the request could not be served", request=request.kind.value)
        answer = Answer("" if request.kind is Kind.DELETE else f"{type(error).__name__}: {error}")
    _answer(request, answer)


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
            str(event.get("ResourceType", "")),
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


def with_new_rights(work: Callable[[], _T], clock: Clock) -> _T:
    """Do work that needs rights given a second ago; it is repeated from its beginning while refused.

    CloudFormation continues as soon as IAM has accepted a policy, not when every service knows it.

    Raises:
        botocore.exceptions.ClientError: it is still refused after :data:`PROPAGATION_SECONDS`, or
            failed for another reason.
    """
    patience = min(clock.now() + PROPAGATION_SECONDS, clock.end)
    while True:
        try:
            return work()
        except ClientError as error:
            if error_code(error) not in _REFUSED or clock.now() + RETRY_SECONDS > patience:
                raise
        clock.sleep(RETRY_SECONDS)


def error_code(error: ClientError) -> str:
    """Return the service's code of an error, ``""`` for none."""
    return str(error.response.get("Error", {}).get("Code", ""))


def _answer(request: Request, answer: Answer) -> None:
    for attempt in range(1, _ANSWER_ATTEMPTS + 1):
        try:
            send(request, answer)
        except (ConnectionError, HTTPClientError):
            logger.exception("CloudFormation could not be answered", attempt=attempt)
            if attempt == _ANSWER_ATTEMPTS:
                raise
            time.sleep(attempt)
        else:
            return


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
