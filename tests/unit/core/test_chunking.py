import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.chunking import ChunkingSettings, chunk_text
from knowledge_rag.core.chunks import context_prefix
from knowledge_rag.core.documents import parse_front_matter, read_document
from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.tokens import token_cost
from tests.support.exactness import assert_exact

SMALL = ChunkingSettings(max_tokens=128)
"""Leaves 74 tokens for the lines: enough to see splitting in short texts."""


def chunks_of(text, settings=None, name="runbooks/a.md"):
    document, decoded = read_document(name, text.encode())
    return chunk_text(document, decoded, settings)


def spans(text, settings=None, name="runbooks/a.md"):
    return [(c.start_line, c.end_line, c.section_path) for c in chunks_of(text, settings, name)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "intro\n\n# A\n\none\n\n## B\n\ntwo\n\n### C\nthree\n\n## D\nfour\n",
            [(1, 1, ()), (3, 5, ("A",)), (7, 9, ("A", "B")), (11, 12, ("A", "B", "C")), (14, 15, ("A", "D"))],
        ),
        ("# A\n\n## B\n\n### C\ntext\n", [(1, 6, ("A", "B", "C"))]),
        ("# A\ntext\n## Empty\n## B\ntext\n", [(1, 3, ("A",)), (4, 5, ("A", "B"))]),
        ("# A\n", [(1, 1, ("A",))]),
        ("---\ntitle: T\n---\n\n# A\ntext\n", [(5, 6, ("A",))]),
        (
            "# A\n\n```bash\n# not a heading\nls\n```\n\n<!--\n# nor this\n-->\n\nend\n",
            [(1, 12, ("A",))],
        ),
    ],
    ids=["paths", "headings with a first sub-section", "an empty section", "a lone heading", "front matter",
         "fences and comments"],
)  # fmt: skip
def test_a_section_is_a_chunk_and_knows_its_path(text, expected):
    assert spans(text) == expected


def test_plain_text_has_no_headings():
    assert spans("# not a heading\n\ntext\n", name="notes.txt") == [(1, 3, ())]


@pytest.mark.parametrize("text", ["\n\n \t\r\n", "---\na: b\n---\n", "\n"])
def test_a_document_with_nothing_to_say_has_no_chunks(text):
    assert chunks_of(text) == []


def owners_of(block, text):
    """Return the chunks with lines of a block of a text."""
    first = text[: text.index(block)].count("\n") + 1
    last = first + block.count("\n") - 1
    return [c for c in chunks_of(text, SMALL) if c.start_line <= last and c.end_line >= first]


FENCE = "```bash\n" + "aws rds describe-events --duration 60\n" * 4 + "```\n"


@pytest.mark.parametrize(
    "block",
    [
        FENCE,
        FENCE.replace("```", "~~~"),
        "| metric | threshold |\n|---|---|\n" + "| ReplicaLag | 60 |\n" * 4,
        "- check the replica lag of the reader\n  and the writer\n\n  then the events\n",
        "1. run it\n   ```sh\n   aws rds failover-db-cluster\n\n   # wait\n   ```\n",
        "<!-- a comment\n\nwith a blank line and some more words\n-->\n",
        "> a warning that goes on\n> for two lines\n",
    ],
)
def test_what_fits_the_cap_is_kept_whole(block):
    assert token_cost(block) < SMALL.content_tokens
    words = "Some words of prose that fill a chunk to a part of the cap, and then more.\n\n"
    for count in range(1, 6):
        text = "# A\n\n" + words * count + block + "\n" + words * 2
        assert len(owners_of(block, text)) == 1, count


@pytest.mark.parametrize(
    "text",
    [
        "- ```sh\n  cmd\n  ```\n\n"
        + "words " * 40
        + "\n\n```\n"
        + "line of output\n\n" * 6
        + "```\n",
        "words " * 40
        + "\n\n```\n```python\nx = 1\n\ny = 2\n\n    ```\n\nz = 3\n"
        + "more\n" * 9
        + "```\n",
    ],
)
def test_a_fence_ends_where_it_ends_and_not_at_what_looks_alike(text):
    first = text[: text.index("\n\n```\n")].count("\n") + 3
    owners = [c for c in chunks_of(text, SMALL) if c.end_line >= first]
    assert len(owners) == 1


