"""CloudFormation's requests to custom resources: request, remaining time, and answer.

The formats are those of "Custom resource request objects" and "Custom resource response objects" in
the CloudFormation user guide. Every property arrives as text.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from botocore.awsrequest import AWSRequest
from botocore.exceptions import ClientError, HTTPClientError
from botocore.httpsession import URLLib3Session

from knowledge_rag.core.errors import DeadlineExceeded, InvalidRequest
from lambdas.reporting import begin, logger

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_REASON: Final = 1_000
"""Maximum bytes of a failure's reason. CloudFormation refuses a whole answer of more than 4,096, and then the
stack waits for its timeout."""
ANSWER_SECONDS: Final = 60
"""Reserved, of the function's time, for the answer and for the last poll before it."""
DEFAULT_SECONDS: Final = 840
"""Remaining time without a Lambda context."""
PROPAGATION_SECONDS: Final = 90
"""How long new rights may take to become effective; a later refusal is final."""
RETRY_SECONDS: Final = 15
_ANSWER_TIMEOUT: Final = 10
"""Seconds for one attempt to answer."""
_ANSWER_ATTEMPTS: Final = 3
_REFUSED: Final = frozenset({"403", "AccessDenied", "AccessDeniedException"})
"""Codes of a call without rights; an answer to HEAD has no body, so its code is the status."""

_T = TypeVar("_T")


class Kind(StrEnum):
    """The operation on the custom resource."""

    CREATE = "Create"
    UPDATE = "Update"
    DELETE = "Delete"


@dataclass(frozen=True, slots=True)
class Request:
    """One CloudFormation request; the answer repeats its ids unchanged.

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
        """Return the properties with these names, in the same order.

        Raises:
            InvalidRequest: some are missing; the message names each.
        """
        missing = [name for name in names if not self.given.get(name)]
        if missing:
            raise InvalidRequest(f"the resource's properties lack {', '.join(missing)}")
        return tuple(str(self.given[name]) for name in names)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to CloudFormation: the reason of a failure, ``""`` for success, and the resource's attributes."""

    reason: str = ""
    data: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Clock:
    """A monotonic clock, in seconds, with a deadline ``end``."""

    now: Callable[[], float]
    sleep: Callable[[float], None]
    end: float

    def left(self) -> float:
        """Return the remaining seconds, negative after the end."""
        return self.end - self.now()

    def until(self, end: float) -> Clock:
        """Return the same clock with this end, or its own if that is earlier."""
        return Clock(self.now, self.sleep, min(end, self.end))

    def check(self, what: str) -> None:
        """Check that there is time left.

        Raises:
            DeadlineExceeded: there is none; the message contains ``what``, the current activity.
        """
        if self.left() <= 0:
            raise DeadlineExceeded(f"the function's time is up while {what}")


def respond(
    event: object,
    context: Any,  # noqa: ANN401 - Lambda's
    work: Callable[[Request, Clock], Answer],
) -> None:
    """Do the requested work and answer CloudFormation in any case.

    An error of the work is a failure of the resource. A deletion never fails, because the stack could then
    not be deleted.

    Args:
        event: the function's event.
        context: Lambda's context, for the remaining time, or ``None``.
        work: the work, which has until the clock's end.

    Raises:
        InvalidRequest: the event is not a CloudFormation request.
        ConnectionError: CloudFormation could not be answered; it times out by itself later.
        botocore.exceptions.HTTPClientError: likewise.
    """
    begin()
    request = read_request(event)
    seconds = context.get_remaining_time_in_millis() / 1000 if context else DEFAULT_SECONDS
    clock = Clock(time.monotonic, time.sleep, time.monotonic() + seconds - ANSWER_SECONDS)
    try:
        answer = work(request, clock)
    except Exception as error:  # noqa: BLE001 - CloudFormation would wait for the answer
        logger.exception("the request could not be served", request=request.kind.value)
        answer = Answer("" if request.kind is Kind.DELETE else f"{type(error).__name__}: {error}")
    _answer(request, answer)


def read_request(event: object) -> Request:
    """Read the event.

    Raises:
        InvalidRequest: it is not a CloudFormation request, so nothing waits for an answer.
    """
    if not isinstance(event, dict):
        raise InvalidRequest("not a CloudFormation request: the event is not an object")
    try:
        return Request(
            Kind(event["RequestType"]),
            str(event.get("ResourceType", "")),
            str(event["ResponseURL"]),
            str(event["StackId"]),
            str(event["RequestId"]),
            str(event["LogicalResourceId"]),
            # the id never changes, so that an update doesn't delete the result of an earlier one
            str(event.get("PhysicalResourceId") or event["LogicalResourceId"]),
            dict(event.get("ResourceProperties") or {}),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidRequest(f"not a CloudFormation request: {error!r}") from error


def with_new_rights(work: Callable[[], _T], clock: Clock) -> _T:
    """Do work that needs rights granted just before; repeat it from the beginning while it is refused.

    CloudFormation continues as soon as IAM accepts a policy, before every service applies it.

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
    """Return the service's error code, ``""`` for none."""
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
    """Send the answer to the address in CloudFormation's request.

    Raises:
        botocore.exceptions.HTTPClientError: the address can't be reached.
        ConnectionError: the answer was refused.
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
    # the address is signed without a content type, so none may be sent
    # UTF-8, because escaped non-English text would be up to six times as long
    data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    put = AWSRequest("PUT", request.response_url, {"Content-Type": ""}, data)
    response = URLLib3Session(timeout=_ANSWER_TIMEOUT).send(put.prepare())
    if response.status_code >= 300:
        raise ConnectionError(f"the answer was refused with {response.status_code}")
