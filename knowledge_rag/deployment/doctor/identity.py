"""Who is calling, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import boto3

from knowledge_rag.deployment.doctor.finding import Finding, Status
from knowledge_rag.deployment.errors import CallFailed, Trouble

if TYPE_CHECKING:
    from knowledge_rag.deployment.aws import Aws

CREDENTIALS: Final = "credentials"
REGION: Final = "region"

_REPAIRS: Final = {
    Trouble.NO_CREDENTIALS: (
        "no credentials",
        "Run `aws configure` or `aws sso login`, or name a profile by --profile or AWS_PROFILE.",
    ),
    Trouble.EXPIRED: (
        "the credentials have expired",
        "Get new ones, with `aws sso login` or as your organisation gives them.",
    ),
    Trouble.INVALID: (
        "AWS does not know the credentials",
        "Check the key, the secret and the token, and that the account has enabled the region.",
    ),
}


def check_credentials(aws: Aws) -> Finding:
    """Ask AWS who is calling, which takes no permission.

    Raises:
        CallFailed: for another reason than the credentials.
    """
    try:
        caller = aws.call("sts", "get_caller_identity")
    except CallFailed as error:
        if error.trouble not in _REPAIRS:
            raise
        detail, action = _REPAIRS[error.trouble]
        return Finding(CREDENTIALS, Status.PROBLEM, f"{detail} ({error.code})", action)
    return Finding(CREDENTIALS, Status.OK, f"account {caller['Account']}, as {caller['Arn']}")


def check_region(aws: Aws, *, reached: bool) -> Finding:
    """Tell which region everything else is asked in.

    Args:
        aws: that is asked.
        reached: whether AWS has answered there.
    """
    if not aws.region:
        action = "Name one by --region or AWS_REGION, or run `aws configure`."
        return Finding(REGION, Status.PROBLEM, "no region is set", action, asked=False)
    if aws.knows_region:
        return Finding(REGION, Status.OK, aws.region, asked=False)
    return Finding(
        REGION,
        Status.WARNING if reached else Status.PROBLEM,
        f"boto3 {boto3.__version__} knows no region {aws.region}",
        "Check how it is written; if it is a new region, update boto3.",
        asked=False,
    )
