"""The knowledge base of a command: on this machine, or deployed."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.cli.options import RegionOption, Search, TimeoutOption, budget_of
from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from knowledge_rag.core.retrieval import SearchType
    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.stacks import Deployed
    from knowledge_rag.local.knowledge_base import Documents, KnowledgeBase
    from knowledge_rag.orchestrator.backends.bounded import BlockingBackend, BoundedRetrieval
    from knowledge_rag.orchestrator.budget import Budget

StackOption = Annotated[
    str | None,
    typer.Option(metavar="DEPLOYMENT", help="Ask a deployment in AWS: its setting `name`."),
]
FunctionOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Ask a deployed retrieval function: its name or ARN."),
]
KnowledgeBaseOption = Annotated[
    str | None,
    typer.Option(
        metavar="ID",
        help="Ask a Bedrock knowledge base with Retrieve, without a score threshold: its id.",
    ),
]
GatewayOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Ask an AgentCore gateway; signed, or with the token in KNOWLEDGE_RAG_GATEWAY_TOKEN.",
    ),
]


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """The selected knowledge base and its options; only some commands have ``search``."""

    stack: StackOption = None
    function: FunctionOption = None
    knowledge_base: KnowledgeBaseOption = None
    gateway: GatewayOption = None
    region: RegionOption = None
    timeout: TimeoutOption = None
    search: Search | None = None

    def __post_init__(self) -> None:
        if len(named := list(self._named())) > 1:
            raise InvalidRequest(f"{' and '.join(named)}: choose one")
        if self.search is not None and self.name not in ("local", "retrieve"):
            raise InvalidRequest(
                "--search: the search type of a deployed function is its own setting"
            )
        self.check_alone(timeout=self.timeout)
        if self.timeout is not None:
            budget_of(self.timeout)

    def _named(self) -> Iterator[str]:
        for option, given in (
            ("--stack", self.stack),
            ("--function", self.function),
            ("--knowledge-base", self.knowledge_base),
            ("--gateway", self.gateway),
        ):
            if given is not None:
                yield option

    @property
    def name(self) -> str:
        """Return ``local``, ``stack``, ``function``, ``gateway`` or ``retrieve``."""
        option = next(self._named(), "--local").removeprefix("--")
        return "retrieve" if option == "knowledge-base" else option

    @property
    def is_local(self) -> bool:
        """Whether the knowledge base is on this machine."""
        return self.name == "local"

    @property
    def method(self) -> str:
        """Return the search type; ``""`` if the function's own setting decides."""
        return (self.search or Search.HYBRID).value if self.name in ("local", "retrieve") else ""

    @property
    def search_type(self) -> SearchType:
        """The search type of a knowledge base on this machine or with Retrieve."""
        return (self.search or Search.HYBRID).search_type

    @property
    def budget(self) -> Budget:
        """The budget of one query of a knowledge base on this machine."""
        return budget_of(self.timeout)

    def check_alone(self, **local_options: object) -> None:
        """Refuse options for knowledge bases on this machine."""
        for option, given in local_options.items():
            if given is not None and not self.is_local:
                named = next(self._named())
                raise InvalidRequest(
                    f"--{option} is for a knowledge base on this machine, {named} for another"
                )

    def check_region(self, *others: str, asks_aws: bool = False) -> None:
        """Refuse --region if AWS isn't used."""
        if self.is_local and self.region is not None and not asks_aws:
            *names, last = "--stack", "--function", "--knowledge-base", "--gateway", *others
            raise InvalidRequest(f"--region goes with {', '.join(names)} or {last}")


@dataclass(frozen=True, slots=True)
class Backend:
    """A knowledge base, and its retrieval; ``base`` if it is on this machine, ``agent`` if one is deployed with it."""

    retrieval: BoundedRetrieval
    about: str
    documents: Documents | None = None
    agent: str = ""
    corrected: Callable[[str], str] = str
    base: KnowledgeBase | None = None


@contextmanager
def connected(
    options: BackendOptions, kb: Path | None, *, explains_filters: bool = False
) -> Iterator[Backend]:
    """Yield the knowledge base of the options: the one on this machine, or as :func:`deployed`.

    One on this machine hides the user's own AWS settings while the block runs. With ``explains_filters``, a notice
    says if a filter excluded everything, even one that a consultation adds.
    """
    if not options.is_local:
        with deployed(options) as found:
            yield found
        return
    from knowledge_rag.cli.knowledge_bases import opened
    from knowledge_rag.local.knowledge_base import KnowledgeBaseDocuments
    from knowledge_rag.local.local_retrieval import GENERATED_FILTERS, local_retrieval

    with (
        opened(kb) as base,
        local_retrieval(
            base,
            search_type=options.search_type,
            budget=options.budget,
            unexplained=() if explains_filters else GENERATED_FILTERS,
        ) as retrieval,
    ):
        yield Backend(
            retrieval,
            f"{base.path.name} ({base.chunks} chunks)",
            KnowledgeBaseDocuments(base.path),
            corrected=lambda text: base.corrected(text).text,
            base=base,
        )


@contextmanager
def deployed(options: BackendOptions) -> Iterator[Backend]:
    """Yield the deployed knowledge base of the options.

    Raises:
        InvalidRequest: no region is set, or there is no such deployment.
        InvalidSettings: a name is invalid.
        CallFailed: the call of CloudFormation failed.
    """
    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.stacks import find_deployed
    from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval

    aws = Aws(options.region)
    region = aws.required_region()
    found = find_deployed(aws, options.stack) if options.stack is not None else None
    retrieval = BoundedRetrieval(_retrieval_of(options, region, found))
    about = f"{options.stack or options.function or options.knowledge_base or options.gateway} in {region}"
    try:
        if found is None:
            yield Backend(retrieval, about)
        else:
            yield Backend(retrieval, about, _documents(aws, found), found.agent)
    finally:
        retrieval.close()


def _documents(aws: Aws, found: Deployed) -> Documents | None:
    from knowledge_rag.deployment.bucket_documents import BucketDocuments

    if not found.corpus_bucket:
        return None
    return BucketDocuments(aws, found.corpus_bucket, found.corpus_prefix)


def _retrieval_of(options: BackendOptions, region: str, found: Deployed | None) -> BlockingBackend:
    from knowledge_rag.cli.inputs import gateway_token
    from knowledge_rag.core.retrieval import SearchSettings
    from knowledge_rag.orchestrator.backends.aws import BedrockRetrieve, RetrievalFunction
    from knowledge_rag.orchestrator.backends.gateway import Bearer, KnowledgeGateway, SigV4

    if found is not None:
        return RetrievalFunction(found.function, region)
    if options.function is not None:
        return RetrievalFunction(options.function, region)
    if options.gateway is not None:
        token = gateway_token(None)
        return KnowledgeGateway(options.gateway, Bearer(token) if token else SigV4(region))
    settings = SearchSettings(options.knowledge_base or "", options.search_type)
    return BedrockRetrieve(settings, region)
