"""Runbooks in a style of their own: steps within steps, text without any, more headings than fit."""

from __future__ import annotations

from playwright.sync_api import expect

from knowledge_rag.orchestrator.wording import NO_MATCH

KAFKA = """\
# Kafka consumer lag

## Resolution

1. Scale the Kafka consumers to the number of partitions, never more:
   1. `kubectl -n billing scale deploy/consumer --replicas 24`
   2. wait for the rebalance (90 s)
      - still lagging after 10 minutes: go to 2
2. Skip poison records of the Kafka consumer:

   ```bash
   kafka-consumer-groups.sh --group billing --reset-offsets --shift-by 1 --execute
   ```
"""
STEP = KAFKA.partition("\n1. ")[2].partition("\n2. ")[0]
PARTS = "".join(f"## Part {at}\n\nWords of part {at}.\n\nMore of them.\n\n" for at in range(1, 121))
SOURCE = "[Source: runbooks/kafka.md, lines 5-8]"
ASKED = "Kafka consumers lag"


FILES = {"runbooks/kafka.md": KAFKA, "parts.md": f"# Parts\n\n{PARTS}"}


def cited(step, **changes):
    """Give the first step with its reference behind its first line, other words in place of some."""
    first, _, rest = step.partition("\n")
    for old, new in changes.items():
        assert old in rest
        rest = rest.replace(old, new)
    return f"1. {first} {SOURCE}\n{rest}\n"


def test_what_is_lifted_is_cited_however_deep_it_stands(page):
    page.open().ask(ASKED)
    expect(page.page.locator(".blocks li li li")).to_contain_text("still lagging")
    assert page.page.locator(".blocks .code").count() == 1
    expect(page.page.locator(".uncited")).to_have_count(0)
    expect(page.outcome).to_have_attribute("data-kind", "ok")


def test_of_what_is_deep_in_a_step_only_what_its_lines_hold_is_cited(page, script):
    script.says = cited(STEP, lagging="cheerful")
    page.open().ask(ASKED)
    expect(page.page.locator(".uncited-note")).to_have_count(1)
    expect(page.page.locator(".uncited")).to_contain_text("still cheerful")


def test_passages_without_steps_are_not_said_to_hold_no_answer(page, script):
    script.says = NO_MATCH
    page.open().ask(ASKED)
    expect(page.outcome).to_have_attribute("data-kind", "nothing")
    expect(page.page.locator(".card").first).to_be_visible()
    words = page.outcome.locator(".outcome-words > p")
    expect(words).to_contain_text("No documented steps found")
    expect(words).to_contain_text("no steps could be made of it: look at it yourself")
    assert "answers this" not in words.inner_text()


def test_where_nothing_came_back_nothing_is_documented(page):
    page.open()
    page.page.locator("#filters summary").click()
    page.page.locator("#service").fill("no-such-service")
    page.ask(ASKED)
    expect(page.outcome.locator("strong").first).to_have_text("Nothing documented")
    assert page.page.locator(".card").count() == 0


def current(page):
    return page.page.locator(".outline [aria-current]")


def test_the_outline_shows_where_in_the_file_one_is(page):
    lines = f"# Parts\n\n{PARTS}".split("\n")
    at = lines.index("Words of part 90.") + 1
    page.open(f"/doc/parts.md#L{at}")
    expect(current(page)).to_have_text("Part 90")
    expect(current(page)).to_be_in_viewport()
    page.page.evaluate("scrollTo(0, 0)")
    expect(current(page)).to_have_text("Parts")
    expect(current(page)).to_be_in_viewport()
    page.page.evaluate("""async () => {
      const row = document.querySelector('.line[data-line="419"]');
      row.scrollIntoView();
      await new Promise((laidOut) => requestAnimationFrame(() => requestAnimationFrame(laidOut)));
      const bar = document.querySelector(".document-tools").getBoundingClientRect();
      scrollBy(0, row.getBoundingClientRect().top - bar.bottom);
    }""")
    assert lines[419 - 1] == "Words of part 70."
    expect(current(page)).to_have_text("Part 70")
    expect(current(page)).to_be_in_viewport()
