"""Takes the screenshots of the README and the console's page: ``python -m tools.screenshots``.

They show the real console, the sample corpus and the real model, without retouching. Colours are reduced to a
palette, so that the files stay small.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image
from playwright.sync_api import sync_playwright

from knowledge_rag.core.outcome import Reason
from tests.browser.consoles import QUESTION, UNDOCUMENTED, Script, console, shelf_of
from tests.support.local import CORPUS, PROJECT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FOLDER = PROJECT / "docs" / "images"
MOST_BYTES = 300_000
DESK, PHONE = {"width": 1280, "height": 860}, {"width": 360, "height": 740}
WARNED = """\
## Guidance

1. Initiate manual failover if replication lag > 90s on both readers. [Source: runbooks/rds-failover.md, lines 87-87]
2. Multi-AZ DB cluster: promote the reader with the lower lag. [Source: runbooks/rds-failover.md, lines 89-94]

   ```bash
   aws rds failover-db-cluster --db-cluster-identifier <cluster-id> \\
     --target-db-instance-identifier <reader-instance-id>
   ```
3. Wait until the cluster is `available` and the chosen reader is writer. [Source: runbooks/rds-failover.md, lines 102-106]

## Analysis

The team has gone this way for years, whenever the writer was impaired and both readers were behind.
It will definitely help in 45% of all cases. [Source: runbooks/never-written.md, lines 3-9]
"""
ALERT = {
    "status": "firing",
    "labels": {"alertname": "RDSReplicaLagHigh", "severity": "critical", "service": "rds"},
    "annotations": {
        "summary": "Replication lag above 90 s on both readers, the writer is impaired",
        "runbook_url": "https://example.com/team/runbooks/blob/main/runbooks/rds-failover.md",
    },
    "startsAt": "2026-03-02T03:04:00Z",
}
MINUTES = 4
"""Seconds between the ticks of two steps in the pictures of an incident."""
OTHERS = (
    "SQS queue is backing up",
    "Lambda functions are throttled, what now?",
    "Redis memory is nearly full",
    UNDOCUMENTED,
)


def main() -> int:
    """Take all screenshots; exit with an error if one is too large."""
    path = shutil.which("chromium")
    if path is None:
        sys.exit("no browser: chromium is not installed")
    FOLDER.mkdir(parents=True, exist_ok=True)
    files = {it.relative_to(CORPUS).as_posix(): it.read_bytes() for it in CORPUS.rglob("*.md")}
    script = Script()
    with (
        tempfile.TemporaryDirectory() as folder,
        console(shelf_of(Path(folder), files), script) as origin,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        _pictures(browser, origin, script)
        browser.close()
    large = [it.name for it in FOLDER.glob("console-*.png") if it.stat().st_size > MOST_BYTES]
    if large:
        sys.exit(f"larger than {MOST_BYTES} bytes: {', '.join(large)}")
    return 0


def _pictures(browser: Browser, origin: str, script: Script) -> None:
    for theme in ("light", "dark"):
        page = _answered(browser, origin, color_scheme=theme)
        page.locator(".blocks a.cite").nth(1).hover()
        page.locator(".preview").wait_for()
        _save(page, f"console-ask-{theme}")
    phone = _answered(browser, origin, viewport=PHONE, color_scheme="dark")
    _save(phone, "console-phone")
    document = _page(browser, origin, "/doc/runbooks/rds-failover.md#L89-L94")
    document.locator(".line.marked").first.wait_for()
    _save(document, "console-document")
    document.get_by_role("button", name="Rendered").click()
    document.locator(".rendered .marked").first.wait_for()
    _save(document, "console-rendered")
    _verified(browser, origin)
    _incident(browser, origin)
    script.says = WARNED
    warned = _answered(browser, origin)
    warned.locator(".outcome summary").first.click()
    _save(warned, "console-warnings")
    script.says = None
    _dashboard(browser, origin, script)


def _verified(browser: Browser, origin: str) -> None:
    """Show an answer with a wrong number, verified against the lines that it cites."""
    cited = (CORPUS / "runbooks/rds-failover.md").read_text(encoding="utf-8").split("\n")[86:94]
    place = {"source_file": "runbooks/rds-failover.md", "start_line": 87, "end_line": 94}
    result = {
        "content": "\n".join(cited),
        "citation": place | {"section_header": ""},
        "metadata": {},
    }
    page = _page(browser, origin, "/verify")
    page.locator("[name=answer]").fill(WARNED)
    page.locator("[name=evidence]").fill(json.dumps({"status": "ok", "results": [result]}))
    page.get_by_role("button", name="Verify").click()
    page.locator(".claim-card").first.wait_for()
    _save(page, "console-verify")


def _incident(browser: Browser, origin: str) -> None:
    """Show the pasted alert to the ticked steps, and print their timeline for the console's page."""
    page = _page(browser, origin, permissions=["clipboard-read", "clipboard-write"])
    page.clock.install(time="2026-03-02T03:09:00Z")
    page.locator("#question").fill(json.dumps({"receiver": "oncall", "alerts": [ALERT]}))
    page.locator("#question").press("Enter")
    page.locator('#answer[aria-busy="false"]').wait_for()
    page.clock.run_for(1_000)
    _save(page, "console-incident-alert")
    page.locator(".fill summary").click()
    for name, value in (("cluster-id", "orders-db"), ("reader-instance-id", "orders-db-reader-2")):
        page.get_by_label(f"<{name}>", exact=True).fill(value)
    for step, note in enumerate(("lag 94 s and 112 s", "no failover event yet", "", "")):
        page.clock.run_for(MINUTES * 60_000)
        page.get_by_role("checkbox").nth(step).check()
        page.get_by_label("Note", exact=True).nth(step).fill(note)
        page.keyboard.press("Tab")
    page.locator("li.step").first.scroll_into_view_if_needed()
    page.mouse.wheel(0, 480)
    page.clock.run_for(1_000)
    _save(page, "console-incident-steps")
    page.get_by_role("button", name="Copy timeline").click()
    print(page.evaluate("() => navigator.clipboard.readText()"))


def _dashboard(browser: Browser, origin: str, script: Script) -> None:
    page = _page(browser, origin)
    for question in OTHERS:
        _ask(page, question)
        if page.locator(".blocks a.cite").count():
            page.locator(".blocks a.cite").first.click()
    script.reason = Reason.TIMEOUT
    _ask(page, QUESTION)
    script.reason = None
    page.get_by_role("link", name="Dashboard").click()
    page.locator(".figure").first.wait_for()
    _save(page, "console-dashboard", full_page=True)


def _page(browser: Browser, origin: str, path: str = "/", **context: Any) -> Page:
    context.setdefault("viewport", DESK)
    page = browser.new_context(**context).new_page()
    page.goto(origin + path)
    return page


def _answered(browser: Browser, origin: str, **context: Any) -> Page:
    page = _page(browser, origin, **context)
    _ask(page, QUESTION)
    page.locator("#question").blur()
    return page


def _ask(page: Page, question: str) -> None:
    page.locator("#question").fill(question)
    page.locator("#question").press("Enter")
    page.locator("#asked").get_by_text(question, exact=True).wait_for()
    page.locator('#answer[aria-busy="false"]').wait_for()


def _save(page: Page, name: str, **options: Any) -> None:
    page.wait_for_timeout(400)  # for animations to end
    picture = Image.open(BytesIO(page.screenshot(**options))).convert("RGB")
    picture.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        FOLDER / f"{name}.png", optimize=True
    )
    page.mouse.move(0, 0)


if __name__ == "__main__":
    sys.exit(main())
