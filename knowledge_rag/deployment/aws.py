"""Calls one AWS account and region with short timeouts; sorts failures by what a person can do about them."""

from __future__ import annotations

import os
import queue
import re
import threading
import time
from concurrent.futures import Future
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

import boto3
from botocore import exceptions as botocore
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound
from botocore.parsers import ResponseParserError
from botocore.utils import validate_region_name

from knowledge_rag.core.errors import InvalidRequest, KnowledgeRagError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping


CONNECT_SECONDS: Final = 3
READ_SECONDS: Final = 6
"""For calls that read one thing; calls of a function or an agent use another."""

_OTHER_NAMES: Final = {
    "lambda:Invoke": "lambda:InvokeFunction",
    "s3:GetBucketEncryption": "s3:GetEncryptionConfiguration",
    "s3:GetBucketNotificationConfiguration": "s3:GetBucketNotification",
    "s3:HeadBucket": "s3:ListBucket",
}
"""Actions whose names differ from their operations'."""

_STS_REGION: Final = "us-east-1"
"""Region for identifying the caller while none is set; the answer is the same in any."""


class Trouble(StrEnum):
    """Why a call failed."""

    NO_CREDENTIALS = "no_credentials"
    EXPIRED = "expired"
    """There are credentials, but they have expired."""
    INVALID = "invalid"
    """There are credentials, but AWS does not know them."""
    DENIED = "denied"
    UNREACHABLE = "unreachable"
    """No such address, no answer, or no trustworthy one."""
    TIMEOUT = "timeout"
    THROTTLED = "throttled"
    REFUSED = "refused"
    """The service returned another error; see its code."""


class CallFailed(KnowledgeRagError):  # noqa: N818 - named for what it is
    """A call to AWS failed.

    Args:
        trouble: the kind of failure.
        action: the IAM action that the call needs, e.g. ``bedrock:ListAgents``.
        code: the service's own name for the failure, or botocore's.
        detail: the message, one line.
    """

    def __init__(self, trouble: Trouble, action: str, code: str, detail: str) -> None:
        super().__init__(_sentence(trouble, action, code, detail))
        self.trouble = trouble
        self.action = action
        self.code = code
        self.detail = detail


_CODES: Final = {
    Trouble.EXPIRED: "ExpiredToken ExpiredTokenException RequestExpired",
    Trouble.INVALID: "AuthFailure IncompleteSignature InvalidClientTokenId InvalidSignatureException"
    " SignatureDoesNotMatch UnrecognizedClientException",
    Trouble.DENIED: "AccessDenied AccessDeniedException UnauthorizedOperation 403",
    Trouble.THROTTLED: "RequestLimitExceeded SlowDown Throttling ThrottlingException"
    " TooManyRequestsException",
}
"""The services' codes for each kind of failure."""
_TROUBLES: Final = {code: it for it, codes in _CODES.items() for code in codes.split()}

_KINDS: Final[tuple[tuple[type[Exception], Trouble], ...]] = (
    (botocore.NoCredentialsError, Trouble.NO_CREDENTIALS),
    (botocore.PartialCredentialsError, Trouble.NO_CREDENTIALS),
    (botocore.CredentialRetrievalError, Trouble.EXPIRED),
    (botocore.SSOError, Trouble.EXPIRED),
    (botocore.TokenRetrievalError, Trouble.EXPIRED),
    (botocore.ConnectTimeoutError, Trouble.TIMEOUT),
    (botocore.ReadTimeoutError, Trouble.TIMEOUT),
    (botocore.HTTPClientError, Trouble.UNREACHABLE),
    (botocore.ConnectionError, Trouble.UNREACHABLE),
)
"""The first that fits counts: a timeout is an error of the connection too."""

_NEEDED: Final = re.compile(r"not authorized to perform: ([a-z0-9-]+:[A-Za-z]+)")


def call_failed(error: Exception, action: str) -> CallFailed:
    """Return the failure for an exception from botocore."""
    if isinstance(error, botocore.ClientError):
        code = str(error.response.get("Error", {}).get("Code", "Unknown"))
        detail = str(error.response.get("Error", {}).get("Message", ""))
        named = _NEEDED.search(detail)
        # an event stream has error names in lower case
        trouble = _TROUBLES.get(code[:1].upper() + code[1:], Trouble.REFUSED)
        return CallFailed(trouble, named[1] if named else action, code, detail)
    found = (trouble for kind, trouble in _KINDS if isinstance(error, kind))
    return CallFailed(next(found, Trouble.REFUSED), action, type(error).__name__, str(error))


def _sentence(trouble: Trouble, action: str, code: str, detail: str) -> str:
    if trouble is Trouble.DENIED:
        return f"missing permission {action}"
    if trouble is Trouble.TIMEOUT:
        return f"{action}: no answer in time"
    text = " ".join(detail.split())[:200]
    return f"{action}: {code}{f': {text}' if text else ''}"


