"""Deletes old versions of a function; the newest few stay for a rollback."""

from __future__ import annotations

from typing import Any, Final

KEPT: Final = 5
"""Versions that stay, of those that no alias uses."""


def remove_old(client: Any, function: str, kept: int = KEPT) -> list[str]:  # noqa: ANN401 - boto3's client
    """Delete all versions except the newest few and those that an alias uses.

    Args:
        client: boto3's client of Lambda.
        function: name or ARN, without a version.
        kept: number of versions that stay, besides those in use.

    Returns:
        The deleted versions, oldest first.

    Raises:
        botocore.exceptions.ClientError: Lambda refuses.
    """
    used: set[str] = set()
    for page in client.get_paginator("list_aliases").paginate(FunctionName=function):
        for alias in page["Aliases"]:
            weights = alias.get("RoutingConfig", {}).get("AdditionalVersionWeights", {})
            used |= {alias["FunctionVersion"], *weights}
    pages = client.get_paginator("list_versions_by_function").paginate(FunctionName=function)
    versions = [each["Version"] for page in pages for each in page["Versions"]]
    idle = sorted((it for it in versions if it.isdigit() and it not in used), key=int)
    old = idle[: max(0, len(idle) - kept)]
    for version in old:
        client.delete_function(FunctionName=function, Qualifier=version)
    return old
