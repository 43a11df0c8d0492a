"""The page's small parts, each on its own, in the browser that runs them."""

from __future__ import annotations

import json

import pytest

EVENT = {"type": "chunk", "data": '{"text": "a"}'}
FRAME = 'event: chunk\nid: 7\ndata: {"text": "a"}\n\n'


@pytest.fixture(scope="module")
def run(browser, origin):
    page = browser.context().new_page()
    page.goto(origin)
    yield page.evaluate
    page.context.close()


@pytest.fixture
def events(run):
    def read(*pieces):
        return run(
            """async (pieces) => {
              const { EventReader } = await import("/static/js/question-stream.js");
              const reader = new EventReader();
              return pieces.flatMap((piece) => reader.push(piece));
            }""",
            list(pieces),
        )

    return read


def test_an_event_is_read_however_it_is_cut(events):
    whole = FRAME + FRAME.replace('"a"', '"b"')
    expected = [EVENT, {**EVENT, "data": '{"text": "b"}'}]
    assert events(whole) == expected
    assert events(*whole) == expected
    for at in range(len(whole)):
        assert events(whole[:at], whole[at:]) == expected


def test_pings_and_unknown_fields_say_nothing(events):
    assert events(": ping\n\nretry: 10\n\nlater: x\n\n" + FRAME) == [EVENT]


def test_an_event_without_data_and_one_that_is_not_over_are_none(events):
    assert events("event: done\n\n", "data: {}\n") == []


def test_line_separators_of_unicode_end_no_line(events):
    text = "a\u2028b\u0085c\x0bd"
    assert events(f"data: {text}\n\n")[0]["data"] == text


@pytest.mark.parametrize(
    ("address", "lines"),
    [
        ("#L5", [5, 5]), ("#L5-L10", [5, 10]), ("#L5-10", [5, 10]), ("#L10-L5", [5, 10]),
        ("", None), ("#L0", None), ("#L", None), ("#main", None), ("#L5-L", None),
    ],
)  # fmt: skip
def test_lines_are_read_from_an_address(run, address, lines):
    assert lines == run(
        "async (hash) => (await import('/static/js/citations.js')).parsedHash(hash)", address
    )


def test_a_path_of_any_characters_becomes_an_address_and_back(run):
    path = 'a folder/ü#?%2F&"<b>.md'
    url = run(
        "async (path) => (await import('/static/js/citations.js')).documentUrl(path, 3)", path
    )
    assert (
        run("(url) => decodeURIComponent(new URL(url, location).pathname)", url) == f"/doc/{path}"
    )
    assert url.endswith("#L3")


@pytest.mark.parametrize("character", "\u202e\u200b\u2066\ufeff\x1b\u00ad\U000e0041\u2028\x07")
def test_what_cannot_be_seen_gets_a_name(run, character):
    shown = run(
        """async (text) => (await import("/static/js/visible-text.js")).visible(text)
          .map((node) => (typeof node === "string" ? node : node.textContent)).join("")""",
        f"a{character}b\r",
    )
    assert shown == f"aU+{ord(character):04X}b"


@pytest.mark.parametrize("text", ["plain", "Ärger, 日本語, ⚠️, a\tb", "tail\r"])
def test_what_can_be_seen_stays_as_it_is(run, text):
    nodes = run("async (text) => (await import('/static/js/visible-text.js')).visible(text)", text)
    assert nodes == [text.removesuffix("\r")]


def test_a_citation_that_the_evidence_does_not_have_is_taken_out(run):
    cites = {
        "known": (1, "5-6"), "narrow": (1, "5-5"), "other lines": (1, "4-6"),
        "beyond": (1, "6-11"), "unknown": (2, "5-6"), "reversed": (1, "6-5"), "none": (1, "x"),
    }  # fmt: skip
    html = "".join(
        f'<sup><a class="cite" data-number="{n}" data-lines="{at}" href="/doc/a.md#L{at.replace("-", "-L")}">'
        f"{name}</a></sup>"
        for name, (n, at) in cites.items()
    )
    for where in ("https://example.com/", "/doc/b.md#L5-L6", "/doc/a.md#L5-L7", "/doc/a.md"):
        html += f'<a class="cite" data-number="1" data-lines="5-6" href="{where}">away</a>'
    html += '<b class="cite" data-number="1" data-lines="5-6">fat</b>'
    left = run(
        """async (html) => {
          const { parsedBlock } = await import("/static/js/trusted-html.js");
          const source = { url: "/doc/a.md#L5-L10", citation: { source_file: "a.md", start_line: 5, end_line: 10 } };
          return [...parsedBlock(html, new Map([[1, source]])).querySelectorAll(".cite")].map((it) => it.textContent);
        }""",
        html,
    )
    assert left == ["known", "narrow"]


def test_a_block_is_brought_up_to_date_without_losing_its_nodes(run):
    before = "<p>One <b>two</b></p><ul><li>a</li></ul>"
    after = "<p>One <b>two</b> three</p><ul><li>a</li><li>b</li></ul><p>c</p>"
    same, html = run(
        """async ([before, after]) => {
          const { morph } = await import("/static/js/answer-blocks.js");
          const { parsedBlock } = await import("/static/js/trusted-html.js");
          const live = document.createElement("div");
          live.append(parsedBlock(before, new Map()));
          const bold = live.querySelector("b");
          morph(live, parsedBlock(after, new Map()));
          return [bold === live.querySelector("b"), live.innerHTML];
        }""",
        [before, after],
    )
    assert same
    assert html == after


def test_lines_of_markdown_are_told_apart_by_their_looks(run):
    lines = ["---", "title: x", "---", "# A", "", "text", "```sh", "# no heading", "```", "| a |"]
    kinds = run(
        "async (lines) => (await import('/static/js/lines.js')).lineKinds(lines, true)", lines
    )
    assert kinds == [
        "front", "front", "front", "heading", "blank", "prose", "fence", "code", "fence", "table",
    ]  # fmt: skip


def test_storage_that_an_older_page_filled_is_no_harm(run):
    asked = {"question": "asked", "answer": ""}
    for value in ("nonsense", json.dumps({"a": 1}), json.dumps([1, None, "asked", {"answer": 7}])):
        questions = run(
            """async (value) => {
              localStorage.setItem("recent-questions", value);
              return (await import("/static/js/recent-questions.js")).recentQuestions();
            }""",
            value,
        )
        assert questions in ([], [asked])
