"""Credentials that are renewed in time, or not at all.

Where credentials are temporary, botocore renews them while it signs a request: from a process, a
container's endpoint (Lambda with SnapStart has one) or STS, each with timeouts and retries of its own.
Here that happens on a daemon thread before the request is signed, and the call stops waiting at its
deadline. What is then found is what the request is signed with: left to itself, botocore would look
again while it signs, and renew a second time what is renewed to less than 15 minutes, or not at all.
Credentials from the environment, which Lambda gives otherwise, are never renewed.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from botocore.credentials import Credentials, RefreshableCredentials

from knowledge_rag.core.background import Background
from knowledge_rag.core.deadline import current_deadline
from knowledge_rag.core.errors import DeadlineExceeded, RetrievalFailed
from knowledge_rag.core.outcome import Reason

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials

MUST_RENEW_SECONDS: Final = 10 * 60
"""With less time left than this, botocore does not sign with them; with more, it renews if it can."""

EARLY_WAIT_SECONDS: Final = 0.25
"""How long a renewal is waited for while the credentials would still do."""

EXPIRED_CODE: Final = "ExpiredCredentials"


class TimelyCredentials:
    """Renews a client's credentials; :meth:`renew` is a ``before-call`` handler.

    Args:
        credentials: with which the client signs, ``None`` where there are none.
    """

    def __init__(self, credentials: Credentials | None) -> None:
        self._credentials = credentials
        self._lock = threading.Lock()
        self._renewal: Background[ReadOnlyCredentials] | None = None

    def renew(self, context: dict[str, Any], **_: object) -> None:
        """See to it that signing finds credentials that it need not renew.

        Args:
            context: the request's, where its signer looks for credentials of its own.

        Raises:
            DeadlineExceeded: they could not be renewed before the current deadline.
            RetrievalFailed: they were renewed, and the new ones have expired too.
            BotoCoreError: they could not be renewed, and the old ones no longer do.
        """
        credentials = self._credentials
        if not isinstance(credentials, RefreshableCredentials) or not credentials.refresh_needed():
            return
        found = self._renewed(credentials)
        if found is not None:
            fixed = Credentials(found.access_key, found.secret_key, found.token)  # type: ignore[arg-type] # the stubs allow None
            context.setdefault("signing", {})["request_credentials"] = fixed

    def _renewed(self, credentials: RefreshableCredentials) -> ReadOnlyCredentials | None:
        must = credentials.refresh_needed(MUST_RENEW_SECONDS)
        renewal, left = self._under_way(credentials), current_deadline().remaining()
        over = renewal.over.wait(left if must else min(left, EARLY_WAIT_SECONDS))
        if not over and not must:
            return None  # botocore signs with the old ones while another thread renews them
        if not over:
            raise DeadlineExceeded("renewing the credentials took too long")
        if isinstance(renewal.error, RuntimeError):  # botocore's word for it
            raise RetrievalFailed(Reason.ACCESS_DENIED, code=EXPIRED_CODE, permanent=True)
        if renewal.error is not None:
            raise renewal.error
        return renewal.result

    def _under_way(self, credentials: RefreshableCredentials) -> Background[ReadOnlyCredentials]:
        with self._lock:
            if self._renewal is None or self._renewal.over.is_set():
                self._renewal = Background("credentials", credentials.get_frozen_credentials)
            return self._renewal
