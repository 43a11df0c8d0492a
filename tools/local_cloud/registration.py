"""Adds the resource types of ``kinds`` to moto's CloudFormation, and runs functions in process.

moto runs functions in Docker. Here a custom resource's handler is imported and called instead, in the
server's own process, with the function's environment from the template; other functions are called through
``INVOKED``. moto deletes a stack's resources in any order and forgets a stack with one that could not be
deleted. Here they are deleted in reverse order of creation, and such a stack stays, in the state that
CloudFormation gives it.
"""

from __future__ import annotations

import importlib
import json
import os
import uuid
from typing import TYPE_CHECKING, Any

from moto.awslambda.models import LambdaFunction, lambda_backends
from moto.cloudformation import cloudformation_backends, custom_model, parsing
from moto.cloudformation.models import CloudFormationBackend
from moto.core.common_models import CloudFormationModel
from moto.events.models import EventPattern

from tools.local_cloud.answers import Answers
from tools.local_cloud.kinds import ACCOUNT, KINDS, MADE, REGION, Made, make, unmake

if TYPE_CHECKING:
    from collections.abc import Callable

FAILED: list[str] = []
"""Errors while resources were created; moto reports some of them as success."""

INVOKED: list[Callable[[Any, Any], Any]] = []
"""Calls a function with an event while a cloud runs, and returns its answer."""


class _Resource(CloudFormationModel):
    """One resource of a type that moto lacks."""

    def __init__(self, made: Made) -> None:
        self.made = made

    @property
    def physical_resource_id(self) -> str:
        return self.made.reference

    def get_cfn_attribute(self, name: str) -> str:
        return self.made.attributes[name]

    def is_created(self) -> bool:
        return True

    def delete(self, account_id: str, region: str) -> None:  # noqa: ARG002 - moto's
        unmake(self.made)

    @classmethod
    def has_cfn_attr(cls, attr: str) -> bool:  # noqa: ARG003 - known only after `make`
        return True

    @staticmethod
    def cloudformation_name_type() -> str:
        return ""


def _model(kind: str) -> type[CloudFormationModel]:
    def create(
        cls: type[_Resource],
        /,
        resource_name: str,  # noqa: ARG001 - moto's
        cloudformation_json: dict[str, Any],
        account_id: str,  # noqa: ARG001 - moto's
        region_name: str,  # noqa: ARG001 - moto's
        **_kwargs: Any,
    ) -> _Resource:
        return cls(make(kind, cloudformation_json["Properties"]))

    return type(
        kind.replace("::", ""),
        (_Resource, CloudFormationModel),
        {
            "cloudformation_type": staticmethod(lambda: kind),
            "create_from_cloudformation_json": classmethod(create),
        },
    )


class CustomResource(custom_model.CustomModel, CloudFormationModel):
    """A custom resource whose handler runs here and sends its answer to the given address."""

    @staticmethod
    def cloudformation_type() -> str:
        """Return the type's name in templates."""
        return "AWS::CloudFormation::CustomResource"

    @property
    def physical_resource_id(self) -> str:
        """Return the id that the stack reports."""
        return self.resource_name

    @classmethod
    def create_from_cloudformation_json(
        cls,
        resource_name: str,
        cloudformation_json: dict[str, Any],
        account_id: str,
        region_name: str,
        **kwargs: Any,
    ) -> custom_model.CustomModel:
        """Run the handler and return the resource from its answer."""
        properties = cloudformation_json["Properties"]
        event = {
            "RequestType": "Create",
            "ServiceToken": properties["ServiceToken"],
            "StackId": kwargs["StackId"],
            "RequestId": str(uuid.uuid4()),
            "LogicalResourceId": kwargs["LogicalId"],
            "ResourceType": kwargs["ResourceType"],
            "ResourceProperties": properties,
        }
        answer = run_in_process(event)
        name = answer.get("PhysicalResourceId", resource_name)
        made = cls(region_name, event["RequestId"], kwargs["LogicalId"], name)
        made.set_data(answer.get("Data", {}))
        made.event = event | {"PhysicalResourceId": name}
        MADE.append(Made(kwargs["ResourceType"], name, properties))
        stack = cloudformation_backends[account_id][region_name].get_stack(kwargs["StackId"])
        stack.add_custom_resource(made)
        return made

    def delete(self, account_id: str, region: str) -> None:  # noqa: ARG002 - moto's
        """Run the handler for the deletion.

        Raises:
            RuntimeError: it failed.
        """
        request = {"RequestType": "Delete", "RequestId": str(uuid.uuid4())}
        failures = len(FAILED)
        run_in_process(self.event | request)
        if len(FAILED) > failures:
            raise RuntimeError(FAILED.pop())
        MADE[:] = [each for each in MADE if each.reference != self.resource_name]