HOSTILE = {
    "spaces before a table's row": "para\n" + " " * 50_000 + "|x\n===\n",
    "spaces before closing marks": "# a" + " " * 50_000 + "b#\n",
    "spaces after a rule": "# h\n" + "word " * 400 + "\n\n***" + " " * 50_000 + "x\n",
    "trailing blank lines": "word " * 400 + "\n" * 50_000,
    "spaces in what is no front matter": "---\na" + " " * 50_000 + "\n---\nx\n",
    "a heading of many words": "# " + "word " * 50_000 + "\ntext\n",
    "a paragraph as a heading": "word " * 50_000 + "\n---\ntext\n",
    "unclosed fences": "```\n" * 20_000,
    "empty items": "-\n" * 20_000,
    "indented candidates": "a\n  # b\n" * 10_000,
    "nested lists": "".join(" " * (n % 200) + "- a\n" for n in range(5_000)),
    "table rows": "|a|b|\n|-|-|\n" * 10_000,
    "attributes": "<a" + " b" * 50_000 + "\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts_take_time_in_proportion_to_their_length(text):
    """Bounded far above what linear needs and far below what quadratic takes (minutes)."""
    started = time.process_time()
    cut = chunks_of(text)
    assert time.process_time() - started < 10
    assert_exact(text, cut, front_matter_lines=0)
    assert all(len(context_prefix(chunk)) < 1_000 for chunk in cut)


TABLE = "| metric | threshold |\n|---|---|\n" + "| ReplicaLag | 60 |\n" * 4


@pytest.mark.parametrize(
    "text",
    [
        "Some words. " * 12 + "\n" + TABLE,
        TABLE + FENCE,
        "[a]: https://example.com/" + "x" * 200 + "\n" + TABLE,
    ],
)
def test_a_table_is_whole_without_blank_lines_around_it_too(text):
    assert len(owners_of(TABLE, text)) == 1


def test_a_long_list_is_cut_between_its_items():
    text = "# Steps\n\n" + "".join(
        f"{n}. Look at metric number {n} and compare it to last week.\n" for n in range(1, 20)
    )
    cut = chunks_of(text, SMALL)
    assert len(cut) > 3
    assert_exact(text, cut)
    assert all(c.content.split("\n")[0][0] in "#123456789" for c in cut)


def test_an_introduction_stays_with_what_it_introduces():
    filler = "Words that take up room in the first chunk, quite a few of them in fact, really.\n\n"
    text = "# A\n\n" + filler * 2 + "Then run this:\n\n" + FENCE
    assert "Then run this:" in chunks_of(text, SMALL)[-1].content


def test_a_heading_stays_with_the_first_lines_of_a_block_that_must_be_split():
    text = "## Dump\n\n```\n" + "some output of a command that is long\n" * 40 + "```\n"
    cut = chunks_of(text, SMALL)
    assert_exact(text, cut)
    assert cut[0].content.count("some output") > 2
    assert {c.section_header for c in cut} == {"Dump"}


def test_only_a_single_line_can_exceed_the_cap_and_it_is_flagged():
    long = "x" * 26_000
    text = f"# A\nbefore\n{long}\nafter\n"
    cut = chunks_of(text)
    assert_exact(text, cut)
    assert [(c.content == long, c.oversized) for c in cut] == [
        (False, False),
        (True, True),
        (False, False),
    ]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("final", [True, False])
def test_line_endings_marks_and_missing_newlines_are_exact(ending, bom, final):
    lines = ["# A", "", "one \u2028 two\u0085\x0b\x0c three", "日本語テキスト", "## B", "end  "]
    text = bom + ending.join(lines) + (ending if final else "")
    document, decoded = read_document("a.md", text.encode())
    cut = chunk_text(document, decoded)
    assert_exact(decoded, cut)
    assert cut[-1].content == ending.join(lines[4:]) + ("\r" if final and ending != "\n" else "")


def test_the_same_bytes_give_the_same_chunks_and_ids():
    text = "# A\none\n## B\ntwo\n"
    first, second = chunks_of(text), chunks_of(text)
    assert first == second
    assert [c.chunk_id for c in first] == [c.chunk_id for c in second]
    assert len({c.chunk_id for c in first}) == 2


def test_an_id_depends_on_file_lines_and_bytes():
    ids = {
        chunk.chunk_id
        for text, name in [("a\n", "a.md"), ("a\n", "b.md"), ("\na\n", "a.md"), ("b\n", "a.md")]
        for chunk in chunks_of(text, name=name)
    }
    assert len(ids) == 4


@pytest.mark.parametrize("max_tokens", [127, 8193, 0, -1])
def test_a_cap_out_of_range_says_what_is_allowed(max_tokens):
    with pytest.raises(InvalidSettings, match="allowed: 128 to 8192"):
        ChunkingSettings(max_tokens=max_tokens)


def test_the_fingerprint_tells_settings_apart():
    assert ChunkingSettings().fingerprint == ChunkingSettings(256).fingerprint != SMALL.fingerprint


LINE = st.sampled_from(
    ["# A", "## B", "#### C", "text " * 8, "", "", "  ", "\t", "---", "===", "```", "~~~", "- item",
     "  - inner item", "1. step", "   more of the step", "    code", "> quote", "<div>", "<!--",
     "-->", "<pre>", "</pre>", "| a | b |", "|---|---|", "\r", "x" * 400, "日本" * 20, "\u2028",
     "introduces:", "title: x", "..."]
) | st.text(max_size=30)  # fmt: skip


@given(
    st.lists(LINE, max_size=24).map("\n".join),
    st.sampled_from([None, SMALL]),
    st.sampled_from(["a.md", "a.txt"]),
)
def test_every_text_is_chunked_exactly(text, settings, name):
    if not text.lstrip("\ufeff") or "\0" in text:
        return
    document, decoded = read_document(name, text.encode(errors="replace"))
    cut = chunk_text(document, decoded, settings)
    body = parse_front_matter(decoded).end if name == "a.md" else 0
    front = decoded[:body].count("\n") + (body > 0 and decoded[body - 1] != "\n")
    assert_exact(decoded, cut, front_matter_lines=front)
    assert cut == chunk_text(document, decoded, settings)
    cap = (settings or ChunkingSettings()).content_tokens
    for chunk in cut:
        # a pair of spaces across the chunk's edge is counted on one side of it: half a token
        slack = 0.5 if chunk.oversized else -0.5
        assert chunk.oversized == (token_cost(chunk.content) + slack > cap)
        assert not chunk.oversized or chunk.start_line == chunk.end_line


def test_blank_lines_are_where_a_long_section_is_cut():
    paragraphs = [
        f"Paragraph {n} has some words,\nand goes on in a second line." for n in range(20)
    ]
    cut = chunks_of("# A\n\n" + "\n\n".join(paragraphs) + "\n", SMALL)
    assert len(cut) > 3
    assert all(c.content.startswith(("# A", "Paragraph")) for c in cut)
    assert all(c.content.endswith("second line.") for c in cut)


def test_an_item_that_fits_is_whole_even_where_its_heading_no_longer_fits_with_it():
    item = "- " + "word " * 24 + "\n\n  " + "more " * 20 + "\n\n  " + "last " * 23 + "word"
    assert token_cost(item) < SMALL.content_tokens < token_cost("## A heading\n\n" + item)
    cut = chunks_of(f"## A heading\n\n{item}\n\nand then some text\n", SMALL)
    assert [c.content for c in cut][:2] == ["## A heading", item]


def test_a_section_that_is_long_only_by_its_indents_stays_whole():
    text = "# A\n\n" + "- item\n\n" + (" " * 400 + "x\n") * 10
    assert token_cost(text) < SMALL.content_tokens < len(text) * 0.2
    assert spans(text, SMALL) == [(1, 14, ("A",))]
