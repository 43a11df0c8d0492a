"""Runs a real ``cdk bootstrap`` and ``cdk deploy`` against moto's server on loopback.

The command line is the one that users run, unmodified; only its endpoint differs.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import boto3
from moto.server import ThreadedMotoServer

from infra.settings import CONTEXT_KEY, SettingsError, load_settings
from infra.sources import SourcesError, load_sources
from tests.support.ingestion import existing_base
from tools.local_cloud.changes import Clock
from tools.local_cloud.ingesting import IngestingCorpus
from tools.local_cloud.kinds import ACCOUNT, MADE, REGION, SEARCHING
from tools.local_cloud.registration import FAILED, register
from tools.local_cloud.searching import Searching

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from infra.settings import Settings

PROJECT = Path(__file__).parents[2]
CDK = "aws-cdk@2.1148.1"
_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Deployed:
    """One stack as the cloud reports it, with its template."""

    name: str
    status: str
    resources: dict[str, str]
    outputs: dict[str, str]
    template: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cloud:
    """A running cloud: its address, its ingestion of documents, its collections, its time."""

    endpoint: str
    ingestion: IngestingCorpus
    searching: Searching
    clock: Clock


@contextlib.contextmanager
def cloud() -> Iterator[Cloud]:
    """Run a server with the missing resource types."""
    register()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    endpoint = f"http://localhost:{port}"
    _forget(endpoint)
    clock = Clock()
    ingestion = IngestingCorpus(clock)
    SEARCHING[:] = [Searching()]
    saved = dict(os.environ)
    os.environ.update(_environment(endpoint))
    os.environ["AWS_ENDPOINT_URL_BEDROCK_AGENT"] = ingestion.url  # moto has no ingestion jobs
    try:
        yield Cloud(endpoint, ingestion, SEARCHING[0], clock)
    finally:
        ingestion.close()
        SEARCHING.pop().close()
        os.environ.clear()
        os.environ.update(saved)
        server.stop()


def _forget(endpoint: str) -> None:
    """Reset moto, which keeps its resources for the life of its process."""
    MADE.clear()
    FAILED.clear()
    reset = Request(f"{endpoint}/moto-api/reset", method="POST")  # noqa: S310 - a server of ours
    urlopen(reset, timeout=10).close()  # noqa: S310 - likewise


def _environment(endpoint: str) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_SESSION_TOKEN": "testing",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_DISABLE_CLI_TELEMETRY": "1",
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
        "TEST_SERVER_MODE": "true",
    }


def furnish(running: Cloud, settings: Settings) -> None:
    """Create the existing resources that the settings name: buckets and a knowledge base."""
    s3 = boto3.client("s3", region_name=REGION)
    for name in filter(None, (settings.documents.bucket, settings.existing.bucket)):
        s3.create_bucket(Bucket=name)
    if base := settings.existing.knowledge_base_id:
        running.ingestion.bases[base] = existing_base(settings.existing.kind)


def deploy(context: Sequence[str], output: Path) -> list[Deployed]:
    """Bootstrap, synthesize and deploy every stack, as a pipeline does.

    Args:
        context: settings, each as ``key=value``.
        output: folder for the synthesized assembly.

    Raises:
        RuntimeError: the command line failed; the message is its whole output.
    """
    shutil.rmtree(output, ignore_errors=True)
    options = [word for pair in context for word in ("-c", pair)]
    _cdk("synth", "--quiet", "--output", str(output), *options)
    return deploy_assembly(output, _pairs(context).get(f"{CONTEXT_KEY}:bootstrap_qualifier", ""))


def deploy_assembly(assembly: Path, qualifier: str = "") -> list[Deployed]:
    """Bootstrap, and deploy every stack of a synthesized assembly.

    Raises:
        RuntimeError: the command line failed; the message is its whole output.
    """
    bootstrap(qualifier)
    _cdk(
        "deploy",
        "--app",
        str(assembly),
        "--all",
        "--method=direct",
        "--require-approval=never",
        "--progress=events",
    )
    return [_deployed(path) for path in sorted(assembly.glob("*.template.json"))]


def bootstrap(qualifier: str = "") -> None:
    """Create the resources that every CDK deployment needs in an account."""
    named = ["--qualifier", qualifier] if qualifier else []
    with tempfile.TemporaryDirectory() as elsewhere:  # so that no app is synthesized
        _cdk("bootstrap", f"aws://{ACCOUNT}/{REGION}", *named, folder=elsewhere)


def _cdk(*words: str, folder: str | Path = PROJECT) -> None:
    done = subprocess.run(  # noqa: S603 - the command line that users run
        [_command_line(), *words, "--no-version-reporting", "--no-notices"],
        cwd=folder,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode or FAILED:
        raise RuntimeError("\n".join([*FAILED, done.stdout, done.stderr]))


@cache
def _command_line() -> str:
    """Return the path of the command line that npx runs: npx itself takes as long as it each time."""
    asked = ["npx", "--yes", "--package", CDK, "--call", "command -v cdk"]
    with tempfile.TemporaryDirectory() as elsewhere:  # where no other is installed
        found = subprocess.run(  # noqa: S603 - fixed words
            asked,
            cwd=elsewhere,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    if found.returncode:
        raise RuntimeError(f"{found.stdout}{found.stderr}")
    return found.stdout.strip()


def _deployed(path: Path) -> Deployed:
    name = path.name.removesuffix(".template.json")
    client = boto3.client("cloudformation", region_name=REGION)
    (stack,) = client.describe_stacks(StackName=name)["Stacks"]
    resources = client.describe_stack_resources(StackName=name)["StackResources"]
    return Deployed(
        name,
        stack["StackStatus"],
        {each["LogicalResourceId"]: each.get("PhysicalResourceId", "") for each in resources},
        {each["OutputKey"]: each["OutputValue"] for each in stack.get("Outputs", [])},
        json.loads(path.read_text(encoding="utf-8")),
    )


def main(context: Sequence[str]) -> int:
    """Deploy, and print the created resources; wrong settings are reported before anything starts."""
    write = sys.stdout.write
    try:
        load_sources(_settings(context))
    except (SettingsError, SourcesError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    try:
        stacks = _deploy_quietly(context)
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for stack in stacks:
        write(f"\n{stack.name}: {stack.status}, {len(stack.resources)} resources\n")
        counted = Counter(each["Type"] for each in stack.template["Resources"].values())
        for kind, count in sorted(counted.items()):
            write(f"  {count:>3} {kind}\n")
        for key, value in sorted(stack.outputs.items()):
            write(f"      {key} = {value}\n")
    write(f"\n{len(MADE)} of them checked against the services' own models of their requests\n")
    return 0


def _deploy_quietly(context: Sequence[str]) -> list[Deployed]:
    """Deploy without the functions' logs and the server's tracebacks."""
    with cloud() as running:
        sys.stdout.write(f"deploying to a cloud on this machine, {running.endpoint} ...\n")
        sys.stdout.flush()
        furnish(running, _settings(context))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return deploy(context, PROJECT / "cdk.out" / "local")


def _settings(context: Sequence[str]) -> Settings:
    given = json.loads((PROJECT / "cdk.json").read_text(encoding="utf-8"))["context"]
    return load_settings(given | _pairs(context), REGION)


def _pairs(context: Sequence[str]) -> dict[str, str]:
    return {key: value for key, _, value in (pair.partition("=") for pair in context)}
