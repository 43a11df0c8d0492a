"""What is read out of answers as models write them: steps, similar incidents, words around them."""

import pytest

from knowledge_rag.guardrails.verify import verify
from knowledge_rag.orchestrator.answer import read_answer
from tests.unit.orchestrator.evidence import FINDINGS

A = "[Source: runbooks/rds-failover.md, lines 15-19]"
B = "[Source: runbooks/rds-failover.md, lines 27-28]"
P = "[Source: postmortems/2024-01-rds.md, lines 11-15]"
GONE = "[Source: runbooks/other.md, lines 1-2]"


def read(text):
    return read_answer(
        verify(text, FINDINGS.ledger),
        lambda cited: cited.citation.source_file.startswith("postmortems/"),
    )


def steps(text):
    return [
        (part.text, part.commands, [it.citation.start_line for it in part.cited])
        for part in read(text).steps
    ]


PROMPTED = f"""\
1. Summary: The runbook advises a failover.
2. Guidance:
   1. Check the health {A}
   2. Fail over, see {B}:

      ```bash
      aws rds failover-db-cluster
      ```
3. Similar incidents:
   - **INC-2024-001**: a manual failover {P}
4. Analysis: It looks like a stall.

   The runbook is old.
"""
HEADINGS = f"""\
## Summary
The runbook advises a failover.

## Guidance
1. Check the health {A}
2. Fail over, see {B}:
   ```bash
   aws rds failover-db-cluster
   ```

## Similar incidents
- **INC-2024-001**: a manual failover {P}

## Analysis
It looks like a stall.

The runbook is old.
"""
BOLD = f"""\
**Summary:** The runbook advises a failover.

**Guidance**

1. Check the health {A}
2. Fail over, see {B}:

```bash
aws rds failover-db-cluster
```

**Similar incidents:**

- **INC-2024-001**: a manual failover {P}

**Analysis**:
It looks like a stall.

The runbook is old.
"""


@pytest.mark.parametrize("text", [PROMPTED, HEADINGS, BOLD])
def test_labels_of_any_kind_part_an_answer(text):
    answer = read(text)
    assert steps(text) == [
        ("Check the health", (), [15]),
        ("Fail over, see:", ("aws rds failover-db-cluster",), [27]),
    ]
    assert [(part.text, part.commands) for part in answer.similar] == [
        ("**INC-2024-001**: a manual failover", ())
    ]
    assert answer.summary == ["The runbook advises a failover."]
    assert answer.analysis == ["It looks like a stall.", "The runbook is old."]
    assert answer.uncited == []


def test_an_answer_without_labels_is_the_form_that_the_requirements_show():
    answer = read(
        f"Based on similar incidents, the recommended resolution is:\n"
        f"1. Check the health {A}\n2. Fail over {B}\n\n"
        f"This approach resolved a similar incident {P}\n\nGood luck."
    )
    assert [part.text for part in answer.steps] == ["Check the health", "Fail over"]
    assert [part.text for part in answer.similar] == ["This approach resolved a similar incident"]
    assert answer.summary == ["Based on similar incidents, the recommended resolution is:"]
    assert answer.analysis == ["Good luck."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"- Check {A}", [("Check", (), [15])]),
        (f"1) Check {A}.", [("Check.", (), [15])]),
        (f"1. Check {A} and fail over {B}.", [("Check and fail over.", (), [15, 27])]),
        (f"1. Check {A}, {B}", [("Check", (), [15, 27])]),
        (f"1. Check {A} and {B}, then go on", [("Check, then go on", (), [15, 27])]),
        (f"1. Check (see {A})", [("Check", (), [15])]),
        ("1. Check [1, 3]", [("Check", (), [5, 13])]),
        (f"1. Check\n   the health\n   of all\n   {A}", [("Check\nthe health\nof all", (), [15])]),
        (f"1. Check:\n   - one\n   - two\n\n   {A}", [("Check:\n- one\n- two", (), [15])]),
        (f"1. First:\n   - Check {A}\n   - Fail over {B}", [("Check", (), [15]), ("Fail over", (), [27])]),
        (f"1. Check {A}\n   - with care", [("Check\n- with care", (), [15])]),
        (f"1. Check:\n```\ncmd\n```\n{A}\n2. Wait {B}", [("Check:", ("cmd",), [15]), ("Wait", (), [27])]),
        (f"1. Check {A}\n    ```sh\n    a \\\n      b\n    ```", [("Check", ("a \\\n  b",), [15])]),
        (f"1. {A}\n   ```\n   cmd\n   ```", [("cmd", ("cmd",), [15])]),
        (f"1. {A}\n   ```text\n   Check.\n   ```", [("Check.", (), [15])]),
        (f"1. [ ] Check {A}", [("Check", (), [15])]),
        (f"**Step 1:** Check {A}", [("**Step 1:** Check", (), [15])]),
        (f"| Step | Source |\n|---|---|\n| Check | {A} |\n| Wait | {B} |", [("Check", (), [15]), ("Wait", (), [27])]),
        (f"Guidance:\n\nThere are two. Check it {A}. Fail over {B}.", [("Check it", (), [15]), ("Fail over", (), [27])]),
        (f"## Guidance\n\nCheck it. {A} Fail over. {B}", [("Check it.", (), [15]), ("Fail over.", (), [27])]),
        (f"## Guidance\nRun this {A}:\n\n```\ncmd\n```", [("Run this", ("cmd",), [15])]),
        (f"## Guidance\nRun this:\n\n```\ncmd\n```\n\n{A}", [("Run this:", ("cmd",), [15])]),
        (f"## Guidance\n### Diagnosis\n1. Check {A}\n### On the writer\n2. Wait {B}", [("Check", (), [15]), ("Wait", (), [27])]),
        (f"1. **Diagnosis**: Check {A}", [("**Diagnosis**: Check", (), [15])]),
        (f"> Check {A}", [("Check", (), [15])]),
    ],
)  # fmt: skip
def test_steps_are_read_as_models_write_them(text, expected):
    assert steps(text) == expected


