"""A retrieved document is laid out as its author meant it: sections, and the blocks in them."""

from unittest.mock import patch

import pytest

from knowledge_rag.core.headings import Kind
from knowledge_rag.orchestrator import outline as outline_module
from knowledge_rag.orchestrator.outline import LABEL_LEVEL, Form, outline_of, plain_words
from tests.support.linear import assert_linear
from tests.support.runbooks import outlined, outlined_in_part, passages, section_called


def shape(text, **more):
    """Return level, heading and the first line of each section below the root."""
    return [
        (it.level, it.heading, it.start) for it in outlined(text, **more).sections() if it.level
    ]


def items_of(text):
    """Return the marks and lines of all list items."""
    return [
        (item.mark, item.start, item.end)
        for section in outlined(text).sections()
        for block in section.blocks
        for item in block.items
    ]


class TestSections:
    def test_stand_below_the_nearest_heading_of_a_higher_level(self):
        deep = section_called(outlined("# A\n\n## B\n\n### C\n\n- x\n\n## D\n\n- y\n"), "C")
        assert deep.path == ("A", "B", "C")
        assert [it.heading for it in deep.above()] == ["B", "A", ""]

    def test_keep_a_level_that_was_skipped(self):
        assert shape("# A\n\n#### B\n\n- x\n\n## C\n\n- y\n") == [
            (1, "A", 1),
            (4, "B", 3),
            (2, "C", 7),
        ]
        assert section_called(outlined("# A\n\n#### B\n\n- x\n\n## C\n\n- y\n"), "C").path == (
            "A",
            "C",
        )

    def test_end_with_the_last_line_below_them(self):
        outline = outlined("# A\n\n- x\n\n## B\n\n- y\n- z\n\n\n## C\n\nEnd.\n")
        assert [(it.heading, it.end) for it in outline.sections()] == [
            ("", 13),
            ("A", 13),
            ("B", 8),
            ("C", 13),
        ]

    def test_hold_themselves_and_what_stands_below(self):
        outline = outlined("# A\n\n## B\n\n- x\n\n## C\n\n- y\n")
        a, b, c = (section_called(outline, name) for name in "ABC")
        assert a.holds(a)
        assert a.holds(b)
        assert not b.holds(a)
        assert not b.holds(c)

    def test_begin_with_the_lines_above_the_first_heading(self):
        root = outlined("Read this first.\n\n# A\n\n- x\n").root
        assert [(block.form, block.start) for block in root.blocks] == [(Form.PARAGRAPH, 1)]

    @pytest.mark.parametrize("name", ["runbooks/disk.md", "runbooks/disk.txt"])
    def test_may_have_underlined_headings(self, name):
        text = "DISK FULL\n=========\n\nWhat to do\n----------\n\n1. Free it.\n"
        assert shape(text, source_file=name) == [(1, "DISK FULL", 1), (2, "What to do", 4)]

    def test_do_not_begin_at_a_comment_of_a_script(self):
        assert shape("# A\n\n```bash\n# no heading\nls\n```\n") == [(1, "A", 1)]

    @pytest.mark.parametrize("opened", ["> ", "- "])
    def test_do_not_begin_inside_quotes_and_items(self, opened):
        assert shape(f"# A\n\n{opened}# no heading\n") == [(1, "A", 1)]

    @pytest.mark.parametrize(
        ("heading", "words"),
        [
            ("## **Mitigation**", "Mitigation"),
            ("## `DiskFull` alert", "DiskFull alert"),
            ("## [Fix](x.md#y) it", "Fix it"),
            ("## Fix {#fix}", "Fix"),
            ("## snake_case_name", "snake_case_name"),
            ("## __Fix__", "Fix"),
            ("<h2>Fix <b>it</b></h2>", "Fix it"),
        ],
    )
    def test_have_headings_without_marks(self, heading, words):
        assert shape(f"# A\n\n{heading}\n\n- x\n")[1] == (2, words, 3)

    @pytest.mark.parametrize(
        ("heading", "anchor"),
        [("## Fix {#slow}", "slow"), ("## Fix {: #slow .note}", "slow"), ("## Fix", "")],
    )
    def test_may_set_their_own_anchor(self, heading, anchor):
        assert section_called(outlined(f"# A\n\n{heading}\n\n- x\n"), "Fix").anchor == anchor

    def test_of_a_title_say_nothing_of_what_the_page_is_for(self):
        outline = outlined("# Recovery of the cache\n\n## Recovery\n\n- x\n")
        assert section_called(outline, "Recovery of the cache").kind is Kind.OTHER
        assert section_called(outline, "Recovery").kind is Kind.RESOLUTION

    def test_of_a_report_say_nothing_of_what_they_are_for(self):
        outline = outlined("# A\n\n## Resolution\n\n- x\n", "postmortems/2026-01.md")
        assert {it.kind for it in outline.sections()} == {Kind.OTHER}


