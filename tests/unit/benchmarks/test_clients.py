"""Other clients meet the faults as they do; how is for people to read."""

from benchmarks.clients import as_table, run_clients_bench
from knowledge_rag.evaluation.faults.run import named
from tests.support.tables import shown


def test_an_empty_object_misleads_one_client_and_is_an_error_to_the_other():
    report = run_clients_bench(lambda *_: None, [named("empty-object")])
    answers = {name: rows[0].answer for name, rows in report.results.items()}
    assert answers == {"boto3": "success, nothing found", "langchain-aws": "KeyError"}
    assert report.to_dict()["boto3"][0]["misled"] == "an outage reads as nothing documented"
    table = shown(as_table(report), 160)
    assert "MISLEADS, an outage reads as nothing documented" in table
    assert "boto3: 0 answered later than 2 s, 1 misleading" in table
