"""Which lines of a runbook say what to do."""

import pytest

from knowledge_rag.evaluation.answers_actions import ParsedDocument


def action_lines(text, place=None):
    lines = text.strip().split("\n")
    found = ParsedDocument(lines).actions(place)
    return [lines[n - 1].strip() for n in sorted(found.lines)], [
        lines[n - 1].strip() for n in sorted(found.code)
    ]


PAGE = """
---
title: Steps
---
# Disk full

- an alert, not a step

## Diagnosis

Look at the volume first.

1. Which volume is it?
   It is the one in the alert.

   ```
   df -h

   ```
2. Who writes to it?

### Inodes

- none left?

| cause | what to do |
|---|---|
| logs | rotate them |

`du -sh /var/log`
$ lsof +L1

    find / -inum 7

## Background

- it was worse
"""


def test_lists_rows_code_and_commands_below_an_action_heading_count():
    lines, code = action_lines(PAGE)
    assert code == ["df -h", "`du -sh /var/log`", "$ lsof +L1", "find / -inum 7"]
    assert lines == [
        "1. Which volume is it?", "It is the one in the alert.", "df -h", "2. Who writes to it?",
        "- none left?", "| logs | rotate them |", *code[1:],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("heading", "counts"),
    [
        ("## How to fix it", True),
        ("## Possible resolutions", True),
        ("Steps to check\n===", True),
        ("How to **investigate**:", True),
        ("**Recovery**", True),
        ("How to investigate:", False),  # no emphasis: any sentence may end so
        ("**Steps** are easier to take when the pager is quiet and it is day:", False),
        ("## Prefixes", False),
        ("## Impact", False),
    ],
)
def test_headings_that_are_followed_by_what_to_do(heading, counts):
    assert action_lines(f"# Alert\n\n{heading}\n\n- do it")[0] == (["- do it"] if counts else [])


def test_a_lead_in_ends_the_section_of_the_one_before_and_a_heading_that_of_both():
    page = "## A\n\nHow to **fix**:\n\n- fix\n\nHow it **works**:\n\n- so\n\n## B\n\n- other"
    assert action_lines(page)[0] == ["- fix"]
    page = "## Mitigation\n\n- fix\n\nHow it **works**:\n\n- so\n\n## B\n\n- other"
    assert action_lines(page)[0] == ["- fix", "- so"]


TWO = "# Alerts\n\n## One\n\n- first\n\n## Two\n\nDo:\n\n- second\n\n### Fix\n\n- third\n\n## Three\n\n- x"  # fmt: skip


def test_labelled_lines_are_an_action_section_unless_a_heading_in_them_is_one():
    assert action_lines(TWO, range(3, 6))[0] == ["- first"]
    assert action_lines(TWO, range(7, 16))[0] == ["- third"]
    assert action_lines(TWO, range(17, 20))[0] == ["- x"]
    assert action_lines(TWO)[0] == ["- third"]


def test_nothing_is_counted_where_no_heading_says_what_to_do():
    assert action_lines("# Service\n\n- a fact\n\n```\nsome code\n```") == ([], [])
    assert ParsedDocument([]).actions().lines == frozenset()
