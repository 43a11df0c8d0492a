"""The table of destructive commands, on its own examples and on lines of many technologies."""

import itertools
import json
from typing import NamedTuple

import pytest

from knowledge_rag.guardrails.danger import DANGERS, Danger, dangers_in
from tests.support.linear import assert_linear
from tests.support.local import PROJECT
from tests.support.shared_data import shared_data

LINES = PROJECT / "tests" / "data" / "destructive"
LONG = 100_000


class Line(NamedTuple):
    destructive: bool
    technology: str
    text: str


def labelled() -> list[Line]:
    """Three lists; each was written before the patterns were run on it, and they were mended after."""
    rows = [
        row.split("\t")
        for file in sorted(LINES.glob("*.tsv"))
        for row in file.read_text(encoding="utf-8").splitlines()
    ]
    return [Line(mark == "+", technology, text) for mark, technology, text in rows]


def labels(text: str) -> list[str]:
    return [danger.label for danger in dangers_in(text)]


TABLE = json.loads((LINES / "table.json").read_text(encoding="utf-8"))
"""For each row of the product's table: texts in which it is found, and harmless ones that look like them."""


@pytest.mark.parametrize(
    ("label", "text"), [(row["label"], text) for row in TABLE for text in row["matches"]]
)
def test_an_example_of_the_table_is_found_under_its_label(label, text):
    assert label in labels(text)


@pytest.mark.parametrize("text", [text for row in TABLE for text in row["near_misses"]])
def test_a_near_miss_of_the_table_is_harmless(text):
    assert dangers_in(text) == ()


def test_every_row_has_examples_and_commands_have_near_misses():
    for rule, row in zip(DANGERS, TABLE, strict=True):
        assert (rule.label, rule.example) == (row["label"], row["matches"][0])
        assert rule.imperative or row["near_misses"]


def test_each_row_says_in_three_to_six_words_what_is_lost():
    assert {
        rule.label: rule.destroys for rule in DANGERS if not 3 <= len(rule.destroys.split()) <= 6
    } == {}


def test_one_label_destroys_one_thing():
    rows = {(rule.label, rule.destroys) for rule in DANGERS}
    assert len(rows) == len({label for label, _ in rows})


def test_the_labelled_lines_cover_many_technologies_and_half_of_them_are_harmless():
    lines = labelled()
    harmless = sum(not line.destructive for line in lines)
    assert len(lines) >= 600
    assert 0.45 <= harmless / len(lines) <= 0.55
    assert len({line.technology for line in lines}) >= 40


def test_95_of_100_destructive_lines_are_found():
    lines = [line for line in labelled() if line.destructive]
    missed = [line.text for line in lines if not dangers_in(line.text)]
    assert len(missed) <= 0.05 * len(lines), missed


def test_at_most_2_of_100_harmless_lines_are_taken_for_destructive():
    lines = [line for line in labelled() if not line.destructive]
    false = [(line.text, labels(line.text)) for line in lines if dangers_in(line.text)]
    assert len(false) <= 0.02 * len(lines), false


@pytest.mark.parametrize("suffix", ["upper", "title"])
def test_programs_of_the_cloud_are_found_in_any_case(suffix):
    assert labels(getattr("kubectl delete pod web-1", suffix)()) == ["kubectl delete"]
    assert labels(getattr("drop table orders", suffix)()) == ["SQL DROP"]


def test_a_mention_says_where_it_is():
    text = "🔥 été: run `kubectl delete pod a`, then drop the table."
    assert [(danger.label, text[danger.start : danger.end]) for danger in dangers_in(text)] == [
        ("kubectl delete", "kubectl delete"),
        ("drop", "drop the table"),
    ]
    assert dangers_in("rm -rf /srv") == (Danger("rm", 0, 6),)


@pytest.mark.parametrize("blank", ["\u00a0", "\t", "  ", " \\\n  ", " \\\r\n"])
def test_any_blank_and_a_continued_line_separate_words(blank):
    assert labels(f"kubectl{blank}-n{blank}shop{blank}delete{blank}pod") == ["kubectl delete"]
    assert labels(
        f"Please{blank}delete{blank}the pod" if "\n" not in blank else "delete the pod"
    ) == ["delete"]


