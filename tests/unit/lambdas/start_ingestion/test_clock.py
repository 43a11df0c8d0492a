"""The time that one invocation has."""

import pytest

from knowledge_rag.core.errors import DeadlineExceeded


def test_what_is_left_shrinks_and_ends(time):
    clock = time.clock(end=10)
    assert clock.left() == 10
    time.sleep(12)
    assert clock.left() == -2
    with pytest.raises(DeadlineExceeded, match="while emptying; deploy again"):
        clock.check("emptying")


def test_an_earlier_end_is_granted_and_a_later_one_is_not(time):
    clock = time.clock(end=10)
    assert clock.until(4).left() == 4
    assert clock.until(99).left() == 10
