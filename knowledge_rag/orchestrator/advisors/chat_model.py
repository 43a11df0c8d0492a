"""Any LangChain chat model as an advisor: it writes from given evidence, as a stream.

The evidence is in the user's message as numbered sources. Each of their lines begins with its number, so
no line of a document can pass for the heading of a source. The providers' SDKs handle retries and
addresses; the deadline is enforced here.
"""

from __future__ import annotations

import asyncio
import re
import threading
from contextlib import aclosing
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidSettings, RetrievalFailed, how_to_install
from knowledge_rag.core.failures import FORESEEN, by_status
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.tokens import token_bound
from knowledge_rag.guardrails.converse import source_of
from knowledge_rag.orchestrator.advisors.advisor import Relay
from knowledge_rag.orchestrator.advisors.calls import (
    DEADLINE_SECONDS,
    as_model_failure,
    check_deadline,
)
from knowledge_rag.orchestrator.advisors.writing import (
    BROKEN_OFF,
    CALLED,
    CUT,
    EXAMPLE,
    MAX_TOKENS,
    TOKENS,
    about_of,
    advice_of,
    final_reason,
    nothing_found,
    search_done,
    task_of,
    usable,
)
from knowledge_rag.orchestrator.errors import MissingKey, ModelFailed, NoKey

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage

    from knowledge_rag.guardrails.ledger import Evidence
    from knowledge_rag.orchestrator.advisors.advisor import Advice, Listener
    from knowledge_rag.orchestrator.advisors.spending import Spending
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.retrieval import Findings

NAME: Final = "model"

SEARCH_DONE: Final = search_done(
    f"numbered sources. The heading of each names file and lines, for example [1] {source_of(EXAMPLE)}; "
    f"below it stand these lines, each behind its number, the first behind {EXAMPLE.start_line}|"
)

CHARACTERS_PER_TOKEN: Final = 8
"""Characters per token of the limit beyond which an answer is read no further: its provider ignores the limit."""

_ENDINGS: Final = ("finish_reason", "stop_reason", "done_reason", "stopReason", "status")
"""Keys under which providers say why an answer ended."""


def message_of(incident: Incident, findings: Findings) -> str:
    """Return the user's message: the incident, the ledger's entries in order, and the task."""
    sources = map(_source, findings.ledger.entries)
    return "\n\n".join([about_of(incident), *sources, task_of(findings, "sources")])


def _source(entry: Evidence) -> str:
    citation = entry.citation
    lines = enumerate(entry.content.split("\n"), citation.start_line)
    heading = f"[{entry.number}] {source_of(citation)} {citation.section_header}".rstrip()
    return "\n".join([heading, *(f"{number}| {line}" for number, line in lines)])


