"""Clients of AWS services that enforce one absolute deadline per call.

botocore resolves the endpoint (``AWS_ENDPOINT_URL_...`` included), signs, and turns errors into
``ClientError``. Three of its public events are used: ``before-call`` to renew credentials and
``before-send`` for a transport, which both enforce the deadline, and ``before-parse`` because
botocore can't read every body that a peer may send.
"""

from __future__ import annotations

import os
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import botocore.session
from botocore.config import Config
from botocore.credentials import Credentials, RefreshableCredentials
from botocore.exceptions import BotoCoreError
from botocore.httpsession import get_cert_path

from knowledge_rag.core.background import Background
from knowledge_rag.core.errors import DeadlineExceeded, InvalidSettings, RetrievalFailed
from knowledge_rag.core.net.connect import Connector, proxy_from_environment, tls_context
from knowledge_rag.core.net.deadline import DEFAULT_DEADLINE_SECONDS, current_deadline
from knowledge_rag.core.net.dns import Resolver
from knowledge_rag.core.net.transport import Transport
from knowledge_rag.core.outcome import Reason

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from botocore.credentials import ReadOnlyCredentials

    from knowledge_rag.core.net.connect import Endpoint


MUST_RENEW_SECONDS: Final = 10 * 60
"""With less time left than this, botocore won't sign with them; with more, it renews if it can."""

EARLY_WAIT_SECONDS: Final = 0.25
"""How long to wait for a renewal while the current credentials are still valid."""

EXPIRED_CODE: Final = "ExpiredCredentials"


class TimelyCredentials:
    """Renews a client's credentials in time; :meth:`renew` is a ``before-call`` handler.

    botocore renews temporary credentials while it signs a request: from a process, a container's
    endpoint (Lambda with SnapStart has one) or STS, each with timeouts and retries of its own. Here
    that happens on a daemon thread before the request is signed, and the call stops waiting at its
    deadline. The request is signed with the result: otherwise botocore would check again while signing
    and renew a second time credentials that were renewed for under 15 minutes, or not at all. Credentials from
    the environment, which Lambda provides otherwise, are never renewed.

    Args:
        credentials: the client's, for signing; ``None`` if it has none.
    """

    def __init__(self, credentials: Credentials | None) -> None:
        self._credentials = credentials
        self._lock = threading.Lock()
        self._renewal: Background[ReadOnlyCredentials] | None = None

    def renew(self, context: dict[str, Any], **_: object) -> None:
        """Make sure that signing finds credentials that it need not renew.

        Args:
            context: the request's, in which its signer looks for credentials of its own.

        Raises:
            DeadlineExceeded: they could not be renewed before the current deadline.
            RetrievalFailed: they were renewed, and the new ones have expired too.
            BotoCoreError: they could not be renewed, and the old ones have expired.
        """
        credentials = self._credentials
        if not isinstance(credentials, RefreshableCredentials) or not credentials.refresh_needed():
            return
        found = self._renewed(credentials)
        if found is not None:
            fixed = Credentials(found.access_key, found.secret_key, found.token)  # type: ignore[arg-type] # the stubs allow None
            context.setdefault("signing", {})["request_credentials"] = fixed

    def _renewed(self, credentials: RefreshableCredentials) -> ReadOnlyCredentials | None:
        must = credentials.refresh_needed(MUST_RENEW_SECONDS)
        renewal, left = self._under_way(credentials), current_deadline().remaining()
        over = renewal.over.wait(left if must else min(left, EARLY_WAIT_SECONDS))
        if not over and not must:
            return None  # botocore signs with the old ones while another thread renews them
        if not over:
            raise DeadlineExceeded("renewing the credentials took too long")
        if isinstance(renewal.error, RuntimeError):  # botocore's error for that
            raise RetrievalFailed(Reason.ACCESS_DENIED, code=EXPIRED_CODE, permanent=True)
        if renewal.error is not None:
            raise renewal.error
        return renewal.result

    def _under_way(self, credentials: RefreshableCredentials) -> Background[ReadOnlyCredentials]:
        with self._lock:
            if self._renewal is None or self._renewal.over.is_set():
                self._renewal = Background("credentials", credentials.get_frozen_credentials)
            return self._renewal


