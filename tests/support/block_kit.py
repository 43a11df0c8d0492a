"""What Slack takes and shows of a message, by its published reference of blocks and by its undocumented total."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BLOCKS = 50
MAX_TEXT = 3000
MAX_ALL = 13_000
SECTIONS = ("rich_text_section", "rich_text_preformatted", "rich_text_quote")
STYLES = {"bold", "italic", "strike", "code"}
SHOWN = re.compile(r"\[(\d+)\]")
MAX_ELEMENTS = 25
MAX_LABEL = 75
MAX_ID = 255
MAX_VALUE = 2000
MAX_OPTIONS = 100
MAX_OPTION_VALUE = 150


def pieces_in(blocks: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each piece of text or link with the kind of element that it stands in."""
    for block in blocks:
        for element in block["elements"] if block["type"] == "rich_text" else ():
            yield from ((element["type"], piece) for piece in element["elements"])


def buttons_in(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the buttons and menus of a message."""
    return [it for block in blocks if block["type"] == "actions" for it in block["elements"]]


def labels_in(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the labels of buttons, menus and their options."""
    for it in buttons_in(blocks):
        yield from (it[key] for key in ("text", "placeholder") if key in it)
        yield from (option["text"] for option in it.get("options", ()))


def numbers_in(blocks: list[dict[str, Any]]) -> tuple[dict[int, str], dict[int, str]]:
    """Return the citations' numbers with their links: those in the text, and those of the list below it."""
    found: tuple[dict[int, str], dict[int, str]] = ({}, {})
    listed = 0
    for kind, piece in pieces_in(blocks):
        if kind == "rich_text_preformatted":  # code, whose brackets are its own
            continue
        if (
            piece["type"] == "text"
            and piece.get("style", {}).get("bold")
            and piece["text"] == "Sources"
        ):
            listed = 1
        if piece["type"] == "link":
            found[listed][int(SHOWN.fullmatch(piece["text"])[1])] = piece["url"]
        elif not piece.get("style", {}).get("code"):
            found[listed].update((int(it), "") for it in SHOWN.findall(piece["text"]))
    return found


def problems(posted: dict[str, Any]) -> list[str]:
    """Return what Slack would refuse, as its error codes."""
    blocks = posted["blocks"]
    wrong = [it for block in blocks for it in _problems_of(block)]
    if not 0 < len(blocks) <= MAX_BLOCKS:
        wrong.append("invalid_blocks")
    if len(json.dumps(blocks)) > MAX_ALL:
        wrong.append("msg_blocks_too_long")
    if not posted["text"] or len(posted["text"]) > 40_000:
        wrong.append("msg_too_long")
    ids = [it["action_id"] for it in buttons_in(blocks)]
    if len(set(ids)) != len(ids):
        wrong.append("invalid_blocks: action_id is not unique")
    return wrong


def _problems_of_actions(block: dict[str, Any]) -> Iterator[str]:
    elements = block["elements"]
    if not 0 < len(elements) <= MAX_ELEMENTS or set(block) != {"type", "elements"}:
        yield "invalid_blocks: actions"
    for it in elements:
        menu = it["type"] == "static_select"
        own = {"placeholder", "options"} if menu else {"text", "value"}
        if it["type"] not in {"button", "static_select"} or set(it) != {"type", "action_id", *own}:
            yield f"invalid_blocks: {it}"
        if not 0 < len(it["action_id"]) <= MAX_ID or not 0 < len(it.get("value", "x")) <= MAX_VALUE:
            yield "invalid_blocks: action_id or value"
        options = it.get("options", [])
        if menu and not 0 < len(options) <= MAX_OPTIONS:
            yield "invalid_blocks: options"
        if any(len(one["value"]) > MAX_OPTION_VALUE for one in options):
            yield "invalid_blocks: value of an option"
    for label in labels_in([block]):
        units = len(label["text"].encode("utf-16-le")) // 2
        if label["type"] != "plain_text" or label["emoji"] or not 0 < units <= MAX_LABEL:
            yield f"invalid_blocks: {label}"


def _problems_of(block: dict[str, Any]) -> Iterator[str]:
    if block["type"] == "actions":
        yield from _problems_of_actions(block)
        return
    if block["type"] != "rich_text" or not block["elements"]:
        yield "invalid_blocks_format"
    if sum(len(piece["text"]) for _, piece in pieces_in([block])) > MAX_TEXT:
        yield "invalid_blocks: text"
    for element in block["elements"]:
        if element["type"] not in SECTIONS or not element["elements"]:
            yield f"invalid_blocks: {element['type']}"
    for _, piece in pieces_in([block]):
        known = piece["type"] in {"text", "link"} and set(piece.get("style", ())) <= STYLES
        if not piece["text"] or not known:
            yield f"invalid_blocks: {piece}"
