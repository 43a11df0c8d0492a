"""Calls one AWS account and region with short timeouts."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound
from botocore.parsers import ResponseParserError
from botocore.utils import validate_region_name

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.deployment.errors import CallFailed, Trouble, call_failed

if TYPE_CHECKING:
    from collections.abc import Collection

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
        """Return the region."""
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
    model = client.meta.service_model
    action = f"{model.signing_name}:{client.meta.method_to_api_mapping[operation]}"
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
