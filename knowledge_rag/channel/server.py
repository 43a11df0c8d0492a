"""Receives webhooks: each is checked, queued and acknowledged before anything is looked up."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from knowledge_rag.channel.events import delivery_of
from knowledge_rag.channel.json_requests import Refused, decoded, read_body
from knowledge_rag.channel.queue import KEEP_SECONDS
from knowledge_rag.channel.settings import Maker
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.orchestrator.retrieval import log_defect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from starlette.requests import Request

    from knowledge_rag.channel.queue import Queue
    from knowledge_rag.channel.settings import Hook, HookSettings
    from knowledge_rag.channel.worker import Worker

MAX_BODY: Final = 1_000_000
"""Maximum bytes of a delivery: Alertmanager sends about 2 KB per alert."""

IDLE_SECONDS: Final = 0.5
"""How long the worker sleeps if there is nothing to do and nothing arrives."""

MAX_AGE: Final = 300.0
"""Maximum seconds between a signed time and ours."""

_HOUR: Final = 3600.0
_STOP_SECONDS: Final = 15.0

_logger: Final = logging.getLogger(__name__)


def create_hooks(
    settings: HookSettings, queue: Queue, clock: Callable[[], float], arrived: Callable[[], None]
) -> Starlette:
    """Create the application that receives webhooks at ``/hooks/NAME``.

    ``clock`` returns the seconds since 1970; ``arrived`` is called after something was queued.
    """

    async def receive(request: Request) -> Response:
        try:
            hook, payload = await _admitted(request, settings, clock())
            return await run_in_threadpool(_keep, queue, hook, payload, clock(), arrived)
        except Refused as error:
            if (name := request.path_params["name"]) in settings.hooks:
                _logger.warning("hook=%s | refused: %s", name, error)
            return JSONResponse({"error": str(error)}, error.status)
        except ClientDisconnect:
            return Response(status_code=400)  # the client is gone
        except Exception as error:  # noqa: BLE001 - logged without its message; the sender tries again
            log_defect(error, "a delivery could not be stored")
            return JSONResponse({"error": "it could not be stored; send it again"}, 503)

    async def health(request: Request) -> Response:
        del request
        return JSONResponse({"waiting": await run_in_threadpool(queue.waiting)})

    return Starlette(
        routes=[
            Route("/hooks/{name}", receive, methods=["POST"]),
            Route("/health", health, methods=["GET"]),
        ]
    )


async def _admitted(request: Request, settings: HookSettings, now: float) -> tuple[Hook, object]:
    hook = settings.hooks.get(request.path_params["name"])
    if hook is None:
        raise Refused(404, "no such hook")
    body = await read_body(request, MAX_BODY)
    if refused := refusal(hook.maker, hook.secret, request.headers, body, now):
        raise Refused(401, refused)
    return hook, decoded(body)


def refusal(
    maker: Maker, secret: str, headers: Mapping[str, str], body: bytes, now: float
) -> str | None:
    """Return why a delivery of a maker is refused; ``None`` if it is authentic.

    Everything is compared in constant time. A delivery repeated within MAX_AGE is recognised by its event's key.
    """
    if maker is Maker.PAGERDUTY:
        given = headers.get("x-pagerduty-signature", "").split(",")
        return _checked([it.strip().removeprefix("v1=") for it in given], _hex(secret, body))
    if maker is Maker.GRAFANA and (signed := headers.get("x-grafana-alerting-signature")):
        moment = headers.get("x-grafana-alerting-timestamp", "")
        if not moment:
            return _checked([signed], _hex(secret, body))
        text = moment.encode() + b":" + body
        return _late(moment, now) or _checked([signed], _hex(secret, text))
    if maker is Maker.INCIDENT_IO:
        return _standard(secret, headers, body, now)
    scheme, _, given_secret = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return "no Authorization: Bearer header"
    return _checked([given_secret.strip()], secret)


def _standard(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> str | None:
    """Check a Standard Webhooks signature, which incident.io sends (by Svix)."""
    moment = headers.get("webhook-timestamp", "")
    if late := _late(moment, now):
        return late
    text = f"{headers.get('webhook-id', '')}.{moment}.".encode() + body
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        return "the secret is not base64"
    expected = base64.b64encode(hmac.digest(key, text, hashlib.sha256)).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return _checked([it.removeprefix("v1,") for it in given], expected)


def _late(moment: str, now: float) -> str | None:
    if not moment.isdecimal() or len(moment) > 12:
        return "no signed time"
    return "the signed time is too far from ours" if abs(now - int(moment)) > MAX_AGE else None


def _hex(secret: str, text: bytes) -> str:
    return hmac.digest(secret.encode(), text, hashlib.sha256).hex()


def _checked(given: list[str], expected: str) -> str | None:
    same = [hmac.compare_digest(it.encode(), expected.encode()) for it in given]
    return None if any(same) else "the signature or secret is wrong"


def _keep(
    queue: Queue, hook: Hook, payload: object, now: float, arrived: Callable[[], None]
) -> Response:
    delivery = delivery_of(hook.maker, payload)
    new = queue.receive(hook.name, delivery.events, now)
    if new:
        arrived()
    about = f"hook={hook.name} | from={hook.maker}"
    for it in dict.fromkeys(delivery.others):
        _logger.info("%s | no alert: %s", about, neutralise(it))
    if delivery.needs:
        _logger.warning("%s | no alert: %s", about, neutralise(delivery.needs))
    elif not delivery.events and not delivery.others:
        wrong = "the payload contains no alert of this kind"
        _logger.warning("%s | %s: check the hook's `from`", about, wrong)
    return JSONResponse({"events": len(delivery.events), "new": new}, 202)


@contextmanager
def working(worker: Worker, clock: Callable[[], float], arrived: threading.Event) -> Iterator[None]:
    """Process the queue while the block runs; a post that has begun is completed.

    One thread answers, and each destination has one that posts, so that none waits for another. ``clock`` returns the
    seconds since 1970; ``arrived`` is set when something was received.
    """
    stopping = threading.Event()
    queued = {name: threading.Event() for name in worker.settings.destinations}
    forgotten = 0.0

    def prepare(now: float) -> bool:
        nonlocal forgotten
        if abs(now - forgotten) > _HOUR:
            worker.queue.forget(now - KEEP_SECONDS)
            forgotten = now
        if not worker.prepare(now):
            return False
        for it in queued.values():
            it.set()
        return True

    works = [("answers", prepare, arrived)] + [
        (name, partial(worker.post, worker.settings.destinations[name]), wake)
        for name, wake in queued.items()
    ]
    threads = [
        threading.Thread(
            target=_run, args=(work, clock, wake, stopping), name=f"channel {name}", daemon=True
        )
        for name, work, wake in works
    ]
    for it in threads:
        it.start()
    try:
        yield
    finally:
        stopping.set()
        for _, _, wake in works:
            wake.set()
        until = time.monotonic() + _STOP_SECONDS
        for it in threads:
            it.join(max(0.0, until - time.monotonic()))


def _run(
    work: Callable[[float], bool],
    clock: Callable[[], float],
    wake: threading.Event,
    stopping: threading.Event,
) -> None:
    while not stopping.is_set():
        try:
            if work(clock()):
                continue
        except Exception as error:  # noqa: BLE001 - what is queued stays, and the next round may succeed
            log_defect(error, "the queue could not be processed")
        wake.wait(IDLE_SECONDS)
        wake.clear()