class TestLabels:
    @pytest.mark.parametrize(
        ("line", "heading", "kind"),
        [
            ("Undo:", "Undo", Kind.ROLLBACK),
            ("**Verification**", "Verification", Kind.VERIFICATION),
            ("**Mitigation:**", "Mitigation", Kind.RESOLUTION),
            ("__Escalation__:", "Escalation", Kind.ESCALATION),
            ("How to diagnose:", "How to diagnose", Kind.DIAGNOSIS),
        ],
    )
    def test_are_headings_where_they_only_say_what_follows_is_for(self, line, heading, kind):
        labelled = section_called(outlined(f"# A\n\n## B\n\n{line}\n\n- x\n"), heading)
        assert (labelled.level, labelled.kind) == (LABEL_LEVEL, kind)
        assert labelled.path == ("A", "B", heading)

    @pytest.mark.parametrize(
        "line",
        ["On the primary:", "Undo the last deployment:", "undo:", "Undo", "Undo: put it back.", "**Never do this**", "**It is done.**",
         "**Careful**", "**Disk** full"],
    )  # fmt: skip
    def test_are_paragraphs_where_they_say_more(self, line):
        assert shape(f"# A\n\n## B\n\n{line}\n\n- x\n") == [(1, "A", 1), (2, "B", 3)]

    def test_are_headings_where_they_stand_in_bold_alone(self):
        text = "# A\n\n**Screens are black**\n\n- x\n\n**Old data (staff)**\n\n- y\n"
        assert shape(text) == [
            (1, "A", 1),
            (LABEL_LEVEL, "Screens are black", 3),
            (LABEL_LEVEL, "Old data (staff)", 7),
        ]

    def test_are_headings_where_what_they_name_is_still_to_be_written(self):
        text = (
            "# A\n\n**Full**\n\n- x\n\n**TODO: code mismatch**\n\nSomeone has to write this down.\n"
        )
        assert [it[1] for it in shape(text)] == ["A", "Full", "TODO: code mismatch"]

    def test_end_at_the_next_heading(self):
        assert shape("# A\n\nUndo:\n\n- x\n\n## B\n\n- y\n") == [
            (1, "A", 1),
            (LABEL_LEVEL, "Undo", 3),
            (2, "B", 7),
        ]

    def test_follow_each_other_side_by_side(self):
        outline = outlined("# A\n\n**Diagnosis**\n\n- x\n\n**Rollback**\n\n- y\n")
        assert section_called(outline, "Rollback").path == ("A", "Rollback")


