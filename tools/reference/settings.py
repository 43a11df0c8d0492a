"""``docs/reference/settings.md``: all settings, from the code that reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from typer.main import get_command

from infra.retrieval import DEFAULT_FLOORS
from infra.settings import SETTINGS, Preset
from knowledge_rag.cli.app import command_line
from knowledge_rag.cli.inputs import TOKEN_VARIABLE
from knowledge_rag.local import action_group
from knowledge_rag.local import settings as local
from knowledge_rag.orchestrator.advisors.spending import LIMIT_VARIABLE, PRICES_VARIABLE
from lambdas.advise_incident import handler as advice
from lambdas.check_release import handler as release
from lambdas.chunk_documents import settings as chunking
from lambdas.retrieve_knowledge import settings as retrieval
from lambdas.start_ingestion import handler as ingestion
from tools.reference.commands import NAME, commands, context
from tools.reference.markdown import (
    after_table,
    argument_docs,
    cell,
    code,
    codes,
    columns,
    page,
    table,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

_FOLDERS: Final = {
    local.KNOWLEDGE_BASE_VARIABLE: ("knowledge_base", "your own, else the sample"),
    local.DATA_DIR_VARIABLE: ("data_dir", "your platform's data folder"),
    local.CACHE_DIR_VARIABLE: ("cache_dir", "your platform's cache folder"),
    local.MODEL_DIR_VARIABLE: ("model_dir", "the installed model"),
}

_ABOUT: Final = {
    "name": "prefix of every name, and the metrics' `service` dimension; each deployment in an account "
    "needs its own",
    "corpus": "folder of documents, relative to the project; with `documents=folder`",
    "documents": "[where documents come from](../documents-in-aws.md): `folder` copies `corpus` at each "
    "deployment, `bucket` watches a bucket that others write to",
    "documents_bucket": "an existing bucket of this account and region; unset, the stack makes one. With "
    "`documents=bucket`",
    "documents_prefix": "folder of the documents in the bucket, not part of a citation; with `documents=bucket`",
    "documents_key": "the KMS key that `documents_bucket` is encrypted with, if it is one of yours",
    "removal_policy": "whether buckets, keys and logs stay when a stack is deleted",
    "customer_managed_key": "encrypt data under keys of your own ([cost](../costs.md))",
    "kms_key_arn": "[an existing KMS key](../adopt.md#an-existing-key) for all stacks instead of one that each "
    "makes; with `customer_managed_key`",
    "permissions_boundary": "[bounds every role](../adopt.md#a-permissions-boundary) of all stacks",
    "tags": "[tags of your own](../adopt.md#tags) for everything whose tags can be changed",
    "bootstrap_qualifier": "qualifier of your [bootstrap stack](../adopt.md#a-bootstrap-of-your-own), if it isn't CDK's own",
    "deploy_role_arn": "role with which the CDK command line deploys, if it isn't CDK's own",
    "execution_role_arn": "role with which CloudFormation creates resources, if it isn't CDK's own",
    "assets_role_arn": "role that uploads templates and archives, if it isn't CDK's own",
    "assets_bucket": "bucket for templates and archives, if it isn't CDK's own",
    "log_retention_days": "days to keep logs",
    "alarm_email": "address for alarms; confirm it once by the mail that arrives",
    "vector_store": "`s3-vectors` costs nothing when idle, but has semantic search only and at most "
    "1 KB of metadata per chunk",
    "generation": "of OpenSearch Serverless: `nextgen` scales down to `min_search_ocu` when idle, "
    "`classic` to 2 OCU (1 without standby)",
    "standby_replicas": "replicas in a second zone; `classic` only, `nextgen` always has them",
    "min_search_ocu": "capacity that search keeps when idle; `nextgen` only. **At 0, the first query "
    "after ten idle minutes is `degraded`**: the store takes 10 to 30 seconds to wake",
    "max_ocu": "limit on the capacity of indexing and of searching, each",
    "network": "`public`: callers sign with a permitted role. `private`: only Bedrock reaches the "
    "endpoint ([how](../deploy.md))",
    "embedding_model": "embeds chunks and queries; a change creates a new index and knowledge base",
    "embedding_dimension": "vector size, one that the model offers; 256, 512 or 1024 for Titan v2",
    "knowledge_base_id": "an existing knowledge base: no data stack is deployed "
    "([how](../deploy.md#an-existing-knowledge-base))",
    "knowledge_base_type": "its type, in Bedrock's terms",
    "source_bucket": "bucket of its documents, in the same region; unset if this project ingested it",
    "source_prefix": "their folder in it; the function reads nothing else",
    "source_key": "KMS key that they are encrypted with, if any",
    "search_type": "keywords and vectors, or vectors only",
    "evidence_floor": "score threshold. `auto`: "
    "[measured after the deployment](../operations/doctor-and-smoke.md#the-evidence-floor), until then "
    + " and ".join(f"{floor:g} with `{store}`" for store, floor in DEFAULT_FLOORS.items())
    + "; `off`: none",
    "source_policy": "`website-first` [ranks websites before PDFs](../source-policy.md); with `HYBRID` only",
    "secondary_scope": "metadata filter of the documents that `website-first` searches in addition",
    "date_order": "how to read `03/04/2026` at ingest; unset: it isn't read as a date",
    "guardrail": "create a Bedrock guardrail for Retrieve and the agent",
    "reserved_concurrency": "concurrent calls reserved for the retrieval function, and its maximum; 0 "
    "leaves it to the account. A new account can't reserve any",
    "release": "`canary`: a new version of the retrieval function gets a test query first, then a tenth of the calls for "
    "15 minutes, and is rolled back if an alarm fires ([how](../deploy.md#release-step-by-step)); `at-once`: it gets all",
    "entrypoint": "`agent` (Bedrock Agents Classic, closed to new customers since July 2026), `gateway` "
    "(AgentCore), both, `harness` (an AgentCore harness with a gateway as its only tool), or none",
    "agent_model": "model of the agent or the harness: id of a foundation model or of a system-defined inference profile",
    "agent_model_regions": "regions that the profile sends requests to, if they differ from the known ones",
    "gateway_logs": "deliver the gateway's application logs to `/aws/vendedlogs/<name>-gateway`. **They may contain "
    "the questions' text**, which our own logs never do",
    "gateway_authorizer": "`iam`: callers sign with SigV4; `jwt`: they send a token of your issuer",
    "devops_agent_space": "id of an agent space of AWS DevOps Agent in the same region: the gateway is registered as an "
    "MCP server, and the space may use its tool; with `gateway_authorizer=iam`",
    "gateway_policy_engine": "ARN of a policy engine of AgentCore: [its policies decide](../agents.md#ask-the-gateway) who may "
    "call the tool, and with which arguments",
    "gateway_policy_mode": "`enforce`: a call that the policies deny is refused; `log-only`: it's logged",
    "gateway_requests_per_minute": "maximum requests per minute to the gateway, of all callers together; 0: only the "
    "service's own limit",
    "jwt_discovery_url": "the issuer's OpenID configuration; with `jwt`",
    "jwt_audiences": "audiences that a token may name; with `jwt`",
    "jwt_clients": "clients to which a token may be issued, by their ids; with `jwt`. For tokens without an audience, as from "
    "client credentials or Amazon Cognito's access tokens",
    "jwt_scopes": "scopes that are allowed in a token; with `jwt`",
    "jwt_claims": 'claims that a token must have, e.g. `{"team": "sre", "groups": ["on-call", "admins"]}`: '
    "a string is the claim's value; for a list, the claim must contain one of its values; with `jwt`",
    "alarm_topic_arn": "existing SNS topic for alarms instead of one of the deployment's own; its policy must "
    "allow `cloudwatch.amazonaws.com` to publish, and so must its key",
    "slack_channel": "shows alarms in a Slack channel, `workspace/channel` by their ids. Authorise the "
    "workspace once in the console of Amazon Q Developer in chat applications",
    "teams_channel": "shows alarms in a Microsoft Teams channel, `tenant/team/channel` by their ids. "
    "Authorise the team once in the same console",
    "pagerduty_url": "address of a PagerDuty service's Amazon CloudWatch integration; it gets alarms, not "
    "warnings. It is in the template in plain text",
    "handbook_url": "where your people find [the alarms' page](../operations/alarms.md), without `#`; alarms "
    "link to their section there",
    "canary_question": "a documented question that a schedule asks every five minutes; unset: the title of "
    "the first document in `corpus`, `off`: none. There is none if the store sleeps (`nextgen` with "
    "`min_search_ocu` 0)",
    "advice_destinations": "TOML file with the destinations of the steps for alarms "
    "([how](../channel.md#in-aws)), relative to the project; unset, there is no advice stack",
    "advice_secret_arn": "secret with the keys that the file names, a JSON object",
    "advice_secret_key": "the KMS key that the secret is encrypted with, if it is one of yours",
    "advice_model": "Bedrock model that writes the posts, by Converse: id of a foundation model or of a system-defined "
    "inference profile; unset, they are the documents' own lines ([how](../channel.md#if-a-model-writes))",
    "advice_model_regions": "regions that the profile sends requests to, if they differ from the known ones",
    "latency_p95_ms": "alarm above this run time of the function, p95, milliseconds",
    "error_rate_percent": "alarm above this share of degraded queries",
    "zero_result_warning_percent": "warning above this share of answered queries that found nothing",
    "zero_result_alarm_percent": "alarm above this share of them",
    "timeouts": "alarm above this number of timed-out queries within five minutes",
    "min_samples": "queries that a period needs before a rate counts",
}
"""What each setting does, as Markdown."""


def settings_page() -> str:
    """Return the page: a deployment's settings, the functions' variables, the command line's."""
    return page(
        "Settings",
        "All settings: of a deployment, of its functions, of the command line.",
        _deployment(),
        _function("retrieve_knowledge", retrieval),
        _function("chunk_documents", chunking),
        _function("start_ingestion", ingestion),
        _function("check_release", release),
        _function("advise_incident", advice),
        "## `deploy_steps`\n\nNo variables of its own; each event says what to do.",
        _command_line(),
    )


