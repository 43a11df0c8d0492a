import datetime as dt
import threading

import pytest
from botocore.credentials import Credentials, RefreshableCredentials
from botocore.exceptions import CredentialRetrievalError

from knowledge_rag.core.errors import DeadlineExceeded, RetrievalFailed
from knowledge_rag.core.net.clients import EXPIRED_CODE, MUST_RENEW_SECONDS, TimelyCredentials
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.outcome import Reason

MINUTE = 60


def metadata(seconds, key="new"):
    expiry = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds)
    return {
        "access_key": key,
        "secret_key": "secret",
        "token": "token",
        "expiry_time": expiry.isoformat(),
    }


class Source:
    """Gives credentials once it is released."""

    def __init__(self, seconds=60 * MINUTE, error=None):
        self.released = threading.Event()
        self.seconds, self.error, self.asked = seconds, error, 0

    def __call__(self):
        self.asked += 1
        assert self.released.wait(30)
        if self.error:
            raise self.error
        return metadata(self.seconds)

    def credentials(self, seconds_left):
        old = metadata(seconds_left, "old")
        return RefreshableCredentials.create_from_metadata(old, self, "test")


def renew(timely, seconds):
    context = {}
    with Deadline.after(seconds).applied():
        timely.renew(context=context)
    return context.get("signing", {}).get("request_credentials")


@pytest.fixture
def source():
    source = Source()
    yield source
    source.released.set()


def test_credentials_that_never_expire_are_left_alone():
    renew(TimelyCredentials(Credentials("key", "secret")), 1)
    renew(TimelyCredentials(None), 1)


def test_fresh_ones_are_not_renewed(source):
    renew(TimelyCredentials(source.credentials(60 * MINUTE)), 1)
    assert source.asked == 0


def test_old_ones_are_renewed_before_the_request_is_signed(source):
    source.released.set()
    credentials = source.credentials(MUST_RENEW_SECONDS - MINUTE)
    renew(TimelyCredentials(credentials), 30)
    assert (source.asked, credentials.access_key) == (1, "new")


def test_a_renewal_that_takes_too_long_ends_at_the_deadline_and_is_not_started_twice(source):
    credentials = source.credentials(MINUTE)
    timely = TimelyCredentials(credentials)
    for _ in range(3):
        with pytest.raises(DeadlineExceeded):
            renew(timely, 0.05)
    assert source.asked == 1
    source.released.set()
    renew(timely, 30)
    assert credentials.get_frozen_credentials().access_key == "new"


def test_while_the_old_ones_still_do_nobody_waits_for_the_new_ones(source):
    credentials = source.credentials(MUST_RENEW_SECONDS + MINUTE)
    renew(TimelyCredentials(credentials), 30)
    assert source.asked == 1
    assert credentials.get_frozen_credentials().access_key == "old"


def test_new_ones_that_have_expired_are_an_access_problem():
    source = Source(seconds=-MINUTE)
    source.released.set()
    with pytest.raises(RetrievalFailed) as caught:
        renew(TimelyCredentials(source.credentials(-MINUTE)), 30)
    assert (caught.value.reason, caught.value.code) == (Reason.ACCESS_DENIED, EXPIRED_CODE)
    assert caught.value.permanent


def test_what_keeps_them_from_being_renewed_is_told():
    source = Source(error=CredentialRetrievalError(provider="test", error_msg="no"))
    source.released.set()
    with pytest.raises(CredentialRetrievalError):
        renew(TimelyCredentials(source.credentials(MINUTE)), 30)


def test_what_a_renewal_found_is_signed_with_even_if_it_will_not_last():
    source = Source(seconds=MUST_RENEW_SECONDS + MINUTE)
    source.released.set()
    found = renew(TimelyCredentials(source.credentials(MINUTE)), 30)
    assert found.get_frozen_credentials().access_key == "new"
    assert source.asked == 1


def test_old_ones_that_could_not_be_renewed_are_signed_with_while_they_do():
    source = Source(error=CredentialRetrievalError(provider="test", error_msg="no"))
    source.released.set()
    found = renew(TimelyCredentials(source.credentials(MUST_RENEW_SECONDS + MINUTE)), 30)
    assert found.get_frozen_credentials().access_key == "old"
    assert source.asked == 1
