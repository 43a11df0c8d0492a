"""Synthesizes the stacks of a deployment, once a test run for each choice of settings."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from app import add_stacks
from infra.settings import load_settings

if TYPE_CHECKING:
    from infra.settings import Settings

PROJECT = Path(__file__).parents[2]
EVERYTHING = {
    "preset": "prod",
    "entrypoint": "both",
    "gateway_logs": True,
    "gateway_requests_per_minute": 600,
    "gateway_policy_engine": "arn:aws:bedrock-agentcore:us-east-1:123456789012:policy-engine/team-0123456789",
    "devops_agent_space": "0a1b2c3d-agent-space",
    "slack_channel": "T0123ABCD/C0456EFGH",
    "pagerduty_url": "https://events.pagerduty.com/integration/0123456789abcdef/enqueue",
}
DISPOSABLE = {"preset": "dev"}
EXISTING = {
    "preset": "dev",
    "name": "knowledge-rag-prod",
    "knowledge_base_id": "EXISTING01",
    "source_bucket": "team-docs",
    "source_prefix": "handbook/",
    "source_key": "arn:aws:kms:us-east-1:111122223333:key/team-docs",
}
"""In front of a knowledge base that others made: there is no data stack."""
ADOPTED = {
    "preset": "prod",
    "vector_store": "s3-vectors",
    "search_type": "SEMANTIC",
    "entrypoint": "both",
    "kms_key_arn": "arn:aws:kms:us-east-1:123456789012:key/5678abcd-0000-4000-8000-00000000cafe",
    "permissions_boundary": "arn:aws:iam::123456789012:policy/team/boundary",
    "tags": {"cost-centre": "4711", "team": "SRE: on call"},
    "bootstrap_qualifier": "platform",
    "deploy_role_arn": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/team-deploy",
    "execution_role_arn": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/team-${Qualifier}-execution",
    "assets_role_arn": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/team-assets",
    "assets_bucket": "team-assets-${AWS::AccountId}-${AWS::Region}",
    "release": "canary",
}
"""In an account with prescriptions of its own."""
ADVISED = {
    "preset": "prod",
    "advice_destinations": "tests/data/advice/hooks.toml",
    "advice_secret_arn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:on-call/keys-Ab12Cd",
    "advice_secret_key": "arn:aws:kms:us-east-1:123456789012:key/team-keys",
    "advice_model": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}
"""With every kind of destination for the steps of alarms, and a model that writes."""
ADVISED_BRIEFLY = {"preset": "dev", "advice_destinations": "tests/data/advice/topic.toml"}
"""With a topic as the only destination: no key, and all of it goes with the stack."""
DEPLOYMENTS = [
    EVERYTHING,
    ADVISED,
    ADVISED_BRIEFLY,
    DISPOSABLE,
    EXISTING,
    ADOPTED,
    {
        "preset": "dev",
        "vector_store": "s3-vectors",
        "search_type": "SEMANTIC",
        "entrypoint": "harness",
    },
    {
        "preset": "prod",
        "documents": "bucket",
        "documents_bucket": "team-runbooks",
        "documents_prefix": "runbooks/",
        "documents_key": "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
        "gateway_authorizer": "jwt",
        "jwt_discovery_url": "https://id.example.com/.well-known/openid-configuration",
        "jwt_clients": ["on-call-bot"],
        "jwt_scopes": ["knowledge/read"],
        "jwt_claims": {"team": "sre", "groups": ["admins", "on-call"]},
    },
]
"""Each preset, every entry point, both stores, a bucket of somebody else and an account of an organisation; `make nightly` has all combinations."""


@dataclass(frozen=True, slots=True)
class Synthesized:
    """What `cdk synth` would write.

    Attributes:
        folder: the cloud assembly.
        data: template of the data stack, without resources if there is none.
        service: template of the service stack.
        advice: template of the advice stack, without resources if there is none.
    """

    folder: Path
    data: dict[str, Any]
    service: dict[str, Any]
    advice: dict[str, Any]

    @property
    def templates(self) -> tuple[dict[str, Any], ...]:
        with_advice = (self.advice,) if self.advice["Resources"] else ()
        return self.data, self.service, *with_advice


def synthesized(**settings: Any) -> Synthesized:
    """Synthesize with settings over those of ``cdk.json``; what cdk-nag finds raises."""
    return _synthesized(json.dumps(settings, sort_keys=True))


@cache
def _synthesized(settings: str) -> Synthesized:
    context = json.loads((PROJECT / "cdk.json").read_text(encoding="utf-8"))["context"]
    context["knowledge-rag"] |= json.loads(settings)
    read = load_settings(context)
    folder = Path(os.environ["TMPDIR"]) / f"synthesized-{sha256(settings.encode()).hexdigest()}"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process of this run may be at it
        if not folder.exists():
            _synthesize(context, read, folder)
    paths = [
        folder / f"{read.name}-{stack}.template.json" for stack in ("data", "service", "advice")
    ]
    templates = [
        json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"Resources": {}}
        for path in paths
    ]
    return Synthesized(folder, *templates)


def _synthesize(context: dict[str, Any], settings: Settings, folder: Path) -> None:
    made = folder.with_suffix(".part")
    _lend(made)
    app = cdk.App(context=context, outdir=str(made), analytics_reporting=False)
    add_stacks(app, settings)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()
    _keep(made)
    made.rename(folder)  # one with findings has raised


def _shared(assembly: Path, kind: str) -> Path:
    shared = assembly.with_name(f"synthesized-{kind}")
    shared.mkdir(exist_ok=True)
    return shared


def _lend(assembly: Path) -> None:
    """Link the assets of all others into a new assembly: the CDK copies, and later zips, none that is there already.

    As in the bucket of the bootstrap, those of one hash are the same.
    """
    shutil.rmtree(assembly, ignore_errors=True)  # of one with findings
    assembly.mkdir()
    for asset in _shared(assembly, "assets").iterdir():
        (assembly / asset.name).symlink_to(asset)
    (assembly / ".cache").symlink_to(_shared(assembly, "zips"))


def _keep(assembly: Path) -> None:
    """Keep an assembly's new assets for others, and take back what it has no use for."""
    used = {
        asset["source"]["path"]
        for path in assembly.glob("*.assets.json")
        for asset in json.loads(path.read_text(encoding="utf-8"))["files"].values()
    }
    for asset in assembly.glob("asset.*"):
        if not asset.is_symlink():
            asset.symlink_to(asset.rename(_shared(assembly, "assets") / asset.name))
        elif asset.name not in used:
            asset.unlink()
