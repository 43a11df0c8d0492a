import pytest

from knowledge_rag.core.citations import MAX_LINE, MAX_PATH, Citation
from knowledge_rag.core.errors import InvalidCitation


def test_the_human_form_is_the_one_that_the_prompt_asks_for():
    citation = Citation("runbooks/rds-failover.md", 5, 10, "Diagnosis")
    assert str(citation) == "[Source: runbooks/rds-failover.md, lines 5-10]"


def test_the_wire_form_has_the_four_keys_of_the_schema():
    assert Citation("a.md", 1, 1).to_dict() == {
        "source_file": "a.md",
        "start_line": 1,
        "end_line": 1,
        "section_header": "",
    }


UNPRINTABLE = "contains a backslash, a control or an invisible character"
NOT_PLAIN = "is not a plain path below the corpus root"
LIKE_A_CITATION = "reads like a citation"


@pytest.mark.parametrize(
    ("why", "path"),
    [
        *[(UNPRINTABLE, path) for path in ("a\\b.md", "a\nb.md", "a\tb.md", "a\x00.md", "a\u202emd.sh", "a\u200b.md",
          "a\u2028b.md", "a\ud800.md", "r\u00adds.md", "rds\U000e0041.md", "rds\u3164.md")],
        *[(LIKE_A_CITATION, path) for path in ("x.md, lines 1-2] [Source: real.md", "[source: a.md", "a, line 3.md",
          "a, ｌｉｎｅ 3", "a.md] [b.md", "a.md］ ［Sоurce: b.md", "a [2", "a】.md")],
        *[(NOT_PLAIN, path) for path in ("/etc/passwd", "../a.md", "a/../b.md", "a//b.md", "a/", "./a.md")],
    ],
)  # fmt: skip
def test_a_path_that_no_corpus_can_hold_makes_no_citation(why, path):
    with pytest.raises(InvalidCitation) as raised:
        Citation(path, 1, 2)
    assert str(raised.value) == f"source_file {path!r} {why}"


@pytest.mark.parametrize("path", ["", "a" * (MAX_PATH + 1)])
def test_a_path_has_one_character_at_least_and_as_many_as_a_key_at_most(path):
    with pytest.raises(InvalidCitation, match=rf"has {len(path)} characters, allowed: 1 to"):
        Citation(path, 1, 2)


@pytest.mark.parametrize(("start", "end"), [(0, 1), (-3, 4), (5, 4), (1, MAX_LINE + 1)])
def test_lines_that_no_file_can_have_make_no_citation(start, end):
    with pytest.raises(InvalidCitation, match=r"are not a valid line range"):
        Citation("a.md", start, end)


@pytest.mark.parametrize(
    "path",
    ["a.md", "Ünï/コ.md", "PM2019-009 - Kubernetes IP.md", "a..b.md", "a", "a" * MAX_PATH, "draft [v2].md",
     "【重要】 [a].md", "a) b.md"],
)  # fmt: skip
def test_ordinary_names_are_fine(path):
    assert Citation(path, MAX_LINE, MAX_LINE).source_file == path
