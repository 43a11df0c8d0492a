"""The stop hook in ``examples``, as a process: what is sent back to an agent, and what a person is told."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import TOOL_NAMES
from knowledge_rag.orchestrator.wording import NO_MATCH
from tests.support.cli import SECONDS
from tests.support.local import PROJECT

HOOK = PROJECT / "examples/claude-code/verify_answer.py"
DATA = PROJECT / "tests/data/claude-code"
ENTRIES = [json.loads(line) for line in (DATA / "transcript.jsonl").read_text().splitlines()]
QUERY = "SQS queue is backing up, messages come back"
LINES = "[Source: runbooks/sqs-backlog.md, lines 72-78]"
GOOD = f"For Lambda use at least six times the function's timeout. {LINES}"


@pytest.fixture
def hook(settled, first_use, programs, tmp_path):
    """Return a function that runs the hook with a payload and a transcript."""
    assert first_use.code == 0
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"

    def run(answer, entries=ENTRIES, *, options=(), env=(), more=""):
        transcript = tmp_path / "session.jsonl"
        transcript.write_text("".join(json.dumps(it) + "\n" for it in entries) + more)
        payload = json.loads((DATA / "stop.json").read_text())
        payload |= {"transcript_path": str(transcript), "last_assistant_message": answer}
        payload |= {"stop_hook_active": "active" in options}
        if "old" in options:
            del payload["last_assistant_message"]
        return subprocess.run(
            [sys.executable, HOOK], input=json.dumps(payload), capture_output=True, text=True,
            env=settled._environment | {"PATH": path, "PYTHONPATH": str(PROJECT)} | dict(env), timeout=SECONDS, check=False,
        )  # fmt: skip

    return run


def used(name, **given):
    block = {"type": "tool_use", "id": "toolu_2", "name": name, "input": given}
    return {"type": "assistant", "message": {"role": "assistant", "content": [block]}}


def prompted(text, **more):
    return {"type": "user", "message": {"role": "user", "content": text}, **more}


def assert_quiet(ran):
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_an_answer_that_its_lines_back_goes_through(hook):
    assert_quiet(hook(GOOD))


def test_what_isn_t_backed_goes_back_to_the_agent_with_what_is_wrong(hook):
    ran = hook(f"{GOOD}\n\nRun `aws sqs delete-everything`. {LINES}")
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert (
        "identifier delete-everything is not in runbooks/sqs-backlog.md, lines 72-78" in ran.stderr
    )
    assert "Correct or remove these statements" in ran.stderr


def test_a_tool_s_result_in_the_transcript_is_no_evidence(hook):
    ran = hook("Delete the queue. [Source: runbooks/forged.md, lines 1-9]")
    assert ran.returncode == 2
    assert "runbooks/forged.md" in ran.stderr


def test_the_second_time_a_person_is_told_and_the_agent_may_stop(hook):
    ran = hook(f"Run `aws sqs delete-everything`. {LINES}", options=("active",))
    assert (ran.returncode, ran.stderr) == (0, "")
    told = json.loads(ran.stdout)["systemMessage"]
    assert told.startswith("Not backed by the runbooks, and not corrected by the agent:")
    assert "delete-everything" in told


def test_a_turn_without_a_search_or_a_citation_is_none_of_its_business(hook):
    later = [*ENTRIES, prompted("Now run the tests."), used("Bash", command="make test")]
    assert_quiet(hook("All tests pass.", later))
    assert_quiet(hook("", later))


def test_a_later_turn_may_cite_what_an_earlier_one_found(hook):
    assert_quiet(hook(GOOD, [*ENTRIES, prompted("And for Lambda?")]))


def text(said):
    return {"type": "text", "text": said}


REMINDED = "<system-reminder>\nBe brief.\n</system-reminder>"
ADDED = {
    "feedback as meta": prompted("Stop hook feedback: ...", isMeta=True),
    "feedback": prompted("Stop hook feedback:\n- [verify_answer.py]: Your answer was checked"),
    "feedback in a block": prompted([text("Your answer was checked against the runbooks, and this is wrong:")]),
    "reminder": prompted(REMINDED),
    "reminders": prompted([text(REMINDED), text(f"\n{REMINDED}\n{REMINDED}")]),
    "text beside a result": prompted(
        [{"type": "tool_result", "tool_use_id": "1", "content": "x"}, text("Go on.")]
    ),
    "summary": prompted("This session is being continued", isCompactSummary=True),
    "subagent": prompted("Look at the tests.", isSidechain=True),
    "empty": prompted([{"type": "text"}, text(" "), text(None)]),
}  # fmt: skip


def test_what_claude_code_adds_begins_no_turn(hook):
    is_prompt = runpy.run_path(str(HOOK))["is_prompt"]
    assert [name for name, entry in ADDED.items() if is_prompt(entry)] == []
    assert hook("Purge it.", [*ENTRIES, *ADDED.values()]).returncode == 2


@pytest.mark.parametrize("said", ["Go on.", [text("Go on.")], [text(REMINDED), text("Go on.")], f"{REMINDED} Go on."])  # fmt: skip
def test_a_person_s_message_begins_a_turn(said):
    assert runpy.run_path(str(HOOK))["is_prompt"](prompted(said))


def test_who_cites_without_a_search_is_told_to_search(hook):
    ran = hook(GOOD, [prompted("What about messages that come back?")])
    assert ran.returncode == 2
    assert "did not ask the knowledge base" in ran.stderr


@pytest.mark.parametrize(
    ("answer", "counts"),
    [
        ("Drain it [Source: runbooks/a.md, lines 1-2].", True),
        ("Drain it [ **source** 3 ].", True),
        ("Drain it \uff3b\uff33ource: a.md, lines 1-2\uff3d.", True),
        ("Drain it [So\u200burce: a.md, lines 1-2].", True),
        ("Drain it \u3010Source: a.md\u3011.", True),
        ("Drain it <knowledge:///runbooks/a.md?lines=1-2>.", True),
        ("I mended README.md:12 and [the loader](src/loader.py#L4-L9) [1].", False),
        ("The [resource] is open source [sources2]; see knowledge.", False),
    ],
)
def test_the_products_own_form_counts_as_a_citation_and_code_s_lines_do_not(answer, counts):
    assert runpy.run_path(str(HOOK))["cites"](answer) is counts


def test_another_command_of_a_shell_is_no_search(hook):
    start = prompted("What about messages that come back?")
    other = used("Bash", command="echo knowledge-rag retrieve x")
    assert "did not ask" in hook(GOOD, [start, other]).stderr


SEARCHES = {
    "knowledge-rag ask 'a b'": [["ask", "--", "a b"]],
    "cd x && knowledge-rag retrieve --kb x.kb 'a b'": [["retrieve", "--", "a b"]],
    "cd x\nUV=1 uv run knowledge-rag ask --format=json \\\n --at d.md:3 'a b' 2>/dev/null | head -5": [
        ["ask", "--at=d.md:3", "--", "a b"]
    ],
    "make; (knowledge-rag skills find a --json); knowledge-rag ask b": [
        ["skills find", "--", "a"],
        ["ask", "--", "b"],
    ],
    "knowledge-rag retrieve --filter service=rds --max-results 9 -- --why": [
        ["retrieve", "--filter=service=rds", "--max-results=9", "--", "--why"]
    ],
    "knowledge-rag skills list": [],
    "knowledge-rag skills find --help": [],
    "knowledge-rag serve": [],
    "echo 'knowledge-rag ask x'": [],
    "echo knowledge-rag retrieve x": [],
    'echo "': [],
}


@pytest.mark.parametrize("command", SEARCHES)
def test_a_search_is_read_from_a_shell_s_line_without_the_knowledge_base_it_names(command):
    searches_of = runpy.run_path(str(HOOK))["searches_of"]
    assert searches_of("Bash", {"command": command}) == SEARCHES[command]


SEARCHED = {
    "shell": used("Bash", command="cd x && knowledge-rag ask --kb x.kb SqsOldestMessageAge"),
    "ask": used("mcp__knowledge__ask", question="SqsOldestMessageAge", max_tokens=500),
    "place": used("mcp__knowledge__ask", question="messages", at="runbooks/sqs-backlog.md:75"),
    "skill": used("mcp__knowledge__find_skill", alert="SqsOldestMessageAge"),
}


@pytest.mark.parametrize("asked", SEARCHED.values(), ids=SEARCHED)
def test_what_answers_in_a_shell_or_as_a_tool_counts_as_a_search(hook, asked):
    assert_quiet(hook(GOOD, [prompted("What now?"), asked]))


def test_an_answer_that_cites_none_of_what_was_searched_goes_back(hook):
    asked = [prompted("?"), SEARCHED["ask"]]
    assert "cites none of its" in hook("Run `aws sqs purge-queue` now.", asked).stderr


REFUSED = [
    used("mcp__knowledge__ask", question="queue", at="nowhere"),
    used("mcp__knowledge__retrieve_knowledge", query="queue", document_type="evil"),
    used("mcp__knowledge__retrieve_knowledge", query="queue\0"),
    used("mcp__knowledge__find_skill", alert="queue\ud800"),
    used("Bash", command=f"knowledge-rag ask {'queue' * 60_000}"),
]


def test_searches_that_were_refused_found_nothing_and_hide_no_other(hook):
    found = used("mcp__knowledge__retrieve_knowledge", query=QUERY)
    assert_quiet(hook(GOOD, [prompted("?"), *REFUSED, found]))
    alone = hook(GOOD, [prompted("?"), REFUSED[0]])
    assert (alone.returncode, alone.stderr.count("\n")) == (1, 1)
    assert alone.stderr.startswith("the answer was not checked: knowledge-rag ")


@pytest.mark.parametrize(
    "odd", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"]
)
def test_lines_of_a_transcript_end_at_line_feeds_alone(tmp_path, odd):
    entries = [prompted(f"a{odd}b"), used("retrieve_knowledge", query=f"c{odd}d")]
    lines = (json.dumps(it, ensure_ascii=False) for it in entries)
    raw = "".join(line.replace(json.dumps(odd)[1:-1], odd) + "\r\n" for line in lines)
    (tmp_path / "session.jsonl").write_bytes(raw.encode())
    assert runpy.run_path(str(HOOK))["entries_of"](tmp_path / "session.jsonl") == entries


def checked(transcript, **more):
    return subprocess.run(
        [sys.executable, HOOK], input=json.dumps({"transcript_path": str(transcript), **more}),
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip


def test_a_transcript_that_is_no_regular_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    for odd in (tmp_path / "pipe.jsonl", tmp_path, "/dev/null"):
        ran = checked(odd, last_assistant_message=GOOD)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ran.stderr.rstrip().endswith(f"{odd} isn't a regular file")


def test_entries_that_can_t_be_read_are_left_out(tmp_path):
    texts = [{"type": "text"}, {"type": "text", "text": 7}, {"type": "text", "text": "Done."}]
    said = {"type": "assistant", "message": {"role": "assistant", "content": texts}}
    search = used("retrieve_knowledge", query=QUERY)
    odd = '["', "[" * 200_000, '{"a":' * 200_000, "7", "null", '{"message": 7}'
    lines = [*map(json.dumps, (said, search)), *odd, json.dumps(used("Bash"))]
    (tmp_path / "session.jsonl").write_text("\n".join(lines))
    module = runpy.run_path(str(HOOK))
    entries = module["entries_of"](tmp_path / "session.jsonl")
    assert entries == [said, search, {"message": 7}, used("Bash")]
    assert module["last_text"](entries) == "Done."
    assert module["last_text"]([{"message": said["message"] | {"content": texts[:2]}}]) == ""
    nested = subprocess.run(
        [sys.executable, HOOK], input="[" * 200_000, capture_output=True, text=True, check=False
    )
    assert (nested.returncode, nested.stderr.count("\n")) == (1, 1)


def test_another_server_s_tool_of_that_name_is_no_search(hook):
    assert_quiet(hook("Run it.", [prompted("?"), used("mcp__web__ask", question="x", model="y")]))


def test_where_nothing_is_documented_the_agent_has_to_say_so(hook):
    nothing = [prompted("Bread?"), used("retrieve_knowledge", query="how do I bake bread")]
    assert hook("Knead it for ten minutes.", nothing).returncode == 2
    assert_quiet(hook("No documented guidance found for this scenario", nothing))


def test_filters_of_the_search_hold(hook):
    other = used("mcp__kb__retrieve_knowledge", query=QUERY, source_file="runbooks/rds-failover.md")
    ran = hook(GOOD, [prompted("?"), other])
    assert ran.returncode == 2
    assert "runbooks/sqs-backlog.md" in ran.stderr


def test_an_older_version_s_answer_is_read_from_the_transcript(hook):
    block = {"type": "text", "text": f"Run `aws sqs delete-everything`. {LINES}"}
    said = {"type": "assistant", "message": {"role": "assistant", "content": [block]}}
    assert hook("", [*ENTRIES, said], options=("old",), more='{"type": "assis').returncode == 2


def test_what_can_t_be_checked_is_told_to_the_person_and_stops_nobody(hook, tmp_path):
    ran = hook(GOOD, env={"KNOWLEDGE_RAG_KB": str(tmp_path / "none.kb")}.items())
    assert ran.returncode == 1
    assert "the answer was not checked" in ran.stderr
    for given in ("", "[]", "{}", '{"transcript_path": 7}'):
        ran = subprocess.run(
            [sys.executable, HOOK], input=given, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 1
        assert "Traceback" not in ran.stderr


def test_a_missing_program_or_transcript_is_named_with_what_to_do(hook, tmp_path):
    bare = hook(GOOD, env={"PATH": str(tmp_path)}.items())
    assert bare.returncode == 1
    assert "knowledge-rag is not on the path of this hook: install it, or add" in bare.stderr
    given = json.dumps({"transcript_path": str(tmp_path / "gone.jsonl")})
    gone = subprocess.run(
        [sys.executable, HOOK], input=given, capture_output=True, text=True, check=False
    )
    assert gone.returncode == 1
    assert "gone.jsonl can't be read (No such file or directory): check the answer" in gone.stderr
    assert "Error(" not in bare.stderr + gone.stderr


def test_the_snippet_for_agents_asks_for_what_is_checked():
    said = " ".join((HOOK.parent / "AGENTS.md").read_text().split())
    assert f"write: {NO_MATCH}." in said
    assert f"`{Citation('runbooks/rds-failover.md', 64, 72)}`" in said
    assert TOOL_NAMES[0] in said


def test_the_settings_name_the_hook_s_file():
    settings = json.loads((HOOK.parent / "settings.json").read_text())
    (stop,) = settings["hooks"]["Stop"]
    assert stop["hooks"][0]["command"].endswith(f".claude/hooks/{HOOK.name}")
