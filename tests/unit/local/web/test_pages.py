"""Pages of a web site become files of a corpus: politely, within bounds, and only if they changed."""

import gzip
import itertools
import json
import ssl
import threading
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.extract.documents import extract
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.web import fetching, layout, saved
from knowledge_rag.local.web.fetching import FetchLimits
from knowledge_rag.local.web.pages import (
    PageState,
    Surroundings,
    WebSettings,
    fetch_pages,
    read_addresses,
)
from tests.support.pdfs import text_pdf
from tests.support.website import Page, website

HTML = b"<title>RDS</title><h1>Failover</h1><p>Promote the replica."
MOMENT = datetime(2026, 11, 21, 10, tzinfo=UTC)


class Waiting:
    """Time that goes by only while somebody sleeps."""

    def __init__(self):
        self.now, self.slept = 0.0, []

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def surroundings(self, warn):
        return Surroundings(lambda: self.now, self.sleep, lambda: MOMENT, warn)


def bring(root, *addresses, waiting=None, told=None, **limits):
    settings = WebSettings(FetchLimits(**{"private": True, "seconds": 20.0, **limits}))
    around = (waiting or Waiting()).surroundings((told if told is not None else []).append)
    return fetch_pages(root, addresses, settings, surroundings=around)


def reason(root, site, path, **limits):
    (outcome,) = bring(root, f"{site.url}/{path}", **limits)
    assert outcome.state is PageState.FAILED
    assert not list(root.rglob("*.html"))
    return outcome.reason


def test_a_page_is_saved_with_its_address_beside_it_and_ingested(tmp_path, kb_path, hashes):
    with website(rds=Page(HTML)) as site:
        (outcome,) = bring(tmp_path, f" {site.url}/rds#part".strip())
        address = f"{site.url}/rds"
    assert outcome.state is PageState.SAVED
    assert outcome.file.startswith(f"web/{address.split('/')[2].replace(':', '_')}/rds-")
    assert (tmp_path / outcome.file).read_bytes() == HTML
    assert json.loads((tmp_path / f"{outcome.file}.metadata.json").read_bytes()) == {
        "metadataAttributes": {"source_url": address, "fetched_at": "2026-11-21T10:00:00+00:00"}
    }
    assert ingest(tmp_path, kb_path, embedder=hashes).added == (outcome.file,)
    assert [headers["user-agent"] for _, headers in site.asked] == ["knowledge-rag"] * 2
    assert site.paths() == ["/robots.txt", "/rds"]


def test_an_unchanged_page_is_used_again_and_a_changed_one_is_saved_anew(tmp_path, kb_path, hashes):
    with website(
        tagged=Page(HTML, headers={"ETag": '"1"'}),
        plain=Page(HTML),
        dated=Page(HTML, headers={"Last-Modified": "Sat, 21 Nov 2026 09:00:00 GMT"}),
    ) as site:
        addresses = [f"{site.url}/{name}" for name in ("tagged", "plain", "dated")]
        first = bring(tmp_path, *addresses)
        ingest(tmp_path, kb_path, embedder=hashes)
        again = bring(tmp_path, *addresses)
        sent = dict(site.asked)
        assert sent["/tagged"]["if-none-match"] == '"1"'
        assert sent["/dated"]["if-modified-since"] == "Sat, 21 Nov 2026 09:00:00 GMT"
        assert [outcome.state for outcome in again] == [PageState.UNCHANGED] * 3
        assert [outcome.file for outcome in again] == [outcome.file for outcome in first]
        assert ingest(tmp_path, kb_path, embedder=hashes).unchanged == 3
        site.pages["/tagged"] = Page(HTML + b" Now.", headers={"ETag": '"2"'})
        changed = bring(tmp_path, *addresses)
    assert [outcome.state for outcome in changed] == [
        PageState.SAVED, PageState.UNCHANGED, PageState.UNCHANGED,
    ]  # fmt: skip
    assert ingest(tmp_path, kb_path, embedder=hashes).changed == (changed[0].file,)


def test_a_saved_file_that_was_touched_or_lost_is_fetched_whole(tmp_path):
    with website(a=Page(HTML, headers={"ETag": '"1"'})) as site:
        (first,) = bring(tmp_path, f"{site.url}/a")
        (tmp_path / first.file).write_bytes(b"edited")
        assert bring(tmp_path, f"{site.url}/a")[0].state is PageState.SAVED
        (tmp_path / first.file).unlink()
        assert bring(tmp_path, f"{site.url}/a")[0].state is PageState.SAVED
        (tmp_path / "web/.fetched.json").write_text("{broken")
        assert bring(tmp_path, f"{site.url}/a")[0].state is PageState.SAVED
    assert (tmp_path / first.file).read_bytes() == HTML


