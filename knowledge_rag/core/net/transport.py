"""HTTP for one botocore client, with one absolute deadline per call.

botocore signs the request and reads the response; in between, its public ``before-send`` event
lets this module do the exchange. ``docs/decisions/0002-deadline-at-the-socket.md`` explains why.
"""

from __future__ import annotations

import http.client
import io
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from botocore.awsrequest import AWSResponse

from knowledge_rag.core.net.connect import Endpoint
from knowledge_rag.core.net.deadline import MAX_RESPONSE_BYTES, ResponseTooLarge, current_deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from botocore.awsrequest import AWSPreparedRequest

    from knowledge_rag.core.net.connect import Connector
    from knowledge_rag.core.net.deadline import Deadline, DeadlineSocket

MAX_IDLE_SECONDS: Final = 20.0
"""A connection unused for longer may be silently dead (a NAT forgets after minutes)."""

_PIECE_BYTES: Final = 65_536
_REDIRECTION: Final = http.client.MULTIPLE_CHOICES

MAX_IDLE_CONNECTIONS: Final = 4
"""Connections kept for reuse; a Lambda needs one, threads of an orchestrator use more."""


class Transport:
    """Exchanges requests for responses; its :meth:`send` is a ``before-send`` handler.

    A connection serves one exchange at a time and is kept only after a success that was read to its
    unambiguous end, so nothing of one call can reach the next.

    Args:
        connect: returns the connector for an endpoint.
        clock: seconds of the day, for the age of kept connections: unlike the monotonic clock it
        is sure to count the time for which a function was frozen, since signing needs it right.
        live: whether a successful response of unknown length is passed on as it arrives, under the
        same deadline. Its reader has to read it to its end or close it.
    """

    def __init__(
        self,
        connect: Callable[[Endpoint], Connector],
        clock: Callable[[], float] = time.time,
        *,
        live: bool = False,
    ) -> None:
        self._connect = connect
        self._clock = clock
        self._live = live
        self._connectors: dict[Endpoint, Connector] = {}
        self._idle: list[_Connection] = []

    def send(self, request: AWSPreparedRequest, **_: object) -> AWSResponse:
        """Send ``request`` and read its response, all before the current deadline.

        The only retry: a kept connection that died before any byte of the response, which is how
        a peer's closing of an idle connection appears.

        Raises:
            TimeoutError: the deadline came first.
            OSError: the peer can't be reached or broke the connection.
            http.client.HTTPException: the peer sent no complete HTTP response.
        """
        url = urlsplit(str(request.url))
        endpoint, deadline = Endpoint.of(url), current_deadline()
        kept = self._take(endpoint)
        if kept is not None:
            try:
                return self._exchange(kept, request, deadline)
            except TimeoutError:
                raise
            except OSError:
                if kept.sock.received:
                    raise
        connector = self._connector(endpoint)
        opened = _Connection(connector, connector.open(deadline))
        return self._exchange(opened, request, deadline)

    def prepare(self, url: str) -> None:
        """Prepare for requests to ``url``, without a connection."""
        self._connector(Endpoint.of(urlsplit(url)))

    def close(self) -> None:
        """Close the kept connections."""
        with suppress(IndexError):  # another thread took the last one
            while True:
                self._idle.pop().sock.shut()

    def _connector(self, endpoint: Endpoint) -> Connector:
        connector = self._connectors.get(endpoint)
        if connector is None:
            connector = self._connectors[endpoint] = self._connect(endpoint)
        return connector

    def _exchange(
        self, connection: _Connection, request: AWSPreparedRequest, deadline: Deadline
    ) -> AWSResponse:
        reusable = arriving = False
        body: LiveBody | _Body
        try:
            response = connection.ask(request, deadline)
            arriving = self._live and response.chunked and response.status < _REDIRECTION
            if arriving:
                body = LiveBody(
                    response, lambda reusable: self._give_back(connection, reusable=reusable)
                )
            else:
                with response:
                    body = _Body(_read(response))
                    reusable = _leaves_nothing(response)
        finally:
            if not arriving:
                self._give_back(connection, reusable=reusable)
        url, headers = str(request.url), _headers(response)
        return AWSResponse(url, response.status, headers, body)  # type: ignore[arg-type] # the stubs ask for more than botocore does

    def _give_back(self, connection: _Connection, *, reusable: bool) -> None:
        if reusable and len(self._idle) < MAX_IDLE_CONNECTIONS:
            connection.idle_since = self._clock()
            self._idle.append(connection)
        else:
            connection.sock.shut()

    def _take(self, endpoint: Endpoint) -> _Connection | None:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread took the last one
                return None
            if self._can_serve(connection, endpoint):
                return connection
            connection.sock.shut()
        return None

    def _can_serve(self, connection: _Connection, endpoint: Endpoint) -> bool:
        young = 0 <= self._clock() - connection.idle_since <= MAX_IDLE_SECONDS
        # A forked process shares its parent's connections: either could read the other's response.
        own = connection.process == os.getpid()
        return young and own and connection.endpoint == endpoint and not connection.sock.is_stale()


