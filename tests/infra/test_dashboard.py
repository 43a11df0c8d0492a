"""The dashboard's body as it stands in a template: its form, and that everything in it exists."""

import contextlib
import io
import json
import re
from pathlib import Path

import boto3
import jsonschema
import pytest
from moto import mock_aws

from infra import dashboard as charts
from knowledge_rag.channel.visits import Visit
from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import Severity, retrieval_alarms
from knowledge_rag.evaluation.faults.payloads import item, retrieved
from knowledge_rag.evaluation.faults.server import answering, http
from knowledge_rag.evaluation.gameday_alarms import evaluate
from lambdas.advise_incident import handler as advise_incident
from lambdas.chunk_documents import handler as chunk_documents
from lambdas.start_ingestion import handler as start_ingestion
from lambdas.start_ingestion.handler import Outcome
from tests.infra.iam import render
from tests.infra.synthesis import DISPOSABLE, EVERYTHING, synthesized
from tests.support.fixtures import invoke
from tests.support.monitoring import COLLECTION, monitored, resources
from tests.support.patience import patient_function
from tests.support.transformation import CORPUS, INTERMEDIATE, IngestionJob

SCHEMA = json.loads((Path(__file__).parents[1] / "support/dashboard.schema.json").read_text())
OF_LAMBDA = {"ConcurrentExecutions", "Duration", "Errors", "Invocations", "Throttles"}
OF_THE_STORE = {"SearchOCU", "IndexingOCU"}
"""By account; searches are found by their collection's name, see below."""

WORDS = {"fields", "filter", "stats", "sort", "limit", "as", "by", "desc", "in", "and", "SOURCE"}
WORDS |= {"count", "sum", "ispresent", "coalesce", "strcontains"}
"""Commands and functions of CloudWatch Logs Insights."""

BODIES = {
    "dev": {"preset": "dev"},
    "prod": {"preset": "prod"},
    "s3-vectors": {"collection": "", "vector_store": "s3-vectors", "search_type": "SEMANTIC"},
}


@pytest.fixture(autouse=True)
def _patient():
    with patient_function():
        yield


def body_of(**changed):
    (dashboard,) = resources(monitored(**changed), "AWS::CloudWatch::Dashboard")
    return json.loads(render(dashboard["DashboardBody"]))


def widgets(kind, **changed):
    return [widget for widget in body_of(**changed)["widgets"] if widget["type"] == kind]


def titled(title, **changed):
    (widget,) = [
        widget["properties"]
        for widget in body_of(**changed)["widgets"]
        if widget["properties"].get("title") == title
    ]
    return widget


def lines(**changed):
    """Give each line of each chart: the metric's own words, and its options."""
    for widget in widgets("metric", **changed):
        for *words, options in widget["properties"]["metrics"]:
            yield widget["properties"], words, options


EACH = pytest.mark.parametrize("changed", BODIES.values(), ids=BODIES)


class TestForm:
    @EACH
    def test_it_is_what_cloudwatch_documents(self, changed):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        jsonschema.validate(body_of(**changed), SCHEMA)


