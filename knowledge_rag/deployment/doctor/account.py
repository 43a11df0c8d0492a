"""Checks of an organisation's requirements: its key and its permissions boundary."""

from __future__ import annotations

import json
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.key_policy import KEY_USERS
from knowledge_rag.deployment.doctor.checks import ok, problem, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.core.key_policy import KeyUser
    from knowledge_rag.deployment.doctor.checks import Finding, PlannedDeployment

_ROLES: Final = ("kms:Decrypt", "kms:GenerateDataKey")
"""Actions that the stacks' roles get from IAM, if the key's policy allows that."""
_SYMMETRIC: Final = "SYMMETRIC_DEFAULT"
_GUIDE: Final = "see docs/adopt.md"


def check_key(planned: PlannedDeployment) -> tuple[Finding, ...]:
    """Check the key for ``kms_key_arn``; nothing if it isn't set."""
    arn = planned.kms_key_arn
    if not arn:
        return ()
    if unusable := _unusable(planned, arn):
        return (unusable,)
    answer = planned.aws.call("kms", "get_key_policy", KeyId=arn, PolicyName="default")
    lacking = tuple(_lacking(planned, arn.split(":")[4], answer["Policy"]))
    return lacking or (ok(f"{arn} can be used"),)


def _unusable(planned: PlannedDeployment, arn: str) -> Finding | None:
    """Return why a key can't encrypt anything, whatever its policy says."""
    here = planned.aws.region
    if ":key/" not in arn:
        return problem(f"{arn} is not a key's ARN", "Use the key's own ARN: an alias may move.")
    if (region := arn.split(":")[3]) != here:
        detail = f"it is in {region}, and the deployment in {here}"
        return problem(detail, f"Use a key of {here}, or the key's replica there.")
    found = planned.aws.find("kms", "describe_key", ("NotFoundException",), KeyId=arn)
    if found is None:
        return problem("there is no such key", "Check its ARN and the account.")
    key = found["KeyMetadata"]
    if key["KeyState"] != "Enabled":
        return problem(f"it is {key['KeyState']}", "Enable it, or use another one.")
    if key.get("KeySpec", _SYMMETRIC) != _SYMMETRIC:
        return problem(f"its kind is {key['KeySpec']}", "Use a symmetric key for encryption.")
    return None


def _lacking(planned: PlannedDeployment, account: str, policy: str) -> Iterator[Finding]:
    """Yield the actions that a key's policy does not allow; conditions are not checked."""
    statements: Any = []
    with suppress(ValueError, AttributeError):
        statements = _listed(json.loads(policy).get("Statement"))
    if missing := _missing(statements, f"arn:*:iam::{account}:root", _ROLES):
        yield problem(
            f"its policy doesn't leave {', '.join(missing)} to IAM, where the roles get it",
            f"Allow the account's root these actions; {_GUIDE}.",
        )
    for user in KEY_USERS:
        principal = user.principal.format(region=planned.aws.region)
        if missing := _missing(statements, principal, user.actions):
            yield _service_finding(user, principal, missing)


def _service_finding(user: KeyUser, principal: str, missing: list[str]) -> Finding:
    make = warning if user.unless else problem
    unless = f", unless {user.unless}" if user.unless else ""
    return make(
        f"its policy doesn't allow {principal} {', '.join(missing)}: {user.purpose}{unless}",
        f"Add the statement {user.sid}; {_GUIDE}.",
    )


def _missing(statements: list[Any], principal: str, actions: tuple[str, ...]) -> list[str]:
    allowed = [
        action
        for each in statements
        if each.get("Effect") == "Allow" and _names(each.get("Principal"), principal)
        for action in _listed(each.get("Action"))
    ]
    return [it for it in actions if not any(fnmatchcase(it, pattern) for pattern in allowed)]


def _names(principals: Any, wanted: str) -> bool:  # noqa: ANN401 - as the policy has it
    if principals == "*":
        return True
    named = principals.values() if isinstance(principals, dict) else ()
    return any(it == "*" or fnmatchcase(it, wanted) for part in named for it in _listed(part))


def _listed(value: Any) -> list[Any]:  # noqa: ANN401 - likewise
    return value if isinstance(value, list) else [] if value is None else [value]


def check_boundary(planned: PlannedDeployment) -> tuple[Finding, ...]:
    """Check the policy for ``permissions_boundary``; nothing if it isn't set."""
    arn = planned.permissions_boundary
    if not arn:
        return ()
    found = planned.aws.find("iam", "get_policy", ("NoSuchEntity", "InvalidInput"), PolicyArn=arn)
    if found is None:
        return (
            problem(
                f"there is no policy {arn}", "Check its ARN; without it, no role can be created."
            ),
        )
    account = planned.aws.call("sts", "get_caller_identity")["Account"]
    if arn.split(":")[4] not in {account, "aws"}:
        action = "Use a policy of this account: another account's can't be a boundary."
        return (problem(f"it is not in account {account}", action),)
    return (ok(f"{arn} can be the roles' boundary"),)
