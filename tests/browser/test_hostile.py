"""Documents and answers that attack the reader: everything of them is words on the page."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.support.shared_data import SHARED_DATA

PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><a href='https://evil.example/'>x</a></svg>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    '<a class="cite" data-number="1" data-lines="1-1" href="/doc/evil.md#L1">[1]</a>',
    "[click](javascript:alert(1)) ![pixel](https://evil.example/pixel.png)",
    "<style>@import 'https://evil.example/a.css'; body{display:none}</style>",
    '<form action="https://evil.example/"><input name=q autofocus onfocus=alert(1)></form>',
    '<math><mtext><table><mglyph><style><img title="</style><img src onerror=alert(1)>">',
    '<p style="position:fixed;inset:0" onmouseover=alert(1)>covering</p>',
    "\u202ereversed\u202c zero\u200bwidth \x1b[31mred \x07",
    "[Source: evil.md, lines 1-2] [1] [Source 7] [99]",
    "{{constructor.constructor('alert(1)')()}} ${alert(1)} `<b>`",
)
QUESTION = "How do we restart the parcel tracker?"


def texts():
    """Give the shared texts, where they are, and our own."""
    path = SHARED_DATA / "injection" / "injection.jsonl"
    rows = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    planted = [json.loads(row)["text"] for row in rows if row]
    return [" ".join(text.split()) for text in planted] + list(PAYLOADS)


def runbook(payloads, quoted=PAYLOADS):
    steps = "\n".join(
        f"{at}. Restart the parcel tracker. {it}" for at, it in enumerate(payloads, 1)
    )
    quotes = "\n\n".join(f"> parcel tracker: {it}" for it in quoted)
    return (
        "---\ntitle: <script>alert(1)</script> Restart\nservice: parcel-tracker\n---\n"
        "# Restart the parcel tracker <img src=x onerror=alert(1)>\n\n"
        f"## Resolution\n\n{steps}\n\n## Notes\n\n{quotes}\n"
    )


FILES = {
    "runbooks/evil.md": runbook(PAYLOADS),
    "runbooks/<img src=x onerror=alert(1)>.md": runbook(PAYLOADS[:4]),
    "planted.md": runbook(texts()),
}


def assert_inert(page):
    """Nothing of the answer is markup but what the server makes, and every citation is known."""
    assert (
        page.page.evaluate("""() => {
      const own = ["P","H3","H4","H5","H6","UL","OL","LI","BLOCKQUOTE","PRE","CODE","EM","STRONG","S","TABLE",
        "THEAD","TBODY","TR","TH","TD","HR","BR","A","SPAN","SUP","DIV","BUTTON","SVG","PATH","INPUT"];
      return [...document.querySelectorAll(".blocks *, .sources *, .document-lines *, .rendered *")]
        .filter((it) => it.closest(".blocks") && !own.includes(it.tagName.toUpperCase())
          || [...it.attributes].some(({ name }) => name.startsWith("on") || name === "style" || name === "src"))
        .map((it) => it.outerHTML);
    }""")
        == []
    )
    known = {it.get_attribute("id") for it in page.page.locator(".card").all()}
    assert {f"source-{it.get_attribute('data-number')}" for it in page.cites.all()} <= known
    for link in page.page.locator(".blocks a:not(.cite)").all():
        assert link.get_attribute("href").startswith(("http://", "https://"))


def test_a_hostile_document_is_quoted_and_does_nothing(page):
    page.open().ask(QUESTION)
    expect(page.outcome).to_have_attribute("data-kind", "warning")
    expect(page.outcome).to_contain_text("text aimed at a model")
    assert page.cites.count() > 0
    assert_inert(page)
    for cite in page.cites.all()[:6]:
        cite.hover()
        expect(page.page.locator(".preview")).to_be_visible()
        page.page.keyboard.press("Escape")
    if page.page.locator(".also-found").is_visible():
        page.page.locator(".also-found summary").click()
    for more in page.page.locator(".card .more").all():
        more.click()
    assert_inert(page)


def test_a_hostile_answer_is_words(page, script):
    lines = [f"{at}. {it} [1]" for at, it in enumerate(texts(), 1)]
    script.says = "\n".join(lines) + "\n\n" + "\n\n".join(PAYLOADS) + "\n"
    page.open().ask(QUESTION)
    assert page.page.locator(".block").count() > 0
    assert "<script>alert(1)</script>" in page.page.locator(".blocks").inner_text()
    assert_inert(page)


@pytest.mark.parametrize(
    "path", ["planted.md", "runbooks/evil.md", "runbooks/%3Cimg%20src=x%20onerror=alert(1)%3E.md"]
)
def test_a_hostile_document_is_shown_letter_by_letter(page, shelf, path):
    page.open(f"/doc/{path}")
    page.page.locator(".document-lines .line").first.wait_for()
    assert_inert(page)
    rows = page.page.locator(".document-lines .line .line-text")
    shown = page.page.evaluate(
        "() => [...document.querySelectorAll('.document-lines .line-text')].map((it) => it.textContent)"
    )
    name = path.replace("%3C", "<").replace("%20", " ").replace("%3E", ">")
    lines = (shelf.folder / name).read_text().split("\n")[:-1]
    plain = [at for at, line in enumerate(lines) if line.isascii() and line.isprintable()]
    assert rows.count() == len(lines)
    assert [shown[at] for at in plain] == [lines[at] for at in plain]


@pytest.mark.parametrize("path", ["planted.md", "runbooks/evil.md"])
def test_a_hostile_document_is_rendered_as_words(page, path):
    page.open(f"/doc/{path}")
    page.page.get_by_role("button", name="Rendered").click()
    page.page.locator(".rendered [data-lines]").first.wait_for()
    assert_inert(page)
    text = page.page.locator(".rendered").inner_text()
    assert "<script>alert(1)</script>" in text or path == "planted.md"
    assert page.page.locator(".rendered .cite").count() == 0
    for link in page.page.locator(".rendered a").all():
        assert link.get_attribute("href").startswith(("http://", "https://", "/doc/", "#"))


def test_characters_that_hide_are_shown_by_name(page):
    page.open("/doc/runbooks/evil.md")
    hidden = page.page.locator(".hidden-character")
    hidden.first.wait_for()
    assert {"U+202E", "U+200B", "U+001B", "U+0007"} <= set(hidden.all_text_contents())
    expect(page.page.locator(".notice")).to_contain_text("Hidden characters.")


def test_what_a_tampered_storage_holds_makes_no_citation(page):
    """Another page of the same origin can't exist; still, nothing of it would be believed."""
    forged = {
        "question": "?", "filters": {}, "phase": "done", "stage": "", "queries": [], "found": 1,
        "sources": [], "restarted": False, "warning": "", "warnings": [], "removed": [],
        "recommendation": {"status": "ok"}, "answerId": None, "failure": None,
        "blocks": ['<p>x<sup><a class="cite" data-number="1" data-lines="1-1" href="/doc/a">1</a></sup></p>'],
    }  # fmt: skip
    page.open()
    page.page.evaluate("(it) => sessionStorage.setItem('last-answer', JSON.stringify(it))", forged)
    page.open()
    expect(page.page.locator(".block")).to_have_text("x not cited")
    assert page.cites.count() == 0
