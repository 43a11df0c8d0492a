"""What is longer than usual: names without a place to break, questions, cited lines on paper."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from knowledge_rag.core.outcome import Reason

PHONE = {"width": 360, "height": 740}
WIDTHS = (320, 360, 390, 768)
LETTERS = (16, 32)
"""Pixels: as a browser comes, and as those set it who read at 200 %."""
INCIDENT = "postmortems/INC_2024_001_orders_database_writer_stalled_for_more_than_an_hour.md"
RUNBOOK = f"runbooks/{'averylongnamewithoutanybreak' * 4}.md"
QUESTION = "How do we restart the zebra pump?"
WIDE = f"notes/{'ostrich' * 12}.md"
TITLE = f"Ostrich {'-feeding-machine' * 6} {'x' * 60}"
STEPS = "".join(f"{n}. Turn the wheel of the zebra pump {n} times.\n" for n in range(1, 21))


FILES = {
    INCIDENT: "# Zebra pump stalled\n\n## Resolution\n\n1. Restart the zebra pump.\n",
    RUNBOOK: f"# Zebra wheel\n\n## Resolution\n\n{STEPS}",
    WIDE: f"---\nservice: {'s' * 60}\n---\n# {TITLE}\n\n1. Feed the ostrich.\n",
}


WARNED = f"""\
1. Restart the zebra pump, which certainly helps. [1]

   ```bash
   zebra restart --pump {"p" * 60} --target <pump>
   ```
   - At {"deep" * 20}
     - it is marked as well.
2. Set the wheel to 4711 turns. [2] [Source: runbooks/{"n" * 80}.md, lines 3-9]

| Check | Value |
|---|--:|
| {"lag" * 30} | 12 |

