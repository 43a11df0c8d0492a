"""Prints how the AWS CLI's commands differ from botocore's models; runs in an environment with ``awscli``."""

from __future__ import annotations

import json
from typing import Any

import awscli
from awscli import clidriver
from awscli.botocore import xform_name
from awscli.clidriver import ServiceCommand, ServiceOperation


def options(command: Any) -> dict[str, Any]:
    """Return the options of a command."""
    table = command.arg_table
    found = {}
    for name, one in table.items():
        if getattr(one, "positional_arg", False) or not one.cli_name.startswith("-"):
            continue
        entry: dict[str, Any] = {}
        if one.required and not (name.startswith("no-") and name[3:] in table):
            entry["required"] = 1
        if one.cli_type_name == "boolean" or getattr(one, "_action", None) in (
            "store_true",
            "store_false",
        ):
            entry["flag"] = 1
        if getattr(one, "choices", None):
            entry["enum"] = list(one.choices)
        if one.group_name in table.keys() - {name, name.removeprefix("no-")}:
            entry["negates"] = one.group_name
        found[name] = entry
    return found


def from_model(operation: Any) -> dict[str, Any]:
    """Return the options that knowledge_rag.drift.aws_model derives from the model."""
    shape = operation.input_shape
    found: dict[str, Any] = {}
    for member, of in shape.members.items() if shape else ():
        name = xform_name(member, "-")
        entry: dict[str, Any] = {}
        if member in shape.required_members and not of.metadata.get("idempotencyToken"):
            entry["required"] = 1
        if of.type_name == "boolean":
            entry["flag"] = 1
            found["no-" + name] = {"flag": 1}
        found[name] = entry
    return found


SHARED = ("cloudformation deploy", "ecs deploy")
"""Commands that list those of `deploy` as their own, by mistake."""
PAGING = ("starting-token", "page-size", "max-items", "cli-input-json", "generate-cli-skeleton")


def difference(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Return the options to add to the model's, and those to remove; its enums stay."""
    plain = {k: {n: 1 for n in v if n != "enum"} for k, v in theirs.items() if k not in PAGING}
    added = {k: theirs[k] for k, v in plain.items() if ours.get(k) != v}
    removed = sorted(ours.keys() - theirs.keys() - set(PAGING))
    return ({"add": added} if added else {}) | ({"remove": removed} if removed else {})


def tree(command: Any, path: str, out: dict[str, Any]) -> None:
    """Add a command that is not an operation, and those below it."""
    below = getattr(command, "subcommand_table", None) or {}
    out[path] = {"options": options(command) if hasattr(command, "arg_table") else {}}
    for name, one in below.items() if path not in SHARED else ():
        tree(one, f"{path} {name}", out)


def main() -> None:
    """Print the differences as JSON."""
    driver = clidriver.create_clidriver()
    services: dict[str, str] = {}
    commands: dict[str, Any] = {}
    changed: dict[str, Any] = {}
    absent: dict[str, list[str]] = {}
    top = driver._get_command_table()  # noqa: SLF001 - there is no other way
    for service, command in top.items():
        if not isinstance(command, ServiceCommand):
            tree(command, service, commands)
            continue
        model = command.service_model
        services[service] = model.service_name
        operations = {xform_name(name, "-"): name for name in model.operation_names}
        below = command._get_command_table()  # noqa: SLF001 - there is no other way
        gone = sorted(operations.keys() - below.keys())
        if gone:
            absent[service] = gone
        for name, one in below.items():
            if name == "wait":
                continue
            if not isinstance(one, ServiceOperation) or name not in operations:
                tree(one, f"{service} {name}", commands)
                continue
            theirs = options(one)
            ours = from_model(model.operation_model(operations[name]))
            if found := difference(theirs, ours):
                changed[f"{service} {name}"] = found
    renamed = {k: v for k, v in services.items() if k != v}
    hidden = sorted(set(renamed.values()) - top.keys())
    print(
        json.dumps(
            {
                "version": awscli.__version__,
                "services": renamed,
                "hidden": hidden,
                "absent": absent,
                "commands": commands,
                "changed": changed,
            }
        )
    )


if __name__ == "__main__":
    main()