def run_in_process(event: dict[str, Any]) -> dict[str, Any]:
    """Call a custom resource's handler, as Lambda would, and return its answer."""
    function = lambda_backends[ACCOUNT][REGION].get_function(event["ServiceToken"])
    module, _, name = function.handler.rpartition(".")
    os.environ.update(function.environment_vars)
    answers = Answers()
    try:
        handler = getattr(importlib.import_module(module), name)
        handler(event | {"ResponseURL": answers.address(event["RequestId"])}, LambdaContext())
        return answers.of(event)
    except Exception as error:  # noqa: BLE001 - whatever it is, the deployment must show it
        FAILED.append(f"{event['LogicalResourceId']}: {type(error).__name__}: {error}")
        return {}
    finally:
        answers.close()


class LambdaContext:
    """Lambda's context for a handler."""

    aws_request_id = "00000000-0000-0000-0000-000000000001"

    def get_remaining_time_in_millis(self) -> int:
        """Return five minutes, always."""
        return 300_000


def register() -> None:
    """Register everything with moto; once per process."""
    models = [_model(kind) for kind in KINDS]
    known = {model.cloudformation_type() for model in CloudFormationModel.__subclasses__()}
    missing = {kind for kind in KINDS if kind not in known}
    if missing:
        raise RuntimeError(f"moto does not find {missing}")
    parsing.get_model_list.cache_clear()
    parsing.get_model_map.cache_clear()
    parsing.get_name_type_map.cache_clear()
    parsing.CustomModel = CustomResource
    parsing.parse_and_create_resource = _noting_failures(parsing.parse_and_create_resource)
    CloudFormationBackend.delete_stack = _delete_stack
    LambdaFunction.invoke = _invoke
    EventPattern.matches_event = _matching(EventPattern.matches_event)
    _KEPT.extend(models)


def _delete_stack(backend: Any, name: str) -> None:
    """Delete a stack like CloudFormation: the resource created last goes first."""
    found = [each for each in backend.stacks.values() if name in (each.name, each.stack_id)]
    for stack in found:
        resources = stack.resource_map
        kept = []
        for logical_id, resource in reversed(list(resources._parsed_resources.items())):  # noqa: SLF001 - moto has no other order
            if isinstance(resource, str) or resource is None:
                continue
            template = resources._resource_json_map[logical_id]  # noqa: SLF001 - likewise
            if template.get("DeletionPolicy") == "Retain":
                continue
            try:
                resources._delete_resource(resource, template)  # noqa: SLF001 - likewise
                resources._parsed_resources.pop(logical_id)  # noqa: SLF001 - likewise
            except Exception as error:  # noqa: BLE001 - whatever it is, CloudFormation reports it
                kept.append(f"{logical_id}: {type(error).__name__}: {error}")
        if kept:
            stack.status = "DELETE_FAILED"
            stack.status_reason = f"The following resource(s) failed to delete: {kept}"
            continue
        stack.status = "DELETE_COMPLETE"
        del backend.stacks[stack.stack_id]
        backend.deleted_stacks[stack.stack_id] = stack


def _invoke(function: Any, body: str, _: Any, headers: Any) -> bytes:
    """Call a function; an exception becomes Lambda's answer to one."""
    try:
        answer = INVOKED[-1](function, json.loads(body or "{}"))
    except Exception as error:  # noqa: BLE001 - whatever it raised
        headers["x-amz-function-error"] = "Unhandled"
        answer = {"errorType": type(error).__name__, "errorMessage": str(error)}
    return json.dumps(answer).encode()


def _matching(matches: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Make rules that only have a schedule match no event."""
    return lambda pattern, event: bool(pattern.get_pattern()) and matches(pattern, event)


def _noting_failures(create: Callable[..., Any]) -> Callable[..., Any]:
    def noting(logical_id: str, resource: dict[str, Any], *arguments: Any, **named: Any) -> Any:
        if parsing.resource_class_from_type(resource["Type"]) is None:
            FAILED.append(f"{logical_id}: {resource['Type']} is not simulated")
        try:
            return create(logical_id, resource, *arguments, **named)
        except Exception as error:
            FAILED.append(f"{logical_id}: {type(error).__name__}: {error}")
            raise

    return noting


_KEPT: list[type] = []
"""Keeps the classes alive: moto finds them through weak references."""
