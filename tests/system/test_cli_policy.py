"""The source policy from the command line: on by one word, and why things moved."""

from __future__ import annotations

import re

import pytest

from tests.support.cli import assert_one_line
from tests.support.local import PROJECT, write_files

QUESTION = "When is the next parent-teacher conference?"
ON = ("--policy", "website-first")

DOCUMENTS = {
    "old.md": (
        "---\nsource_url: https://school.example/conferences-2025\n---\n"
        "# Parent-teacher conferences 2025\n\n"
        "Parent-teacher conferences took place on November 13, 2025.\n"
    ),
    "next.md": (
        "---\nsource_url: https://school.example/dates\n---\n"
        "# Dates for families\n\nConferences with teachers are on December 3-4, 2026.\n"
    ),
    "handbook.md": (
        "---\ndocument_type: pdf\n---\n"
        "# Parent-teacher conferences\n\nThe next parent-teacher conference is on 03/12/2026.\n"
    ),
}


@pytest.fixture(scope="module")
def school(settled, tmp_path_factory):
    folder = tmp_path_factory.mktemp("school")
    write_files(folder / "docs", DOCUMENTS)
    ran = settled("ingest", folder / "docs", "--kb", folder / "school.kb", "--date-order", "dmy")
    assert (ran.code, ran.err) == (0, "")
    return folder / "school.kb"


@pytest.fixture(scope="module")
def runs(settled, school):
    ask = ("retrieve", QUESTION, "--kb", school)
    today = {"POLICY_TODAY": "2026-11-21"}
    return {
        "text": settled(*ask, *ON, "--explain", "--max-results", "2", **today),
        "json": settled(*ask, *ON, "--explain", "--json", **today),
        "off": settled(*ask, "--explain", **today),
        "plain": settled(*ask, "--json", **today),
        "environment": settled(*ask, "--json", SOURCE_POLICY="website-first", **today),
        "word wins": settled(*ask, "--json", "--policy", "off", SOURCE_POLICY="website-first"),
    }


def files(ran):
    return [result["citation"]["source_file"] for result in ran.json["results"]]


def test_explained_the_order_before_and_after_and_why_is_shown(runs):
    ran = runs["text"]
    assert (ran.code, ran.err) == (0, "")
    *_, table = ran.out.partition("policy website-first: ")
    assert table == (
        "the question asks for a date, today is 2026-11-21\n"
        "before  after  source   dates                   lines            why\n"
        "     3      1  website  2026-12-03, 2026-12-04  next.md:4-6      "
        "a website goes before PDFs; 2026-12-04 is upcoming\n"
        "     2      2  website  2025-11-13              old.md:4-6       "
        "a website goes before PDFs; nothing later than 2025-11-13\n"
        "     1    cut  pdf      2026-12-03              handbook.md:4-6  "
        "a PDF goes after websites\n"
    )


def test_as_json_it_says_the_same(runs):
    explained = runs["json"].json["explanation"]
    assert (explained["policy"], explained["date_related"]) == ("website-first", True)
    assert [(it["before"], it["after"]) for it in explained["order"]] == [(3, 1), (2, 2), (1, 3)]
    assert files(runs["json"]) == ["next.md", "old.md", "handbook.md"]
    assert "explanation" not in runs["plain"].json


def test_off_there_is_nothing_to_explain(runs):
    assert runs["off"].out.endswith("policy off: the order is that of the knowledge base\n")
    assert files(runs["plain"]) == ["handbook.md", "old.md", "next.md"]


def test_one_variable_turns_it_on_and_the_option_wins(runs):
    assert files(runs["environment"]) == files(runs["json"])
    assert runs["word wins"].json == runs["plain"].json


def test_an_order_of_dates_is_chosen_at_ingest(runs):
    handbook = runs["plain"].json["results"][0]
    assert handbook["metadata"]["dates"] == ["2026-12-03"]


@pytest.mark.parametrize(
    ("arguments", "variables", "problem"),
    [
        ((*ON, "--search", "semantic"), {}, "--policy website-first goes with --search hybrid"),
        ((), {"SOURCE_POLICY": "pdf-first"}, "must be off or website-first"),
        (ON, {"SECONDARY_SCOPE": "x"}, "SECONDARY_SCOPE='x': must be a metadata filter in JSON"),
    ],
)
def test_what_can_t_be_is_refused_before_anything_is_searched(
    settled, school, arguments, variables, problem
):
    ran = settled("retrieve", QUESTION, "--kb", school, *arguments, **variables)
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err
    assert_one_line(ran.err, ran.err.removeprefix("error: ").rstrip("\n"))


def test_the_documentation_s_example_is_real(settled, school):
    text = (PROJECT / "docs/source-policy.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    ran = settled("retrieve", QUESTION, "--kb", school, *ON, "--explain", POLICY_TODAY="2026-11-21")
    assert ran.out == shown
