import socket
import threading
import time

import pytest

from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.net.dns import FRESH_SECONDS, STUCK_AFTER_SECONDS, Resolver

ONE = ((socket.AF_INET, socket.SOCK_STREAM, 6, ("192.0.2.1", 443)),)
TWO = ((socket.AF_INET, socket.SOCK_STREAM, 6, ("192.0.2.2", 443)),)


class Names:
    """A resolver behind the resolver: answers in order; an Event among them blocks until set."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0

    def __call__(self, _host, _port):
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, threading.Event):
            answer.wait(60)
            answer = ONE
        if isinstance(answer, Exception):
            raise answer
        return answer


class Clock:
    def __init__(self):
        self.ahead = 0.0

    def __call__(self):
        return self.ahead


def resolve(resolver, seconds=60.0):
    return resolver.resolve("kb.example", 443, Deadline.after(seconds))


def test_an_address_needs_no_lookup():
    names = Names()
    assert Resolver(names).resolve("127.0.0.1", 80, Deadline.after(60))[0][3] == ("127.0.0.1", 80)
    assert names.asked == 0


def test_a_fresh_answer_is_used_again_and_an_old_one_is_asked_anew():
    names, clock = Names(ONE, TWO), Clock()
    resolver = Resolver(names, clock)
    assert resolve(resolver) == ONE
    assert resolve(resolver) == ONE
    clock.ahead = FRESH_SECONDS + 1
    assert resolve(resolver) == TWO


def test_an_old_answer_is_used_when_a_fresh_one_takes_long():
    blocked, clock = threading.Event(), Clock()
    resolver = Resolver(Names(ONE, blocked), clock)
    resolve(resolver)
    clock.ahead = FRESH_SECONDS + 1
    started = time.monotonic()
    assert resolve(resolver) == ONE
    assert time.monotonic() - started < 20  # nothing else ends it
    blocked.set()


def test_an_old_answer_is_used_when_the_name_can_no_longer_be_resolved():
    clock = Clock()
    resolver = Resolver(Names(ONE, socket.gaierror("gone")), clock)
    resolve(resolver)
    clock.ahead = FRESH_SECONDS + 1
    assert resolve(resolver) == ONE


def test_waiting_ends_at_the_deadline():
    blocked = threading.Event()
    resolver = Resolver(Names(blocked))
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        resolve(resolver, 0.1)
    assert time.monotonic() - started < 20
    blocked.set()


def test_many_callers_share_one_lookup_and_a_stuck_one_is_not_waited_for():
    blocked, clock = threading.Event(), Clock()
    names = Names(blocked, ONE)
    resolver = Resolver(names, clock)
    for _ in range(5):
        with pytest.raises(DeadlineExceeded):
            resolve(resolver, 0.01)
    assert names.asked == 1
    clock.ahead = STUCK_AFTER_SECONDS + 0.1
    assert resolve(resolver) == ONE
    blocked.set()


def test_a_dead_resolver_costs_two_threads_at_most():
    events, clock = [threading.Event() for _ in range(9)], Clock()
    names = Names(*events)
    resolver = Resolver(names, clock)
    for _ in range(9):
        with pytest.raises(DeadlineExceeded):
            resolve(resolver, 0.01)
        clock.ahead += STUCK_AFTER_SECONDS + 0.1
    assert names.asked == 2
    for event in events:
        event.set()


def test_a_failure_is_raised_and_not_remembered():
    resolver = Resolver(Names(socket.gaierror("no"), (), ONE))
    with pytest.raises(socket.gaierror):
        resolve(resolver)
    with pytest.raises(OSError, match="no address"):
        resolve(resolver)
    assert resolve(resolver) == ONE


def test_a_forgotten_name_is_asked_anew():
    resolver = Resolver(Names(ONE, TWO))
    resolve(resolver)
    resolver.forget("kb.example", 443)
    resolver.forget("never.asked", 443)
    assert resolve(resolver) == TWO


def test_a_name_that_can_t_be_one_is_an_os_error():
    resolver = Resolver()
    with pytest.raises(OSError, match="is not a host name"):
        resolver.resolve("a" * 70 + ".example", 443, Deadline.after(60))


def test_a_lookup_that_could_not_start_keeps_nobody_from_the_next(monkeypatch):
    def no_more_threads(_thread):
        raise RuntimeError("can't start new thread")

    resolver = Resolver(Names(ONE))
    with monkeypatch.context() as machine:
        machine.setattr(threading.Thread, "start", no_more_threads)
        with pytest.raises(OSError, match="no thread"):
            resolve(resolver)
    assert resolve(resolver) == ONE
