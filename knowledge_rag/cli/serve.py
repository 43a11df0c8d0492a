"""``knowledge-rag serve``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from knowledge_rag.cli.options import JsonOption, KbOption
from knowledge_rag.cli.stopping import until_told_to_stop
from knowledge_rag.cli.terminal import err, out, print_json
from knowledge_rag.core.neutral import neutralise

_PLACEHOLDERS = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
}


def serve(
    kb: KbOption = None,
    port: Annotated[
        int,
        typer.Option(metavar="N", min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one."),
    ] = 8321,
    json: JsonOption = False,
) -> None:
    """Serve a knowledge base on loopback, speaking Bedrock's own API, until Ctrl-C.

    It speaks Retrieve (knowledge base LOCALKB001), InvokeAgent (agent LOCALAGENT, alias LOCALALIAS,
    which asks the real Lambda function) and Converse and ConverseStream (model local.extractive-v1).
    No model runs: what they write is lifted from the lines that were found.

    Any client of Amazon Bedrock works against it, once it has the variables that are printed. The
    server looks at neither region nor credentials, but clients do not start without them.
    """
    from knowledge_rag.cli.knowledge_bases import opened
    from knowledge_rag.local.retrieve_operation import KNOWLEDGE_BASE_ID
    from knowledge_rag.local.scripted_agents import AGENT_ID, ALIAS_ID
    from knowledge_rag.local.scripted_models import MODEL_ID
    from knowledge_rag.local.server import serve as serve_wire_api

    with until_told_to_stop(), opened(kb) as knowledge_base:

        def ready(endpoint_url: str) -> None:
            environment = {
                "AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME": endpoint_url,
                "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": endpoint_url,
                "KNOWLEDGE_BASE_ID": KNOWLEDGE_BASE_ID,
                **_PLACEHOLDERS,
            }
            if json:
                print_json(
                    {
                        "endpoint_url": endpoint_url,
                        "knowledge_base_id": KNOWLEDGE_BASE_ID,
                        "agent_id": AGENT_ID,
                        "agent_alias_id": ALIAS_ID,
                        "model_id": MODEL_ID,
                        "environment": environment,
                    }
                )
            else:
                path = neutralise(str(knowledge_base.path))
                err().print(f"serving {path} ({knowledge_base.chunks} chunks), Ctrl-C stops")
                for name, value in environment.items():
                    out().print(f"export {name}={value}")
            sys.stdout.flush()

        serve_wire_api(knowledge_base, port=port, on_ready=ready)
