"""The checks: a deployment's requirements of the account and of this machine, and possible obstacles."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import boto3

from knowledge_rag.deployment.aws import CallFailed, Trouble
from knowledge_rag.deployment.stacks import ADVICE, DATA, find_stack, find_stacks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.stacks import StackState


class Status(StrEnum):
    """Severity of a finding."""

    OK = "ok"
    WARNING = "warning"
    """A deployment can work, but with limitations, or something costs money for nothing."""
    PROBLEM = "problem"
    """A deployment with these options can't work until this is fixed."""
    UNKNOWN = "unknown"
    """It could not be determined."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact.

    Args:
        status: its severity.
        detail: the fact, without a full stop.
        action: what to do, one sentence; ``""`` if there is nothing to do.
        asked: whether AWS answered; also false for checks of this machine.
        skipped: whether it was not checked, because something else prevented it.
    """

    status: Status
    detail: str
    action: str = ""
    asked: bool = True
    skipped: bool = False


def ok(detail: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(Status.OK, detail)


def warning(detail: str, action: str) -> Finding:
    """Return a finding that doesn't prevent a deployment."""
    return Finding(Status.WARNING, detail, action)


def problem(detail: str, action: str) -> Finding:
    """Return a finding that prevents a deployment."""
    return Finding(Status.PROBLEM, detail, action)


def unknown(detail: str, action: str) -> Finding:
    """Return a finding that could not be determined, and how to determine it."""
    return Finding(Status.UNKNOWN, detail, action)


@dataclass(frozen=True, slots=True)
class PlannedDeployment:
    """The deployment to examine."""

    aws: Aws
    name: str
    embedding_model: str
    agent_model: str
    agent_wanted: bool = False
    documents_bucket: str = ""
    documents_key: str = ""
    kms_key_arn: str = ""
    permissions_boundary: str = ""
    bootstrap_qualifier: str = ""
    advice_destinations: str = ""
    """The file's text."""
    advice_secret_arn: str = ""
    advice_secret_key: str = ""
    advice_model: str = ""


_REPAIRS: Final = {
    Trouble.NO_CREDENTIALS: (
        "no credentials",
        "Run `aws configure` or `aws sso login`, or choose a profile with --profile or AWS_PROFILE.",
    ),
    Trouble.EXPIRED: (
        "the credentials have expired",
        "Get new ones with `aws sso login`, or from your organisation.",
    ),
    Trouble.INVALID: (
        "AWS does not know the credentials",
        "Check the key, the secret and the token, and that the account has enabled the region.",
    ),
}


def check_credentials(aws: Aws) -> Finding:
    """Check the credentials by asking AWS who is calling, which needs no permission."""
    try:
        caller = aws.call("sts", "get_caller_identity")
    except CallFailed as error:
        if error.trouble not in _REPAIRS:
            raise
        detail, action = _REPAIRS[error.trouble]
        return problem(f"{detail} ({error.code})", action)
    return ok(f"account {caller['Account']}, as {caller['Arn']}")


def check_region(aws: Aws, *, reached: bool) -> Finding:
    """Check the region; ``reached`` says whether AWS has answered there."""
    if not aws.region:
        found = problem(
            "no region is set", "Set one with --region or AWS_REGION, or run `aws configure`."
        )
    elif aws.knows_region:
        found = ok(aws.region)
    else:
        found = Finding(
            Status.WARNING if reached else Status.PROBLEM,
            f"boto3 {boto3.__version__} doesn't know the region {aws.region}",
            "Check the spelling; if it is a new region, update boto3.",
        )
    return replace(found, asked=False)


SERVICES: Final = {
    "Bedrock knowledge bases": ("bedrock-agent", "list_knowledge_bases"),
    "OpenSearch Serverless": ("opensearchserverless", "list_collections"),
    "AgentCore Gateway": ("bedrock-agentcore-control", "list_gateways"),
}

_WITHOUT: Final = {
    "OpenSearch Serverless": "use vector_store=s3-vectors, which has no keyword search",
    "AgentCore Gateway": "use entrypoint=none, or agent if the account has Agents Classic",
}
"""What to do if a service is not offered; the others are indispensable."""


def service_check(name: str) -> Callable[[PlannedDeployment], Finding]:
    """Return the check of one service."""
    service, operation = SERVICES[name]

    def check(planned: PlannedDeployment) -> Finding:
        region = planned.aws.region
        try:
            planned.aws.call(service, operation, maxResults=1)
        except CallFailed as error:
            if error.trouble is Trouble.DENIED:
                return ok(f"answers in {region} ({error})")
            if error.trouble is not Trouble.UNREACHABLE:
                raise
            return Finding(
                Status.WARNING if name in _WITHOUT else Status.PROBLEM,
                f"nothing answers in {region} ({error.code})",
                f"If the network is fine, {region} does not offer it: choose another region"
                f"{f', or {_WITHOUT[name]}' if name in _WITHOUT else ''}.",
                asked=False,
            )
        return ok(f"offered in {region}")

    return check


DEFAULT_EMBEDDING_MODEL: Final = "amazon.titan-embed-text-v2:0"
"""``embedding_model`` of both presets, see docs/reference/settings.md."""

DEFAULT_AGENT_MODEL: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
"""``agent_model`` of both presets."""

_NOT_THERE: Final = ("ResourceNotFoundException", "ValidationException")
_PROFILE: Final = re.compile(
    r"(us|eu|jp|au|apac|global)\.|arn:[a-z-]+:bedrock:.*inference-profile/"
)
_OPTIONAL: Final = " Only an agent needs it (entrypoint=agent or both)."


def check_embedding_model(planned: PlannedDeployment) -> Finding:
    """Check that the embedding model may be used."""
    return _model(planned.aws, planned.embedding_model)


def check_agent_model(planned: PlannedDeployment) -> Finding:
    """Check the agent's model or inference profile; optional unless an agent is wanted."""
    found = model_finding(planned.aws, planned.agent_model)
    if found.status is Status.PROBLEM and not planned.agent_wanted:
        return warning(found.detail, found.action + _OPTIONAL)
    return found


def model_finding(aws: Aws, model: str) -> Finding:
    """Check a model or an inference profile."""
    return (_inference_profile if _PROFILE.match(model) else _model)(aws, model)


def _model(aws: Aws, model: str) -> Finding:
    details = aws.find("bedrock", "get_foundation_model", _NOT_THERE, modelIdentifier=model)
    if details is None:
        return _absent(model, aws.region, "list-foundation-models")
    try:
        access = aws.call("bedrock", "get_foundation_model_availability", modelId=model)
    except CallFailed as error:
        if error.trouble is not Trouble.DENIED:
            raise
        return unknown(
            f"{model} exists; it is unknown whether the account may use it: {error}",
            "Grant that permission, or invoke the model once.",
        )
    lifecycle = details["modelDetails"].get("modelLifecycle", {}).get("status", "ACTIVE")
    return _access(model, access) or _lifecycle(model, lifecycle)


def _access(model: str, access: Mapping[str, Any]) -> Finding | None:
    """Interpret GetFoundationModelAvailability's answer; ``None`` if there is no obstacle.

    A missing agreement is made on the first call by a caller who may subscribe in AWS Marketplace; a knowledge
    base or an agent may not, so a person has to be the first.
    """
    hard = {
        "regionAvailability": "is not available in this region",
        "authorizationStatus": "is not authorised for this account or caller",
    }
    good = {"AVAILABLE", "AUTHORIZED"}
    for key, what in hard.items():
        if access.get(key, "AVAILABLE") not in good:
            action = "Choose another model or region, or ask the administrator of the account's policies."
            return problem(f"{model} {what}", action)
    agreement = access.get("agreementAvailability", {}).get("status", "AVAILABLE")
    if agreement not in good or access.get("entitlementAvailability", "AVAILABLE") not in good:
        return warning(
            f"{model} has not been subscribed to yet (agreement {agreement})",
            "Invoke it once in the console's playground, as someone who may subscribe in Marketplace.",
        )
    return None


def _lifecycle(model: str, lifecycle: str) -> Finding:
    if lifecycle == "ACTIVE":
        return ok(f"{model} may be used")
    return warning(
        f"{model} may be used, but is {lifecycle.lower()}: it has an end date",
        "Choose a newer model before the first ingestion: another one needs a new index.",
    )


def _inference_profile(aws: Aws, profile: str) -> Finding:
    found = aws.find(
        "bedrock", "get_inference_profile", _NOT_THERE, inferenceProfileIdentifier=profile
    )
    if found is None:
        return _absent(profile, aws.region, "list-inference-profiles")
    if (status := found.get("status", "")) != "ACTIVE":
        return problem(f"{profile} is {status}", "Choose another profile.")
    regions = sorted({arn.split(":")[3] for each in found["models"] if (arn := each["modelArn"])})
    where = ", ".join(region for region in regions if region) or "any region"
    return ok(f"{profile} is active, and sends requests to {where}")


def _absent(model: str, region: str, listing: str) -> Finding:
    return problem(
        f"{region} has no {model}",
        f"Choose one that `aws bedrock {listing} --region {region}` lists.",
    )


def check_agents_classic(planned: PlannedDeployment) -> Finding:
    """Check whether this account may still create agents.

    Bedrock Agents Classic is closed to new customers since 2026-07-30, and no operation tells who is one:
    an account with an agent is a customer.
    """
    region = planned.aws.region
    found = planned.aws.call("bedrock-agent", "list_agents", maxResults=100)["agentSummaries"]
    if found:
        count = f"{len(found)} agent{'s' if len(found) > 1 else ''}"
        return ok(f"the account has {count} in {region}, so it may create more")
    return unknown(
        f"no agent in {region}; the service has been closed to new customers since July"
        " 2026, and no API says whether this account is one",
        "Keep entrypoint=gateway; if you need an agent, try `aws bedrock-agent create-agent"
        " --agent-name probe`, which fails in a closed account, and delete it again.",
    )


_RETRIEVE_CODE: Final = "L-F0D0E0B9"
_RETRIEVE_NAME: Final = "Retrieve requests per second"
_CONCURRENCY_CODE: Final = "L-B99A9384"

ENOUGH_RETRIEVES: Final = 20
"""Requests per second: six people or agents with three queries each, within one second."""

RESERVED: Final = 20
"""``reserved_concurrency`` of the prod preset."""

KEPT_UNRESERVED: Final = 100
"""Lambda refuses reservations that would leave the account less than this."""

ENOUGH_OCU: Final = 2
"""``max_ocu`` of the dev preset, of indexing and of searching, each."""


def check_retrieve(planned: PlannedDeployment) -> Finding:
    """Check how many queries per second the account may make."""
    answer = planned.aws.find(
        "service-quotas",
        "get_service_quota",
        ("NoSuchResourceException",),
        ServiceCode="bedrock",
        QuotaCode=_RETRIEVE_CODE,
    )
    if answer is None:
        return _unknown_rate("the service reports none")
    quota = answer["Quota"]
    if _RETRIEVE_NAME not in quota.get("QuotaName", ""):  # the code is now another quota's
        return _unknown_rate(f"{_RETRIEVE_CODE} is {quota.get('QuotaName')!r} by now")
    detail = f"{quota['Value']:g} requests per second"
    if quota["Value"] >= ENOUGH_RETRIEVES:
        return ok(detail)
    action = f"Request more with quota code {_RETRIEVE_CODE} before many agents query at once."
    return warning(detail, action)


def _unknown_rate(why: str) -> Finding:
    action = "Look it up in the Service Quotas console, under Amazon Bedrock."
    return unknown(f"unknown: {why}", action)


def check_concurrency(planned: PlannedDeployment) -> Finding:
    """Check how many concurrent invocations the account has, and could reserve."""
    limit = planned.aws.call("lambda", "get_account_settings")["AccountLimit"]
    total, free = limit["ConcurrentExecutions"], limit["UnreservedConcurrentExecutions"]
    spare = max(0, free - KEPT_UNRESERVED)
    detail = f"{total} concurrent invocations, {spare} of them could be reserved"
    if spare >= RESERVED:
        return ok(detail)
    return warning(
        detail,
        f"Deploy with reserved_concurrency=0, or request more with quota code {_CONCURRENCY_CODE}:"
        f" the prod preset reserves {RESERVED}, and its deployment would fail.",
    )


def check_capacity(planned: PlannedDeployment) -> Finding:
    """Check the account's own limits on OpenSearch Serverless."""
    answer = planned.aws.call("opensearchserverless", "get_account_settings")
    limits = answer["accountSettingsDetail"].get("capacityLimits", {})
    indexing = limits.get("maxIndexingCapacityInOCU")
    searching = limits.get("maxSearchCapacityInOCU")
    if indexing is None or searching is None:
        return ok("the account sets no limit of its own")
    detail = f"at most {indexing} OCU for indexing and {searching} for searching"
    if min(indexing, searching) >= ENOUGH_OCU:
        return ok(detail)
    return warning(detail, "Raise it: `aws opensearchserverless update-account-settings`.")


PINNED_CLI: Final = "aws-cdk@2.1148.1"
"""The command line that supports the output of this project's CDK library."""

_QUALIFIER: Final = "hnb659fds"
"""Qualifier of a bootstrap stack that was created without one."""
_OLDEST_BOOTSTRAP: Final = 6
"""``requiresBootstrapStackVersion`` of what CDK synthesizes here."""
_OLDEST_NODE: Final = 20
_VERSION_SECONDS: Final = 8


def check_bootstrap(planned: PlannedDeployment) -> Finding:
    """Check the version of CDK's bootstrap stack."""
    region = planned.aws.region
    qualifier = planned.bootstrap_qualifier
    option = f" --qualifier {qualifier}" if qualifier else ""
    command = f"`npx {PINNED_CLI} bootstrap aws://ACCOUNT/{region}{option}`"
    parameter = f"/cdk-bootstrap/{qualifier or _QUALIFIER}/version"
    answer = planned.aws.find("ssm", "get_parameter", ("ParameterNotFound",), Name=parameter)
    if answer is None:
        return problem(
            f"{region} is not bootstrapped{option.replace(' --', ' for ')}", f"Run {command} once."
        )
    version = answer["Parameter"]["Value"]
    if version.isdigit() and int(version) >= _OLDEST_BOOTSTRAP:
        return ok(f"version {version} in {region}")
    detail = f"version {version} in {region}, at least {_OLDEST_BOOTSTRAP} is needed"
    return problem(detail, f"Run {command} again.")


def check_node(_: PlannedDeployment) -> Finding:
    """Check Node.js on this machine."""
    version = _installed_version("node")
    action = f"Install Node.js {_OLDEST_NODE} or newer."
    if version is None:
        path = shutil.which("node")
        detail = f"{path} does not report its version" if path else "not found on the path"
        found = problem(detail, action)
    elif int(version.split(".")[0]) < _OLDEST_NODE:
        found = problem(version, action)
    else:
        found = ok(version)
    return replace(found, asked=False)


def check_cli(_: PlannedDeployment) -> Finding:
    """Check the CDK command line on this machine.

    People run an installed one first, so its version counts; otherwise ``npx`` fetches the pinned one on
    first use, which is not tried here.
    """
    use = f"`npx {PINNED_CLI}`"
    if installed := _installed_version("cdk"):
        if installed.split(".")[0] == "2":
            found = ok(f"cdk {installed}")
        else:
            detail = f"cdk {installed} may not support the output of this project's library"
            found = warning(detail, f"Deploy with {use}.")
    elif shutil.which("npx"):
        found = ok(f"{use}, fetched on first use")
    else:
        found = problem("neither cdk nor npx is on the path", "Install Node.js.")
    return replace(found, asked=False)


def _installed_version(program: str) -> str | None:
    path = shutil.which(program)
    if path is None:
        return None
    try:
        ran = subprocess.run(  # noqa: S603 - a program of the user's own path, no shell
            [path, "--version"],
            capture_output=True,
            text=True,
            timeout=_VERSION_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"\d+\.\d+(\.\d+)?", ran.stdout)
    return found[0] if found else None


_NEVER_MADE: Final = ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED")
"""States of a stack that was never complete; CloudFormation updates none of them."""


def check_stacks(planned: PlannedDeployment) -> tuple[Finding, ...]:
    """Check the states of all stacks."""
    found = find_stacks(planned.aws, planned.name)
    if (advice := find_stack(planned.aws, f"{planned.name}-{ADVICE}")) is not None:
        found[ADVICE] = advice
    stacks = {f"{planned.name}-{part}": stack for part, stack in found.items()}
    if not any(stacks.values()):
        return (ok(f"{planned.name} is not deployed yet"),)
    missing = [name for name, stack in stacks.items() if stack is None]
    return (
        *(_stack(stack) for stack in stacks.values() if stack),
        *(warning(f"{name} is missing", "Deploy both with --all.") for name in missing),
    )


def _stack(stack: StackState) -> Finding:
    detail = f"{stack.name} is {stack.status}"
    if stack.usable:
        return ok(detail)
    if stack.changing:
        return warning(detail, "Wait until it has ended.")
    if stack.status in _NEVER_MADE:
        action = f"Delete it: `aws cloudformation delete-stack --stack-name {stack.name}`."
    else:
        action = "Look at its events in CloudFormation, and fix what they name."
    return problem(detail + (f" ({stack.reason})" if stack.reason else ""), action)


OCU_HOUR_DOLLARS: Final = 0.24
PRICE_DATE: Final = "2026-11-21"
PRICE_REGION: Final = "us-east-1"

_MAX_PAGES: Final = 20
_ALL_OWNED: Final = "none that the data stack does not own"


def check_collections(planned: PlannedDeployment) -> Finding:
    """Check for collections that no stack owns."""
    names = _named(planned, _pages(planned.aws, "opensearchserverless", "list_collections"))
    stack = find_stack(planned.aws, f"{planned.name}-{DATA}")
    own = stack.outputs.get("CollectionName", "") if stack else ""
    if stack and not own:  # a stack in progress, or with another store: all may be its own
        return ok(_ALL_OWNED)
    price = (
        f"; one outside a group is billed for at least 1 OCU, ${OCU_HOUR_DOLLARS:.2f} an hour"
        f" ({PRICE_REGION}, {PRICE_DATE})"
    )
    command = "aws opensearchserverless delete-collection --id"
    return _unowned([name for name in names if name != own], price, command)


def check_groups(planned: PlannedDeployment) -> Finding:
    """Check for collection groups that no stack owns, and what their minimum costs."""
    groups = list(_pages(planned.aws, "opensearchserverless", "list_collection_groups"))
    names = _named(planned, groups)
    floor = sum(_minimum(each) for each in groups if each.get("name") in names)
    price = f"; ${floor * OCU_HOUR_DOLLARS:.2f} an hour when idle ({PRICE_REGION}, {PRICE_DATE})"
    command = "aws opensearchserverless delete-collection-group --id"
    return _left_over(planned, names, price, command)


def check_vector_buckets(planned: PlannedDeployment) -> Finding:
    """Check for vector buckets that no stack owns; they only cost storage."""
    buckets = _pages(planned.aws, "s3vectors", "list_vector_buckets", prefix=f"{planned.name}-")
    names = [each["vectorBucketName"] for each in buckets]
    command = "aws s3vectors delete-vector-bucket --vector-bucket-name"
    found = _left_over(planned, names, "; they cost what they store", command)
    if found.status is Status.PROBLEM:  # they have unique names: nothing collides
        return replace(found, status=Status.WARNING)
    return found


def check_knowledge_bases(planned: PlannedDeployment) -> Finding:
    """Check for knowledge bases that no stack owns."""
    names = _named(planned, _pages(planned.aws, "bedrock-agent", "list_knowledge_bases"))
    price = "; they cost nothing themselves, but their vectors may"
    command = "aws bedrock-agent delete-knowledge-base --knowledge-base-id"
    return _left_over(planned, names, price, command)


def _left_over(planned: PlannedDeployment, names: list[str], price: str, command: str) -> Finding:
    if names and find_stack(planned.aws, f"{planned.name}-{DATA}"):
        return ok(_ALL_OWNED)
    return _unowned(names, price, command)


def _unowned(names: list[str], price: str, command: str) -> Finding:
    if not names:
        return ok("none")
    detail = f"{', '.join(names)}: no stack owns {'it' if len(names) == 1 else 'them'}{price}"
    action = f"Delete what nobody uses (`{command} ...`): a new deployment may want the name."
    return problem(detail, action)


def _minimum(group: dict[str, Any]) -> float:
    limits = group.get("capacityLimits", {})
    searching = limits.get("minSearchCapacityInOCU", 0)
    return float(searching) + float(limits.get("minIndexingCapacityInOCU", 0))


def _named(planned: PlannedDeployment, items: Iterable[dict[str, Any]]) -> list[str]:
    """Keep the deployment's own: its name, with the hash that its stack appends."""
    own = re.compile(rf"{re.escape(planned.name)}-[0-9a-f]{{6,8}}")
    return sorted(each["name"] for each in items if own.fullmatch(each["name"]))


def _pages(
    aws: Aws,
    service: str,
    operation: str,
    **parameters: Any,  # noqa: ANN401 - whatever the operation takes
) -> Iterator[dict[str, Any]]:
    """Return the items of a listing, page after page."""
    token: dict[str, Any] = {}
    for _ in range(_MAX_PAGES):
        answer = aws.call(service, operation, **parameters, **token)
        for value in answer.values():
            if isinstance(value, list):
                yield from value
        if not answer.get("nextToken"):
            return
        token = {"nextToken": answer["nextToken"]}
