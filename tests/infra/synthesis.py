"""Synthesizes both stacks of a deployment, once a process for each choice of settings."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from app import add_stacks
from infra.settings import load_settings

PROJECT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Synthesized:
    """What `cdk synth` would write.

    Attributes:
        folder: the cloud assembly.
        data: template of the data stack.
        service: template of the service stack.
    """

    folder: Path
    data: dict[str, Any]
    service: dict[str, Any]

    @property
    def templates(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.data, self.service


def synthesized(**settings: Any) -> Synthesized:
    """Synthesize with settings over those of ``cdk.json``; what cdk-nag finds raises."""
    return _synthesized(json.dumps(settings, sort_keys=True))


@cache
def _synthesized(settings: str) -> Synthesized:
    context = json.loads((PROJECT / "cdk.json").read_text(encoding="utf-8"))["context"]
    context["knowledge-rag"] |= json.loads(settings)
    folder = Path(tempfile.mkdtemp(prefix="cdk-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    app = cdk.App(context=context, outdir=str(folder), analytics_reporting=False)
    read = load_settings(context)
    add_stacks(app, read)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()
    templates = [
        json.loads((folder / f"{read.name}-{stack}.template.json").read_text(encoding="utf-8"))
        for stack in ("data", "service")
    ]
    return Synthesized(folder, *templates)