Nothing that is cited.
"""


def width(page):
    return page.page.evaluate("() => document.documentElement.scrollWidth")


def _wide(page):
    """Say where a page is wider than its window."""
    found = []
    for scheme in ("light", "dark"):
        page.shown(color_scheme=scheme)
        for least in WIDTHS:
            page.page.set_viewport_size({"width": least, "height": 800})
            if width(page) > least:
                found.append(f"{scheme} {least}: {width(page)} px")
    return found


def _unfold(page):
    page.page.evaluate(
        "() => document.querySelectorAll('details').forEach((it) => (it.open = true))"
    )


def _start(page, _script):
    page.open()


def _answered(page, _script):
    page.open().ask(f"How do we feed the ostrich {'q' * 90}")
    expect(page.page.locator(".card.cited h3").first).to_contain_text(TITLE)


def _warned(page, script):
    script.says = WARNED
    page.open().ask(QUESTION)


def _unavailable(page, script):
    script.reason = Reason.TIMEOUT
    page.open().ask(QUESTION)


def _document(page, _script):
    page.open(f"/doc/{WIDE}#L5")
    page.page.locator(".line.marked").first.wait_for()


def _dashboard(page, _script):
    page.open().ask(QUESTION)
    page.open("/dashboard")
    page.page.locator(".figure").first.wait_for()


def _rendered(page, script):
    _document(page, script)
    page.page.get_by_role("button", name="Rendered").click()
    page.page.locator(".rendered [data-lines]").first.wait_for()


def _verified(page, script):
    script.says = WARNED
    page.open().ask(QUESTION)
    page.page.get_by_role("link", name="Check each claim").click()
    page.page.locator(".claim-card").first.wait_for()


def _verifying(page, _script):
    page.open("/verify")


def _health(page, _script):
    page.open("/health")
    page.page.locator("#health-view[data-state='ready']").wait_for(timeout=180_000)


VIEWS = (
    _start, _answered, _warned, _unavailable, _document, _rendered, _verifying, _verified, _health,
    _dashboard,
)  # fmt: skip


@pytest.mark.parametrize("reach", VIEWS, ids=lambda it: it.__name__.strip("_"))
def test_no_view_is_wider_than_its_window_in_letters_of_any_size(page, script, reach):
    reach(page, script)
    _unfold(page)
    for letters in LETTERS:
        page.engine.letters(page.page, letters)
        expect(page.page.locator("html")).to_have_css("font-size", f"{letters}px")
        assert _wide(page) == [], letters


def test_long_names_of_files_do_not_scroll_a_phone_sideways(watched):
    page = watched(viewport=PHONE).open().ask(QUESTION)
    assert page.page.locator(".similar li").count() > 0
    page.page.evaluate(
        "() => document.querySelectorAll('#answer details').forEach((it) => (it.open = true))"
    )
    assert width(page) <= PHONE["width"]
    page.open(f"/doc/{RUNBOOK}#L5")
    expect(page.page.locator(".line.marked")).to_have_count(1)
    assert width(page) <= PHONE["width"]


def test_a_long_command_is_whole_on_a_phone_and_copied_in_its_own_lines(watched, script):
    command = "aws rds failover-db-cluster --db-cluster-identifier orders --region eu-west-1"
    script.says = f"1. Fail over. [1]\n\n   ```bash\n   {command}\n   ```\n"
    page = watched(viewport=PHONE).open().ask(QUESTION)
    shown = page.page.locator(".code pre")
    assert shown.inner_text().strip() == command
    assert shown.evaluate("it => it.scrollWidth <= it.clientWidth")


def test_no_flag_of_a_command_is_torn_where_a_phone_folds_its_line(watched, script):
    command = (
        f"zebra restart --pump-of-the-orders-writer here {'--wheel-identifier <wheel-id> ' * 6}"
    )
    script.says = f"1. Restart it. [1]\n\n   ```bash\n   {command.strip()}\n   ```\n"
    page = watched(viewport=PHONE).open().ask(QUESTION)
    shown = page.page.locator(".code pre")
    line = shown.evaluate("it => parseFloat(getComputedStyle(it).lineHeight)")
    assert shown.bounding_box()["height"] > 3 * line
    words = shown.locator(".word")
    assert words.first.inner_text() == "--pump-of-the-orders-writer"
    assert {words.nth(n).bounding_box()["height"] <= line + 1 for n in range(words.count())} == {
        True
    }


def test_no_reference_stands_alone_on_a_line_and_what_is_copied_has_plain_spaces(watched, script):
    for size in range(20):
        script.says = (
            script.says or ""
        ) + f"{size}. Restart the zebra pump {'a ' * size}now. [1]\n"
    page = watched(viewport=PHONE, permissions=["clipboard-read", "clipboard-write"])
    page.open().ask(QUESTION)
    alone = page.cites.evaluate_all("""(cites) => cites.filter((cite) => {
      const before = document.createRange();
      const text = cite.parentElement.previousSibling;
      before.setStart(text, text.length - 3);
      before.setEnd(text, text.length - 1);
      const { top, bottom } = cite.getBoundingClientRect();
      return before.getBoundingClientRect().bottom < (top + bottom) / 2;
    }).length""")
    assert alone == 0
    copy = page.page.get_by_role("button", name="Copy Markdown")
    copy.click()
    expect(copy).to_contain_class("copied")
    copied = page.page.evaluate("() => navigator.clipboard.readText()")
    assert "now. [Source: " in copied
    assert "\u00a0" not in copied


def test_on_paper_the_warnings_are_there_whether_or_not_they_were_unfolded(page, script):
    script.says = WARNED
    page.open().ask(QUESTION)
    listed = page.outcome.locator(".warnings li").first
    expect(listed).to_be_hidden()
    page.shown(media="print")
    expect(listed).to_be_visible()


def test_a_very_long_question_is_folded_and_can_be_read_whole(page):
    page.open().ask("Pump? " * 600)
    title = page.page.locator("#asked")
    folded = title.bounding_box()["height"]
    assert folded < 200
    page.page.get_by_role("button", name="Whole question").click()
    assert title.bounding_box()["height"] > 3 * folded
    page.page.get_by_role("button", name="Fold question").click()
    assert title.bounding_box()["height"] == folded


def test_a_short_question_offers_no_more_of_itself(page):
    page.open().ask(QUESTION)
    expect(page.page.get_by_role("button", name="Whole question")).to_be_hidden()


def test_on_paper_all_cited_lines_are_there(page, script):
    script.says = "1. Turn the wheel of the zebra pump. [1]\n2. Restart the zebra pump. [2]\n"
    page.open().ask("How often do we turn the wheel of the zebra pump?")
    card = page.page.locator(".card.cited", has=page.page.locator(".folded"))
    expect(card).to_have_count(1)
    number = card.get_attribute("id").removeprefix("source-")
    lines = page.page.locator(f'.blocks .cite[data-number="{number}"]').get_attribute("data-lines")
    first, last = map(int, lines.split("-"))
    shown = card.locator(".line:visible")
    assert shown.count() < last - first + 1
    page.shown(media="print")
    numbers = [int(it.get_attribute("data-line")) for it in shown.all()]
    assert numbers == list(range(first, last + 1))
