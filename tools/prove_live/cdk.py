"""Deploys with the CDK command line, as people do, and reports the reasons of failures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.deployment.doctor.checks import PINNED_CLI
from knowledge_rag.deployment.stacks import DATA, SERVICE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.deployment.aws import Aws

PROJECT: Final = Path(__file__).parents[2]
DEPLOY_SECONDS: Final = 90 * 60
"""A collection and its index take up to 20 minutes; CloudFormation continues without the command line."""
END_SECONDS: Final = 10
_REASONS: Final = 5


class DeployFailed(Exception):  # noqa: N818 - named for what it is
    """A deployment failed; the message says why."""


@dataclass(frozen=True, slots=True)
class Cdk:
    """The command line.

    Args:
        aws: the target account and region.
        profile: profile of its credentials, ``None`` for the default chain.
        folder: folder for its output.
        lock: held by its processes as long as they live.
    """

    aws: Aws
    profile: str | None
    folder: Path
    lock: int

    def deploy(self, settings: Mapping[str, Any]) -> None:
        """Deploy both stacks of a deployment.

        Raises:
            DeployFailed: they are incomplete.
        """
        name = settings["name"]
        words = [
            "deploy",
            "--all",
            "--method=direct",
            "--require-approval=never",
            "--no-version-reporting",
            "--progress=events",
            f"--output={self.folder / f'{name}.assembly'}",
            "-c",
            # the whole object: the settings in cdk.json are for another deployment
            f"knowledge-rag={json.dumps(settings)}",
            *([f"--profile={self.profile}"] if self.profile else []),
        ]
        log = self.folder / f"{name}.log"
        code = self._run(words, log)
        if code:
            reasons = [each for part in (DATA, SERVICE) for each in self._reasons(f"{name}-{part}")]
            raise DeployFailed("; ".join(reasons) or _last_words(log))

    def _run(self, words: list[str], log: Path) -> int:
        region = self.aws.required_region()
        environment = {
            **os.environ,
            "AWS_REGION": region,
            "AWS_DEFAULT_REGION": region,
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
            "VIRTUAL_ENV": sys.prefix,
        }
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - the command line that people use
                ["npx", "--yes", PINNED_CLI, *words],  # noqa: S607 - as people find it
                cwd=PROJECT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(self.lock,),
            )
            try:
                return process.wait(DEPLOY_SECONDS)
            except subprocess.TimeoutExpired as error:
                raise DeployFailed(f"not deployed after {DEPLOY_SECONDS // 60} minutes") from error
            finally:
                _end(process)

    def _reasons(self, stack: str) -> list[str]:
        """Return why a stack's resources failed, the first failure first."""
        events = self.aws.find(
            "cloudformation", "describe_stack_events", ("ValidationError",), StackName=stack
        )
        failed = [
            f"{each['LogicalResourceId']} ({each['ResourceType']}): {each.get('ResourceStatusReason', '')}"
            for each in reversed((events or {}).get("StackEvents", ()))
            if each.get("ResourceStatus", "").endswith("_FAILED")
            and "cancelled" not in each.get("ResourceStatusReason", "")
        ]
        return failed[:_REASONS]


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command line and its child processes, if still running."""
    for number in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)


def _last_words(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return " ".join(said[-_REASONS:]) or "the command line printed nothing"
