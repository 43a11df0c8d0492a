"""The order of day and month reaches the function that reads documents."""

from infra.buckets import Buckets
from infra.chunk_documents import ChunkDocuments
from lambdas.chunk_documents.settings import load_settings
from tests.infra.service import bare_stack, of_type, settings, template_of


def environment(order):
    stack, chosen = bare_stack(), settings(date_order=order)
    buckets = Buckets(stack, "Buckets", settings=chosen)
    ChunkDocuments(stack, "Chunks", settings=chosen, buckets=buckets)
    (function,) = [
        it["Properties"]
        for it in of_type(template_of(stack), "AWS::Lambda::Function")
        if str(it["Properties"].get("FunctionName", "")).endswith("chunk-documents")
    ]
    return function.get("Environment", {}).get("Variables", {})


def test_how_dates_are_written_reaches_what_reads_them():
    assert load_settings(environment("dmy")).date_order == "dmy"


def test_unset_nothing_is_said_of_it():
    assert "DATE_ORDER" not in environment("")