_CONFIG: Final = Config(
    # Only the transport retries, and only failures that cost no time; see its `send`.
    retries={"total_max_attempts": 1, "mode": "standard"},
    # Never reached while `before-send` answers; they bound the call if that event ever disappears.
    connect_timeout=DEFAULT_DEADLINE_SECONDS,
    read_timeout=DEFAULT_DEADLINE_SECONDS,
    # A fixed string: otherwise botocore rebuilds its own twice a request (a tenth of the call).
    user_agent=f"knowledge-rag botocore/{botocore.__version__}",
)


class AwsClient(NamedTuple):
    """A botocore client and what to close when it is no longer needed.

    Args:
        api: the client; one of its operations enforces deadlines.
        transport: does that operation's HTTP.
        region: AWS region of the service.
    """

    api: Any
    transport: Transport
    region: str

    def prepare(self) -> None:
        """Do slow work that needs no network: load the certificate bundle.

        Raises:
            InvalidSettings: the bundle or the proxy setting is wrong.
        """
        self.transport.prepare(self.api.meta.endpoint_url)

    def close(self) -> None:
        """Close every connection."""
        self.transport.close()
        self.api.close()


def create_client(
    service: str,
    operation: str,
    region: str,
    check_response: Callable[..., None],
    *,
    live: bool = False,
) -> AwsClient:
    """Create the client of a service for one operation; nothing is sent.

    Args:
        service: as botocore names it, e.g. ``lambda``.
        operation: as the service names it, e.g. ``Invoke``.
        region: an AWS region's name.
        check_response: a ``before-parse`` handler.
        live: whether an event stream is passed on as it arrives.

    Raises:
        InvalidSettings: the AWS settings in the environment (endpoint URL, profile, config file) are wrong.
    """
    session = botocore.session.get_session()
    try:
        api = session.create_client(service, region_name=region, config=_CONFIG)
        credentials = TimelyCredentials(session.get_credentials())
        transport = create_transport(session, live=live)
    except (BotoCoreError, OSError, ValueError) as error:  # OSError: a token's file is missing
        raise InvalidSettings(f"AWS client: {error}") from error

    def checked(**response: Any) -> None:  # noqa: ANN401 - whatever botocore hands over
        try:
            check_response(**response)
        except Exception:
            transport.close()  # nothing more is read from a peer that sent something unreadable
            raise

    # The stubs know no event whose handlers return a response.
    events = cast("Any", api.meta.events)
    service_id = api.meta.service_model.service_id.hyphenize()
    events.register(f"before-call.{service_id}.{operation}", credentials.renew)
    events.register(f"before-send.{service_id}.{operation}", transport.send)
    events.register(f"before-parse.{service_id}.{operation}", checked)
    return AwsClient(api, transport, region)


def create_transport(session: botocore.session.Session, *, live: bool = False) -> Transport:
    """Create a transport with the certificate bundle and the proxies from the environment."""
    bundle = session.get_config_variable("ca_bundle") or os.environ.get("REQUESTS_CA_BUNDLE")
    return Transport(_connectors(bundle), live=live)


def _connectors(ca_bundle: str | None) -> Callable[[Endpoint], Connector]:
    resolver = Resolver()

    @lru_cache(maxsize=1)
    def tls() -> ssl.SSLContext:
        return tls_context(ca_bundle or str(get_cert_path(verify=True)))

    def connector(endpoint: Endpoint) -> Connector:
        context = tls() if endpoint.scheme == "https" else None
        return Connector(endpoint, resolver, context, proxy_from_environment(endpoint))

    return connector
