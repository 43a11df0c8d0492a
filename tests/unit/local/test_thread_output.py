"""Only the thread that asks for it has its output collected."""

import sys
import threading

from knowledge_rag.local.action_group import collected_output


def test_other_threads_keep_standard_output(capsys):
    usual = sys.stdout
    inside, written = threading.Event(), threading.Event()

    def work():
        with collected_output() as log:
            sys.stdout.write("log\n")
            inside.set()
            assert written.wait(10)
            sys.stdout.write("more\n")
        collected.append(log.getvalue())

    collected = []
    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(10)
    sys.stdout.write("user\n")
    with collected_output() as mine:
        sys.stdout.write("mine\n")
    written.set()
    thread.join(10)
    assert collected == ["log\nmore\n"]
    assert mine.getvalue() == "mine\n"
    assert capsys.readouterr().out == "user\n"
    assert sys.stdout is usual


def test_a_stream_that_was_put_in_its_place_meanwhile_stays(monkeypatch):
    with collected_output():
        other = sys.stderr
        monkeypatch.setattr(sys, "stdout", other)
    assert sys.stdout is other
