import contextlib
import socket
import threading
import time

import pytest

from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.net import deadline as deadline_module
from knowledge_rag.core.net.deadline import (
    DEFAULT_DEADLINE_SECONDS,
    MAX_RESPONSE_BYTES,
    RETRIEVAL_BUDGET_SECONDS,
    Deadline,
    DeadlineSocket,
    ResponseTooLarge,
    current_deadline,
)


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_it_counts_down_to_its_instant_and_then_raises():
    now = [100.0]
    deadline = Deadline.after(2.0, lambda: now[0])
    now[0] = 101.5
    assert deadline.remaining() == 0.5
    now[0] = 102.0
    with pytest.raises(DeadlineExceeded):
        deadline.remaining()


def test_the_default_leaves_room_within_the_budget():
    assert DEFAULT_DEADLINE_SECONDS < RETRIEVAL_BUDGET_SECONDS


def test_it_applies_within_its_block_only_and_in_its_thread_only():
    deadline = Deadline.after(5)
    seen = []
    with deadline.applied():
        assert current_deadline() is deadline
        thread = threading.Thread(target=lambda: seen.append(current_deadline()))
        thread.start()
        thread.join()
    assert seen[0] is not deadline
    assert current_deadline() is not deadline
    assert current_deadline().remaining() <= DEFAULT_DEADLINE_SECONDS


def test_reading_a_drip_ends_at_the_deadline(pair):
    ours, theirs = pair
    stop = threading.Event()

    def drip():
        while not stop.wait(0.05):
            theirs.sendall(b"x")

    thread = threading.Thread(target=drip)
    thread.start()
    started = time.monotonic()
    reader = DeadlineSocket(ours, Deadline.after(0.3)).makefile()
    with reader, pytest.raises(TimeoutError):
        reader.read(1000)
    assert 0.2 < time.monotonic() - started < 20  # all of it would take 50
    stop.set()
    thread.join()


def test_sending_to_a_peer_that_takes_nothing_ends_at_the_deadline(pair):
    ours, _ = pair
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        DeadlineSocket(ours, Deadline.after(0.2)).sendall(b"x" * 10_000_000)
    assert time.monotonic() - started < 20


def test_who_has_given_up_gets_nothing_more_however_long_the_peer_is_silent(pair):
    ours, theirs = pair
    given_up = threading.Event()
    deadline = Deadline(time.monotonic() + 600, is_given_up=given_up.is_set)
    sock, failed = DeadlineSocket(ours, deadline), []

    def wait():
        try:
            sock.recv_into(bytearray(1))
        except DeadlineExceeded as error:
            failed.append(error)

    theirs.sendall(b"x")
    assert sock.recv_into(bytearray(1)) == 1
    thread = threading.Thread(target=wait)
    thread.start()
    given_up.set()
    thread.join(60)
    assert len(failed) == 1
    with pytest.raises(DeadlineExceeded, match="given up"):
        sock.sendall(b"x" * 10_000_000)


def test_a_peer_that_is_slower_than_a_look_around_is_waited_for(pair, monkeypatch):
    monkeypatch.setattr(deadline_module, "GIVE_UP_SECONDS", 0.01)
    ours, theirs = pair
    sock = DeadlineSocket(ours, Deadline(time.monotonic() + 30, is_given_up=lambda: False))
    looked = threading.Timer(0.1, theirs.sendall, [b"x"])
    looked.start()
    assert sock.recv_into(bytearray(1)) == 1
    looked.join()
    sock.begin(Deadline(time.monotonic() + 0.05, is_given_up=lambda: False))
    with pytest.raises(TimeoutError):
        sock.recv_into(bytearray(1))


def test_it_counts_what_it_received_since_the_exchange_began(pair):
    ours, theirs = pair
    sock = DeadlineSocket(ours, Deadline.after(60))
    theirs.sendall(b"four")
    with sock.makefile() as reader:
        assert reader.read(4) == b"four"
    assert sock.received == 4
    sock.begin(Deadline.after(60))
    assert sock.received == 0


def test_it_receives_so_much_an_exchange_and_no_more(pair):
    ours, theirs = pair
    theirs.settimeout(60)
    sock = DeadlineSocket(ours, Deadline.after(60))

    def flood():
        with contextlib.suppress(OSError):
            theirs.sendall(b"x" * (2 * MAX_RESPONSE_BYTES + 2))

    thread = threading.Thread(target=flood)
    thread.start()
    with sock.makefile() as reader, pytest.raises(ResponseTooLarge):
        reader.read()
    assert sock.received < MAX_RESPONSE_BYTES + 100_000
    sock.begin(Deadline.after(60))
    assert sock.recv_into(bytearray(10)) == 10
    sock.shut()
    thread.join()


def test_closing_it_or_its_reader_leaves_the_socket_open_until_it_is_shut(pair):
    ours, theirs = pair
    sock = DeadlineSocket(ours, Deadline.after(60))
    sock.makefile().close()
    sock.close()
    sock.sendall(b"still here")
    assert theirs.recv(20) == b"still here"
    sock.shut()
    assert theirs.recv(20) == b""


def test_it_is_stale_once_the_peer_has_closed_or_spoken_unasked(pair):
    ours, theirs = pair
    sock = DeadlineSocket(ours, Deadline.after(60))
    assert not sock.is_stale()
    theirs.sendall(b"?")
    assert sock.is_stale()
    theirs.close()
    assert sock.is_stale()


def test_it_is_stale_when_the_peer_said_more_than_was_read(pair):
    ours, theirs = pair
    sock = DeadlineSocket(ours, Deadline.after(60))
    theirs.sendall(b"answer")
    with sock.makefile() as reader:
        assert reader.read(6) == b"answer"
    assert not sock.is_stale()
    theirs.sendall(b"answer and another")
    with sock.makefile() as reader:
        assert reader.read(6) == b"answer"
    assert sock.is_stale()


def test_closing_a_reader_waits_for_nothing(pair):
    ours, _ = pair
    sock = DeadlineSocket(ours, Deadline(0.0, lambda: 1.0))  # a receive would raise
    sock.makefile().close()
    assert not sock.is_stale()


def test_it_reads_only():
    with pytest.raises(ValueError, match="'wb'"):
        DeadlineSocket(socket.socket.__new__(socket.socket), Deadline.after(60)).makefile("wb")
