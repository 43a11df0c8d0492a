"""A procedure on a terminal: the author's order, what governs each step above it, and what is missing."""

from __future__ import annotations

import pytest

from knowledge_rag.cli.procedures import procedure_lines
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.headings import Kind
from knowledge_rag.orchestrator.governing import Governs
from knowledge_rag.orchestrator.procedures import NotShown, Part, Why
from knowledge_rag.orchestrator.recommendation import CitedLines, Guard, Section, Step

FILE = "runbooks/queue.md"
PATH = ("Queue", "Drain it")


def cited(start, end=None, source_file=FILE):
    return CitedLines(Citation(source_file, start, end or start, "Drain it"), "0" * 64)


def guard(text, kind=Governs.NOTE, line=3, **more):
    return Guard(text, kind, more.get("after", False), (cited(line),))


def step(text="Look.", number="", line=5, end=None, guards=(), **more):
    parts = more.pop("parts", (Part(text),))
    governing = tuple(it for one in guards for it in one.citations)
    return Step(
        parts[0].text,
        (cited(line, end), *governing),
        procedure=1,
        number=number,
        path=more.pop("path", PATH),
        parts=parts,
        guards=tuple(guards),
        **more,
    )


def styled(*steps, width=80, not_shown=(), path=PATH, source_file=FILE):
    section = Section(source_file, path, Kind.OTHER, 1, 40, tuple(not_shown), not not_shown)
    return procedure_lines(section, steps, width)


def page(*steps, **more):
    return ["".join(words for words, _ in line) for line in styled(*steps, **more)]


def style_of(words, *steps, **more):
    (found,) = [style for line in styled(*steps, **more) for text, style in line if text == words]
    return found


HEADING = ["", "runbooks/queue.md: Queue > Drain it"]


def test_steps_keep_their_authors_numbers_order_and_code_in_its_place():
    first = step(
        number="3.",
        line=5,
        end=12,
        parts=(
            Part("Stop the writer:"),
            Part("stop writer\nstatus writer", is_code=True),
            Part("Wait until it is idle."),
        ),
    )
    assert page(
        first, step("Start it.", "4.", 13), step("By hand", "a)", 14), step("Or so", line=15)
    ) == [
        *HEADING,
        "  3. Stop the writer:",
        "       stop writer",
        "       status writer",
        "     Wait until it is idle.",
        "     runbooks/queue.md:5-12",
        "",
        "  4. Start it.",
        "     runbooks/queue.md:13",
        "",
        "  a) By hand",
        "     runbooks/queue.md:14",
        "",
        "  - Or so",
        "    runbooks/queue.md:15",
    ]


def test_a_step_of_code_alone_begins_with_it():
    only = step(number="1.", parts=(Part("drain --all", is_code=True),))
    assert page(only)[2] == "  1.   drain --all"
    assert page(step(parts=(Part("drain", is_code=True),), destructive=("drain",)))[2:4] == [
        "  - [destructive: drain]",
        "      drain",
    ]


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        (Governs.CAUTION, "It is the only copy.", "Caution: It is the only copy."),
        (Governs.CAUTION, "**Warning**: it is the only copy.", "Caution: it is the only copy."),
        (Governs.PRECONDITION, "Call the desk.", "First: Call the desk."),
        (Governs.CONDITION, "On staging only:", "Condition: On staging only:"),
        (Governs.PROHIBITED, "Never reboot.", "Do not: Never reboot."),
        (Governs.OBSOLETE, "Superseded.", "Obsolete, do not: Superseded."),
    ],
)
def test_what_governs_a_step_stands_above_it_under_a_name_that_needs_no_colour(kind, text, shown):
    assert page(step("Look.", "1.", guards=[guard(text, kind)]))[2].strip() == shown


