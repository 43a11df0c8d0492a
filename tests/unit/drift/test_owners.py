import pytest

from knowledge_rag.drift.check import World, check_documents
from knowledge_rag.drift.findings import Check
from knowledge_rag.drift.upkeep import read_owners

CODEOWNERS = """\
# comment
[Section]
/runbooks/  @acme/data-platform ada@acme.example  # why
*.tf @bob
"""
LIST = "data-platform\nSite Reliability\n#oncall\n"


def found(text, owners):
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
    assert found(f"---\n{front}\n---\n# A\n", read_owners(LIST)) == []


def test_another_owner_is_found_at_its_place_with_the_one_that_may_be_meant():
    text = "---\nowner: data-plattform\nowners:\n  - oncall\n  - nobody\n---\nowner: else\n"
    assert found(text, read_owners(LIST)) == [
        (2, 8, "data-plattform", "data-platform"),
        (5, 5, "nobody", ""),
    ]


def test_a_repository_s_own_list_says_nothing_of_names_that_are_no_handles():
    owners = read_owners(CODEOWNERS, handles_only=True)
    assert set(owners.names.values()) == {"@acme/data-platform", "ada@acme.example", "@bob"}
    text = '---\nowner: sre\nowners: ["@acme/data-platform", "@carl", "@bob"]\n---\n'
    assert found(text, owners) == [(3, 34, "@carl", "")]
