"""Reviews, code that changed since, and owners."""

from datetime import date

import pytest

from knowledge_rag.drift.check import World, check_documents
from knowledge_rag.drift.findings import Check
from knowledge_rag.drift.history import Commit, commits_of_lines, commits_to
from knowledge_rag.drift.upkeep import Ages, read_owners
from tests.support.repository import Repository

TODAY = date(2026, 11, 24)
ADA = Commit("a" * 12, "2026-01-10", "ada")
BOB = Commit("b" * 12, "2026-05-01", "bob")
CAT = Commit("c" * 12, "2026-06-01", "cat")


def found(text, *, max_days=None, lines=(), commits=None):
    commits = commits or {}
    ages = Ages(TODAY, max_days, lambda _: lines, commits.__contains__, lambda _: commits)
    world = World(lambda _: True, frozenset({Check.AGE}), ages=ages)
    return [
        (each.kind.value, each.line, each.column, each.message)
        for each in check_documents([("a.md", text)], world)
    ]


@pytest.mark.parametrize("field", ["last_reviewed", "last_reviewed_on", "reviewed"])
def test_a_review_that_is_older_than_allowed_is_found_at_its_date(field):
    text = f'---\n{field}: "2026-08-16"\n---\n# A\n'
    message = "last reviewed 100 days ago, at most 99 are allowed"
    assert found(text, max_days=99) == [("overdue", 2, len(field) + 3, message)]
    assert found(text, max_days=100) == found(text) == []


@pytest.mark.parametrize("value", ["soon", "2026-13-40", "16/08/2026", ""])
def test_what_is_no_date_is_no_finding(value):
    assert found(f"---\nlast_reviewed: {value}\n---\n# A\n", max_days=1) == []
    assert found("# A\n\nlast_reviewed: 2020-01-01\n", max_days=1) == []


def test_commits_since_the_line_and_the_review_are_counted():
    text = "# A\n\nScale `modules/rds/`.\n"
    known = {"modules/rds": [CAT, BOB, ADA]}
    message = (
        f"2 commits to modules/rds since 2026-01-10 (written 2026-01-10 by ada, {ADA.sha}), "
        f"the last {CAT.sha} of 2026-06-01 by cat"
    )
    assert found(text, lines=[ADA] * 3, commits=known) == [("code-changed", 3, 8, message)]
    reviewed = f"---\nlast_reviewed: 2026-05-01\n---\n{text}"
    ((kind, line, _, message),) = found(reviewed, lines=[ADA] * 6, commits=known)
    assert (kind, line) == ("code-changed", 6)
    assert message == f"1 commit to modules/rds since 2026-05-01, the last {CAT.sha} of 2026-06-01 by cat"  # fmt: skip
    assert found(reviewed.replace("05-01", "06-01"), lines=[ADA] * 6, commits=known) == []


def test_a_line_whose_age_nobody_knows_and_a_path_that_is_no_code_s_say_nothing():
    text = "`modules/rds`, `and/or`, `../modules/rds`, `modules`\n"
    assert found(text, commits={"modules/rds": [CAT]}) == []
    assert found(text, lines=[CAT], commits={"modules/rds": [BOB]}) == []


def test_git_knows_the_commits_of_lines_and_of_paths(tmp_path):
    repository = Repository(tmp_path)
    first = repository.commit({"docs/ä.md": "1\n2\n", "modules/rds/a.tf": "1"}, "2026-01-01")
    second = repository.commit({"docs/ä.md": "1\n3\n"}, "2026-02-02", "bob")
    third = repository.commit({"modules/rds/b/c.tf": "1", "modules/rds2/a.tf": "2"}, "2026-03-03")
    lines = commits_of_lines(tmp_path / "docs", "ä.md")
    assert [(it.sha, it.day, it.author) for it in lines] == [
        (first, "2026-01-01", "ada"),
        (second, "2026-02-02", "bob"),
    ]
    found = commits_to(tmp_path, ["modules/rds", "modules/rds/a.tf", "gone", "*.tf"])
    assert {path: [it.sha for it in commits] for path, commits in found.items()} == {
        "modules/rds": [third, first], "modules/rds/a.tf": [first], "gone": [], "*.tf": [],
    }  # fmt: skip
    assert commits_of_lines(tmp_path, "gone.md") == []


CODEOWNERS = """\
# comment
[Section]
/runbooks/  @acme/data-platform ada@acme.example  # why
*.tf @bob
"""
LIST = "data-platform\nSite Reliability\n#oncall\n"


def owners_found(text, owners):
    world = World(lambda _: True, frozenset({Check.OWNERS}), owners=owners)
    return [
        (each.line, each.column, each.subject, each.fix)
        for each in check_documents([("a.md", text)], world)
    ]


@pytest.mark.parametrize(
    "front",
    ["owner: data-platform", "owner: Data_Platform", 'owner: "@acme/data-platform"', "team: site reliability",
     "owners: [oncall, data-platform]", "owners:\n- oncall\n- data platform", 'owner_slack: "#oncall"',
     "owner: data-platform # since May", "title: nobody", "tags:\n- nobody"],
)  # fmt: skip
def test_an_owner_of_the_list_is_fine_however_it_is_written(front):
    assert owners_found(f"---\n{front}\n---\n# A\n", read_owners(LIST)) == []


def test_another_owner_is_found_at_its_place_with_the_one_that_may_be_meant():
    text = "---\nowner: data-plattform\nowners:\n  - oncall\n  - nobody\n---\nowner: else\n"
    assert owners_found(text, read_owners(LIST)) == [
        (2, 8, "data-plattform", "data-platform"),
        (5, 5, "nobody", ""),
    ]


def test_a_repository_s_own_list_says_nothing_of_names_that_are_no_handles():
    owners = read_owners(CODEOWNERS, handles_only=True)
    assert set(owners.names.values()) == {"@acme/data-platform", "ada@acme.example", "@bob"}
    text = '---\nowner: sre\nowners: ["@acme/data-platform", "@carl", "@bob"]\n---\n'
    assert owners_found(text, owners) == [(3, 34, "@carl", "")]
