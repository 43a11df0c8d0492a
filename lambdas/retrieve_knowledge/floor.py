"""The score threshold in use: measured after the deployment, read from a parameter during searches.

``knowledge-rag smoke --apply`` writes the parameter. A thread of its own reads it at most once a
minute, and no query waits for that: :attr:`EvidenceFloor.current` returns the latest known value.
"""

from __future__ import annotations

import math
import threading
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from botocore.exceptions import ClientError

from knowledge_rag.core.background import Background
from knowledge_rag.core.net.deadline import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowledge_rag.core.net.clients import AwsClient

MAX_AGE_SECONDS: Final = 60.0
"""How long the result of a read is used, whether it succeeded or failed."""

READ_SECONDS: Final = 1.5
"""Timeout of a read."""

ABSENT: Final = "ParameterNotFound"


class FloorSource(StrEnum):
    """The source of the threshold in use."""

    SETTING = "setting"
    DEFAULT = "default"
    """Used until the parameter exists and was read for the first time."""
    PARAMETER = "parameter"


class Floor(NamedTuple):
    """A score threshold, ``None`` for none, and its source."""

    value: float | None
    source: FloorSource


def read_floor(text: object) -> float:
    """Read a parameter's value.

    Raises:
        ValueError: it is not a number from 0 to 1.
    """
    try:
        value = float(str(text))
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:  # NaN is in no range
        raise ValueError(f"{str(text)[:40]!r} is not a number from 0 to 1")
    return value


class EvidenceFloor:
    """The score threshold of one knowledge base and search type.

    Args:
        default: threshold until the parameter is read; without a parameter, the only one.
        parameter: the parameter's name, ``""`` for none.
        region: the parameter's region.
        now: seconds of a clock that continues while Lambda freezes the process.
    """

    def __init__(
        self,
        default: float | None,
        parameter: str = "",
        region: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        source = FloorSource.DEFAULT if parameter else FloorSource.SETTING
        self._default = Floor(default, source)
        self._parameter = parameter
        self._region = region
        self._now = now
        self._floor = self._default
        self._client: AwsClient | None = None
        self._lock = threading.Lock()
        self._reading: Background[None] | None = None
        self._begun = -math.inf
        self._problem = self._reported = ""

    @property
    def current(self) -> Floor:
        """The latest known threshold, without waiting."""
        return self._floor

    def refresh(self) -> Background[None] | None:
        """Start reading the parameter if the last read is old; return the read in progress, if any.

        A read in the future, from a clock that was set back, counts as old: a restored snapshot may be older
        than it looks.
        """
        with self._lock:
            under_way = self._reading is not None and not self._reading.over.is_set()
            if self._parameter and not under_way:
                age = self._now() - self._begun
                if not 0 <= age < MAX_AGE_SECONDS:
                    self._begun = self._now()
                    self._reading = Background("evidence-floor", self._read)
            return self._reading

    def new_problem(self) -> str:
        """Return the reason why the last read failed, once for each cause; ``""`` if it isn't new."""
        problem = self._problem
        if problem == self._reported:
            return ""
        self._reported = problem
        return problem

    def _read(self) -> None:
        try:
            self._floor = self._fetched()
            self._problem = ""
        except ClientError as error:
            self._problem = str(error.response.get("Error", {}).get("Code", "Unknown"))
        except Exception as error:  # noqa: BLE001 - botocore's parser raises whatever a body makes it raise
            self._problem = f"{type(error).__name__}: {error}"

    def _fetched(self) -> Floor:
        if self._client is None:
            # loaded only if used
            from knowledge_rag.core.bedrock import check_error  # noqa: PLC0415
            from knowledge_rag.core.net import clients  # noqa: PLC0415

            made = clients.create_client("ssm", "GetParameter", self._region, check_error)
            made.prepare()
            self._client = made
        try:
            with Deadline.after(READ_SECONDS).applied():
                answer = self._client.api.get_parameter(Name=self._parameter)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") == ABSENT:
                return self._default
            raise
        finally:
            self._client.transport.close()  # an idle connection wouldn't survive a frozen process
        parameter = answer.get("Parameter") if isinstance(answer, dict) else None
        found = parameter.get("Value") if isinstance(parameter, dict) else None
        return Floor(read_floor(found), FloorSource.PARAMETER)