class _Connection:
    """One connection, with HTTP on it."""

    def __init__(self, connector: Connector, sock: DeadlineSocket) -> None:
        self.endpoint = connector.endpoint
        self.process = os.getpid()
        self.sock = sock
        self.idle_since = 0.0
        self._forwarded = connector.proxy is not None and connector.tls is None
        self._proxy_authorization = connector.proxy.authorization if connector.proxy else ""
        self._http = _Http(self.endpoint.host, self.endpoint.port)
        self._http.sock = sock

    def ask(self, request: AWSPreparedRequest, deadline: Deadline) -> http.client.HTTPResponse:
        """Send a request; return the response with its head read."""
        self.sock.begin(deadline)
        url = str(request.url)
        headers = dict(request.headers.items())
        headers["Host"] = self.endpoint.authority
        if self._forwarded and self._proxy_authorization:
            headers["Proxy-Authorization"] = self._proxy_authorization
        target = url if self._forwarded else _target(url)
        self._http.request(request.method, target, _bytes(request.body), headers)
        self.sock.sendall(self._http.written())
        return self._http.getresponse()


class _Response(http.client.HTTPResponse):
    """The final response to a request: ``http.client`` itself would return a 102 or 103.

    The final response would then be read as the response to the next request on the connection.
    """

    def begin(self) -> None:
        """Read status and headers, skipping interim responses (RFC 9110, section 15.2).

        Raises:
            http.client.BadStatusLine: the peer switches to another protocol, unasked.
        """
        super().begin()
        while self.status < http.client.OK:
            if self.status == http.client.SWITCHING_PROTOCOLS:
                raise http.client.BadStatusLine(f"{self.status} {self.reason}")
            self.headers = self.msg = None  # type: ignore[assignment] # as before the first one
            super().begin()


class _Http(http.client.HTTPConnection):
    """Only the protocol: the socket is opened and closed elsewhere.

    ``http.client`` sends head and body one by one, which wakes the peer twice; here they are
    collected and sent as one.
    """

    auto_open = 0
    response_class = _Response

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self._unsent: list[bytes] = []

    def send(self, data: Any) -> None:  # noqa: ANN401 - as it is declared there; here it is bytes
        self._unsent.append(data)

    def written(self) -> bytes:
        """Return the bytes of a request and forget them."""
        data = b"".join(self._unsent)
        self._unsent.clear()
        return data


class _Body(io.BytesIO):
    """A response's body as botocore reads it, or passes it on if it is itself the result."""

    def stream(self) -> Iterator[bytes]:
        yield self.getvalue()


class LiveBody:
    """A body that is read while it arrives; the connection is returned after its end.

    Args:
        response: a chunked one with its head read.
        give_back: receives whether the connection can be used again; called once.
    """

    def __init__(
        self, response: http.client.HTTPResponse, give_back: Callable[[bool], None]
    ) -> None:
        self._response = response
        self._give_back: Callable[[bool], None] | None = give_back

    def stream(self) -> Iterator[bytes]:
        """Yield the body piece by piece as it arrives.

        Raises:
            TimeoutError: the deadline came first.
            OSError: the peer broke the connection.
            http.client.HTTPException: the body is cut short, or exceeds the maximum.
        """
        try:
            while piece := self._piece():
                yield piece
            self._end(reusable=_leaves_nothing(self._response))
        finally:
            self.close()

    def read(self) -> bytes:
        """Return the rest of the body; raises the same as :meth:`stream`."""
        return b"".join(self.stream())

    def close(self) -> None:
        """Stop reading; the rest of the body is lost, and so is the connection."""
        self._end(reusable=False)

    def _piece(self) -> bytes:
        try:
            piece = self._response.read1(_PIECE_BYTES)
        except (ValueError, OverflowError, AttributeError) as error:  # a bad chunk size; closed
            raise http.client.IncompleteRead(b"") from error
        if (getattr(self._response, "chunk_left", None) or 0) < 0:  # a chunk of size -5
            raise http.client.IncompleteRead(b"")
        return piece

    def _end(self, *, reusable: bool) -> None:
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            self._response.close()
            give_back(reusable)


def _target(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"


def _bytes(body: object) -> bytes:
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, bytes | bytearray):
        return bytes(body)
    raise TypeError(f"a request body of {type(body).__name__} can't be sent again")


def _headers(response: http.client.HTTPResponse) -> dict[str, str]:
    return dict(response.getheaders())


def _leaves_nothing(response: http.client.HTTPResponse) -> bool:
    """Whether the next bytes on the connection can only be the response to another request."""
    framing = [*response.headers.get_all("Content-Length", ())]
    framing += response.headers.get_all("Transfer-Encoding", ())
    is_success = http.client.OK <= response.status < _REDIRECTION
    return is_success and len(framing) == 1 and not response.will_close


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return _complete(response)
    except (http.client.HTTPException, ValueError, OverflowError) as error:
        # a chunk of size -5 is a ValueError, one of -2**64 an OverflowError
        if response.status >= _REDIRECTION:
            response.will_close = True
            return b""  # an error's status suffices
        if isinstance(error, http.client.IncompleteRead | ResponseTooLarge):
            raise
        raise http.client.IncompleteRead(b"") from error


def _complete(response: http.client.HTTPResponse) -> bytes:
    if response.length is None:
        # Never read to the end without a number: http.client would first allocate a whole chunk, of
        # whatever size the peer announced. The socket's count comes before this number.
        return response.read(MAX_RESPONSE_BYTES + 1)
    if response.length > MAX_RESPONSE_BYTES:
        raise ResponseTooLarge(f"{response.length} bytes announced")
    return response.read()  # unlike read(n), it raises when the body is cut short
