"""The APIs that answers are posted to, on loopback: what each asks of a request, its limits, and how it fails.

Made from the makers' published references: Slack's ``chat.postMessage`` and ``conversations.*``, PagerDuty's REST
schema (https://github.com/PagerDuty/api-schema), Opsgenie's alert API, incident.io's OpenAPI document, GitHub's REST
description, and botocore's models of SNS and Systems Manager.
"""

from __future__ import annotations

import json
import re
import threading
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from botocore.loaders import create_loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

from knowledge_rag.channel.settings import ADDRESSES, Destination, Kind
from tests.support.block_kit import problems
from tests.support.loopback import Loopback, Raw

KEYS = {
    Kind.SLACK: ("Authorization", "Bearer slack-key"),
    Kind.PAGERDUTY: ("Authorization", "Token token=pagerduty-key"),
    Kind.OPSGENIE: ("Authorization", "GenieKey opsgenie-key"),
    Kind.INCIDENT_IO: ("Authorization", "Bearer incident.io-key"),
    Kind.GITHUB: ("Authorization", "Bearer github-key"),
}
CHANNEL = "C0123ABCDEF"
PATHS = {
    "/slack/": Kind.SLACK,
    "/pagerduty/": Kind.PAGERDUTY,
    "/opsgenie/": Kind.OPSGENIE,
    "/incident.io/": Kind.INCIDENT_IO,
    "/github/": Kind.GITHUB,
    "/hook": Kind.WEBHOOK,
    "/sns/": Kind.SNS,
    "/ssm/": Kind.OPS_ITEM,
}
TOPIC = "arn:aws:sns:us-east-1:123456789012:on-call"


class Hung(Exception):  # noqa: N818 - an end, not an error
    """The connection ends without a response."""


