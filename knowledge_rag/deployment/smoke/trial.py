"""Tries a deployment: its state, its documents, and questions over every way there is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.deployment.errors import CallFailed
from knowledge_rag.deployment.smoke import floor
from knowledge_rag.deployment.smoke.agent_way import AgentWay
from knowledge_rag.deployment.smoke.answers import WayBroken, ask_all
from knowledge_rag.deployment.smoke.corpus import CorpusBucket
from knowledge_rag.deployment.smoke.function_way import FunctionWay
from knowledge_rag.deployment.smoke.gateway_way import GatewayWay
from knowledge_rag.deployment.smoke.ingestion import check_ingestion
from knowledge_rag.deployment.smoke.promises import (
    judge_citations,
    judge_latency,
    judge_relevance,
    judge_way,
    latency_figures,
)
from knowledge_rag.deployment.smoke.questions import Topic
from knowledge_rag.deployment.smoke.report import Promise, Trial, Verdict
from knowledge_rag.deployment.stacks import DATA, SERVICE, find_stack, outputs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.smoke.answers import Answer, Way
    from knowledge_rag.deployment.smoke.questions import Question
    from knowledge_rag.deployment.stacks import StackState

    Progress = Callable[[int, int, str], None]

STACKS: Final = "stacks"
QUESTIONS: Final = "questions"
AGENT_QUESTIONS: Final = 2
"""A model is paid for each, and takes its time."""
GATEWAY_QUESTIONS: Final = 6

_WANTED: Final = {
    DATA: ("KnowledgeBaseId", "DataSourceId", "CorpusBucketName"),
    SERVICE: ("RetrieveFunctionArn",),
}


def try_deployment(
    aws: Aws, name: str, questions: Sequence[Question], progress: Progress, *, token: str = ""
) -> Trial:
    """Try a deployment.

    Args:
        aws: account and region.
        name: of the deployment.
        questions: on-topic and off-topic; those of the former that name a document which the corpus
            does not have are left out.
        progress: called with how many questions are answered, of how many, and over which way.
        token: for a gateway that wants one.

    Raises:
        InvalidRequest: there is no such deployment here, or no question about its corpus.
        CallFailed: CloudFormation can't be asked.
    """
    stacks = {part: find_stack(aws, f"{name}-{part}") for part in (DATA, SERVICE)}
    if not any(stacks.values()):
        raise InvalidRequest(
            f"there is no stack {name}-{DATA} or {name}-{SERVICE} in {aws.region}: check --name and"
            " --region, or deploy first"
        )
    promises = [_judge_stack(name, part, stack) for part, stack in stacks.items()]
    outputs = outputs_of(stacks.values())
    if "KnowledgeBaseId" in outputs and "DataSourceId" in outputs:
        found = check_ingestion(aws, outputs["KnowledgeBaseId"], outputs["DataSourceId"])
        promises.append(found)
    corpus = CorpusBucket(aws, outputs.get("CorpusBucketName", ""))
    asked = _about(corpus, questions) if "CorpusBucketName" in outputs else list(questions)
    if left_out := [each for each in questions if each not in asked]:
        promises.append(_note_left_out(left_out))
    ways, closed = _ways(aws, outputs, token)
    answers = _ask(ways, asked, progress)
    promises += [*(judge_way(each, found) for each, found in answers.items()), *closed]
    judged, figures = _judge(aws, outputs, answers, corpus)
    return Trial(name, aws.region, (*promises, *judged), figures)


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
    """Keep the questions that the corpus can answer, as far as that can be told."""
    try:
        kept = [
            each for each in questions if not each.source_file or corpus.holds(each.source_file)
        ]
    except CallFailed:
        return list(questions)  # the citations' promise tells of it
    if not any(question.topic is Topic.ON for question in kept):
        raise InvalidRequest(
            "the corpus holds none of the documents that the questions are about: bring your own by"
            " --questions FILE"
        )
    return kept


def _note_left_out(questions: Sequence[Question]) -> Promise:
    files = ", ".join(sorted({question.source_file for question in questions})[:3])
    detail = f"{len(questions)} left out, their documents are not in the bucket: {files}"
    return Promise(QUESTIONS, Verdict.NOTE, detail)


def _ways(aws: Aws, outputs: Mapping[str, str], token: str) -> tuple[list[Way], list[Promise]]:
    """Give the ways that the stacks' outputs name, and those that can't even be tried."""
    ways: list[Way] = []
    closed = []
    if alias := outputs.get("RetrieveFunctionArn"):
        ways.append(FunctionWay(aws, alias))
    if "AgentId" in outputs and "AgentAliasId" in outputs:
        ways.append(AgentWay(aws, outputs["AgentId"], outputs["AgentAliasId"]))
    if url := outputs.get("GatewayUrl"):
        try:
            ways.append(GatewayWay(aws, url, token))
        except WayBroken as error:
            closed.append(Promise(GatewayWay.name, Verdict.BROKEN, str(error)))
    return ways, closed


def _ask(
    ways: Sequence[Way], questions: Sequence[Question], progress: Progress
) -> dict[str, list[Answer]]:
    plan = {way.name: _share(way.name, questions) for way in ways}
    total = sum(map(len, plan.values()))
    answers: dict[str, list[Answer]] = {}
    done = 0
    for way in ways:

        def on_answer(name: str = way.name) -> None:
            nonlocal done
            done += 1
            progress(done, total, name)

        answers[way.name] = ask_all(way, plan[way.name], on_answer)
    return answers


def _share(way: str, questions: Sequence[Question]) -> list[Question]:
    """Give the questions for a way: all for the function, some on-topic ones for the others."""
    if way == FunctionWay.name:
        return list(questions)
    on_topic = [question for question in questions if question.topic is Topic.ON]
    return on_topic[: AGENT_QUESTIONS if way == AgentWay.name else GATEWAY_QUESTIONS]


def _judge(
    aws: Aws,
    outputs: Mapping[str, str],
    answers: Mapping[str, Sequence[Answer]],
    corpus: CorpusBucket,
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
    if direct := answers.get(FunctionWay.name):
        promises += _judge_function(aws, outputs["RetrieveFunctionArn"], direct, figures)
    return promises, figures


def _judge_function(
    aws: Aws, alias: str, answers: Sequence[Answer], figures: dict[str, Any]
) -> list[Promise]:
    if all(answer.status is None for answer in answers):
        return []  # the way's own promise tells of it
    promises = []
    if (relevance := judge_relevance(answers)) is not None:
        promises.append(relevance)
    configured, known = floor.configured_floor(aws, alias)
    measured = floor.measure(answers, configured, known=known)
    promises.append(floor.judge(measured, answers))
    figures["floor"] = measured.to_dict()
    promises.append(judge_latency(answers))
    return promises


def _figures(answers: Sequence[Answer]) -> dict[str, Any]:
    counts = Counter(each.status.value if each.status else "no_answer" for each in answers)
    reasons = Counter(each.reason for each in answers if each.reason)
    return {"statuses": dict(counts), "reasons": dict(reasons), **latency_figures(answers)}