class TestLists:
    def test_keep_their_authors_marks(self):
        assert [mark for mark, *_ in items_of("# A\n\n7. a\n7. b\n\n- c\n\n3) d\n")] == [
            "7.",
            "7.",
            "-",
            "3)",
        ]

    def test_hold_their_code_and_their_inner_items(self):
        text = "# A\n\n1. a:\n\n   ```\n   x\n\n   y\n   ```\n\n   - inner\n2. b\n"
        assert items_of(text) == [("1.", 3, 11), ("2.", 12, 12)]
        (block,) = section_called(outlined(text), "A").blocks
        assert block.items[0].code == ((5, 9),)

    def test_leave_code_that_is_not_indented_behind_them(self):
        section = section_called(outlined("# A\n\n1. a\n\n```\nx\n```\n\n2. b\n"), "A")
        assert [(it.form, it.start, it.end) for it in section.blocks] == [
            (Form.LIST, 3, 3),
            (Form.CODE, 5, 7),
            (Form.LIST, 9, 9),
        ]

    def test_end_before_the_blank_lines_behind_them(self):
        (block,) = section_called(outlined("# A\n\n- a\n- b\n\n\n\n## C\n\nx\n"), "A").blocks
        assert (block.start, block.end) == (3, 4)

    def test_may_be_boxes_to_tick_without_a_mark(self):
        text = "Then:\n  [ ] look at\n      the disk\n  [x] call Ann\n"
        assert items_of(text) == [("-", 2, 3), ("-", 4, 4)]


class TestOtherBlocks:
    @pytest.mark.parametrize(
        ("text", "form"),
        [
            ("Words.\nMore.", Form.PARAGRAPH),
            ("```\nx\n```", Form.CODE),
            ("    x", Form.CODE),
            ("| a |\n|---|\n| b |", Form.TABLE),
            ("> a\n> b", Form.QUOTE),
            ("<div>\nx\n</div>", Form.HTML),
        ],
    )
    def test_are_what_commonmark_calls_them(self, text, form):
        (block,) = section_called(outlined(f"# A\n\n{text}\n\n\n"), "A").blocks
        assert (block.form, block.start, block.end) == (form, 3, 3 + text.count("\n"))

    def test_a_rule_is_none(self):
        assert section_called(outlined("# A\n\n---\n\n***\n"), "A").blocks == []


class TestLines:
    def test_of_windows_files_lose_their_carriage_return_alone(self):
        outline = outlined("# A\r\n\r\n1. a\r\n   more \r\n")
        assert outline.text(1, 4) == "# A\n\n1. a\n   more "
        assert items_of("# A\r\n\r\n1. a\r\n2. b\r\n") == [("1.", 3, 3), ("2.", 4, 4)]

    @pytest.mark.parametrize("odd", ["\u2028", "\u0085", "\x0b", "\x0c", "x\ry"])
    def test_end_at_line_feeds_alone(self, odd):
        text = f"# A\n\n1. a{odd}b\n2. c\n\n## B\n\n- d\n"
        assert shape(text) == [(1, "A", 1), (2, "B", 6)]
        assert items_of(text)[:2] == [("1.", 3, 3), ("2.", 4, 4)]

    def test_count_from_the_documents_own_first_line(self):
        outline = outlined("---\ntitle: A\n---\n# A\n\n- x\n")
        assert (outline.title, section_called(outline, "A").start) == ("A", 4)

    def test_of_front_matter_are_not_shown_and_file_the_page_under_its_alerts(self):
        outline = outlined("---\nalerts: [DiskFull, DiskSlow]\n---\n# A\n\n- x\n")
        assert outline.alerts == ("DiskFull", "DiskSlow")
        assert outline.text(1, 3).strip() == ""


LONG = "# A\n\n" + "".join(
    f"## Part {n}\n\n" + "".join(f"- step {n}.{m} {'x' * 60}\n" for m in range(12)) + "\n"
    for n in range(6)
)


