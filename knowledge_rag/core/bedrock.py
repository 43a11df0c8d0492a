"""The Bedrock runtime client: botocore's own, with the exchange and the response made safe.

botocore resolves the endpoint (``AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME`` included), signs, and
turns errors into ``ClientError``. Three of its public events are used: ``before-call`` to renew
credentials and ``before-send`` for a transport, both of which keep the deadline, and ``before-parse``
because botocore takes a truncated, empty or foreign 200 for a success without results.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError
from botocore.httpsession import get_cert_path

from knowledge_rag.core.connect import Connector, proxy_from_environment, tls_context
from knowledge_rag.core.credentials import TimelyCredentials
from knowledge_rag.core.deadline import DEFAULT_DEADLINE_SECONDS, current_deadline
from knowledge_rag.core.dns import Resolver
from knowledge_rag.core.errors import DeadlineExceeded, InvalidSettings, RetrievalFailed
from knowledge_rag.core.failures import MAX_CODE_CHARACTERS
from knowledge_rag.core.outcome import Reason
from knowledge_rag.core.transport import Transport

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from knowledge_rag.core.connect import Endpoint

SERVICE_NAME: Final = "bedrock-agent-runtime"

PARSE_SECONDS_PER_BYTE: Final = 0.2e-6
PARSE_SECONDS_PER_BRACKET: Final = 3e-6
"""Time set aside for parsing and proving: at least three times what two shared cores took at worst.

Lists and objects cost most (up to 1 us each, garbage collection included), all else little: 0.06 s
are set aside for a hundred results of usual size."""

MAX_ERROR_BODY_BYTES: Final = 65_536
"""An error's body is a code and a sentence; of a longer one the status alone counts."""

_ERROR_KEYS: Final = ("__type", "code", "Code", "message", "Message")
"""What botocore reads of an error's body, each taken for text."""

_RESPONSE_KEYS: Final = ("retrievalResults", "guardrailAction", "nextToken")

_CONFIG: Final = Config(
    # The transport alone retries, and only what cost no time; see its `send`.
    retries={"total_max_attempts": 1, "mode": "standard"},
    # Never reached while `before-send` answers; they bound the call should that event ever go.
    connect_timeout=DEFAULT_DEADLINE_SECONDS,
    read_timeout=DEFAULT_DEADLINE_SECONDS,
    # A fixed string: botocore otherwise rebuilds its own twice a request (a tenth of the call).
    user_agent=f"knowledge-rag botocore/{botocore.__version__}",
)


@dataclass(frozen=True, slots=True)
class BedrockClient:
    """A botocore client and what to close when it is no longer needed.

    Args:
        api: the ``bedrock-agent-runtime`` client.
        transport: does its HTTP.
        region: that it calls.
    """

    api: Any
    transport: Transport
    region: str

    def prepare(self) -> None:
        """Do what takes time and no network: load the certificate bundle.

        Raises:
            InvalidSettings: the bundle or the proxy setting is wrong.
        """
        self.transport.prepare(self.api.meta.endpoint_url)

    def close(self) -> None:
        """Close every connection."""
        self.transport.close()
        self.api.close()


def create_client(region: str) -> BedrockClient:
    """Make the client; nothing is sent.

    Args:
        region: an AWS region's name.

    Raises:
        InvalidSettings: the AWS settings around us (endpoint URL, profile, config file) are wrong.
    """
    session = botocore.session.get_session()
    try:
        api = session.create_client(SERVICE_NAME, region_name=region, config=_CONFIG)
        credentials = TimelyCredentials(session.get_credentials())
        bundle = session.get_config_variable("ca_bundle") or os.environ.get("REQUESTS_CA_BUNDLE")
    except (BotoCoreError, OSError, ValueError) as error:  # OSError: a token's file is not there
        raise InvalidSettings(f"AWS client: {error}") from error
    transport = Transport(_connectors(bundle))
    # The stubs know no event whose handlers answer something.
    events = cast("Any", api.meta.events)
    events.register(f"before-call.{SERVICE_NAME}.Retrieve", credentials.renew)
    events.register(f"before-send.{SERVICE_NAME}.Retrieve", transport.send)
    events.register(f"before-parse.{SERVICE_NAME}.Retrieve", check_response)
    return BedrockClient(api, transport, region)


def _connectors(ca_bundle: str | None) -> Callable[[Endpoint], Connector]:
    resolver = Resolver()

    @lru_cache(maxsize=1)
    def tls() -> ssl.SSLContext:
        return tls_context(ca_bundle or str(get_cert_path(verify=True)))

    def connector(endpoint: Endpoint) -> Connector:
        context = tls() if endpoint.scheme == "https" else None
        return Connector(endpoint, resolver, context, proxy_from_environment(endpoint))

    return connector


def check_response(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: object
) -> None:
    """Read the body of a Retrieve response; a ``before-parse`` handler.

    A 200 is read here and not by botocore, so that one garbled item costs that item only. The body
    of an error is kept only if botocore can read it; without one, the status becomes the code.

    Raises:
        RetrievalFailed: ``malformed_response``, when a 200 holds no list of results.
        DeadlineExceeded: too little time is left to parse it.
    """
    data = response_dict["body"]
    if response_dict["status_code"] >= 300:
        if len(data) > MAX_ERROR_BODY_BYTES or not _is_error_body(_json_object(data)):
            response_dict["body"] = b"{}"
        return
    if current_deadline().remaining() < _parse_seconds(data):
        raise DeadlineExceeded("the response came too late to be parsed in time")
    body = _json_object(data)
    if body is None or not isinstance(body.get("retrievalResults"), list):
        request_id = response_dict["headers"].get("x-amzn-requestid", "")[:MAX_CODE_CHARACTERS]
        code = "NotJson" if body is None else "NoRetrievalResults"
        raise RetrievalFailed(Reason.MALFORMED_RESPONSE, code=code, request_id=request_id)
    customized_response_dict.update({key: body[key] for key in _RESPONSE_KEYS if key in body})
    response_dict["body"] = b"{}"


def _parse_seconds(data: bytes) -> float:
    brackets = data.count(b"[") + data.count(b"{")
    return len(data) * PARSE_SECONDS_PER_BYTE + brackets * PARSE_SECONDS_PER_BRACKET


def _is_error_body(body: dict[str, Any] | None) -> bool:
    return body is not None and all(isinstance(body.get(key, ""), str) for key in _ERROR_KEYS)


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
