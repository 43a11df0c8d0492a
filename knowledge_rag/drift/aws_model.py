"""Commands of the AWS CLI: botocore's models, and a table of where the CLI differs from them.

The table is made by ``tools/command_tables.py`` from the ``awscli`` package.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from botocore import xform_name
from botocore.exceptions import DataNotFoundError
from botocore.loaders import Loader

if TYPE_CHECKING:
    from collections.abc import Mapping

MODELS: Final = 32
"""Services whose models are kept in memory, some megabytes each."""
GLOBAL_OPTIONS: Final[Mapping[str, bool]] = {
    "debug": False, "endpoint-url": True, "no-verify-ssl": False, "no-paginate": False, "output": True,
    "query": True, "profile": True, "region": True, "version": False, "color": True,
    "no-sign-request": False, "ca-bundle": True, "cli-read-timeout": True, "cli-connect-timeout": True,
    "v2-debug": False, "cli-binary-format": True, "no-cli-pager": False, "cli-auto-prompt": False,
    "no-cli-auto-prompt": False, "cli-error-format": True, "help": False,
}  # fmt: skip
"""Of version 1 and 2, and whether they take a value."""
_OF_OPERATIONS: Final = {
    "cli-input-json": True, "cli-input-yaml": True, "generate-cli-skeleton": True,
    "starting-token": True, "page-size": True, "max-items": True,
}  # fmt: skip
_VERSION_2: Final = (
    "logs tail", "logs start-live-tail", "sso login", "sso logout", "login", "logout", "configure sso",
    "configure sso-session", "configure import", "configure mfa-login", "configure list-profiles",
    "configure export-credentials", "ddb", "ddb select", "ddb put",
    "dsql generate-db-connect-auth-token", "dsql generate-db-connect-admin-auth-token", "dynamodb wizard", "iam wizard",
    "lambda wizard", "events wizard", "ecr get-login-password", "lightsail push-container-image",
    "ec2-instance-connect ssh", "ec2-instance-connect open-tunnel", "ecs monitor-express-gateway-service",
    "opsworks register", "history list", "history show", "cli-dev", "s3 presign", "help",
)  # fmt: skip
"""Commands that only version 2 has; their options are not checked."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option: whether a call needs it, whether it takes a value, which ones, and if it is deprecated.

    ``negates`` is the flag that it is the opposite of (``--ingress`` of ``egress``), if its name doesn't tell.
    """

    required: bool = False
    takes_value: bool = True
    enum: tuple[str, ...] = ()
    deprecated: bool = False
    negates: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """A command of the AWS CLI; ``options`` is ``None`` if they aren't known."""

    options: Mapping[str, Option] | None = field(default_factory=dict)
    deprecated: bool = False


@cache
def read_table(name: str) -> dict[str, Any]:
    """Return one of the tables that ``tools/command_tables.py`` makes."""
    text = files("knowledge_rag.drift").joinpath(f"tables/{name}.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


def _table() -> dict[str, Any]:
    return read_table("aws")


@cache
def services() -> frozenset[str]:
    """Return every service and other command of the first level."""
    here = Loader().list_available_services("service-2")
    others = [name.split()[0] for name in (*_table()["commands"], *_VERSION_2)]
    return frozenset((*here, *others, *_table()["services"])).difference(_table()["hidden"])


# each from a loader of its own, since a loader keeps every model that it has loaded
@lru_cache(maxsize=MODELS)
def _model(service: str) -> dict[str, Any]:
    name = _table()["services"].get(service, service)
    try:
        model: dict[str, Any] = Loader().load_service_model(name, "service-2")
    except DataNotFoundError:
        return {"operations": {}, "shapes": {}}
    return model


@lru_cache(maxsize=MODELS)
def operations(service: str) -> Mapping[str, str | None]:
    """Return the commands of a service, and the model's name of those that are its operations."""
    found: dict[str, str | None] = {}
    if service != "s3":  # whose operations are s3api's
        found = {xform_name(name, "-"): name for name in _model(service)["operations"]}
    for gone in _table()["absent"].get(service, ()):
        found.pop(gone, None)
    for name in (*_table()["commands"], *_VERSION_2):
        of, _, below = name.partition(" ")
        if of == service and below and " " not in below:
            found[below] = None
    if _waiters(service):
        found["wait"] = None
    return found


@lru_cache(maxsize=MODELS)
def _waiters(service: str) -> Mapping[str, str]:
    """Return the waiters of a service, and the operation that each calls."""
    name = _table()["services"].get(service, service)
    try:
        waiters = Loader().load_service_model(name, "waiters-2")["waiters"]
    except DataNotFoundError:
        return {}
    return {xform_name(name, "-"): of["operation"] for name, of in waiters.items()}


def below(path: str) -> frozenset[str]:
    """Return what can follow a command of the CLI that is no operation."""
    service, _, rest = path.partition(" ")
    if rest == "wait":
        return frozenset(_waiters(service))
    if not rest and service:
        return frozenset(operations(service))
    start = path + " " if path else ""
    return frozenset(
        name[len(start) :].split()[0] for name in _table()["commands"] if name.startswith(start)
    )


@lru_cache(maxsize=256)
def operation(path: str) -> Operation:
    """Return what a command accepts, such as ``rds failover-db-cluster`` or ``s3 cp``."""
    service, _, name = path.partition(" ")
    if name.startswith("wait "):
        called: str | None = _waiters(service).get(name[5:])
    else:
        called = operations(service).get(name)
    if called is None:
        own = _table()["commands"].get(path)
        return Operation(None if own is None else _listed(own["options"]))
    model = _model(service)
    described = model["operations"][called]
    options = dict.fromkeys(_OF_OPERATIONS, Option())
    options |= _members(described.get("input"), model["shapes"])
    changed = _table()["changed"].get(path, {})
    for gone in changed.get("remove", ()):
        options.pop(gone, None)
    for option, new in _listed(changed.get("add", {})).items():
        old = options.get(option)
        options[option] = (
            new
            if old is None or new.enum
            else replace(new, enum=old.enum, deprecated=old.deprecated)
        )
    return Operation(options, bool(described.get("deprecated")))


def _listed(options: Mapping[str, Any]) -> dict[str, Option]:
    return {
        name: Option(
            bool(of.get("required")),
            not of.get("flag"),
            tuple(of.get("enum", ())),
            negates=of.get("negates", ""),
        )
        for name, of in options.items()
    }


def _members(given: Mapping[str, Any] | None, shapes: Mapping[str, Any]) -> dict[str, Option]:
    shape = shapes[given["shape"]] if given else {}
    found: dict[str, Option] = {}
    for member, reference in shape.get("members", {}).items():
        name = xform_name(member, "-")
        of = shapes[reference["shape"]]
        needed = member in shape.get("required", ()) and not reference.get("idempotencyToken")
        is_flag = of["type"] == "boolean"
        deprecated = bool(reference.get("deprecated"))
        enum = tuple(of.get("enum", ())) if of["type"] == "string" else ()
        found[name] = Option(needed, not is_flag, enum, deprecated)
        if is_flag:
            found[f"no-{name}"] = Option(takes_value=False)
    return found
