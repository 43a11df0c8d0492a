"""Pages are fetched politely and within bounds; each that is not fetched says why."""

import gzip
import itertools
import threading

import pytest

from tests.support.website import Page, website
from tests.unit.local.web.bringing import HTML, Waiting, bring, reason


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
        (Page(status=503), "robots.txt isn't available (HTTP 503), so nothing is fetched from that site"),
        (Page(status=403), "robots.txt isn't available (HTTP 403), so nothing is fetched from that site"),
        (Page(b"#" * 600_000), "robots.txt isn't available (larger than 500 KiB), so nothing is fetched from that site"),
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
        "script": "redirected to something other than an http or https address",
        "huge": "larger than 0.977 MiB",
        "bomb": "larger than 0.977 MiB",
        "image": "type image/png is not supported",
        "untyped": "type unknown is not supported",
        "packed": "compressed as br, which was not requested",
        "broken": "the body can't be decompressed",
        "early": "the body ends early",
        "half": "the body ends early",
        "rest": "the body can't be decompressed",
        "many": "the body is compressed in too many pieces",
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
    assert len(outcomes) == 2
    reasons = {outcome.reason for outcome in outcomes}
    assert reasons <= {"took longer than 0.5 s", "did not answer in time"}


def test_a_host_that_is_none_and_a_port_where_nobody_listens_are_told(tmp_path):
    with website() as site:
        closed = site.url
    (outcome,) = bring(tmp_path, f"{closed}/a")
    assert "can't be reached" in outcome.reason


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
