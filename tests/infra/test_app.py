"""``app.py`` as the CDK command line runs it: good settings become stacks, bad ones become lines."""

import json
import os
import re
import subprocess
import sys
import tarfile
from functools import partial
from pathlib import Path

import aws_cdk as cdk
import pytest

import app
from infra.bundling import BundlingError
from tests.infra.synthesis import DISPOSABLE, synthesized

PROJECT = Path(__file__).parents[2]
CONFIGURATION = json.loads((PROJECT / "cdk.json").read_text())


def run(folder, command=None, environment=None, **values):
    """Run the app as the command line does: by a shell, settings in the environment."""
    context = CONFIGURATION["context"] | {f"knowledge-rag:{k}": v for k, v in values.items()}
    return subprocess.run(
        command or CONFIGURATION["app"],
        shell=True,
        cwd=PROJECT,
        check=False,
        capture_output=True,
        text=True,
        env=os.environ
        | {
            "VIRTUAL_ENV": sys.prefix,
            "CDK_CONTEXT_JSON": json.dumps(context),
            "CDK_OUTDIR": str(folder),
            "CDK_DEFAULT_REGION": "us-east-1",
        }
        | (environment or {}),
    )


def said(ran):
    """Give what the app itself said; the library may complain of an old Node beside it."""
    return [line for line in ran.stderr.splitlines() if not line.startswith("b'!!")]


def test_without_an_active_environment_the_projects_own_is_used(tmp_path):
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    (tmp_path / "app.py").write_text("print('ran')")
    inactive = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    ran = subprocess.run(
        CONFIGURATION["app"],
        shell=True,
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        env=inactive,
    )
    assert ran.stdout == "ran\n"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The app with nothing set, for an account and a region that the settings don't name."""
    folder = tmp_path_factory.mktemp("cdk.out")
    elsewhere = {"CDK_DEFAULT_REGION": "eu-central-1", "CDK_DEFAULT_ACCOUNT": "999999999999"}
    done = run(folder, environment=elsewhere)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return folder


def test_nothing_set_is_two_stacks(ran):
    assert {path.name for path in ran.glob("*.template.json")} == {
        "knowledge-rag-dev-data.template.json",
        "knowledge-rag-dev-service.template.json",
    }


def test_the_templates_are_those_of_every_account_and_region(ran):
    nowhere = synthesized(**DISPOSABLE).folder
    for template in ran.glob("*.template.json"):
        assert (nowhere / template.name).read_bytes() == template.read_bytes()
        assert not re.search(r"(?<![0-9a-f])\d{12}(?![0-9a-f])", template.read_text())
    named = {each["environment"] for each in manifest(ran).values() if "environment" in each}
    assert named == {"aws://unknown-account/unknown-region"}


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())["artifacts"]


def test_the_service_is_deployed_after_the_data(ran):
    service = manifest(ran)["knowledge-rag-dev-service"]
    assert "knowledge-rag-dev-data" in service["dependencies"]


def test_all_that_is_wrong_with_the_settings_is_told_in_plain_lines(tmp_path):
    ran = run(
        tmp_path,
        preset="staging",
        name="a-name-that-is-far-too-long",
        embedding_dimension="384",
        vector_store="s3-vectors",
        entrypoint="agent",
        agent_model="eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    first, *rest = said(ran)
    assert first == "settings are wrong:"
    assert [line.split()[0] for line in rest] == [
        "preset",
        "name",
        "embedding_dimension",
        "search_type",
        "agent_model",
    ]
    assert "one that us-east-1 offers" in rest[-1]


def test_a_missing_corpus_is_told_in_a_plain_line(monkeypatch, capsys):
    context = CONFIGURATION["context"] | {"knowledge-rag:corpus": "no-such-folder"}
    monkeypatch.setattr(cdk, "App", partial(cdk.App, context=context))
    assert app.main() == 2
    assert capsys.readouterr().err.splitlines() == [
        "files are missing or wrong:",
        "  corpus: no-such-folder is not a folder; set corpus to the one with your documents",
    ]


def test_without_the_library_it_says_what_to_do(tmp_path):
    ran = run(tmp_path, f"{sys.executable} -I -S app.py")
    assert ran.returncode == 1
    (line,) = ran.stderr.splitlines()
    assert line.startswith("aws_cdk is not installed for ")
    assert "make synth" in line


def test_every_synth_is_judged_by_cdk_nag(monkeypatch):
    def add_open_bucket(scope, _):
        cdk.aws_s3.Bucket(cdk.Stack(scope, "Open"), "Bucket")

    monkeypatch.setattr(app, "add_stacks", add_open_bucket)
    with pytest.raises(RuntimeError, match="validation-report") as raised:
        app.main()
    report = Path(str(raised.value).rpartition(": ")[2])
    assert "AwsSolutions-S1" in report.read_text()


def test_a_bundle_that_cannot_be_built_is_told_in_a_plain_line(monkeypatch, capsys):
    def fail(*_):
        raise BundlingError("uv is not here")

    monkeypatch.setattr(app, "add_stacks", fail)
    assert app.main() == 2
    assert capsys.readouterr().err == "uv is not here\n"


def test_the_librarys_behaviour_is_the_one_that_it_recommends():
    (archive,) = (Path(cdk.__file__).parent / "_jsii").glob("aws-cdk-lib@*.tgz")
    with tarfile.open(archive) as files:
        name = "package/recommended-feature-flags.json"
        recommended = json.load(next(files.extractfile(f) for f in files if f.name == name))
    flags = {key: value for key, value in CONFIGURATION["context"].items() if key[0] == "@"}
    assert flags == recommended