def _deployment() -> str:
    rows = [["`preset`", f"`{Preset.DEV}`", "", codes(Preset), "the values of all unset settings"]]
    for name, (parse, dev, prod) in SETTINGS.items():
        rows.append([code(name), value(dev), value(prod), cell(allowed(parse)), _ABOUT[name]])
    return "\n\n".join(
        [
            "## Of a deployment",
            (
                "Set them in `cdk.json`, in the object under `knowledge-rag`, or on the command line "
                "with `-c knowledge-rag:<setting>=<value>`, which takes precedence. All errors are "
                "reported together, before anything is synthesized."
            ),
            table(["setting", "dev", "prod", "allowed", "what it does"], rows),
        ]
    )


def value(given: object) -> str:
    """Return a setting's value in written form; empty if it is unset."""
    if given is None or given in ("", (), {}):
        return ""
    return code(given if isinstance(given, str) else json.dumps(given))


def allowed(parse: Callable[[Any], Any]) -> str:
    """Return a setting's allowed values, in the words of its error message."""
    try:
        parse(object())
    except ValueError as refused:
        return str(refused)
    raise AssertionError(f"{parse} accepts anything")


def _function(name: str, module: ModuleType) -> str:
    docstring = module.__doc__ or ""
    rows = [[code(row[0]), cell(row[1]), cell(row[2])] for row in columns(docstring)]
    return "\n\n".join(
        [
            f"## `{name}`",
            "Variables of the function. A deployment sets them from its settings.",
            table(["variable", "value", "default"], rows),
            text(after_table(docstring)),
        ]
    )


