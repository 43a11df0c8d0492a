"""What the records of every function have in common: the logger, and whose they are.

The deployment's name is the ``service`` of each log line and the dimension of each metric, so that
two deployments in one account do not add up. It comes from ``POWERTOOLS_SERVICE_NAME``.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Final

from knowledge_rag.core import telemetry
from knowledge_rag.core.log_output import StandardOutput, ascii_json, log_level
from lambdas.metric_record import MetricRecord
from lambdas.powertools import IGNORED, Logger

_LEVEL: Final = log_level(os.environ)


def _service() -> str:
    return os.environ.get("POWERTOOLS_SERVICE_NAME", "").strip() or telemetry.SERVICE


logger: Final = Logger(
    service=_service(),
    level=_LEVEL.name,
    logger_handler=StandardOutput(),
    json_serializer=ascii_json,
    log_uncaught_exceptions=False,
)


@lru_cache(maxsize=1)
def begin() -> None:
    """Say what is wrong with the log's own settings: once, and when there is a call to say it at."""
    if _LEVEL.problem:
        logger.warning("log level is wrong", problems=_LEVEL.problem)
    if IGNORED:
        logger.warning("settings of the log are wrong", problems="; ".join(IGNORED))


def metric_record() -> MetricRecord:
    """Start one metric record of this deployment."""
    return MetricRecord(telemetry.NAMESPACE, _service())