class TestMetrics:
    @EACH
    @pytest.mark.usefixtures("aws_environment")
    def test_each_one_is_emitted_by_something(self, changed, knowledge_base):
        name = f"knowledge-rag-{changed.get('preset', 'dev')}"
        functions = {f"{name}-{part}" for part in ("retrieve", "chunk", "ingest")}
        ours = self.emitted(knowledge_base)
        for _, words, options in lines(**changed):
            match words:
                case [telemetry.NAMESPACE, metric, "service", service]:
                    assert (metric in ours, service) == (True, name)
                case ["AWS/Lambda", metric, "FunctionName", function]:
                    assert metric in OF_LAMBDA
                    assert function in functions
                case ["AWS/AOSS", metric, "ClientId", "<AWS::AccountId>"]:
                    assert metric in OF_THE_STORE
                case [namespace, telemetry.RETRIEVAL_INIT_FAILURES]:
                    (counted,) = resources(monitored(**changed), "AWS::Logs::MetricFilter")
                    (transformation,) = counted["MetricTransformations"]
                    assert transformation["MetricNamespace"] == namespace
                case _:
                    assert (words, "expression" in options) == ([], True)

    @staticmethod
    def emitted(knowledge_base):
        """Names that the real functions write in their records."""
        knowledge_base(answering(http(retrieved(item()))))
        records = invoke({"query": "x"}).metrics
        output = io.StringIO()
        with contextlib.redirect_stdout(output), mock_aws():
            chunk_documents._emit(dict.fromkeys(chunk_documents._COUNTED, 1), "JOB")
            start_ingestion._emit(Outcome("JOB", "COMPLETE"))
            advise_incident._emit(Visit(1, 1, 1, 1.0, {}))
        written = [json.loads(line) for line in output.getvalue().splitlines()]
        records += [record for record in written if "_aws" in record]
        return {
            metric["Name"]
            for record in records
            for directive in record["_aws"]["CloudWatchMetrics"]
            for metric in directive["Metrics"]
        }

    @EACH
    def test_expressions_can_be_computed_of_the_metrics_beside_them(self, changed):
        for widget in widgets("metric", **changed):
            options = [line[-1] for line in widget["properties"]["metrics"]]
            values = {entry["id"]: 5.0 for entry in options if "id" in entry}
            for entry in options:
                expression = entry.get("expression", "0")
                if not expression.startswith("SEARCH("):
                    evaluate(expression, values)

    def test_shares_are_those_of_the_alarms(self):
        day = {"n": 200, "e": 20, "z": 45}
        assert evaluate(charts.ERROR_RATE, day) == 10
        assert evaluate(charts.ZERO_RESULT_RATE, day) == 25
        assert evaluate(charts.WITH_RESULTS, day) == 135

    def test_where_every_query_failed_the_shares_are_drawn_all_the_same(self):
        day = {"n": 7, "e": 7, "z": float("nan")}
        assert evaluate(charts.ERROR_RATE, day) == 100
        assert evaluate(charts.ZERO_RESULT_RATE, day) == 0
        assert evaluate(charts.WITH_RESULTS, day) == 0

    def test_bounds_follow_the_settings(self):
        (line,) = titled("Latency of answered queries", latency_p95_ms=900)["annotations"][
            "horizontal"
        ]
        assert line["value"] == 900


class TestVectorStore:
    def test_capacity_is_that_of_any_minute(self):
        # two OCU for five minutes, reported each minute and added up
        assert evaluate(charts.SEARCH_OCU, {"s": 10}, period_seconds=300) == 2
        assert evaluate(charts.INDEXING_OCU, {"i": 120}, period_seconds=3600) == 2
        assert evaluate(charts.SEARCH_OCU, {"s": float("nan")}) == 0

    def test_cost_is_capacity_at_the_list_price(self):
        two_and_two = {"s": 10, "i": 10}
        assert evaluate(charts.USD_AN_HOUR, two_and_two) == pytest.approx(0.96)
        assert evaluate(charts.USD_A_MONTH, two_and_two) == pytest.approx(700.8)

    def test_searches_are_those_of_this_collection(self):
        searches = [
            options["expression"]
            for _, _, options in lines()
            if options.get("expression", "").startswith("SEARCH('{AWS/AOSS")
        ]
        form = (
            r"SEARCH\('\{AWS/AOSS,ClientId,CollectionId,CollectionName\}"
            rf' CollectionName="{COLLECTION}" MetricName="(\w+)"\', \'(Average|Sum)\', 300\)'
        )
        assert [re.fullmatch(form, search)[1] for search in searches] == [
            "SearchRequestLatency",
            "SearchRequestErrors",
        ]


