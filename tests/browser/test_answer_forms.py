"""How an answer stands on the page: numbers in its own order, rows in columns, lines without the marks around code."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.accessibility import violations
from tests.browser.consoles import QUESTION, sample_files

WIDGETS = """\
# Widget errors

## Error codes

| Symptom | Cause | Action |
|---|---|---|
| widget error code `W-17` | The press is jammed | Run `widgetctl unjam --press 3`, then restart the line |
| widget error code `W-18` | The feed is empty | Refill the hopper and run `widgetctl resume` |
"""


FILES = sample_files() | {"runbooks/widgets.md": WIDGETS}


def in_order(texts):
    return list(dict.fromkeys(texts))


def test_citations_are_numbered_as_they_appear_and_their_sources_likewise(page):
    page.open().ask(QUESTION)
    numbers = in_order(page.cites.all_inner_texts())
    assert numbers == [f"[{at}]" for at in range(1, len(numbers) + 1)]
    assert len(numbers) > 3
    for cite in page.cites.all():
        shown = cite.inner_text().strip("[]")
        card = page.page.locator(f"#source-{cite.get_attribute('data-number')}")
        assert card.locator(".number").inner_text() == shown
        assert cite.get_attribute("aria-label").startswith(f"[{shown}] ")
    assert (
        page.page.locator(".also-found .number").all_text_contents()
        == [""] * page.page.locator(".also-found .card").count()
    )


def test_an_answer_that_is_opened_again_has_the_same_numbers(page):
    page.open().ask(QUESTION)
    before = page.cites.all_inner_texts()
    page.page.reload()
    page.page.locator('#answer[aria-busy="false"]').wait_for()
    assert page.cites.all_inner_texts() == before


def test_rows_of_a_table_stand_in_columns_that_are_named_once(page):
    page.open().ask("widget error: is the press jammed or the feed empty?")
    rows = page.page.locator(".blocks li.row")
    expect(rows).to_have_count(2)
    first, second = rows.all()
    assert [it.strip() for it in first.locator(".column").all_text_contents()] == [
        "Symptom:",
        "Cause:",
        "Action:",
    ]
    lefts = [
        [it.bounding_box()["x"] for it in row.locator(".cell").all()] for row in (first, second)
    ]
    assert lefts[0] == lefts[1]
    assert lefts[0] == sorted(set(lefts[0]))
    assert second.locator(".column").first.bounding_box()["width"] <= 1
    assert violations(page.page) == []
    # a step all the same: it can be ticked, copied and read
    first.get_by_role("checkbox").check()
    expect(first).to_contain_text("Done")
    assert (
        "Symptom: widget error code W-17 | Cause: The press is jammed | Action: Run"
        in first.text_content()
    )


def test_on_a_phone_each_cell_has_its_name(watched):
    page = watched(viewport={"width": 390, "height": 844}).open().ask("widget error code W-17")
    second = page.page.locator(".blocks li.row").nth(1)
    assert all(it.bounding_box()["width"] > 20 for it in second.locator(".column").all())


def test_lines_behind_a_citation_are_shown_without_the_marks_around_code(page):
    page.open().ask(QUESTION)
    cites = page.page.locator(".blocks a.cite")
    at = next(
        at
        for at in range(cites.count())
        if cites.nth(at).evaluate("it => it.closest('li')?.querySelector('.code') != null")
    )
    cites.nth(at).hover()
    preview = page.page.locator(".preview")
    expect(preview).to_be_visible()
    assert "```" not in preview.inner_text()
    lines = page.page.locator(".card.cited", has=page.page.locator(".is-code")).locator(".lines")
    assert lines.count() > 0
    assert not any("```" in it for it in lines.all_inner_texts())


def test_all_lines_of_a_source_are_shown_as_they_stand(page):
    page.open()
    shown = page.page.evaluate("""async () => {
      const { excerpt } = await import("/static/js/lines.js");
      const text = "Run:\\n```sh\\nls\\n```\\nDone.";
      const numbers = (it) => [...it.querySelectorAll(".line")].map((line) => Number(line.dataset.line));
      const all = [[1, 5]];
      return [numbers(excerpt(text, 1, all)), numbers(excerpt(text, 1, all, [], all, true)),
        excerpt(text, 1, all).querySelectorAll(".line-gap").length, numbers(excerpt(text, 1, [[2, 2]]))];
    }""")
    assert shown == [[1, 3, 5], [1, 2, 3, 4, 5], 0, [2]]
