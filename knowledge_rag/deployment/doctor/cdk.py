"""What a deployment is made with: CDK's bootstrap stack in the account, its command line here."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

from knowledge_rag.deployment.doctor.finding import Finding, Status
from knowledge_rag.deployment.errors import CallFailed

if TYPE_CHECKING:
    from knowledge_rag.deployment.doctor.finding import Patient

BOOTSTRAP: Final = "CDK bootstrap"
NODE: Final = "Node.js"
CLI: Final = "CDK command line"

PINNED_CLI: Final = "aws-cdk@2.1148.1"
"""The command line that reads what this project's CDK library writes."""

_PARAMETER: Final = "/cdk-bootstrap/hnb659fds/version"
_OLDEST_BOOTSTRAP: Final = 6
"""``requiresBootstrapStackVersion`` of what CDK synthesizes here."""
_OLDEST_NODE: Final = 20
_SECONDS: Final = 8


def check_bootstrap(patient: Patient) -> tuple[Finding, ...]:
    """Look for the bootstrap stack's version."""
    region = patient.aws.region
    command = f"`npx {PINNED_CLI} bootstrap aws://ACCOUNT/{region}`"
    try:
        answer = patient.aws.call("ssm", "get_parameter", Name=_PARAMETER)
    except CallFailed as error:
        if error.code != "ParameterNotFound":
            raise
        detail = f"{region} is not bootstrapped"
        return (Finding(BOOTSTRAP, Status.PROBLEM, detail, f"Run {command} once."),)
    version = answer["Parameter"]["Value"]
    if version.isdigit() and int(version) >= _OLDEST_BOOTSTRAP:
        return (Finding(BOOTSTRAP, Status.OK, f"version {version} in {region}"),)
    detail = f"version {version} in {region}, at least {_OLDEST_BOOTSTRAP} is needed"
    return (Finding(BOOTSTRAP, Status.PROBLEM, detail, f"Run {command} again."),)


def check_node(_: Patient) -> tuple[Finding, ...]:
    """Look for Node.js on this machine."""
    version = _version("node")
    action = f"Install Node.js {_OLDEST_NODE} or newer."
    if version is None:
        found = shutil.which("node")
        detail = f"{found} does not tell its version" if found else "not found on the path"
        return (_here(NODE, Status.PROBLEM, detail, action),)
    old = int(version.split(".")[0]) < _OLDEST_NODE
    return (_here(NODE, Status.PROBLEM if old else Status.OK, version, action if old else ""),)


def check_cli(_: Patient) -> tuple[Finding, ...]:
    """Look for the CDK command line on this machine.

    An installed one comes first in what people type, so its version counts; otherwise ``npx`` fetches
    the pinned one when it is first used, which is not tried here.
    """
    use = f"`npx {PINNED_CLI}`"
    if installed := _version("cdk"):
        if installed.split(".")[0] == "2":
            return (_here(CLI, Status.OK, f"cdk {installed}"),)
        detail = f"cdk {installed} may not read what this project's library writes"
        return (_here(CLI, Status.WARNING, detail, f"Deploy with {use}."),)
    if shutil.which("npx"):
        return (_here(CLI, Status.OK, f"{use}, fetched when first used"),)
    return (_here(CLI, Status.PROBLEM, "neither cdk nor npx is on the path", "Install Node.js."),)


def _here(check: str, status: Status, detail: str, action: str = "") -> Finding:
    return Finding(check, status, detail, action, asked=False)


def _version(program: str) -> str | None:
    path = shutil.which(program)
    if path is None:
        return None
    try:
        ran = subprocess.run(  # noqa: S603 - a program of the user's own path, no shell
            [path, "--version"],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"\d+\.\d+(\.\d+)?", ran.stdout)
    return found[0] if found else None
