"""What was refused a moment ago may be granted now."""

import pytest
from botocore.exceptions import ClientError

from lambdas.start_ingestion.clock import PROPAGATION_SECONDS, RETRY_SECONDS, with_new_rights


class Work:
    """Fails with these codes, one a try, and then succeeds."""

    def __init__(self, *codes):
        self.codes = list(codes)
        self.tries = 0

    def __call__(self):
        self.tries += 1
        if self.codes:
            raise ClientError({"Error": {"Code": self.codes.pop(0)}}, "HeadObject")
        return "done"


@pytest.mark.parametrize("code", ["403", "AccessDenied", "AccessDeniedException"])
def test_what_is_refused_at_first_is_done_later(time, code):
    work = Work(code, code)
    assert with_new_rights(work, time.clock()) == "done"
    assert (work.tries, time.slept) == (3, [RETRY_SECONDS] * 2)


def test_nobody_waits_longer_than_rights_take(time):
    with pytest.raises(ClientError, match="403"):
        with_new_rights(Work(*["403"] * 99), time.clock())
    assert time.now == PROPAGATION_SECONDS


def test_nobody_waits_longer_than_there_is_time(time):
    with pytest.raises(ClientError, match="403"):
        with_new_rights(Work("403", "403"), time.clock(end=RETRY_SECONDS))
    assert time.now == RETRY_SECONDS


def test_what_fails_for_another_reason_fails_at_once(time):
    work = Work("NoSuchKey")
    with pytest.raises(ClientError, match="NoSuchKey"):
        with_new_rights(work, time.clock())
    assert (work.tries, time.slept) == (1, [])
