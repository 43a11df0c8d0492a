"""Tests a deployment: its state, its documents, and questions to every entry point."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.deployment.aws import CallFailed
from knowledge_rag.deployment.smoke.advice import AdviceStack
from knowledge_rag.deployment.smoke.clients import (
    AgentClient,
    BadAnswer,
    FunctionClient,
    GatewayClient,
    HarnessClient,
    ask_all,
)
from knowledge_rag.deployment.smoke.floor import (
    Applying,
    apply_floor,
    check_enough,
    judge_floor,
    measure_floor,
)
from knowledge_rag.deployment.smoke.promises import (
    CorpusBucket,
    Promise,
    Trial,
    Verdict,
    check_ingestion,
    judge_citations,
    judge_client,
    judge_latency,
    judge_relevance,
    latency_figures,
)
from knowledge_rag.deployment.smoke.questions import Topic
from knowledge_rag.deployment.stacks import (
    ADVICE,
    DATA,
    SERVICE,
    find_stack,
    find_stacks,
    outputs_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.smoke.clients import Answer, Client
    from knowledge_rag.deployment.smoke.questions import Question
    from knowledge_rag.deployment.stacks import StackState

    Progress = Callable[[int, int, str], None]

STACKS: Final = "stacks"
PARAMETER: Final = "EvidenceFloorParameter"
"""Output with the parameter of ``evidence_floor=auto``."""
QUESTIONS: Final = "questions"
AGENT_QUESTIONS: Final = 2
"""Questions that a model answers: each costs money and takes time."""
GATEWAY_QUESTIONS: Final = 6

_WANTED: Final = {
    DATA: ("KnowledgeBaseId", "DataSourceId", "CorpusBucketName"),
    SERVICE: ("RetrieveFunctionArn",),
    ADVICE: ("AdviceBusName", "AdviceBucketName"),
}


def try_deployment(  # noqa: PLR0913 - its options are keywords
    aws: Aws,
    name: str,
    questions: Sequence[Question],
    progress: Progress,
    *,
    token: str = "",
    apply: bool = False,
    test_alarm: bool = False,
) -> Trial:
    """Test a deployment; with ``apply``, measure its evidence floor and write it.

    With ``test_alarm``, a marked alarm goes through its advice stack to every destination.

    Raises:
        InvalidRequest: there is no such deployment here, no question about its corpus, or nothing to
            apply: its floor is set, or there are too few questions.
        CallFailed: the call of CloudFormation failed.
    """
    stacks = find_stacks(aws, name)
    if not any(stacks.values()):
        raise InvalidRequest(
            f"there is no stack {name}-{DATA} or {name}-{SERVICE} in {aws.region}: check --name and"
            " --region, or deploy first"
        )
    advice = find_stack(aws, f"{name}-{ADVICE}")
    if test_alarm and advice is None:
        raise InvalidRequest(
            f"there is no stack {name}-{ADVICE} in {aws.region}: set advice_destinations, and deploy"
        )
    stacks |= {} if advice is None else {ADVICE: advice}
    promises = [_judge_stack(name, part, stack) for part, stack in stacks.items()]
    outputs = outputs_of(stacks.values())
    if "KnowledgeBaseId" in outputs and "DataSourceId" in outputs:
        found = check_ingestion(aws, outputs["KnowledgeBaseId"], outputs["DataSourceId"])
        promises.append(found)
    corpus = CorpusBucket(aws, outputs.get("CorpusBucketName", ""), outputs.get("CorpusPrefix", ""))
    asked = _about(corpus, questions) if "CorpusBucketName" in outputs else list(questions)
    if left_out := [each for each in questions if each not in asked]:
        promises.append(_note_left_out(left_out))
    if apply:
        _check_applicable(outputs, asked)
    clients, closed = _clients(aws, outputs, token)
    answers = _ask(clients, asked, progress)
    promises += [*(judge_client(each, found) for each, found in answers.items()), *closed]
    judged, figures = _judge(outputs, answers, corpus)
    direct = answers.get(FunctionClient.name, [])
    if any(answer.status for answer in direct):  # else the client's own promise reports it
        floor, figures["floor"] = (
            _applied(aws, outputs, direct, progress) if apply else _measured(direct)
        )
        judged.append(floor)
    judged += _judge_advice(aws, name, outputs, test_alarm=test_alarm)
    return Trial(name, aws.region, (*promises, *judged), figures)


def _judge_advice(
    aws: Aws, name: str, outputs: Mapping[str, str], *, test_alarm: bool
) -> list[Promise]:
    bus, bucket = (outputs.get(key, "") for key in _WANTED[ADVICE])
    if not bus or not bucket:
        return []  # there is no such stack, or its own promise reports it
    stack = AdviceStack(aws, name, bus, bucket)
    return [stack.check_queue(), *(stack.send_test_alarm() if test_alarm else ())]


def _check_applicable(outputs: Mapping[str, str], questions: Sequence[Question]) -> None:
    if PARAMETER not in outputs:
        raise InvalidRequest(
            "this deployment doesn't read its floor from a parameter: deploy it with evidence_floor=auto"
        )
    check_enough(questions)


def _measured(answers: Sequence[Answer]) -> tuple[Promise, dict[str, Any]]:
    measured = measure_floor(answers)
    return judge_floor(measured), asdict(measured) if measured else {}


def _applied(
    aws: Aws, outputs: Mapping[str, str], answers: Sequence[Answer], progress: Progress
) -> tuple[Promise, dict[str, Any]]:
    total = sum(not answer.question.chooses for answer in answers)
    done = 0

    def on_answer() -> None:
        nonlocal done
        done += 1
        progress(done, total, "function, with the new floor")

    client = FunctionClient(aws, outputs["RetrieveFunctionArn"])
    return apply_floor(Applying(aws, outputs[PARAMETER], client, on_answer), answers)


def _judge_stack(name: str, part: str, stack: StackState | None) -> Promise:
    whole = f"{name}-{part}"
    if stack is None:
        return Promise(STACKS, Verdict.BROKEN, f"{whole} is missing", "Deploy both with --all.")
    lacks = [key for key in _WANTED[part] if key not in stack.outputs]
    detail = f"{whole} is {stack.status}"
    if stack.usable and not lacks:
        return Promise(STACKS, Verdict.KEPT, detail)
    if stack.usable:
        action = "Deploy it again with the current version."
        return Promise(STACKS, Verdict.BROKEN, f"{detail}, without {', '.join(lacks)}", action)
    if stack.changing:
        return Promise(STACKS, Verdict.DEGRADED, detail, "Wait until it has ended.")
    reason = f" ({stack.reason})" if stack.reason else ""
    return Promise(STACKS, Verdict.BROKEN, detail + reason, "Look at its events.")


def _about(corpus: CorpusBucket, questions: Sequence[Question]) -> list[Question]:
    """Keep the questions that the corpus can answer, as far as known."""
    try:
        kept = [
            each for each in questions if not each.source_file or corpus.holds(each.source_file)
        ]
    except CallFailed:
        return list(questions)  # the citations' promise reports it
    if not any(question.topic is Topic.ON for question in kept):
        raise InvalidRequest(
            "the corpus has none of the documents that the questions are about: provide your own with"
            " --questions FILE"
        )
    return kept


def _note_left_out(questions: Sequence[Question]) -> Promise:
    files = ", ".join(sorted({question.source_file for question in questions})[:3])
    detail = f"{len(questions)} left out, their documents are not in the bucket: {files}"
    return Promise(QUESTIONS, Verdict.NOTE, detail)


def _clients(
    aws: Aws, outputs: Mapping[str, str], token: str
) -> tuple[list[Client], list[Promise]]:
    """Return the clients for the stacks' outputs, and problems with those that can't be created."""
    clients: list[Client] = []
    closed = []
    if alias := outputs.get("RetrieveFunctionArn"):
        clients.append(FunctionClient(aws, alias))
    if "AgentId" in outputs and "AgentAliasId" in outputs:
        clients.append(AgentClient(aws, outputs["AgentId"], outputs["AgentAliasId"]))
    if arn := outputs.get("HarnessArn"):
        clients.append(HarnessClient(aws, arn))
    if url := outputs.get("GatewayUrl"):
        try:
            clients.append(GatewayClient(aws, url, token))
        except BadAnswer as error:
            closed.append(Promise(GatewayClient.name, Verdict.BROKEN, str(error)))
    return clients, closed


def _ask(
    clients: Sequence[Client], questions: Sequence[Question], progress: Progress
) -> dict[str, list[Answer]]:
    plan = {client.name: _share(client.name, questions) for client in clients}
    total = sum(map(len, plan.values()))
    answers: dict[str, list[Answer]] = {}
    done = 0
    for client in clients:

        def on_answer(name: str = client.name) -> None:
            nonlocal done
            done += 1
            progress(done, total, name)

        answers[client.name] = ask_all(client, plan[client.name], on_answer)
    return answers


def _share(client: str, questions: Sequence[Question]) -> list[Question]:
    """Return the questions for a client: all for the function, some on-topic ones for the others."""
    if client == FunctionClient.name:
        return list(questions)
    on_topic = [question for question in questions if question.topic is Topic.ON]
    return on_topic[: GATEWAY_QUESTIONS if client == GatewayClient.name else AGENT_QUESTIONS]


def _judge(
    outputs: Mapping[str, str], answers: Mapping[str, Sequence[Answer]], corpus: CorpusBucket
) -> tuple[list[Promise], dict[str, Any]]:
    if not answers:
        return [], {}
    results = [result for each in answers.values() for answer in each for result in answer.results]
    checked = [corpus.check(result) for result in results] if "CorpusBucketName" in outputs else []
    promises = [judge_citations(checked)]
    figures: dict[str, Any] = {
        "citations": dict(Counter(each.fit.value for each in checked)),
        "ways": {name: _figures(each) for name, each in answers.items()},
    }
    if direct := answers.get(FunctionClient.name):
        promises += _judge_function(direct)
    return promises, figures


def _judge_function(answers: Sequence[Answer]) -> list[Promise]:
    if all(answer.status is None for answer in answers):
        return []  # the client's own promise reports it
    promises = []
    if (relevance := judge_relevance(answers)) is not None:
        promises.append(relevance)
    promises.append(judge_latency(answers))
    return promises


def _figures(answers: Sequence[Answer]) -> dict[str, Any]:
    counts = Counter(each.status.value if each.status else "no_answer" for each in answers)
    reasons = Counter(each.reason for each in answers if each.reason)
    return {"statuses": dict(counts), "reasons": dict(reasons), **latency_figures(answers)}
