"""A command of these tests is what a user's is, though the interpreter that it runs in was started before."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.cli import COMMAND, FRESH
from tests.support.command_zygote import Zygote
from tests.support.local import CORPUS, PROJECT

pytestmark = pytest.mark.skipif(FRESH, reason="each command starts Python anew")


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("lint", CORPUS, "--json"), ("retrieve",), ("chunk", "no-such-file")],
    ids=lambda arguments: arguments[0],
)
def test_it_leaves_behind_what_a_new_process_does(cli, arguments):
    assert cli(*arguments) == cli(*arguments, PYTHONHASHSEED="0")


def test_it_has_its_own_environment_and_no_other(cli):
    asked = ("ask", "x", "--stack", "nowhere")
    assert "of_one?!" in cli(*asked, AWS_REGION="of_one?!").err
    assert "no region is set" in cli(*asked).err


def test_one_that_takes_too_long_is_killed_and_the_next_one_runs(cli):
    zygote = Zygote()
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            zygote.run([str(COMMAND), "serve", "--help"], cli._environment, str(PROJECT), 0.0)
        command = [str(COMMAND), "--version"]
        ended = zygote.run(command, cli._environment, str(PROJECT), 60)
        assert (ended.returncode, ended.stderr) == (0, b"")
    finally:
        zygote.close()
