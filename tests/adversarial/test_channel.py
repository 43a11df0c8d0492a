"""A hostile model's answer in a channel: no citation without evidence, no mention, no link that isn't ours."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from markdown_it import MarkdownIt

from knowledge_rag.channel.buttons import Act, Buttons
from knowledge_rag.channel.markdown import to_note
from knowledge_rag.channel.message import BY_MODEL, message_from
from knowledge_rag.channel.slack import ACTION, citations_blocks, to_slack
from knowledge_rag.channel.text import to_text
from knowledge_rag.core.repository_links import RepositoryLinks
from knowledge_rag.guardrails.verify import verify
from tests.adversarial.answers import FAMILIES, hostile
from tests.adversarial.test_console_pages import told_parts
from tests.support.block_kit import buttons_in, labels_in, numbers_in, pieces_in, problems
from tests.unit.console.test_answers import RECOMMENDATION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.channel.message import Message
    from tests.adversarial.shelf import Shelf

pytestmark = pytest.mark.no_cover

LINKS = RepositoryLinks("https://git.example/{path}#L{start}-L{end}")
NUMBER = re.compile(r"(?<!`)\[(\d+)\](?!`)")
BRACKET = re.compile(r"(?<!`)[\[\]]")
MENTION = re.compile(r"@\w|(?<!\w)#\d|\bGH-\d|https?://|\bwww\.\w", re.IGNORECASE)
WHOLE = {**RECOMMENDATION, "status": "ok", "warnings": []}
EACH = int(os.environ.get("ADVERSARIAL_CHANNEL", "1600")) // len(FAMILIES)
"""Answers of each family."""
LABEL = re.compile(r"[\[\]<>\n\u202a-\u202e\u2066-\u2069\ue000\ue001]|@\S|://")
RECEIPT = "kr-" + "a" * 20
BUTTONS = Buttons("xoxb-key", "C0123ABCDEF")
READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def unproven(message: Message, shelf: Shelf) -> Iterator[str]:
    """Yield citations of a message that retrieval did not return, or whose file has no such lines."""
    for cited in message.places:
        if not shelf.holds(*cited):
            yield f"cites {cited}"


def wrong_in_slack(message: Message) -> Iterator[str]:
    """Yield what is wrong with the blocks of a message."""
    message = replace(message, receipt=RECEIPT)
    links = {LINKS.url(*it) for it in message.places}
    for posted in to_slack(message, BUTTONS):
        yield from problems(posted)
        yield from wrong_below(message, posted["blocks"])
        inline, listed = numbers_in(posted["blocks"])
        if set(inline) - set(listed) or not set(listed) <= set(range(1, len(message.places) + 1)):
            yield f"numbers {sorted(inline)}, listed {sorted(listed)}"
        if "@" in posted["text"].replace("@ ", "") or "://" in posted["text"]:
            yield "the notification mentions or links"
        for number, url in [*inline.items(), *listed.items()]:
            if url != LINKS.url(*message.places[number - 1]):
                yield f"{number} leads to {url!r}"
        for kind, piece in pieces_in(posted["blocks"]):
            if piece["type"] == "link" and piece["url"] not in links:
                yield f"a link to {piece['url']}"
            if kind == "rich_text_preformatted":
                yield "a model's code in our form"
            is_words = piece["type"] == "text" and not piece.get("style", {}).get("code")
            if kind == "rich_text_quote" and is_words and BRACKET.search(piece["text"]):
                yield f"brackets in words: {piece['text']!r}"


def wrong_below(message: Message, blocks: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what is wrong with the buttons of a message."""
    asked = citations_blocks(message.places, message.receipt, BUTTONS)["blocks"]
    for label in [*labels_in(blocks), *(labels_in(asked) if message.places else ())]:
        if found := LABEL.search(label["text"]):
            yield f"a label with {found[0]!r}"
    for it in buttons_in(blocks):
        act = Act(it["action_id"].removeprefix(ACTION).partition("-")[0])
        if act is Act.COPY:
            yield "a model's commands to copy"
        pressed = BUTTONS.read(act, it["value"])
        if pressed.receipt != RECEIPT or pressed.number > len(message.offers):
            yield f"refers to {it['value']!r}"


