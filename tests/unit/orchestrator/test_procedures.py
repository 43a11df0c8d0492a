"""A section becomes a procedure whole, in its author's order, and what must not be done never becomes a step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.headings import Kind
from knowledge_rag.orchestrator.governing import Governs
from knowledge_rag.orchestrator.procedures import (
    MAX_ITEMS,
    NotShown,
    Why,
    action_lines,
    asks_for_something,
    procedure_of,
    spans,
)
from tests.support.examples import up_to
from tests.support.runbooks import (
    PAGE,
    outlined,
    outlined_in_part,
    passages,
    procedure_in,
    section_called,
)

HEAD = "# Mail queue\n\n## Fix\n\n"


def fix(text):
    """Return the procedure of a section that says how to fix something."""
    return procedure_in(HEAD + text, "Fix")


def texts(procedure):
    return [item.text for item in procedure.items]


def numbers(procedure):
    return [item.number for item in procedure.items]


def guards(item, *kinds):
    """Return the texts of what governs an item, its headings aside."""
    return [
        it.text
        for it in item.governing
        if it.kind in (kinds or tuple(Governs))
        and not (it.kind is Governs.NOTE and it.text.startswith("#"))
    ]


def never(procedure):
    """Return what is kept as a warning of something not to be done, each text once."""
    kept = (it for item in procedure.items for it in item.governing)
    return list(
        dict.fromkeys(it.text for it in kept if it.kind in (Governs.PROHIBITED, Governs.OBSOLETE))
    )


class TestItems:
    @pytest.mark.parametrize(
        ("markdown", "text", "commands", "lines"),
        [
            ("- Free the disk.", "Free the disk.", (), (5, 5)),
            ("* [ ] Free the disk.", "[ ] Free the disk.", (), (5, 5)),
            ("7) Free the disk,\n   all of it.", "Free the disk,\nall of it.", (), (5, 6)),
            ("- Free it:\n\n  - logs\n  - images", "Free it:\n\n- logs\n- images", (), (5, 8)),
            ("Free it:\n\n```sh\nrm a\nrm b\n```", "Free it:", ("rm a\nrm b",), (5, 10)),
            ("- Free it:\n  ```\n  a\n  ```\n  ```\n  b\n  ```", "Free it:", ("a", "b"), (5, 11)),
            ("- Free it:\n\n  ````\n  ```\n  x\n  ```\n  ````", "Free it:", ("```\nx\n```",), (5, 11)),
            ("- Free the disk.\r\n", "Free the disk.", (), (5, 5)),
            ("- 解放磁盘 disk\u2028空间", "解放磁盘 disk\u2028空间", (), (5, 5)),
            ("- Free the disk `a`` b`.", "Free the disk `a`` b`.", (), (5, 5)),
            ("~~~\nrm a\n~~~", "rm a", ("rm a",), (5, 7)),
            ("```\nrm a", "rm a", ("rm a",), (5, 6)),
        ],
    )  # fmt: skip
    def test_are_the_authors_words_without_marks_and_indent(self, markdown, text, commands, lines):
        (item,) = fix(markdown).items
        assert (item.text, item.commands, (item.start, item.end)) == (text, commands, lines)

    def test_have_their_code_where_their_author_put_it(self):
        text = "1. First:\n\n   ```bash\n   a\n   ```\n\n   Then:\n\n   ```\n   b\n   ```\n"
        (item,) = fix(text).items
        assert [(it.text, it.is_code, it.language) for it in item.parts] == [
            ("First:", False, ""),
            ("a", True, "bash"),
            ("Then:", False, ""),
            ("b", True, ""),
        ]

    def test_take_code_that_stands_right_behind_them_without_indent(self):
        first, second = fix("1. Drain it:\n\n```\na\n```\n\n2. Start it.\n").items
        assert (first.commands, first.start, first.end) == (("a",), 5, 9)
        assert second.commands == ()

    @pytest.mark.parametrize(
        ("markdown", "marks"),
        [
            ("1. a\n1. b\n1. c\n", ["1.", "1.", "1."]),
            ("7. a\n8. b\n", ["7.", "8."]),
            ("1) a\n2) b\n", ["1)", "2)"]),
            ("a) one\nb) two\n", ["a)", "b)"]),
            ("1\\. one\n2\\. two\n", ["1.", "2."]),
            ("- a\n* b\n", ["", ""]),
            ("1. a\n\n   more\n\n2. b\n", ["1.", "2."]),
        ],
    )
    def test_keep_their_authors_numbers(self, markdown, marks):
        assert numbers(fix(markdown)) == marks

    def test_hold_the_items_inside_them(self):
        first, second = fix("1. a\n   1. inner\n   2. next\n      - deep\n2. b\n").items
        assert first.text == "a\n1. inner\n2. next\n   - deep"
        assert second.text == "b"

    def test_are_rows_of_a_table_with_its_columns(self):
        procedure = fix("| Seen | Do |\n|---|---|\n| full | free it |\n| slow | wait \\| see |\n")
        assert texts(procedure) == ["Seen: full | Do: free it", "Seen: slow | Do: wait | see"]
        assert [guards(it) for it in procedure.items] == [["| Seen | Do |\n|---|---|"]] * 2

    def test_are_paragraphs_where_a_section_says_what_to_do(self):
        assert texts(fix("Drain it.\n\nThen start it.\n")) == ["Drain it.", "Then start it."]

    def test_are_list_items_of_html(self):
        (item,) = fix("<ul>\n<li>Drain it.</li>\n<li>Start it.</li>\n</ul>\n").items
        assert item.text == "Drain it.\nStart it."

    def test_say_what_their_section_is_for(self):
        text = (
            "# Mail\n\n## Diagnosis\n\n- a\n\n## Fix\n\n- b\n\nUndo:\n\n- c\n\n## Contacts\n\n- d\n"
        )
        assert [(it.text, it.kind) for it in procedure_in(text).items] == [
            ("a", Kind.DIAGNOSIS),
            ("b", Kind.RESOLUTION),
            ("c", Kind.ROLLBACK),
            ("d", Kind.ESCALATION),
        ]

    @pytest.mark.parametrize(
        "markdown",
        ["TODO", "- TBD", "[The disk](disk.md).", "---", "Owner: the disk team", "<!-- x -->"],
    )  # fmt: skip
    def test_are_none_where_nothing_is_asked_for(self, markdown):
        outline = outlined(f"{HEAD}{markdown}\n")
        assert procedure_of(outline, section_called(outline, "Fix")) is None

    def test_are_links_in_a_list_since_a_fix_may_be_one(self):
        assert texts(fix("- [Empty the disk](disk.md)\n- https://example.com/x\n")) == [
            "[Empty the disk](disk.md)",
            "https://example.com/x",
        ]


class TestWhatGoverns:
    def test_a_condition_in_front_of_a_list_governs_each_of_its_items(self):
        procedure = fix("On staging only:\n\n- a\n- b\n\nThen:\n\n- c\n")
        assert [guards(it, Governs.CONDITION) for it in procedure.items] == [
            ["On staging only:"],
            ["On staging only:"],
            [],
        ]

    @pytest.mark.parametrize("what", ["| a | b |\n|---|---|\n| c | d |", "```\nx\n```", "- a"])
    def test_a_condition_is_kept_in_front_of_anything(self, what):
        (item,) = fix(f"If the disk is full:\n\n{what}\n").items
        assert "If the disk is full:" in [item.text, *guards(item, Governs.CONDITION)]

    def test_a_condition_in_a_heading_governs_all_below_it(self):
        text = "# Mail\n\n## If the disk is full\n\n- a\n- b\n\n### Next\n\n- c\n\n## Else\n\n- d\n"
        conditions = [
            [it.text for it in item.governing if it.kind is Governs.CONDITION]
            for item in procedure_in(text).items
        ]
        assert conditions == [["## If the disk is full"]] * 3 + [["## Else"]]

    def test_any_other_heading_is_told_with_the_first_item_below_it(self):
        first, second = fix("- a\n- b\n").items
        assert [it.text for it in first.governing] == ["## Fix"]
        assert second.governing == ()

    def test_a_warning_anywhere_in_a_section_governs_all_of_it(self):
        warned = "> **Warning**: this drops connections."
        for text in (f"{warned}\n\n- a\n- b\n", f"- a\n- b\n\n{warned}\n"):
            assert [guards(it, Governs.CAUTION) for it in fix(text).items] == [
                ["**Warning**: this drops connections."]
            ] * 2

    def test_a_warning_of_the_section_around_it_comes_along(self):
        text = "# Mail\n\n## Fix\n\nWarning: this can't be undone.\n\n### Next\n\n- a\n- b\n"
        items = procedure_in(text, "Fix").items
        assert [guards(it, Governs.CAUTION) for it in items] == [
            ["Warning: this can't be undone."]
        ] * 2

    def test_a_warning_of_a_section_that_only_describes_comes_along(self):
        text = "# Mail\n\n## Overview\n\nNever delete the queue.\n\n- a fact\n\n## Fix\n\n- a\n"
        (item,) = procedure_in(text).items
        assert "Never delete the queue." in guards(item)

    def test_a_note_at_the_end_of_a_section_stands_behind_its_last_item(self):
        text = "# Mail\n\n## Queue\n\n- a\n- b\n\nThat takes a minute.\n"
        first, last = procedure_in(text, "Queue").items
        assert guards(first) == []
        (note,) = [it for it in last.governing if it.text == "That takes a minute."]
        assert note.after

    def test_a_note_under_a_heading_of_its_own_keeps_that_heading(self):
        text = "- a\n\n### The graph\n\n> It shows the queue.\n"
        (item,) = fix(text).items
        assert [it.text for it in item.governing if it.after] == [
            "### The graph",
            "It shows the queue.",
        ]

    @pytest.mark.parametrize("said", ["Then restart", "Restart"])
    def test_an_instruction_that_warns_stays_in_its_place(self, said):
        text = f"# A\n\n- one\n\n{said} it. It will likely hang, be careful.\n"
        steps = [it.text for it in procedure_in(text).items]
        assert steps == ["one", f"{said} it. It will likely hang, be careful."]

    @pytest.mark.parametrize(
        "said",
        [
            "[[_TOC_]]",
            "[TOC]",
            "**Table of Contents**  *generated with [DocToc](https://d.example)*",
        ],
    )
    def test_the_mark_of_a_table_of_contents_governs_nothing(self, said):
        (item,) = procedure_in(f"# A\n\n{said}\n\n- one\n").items
        assert [it.text for it in item.governing] == ["# A"]


class TestWhatMustNotBeDone:
    @pytest.mark.parametrize(
        ("markdown", "kept"),
        [
            ("Never do this:\n\n- drop it\n- burn it\n\nDo:\n\n", ["Never do this:", "- drop it\n- burn it"]),
            ("- Never drop it.\n", ["Never drop it."]),
            ("- Never:\n  - drop it\n  - burn it\n", ["- Never:\n  - drop it\n  - burn it"]),
            ("- ~~drop it~~\n", ["- ~~drop it~~"]),
            ("- (obsolete) drop it\n", ["- (obsolete) drop it"]),
            ("- drop it (no longer needed since 2024)\n", ["- drop it (no longer needed since 2024)"]),
            ("Old procedure:\n\n```\ndrop it\n```\n\n", ["Old procedure:", "```\ndrop it\n```"]),
            ("Wrong:\n\n```\ndrop it\n```\n\nRight:\n\n", ["Wrong:", "```\ndrop it\n```"]),
            ("Do not:\n\n> drop it\n\nInstead:\n\n", ["Do not:", "> drop it"]),
        ],
    )  # fmt: skip
    def test_is_kept_as_a_warning_and_never_a_step(self, markdown, kept):
        procedure = fix(f"{markdown}- start it\n")
        assert texts(procedure) == ["start it"]
        assert never(procedure) == kept
        assert procedure.is_complete

    def test_in_an_item_stays_behind_it(self):
        text = "1. Drain it:\n   - by hand\n   - Never:\n     - drop it\n2. Start it.\n"
        first, second = fix(text).items
        assert first.text == "Drain it:\n- by hand"
        assert guards(first, Governs.PROHIBITED) == ["- Never:\n  - drop it"]
        assert second.text == "Start it."

    def test_in_a_table_is_no_row_of_steps(self):
        procedure = fix("| What | Allowed |\n|---|---|\n| drain it | yes |\n| drop it | never |\n")
        assert texts(procedure) == ["What: drain it | Allowed: yes"]
        assert never(procedure) == ["| drop it | never |"]

    def test_in_code_is_cut_where_its_comment_ends(self):
        (item,) = fix("```bash\n# wrong:\ndrop it\n\n# right:\ndrain it\n```\n").items
        assert item.commands == ("# right:\ndrain it",)
        assert guards(item, Governs.PROHIBITED) == ["# wrong:\ndrop it"]

    def test_is_told_with_each_step_of_its_section(self):
        procedure = fix("1. drain it\n2. Never drop it.\n3. start it\n")
        assert numbers(procedure) == ["1.", "3."]
        assert [guards(it, Governs.PROHIBITED) for it in procedure.items] == [
            ["2. Never drop it."]
        ] * 2

    def test_with_an_exception_is_a_step_with_its_condition(self):
        procedure = fix("Don't restart it until you have:\n\n- drained it\n- told the team\n")
        assert texts(procedure) == ["drained it", "told the team"]
        assert [guards(it, Governs.CONDITION) for it in procedure.items] == [
            ["Don't restart it until you have:"]
        ] * 2

    @pytest.mark.parametrize(
        ("heading", "why"),
        [
            ("What not to do", Why.PROHIBITED),
            ("Anti-patterns", Why.PROHIBITED),
            ("Old procedure", Why.OBSOLETE),
            ("Deprecated", Why.OBSOLETE),
            ("History", Why.OBSOLETE),
        ],
    )
    def test_as_a_section_is_named_by_its_lines(self, heading, why):
        text = f"# Mail\n\n- start it\n\n## {heading}\n\n- drop it\n\n### Really\n\n- burn it\n"
        procedure = procedure_in(text)
        assert texts(procedure) == ["start it"]
        assert procedure.not_shown == (NotShown(PAGE, 5, 11, why, heading),)
        assert procedure.is_complete

    def test_of_all_things_leaves_no_procedure(self):
        outline = outlined(f"{HEAD}Never do this:\n\n- drop it\n")
        assert procedure_of(outline, section_called(outline, "Fix")) is None

    @pytest.mark.parametrize(
        ("words", "is_withheld"),
        [
            ("The v1 client is deprecated.", False),
            ("Mail of the old client is no longer supported.", False),
            ("These steps are deprecated.", True),
            ("Deprecated since 2024.", True),
            ("No longer used.", True),
            ("Old procedure (kept for the audit):", True),
        ],
    )
    def test_follows_words_that_speak_of_it_and_not_of_another_thing(self, words, is_withheld):
        procedure = fix(f"{words}\n\n- drop it\n\nNow:\n\n- start it\n")
        assert texts(procedure) == (["start it"] if is_withheld else ["drop it", "start it"])

    def test_is_not_what_to_do_where_something_did_not_help(self):
        text = (
            "1. Drain it.\n2. If that did not help, restart it:\n\n   ```\n   a\n   ```\n"
            "3. Do not panic. Run:\n\n   ```\n   b\n   ```\n4. Repeat the previous steps:\n\n   ```\n   c\n   ```\n"
        )
        procedure = fix(text)
        assert numbers(procedure) == ["1.", "2.", "3.", "4."]
        assert [it.commands for it in procedure.items] == [(), ("a",), ("b",), ("c",)]
        assert never(procedure) == []


class TestWhatIsNotShown:
    def test_a_section_that_describes_gives_no_step(self):
        text = "# Mail\n\n## Symptoms\n\n- The queue grows.\n\n## Fix\n\n- Drain it.\n"
        assert texts(procedure_in(text)) == ["Drain it."]

    def test_lines_that_were_not_retrieved_are_named(self):
        listed = "".join(f"{n}. Step {n} of the queue {'x' * 60}\n" for n in range(1, 60))
        found = passages(PAGE, HEAD + listed)
        assert len(found) > 3
        outline = outlined_in_part(HEAD + listed, 0, 2)
        procedure = procedure_of(outline, section_called(outline, "Fix"))
        gap = (found[0].citation.end_line + 1, found[2].citation.start_line - 1)
        behind = found[2].citation.end_line + 1
        assert [(it.start, it.end, it.why) for it in procedure.not_shown] == [
            (*gap, Why.NOT_RETRIEVED),
            (behind, behind, Why.NOT_RETRIEVED),
        ]
        assert not procedure.is_complete

    @pytest.mark.parametrize("over", [0, 1, 50])
    def test_what_exceeds_the_limit_is_named(self, over):
        listed = "".join(f"- step {n}\n" for n in range(MAX_ITEMS + over))
        procedure = fix(listed)
        assert len(procedure.items) == MAX_ITEMS
        first = 5 + MAX_ITEMS
        cut = (NotShown(PAGE, first, first + over - 1, Why.LIMIT, "Fix"),) if over else ()
        assert procedure.not_shown == cut
        assert procedure.is_complete is (not over)

    def test_a_section_that_is_given_elsewhere_is_left_out(self):
        outline = outlined("# Mail\n\n- a\n\n## Fix\n\n- b\n")
        procedure = procedure_of(
            outline, outline.root, leave_out=[section_called(outline, "Fix")], alert="MailFull"
        )
        assert (texts(procedure), procedure.alert) == (["a"], "MailFull")
        assert procedure.not_shown == ()


@pytest.mark.parametrize(
    ("text", "asks", "lines"),
    [
        ("- a\n- b", True, 2),
        ("| a |\n|---|\n| b |", True, 3),
        ("```\na\n```", True, 3),
        ("Run `kubectl get pods`.", True, 0),
        ("The queue is full.", False, 0),
        ("### Symptoms\n\n- a", False, 0),
        ("### What not to do\n\n- a", False, 0),
        ("### Fix\n\nDrain it.", True, 0),
    ],
)
def test_a_section_asks_for_something_if_anything_in_it_does(text, asks, lines):
    outline = outlined(f"# Mail\n\n## Queue\n\n{text}\n")
    section = section_called(outline, "Queue")
    assert asks_for_something(outline, section) is asks
    assert action_lines(outline, section) == lines


# Whatever an author writes that only says what to do, all of it is given, and nothing else.

_THINGS = st.sampled_from(["broker", "queue", "writer", "replica", "cache", "disk", "index", "pod"])
_VERBS = st.sampled_from(["Restart", "Drain", "Look at", "Scale", "Promote", "Open", "Rebuild"])
_COUNTS = st.integers(1, 99)
_SENTENCES = st.one_of(
    st.builds("{} the {} {}.".format, _VERBS, _THINGS, _COUNTS),
    st.builds("Warning: {} {} drops connections.".format, _THINGS, _COUNTS),
)
_LEADS = st.one_of(
    st.builds("{} the {} {}:".format, _VERBS, _THINGS, _COUNTS),
    st.builds("If the {} is full {}:".format, _THINGS, _COUNTS),
)
_CODE = st.lists(
    st.builds("kubectl get {} {}".format, _THINGS, _COUNTS), min_size=1, max_size=3
).map(lambda lines: "\n".join(["```bash", *lines, "```"]))
_TABLES = st.lists(st.tuples(_SENTENCES, _SENTENCES), min_size=1, max_size=3).map(
    lambda rows: "\n".join(["| Seen | Do |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)])
)


def _indented(text, by):
    return "\n".join(" " * by + line if line else line for line in text.split("\n"))


@st.composite
def _listed(draw, depth=0):
    first = draw(st.integers(1, 8))
    marks = draw(st.sampled_from([["- "] * 3, ["1. "] * 3, [f"{first + n}. " for n in range(3)]]))
    items = []
    for mark in marks[: draw(st.integers(1, 3))]:
        text = draw(_SENTENCES)
        inner = [st.just(""), _SENTENCES.map("\n{}".format), _CODE.map("\n\n{}".format)]
        if depth < 2:
            inner.append(_listed(depth + 1).map("\n{}".format))
        text += _indented(draw(st.one_of(inner)), len(mark))
        items.append(mark + text)
    return "\n".join(items)


_BLOCKS = st.one_of(
    _SENTENCES,
    _listed(),
    _CODE,
    _TABLES,
    _SENTENCES.map("> {}".format),
    st.builds("{}\n\n{}".format, _LEADS, st.one_of(_CODE, _listed(), _TABLES)),
)


@st.composite
def _sections(draw, level=2):
    heading = draw(st.one_of(st.builds("{} the {}".format, _VERBS, _THINGS), st.just("Mitigation")))
    blocks = draw(st.lists(_BLOCKS, min_size=1, max_size=4))
    text = "\n\n".join([f"{'#' * level} {heading}", *blocks, ""])
    below = draw(st.lists(_sections(level + 1), max_size=2)) if level < 4 else []
    return "\n".join([text, *below])


@given(_sections())
@up_to(examples=150)
def test_nothing_of_a_section_is_lost_and_nothing_is_added(section):
    text = f"# Page\n\n{section}"
    lines = text.split("\n")
    outline = outlined(text)
    procedure = procedure_of(outline, outline.root.children[0].children[0])
    if procedure is None:
        return
    # nothing is lost: each line is an item's, or one's that governs it
    solid = {number for number, line in enumerate(lines, 1) if number > 2 and line.strip()}
    assert solid - procedure.lines == set()
    # nothing is added: each line that is shown stands in the item's own lines
    for item in procedure.items:
        held = "\n".join(lines[item.start - 1 : item.end])
        for line in "\n".join(part.text for part in item.parts).split("\n"):
            cells = [cell.partition(": ")[2] for cell in line.split(" | ")]
            assert all(cell in held for cell in ([line.strip()] if " | " not in line else cells))
        for start, end in spans(item):
            assert 1 <= start <= end <= len(lines)
    # the order is the author's
    starts = [item.start for item in procedure.items]
    assert starts == sorted(starts)
    assert procedure.is_complete


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Roll back: `cli revert`, then unfreeze. Only before 03:00, never later.", Kind.ROLLBACK),
        ("**Verification:** no mail waits.", Kind.VERIFICATION),
    ],
)
def test_a_paragraph_that_begins_with_its_label_is_a_step_of_that_kind(text, kind):
    *_, last = procedure_in(f"# Load\n\n1. Freeze it.\n2. Load it.\n\n{text}\n").items
    assert (last.text, last.kind) == (text, kind)


def test_a_row_is_forbidden_only_where_its_column_asks_whether_it_is_allowed():
    text = "# Who\n\n| System | Phone | Hours |\n|---|---|---|\n| core | 4471 | always |\n| report | nobody | never |\n"
    assert [it.text for it in procedure_in(text).items][1].startswith("System: report")


def test_a_row_that_its_first_cell_forbids_is_none_of_the_steps():
    rows = "| 1 | detach it |\n| Forbidden | wipe the primary |\n| 2 | attach it |\n"
    items = procedure_in(f"# Recover\n\n| Step | What |\n|---|---|\n{rows}").items
    assert [it.text for it in items] == ["Step: 1 | What: detach it", "Step: 2 | What: attach it"]
    withheld = [it.text for item in items for it in item.governing if it.withheld]
    assert withheld == ["| Forbidden | wipe the primary |"]


@pytest.mark.parametrize(("wrong", "right"), [("Wrong", "Right"), ("❌ Don't", "✅ **Do**")])
def test_a_column_of_what_is_wrong_beside_what_is_right_is_no_step(wrong, right):
    text = f"# Reset\n\n| {wrong} | {right} |\n|---|---|\n| all | one |\n"
    (item,) = procedure_in(text).items
    assert item.text == f"{right}: one"
    assert (f"{wrong}: all", Governs.PROHIBITED) in [(it.text, it.kind) for it in item.governing]


def test_a_column_alone_says_of_each_row_whether_it_is_gone():
    (item,) = procedure_in("# Versions\n\n| V | Deprecated |\n|---|---|\n| 2 | no |\n").items
    assert item.text == "V: 2 | Deprecated: no"


class TestBranches:
    """A paragraph behind a step that says what to do in one case."""

    def test_goes_on_from_the_step_before_it(self):
        text = "# Join\n\n1. Stop it.\n2. Join mq-1.\n\nIf mq-1 is the broken one, join mq-2 instead.\n"
        first, second = procedure_in(text).items
        assert {it.kind for it in first.governing} == {Governs.NOTE}
        (branch,) = second.governing
        assert (branch.kind, branch.after) == (Governs.CONDITION, True)

    def test_with_a_command_is_a_step_in_its_place(self):
        text = "# Full\n\n1. Stop it.\n\nWhen it is below 75 % again: `ceph osd set-full-ratio 0.95`\n\n2. Go on.\n"
        assert [it.text for it in procedure_in(text).items][1].startswith("When it is below")

    def test_before_the_steps_holds_for_all_of_them(self):
        text = (
            "# Join\n\nIf two nodes are down, this is how.\n\nCall Ann.\n\n1. Stop it.\n2. Join.\n"
        )
        items = procedure_in(text).items
        assert all(any(it.kind is Governs.CONDITION for it in item.governing) for item in items)


def test_notes_without_headings_are_steps_under_their_first_line():
    text = "printers, my notes (tom)\n\nPrints nothing: ask for the number.\n\nBlank page: hold FEED.\n"
    procedure = procedure_in(text)
    assert [it.text for it in procedure.items] == [
        "Prints nothing: ask for the number.",
        "Blank page: hold FEED.",
    ]
    assert procedure.items[0].path == ("printers, my notes (tom)",)


@pytest.mark.parametrize("said", ["Step 2 is obsolete.", "> Don't do step 2."])
@pytest.mark.parametrize("is_before", [True, False])
def test_a_step_that_its_section_revokes_by_number_is_none(said, is_before):
    steps = "1. Stop it.\n2. Flush it.\n3. Start it."
    both = [said, steps] if is_before else [steps, said]
    procedure = procedure_in("# Restart it\n\n" + "\n\n".join(both) + "\n")
    assert [it.text for it in procedure.items] == ["Stop it.", "Start it."]
    withheld = [it.text for item in procedure.items for it in item.governing if it.withheld]
    assert withheld == ["2. Flush it."]


def test_a_step_may_be_revoked_below_itself():
    text = "# Silence\n\n1. Look.\n2. Silence it.\n\n   Update: step 2 no longer applies.\n\n3. Wait.\n"
    assert [it.text for it in procedure_in(text).items] == ["Look.", "Wait."]
    branch = text.replace("Update: step 2 no longer applies.", "If it fails, skip step 3.")
    assert len(procedure_in(branch).items) == 3


def test_the_last_step_can_be_revoked():
    procedure = procedure_in("# Restart it\n\n1. Stop it.\n2. Flush it.\n\nSkip step 2.\n")
    assert [it.text for it in procedure.items] == ["Stop it."]
    assert "2. Flush it." in [it.text for it in procedure.items[0].governing]
