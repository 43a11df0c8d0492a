"""Draws a Slack message from its Block Kit JSON: ``... ask --format slack | python -m tools.slack_picture FILE.png``.

Only the output of `knowledge_rag.channel.slack` is drawn: rich text and buttons. Fonts and colours are not Slack's.
"""

from __future__ import annotations

import json
import shutil
import sys
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 720
STYLE = """
body { margin: 0; padding: 16px; width: %dpx; background: #fff; color: #1d1c1d; font: 15px/1.46 Lato, "DejaVu Sans", sans-serif }
.post { display: grid; grid-template-columns: 36px 1fr; gap: 8px; margin-bottom: 16px }
.post.reply { margin-left: 44px }
.face { width: 36px; height: 36px; border-radius: 4px; background: #1264a3; color: #fff; text-align: center; line-height: 36px; font-weight: bold }
.name { font-weight: bold } .app { background: #ddd; font-size: 10px; padding: 1px 3px; border-radius: 2px; font-weight: normal }
p { margin: 0; white-space: pre-wrap } .block { margin-bottom: 4px }
a { color: #1264a3; text-decoration: none }
code { border: 1px solid #ddd; border-radius: 3px; background: #f8f8f8; color: #c01343; padding: 1px 3px; font: 12px "DejaVu Sans Mono", monospace }
pre { border: 1px solid #ddd; border-radius: 4px; background: #f8f8f8; padding: 8px; margin: 4px 0; font: 12px/1.5 "DejaVu Sans Mono", monospace; white-space: pre-wrap }
blockquote { border-left: 4px solid #ddd; margin: 0; padding-left: 12px; white-space: pre-wrap }
button { border: 1px solid #bbb; border-radius: 4px; background: #fff; padding: 4px 12px; font: bold 13px "DejaVu Sans", sans-serif; margin-right: 8px }
"""
TAGS = {"rich_text_preformatted": "pre", "rich_text_quote": "blockquote"}
STYLES = {"bold": "b", "italic": "i", "strike": "s", "code": "code"}


def main(arguments: list[str]) -> int:
    """Draw the messages from standard input; of a thread only the first one."""
    path = shutil.which("chromium") or shutil.which("chromium-headless-shell")
    if path is None or len(arguments) != 1:
        sys.exit("usage: python -m tools.slack_picture FILE.png, with chromium installed")
    page_text = page_of(json.load(sys.stdin)[:1])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH + 32, "height": 400})
        page.set_content(page_text)
        picture = Image.open(BytesIO(page.screenshot(full_page=True))).convert("RGB")
        browser.close()
    picture.quantize(64, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        Path(arguments[0]), optimize=True
    )
    return 0


def page_of(posts: list[dict[str, Any]]) -> str:
    """Return messages as an HTML page."""
    shown = "".join(
        f'<div class="post"><div class="face">K</div><div><span class="name">Knowledge RAG '
        f'<span class="app">APP</span></span>{"".join(_blocks(it["blocks"]))}</div></div>'
        for it in posts
    )
    return f"<!doctype html><style>{STYLE % WIDTH}</style>{shown}"


def _blocks(blocks: list[dict[str, Any]]) -> Iterator[str]:
    for block in blocks:
        if block["type"] == "rich_text":
            yield f'<div class="block">{"".join(map(_element, block["elements"]))}</div>'
        elif block["type"] == "actions":
            labels = (escape(it["text"]["text"]) for it in block["elements"] if "text" in it)
            yield "".join(f"<button>{it}</button>" for it in labels)


def _element(element: dict[str, Any]) -> str:
    tag = TAGS.get(element["type"], "p")
    return f"<{tag}>{''.join(map(_piece, element['elements']))}</{tag}>"


def _piece(piece: dict[str, Any]) -> str:
    text = escape(piece.get("text", ""))
    for style, tag in STYLES.items():
        if piece.get("style", {}).get(style):
            text = f"<{tag}>{text}</{tag}>"
    return f'<a href="{escape(piece["url"])}">{text}</a>' if piece["type"] == "link" else text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