def test_what_an_author_wrote_below_a_step_stands_there():
    late = guard("Don't play with it.", Governs.CAUTION, line=9, after=True)
    assert page(step(guards=[late]))[2:] == [
        "  - Look.",
        "    runbooks/queue.md:5",
        "",
        "  Caution: Don't play with it.",
    ]


def test_a_condition_moves_the_steps_in_that_it_holds_for():
    first, second = (guard(it, Governs.CONDITION) for it in ("If it is one:", "If it is all:"))
    shown = page(
        step("Ask.", line=4),
        step("Drain.", "1.", 6, guards=[first]),
        step("Wait.", "2.", 7, guards=[first]),
        step("Call.", "1.", 9, guards=[second]),
    )
    assert shown[2:] == [
        "  - Ask.",
        "    runbooks/queue.md:4",
        "",
        "  Condition: If it is one:",
        "    1. Drain.",
        "       runbooks/queue.md:6",
        "    2. Wait.",
        "       runbooks/queue.md:7",
        "",
        "  Condition: If it is all:",
        "    1. Call.",
        "       runbooks/queue.md:9",
    ]


def test_a_condition_of_the_whole_page_moves_nothing():
    of_all = guard("If the writer is gone:", Governs.CONDITION)
    shown = page(step("Ask.", line=4, guards=[of_all]), step("Call.", line=5, guards=[of_all]))
    assert shown[2:4] == ["  Condition: If the writer is gone:", "  - Ask."]


def test_no_command_that_is_forbidden_can_be_pasted_by_mistake():
    never = guard("- `reset`\n- purge all:\n  ```\n  purge --all\n  ```", Governs.PROHIBITED)
    assert page(step(guards=[never]))[2:] == [
        "  Do not:",
        "  x - `reset`",
        "  x - purge all:",
        "  x     purge --all",
        "",
        "  - Look.",
        "    runbooks/queue.md:5",
    ]
    row = guard("| `rm -rf /opt/raft` | never |", Governs.PROHIBITED)
    assert page(step(guards=[row]))[2] == "  Do not: `rm -rf /opt/raft` | never"
    long = guard("Never " + "again and " * 12, Governs.PROHIBITED)
    assert page(step(guards=[long]), width=60)[3].startswith("  x       again")


def test_what_is_forbidden_stands_with_the_words_that_forbid_it():
    lead = guard("Never do any of these:", Governs.PROHIBITED, line=12)
    never = guard("- `reset`\n- `purge`", Governs.PROHIBITED, line=14, after=True)
    shown = page(step("One", line=5, guards=[lead]), step("Two", line=6, guards=[lead, never]))
    assert shown[2:] == [
        "  Do not: Never do any of these:",
        "  x       - `reset`",
        "  x       - `purge`",
        "",
        "  - One",
        "    runbooks/queue.md:5",
        "  - Two",
        "    runbooks/queue.md:6",
    ]


def test_background_is_dimmed_and_what_is_to_be_run_or_leads_in_is_not():
    notes = [
        guard(it, line=n)
        for n, it in enumerate(("A still picture.", "All of these:", "Run `a b`."), start=1)
    ]
    given = step(guards=notes)
    assert style_of("picture.", given) == "dim"
    assert style_of("these:", given) == ""
    assert style_of("Run", given) == ""


def test_headings_below_the_procedures_own_are_shown_where_they_begin():
    steps = [
        step("One", path=("Queue",), guards=[guard("# Queue", line=1), guard("Intro.", line=2)]),
        step("Two", line=9, path=("Queue", "Fix", "By hand"), guards=[
            guard("## Fix", line=7), guard("### By hand", line=8),
        ]),
        step("Three", line=12, path=("Queue", "When a_b is red"), guards=[
            guard("## When `a_b` is red", Governs.CONDITION, line=11),
        ]),
    ]  # fmt: skip
    assert [it for it in page(*steps, path=()) if it and not it.startswith("   ")] == [
        "runbooks/queue.md: Queue",
        "  Intro.",
        "  - One",
        "Fix > By hand",
        "  - Two",
        "When a_b is red (condition)",
        "  - Three",
    ]