class TestGaps:
    def test_there_are_none_in_a_whole_document(self):
        outline = outlined(LONG)
        assert outline.gaps(1, max(outline.lines)) == ()

    def test_are_the_lines_between_passages_that_were_not_retrieved(self):
        found = passages("runbooks/page.md", LONG)
        assert len(found) > 4
        outline = outlined_in_part(LONG, 0, 2)
        first, third = found[0].citation, found[2].citation
        assert outline.gaps(1, third.end_line) == ((first.end_line + 1, third.start_line - 1),)

    def test_are_unknown_at_both_ends_too(self):
        found = passages("runbooks/page.md", LONG)
        outline = outlined_in_part(LONG, 2)
        at = found[2].citation
        assert outline.gaps(1, at.end_line + 5) == (
            (1, at.start_line - 1),
            (at.end_line + 1, at.end_line + 5),
        )

    def test_are_wider_than_the_blank_line_between_passages(self):
        found = passages("runbooks/page.md", LONG)
        outline = outline_of(found, whole=False)
        assert len(found) > len(outline.root.children)
        assert outline.gaps(1, max(outline.lines)) == ()


def test_passages_that_come_twice_or_in_any_order_make_the_same_outline():
    found = passages("runbooks/page.md", LONG)
    wanted = outline_of(found, whole=True)
    again = outline_of([*reversed(found), *found], whole=True)
    assert again.lines == wanted.lines
    assert [it.path for it in again.sections()] == [it.path for it in wanted.sections()]


def test_a_document_of_20_000_lines_is_parsed_once():
    text = "# A\n\n" + "".join(f"## B{n}\n\n1. x\n\n   ```\n   y\n   ```\n\n" for n in range(2500))
    found = passages("runbooks/page.md", text)
    real = outline_module._parser()
    parsed = []

    class Counting:
        def parse(self, lines):
            parsed.append(lines)
            return real.parse(lines)

    with patch.object(outline_module, "_parser", Counting):
        outline = outline_of(found, whole=True)
    assert len(parsed) == 1
    assert parsed[0].count("\n") + 1 == max(outline.lines) == 20_001
    assert sum(1 for it in outline.sections() if it.level == 2) == 2500


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1. Free space. <!-- old: rm x --> Check it.", "1. Free space.  Check it."),
        (
            "1. Free space. <!-- begin\n   rm -rf /data\n   end --> Check.",
            "1. Free space. \n\n Check.",
        ),
        ("Run it.\n<!--\n\nrm -rf /data\n-->\nCheck.", "Run it.\n\n\n\n\nCheck."),
        ("<!-- never ended\n\nrm -rf /data", "\n\n"),
        ("- Count `<!-- a -->` and ``<!-- ` -->``.", "- Count `<!-- a -->` and ``<!-- ` -->``."),
        ("- `one <!-- rm -->", "- `one "),
        ("- a <!-- ` --> b <!-- ` --> c", "- a  b  c"),
        ("- a <!--> b -->", "- a <!--> b -->"),
        ("- a <!-- b", "- a <!-- b"),
        ("```\nsed 's/<!-- a -->/b/' f\n```", "```\nsed 's/<!-- a -->/b/' f\n```"),
        ("| a <!-- b --> | c |\n|---|---|", "| a  | c |\n|---|---|"),
        ("## Free <!-- hidden --> space", "## Free  space"),
    ],
)
def test_what_comments_hide_is_blank(text, shown):
    outline = outlined(text + "\n")
    assert outline.text(1, text.count("\n") + 1) == shown


def test_a_heading_is_told_without_its_comments():
    assert section_called(outlined("# A\n\n## Free <!-- hidden --> space\n"), "Free space")


@pytest.mark.parametrize("part", ["<!-- ", "` `` ``` ", "<!-- --> ", "-->", "`<!--` "])
def test_hidden_text_takes_linear_time(part):
    assert_linear(outlined, "- " + part * 30_000)


def test_a_heading_of_many_marks_takes_no_long_time():
    assert plain_words("*" * 50_000 + "x")
    assert plain_words("![" * 20_000)