def test_what_robots_txt_forbids_is_not_asked_for(tmp_path):
    rules = Page(b"User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /private\n")
    with website(robots_txt=rules, private=Page(HTML), open=Page(HTML)) as site:
        site.pages["/way"] = Page(status=302, headers={"Location": "/private"})
        outcomes = bring(tmp_path, *[f"{site.url}/{name}" for name in ("private", "open", "way")])
    assert [outcome.reason for outcome in outcomes] == [
        "robots.txt forbids it", "", "robots.txt forbids it",
    ]  # fmt: skip
    assert site.paths() == ["/robots.txt", "/open", "/way"]


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (Page(status=503), "robots.txt can't be had (HTTP 503), so nothing of that site is fetched"),
        (Page(status=403), "robots.txt can't be had (HTTP 403), so nothing of that site is fetched"),
        (Page(b"#" * 600_000), "robots.txt can't be had (larger than 500 KiB), so nothing of that site is fetched"),
        (Page(b"User-agent: knowledge-rag\nDisallow: /"), "robots.txt forbids it"),
    ],
)  # fmt: skip
def test_a_site_whose_rules_can_not_be_had_is_left_alone(tmp_path, rules, why):
    with website(robots_txt=rules, a=Page(HTML)) as site:
        assert reason(tmp_path, site, "a") == why
        assert site.paths() == ["/robots.txt"]


def test_between_two_requests_to_a_host_is_a_pause_as_long_as_the_site_asks_for(tmp_path):
    waiting = Waiting()
    with website(a=Page(HTML), b=Page(HTML)) as site:
        bring(tmp_path, f"{site.url}/a", f"{site.url}/b", waiting=waiting)
        assert waiting.slept == [1.0, 1.0]
        waiting = Waiting()
        site.pages["/robots.txt"] = Page(b"User-agent: *\nCrawl-delay: 7\n")
        bring(tmp_path, f"{site.url}/a", f"{site.url}/b", waiting=waiting)
        assert waiting.slept == [7.0, 7.0]
        waiting = Waiting()
        site.pages["/robots.txt"] = Page(b"User-agent: *\nCrawl-delay: 86400\n")
        bring(tmp_path, f"{site.url}/a", waiting=waiting)
        assert waiting.slept == [30.0]


def endless():
    yield from itertools.repeat(b"x" * 65_536)


def test_each_failure_says_why_and_the_rest_goes_on(tmp_path):
    loop = Page(status=301, headers={"Location": "/loop"})
    expected = {
        "missing": "HTTP 404",
        "loop": "redirected more than 5 times",
        "script": "redirected to what is no http or https address",
        "huge": "larger than 0.977 MiB",
        "bomb": "larger than 0.977 MiB",
        "image": "of type image/png, which is no document",
        "untyped": "of type unknown, which is no document",
        "packed": "packed as br, which was not asked for",
        "broken": "what it sent can't be unpacked",
        "early": "what it sent ends early",
        "half": "what it sent ends early",
        "rest": "what it sent can't be unpacked",
        "many": "what it sent is packed in too many pieces",
    }
    packed = gzip.compress(HTML)
    with website(
        loop=loop,
        script=Page(status=302, headers={"Location": "javascript:alert(1)"}),
        huge=Page(pieces=endless),
        bomb=Page(gzip.compress(b"x" * 50_000_000), headers={"Content-Encoding": "gzip"}),
        image=Page(b"\x89PNG", kind="image/png"),
        untyped=Page(HTML, kind=""),
        packed=Page(HTML, headers={"Content-Encoding": "br"}),
        broken=Page(b"not gzip", headers={"Content-Encoding": "gzip"}),
        early=Page(packed[:-9], headers={"Content-Encoding": "gzip"}),
        half=Page(packed + gzip.compress(b"more")[:-3], headers={"Content-Encoding": "gzip"}),
        rest=Page(packed + b"no gzip", headers={"Content-Encoding": "gzip"}),
        many=Page(gzip.compress(b"") * 2_000, headers={"Content-Encoding": "gzip"}),
        good=Page(packed, headers={"Content-Encoding": "gzip"}),
    ) as site:
        names = [*expected, "good"]
        outcomes = bring(tmp_path, *[f"{site.url}/{name}" for name in names], max_bytes=1024 * 1000)
    assert {name: o.reason for name, o in zip(names, outcomes, strict=True)} == expected | {
        "good": ""
    }
    assert (tmp_path / outcomes[-1].file).read_bytes() == HTML


