import contextlib
import socket
import ssl
import time
from urllib.parse import urlsplit

import pytest

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.net.connect import (
    Connector,
    Endpoint,
    Proxy,
    proxy_from_environment,
    tls_context,
)
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.net.dns import Resolver
from knowledge_rag.evaluation.faults.server import (
    refused_port,
    self_signed,
    serving,
    silent,
    unanswered_port,
)
from tests.support.patience import longer


@pytest.fixture
def no_proxies(monkeypatch):
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://kb.example", "kb.example"),
        ("https://kb.example:443/path", "kb.example"),
        ("http://kb.example:8080", "kb.example:8080"),
        ("http://[::1]:8080", "[::1]:8080"),
        ("https://[::1]", "[::1]"),
    ],
)
def test_the_host_header_is_what_botocore_signs(url, authority):
    assert Endpoint.of(urlsplit(url)).authority == authority


def test_a_proxy_comes_from_the_environment(no_proxies):
    endpoint = Endpoint("https", "kb.example", 443)
    assert proxy_from_environment(endpoint) is None
    no_proxies.setenv("HTTPS_PROXY", "http://us%40er:p%3Aw@proxy.example:3128")
    assert proxy_from_environment(endpoint) == Proxy("proxy.example", 3128, "Basic dXNAZXI6cDp3")
    no_proxies.setenv("NO_PROXY", "example.org,.example")
    assert proxy_from_environment(endpoint) is None


def test_a_proxy_without_a_scheme_or_port_is_understood(no_proxies):
    no_proxies.setenv("HTTPS_PROXY", "proxy.example")
    assert proxy_from_environment(Endpoint("https", "kb.example", 443)) == Proxy(
        "proxy.example", 80
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_loopback_is_never_proxied(no_proxies, host):
    no_proxies.setenv("HTTP_PROXY", "http://proxy.example:3128")
    assert proxy_from_environment(Endpoint("http", host, 80)) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://proxy.example", "socks5://proxy.example", "http://", "http://[::1",
        "http://proxy.example:99999", "http://proxy.example:port",
    ],
)  # fmt: skip
def test_other_proxies_are_refused(no_proxies, url):
    no_proxies.setenv("HTTPS_PROXY", url)
    with pytest.raises(InvalidSettings, match="HTTPS_PROXY"):
        proxy_from_environment(Endpoint("https", "kb.example", 443))


@pytest.mark.parametrize("url", ["http://kb.example:99999", "https://kb.example:port", "ftp://kb"])
def test_an_endpoint_that_can_t_be_called_is_a_wrong_setting(url):
    with pytest.raises(InvalidSettings, match="endpoint URL"):
        Endpoint.of(urlsplit(url))


def test_a_bundle_may_be_a_file_or_a_folder(tmp_path):
    bundle = self_signed(tmp_path).bundle
    assert tls_context(bundle).verify_mode is ssl.CERT_REQUIRED
    assert tls_context(bundle).check_hostname
    tls_context(str(tmp_path))


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_bundle_that_is_none_is_a_wrong_setting(tmp_path, text):
    path = tmp_path / "bundle.pem"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidSettings, match="certificate bundle"):
        tls_context(str(path))


def test_an_address_that_does_not_answer_leaves_time_for_the_next():
    with serving(silent) as server, unanswered_port() as dead:
        addresses = tuple(
            (socket.AF_INET, socket.SOCK_STREAM, 6, ("127.0.0.1", port))
            for port in (dead, server.port)
        )
        connector = Connector(
            Endpoint("http", "kb.example", 80), Resolver(lambda _host, _port: addresses)
        )
        for seconds in longer(0.4):
            started = time.monotonic()
            with contextlib.suppress(TimeoutError):  # a busy machine leaves none
                connector.open(Deadline.after(seconds)).shut()
                break
        else:
            pytest.fail("no time was left for the second")
        assert time.monotonic() - started > 0.4 * seconds


def test_when_no_address_answers_the_name_is_resolved_anew():
    asked = []

    def lookup(host, _port):
        asked.append(host)
        return ((socket.AF_INET, socket.SOCK_STREAM, 6, ("127.0.0.1", port)),)

    connector = Connector(Endpoint("http", "kb.example", 80), Resolver(lookup))
    with refused_port() as port:
        for _ in range(2):
            with pytest.raises(ConnectionRefusedError):
                connector.open(Deadline.after(60))
    assert asked == ["kb.example"] * 2


class TestTunnel:
    """CONNECT through a real socket that plays the proxy."""

    @contextlib.contextmanager
    def proxied(self, tmp_path, answer, authorization=""):
        certificate = self_signed(tmp_path)

        def proxy(sock, server):
            server.read_request(sock)
            sock.sendall(answer)
            if b" 200 " in answer:
                with certificate.tls.wrap_socket(sock, server_side=True) as secured:
                    secured.recv(1)

        with serving(proxy) as server:
            connector = Connector(
                Endpoint("https", "localhost", 443),
                Resolver(),
                tls_context(certificate.bundle),
                Proxy("127.0.0.1", server.port, authorization),
            )
            yield connector, server

    def test_tls_goes_through_it_to_the_end(self, tmp_path):
        answer = b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n"
        with self.proxied(tmp_path, answer, "Basic eHl6") as (connector, server):
            connector.open(Deadline.after(60)).shut()
        head = server.requests[0][0]
        assert head.startswith(b"CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443")
        assert b"Proxy-Authorization: Basic eHl6" in head

    def test_what_the_proxy_says_before_its_answer_is_passed_over(self, tmp_path):
        answer = b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 Go\r\n\r\n"
        with self.proxied(tmp_path, answer) as (connector, _):
            connector.open(Deadline.after(60)).shut()

    @pytest.mark.parametrize(
        "answer",
        [b"HTTP/1.1 407 Who are you\r\n\r\n", b"", b"HTTP/1.1 200", b"x" * 20_000, b"\r\n\r\n"],
        ids=["refused", "closed", "cut short", "no end", "no status"],
    )
    def test_anything_else_is_no_connection(self, tmp_path, answer):
        with self.proxied(tmp_path, answer) as (connector, _), pytest.raises(OSError):  # noqa: PT011
            connector.open(Deadline.after(60))