class ChatModelAdvisor:
    """Sends incident and evidence to the model once.

    The model runs on its own event loop: its connections belong to the loop that opened them, and each
    caller may have a different one.

    Args:
        model: of any provider; see :func:`chat_model`.
        prompt: the agent's; :func:`~knowledge_rag.orchestrator.wording.agent_prompt`.
        max_tokens: the limit that the model was given, 1..MAX_TOKENS.
        seconds: maximum for an answer, everything included.
        spending: the limit on a day's cost; ``None`` for no limit.

    Raises:
        InvalidSettings: a limit is out of range.
    """

    def __init__(
        self,
        model: BaseChatModel,
        prompt: str,
        *,
        max_tokens: int = TOKENS,
        seconds: float = DEADLINE_SECONDS,
        spending: Spending | None = None,
    ) -> None:
        check_deadline(seconds)
        _check_tokens(max_tokens)
        self._spending = spending
        self._max_tokens = max_tokens
        self._model = model
        self._system = f"{prompt}\n\n{SEARCH_DONE}"
        self._room = max_tokens * CHARACTERS_PER_TOKEN
        self._seconds = seconds
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=NAME, daemon=True)
        self._thread.start()

    async def advise(self, incident: Incident, findings: Findings) -> Advice:
        """Have the model write; without evidence there is no call.

        Returns:
            Its text. A text that was cut off loses its last step, and a note in its findings says so.

        Raises:
            ModelFailed: there is no usable text.
        """
        return await self._advised(incident, findings)

    async def advise_live(
        self, incident: Incident, findings: Findings, listener: Listener
    ) -> Advice:
        """Do the same, and stream the answer to the listener."""
        with Relay(listener).listening() as relay:
            return await self._advised(incident, findings, relay)

    def close(self) -> None:
        """Wait for answers under way, within their deadline, and end the event loop."""
        asyncio.run_coroutine_threadsafe(_others_over(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _advised(
        self, incident: Incident, findings: Findings, relay: Relay | None = None
    ) -> Advice:
        if findings.status is not Status.OK:
            return nothing_found(findings, NAME)
        messages = [("system", self._system), ("user", message_of(incident, findings))]
        try:
            said, ended = await self._run(self._written(messages, findings, relay))
        except Exception as error:  # the boundary: every fault becomes one failure
            raise as_model_failure(_provider_failure(error)) from error
        said, note = usable(said, ended)
        return advice_of(said, findings, NAME, note=note)

    async def _run(self, work: Coroutine[Any, Any, tuple[str, str]]) -> tuple[str, str]:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _written(
        self, messages: list[tuple[str, str]], findings: Findings, relay: Relay | None
    ) -> tuple[str, str]:
        """Read the stream; return the answer and why it ended."""
        cost = sent = 0.0
        used = [0, 0]
        if self._spending:
            sent = sum(token_bound(it) for _, it in messages)
            cost = self._spending.set_aside(sent, self._max_tokens)
        parts: list[str] = []
        room, ended = self._room, ""
        # otherwise a graph that streams the messages of its models would show unverified words
        stream = self._model.astream(messages, {"tags": ["nostream"]})
        async with asyncio.timeout(self._seconds), aclosing(stream):  # type: ignore[type-var]
            async for chunk in stream:
                part = str(chunk.text)
                parts.append(part[:room])
                room -= len(part)
                ended = final_reason(ended, ending_of(chunk))
                if relay is not None and part:
                    relay.wrote(part.encode(errors="replace"), findings)
                if usage := chunk.usage_metadata:
                    used = [used[0] + usage["input_tokens"], used[1] + usage["output_tokens"]]
                if room < 0:
                    return "".join(parts), CUT
        given, written = used
        if self._spending and written:  # otherwise the amount set aside counts
            self._spending.settle(cost, given or sent, written)
        return "".join(parts), ended or BROKEN_OFF


async def _others_over() -> None:
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)


def ending_of(chunk: AIMessage) -> str:
    """Return why an answer ends with this part of it, in its provider's words; "" if it goes on."""
    if chunk.tool_calls or chunk.invalid_tool_calls:
        return CALLED
    found = (chunk.response_metadata.get(name) for name in _ENDINGS)
    return next((it for it in found if isinstance(it, str) and it), "")


def _provider_failure(error: Exception) -> Exception:
    """Return the failure that an SDK's exception stands for; Python's own and those with a reason stay as they are.

    A status determines the reason. Otherwise the first cause that is a socket's counts, and a response that
    isn't JSON is malformed. Any other exception of a library is its provider's failure.
    """
    if isinstance(error, ModelFailed):
        return error
    name = type(error).__name__
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return RetrievalFailed(by_status(status), code=name)
    causes = [*_causes(error)]
    if cause := next((it for it in causes if isinstance(it, FORESEEN)), None):
        return cause
    if any(isinstance(it, ValueError) for it in causes):
        return RetrievalFailed(Reason.MALFORMED_RESPONSE, code=name)
    if type(error).__module__ == "builtins":
        return error
    return RetrievalFailed(Reason.UNAVAILABLE, code=name)


def _causes(error: BaseException | None) -> Iterator[Exception]:
    while isinstance(error, Exception):
        yield error
        error = error.__cause__ or error.__context__


_TOKEN_LIMITS: Final = {"ollama": "num_predict"}
"""Names of the limit of an answer's tokens, for providers that don't call it ``max_tokens``."""


def chat_model(name: str, *, max_tokens: int = TOKENS, region: str | None = None) -> BaseChatModel:
    """Return a model by LangChain's name for it, ``provider:model``; keys and addresses are in the environment.

    Args:
        name: such as ``openai:gpt-5``, ``anthropic:claude-sonnet-5`` or ``ollama:qwen3``.
        max_tokens: limit of an answer.
        region: of AWS, for Bedrock's models.

    Raises:
        MissingKey: the provider's key is not in the environment.
        InvalidSettings: the provider is unknown, its package or another setting is missing, or a limit is
            out of range.
    """
    _check_tokens(max_tokens)
    provider, colon, model = name.partition(":")
    if not (provider and colon and model):
        raise InvalidSettings(f"{name[:80]!a} isn't PROVIDER:MODEL, such as openai:gpt-5")
    if find_spec("langchain") is None:
        raise InvalidSettings(f"LangChain is missing: {how_to_install('models')}")
    from langchain.chat_models import init_chat_model  # noqa: PLC0415 - two seconds, and an extra

    options: dict[str, Any] = {_TOKEN_LIMITS.get(provider, "max_tokens"): max_tokens}
    if region and provider.startswith("bedrock"):
        options["region_name"] = region
    shown = neutralise(name[:80])
    try:
        made: BaseChatModel = init_chat_model(model, model_provider=provider, **options)
    except ImportError as error:
        wanted = error.name or f"langchain-{provider.replace('_', '-')}"
        raise InvalidSettings(f"{name[:80]!a} needs a package: pip install {wanted}") from error
    except Exception as error:  # providers raise types of their own; messages can quote a key
        if str(error).startswith("Unsupported provider"):
            raise InvalidSettings(f"{shown!a}: LangChain knows no such provider") from error
        if named := _KEY.search(str(error)):
            raise MissingKey(_unset(named[0])) from error
        raise InvalidSettings(
            f"{shown!a} can't be used ({type(error).__name__}): a key, a region or another setting of it is not in the "
            "environment, see its documentation"
        ) from error
    if empty := _empty_key(made):
        raise MissingKey(_unset(empty))
    return made


_KEY: Final = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_KEY\b")
"""The name of a variable with a key; a key itself isn't written like that."""


def _unset(variable: str) -> str:
    return f"the model's key isn't set ({variable})"


def _empty_key(model: BaseChatModel) -> str:
    """Return the variable of a key that a model would send empty; ``""`` if there is none."""
    from pydantic import SecretStr  # noqa: PLC0415 - LangChain's, an extra

    for name in type(model).model_fields:
        value = getattr(model, name, None)
        if name.endswith("_api_key") and isinstance(value, SecretStr) and not value.get_secret_value():  # fmt: skip
            return name.upper()
    return ""


class KeylessAdvisor:
    """Stands in for a model whose key isn't set: each answer says so.

    Args:
        said: the reason.
    """

    def __init__(self, said: str) -> None:
        self.unable = said

    async def advise(self, incident: Incident, findings: Findings) -> Advice:
        """Fail without calling a model.

        Raises:
            NoKey: always, if there is anything to write about.
        """
        del incident
        if findings.status is not Status.OK:
            return nothing_found(findings, NAME)
        raise NoKey(self.unable)


def _check_tokens(max_tokens: int) -> None:
    if not 1 <= max_tokens <= MAX_TOKENS:
        raise InvalidSettings(f"max_tokens must be 1 to {MAX_TOKENS}, not {max_tokens}")