@pytest.mark.parametrize(
    ("text", "kept", "left_out"),
    [
        (f"1. Check {A}\n2. Reboot", ["Check"], ["Reboot"]),
        (f"1. Check {A}\n2. Reboot {GONE}", ["Check"], ["Reboot"]),
        (f"1. Check {A}\n2. Reboot {GONE}\n\n   ```\n   reboot\n   ```", ["Check"], ["Reboot"]),
        (f"1. Check {A}\n\n2. Reboot\n```\nreboot\n```", ["Check"], ["Reboot"]),
        (f"- First:\n  - Check {A}\n  - Reboot", ["Check"], ["Reboot"]),
        (f"| Step | Source |\n|---|---|\n| Check | {A} |\n| Reboot | none |", ["Check"], ["Reboot | none"]),
        (f"## Guidance\nCheck {A}\n\n## More\n```\nreboot\n```", ["Check"], ["reboot"]),
        (f"1. Check {A}\n2. Reboot `{B}`", ["Check"], [f"Reboot `{B}`"]),
        (f"1. Check {A}\n2. ```\n   {B}\n   ```", ["Check"], [B]),
    ],
)  # fmt: skip
def test_what_cites_nothing_is_no_step_and_is_counted(text, kept, left_out):
    answer = read(text)
    assert [part.text for part in answer.steps] == kept
    assert [part.text for part in answer.uncited] == left_out


def test_what_stands_under_analysis_is_no_step_whatever_it_cites():
    answer = read(
        f"1. Check {A}\n\n## Analysis\n1. Reboot {B}\n\n### Why\nBecause.\n\n## Guidance\n- Wait {B}"
    )
    assert [part.text for part in answer.steps] == ["Check", "Wait"]
    assert answer.analysis == ["1. Reboot", "Because."]


@pytest.mark.parametrize("text", ["", "\n\n", "```", "1.", "| a |\n|---|", "#", "> ", "---", "\0"])
def test_an_answer_without_anything_has_no_parts(text):
    answer = read(text)
    assert not answer.steps
    assert not answer.similar


@pytest.mark.parametrize(
    "hostile",
    [
        "- ",
        "1. ",
        "> ",
        "1. Summary: ",
        "- - [1] ",
        "[1]\n",
        "[1]",
        "| [1] ",
        "# ",
        "```\n",
        "- [1]\n ",
    ],
)
def test_no_answer_is_too_deep_or_too_long(hostile):
    read(hostile * 1_000)
    read("\n".join(f"{' ' * depth}- Check [1]" for depth in range(0, 600, 2)))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("1. As runbooks/rds-failover.md:15-19 says, fail over.", "As runbooks/rds-failover.md:15-19 says, fail over."),
        ("1. Fail over (runbooks/rds-failover.md:15-19).", "Fail over."),
        ("1. Fail over (see runbooks/rds-failover.md, lines 15-19).", "Fail over (see runbooks/rds-failover.md, lines 15-19)."),
        (f"1. Fail over as runbooks/other.md:1-2 says {A}.", "Fail over as [unverified] says."),
    ],
)  # fmt: skip
def test_a_document_that_a_sentence_names_with_its_lines_stays_a_word_of_it(text, left):
    assert [(said, lines) for said, _, lines in steps(text)] == [(left, [15])]