def dripping():
    yield HTML
    for _ in range(600):
        threading.Event().wait(0.05)
        yield b" "


def test_a_page_that_never_answers_or_drips_ends_when_its_time_is_up(tmp_path):
    with website(silent=Page(None), drips=Page(pieces=dripping)) as site:
        outcomes = bring(tmp_path, f"{site.url}/silent", f"{site.url}/drips", seconds=0.5)
    assert [outcome.reason for outcome in outcomes] == ["took longer than 0.5 s"] * 2 or {
        outcome.reason for outcome in outcomes
    } == {"took longer than 0.5 s", "did not answer in time"}


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "127.1"]
)
def test_machines_of_this_network_are_not_asked_unless_it_is_allowed(tmp_path, host):
    with website(a=Page(HTML)) as site:
        port = site.url.rpartition(":")[2]
        (outcome,) = bring(tmp_path, f"http://{host}:{port}/a", private=False)
        assert outcome.state is PageState.FAILED
        assert "robots.txt can't be had" in outcome.reason
        never = "is an address that no page is fetched from, whatever is allowed"
        private = "is a private address; --allow-private lets"
        assert (never if host.startswith("0.") else private) in outcome.reason
        assert f"{host} is {host}" not in outcome.reason
        assert site.asked == []


def test_a_redirect_to_where_clouds_keep_credentials_is_not_followed_whatever_is_allowed(tmp_path):
    way = Page(status=302, headers={"Location": "http://169.254.169.254/latest/meta-data"})
    with website(a=way) as site:
        told = reason(tmp_path, site, "a")
    assert "169.254.169.254 is an address that no page is fetched from, whatever is allowed" in told
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


def test_a_host_that_is_none_and_a_port_where_nobody_listens_are_told(tmp_path):
    with website() as site:
        closed = site.url
    (outcome,) = bring(tmp_path, f"{closed}/a")
    assert "can't be reached" in outcome.reason


def test_a_page_that_can_not_be_fetched_any_more_stays_as_it_was_saved_and_is_told(tmp_path):
    with website(a=Page(HTML)) as site:
        (first,) = bring(tmp_path, f"{site.url}/a")
        site.pages["/a"] = Page(status=410)
        (gone,) = bring(tmp_path, f"{site.url}/a")
    assert (gone.state, gone.file, gone.is_failure) == (PageState.KEPT, first.file, True)
    assert gone.reason == "HTTP 410; what was saved on 2026-11-21 is kept"
    assert (tmp_path / first.file).is_file()


def test_other_kinds_of_documents_are_saved_as_what_they_are(tmp_path):
    handbook = text_pdf([["Bus schedule"]])
    with website(
        pdf=Page(handbook, kind="application/pdf"),
        note=Page(b"plain", kind="text/plain"),
        guide=Page("# Caf\u00e9\n".encode("latin-1"), kind="text/markdown; charset=iso-8859-1"),
    ) as site:
        outcomes = bring(tmp_path, *[f"{site.url}/{name}" for name in ("pdf", "note", "guide")])
        site.pages["/pdf"] = Page(HTML)
        (now_html,) = bring(tmp_path, f"{site.url}/pdf")
    assert [outcome.file.rpartition(".")[2] for outcome in outcomes] == ["pdf", "txt", "md"]
    assert (tmp_path / outcomes[2].file).read_bytes() == "# Caf\u00e9\n".encode()
    assert (tmp_path / now_html.file).read_bytes() == HTML
    assert not (tmp_path / outcomes[0].file).exists()
    assert not (tmp_path / f"{outcomes[0].file}.metadata.json").exists()


def test_an_encoding_that_only_the_server_names_is_not_lost(tmp_path):
    page = "<p>caf\u00e9".encode("latin-1")
    with website(a=Page(page, kind="text/html; charset=ISO-8859-1")) as site:
        (outcome,) = bring(tmp_path, f"{site.url}/a")
    data = (tmp_path / outcome.file).read_bytes()
    assert extract("a.html", data).text == "caf\u00e9\n"


