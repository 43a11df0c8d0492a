"""Titles lose marks of status, descriptions their markup, and no text takes long."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.orchestrator.pager_texts import (
    clean_title,
    leading_name,
    looks_like_name,
    names_in,
    plain,
    runbook_links,
)


@pytest.mark.parametrize(
    ("title", "cleaned"),
    [
        ("[FIRING:2] DiskFull shop", "DiskFull shop"),
        ('ALARM: "orders-db-cpu" in EU (Ireland)', '"orders-db-cpu" in EU (Ireland)'),
        ("[Triggered] [P1] queue is long", "queue is long"),
        ("[Triggered on {host:a,env:b}] queue is long", "queue is long"),
        ("P1 | Checkout down", "Checkout down"),
        ("SEV-2: Checkout down", "Checkout down"),
        ("\U0001f525 Problem: Zabbix agent is down", "Zabbix agent is down"),
        ("[#1234] The server is on fire.", "The server is on fire."),
        ("[No Data] probe", "probe"),
        ("(P2) probe", "probe"),
        # what is no mark stays
        ("[prod] Disk full", "[prod] Disk full"),
        ("Error: connection refused", "Error: connection refused"),
        ("P1 is down", "P1 is down"),
        ("OKTA: login fails", "OKTA: login fails"),
        ("[FIRING:2]", "[FIRING:2]"),
    ],
)
def test_a_title_loses_marks_of_status_and_nothing_else(title, cleaned):
    assert clean_title(title) == cleaned


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("LiveEncoderDown enc-live-1", "LiveEncoderDown"),
        ("LoginFailureRate 18 %", "LoginFailureRate"),
        ("RDSWriterDown", "RDSWriterDown"),
        ("PackagerMemory: above 90 %", "PackagerMemory"),
        ("DiskFull - /data", "DiskFull"),
        ("etcdMembersDown on a", "etcdMembersDown"),
        ("orders-db-cpu", "orders-db-cpu"),
        ('"orders-db-cpu" in EU (Ireland)', "orders-db-cpu"),
        ("CloudFront is slow", ""),
        ("PostgreSQL 5xx", ""),
        ("checkout-api: latency is high", ""),
        ("thumbs-dlq is not empty", ""),
        ("Disk full", ""),
        ("APIs down", ""),
        ("", ""),
    ],
)
def test_a_title_may_begin_with_the_alerts_name(title, name):
    assert leading_name(title) == name


def test_names_are_written_in_camel_case_or_in_parts():
    text = "KubePodX=1, (api_5xx) 7a5a0c1e-14d7 a-7a5a0c1e14d7 https://a.b/c-d x/y-z TVs OOM Full."
    assert list(names_in(text)) == ["KubePodX", "api_5xx"]
    assert looks_like_name("DNSDown-now")
    assert not looks_like_name("2026-03-02")


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>a &lt; <b>b</b>c</p><br/>d &#39;e&#39;", "\na < bc\n\nd 'e'"),
        ("restart <service> on <host>", "restart <service> on <host>"),
        ("x<script>alert(1)</script>y<style>p {}</style>z", "x\ny\nz"),
        ("a <!-- hidden --> b", "a \n b"),
        ("https://a.example/?x=1&lt=2&copy=3", "https://a.example/?x=1&lt=2&copy=3"),
        ("%%%\n**hot**\n\n[[Monitor](https://a)] · [Edit](https://b)\n- - -\n%%%", "hot"),
        ("see [the page](https://a.example) ![chart](https://b)", "see the page "),
        ("[All](https://a)", "All"),
        ("5 < 7 and 8 > 2", "5 < 7 and 8 > 2"),
        ("&#99999999999999999999;&#xD800;", "&#99999999999999999999;\ufffd"),
    ],
)
def test_markup_becomes_text(markup, text):
    assert [*filter(None, plain(markup).split("\n"))] == [*filter(None, text.split("\n"))]


@pytest.mark.parametrize(
    ("markup", "links"),
    [
        ('<a href="https://w.example/1?a=1&amp;b=2">Open the runbook</a>', ["https://w.example/1?a=1&b=2"]),
        ("<a class=x href='https://w.example/play-books/2'>here</a>", ["https://w.example/play-books/2"]),
        ("[Runbook](https://w.example/3) [Other](https://w.example/4)", ["https://w.example/3"]),
        ('<a href="https://w.example/5">Dashboard</a>', []),
        ("<a>Runbook</a> <a href=>Runbook</a>", []),
    ],
)  # fmt: skip
def test_links_that_are_called_runbooks_are_found(markup, links):
    assert list(runbook_links(markup)) == links


@pytest.mark.parametrize(
    "piece",
    ["<a ", "<a href=", "<!--", "[", "[a](", "![", "&", "&#", "<", "</", "*", "[FIRING", "[Triggered on {",
     "\n", " ", "-", "_", "a-", "aB", "A", '"', "P1 |", "OK: ", "\U0001f525", "@a", "<script>", "( "],
)  # fmt: skip
def test_no_text_takes_long(piece):
    text = piece * (1_000_000 // len(piece))
    started = time.thread_time()
    plain(text)
    runbook_links(text)
    clean_title(text[:2_000])
    leading_name(text[:2_000])
    list(names_in(text[:2_000]))
    assert time.thread_time() - started < 10


@given(st.text())
def test_any_text_can_be_read(text):
    assert clean_title(text) or not text.strip()
    assert isinstance(plain(text), str)
    assert all(looks_like_name(name) for name in names_in(text))
    assert leading_name(text) in text