class TestLogTables:
    @staticmethod
    def query(title):
        return titled(title)["query"]

    def fields(self, query):
        """Give the fields that a query reads: no command, no function, no name of its own."""
        names = set(re.findall(r"@?[A-Za-z_]\w*", re.sub(r"'[^']*'|\"[^\"]*\"", "", query)))
        own = set(re.findall(r" as (\w+)", query))
        return {name for name in names - WORDS - own if not name.startswith("@")}

    @pytest.fixture
    def asked(self, knowledge_base):
        server = knowledge_base(answering(http(retrieved(item()))))
        event = {"query": "x", "session_id": "s", "incident_id": "INC-1"}
        records = invoke(event).logs
        server.close()
        return records + invoke(event).logs

    @pytest.fixture
    def ingested(self, aws_environment):
        aws_environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        output = io.StringIO()
        with mock_aws(), contextlib.redirect_stdout(output):
            s3 = boto3.client("s3", region_name="us-east-1")
            for bucket in (CORPUS, INTERMEDIATE):
                s3.create_bucket(Bucket=bucket)
            job = IngestionJob(s3)
            job.add("a.md", b"\xff", "?")
            job.add("b.md", b"# B\n\nText.\n", "# B\n\nAnother.\n")
            chunk_documents._service.cache_clear()
            chunk_documents.lambda_handler(job.event, None)
            chunk_documents._service.cache_clear()
        return [json.loads(line) for line in output.getvalue().splitlines()]

    @pytest.mark.parametrize(
        "title", ["Unanswered queries by reason", "Last unanswered queries", "Queries by incident"]
    )
    def test_what_is_read_of_the_retrieval_function_is_what_it_logs(self, asked, title):
        query = self.query(title)
        assert self.fields(query) <= {field for record in asked for field in record}
        messages = set(re.findall(r'"(query \w+)"', query))
        assert messages
        assert messages <= {record["message"] for record in asked}
        assert set(re.findall(r'status, "(\w+)"', query)) <= {"no_match", "degraded"}

    def test_what_is_read_of_ingestion_is_what_it_logs(self, ingested):
        query = self.query("Ingestion problems")
        records = [record for record in ingested if "_aws" not in record]
        assert self.fields(query) <= {field for record in records for field in record}
        (levels,) = re.findall(r"level in (\[.*?\])", query)
        assert {"ERROR"} <= {record["level"] for record in records} & set(json.loads(levels))

    def test_each_reads_the_log_of_the_function_that_it_is_about(self):
        log = re.findall(r"SOURCE '([^']+)'", self.query("Last unanswered queries"))
        assert log == ["<RetrieveLog>"]
        log = re.findall(r"SOURCE '([^']+)'", self.query("Ingestion problems"))
        assert log == [f"/aws/lambda/knowledge-rag-dev-{part}" for part in ("chunk", "ingest")]


def test_the_page_says_what_to_do_at_each_loud_alarm():
    (text,) = widgets("text")
    for alarm in retrieval_alarms():
        said = f"| `{alarm.key}` | {alarm.action} |" in text["properties"]["markdown"]
        assert said == (alarm.severity is Severity.ALARM)


def test_states_of_every_alarm_are_on_the_page():
    shown = {alarm for widget in widgets("alarm") for alarm in widget["properties"]["alarms"]}
    assert len(shown) == len(resources(monitored(), "AWS::CloudWatch::Alarm")) + 1


class TestDoors:
    """Those of the whole deployment: the bare stack has none."""

    def body(self, settings):
        (dashboard,) = resources(synthesized(**settings).service, "AWS::CloudWatch::Dashboard")
        return json.loads(render(dashboard["DashboardBody"]))

    def searches(self, settings):
        for widget in self.body(settings)["widgets"]:
            for line in widget["properties"].get("metrics", ()):
                expression = line[-1].get("expression", "")
                if found := re.fullmatch(
                    r"""SEARCH\('(\w+)="(<[\w.]+>)" MetricName="(\w+)"', '(Sum|p95)', 300\)""",
                    expression,
                ):
                    yield found.groups()

    def test_each_door_is_found_by_its_arn(self):
        found = list(self.searches(EVERYTHING))
        by = {(dimension, value) for dimension, value, *_ in found}
        assert by == {
            ("Resource", "<Gateway.GatewayArn>"),
            ("AgentAliasArn", "<AgentAlias.AgentAliasArn>"),
            ("GuardrailArn", "<Guardrail.GuardrailArn>"),
        }
        gateway = {metric for dimension, _, metric, _ in found if dimension == "Resource"}
        assert gateway >= {"Throttles", "SystemErrors", "UserErrors", "TargetExecutionTime"}

    def test_what_is_not_deployed_is_not_shown(self):
        assert {dimension for dimension, *_ in self.searches(DISPOSABLE)} == {"Resource"}
        assert not list(self.searches({**DISPOSABLE, "entrypoint": "none"}))
