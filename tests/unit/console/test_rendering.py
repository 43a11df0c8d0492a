"""Answers in HTML: blocks, sanitised, with the citations of the verified answer and no others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_rag.channel.marks import Reference
from knowledge_rag.console.rendering import (
    PATIENT_CHARACTERS,
    PATIENT_SHARE,
    AnswerRenderer,
    mark_of,
    sanitised,
)
from tests.unit.console.pages import Elements, assert_inert, cited, referred, said
from tests.unit.console.test_markup import HOSTILE

ANSWER = """## Guidance

1. **First**: pause it. [Source 1]

   ```bash
   aws ecs update-service --desired-count 0
   ```
2. Then wait
   for it. [Source 1]

   - inner
   - items

| a | b |
|---|---|
| 1 | 2 |

> quoted
lazily

Underlined
==========

    code

- a
- b

* other list
***
The end. [Source 1]
"""


def parts_of(text):
    """Cut a text as the orchestrator does: its references are parts of their own."""
    pieces = text.split("[Source 1]")
    parts = [part for piece in pieces for part in (said(piece), referred())][:-1]
    return [part for part in parts if part["text"]]


def streamed(parts, cuts):
    """Render in pieces; give the blocks in the end, and how much was rendered for it."""
    renderer, blocks, sizes = AnswerRenderer(), {}, []
    for part in parts:
        pieces = [part] if "citations" in part else list(map(said, cuts(part["text"])))
        for piece in pieces:
            renderer.feed([piece])
            if renderer.is_due():
                sizes.append(take(renderer, blocks))
    sizes.append(take(renderer, blocks))
    return [blocks[number] for number in sorted(blocks) if blocks[number]], sizes


def take(renderer, blocks):
    changed = renderer.render()
    blocks.update({block.number: block.html for block in changed})
    return sum(len(block.html) for block in changed)


def whole(text):
    return [text]


def by_character(text):
    return list(text)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
def test_pieces_of_any_size_give_the_same_blocks(size):
    def cuts(text):
        return [text[at : at + size] for at in range(0, len(text), size)]

    parts = parts_of(ANSWER)
    assert streamed(parts, cuts)[0] == streamed(parts, whole)[0]


PIECES = [
    "- ", "1. ", "> ", "\n", "\n\n", "    ", "a", "**", "`", "```\n", "|", "---\n", "===\n", "# ",
    "[x](https://a.b)", "[Source 1]", "<b>", "-5", "* ",
]  # fmt: skip


@settings(max_examples=60)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_every_text_gives_in_the_end_what_it_gives_at_once(text):
    parts = parts_of(text)
    assert "".join(streamed(parts, by_character)[0]) == "".join(streamed(parts, whole)[0])


def test_a_block_that_was_none_after_all_is_taken_back():
    renderer = AnswerRenderer()
    renderer.feed([said("1. a\n-")])
    assert [block.number for block in renderer.render()] == [0, 1]
    renderer.feed([said("5 degrees")])
    first, second = renderer.render()
    assert "5 degrees" in first.html
    assert (second.number, second.html) == (1, "")


def test_a_block_that_is_over_is_not_sent_again():
    renderer = AnswerRenderer()
    renderer.feed([said("One.\n\nTwo.\n\nThr")])
    assert [block.number for block in renderer.render()] == [0, 1, 2]
    renderer.feed([said("ee.")])
    assert [block.number for block in renderer.render()] == [2]


def test_rendering_stays_linear_however_long_one_block_grows():
    # a list of 400 items is one block: without patience its HTML would be made 400 times
    text = "".join(f"{number}. Do this and then that.\n" for number in range(1, 401))
    blocks, sizes = streamed([said(text)], lambda it: [line + "\n" for line in it.split("\n")[:-1]])
    (html,) = blocks
    small = PATIENT_CHARACTERS * 4 * (PATIENT_CHARACTERS // 25)
    assert sum(sizes) <= 2 * PATIENT_SHARE * len(html) + small
    assert len(sizes) < 200


def test_carriage_returns_end_lines_wherever_the_pieces_are_cut():
    text = "# a\r\n\r\n- b\r\n- c\r\n\r\nd\r\n"
    assert (
        streamed([said(text)], by_character)[0]
        == streamed([said(text.replace("\r", ""))], whole)[0]
    )


REFERENCE = Reference("[Source 1]", (cited(),))


class Always:
    """References of every number."""

    def __getitem__(self, _number):
        return REFERENCE


@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE)
def test_html_that_came_through_the_first_fence_is_made_inert(html):
    page = Elements(sanitised(html, Always()))
    assert not {name for name, _ in page.elements} & {"script", "style", "iframe", "form", "img"}
    for _, attributes in page.elements:
        assert not {
            name for name in attributes if name.startswith(("on", "data-", "style", "id"))
        } - ({"data-number", "data-lines"} if attributes.get("class") == "cite" else set())


def test_only_a_mark_becomes_a_citation():
    forged = '<a class="cite" data-number="1" href="/doc/runbooks/a.md#L5-L10">[1]</a>'
    page = Elements(sanitised(f"<p>{forged} {mark_of(0)}</p>", [REFERENCE]))
    assert page.text == "[1] [1]"
    former, real = page.named("a")
    assert former == {"target": "_blank", "rel": "noopener noreferrer"}
    assert real["class"] == "cite"


def test_classes_are_those_of_the_list_alone():
    html = '<code class="language-bash">a</code><code class="language-a b">b</code><span class="host">c</span><span class="card">d</span><td class="right">e</td><ol start="2"></ol><ol start="-1"></ol><p class="label">f</p><p class="card">g</p>'
    page = Elements(sanitised(html, []))
    assert page.named("code") == [{"class": "language-bash"}, {}]
    assert page.named("span") == [{"class": "host"}, {}]
    assert page.named("p") == [{"class": "label"}, {}]
    assert page.named("ol") == [{"start": "2"}, {}]


def test_a_file_can_not_break_out_of_its_link():
    hostile = 'runbooks/" onclick="alert(1)"><script>.md'
    html = sanitised(mark_of(0), [Reference("[1]", (cited(1, hostile),))])
    (cite,) = assert_inert(html, cites=1).cites
    assert cite["aria-label"] == f"[1] {hostile}, lines 5-10"