@pytest.mark.parametrize(
    "line", ["**Q: The agent is offline.**", "**Is the pod pending?**", "__Q: Disk full (X)?__"]
)
def test_a_question_alone_in_bold_is_a_heading(line):
    outline = outlined(f"# FAQ\n\n{line}\n\nA: Restart it.\n")
    assert [it.level for it in outline.sections()][-1] == LABEL_LEVEL


def test_a_sentence_in_bold_is_none():
    outline = outlined("# FAQ\n\n**Nobody starts it alone.**\n\nA: Restart it.\n")
    assert [it.heading for it in outline.sections() if it.level] == ["FAQ"]


def test_in_plain_text_a_numbered_line_that_stands_alone_above_indented_ones_is_a_heading():
    text = (
        "BATCH\n=====\n\n5 JOBS\n------\n\n5.1 CLASS C ENDED NOT OK\n\n  a) Look.\n  b) Rerun it.\n\n"
        "5.2 PAYRUN ENDED NOT OK\n\n  a) Do not rerun it.\n\n6 CLOSING\n---------\n\n6.1 Write it down.\n\n6.2 Go home.\n"
    )
    headings = [it.heading for it in outlined(text, "batch.txt").sections() if it.level]
    assert headings == ["BATCH", "5 JOBS", "5.1 CLASS C ENDED NOT OK", "5.2 PAYRUN ENDED NOT OK", "6 CLOSING"]  # fmt: skip
    assert "5.1 CLASS C ENDED NOT OK" not in [it.heading for it in outlined(text).sections()]


def test_a_table_of_what_to_do_is_no_background():
    text = "# CDN\n\n## Symptoms\n\n| See | {} |\n|---|---|\n| 503 | wait |\n"
    for column, kind in (("Do", Kind.OTHER), ("What to do", Kind.OTHER), ("Why", Kind.BACKGROUND)):
        assert section_called(outlined(text.format(column)), "Symptoms").kind is kind


def test_a_name_in_a_heading_says_nothing_of_its_section():
    text = "# Portal\n\n## Alert: PortalChangelogLock\n\n1. Release the lock.\n\n## Changelog\n\n- 2024: more.\n"
    outline = outlined(text)
    assert section_called(outline, "Alert: PortalChangelogLock").kind is Kind.OTHER
    assert section_called(outline, "Changelog").kind is Kind.OBSOLETE


MATTERS = """\
# Alerts

Of the store.

## StoreIngestBehind

See the page of the operator.

## StoreDataTooOld

Meaning: it has data of last year.

{{meaning}}

1. Find the tenant.
2. Flush its data.

## StoreQueueFull

1. Add a worker.
"""


def test_a_passage_behind_a_gap_is_in_the_section_that_it_says():
    meaning = "\n".join(f"The store has {n} kinds of data that may be too old." for n in range(40))
    found = passages("store.md", MATTERS.replace("{{meaning}}", meaning))
    *_, steps = (it for it in found if it.metadata["section_path"].endswith("TooOld"))
    assert "Flush" in steps.content
    known = [it for it in found if it is steps or "TooOld" not in it.metadata["section_path"]]
    outline = outline_of(known, whole=False)
    behind, entered = (
        section_called(outline, it) for it in ("StoreIngestBehind", "StoreDataTooOld")
    )
    assert [it.form for it in behind.blocks] == [Form.PARAGRAPH]
    assert [len(it.items) for it in entered.blocks if it.form is Form.LIST] == [2]
    assert entered.parent is behind.parent
    assert entered.start == steps.citation.start_line


def test_a_list_that_goes_on_behind_a_gap_is_one_list():
    lines = [
        f"{n}. Do what is said on page {n} of the book of this system, line by line."
        for n in range(1, 90)
    ]
    text = "\n".join(["# Page", "", "Never do this:", "", *lines, ""])
    found = passages("page.md", text)
    assert len(found) > 2
    outline = outline_of([found[0], found[-1]], whole=False)
    section = section_called(outline, "Page")
    assert [it.form for it in section.blocks] == [Form.PARAGRAPH, Form.LIST]