@pytest.mark.parametrize("dash", ["--", "–", "—"])
def test_the_dash_of_a_word_processor_is_an_option_too(dash):
    assert labels(f"pg_dump shop {dash}force") == ["--force"]


@pytest.mark.parametrize(
    "text",
    [
        "Never delete the topic.", "Do not delete the topic.", "Don’t delete the topic.",
        "do **not** delete the topic", "Wrong: delete the topic.", "Ask before you delete the topic.",
    ],
)  # fmt: skip
def test_a_prohibition_is_a_mention(text):
    assert labels(text) == ["delete"]


@pytest.mark.parametrize(
    "text",
    [
        "- delete the topic", "3) Delete the topic", "| 4 | Delete the topic | owner |", "> Delete the topic",
        "<li>Delete the topic</li>", "- [ ] **Delete** the topic", "_Delete_ the topic",
        "If it is empty, delete the topic.", "Stop the consumer and delete the topic.", "Step 4 – delete the topic",
        "Wait.\ndelete the topic",
    ],
)  # fmt: skip
def test_an_instruction_may_stand_anywhere_in_a_layout(text):
    assert labels(text) == ["delete"]


@pytest.mark.parametrize(
    "text",
    [
        "The operator will delete the topic.", "The broker may\ndelete the topic after a week.",
        "It failed to delete the topic.", "The job does not delete the topic.",
        "Producers that delete the topic are logged.", "The soft-delete the topic has is kept.",
    ],
)  # fmt: skip
def test_a_description_is_no_mention(text):
    assert dangers_in(text) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kubectl delete pod a --dry-run=client", []),
        ("kubectl delete pod a --dry-run=none", ["kubectl delete"]),
        ("kubectl delete pod a --dry-run=client && kubectl delete pod a", ["kubectl delete"]),
        ("`helm uninstall a --dry-run`, then `helm uninstall a`", ["helm uninstall"]),
        ("kubectl delete pod a \\\n  --dry-run=server", []),
        ("Delete the folder without --dry-run", ["delete"]),
    ],
)
def test_a_dry_run_is_harmless_and_its_neighbour_is_not(text, expected):
    assert labels(text) == expected


def test_two_mentions_do_not_overlap():
    text = "kubectl delete pod a --force --grace-period=0; rm -rf /srv"
    found = dangers_in(text)
    assert [danger.label for danger in found] == [
        "kubectl delete",
        "--force",
        "--grace-period=0",
        "rm",
    ]
    assert all(first.end <= second.start for first, second in itertools.pairwise(found))


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "`", "`rm`", "\\", "\\\n", "\ud800", "delete", "--", "\0"]
)
def test_scraps_are_read(text):
    assert all(0 <= danger.start < danger.end <= len(text) for danger in dangers_in(text))


# each is the start of some row that its own end doesn't follow, or a match after a match
ADVERSARIES = [
    "kubectl -a b ", "gcloud ", "git push ", "alter table ", "drop the ", "to delete the ", "delete and ",
    "scale a ", "find -delete ", "--reset-offsets ", "db.", "`delete ", "--force ", "dd of=/dev/", "\\\n",
    ";", " ", "🔥",
]  # fmt: skip


@pytest.mark.parametrize("part", ADVERSARIES)
def test_long_text_of_any_kind_takes_linear_time(part):
    assert_linear(dangers_in, (part * (LONG // len(part) + 1))[:LONG])


def test_other_peoples_runbooks_have_few_mentions_and_the_known_ones():
    folder = shared_data("retrieval/docs/gitlab-runbooks")
    lines = found = 0
    seen = set()
    for path in sorted(folder.rglob("*.md"))[:80]:
        text = path.read_text(encoding="utf-8")
        lines += text.count("\n")
        here = labels(text)
        found += len(here)
        seen.update(here)
    assert {"rm", "delete", "remove"} <= seen
    assert found < 0.02 * lines