class Aws:
    """Calls services with the credentials from the environment or the profile.

    Clients are created on first use, one per service; thread-safe.

    Args:
        region: overrides ``AWS_REGION``, ``AWS_DEFAULT_REGION`` and the profile's.
        profile: in the shared configuration files, ``None`` for the default chain.

    Attributes:
        region: ``""`` if nothing sets one.

    Raises:
        InvalidRequest: there is no such profile, or the region's name is invalid.
    """

    def __init__(self, region: str | None = None, profile: str | None = None) -> None:
        try:
            self._session: Any = boto3.Session(profile_name=profile)
            found = region or os.environ.get("AWS_REGION") or self._session.region_name or ""
            if found:
                validate_region_name(found)
        except ProfileNotFound as error:
            raise InvalidRequest(f"{error}: `aws configure list-profiles` lists them") from error
        except BotoCoreError as error:
            raise InvalidRequest(str(error)) from error
        self.region = found
        self._clients: dict[str, Any] = {}
        self._lock = threading.Lock()  # creating clients of one session is not thread-safe

    def required_region(self) -> str:
        """Return the region.

        Raises:
            InvalidRequest: none is set.
        """
        if not self.region:
            raise InvalidRequest("no region is set: set one with --region or AWS_REGION")
        return self.region

    def call(
        self,
        service: str,
        operation: str,
        *,
        read_seconds: int = READ_SECONDS,
        expect: str = "",
        **parameters: Any,  # noqa: ANN401 - whatever the operation takes
    ) -> dict[str, Any]:
        """Call an operation.

        Args:
            service: as in boto3.
            operation: as in boto3, e.g. ``list_agents``.
            read_seconds: how long the service may stay silent.
            expect: a member that the answer must have: otherwise a page of HTML, as a hotel's network returns for
                everything, would count as an empty answer.
            parameters: of the operation.

        Raises:
            CallFailed: it failed.
        """
        try:
            client = self.client(service, read_seconds)
        except (BotoCoreError, ClientError) as error:
            raise call_failed(error, f"{service}:{operation}") from error
        action = action_of(client, operation)
        try:
            answer: dict[str, Any] = getattr(client, operation)(**parameters)
        except (BotoCoreError, ClientError) as error:
            raise call_failed(error, action) from error
        except (ResponseParserError, KeyError) as error:  # KeyError for XML of another kind
            raise CallFailed(Trouble.REFUSED, action, "MalformedAnswer", str(error)) from error
        if expect and expect not in answer:
            raise CallFailed(Trouble.REFUSED, action, "MalformedAnswer", f"no {expect} in it")
        return answer

    def find(
        self,
        service: str,
        operation: str,
        absent: Collection[str],
        **parameters: Any,  # noqa: ANN401 - likewise
    ) -> dict[str, Any] | None:
        """Call an operation; return ``None`` if the service's code says that there is no such thing."""
        try:
            return self.call(service, operation, **parameters)
        except CallFailed as error:
            if error.code in absent:
                return None
            raise

    def client(self, service: str, read_seconds: int = READ_SECONDS) -> Any:  # noqa: ANN401 - boto3's clients are made at run time
        """Return the client of a service."""
        key = f"{service}/{read_seconds}"
        with self._lock:
            if key not in self._clients:
                self._clients[key] = self._session.client(
                    service,
                    region_name=self.region or _STS_REGION,
                    config=Config(
                        connect_timeout=CONNECT_SECONDS,
                        read_timeout=read_seconds,
                        retries={"mode": "standard", "total_max_attempts": 2},
                    ),
                )
            return self._clients[key]

    @property
    def knows_region(self) -> bool:
        """Whether the installed boto3 knows the region; it may not know a new one."""
        return any(
            self.region in self._session.get_available_regions("lambda", partition)
            for partition in self._session.get_available_partitions()
        )

    def credentials(self) -> Any:  # noqa: ANN401 - likewise
        """Return the credentials that sign requests; ``None`` if there are none."""
        try:
            return self._session.get_credentials()
        except (BotoCoreError, ClientError) as error:
            raise call_failed(error, "credentials") from error


def action_of(client: Any, operation: str) -> str:  # noqa: ANN401 - likewise
    """Return the IAM action of an operation; most have the same name."""
    service = client.meta.service_model.signing_name.replace("monitoring", "cloudwatch")
    action = f"{service}:{client.meta.method_to_api_mapping[operation]}"
    return _OTHER_NAMES.get(action, action)


def read_object(aws: Aws, bucket: str, key: str, most: int | None = None) -> bytes | None:
    """Read an object.

    Returns:
        ``None`` if there is no such object.

    Raises:
        CallFailed: it can't be read.
    """
    answer = aws.find("s3", "get_object", ("NoSuchKey",), Bucket=bucket, Key=key)
    if answer is None:
        return None
    try:
        data: bytes = answer["Body"].read(most)
    except BotoCoreError as error:
        raise call_failed(error, "s3:GetObject") from error
    return data


_Result = TypeVar("_Result")


def all_within(
    seconds: float, works: Mapping[str, Callable[[], _Result]]
) -> Iterator[tuple[str, Future[_Result] | None]]:
    """Start everything at once and yield each as it ends; ``None`` for those that haven't by then.

    A task that takes longer is left behind on a daemon thread: a library's timeout doesn't limit everything
    (name resolution, slow bodies, credentials from a helper program).
    """
    ended: queue.Queue[tuple[str, Future[_Result]]] = queue.Queue()

    def run(name: str, work: Callable[[], _Result]) -> None:
        result: Future[_Result] = Future()
        try:
            result.set_result(work())
        except Exception as error:  # noqa: BLE001 - raised again where the result is wanted
            result.set_exception(error)
        ended.put((name, result))

    for name, work in works.items():
        threading.Thread(target=run, args=(name, work), name=name, daemon=True).start()
    running = dict.fromkeys(works)
    until = time.monotonic() + seconds
    while running:
        try:
            name, result = ended.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            break
        del running[name]
        yield name, result
    for name in running:
        yield name, None