def test_a_heading_above_what_must_not_be_done_is_not_taken_for_that_of_the_steps():
    old = [guard("## By hand", line=2), guard("1. `stop it`", Governs.OBSOLETE, line=3)]
    shown = page(
        step("Go.", path=("Queue", "Safe"), guards=[*old, guard("## Safe", line=6)]), path=()
    )
    assert [it for it in shown if it] == [
        "runbooks/queue.md: Queue",
        "By hand",
        "  Obsolete, do not:",
        "  x 1. `stop it`",
        "Safe",
        "  - Go.",
        "    runbooks/queue.md:5",
    ]


def test_what_is_not_shown_is_named_in_its_place_with_its_lines_and_why():
    missing = [
        NotShown(FILE, 30, 30, Why.NOT_RETRIEVED),
        NotShown(FILE, 7, 9, Why.PROHIBITED, "Do not purge"),
        NotShown("other.md", 1, 4, Why.ELSEWHERE, "Fail over"),
    ]
    shown = page(step("One", line=5), step("Two", line=11), not_shown=missing)
    assert shown[2:] == [
        "  - One",
        "    runbooks/queue.md:5",
        "",
        "  not shown: runbooks/queue.md:7-9 (Do not purge), what must not be done",
        "",
        "  - Two",
        "    runbooks/queue.md:11",
        "",
        "  not shown: runbooks/queue.md:30, not retrieved",
        "",
        "  not shown: other.md:1-4 (Fail over), in a section that was not retrieved",
    ]


def test_the_citation_is_the_steps_own_lines_as_one_range():
    given = Step(
        "Look.",
        (cited(14, 16), cited(17, 19), cited(3)),
        procedure=1,
        path=PATH,
        parts=(Part("Look."),),
        guards=(guard("Careful.", Governs.CAUTION, line=3),),
    )
    assert page(given)[-1] == "    runbooks/queue.md:14-19"


HEAD = guard("| Code | Go to |\n|---|---|", line=3)


def row(code, target, line, guards=(), **more):
    said = " | ".join(f"{head}: {it}" for head, it in (("Code", code), ("Go to", target)) if it)
    return step(said, line=line, guards=[*guards, HEAD], **more)


def test_rows_of_a_table_are_a_table_with_its_head_once_and_one_range():
    rows = [row("AP-1", "[Fix](#fix)", 5), row("AP-2", "", 6), row("", "`b.txt`", 7)]
    assert page(*rows)[2:] == [
        "  Code  Go to",
        "  ----  -------",
        "  AP-1  Fix",
        "  AP-2",
        "        `b.txt`",
        "  runbooks/queue.md:5-7",
    ]


def test_a_table_goes_on_without_its_head_below_what_interrupts_it():
    care = guard("| x | never |", Governs.PROHIBITED, line=7)
    rows = [row("A", "b", 5), row("C", "d", 6), row("E", "f", 8, [care]), row("G", "h", 9)]
    shown = page(*rows)
    assert sum("Go to" in it for it in shown) == 1
    assert shown[-5:] == [
        "  Do not: x | never",
        "",
        "  E     f",
        "  G     h",
        "  runbooks/queue.md:8-9",
    ]


def test_a_destructive_row_is_shown_as_a_step():
    rows = [row("A", "b", 5), row("C", "kill it", 6, destructive=("kill",))]
    assert page(*rows)[-3:] == [
        "  - [destructive: kill] Code: C",
        "    Go to: kill it",
        "    runbooks/queue.md:6",
    ]


def test_in_a_plain_text_no_mark_is_taken_for_markdown():
    given = Step(
        "rm **/x",
        (cited(5, source_file="a.txt"),),
        procedure=1,
        path=PATH,
        parts=(Part("rm **/x **y**"),),
    )
    assert page(given, source_file="a.txt")[2] == "  - rm **/x **y**"