def _command_line() -> str:
    docs = argument_docs(local.LocalSettings)
    rows = [
        [code(name), cell(docs[field].partition(";")[0]), default]
        for name, (field, default) in _FOLDERS.items()
    ]
    rows += [
        [code(TOKEN_VARIABLE), "token for `--gateway`; without one requests are signed", ""],
        [
            code(PRICES_VARIABLE),
            "prices of a million tokens sent to a model and written by it, such as `3/15`",
            "",
        ],
        [code(LIMIT_VARIABLE), "maximum cost of models in a day (UTC), in that currency", ""],
    ]
    rows += _of_options()
    rows.append(["`NO_COLOR`", "if not empty, no colours", ""])
    rows.append(
        ["`COLUMNS`", "width of the text of `ask` if standard output is not a terminal", ""]
    )
    return "\n\n".join(
        [
            "## Of the command line",
            (
                "Variables of the environment. Region, profile and credentials are read as the AWS "
                "command line reads them. Of its own variables above, the function that runs on this "
                f"machine sees only {codes(sorted(action_group._POLICY))}."
            ),
            table(["variable", "value", "default"], rows),
        ]
    )


def _of_options() -> Iterator[list[str]]:
    """Yield a row for each variable that sets the default of an option."""
    for at in commands(context(NAME, get_command(command_line()), None)):
        for option in at.command.params:
            if option.envvar:
                said = f"default of `{option.opts[0]}` for `{at.command_path}`"
                yield [code(option.envvar), said, ""]
