"""Which machines may be asked, and where a page is saved."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.citations import check_source_file
from knowledge_rag.local.web.fetching import may_ask
from knowledge_rag.local.web.saved import file_of


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.1.1", "0.0.0.0",
        "100.64.0.1", "198.18.0.1", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "::ffff:10.0.0.1",
        "64:ff9b::7f00:1", "2002:7f00:1::", "::", "224.0.0.1", "255.255.255.255", "nonsense", "",
        "169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192",
        "64:ff9b::a9fe:a9fe", "fec0::1", "168.63.129.16", "::ffff:168.63.129.16", "::168.63.129.16", "fd00:ec2::23",
        "fd20:ce::254", "169.254.170.2", "::127.0.0.1", "::10.0.0.1", "64:ff9b:1::127.0.0.1", "64:ff9b:1::10.0.0.1",
        "64:ff9b:1:7f00:0:100::", "64:ff9b:1::a9fe:a9fe", "64:ff9b::168.63.129.16",
    ],
)  # fmt: skip
def test_an_address_that_is_not_of_the_public_internet_is_not_asked(address):
    assert not may_ask(address, private=False)


@pytest.mark.parametrize(
    "address",
    [
        "93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822", "64:ff9b:1::5db8:d822",
        "::93.184.216.34", "::ffff:93.184.216.34", "168.63.129.17",
    ],
)  # fmt: skip
def test_one_of_the_public_internet_is(address):
    assert may_ask(address, private=False)


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("127.0.0.1", True), ("10.0.0.1", True), ("::1", True), ("fc00::1", True),
        ("169.254.169.254", False), ("::ffff:169.254.169.254", False), ("fd00:ec2::254", False),
        ("168.63.129.16", False), ("fd00:ec2::23", False), ("fd20:ce::254", False), ("169.254.170.2", False),
        ("::169.254.169.254", False), ("64:ff9b:1::169.254.169.254", False), ("64:ff9b::168.63.129.16", False),
        ("64:ff9b:1:a9fe:a9:fe00::", False), ("::10.0.0.1", True), ("64:ff9b:1::10.0.0.1", True),
        ("169.254.1.1", False), ("100.100.100.200", False), ("0.0.0.0", False), ("224.0.0.1", False),
    ],
)  # fmt: skip
def test_where_private_ones_are_allowed_those_that_keep_credentials_are_not(address, allowed):
    assert may_ask(address, private=True) is allowed


@pytest.mark.parametrize(
    ("address", "file"),
    [
        ("https://docs.example.org/rds/failover.html", "web/docs.example.org/rds/failover.html"),
        ("https://docs.example.org/a_b/v1-2.htm", "web/docs.example.org/a_b/v1-2.htm"),
        ("https://docs.example.org/", "web/docs.example.org/index-49e4bb5df9.html"),
        ("https://docs.example.org/rds/", "web/docs.example.org/rds-5e5a2dd2d2.html"),
    ],
)
def test_a_page_has_a_file_that_people_recognise(address, file):
    named = file_of(address, ".html")
    assert named.rpartition("-")[0] == file.rpartition("-")[0]
    assert (named == file) is (address.endswith((".html", ".htm")))


ODD = [
    "https://a.example/x.html", "http://a.example/x.html", "https://a.example/x", "https://a.example/x/",
    "https://a.example/X.html", "https://a.example/x.html?a=1", "https://a.example/x.html?a=2",
    "https://a.example:8080/x.html", "https://a_8080/x.html", "https://a.example/x.html/y.html",
    "https://a.example/x.htm", "https://a.example/../../etc/passwd", "https://a.example/%2e%2e/%2e%2e/x.html",
    "https://a.example/.hidden.html", "https://a.example/..html", "https://a.example/con.html", "https://a.example",
    "https://a.example//x.html", "https://a.example/a\\b.html", "https://a.example/" + "d/" * 50 + "x.html",
    "https://a.example/" + "x" * 300 + ".html", "https://a.example/\u00e9.html", "https://[::1]:80/x.html",
    "https://a.example/x-0123456789.html", "https://a.example/x-0123456789abcdef01234567.html", "https://a.example/x%00.html", "https://a.example/[Source%20x].html",
]  # fmt: skip


def test_no_two_addresses_share_a_file_even_where_case_does_not_count():
    files = [file_of(address, ".html").lower() for address in ODD]
    assert len(set(files)) == len(ODD)
    folders = {file.rpartition("/")[0] for file in files}
    assert not folders & set(files)


@pytest.mark.parametrize("address", ODD)
def test_every_file_lies_below_the_corpus_is_seen_and_can_be_cited(address):
    file = file_of(address, ".html")
    check_source_file(file)
    assert file.startswith("web/")
    assert all(part and not part.startswith(".") and part.isascii() for part in file.split("/"))
    assert max(map(len, file.split("/"))) < 255


@given(st.text(max_size=80), st.sampled_from([".html", ".pdf", ".txt", ".md"]))
def test_whatever_the_path_the_file_is_a_plain_one_of_its_kind(path, ending):
    file = file_of(f"https://a.example/{path}", ending)
    check_source_file(file)
    assert file == file_of(f"https://a.example/{path}", ending)
    assert file.endswith((ending, ".htm", ".markdown"))
    assert not any(part.startswith(".") for part in file.split("/"))


def test_two_addresses_whose_hashes_begin_alike_have_files_of_their_own():
    addresses = [f"https://a.example/{n}" for n in (1535868, 1748736)]
    first, second = (hashlib.sha256(address.encode()).hexdigest() for address in addresses)
    assert first[:10] == second[:10]
    now = [file_of(address, ".html").rpartition("-")[2] for address in addresses]
    assert now[0] != now[1]
    assert (len(now[0]) - len(".html")) * 4 >= 80
