"""The states of the deployment's stacks, where there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.deployment.doctor.finding import Finding, Status
from knowledge_rag.deployment.stacks import DATA, SERVICE, find_stack

if TYPE_CHECKING:
    from knowledge_rag.deployment.doctor.finding import Patient
    from knowledge_rag.deployment.stacks import StackState

STACKS: Final = "stacks"
_NEVER_MADE: Final = ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED")
"""States of a stack that was never whole; CloudFormation updates none of them."""


def check_stacks(patient: Patient) -> tuple[Finding, ...]:
    """Look at both stacks."""
    names = [f"{patient.name}-{part}" for part in (DATA, SERVICE)]
    found = [find_stack(patient.aws, name) for name in names]
    stacks = [stack for stack in found if stack]
    if not stacks:
        return (Finding(STACKS, Status.OK, f"{patient.name} is not deployed yet"),)
    missing = [name for name, stack in zip(names, found, strict=True) if stack is None]
    return (*(_judged(stack) for stack in stacks), *(_missing(name) for name in missing))


def _missing(name: str) -> Finding:
    return Finding(STACKS, Status.WARNING, f"{name} is missing", "Deploy both with --all.")


def _judged(stack: StackState) -> Finding:
    detail = f"{stack.name} is {stack.status}"
    if stack.usable:
        return Finding(STACKS, Status.OK, detail)
    if stack.changing:
        return Finding(STACKS, Status.WARNING, detail, "Wait until it has ended.")
    if stack.status in _NEVER_MADE:
        action = f"Delete it: `aws cloudformation delete-stack --stack-name {stack.name}`."
    else:
        action = "Look at its events in CloudFormation, and put right what they name."
    reason = f" ({stack.reason})" if stack.reason else ""
    return Finding(STACKS, Status.PROBLEM, detail + reason, action)