def test_a_redirect_leads_to_the_address_that_is_cited(tmp_path):
    with website(new=Page(HTML), old=Page(status=301, headers={"Location": "new"})) as site:
        (outcome,) = bring(tmp_path, f"{site.url}/old")
    said = json.loads((tmp_path / f"{outcome.file}.metadata.json").read_bytes())
    assert said["metadataAttributes"]["source_url"] == f"{site.url}/new"
    assert "/old-" in outcome.file


def test_what_is_no_address_is_told(tmp_path):
    outcomes = bring(tmp_path, "ftp://a.example/x", "a.example", "https://u:p@a.example")
    assert [outcome.reason for outcome in outcomes] == ["no http or https address"] * 3
    assert list(tmp_path.iterdir()) == []


def test_a_list_has_one_address_a_line_and_comments():
    data = b"# docs\nhttps://a.example/x#y\n\n  https://b.example \r\nhttps://b.example\n"
    assert read_addresses("urls.txt", data) == ["https://a.example/x#y", "https://b.example"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"# nothing\n\n", "lists no address: one a line is expected"),
        (b"\xff", "is no list of addresses: not UTF-8"),
        (
            b"".join(b"https://a.example/%d\n" % n for n in range(1_001)),
            "lists more than 1000 addresses",
        ),
    ],
)
def test_a_list_that_is_none_says_why(data, why):
    with pytest.raises(InvalidRequest, match=f"urls.txt {why}"):
        read_addresses("urls.txt", data)


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
    assert told == ["web/.fetched.json: 2 of 2 entries ignored: no pages that were fetched"]
    assert list(json.loads((corpus / "web/.fetched.json").read_bytes())) == [address]


@pytest.mark.parametrize("data", ["{broken", "[]", "3", "[" * 100_000])
def test_what_can_not_be_remembered_is_told(tmp_path, data):
    (tmp_path / "web").mkdir()
    (tmp_path / "web/.fetched.json").write_text(data)
    told = []
    bring(tmp_path, "nonsense", told=told)
    assert told == ["web/.fetched.json can't be read; every page is fetched anew"]


def test_a_version_that_can_not_be_sent_back_is_not_remembered(tmp_path):
    with website(a=Page(HTML, headers={"ETag": '"caf\u00e9"'})) as site:
        bring(tmp_path, f"{site.url}/a")
        assert bring(tmp_path, f"{site.url}/a")[0].state is PageState.UNCHANGED


def test_a_page_is_not_saved_over_that_of_another_address(tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "file_of", lambda *_: "web/a.example/same.html")
    with website(a=Page(HTML), b=Page(HTML + b" Other.")) as site:
        first, second = bring(tmp_path, f"{site.url}/a", f"{site.url}/b")
        assert second.reason == f"its file web/a.example/same.html is that of {site.url}/a"
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
    assert outcome.reason == f"{at} is a symbolic link, and no page is saved behind one"
    assert list(outside.iterdir()) == []


def test_a_page_that_an_earlier_version_saved_is_asked_for_by_its_version_and_then_moves(tmp_path):
    with website(a=Page(HTML, headers={"ETag": '"1"'})) as site:
        address = f"{site.url}/a"
        (first,) = bring(tmp_path, address)
        old = layout.file_of(address, ".html", 10)
        (tmp_path / first.file).rename(tmp_path / old)
        notes = tmp_path / "web/.fetched.json"
        notes.write_text(notes.read_text().replace(first.file, old))
        (again,) = bring(tmp_path, address)
        assert (again.state, again.file) == (PageState.UNCHANGED, old)
        site.pages["/a"] = Page(HTML + b" Now.")
        (moved,) = bring(tmp_path, address)
    assert moved.file == first.file
    assert not (tmp_path / old).exists()


def byte_by_byte(body):
    def pieces():
        for at in range(len(body)):
            yield body[at : at + 1]

    return pieces


def test_a_page_that_is_packed_in_several_pieces_is_read_whole(tmp_path):
    body = gzip.compress(HTML) + gzip.compress(b" Then wait.") + gzip.compress(b" Done.")
    headers = {"Content-Encoding": "gzip"}
    with website(
        a=Page(body, headers=headers), b=Page(pieces=byte_by_byte(body), headers=headers)
    ) as site:
        outcomes = bring(tmp_path, f"{site.url}/a", f"{site.url}/b")
    for outcome in outcomes:
        assert (tmp_path / outcome.file).read_bytes() == HTML + b" Then wait. Done."
