"""The optional Bedrock guardrail that the agent and Retrieve apply.

It detects prompt attacks in inputs and masks AWS keys in outputs.

- AWS keys in inputs pass: an alert about a leaked key has to be searchable.
- Names, addresses, hosts and passwords are not masked: runbooks consist of them, and an altered chunk no
  longer equals its lines, so the function would drop it.
- There are no filters for violence and the like: "kill the process" is an operation.
- There is no contextual grounding: it needs a grounding source, which only a native knowledge base
  provides to an agent. The orchestrator checks support.

How Retrieve applies an output filter is not documented. Both cases are safe: a masked result fails its
proof and is dropped, a blocked one makes the answer ``degraded`` with the reason ``guardrail``.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from aws_cdk import aws_bedrock as bedrock
from constructs import Construct

from infra.cloudformation import allow

if TYPE_CHECKING:
    from aws_cdk import aws_iam as iam

    from infra.settings import Settings

BLOCKED_INPUT: Final = (
    "This request was refused by the guardrail and nothing was searched. Rephrase it."
)
BLOCKED_OUTPUT: Final = "This answer was withheld by the guardrail. Read the runbook itself."

_CONTENT_POLICY: Final = bedrock.CfnGuardrail.ContentPolicyConfigProperty(
    filters_config=[
        bedrock.CfnGuardrail.ContentFilterConfigProperty(
            type="PROMPT_ATTACK",
            # MEDIUM: alerts are full of imperatives and shell commands, and each false positive
            # is an unanswered question. Outputs have no such filter.
            input_strength="MEDIUM",
            output_strength="NONE",
        )
    ]
)
_SENSITIVE_INFORMATION_POLICY: Final = (
    bedrock.CfnGuardrail.SensitiveInformationPolicyConfigProperty(
        pii_entities_config=[
            bedrock.CfnGuardrail.PiiEntityConfigProperty(
                type=entity,
                action="ANONYMIZE",
                input_enabled=False,
                output_action="ANONYMIZE",
                output_enabled=True,
            )
            for entity in ("AWS_ACCESS_KEY", "AWS_SECRET_KEY")
        ]
    )
)


class Guardrail(Construct):
    """A guardrail and its current version."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings) -> None:
        super().__init__(scope, construct_id)
        self._guardrail = bedrock.CfnGuardrail(
            self,
            "Guardrail",
            name=settings.name,
            description="Prompt attacks on the way in, AWS keys on the way out.",
            blocked_input_messaging=BLOCKED_INPUT,
            blocked_outputs_messaging=BLOCKED_OUTPUT,
            content_policy_config=_CONTENT_POLICY,
            sensitive_information_policy_config=_SENSITIVE_INFORMATION_POLICY,
        )
        version = bedrock.CfnGuardrailVersion(
            self,
            "Version",
            guardrail_identifier=self._guardrail.attr_guardrail_id,
            description=f"configuration {_digest()}",
        )
        self.guardrail_id = self._guardrail.attr_guardrail_id
        self.arn = self._guardrail.attr_guardrail_arn
        self.version = version.attr_version

    @property
    def apply_statement(self) -> iam.PolicyStatement:
        """The right to apply this guardrail, and no other."""
        return allow(
            "ApplyGuardrail", ["bedrock:ApplyGuardrail"], [self._guardrail.attr_guardrail_arn]
        )


def _digest() -> str:
    # a version never changes: a new description creates a new one; a property's repr contains all its values
    parts = (BLOCKED_INPUT, BLOCKED_OUTPUT, _CONTENT_POLICY, _SENSITIVE_INFORMATION_POLICY)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
