"""Nothing that a site, an address or a list of what was fetched says leads where it should not."""

import json
import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

from knowledge_rag.local.web import fetching, saved
from knowledge_rag.local.web.pages import PageState
from tests.support.website import Page, website
from tests.unit.local.web.bringing import HTML, bring, reason


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "127.1"]
)
def test_machines_of_this_network_are_not_asked_unless_it_is_allowed(tmp_path, host):
    with website(a=Page(HTML)) as site:
        port = site.url.rpartition(":")[2]
        (outcome,) = bring(tmp_path, f"http://{host}:{port}/a", private=False)
        assert outcome.state is PageState.FAILED
        assert "robots.txt isn't available" in outcome.reason
        never = "is an address that is never fetched, whatever is allowed"
        private = "is a private address; --allow-private allows"
        assert (never if host.startswith("0.") else private) in outcome.reason
        assert f"{host} is {host}" not in outcome.reason
        assert site.asked == []


def test_a_redirect_to_where_clouds_keep_credentials_is_not_followed_whatever_is_allowed(tmp_path):
    way = Page(status=302, headers={"Location": "http://169.254.169.254/latest/meta-data"})
    with website(a=way) as site:
        told = reason(tmp_path, site, "a")
    assert "169.254.169.254 is an address that is never fetched, whatever is allowed" in told
    assert "--allow-private" not in told


@pytest.fixture
def certified(tmp_path, monkeypatch):
    """Give a server's TLS for a name, by an authority that is trusted."""

    def make(name):
        key = ec.generate_private_key(ec.SECP256R1())
        named = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder(named, named, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, SHA256())
        )
        pem = tmp_path / "server.pem"
        public = certificate.public_bytes(serialization.Encoding.PEM)
        pem.write_bytes(
            public
            + key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        (tmp_path / "trusted.pem").write_bytes(public)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "trusted.pem"))
        fetching._trusted.cache_clear()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        return context

    yield make
    fetching._trusted.cache_clear()


def test_https_is_held_to_the_name_and_not_to_the_address_that_was_connected_to(
    tmp_path, certified
):
    with website(tls=certified("localhost"), a=Page(HTML)) as site:
        (outcome,) = bring(tmp_path / "corpus", f"{site.url}/a")
    assert outcome.state is PageState.SAVED
    with website(tls=certified("other.example"), a=Page(HTML)) as site:
        (outcome,) = bring(tmp_path / "other", f"{site.url}/a")
    assert outcome.state is PageState.FAILED
    assert "certificate" in outcome.reason


def remembered(**changes):
    return {
        "file": "web/a.example/x.html",
        "sha256": "0" * 64,
        "fetched_at": "2026-11-21",
    } | changes


@pytest.mark.parametrize(
    "entry",
    [
        remembered(file="../victim.md"), remembered(file="/etc/hosts"), remembered(file="guide.md"),
        remembered(file=3), remembered(file=None), remembered(etag=["x"]), remembered(sha256=None),
        remembered(more=1), {}, [], "x", None, 7, {"file": "../victim.md"},
    ],
)  # fmt: skip
def test_what_is_remembered_leads_to_no_other_file_than_that_of_its_address(tmp_path, entry):
    corpus = tmp_path / "corpus"
    (corpus / "web").mkdir(parents=True)
    victims = [tmp_path / "victim.md", corpus / "guide.md"]
    for victim in victims:
        victim.write_text("mine")
    told = []
    with website(a=Page(HTML)) as site:
        address = f"{site.url}/a"
        (corpus / "web/.fetched.json").write_text(json.dumps({address: entry, "no address": entry}))
        (outcome,) = bring(corpus, address, told=told)
    assert outcome.state is PageState.SAVED
    assert [victim.read_text() for victim in victims] == ["mine"] * 2
    assert told == ["web/.fetched.json: 2 of 2 entries ignored: not pages that were fetched"]
    assert list(json.loads((corpus / "web/.fetched.json").read_bytes())) == [address]


@pytest.mark.parametrize("data", ["{broken", "[]", "3", "[" * 100_000])
def test_what_can_not_be_remembered_is_told(tmp_path, data):
    (tmp_path / "web").mkdir()
    (tmp_path / "web/.fetched.json").write_text(data)
    told = []
    bring(tmp_path, "nonsense", told=told)
    assert told == ["web/.fetched.json can't be read; every page is fetched again"]


def test_a_version_that_can_not_be_sent_back_is_not_remembered(tmp_path):
    with website(a=Page(HTML, headers={"ETag": '"caf\u00e9"'})) as site:
        bring(tmp_path, f"{site.url}/a")
        assert bring(tmp_path, f"{site.url}/a")[0].state is PageState.UNCHANGED


def test_a_page_is_not_saved_over_that_of_another_address(tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "file_of", lambda *_: "web/a.example/same.html")
    with website(a=Page(HTML), b=Page(HTML + b" Other.")) as site:
        first, second = bring(tmp_path, f"{site.url}/a", f"{site.url}/b")
        assert second.reason == f"its file web/a.example/same.html belongs to {site.url}/a"
    assert (first.state, second.state) == (PageState.SAVED, PageState.FAILED)
    assert (tmp_path / "web/a.example/same.html").read_bytes() == HTML


@pytest.mark.parametrize("link", ["web", "web/{host}"])
def test_no_page_is_saved_behind_a_symbolic_link(tmp_path, link):
    outside, corpus = tmp_path / "outside", tmp_path / "corpus"
    outside.mkdir()
    with website(a=Page(HTML)) as site:
        at = link.format(host=site.url.removeprefix("http://").replace(":", "_"))
        (corpus / at).parent.mkdir(parents=True, exist_ok=True)
        (corpus / at).symlink_to(outside, target_is_directory=True)
        (outcome,) = bring(corpus, f"{site.url}/a")
    assert outcome.reason == f"{at} is a symbolic link, so no page is saved there"
    assert list(outside.iterdir()) == []
