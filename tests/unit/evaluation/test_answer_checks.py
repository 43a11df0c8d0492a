"""The checks of what answers make of prohibitions and conditions, and the labels they read."""

import json

import pytest

from knowledge_rag.evaluation.answers_cases import Range, read_cases
from tests.support.answer_checks import Texts, inverted, stripped
from tests.support.local import CORPUS, PROJECT

POLARITY = PROJECT / "tests" / "data" / "polarity"
NEAR_MISSES = PROJECT / "tests" / "data" / "near_misses" / "cases.jsonl"

PAGE = """\
# Broker

Before step 1, ask the owner of the queue.

1. Restart the consumer of the queue.
2. Never purge the queue of the broker.

```
brokerctl restart consumer
# wrong:
brokerctl purge orders --all
```
"""
DOCUMENTS = Texts({"broker.md": PAGE})
CASE = {
    "never": ["broker.md:6-6", "broker.md:10-11"],
    "governed": [{"lines": "broker.md:5-5", "by": "broker.md:3-3", "says": "ask the owner"}],
}


def cite(first, last=None):
    return {"source_file": "broker.md", "start_line": first, "end_line": last or first}


def warn(kind, line, text="text"):
    return {"kind": kind, "position": "before", "text": text, "citation": cite(line)}


def answer(action, *cited, commands=(), warnings=()):
    step = {
        "step": 1,
        "action": action,
        "commands": list(commands),
        "citation": cited[0],
        "further_citations": list(cited[1:]),
        "warnings": list(warnings),
    }
    return {"status": "ok", "recommendation": {"summary": "", "guidance": [step]}}


def kinds(findings):
    return [(finding.kind, finding.line[1]) for finding in findings]


RESTART, PURGE = "Restart the consumer of the queue.", "Never purge the queue of the broker."


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (answer(PURGE, cite(6)), [("action", 6)]),
        (answer(RESTART, cite(5, 6)), [("unmarked", 6)]),
        (answer(RESTART, cite(5, 6), warnings=[warn("prohibited", 6)]), []),
        (answer(RESTART, cite(5, 6), warnings=[warn("obsolete", 6)]), []),
        (answer(RESTART, cite(5), warnings=[warn("caution", 6)]), [("unmarked", 6)]),
        (answer(PURGE, cite(6), warnings=[warn("prohibited", 6)]), [("action", 6)]),
    ],
)
def test_a_prohibited_line_is_inverted_unless_a_warning_shows_it_as_such(given, found):
    assert kinds(inverted(CASE, given, DOCUMENTS)) == found
    assert inverted({}, given, DOCUMENTS) == ()


ASK = "Before step 1, ask the owner of the queue."


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (answer(RESTART, cite(5)), [("uncited", 5)]),
        (answer(RESTART, cite(3), cite(5)), [("unsaid", 5)]),
        (answer(f"Ask the owner. {RESTART}", cite(3, 5)), []),
        (answer(RESTART, cite(5), warnings=[warn("precondition", 3, ASK)]), []),
        (answer("Restart.", cite(9)), []),
    ],
)
def test_a_step_without_its_condition_is_stripped(given, found):
    assert kinds(stripped(CASE, given, DOCUMENTS)) == found
    assert stripped({}, given, DOCUMENTS) == ()


CASES = [json.loads(line) for line in (POLARITY / "cases.jsonl").read_text("utf-8").splitlines()]
PAGES = {path.name: path.read_text("utf-8") for path in (POLARITY / "docs").iterdir()}


def lines_of(documents, texts):
    return {line for text in texts for line in documents.counted(Range.parse(text))}


def test_the_labels_of_60_runbooks_name_lines_of_theirs_and_contradict_nothing():
    documents = Texts(PAGES)
    assert len(read_cases([POLARITY / "cases.jsonl"])) == len(CASES) == 60
    assert sorted(case["files"][0] for case in CASES) == sorted(PAGES)
    for case in CASES:
        (name,) = case["files"]
        rules = case.get("governed", ())
        governed = [rule[part] for rule in rules for part in ("lines", "by")]
        for text in [*case["must"], *case.get("never", ()), *governed]:
            labelled = Range.parse(text)
            assert labelled.source_file == name
            assert labelled.last < len(documents.text(name))
            assert {(name, labelled.first), (name, labelled.last)} <= documents.counted(labelled)
        wanted, never = (lines_of(documents, case.get(key, ())) for key in ("must", "never"))
        assert wanted
        assert not wanted & never
        assert (
            bool(never) != ("no-prohibition" in case["tests"]) or "caution-after" in case["tests"]
        )
        for rule in rules:
            by = Range.parse(rule["by"])
            said = " ".join(documents.text(name)[by.first - 1 : by.last])
            assert rule["says"].casefold() in said.casefold()


def test_an_answer_of_the_whole_page_is_inverted_wherever_something_is_forbidden():
    documents = Texts(PAGES)
    for case in CASES:
        (name,) = case["files"]
        lines = documents.text(name)
        citation = {"source_file": name, "start_line": 1, "end_line": len(lines)}
        whole = answer("\n".join(lines), citation)
        found = {finding.line for finding in inverted(case, whole, documents)}
        assert found == lines_of(documents, case.get("never", ()))
        assert stripped(case, whole, documents) == ()


def test_33_questions_and_33_alerts_name_what_no_sample_runbook_holds():
    rows = [json.loads(line) for line in NEAR_MISSES.read_text("utf-8").splitlines()]
    assert len({row["id"] for row in rows}) == len(rows) == 66
    assert sum("query" in row for row in rows) == sum("incident" in row for row in rows) == 33
    held = " ".join(path.name + " " + path.read_text("utf-8") for path in CORPUS.rglob("*.md"))
    for row in rows:
        said = row.get("query") or " ".join(row["incident"].values())
        assert row["none"] is True
        assert row["names"]
        for name in row["names"]:
            assert name.casefold() in said.casefold()
            assert name.casefold() not in held.casefold()
        assert (CORPUS / row["near"]).is_file()