def wrong_in_note(message: Message) -> Iterator[str]:
    """Yield what is wrong with the note of a message, as a Markdown reader shows it."""
    note = to_note(message)
    blocks = READER.parse(note)
    pieces = [it for block in blocks for it in (block, *(block.children or ()))]
    links = {LINKS.url(*it) for it in message.places}
    yield from (
        f"a link to {it.attrs['href']}"
        for it in pieces
        if it.type == "link_open" and it.attrs["href"] not in links
    )
    words = "\n".join(it.content for it in pieces if it.type == "text")
    yield from (f"a site links {found[0]!r} in {words!r}" for found in MENTION.finditer(words))
    if {it.type for it in pieces} & {"image", "html_inline", "html_block"}:
        yield "an image or HTML"
    body = note.partition(f"**{BY_MODEL}**\n\n")[2].partition("\n\n**Sources**")[0]
    yield from (f"not quoted: {line!r}" for line in body.split("\n") if line and line[0] != ">")


def wrong_in_text(message: Message) -> Iterator[str]:
    """Yield what is wrong with the text of a message."""
    for for_chat in (False, True):
        text = to_text(message, for_chat=for_chat)
        body = text.partition(BY_MODEL + "\n")[2].partition("\n\nSources:")[0]
        yield from (f"not quoted: {it!r}" for it in body.split("\n") if it and it[0] != ">")
        outside = re.sub(r"^>(?: {4}| .*?`{3}\n).*$", "", body, flags=re.MULTILINE)
        if not for_chat and set(map(int, NUMBER.findall(outside))) - set(
            range(1, len(message.places) + 1)
        ):
            yield f"a number of nothing: {outside!r}"
        if for_chat and re.search(
            r"@\w", re.sub(r"```.*?```|https://git.example\S*", "", text, flags=re.DOTALL)
        ):
            yield "a mention"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_hostile_answer_brings_nothing_of_its_own_into_a_channel(family, shelves):
    for index in range(EACH):
        (answer, _), shelf, _ = hostile(family, index, shelves)
        verified = verify(answer, shelf.ledger)
        message = message_from("Why?", WHOLE, told_parts(verified), by_model=True)
        message = replace(message, links=LINKS)
        wrong = [
            *unproven(message, shelf),
            *wrong_in_slack(message),
            *wrong_in_note(message),
            *wrong_in_text(message),
        ]
        assert not wrong, (family, index, wrong, answer)


def test_a_part_of_a_step_lists_a_source_again_that_an_earlier_part_had(shelves):
    (answer, _), shelf, _ = hostile("tags_with_brackets", 229, shelves)
    message = message_from("Why?", WHOLE, told_parts(verify(answer, shelf.ledger)), by_model=True)
    posted = to_slack(replace(message, links=LINKS))
    inline = [set(numbers_in(it["blocks"])[0]) for it in posted]
    assert inline[0] & inline[1]
    assert [set(numbers_in(it["blocks"])[1]) for it in posted] == inline


@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_headings_of_documents_make_no_button_that_says_more_than_a_name(family, shelves):
    for index in range(EACH):
        (answer, _), shelf, _ = hostile(family, index, shelves)
        cited = [entry.citation for entry in shelf.ledger.entries[:3]]
        said = (answer.split("\n") * 3)[: len(cited)]
        reading = [
            {**it.to_dict(), "section_header": line} for it, line in zip(cited, said, strict=True)
        ]
        advice = {**WHOLE["recommendation"], "reading": reading, "meant": said}
        unclear = {
            **WHOLE,
            "status": "no_match",
            "reasoning": "It is unclear.",
            "recommendation": advice,
        }
        message = message_from(answer, unclear, [], by_model=False)
        message = replace(message, links=LINKS)
        assert len(message.offers) == len(cited)
        wrong = [*unproven(message, shelf), *wrong_in_slack(message)]
        assert not wrong, (family, index, wrong, answer)
