"""Of the CDK's modules mypy reads those that the infrastructure imports, and no other."""

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
BY_THE_WAY = {
    "aws_cdk._jsii",
    "aws_cdk.cloud_assembly_schema",
    "aws_cdk.cx_api",
    "aws_cdk.interfaces.*",
}
"""What the modules of services say their own types with."""


def imported():
    for path in (ROOT / "app.py", *(ROOT / "infra").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                yield from (each.name for each in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
                yield from (f"{node.module}.{each.name}" for each in node.names)


def is_module(name):
    return name == "aws_cdk" or name.rpartition(".")[2].startswith("aws_")


def test_every_service_that_is_used_is_read_with_its_types():
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    followed = {
        name
        for each in overrides
        if each.get("follow_imports") == "normal"
        for name in each["module"]
    }
    used = {name for name in imported() if name.split(".")[0] == "aws_cdk" and is_module(name)}
    assert "aws_cdk.aws_bedrock" in used
    assert followed - BY_THE_WAY == used