class Makers(Loopback):
    """All makers at once.

    Attributes:
        taken: what each has taken: its kind, where it stands, and the body.
        plan: how the next posts end, one each: a status, a code of Slack's, ``lost`` (taken, no response), ``cut`` (not taken, no
            response).
        others: what others have posted since, wherever a list is asked for.
        known: further methods of Slack's, and what they answer.
        channels: of Slack, that the bot is in.
        responses: what was sent to the ``response_url`` of a command.
        down: whether every request ends without a response.
    """

    def __init__(self) -> None:
        self.taken: list[tuple[Kind, str, dict[str, Any]]] = []
        self.plan: list[int | str] = []
        self.down = False
        self.others = 0
        self.calls = 0
        self.reads = 0
        self.known: dict[str, dict[str, Any]] = {
            "/auth.test": {"bot_id": "B1", "user_id": "U1", "team_id": "T1"}
        }
        self.channels = {CHANNEL}
        self.responses: list[dict[str, Any]] = []
        self.signed: list[tuple[str, bytes]] = []
        self._times = iter(range(1, 10**6))
        self._turn = threading.Lock()
        super().__init__()
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]

    def destination(self, kind: Kind, name: str = "") -> Destination:
        """Return a destination of this server."""
        path = next(path for path, it in PATHS.items() if it is kind)
        url = self.url + (path if kind is Kind.WEBHOOK else path.rstrip("/"))
        secret = (
            "webhook-key"
            if kind is Kind.WEBHOOK
            else KEYS.get(kind, ("", " "))[1].split(" ")[-1].removeprefix("token=")
        )
        more: dict[str, Any] = {
            Kind.SLACK: {"channel": CHANNEL},
            Kind.PAGERDUTY: {"sender": "bot@acme.example"},
            Kind.GITHUB: {"repository": "acme/ops", "issue": 7},
            Kind.SNS: {"topic": TOPIC},
            Kind.OPS_ITEM: {"region": "us-east-1"},
        }.get(kind, {})
        assert kind in ADDRESSES or kind in (Kind.WEBHOOK, Kind.SNS, Kind.OPS_ITEM)
        return Destination(name or kind.value.replace(".", "-"), kind, url, secret, **more)

    def of(self, kind: Kind) -> list[dict[str, Any]]:
        """Return the bodies that one has taken."""
        return [body for it, _, body in self.taken if it is kind]

    def respond(self, method: str, path: str, headers: Any, body: bytes) -> Raw:
        """Answer as the maker of the path does."""
        with self._turn:
            self.calls += 1
            if self.down:
                raise Hung
            prefix = next(it for it in PATHS if path.startswith(it))
            kind, rest = PATHS[prefix], "/" + path.removeprefix(prefix)
            if method == "GET":
                self.reads += 1
                return self._list(kind, rest, headers)
            if rest in self.known:
                return _json({"ok": True, **self.known[rest]})
            ending = self.plan.pop(0) if self.plan else ""
            if isinstance(ending, int):
                after = (("Retry-After", "30"),) if ending in {429, 503} else ()
                return Raw(b'{"error": "x"}', status=ending, headers=after)
            if ending == "cut":
                raise Hung
            if ending and ending != "lost":
                return _json({"ok": False, "error": ending})
            response = self._post(kind, rest, headers, body)
            if ending == "lost":
                raise Hung
            return response

    def _post(  # noqa: PLR0911 - one for each maker
        self, kind: Kind, path: str, headers: Any, body: bytes
    ) -> Raw:
        if kind in KEYS and headers.get(KEYS[kind][0]) != KEYS[kind][1]:
            return _json({"ok": False, "error": "invalid_auth"}, 200 if kind is Kind.SLACK else 401)
        if kind in (Kind.SNS, Kind.OPS_ITEM):
            return self._aws(kind, headers, body)
        wire = json.loads(body)
        if "application/json" not in headers["Content-Type"] or not headers["User-Agent"]:
            return _json({}, 415)
        if kind in (Kind.SLACK, Kind.WEBHOOK):
            return (
                self._slack(path, wire) if kind is Kind.SLACK else self._hook(headers, wire, body)
            )
        if kind is Kind.PAGERDUTY:
            found = re.fullmatch(r"/incidents/(\w+)/notes", path)
            valid = found and headers["From"] and wire["note"]["content"]
            return self._took(kind, found[1], wire, 200) if valid else _json({}, 400)
        if kind is Kind.OPSGENIE:
            found = re.fullmatch(r"/v2/alerts/([^/]+)/notes\?identifierType=id", path)
            valid = found and 0 < len(wire["note"]) <= 25_000
            return self._took(kind, found[1], wire, 202) if valid else _json({}, 422)
        if kind is Kind.INCIDENT_IO:
            if (
                path != "/v2/incident_updates"
                or not wire["idempotency_key"]
                or not wire["incident_id"]
            ):
                return _json({}, 422)
            known = [it["idempotency_key"] for it in self.of(kind)]
            again = wire["idempotency_key"] in known
            return _json({}, 200) if again else self._took(kind, wire["incident_id"], wire, 200)
        if path != "/repos/acme/ops/issues/7/comments" or len(wire["body"]) > 65_536:
            return _json({}, 422)
        return self._took(kind, "7", wire, 201)

    def _hook(self, headers: Any, wire: dict[str, Any], body: bytes) -> Raw:
        if "id" not in wire:  # Slack's response_url
            if "blocks" in wire and (wrong := problems(wire)):
                return Raw(wrong[0].encode(), status=500)
            self.responses.append(wire)
            return _json({"ok": True})
        self.signed.append((headers["X-Knowledge-RAG-Signature"], body))
        known = [it["id"] for it in self.of(Kind.WEBHOOK)]
        return _json({}) if wire["id"] in known else self._took(Kind.WEBHOOK, "", wire, 204)

    def _slack(self, path: str, wire: dict[str, Any]) -> Raw:
        assert path == "/chat.postMessage"
        if wire["channel"] not in self.channels:
            return _json({"ok": False, "error": "channel_not_found"})
        if wrong := problems(wire):
            return _json({"ok": False, "error": wrong[0]})
        stamp = f"{next(self._times)}.000100"
        threads = [it["ts"] for it in self.of(Kind.SLACK) if not it.get("gone")]
        if wire.get("thread_ts") and wire["thread_ts"] not in threads:
            return _json({"ok": False, "error": "thread_not_found"})
        self.taken.append((Kind.SLACK, wire["channel"], {**wire, "ts": stamp}))
        return _json({"ok": True, "ts": stamp, "channel": CHANNEL})

    def _aws(self, kind: Kind, headers: Any, body: bytes) -> Raw:
        service = "sns" if kind is Kind.SNS else "ssm"
        scope = rf"AWS4-HMAC-SHA256 Credential=\w+/\d{{8}}/us-east-1/{service}/aws4_request, .*Signature=[0-9a-f]{{64}}"
        if not re.match(scope, headers.get("Authorization", "")):
            return _json({"__type": "IncompleteSignatureException"}, 400)
        if kind is Kind.SNS:
            asked = {name: values[0] for name, values in parse_qs(body.decode()).items()}
            valid = (asked["Action"], asked["Version"], asked["TopicArn"]) == (
                "Publish",
                "2010-03-31",
                TOPIC,
            )
            valid &= asked["Subject"].isascii() and 0 < len(asked["Subject"]) <= 100
            valid &= len(asked["Message"].encode()) <= 262_144
            valid &= isinstance(json.loads(asked["Message"])["default"], str)
            return self._took(kind, TOPIC, asked, 200) if valid else _json({}, 400)
        asked = json.loads(body)
        shape = _ssm().operation_model("CreateOpsItem").input_shape
        report = ParamValidator().validate(asked, shape)
        if headers["X-Amz-Target"] != "AmazonSSM.CreateOpsItem" or report.has_errors():
            return _json({"__type": "OpsItemInvalidParameterException"}, 400)
        if len(asked["Title"]) > 1024 or len(asked["Description"]) > 2048:
            return _json({"__type": "ValidationException"}, 400)
        if asked["OperationalData"] in [it["OperationalData"] for it in self.of(kind)]:
            return _json({"__type": "OpsItemAlreadyExistsException"}, 400)
        return self._took(kind, "", asked, 200)

    def _took(self, kind: Kind, where: str, wire: dict[str, Any], status: int) -> Raw:
        self.taken.append((kind, where, wire))
        return _json({}, status)

    def _list(self, kind: Kind, path: str, headers: Any) -> Raw:
        if headers.get(KEYS[kind][0]) != KEYS[kind][1]:
            return _json({"ok": False, "error": "invalid_auth"}, 200 if kind is Kind.SLACK else 401)
        asked = urlsplit(path)
        if kind is Kind.SLACK:
            query = parse_qs(asked.query)
            assert query["include_all_metadata"] == ["true"]
            assert int(query["oldest"][0]) < int(query["latest"][0])
            thread = query.get("ts", [""])[0]
            own = [
                it
                for it in self.of(kind)
                if (it.get("thread_ts") or "") == thread or it["ts"] == thread
            ]
            newest = [{"ts": "9", "text": "hm"}] * self.others + own[::-1]
            begin, most = int(query.get("cursor", ["0"])[0]), int(query["limit"][0])
            rest = str(begin + most) if len(newest) > begin + most else ""
            found = newest[begin : begin + most]
            return _json(
                {"ok": True, "messages": found, "response_metadata": {"next_cursor": rest}}
            )
        if kind is Kind.GITHUB:
            query = parse_qs(asked.query)
            most = int(query["per_page"][0])
            begin = most * (int(query["page"][0]) - 1)
            oldest = [{"body": "hm"}] * self.others + self.of(kind)
            return _json(oldest[begin : begin + most])
        where = unquote(asked.path.split("/")[-2])
        own = [body for it, at, body in self.taken if it is kind and at == where]
        if kind is Kind.PAGERDUTY:
            return _json({"notes": [it["note"] for it in own]})
        return _json({"data": own})


@lru_cache(maxsize=1)
def _ssm() -> ServiceModel:
    return ServiceModel(create_loader().load_service_model("ssm", "service-2"), "ssm")


def _json(value: Any, status: int = 200) -> Raw:
    return Raw(json.dumps(value).encode(), status=status)
