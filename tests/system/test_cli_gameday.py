"""Game day, as a person runs it; ``test_budget`` plays all of its rows."""

import contextlib
import signal
from pathlib import Path

import pytest

from tests.support.cli import SECONDS, assert_one_line, eventually

QUICK = ("--only", "refused", "--only", "access-denied", "--only", "query-blank")


@pytest.fixture(scope="module")
def runs(settled):
    return settled.each(
        {
            "json": ("gameday", *QUICK, "--json"),
            "list": ("gameday", "--list"),
        }
    )


def test_json_holds_the_records_that_were_emitted(runs):
    report = runs["json"].json
    assert report["kept"] is True
    assert [row["name"] for row in report["rows"]] == ["access-denied", "refused", "query-blank"]
    denied, _, blank = report["rows"]
    assert denied["metrics"][0]["KnowledgeRetrievalPermanentErrors"] == [1.0]
    assert denied["alarms_at_once"] == ["permanent-errors"]
    assert (blank["http"], blank["metrics"], blank["alarms"]) == (400, [], [])


def test_the_list_says_what_goes_wrong(runs):
    assert runs["list"].code == 0
    assert "drip-body" in runs["list"].out
    assert "the body drips, a byte every 0.3 s" in runs["list"].out


def test_a_row_that_can_t_be_played_is_a_finding(settled):
    ran = settled("gameday", "--only", "drip-body-tls", PATH="/nowhere")
    assert ran.code == 1
    assert "drip-body-tls: not run: TLS needs the openssl command" in " ".join(ran.out.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--only", "drip"), "did you mean six-drips, drip-body"),
        (("--only", "nonsense"), "--list"),
    ],
)
def test_wrong_usage_is_one_line(settled, arguments, said):
    ran = settled("gameday", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert_one_line(ran.err, said)


def test_a_terminal_sees_how_far_it_is_and_a_table_of_answers_and_alarms(settled):
    shown = settled.on_terminal("gameday", *QUICK)
    assert "0/3" in shown
    for part in ("degraded: unavailable", "error-rate", "permanent-errors!", "query is blank"):
        assert part in shown
    assert "3 faults; every promise kept" in shown


def test_ctrl_c_ends_it_at_once_and_leaves_no_process_behind(settled):
    with settled.started("gameday", "--only", "pause") as process:
        eventually(lambda: children(process.pid), "a process plays the row")
        played_by = children(process.pid)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, err) == (130, b"error: interrupted\n")
    gone = lambda: not any(Path(f"/proc/{pid}").exists() for pid in played_by)  # noqa: E731
    eventually(gone, "the end of what played it")


def children(parent):
    """Give the processes that a process has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            pid, _, rest = stat.read_text().partition(" (")
            if int(rest.rpartition(") ")[2].split()[1]) == parent:
                found.append(int(pid))
    return found
