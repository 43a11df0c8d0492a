import pytest

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.extract.dates import DateOrder
from lambdas.chunk_documents.settings import load_settings


def test_an_order_of_day_and_month_is_none_unless_it_is_set():
    assert load_settings({}).date_order is None
    assert load_settings({"DATE_ORDER": " "}).date_order is None
    assert load_settings({"DATE_ORDER": "MDY"}).date_order is DateOrder.MDY
    assert load_settings({"DATE_ORDER": "dmy"}).date_order is DateOrder.DMY


def test_another_order_is_refused_by_name():
    with pytest.raises(InvalidSettings, match="DATE_ORDER='ymd' must be mdy or dmy"):
        load_settings({"DATE_ORDER": "ymd"})
