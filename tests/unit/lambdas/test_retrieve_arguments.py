import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.errors import InvalidRequest
from lambdas.retrieve_knowledge.arguments import to_query


def max_results(value, most=5):
    return to_query({"query": "x", "max_results": value}, most).max_results


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3), (3.0, 3), ("3", 3), ("3.0", 3), (" 3. ", 3), ("+3", 3),
        (0, 1), (-1, 1), ("-1", 1), (10**9, 5), ("1000000000", 5), (-(10**400), 1),
        ("9" * 5000, 5), (1e300, 5),
    ],
)  # fmt: skip
def test_whole_numbers_are_taken_and_clamped(value, expected):
    assert max_results(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        "five",
        "3.7",
        3.7,
        None,
        True,
        "true",
        "",
        "null",
        [],
        {},
        "1e3",
        "٣",
        float("nan"),
        float("inf"),
    ],
)
def test_anything_else_is_refused_and_why(value):
    with pytest.raises(InvalidRequest, match="max_results must be a whole number from 1 to 5, not"):
        max_results(value)


def test_of_one_document_more_may_be_asked_for():
    def most(**arguments):
        return to_query({"query": "x", "max_results": 60, **arguments}, 5, most_of_document=100)

    assert most(source_file="runbooks/rds.md").max_results == 60
    assert most().max_results == most(source_file=" ").max_results == 5
    assert to_query({"query": "x", "max_results": 60, "source_file": "a.md"}, 5).max_results == 5


def test_without_it_five_come_and_a_direct_caller_may_have_more():
    assert to_query({"query": "x"}, 5).max_results == 5
    assert max_results(60, most=100) == 60


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "query is missing"),
        ({"query": None}, "query is missing"),
        ({"query": 5}, "query must be text"),
        ({"query": " \n\t "}, "query is blank"),
        ({"query": "x" * 20_001}, "20001 characters long; at most 20000"),
        ({"query": "\ud800"}, "query holds a lone surrogate"),
        ({"query": "x", "service": 5}, "service must be text"),
        ({"query": "x", "service": None}, "service must be text"),
        ({"query": "x", "service": "y" * 201}, "service is longer than 200"),
        ({"query": "x", "document_type": "\udfff"}, "document_type holds a lone"),
        ({"query": "x", "source_file": 5}, "source_file must be text"),
        ({"query": "x", "source_file": "y" * 1_025}, "source_file is longer than 1024"),
        ({"query": "x", "source_file": "\ud800.md"}, "source_file holds a lone"),
        ({"query": "x", "source_file": "/a.md"}, "'/a.md' is not the path of a document"),
        ({"query": "x", "source_file": "a/../b.md"}, "is not the path of a document"),
        ({"query": "x", "source_file": "a//b.md"}, "is not the path of a document"),
        ({"query": "x", "source_file": "a\\b.md"}, "is not the path of a document"),
        ({"query": "x", "source_file": "a.md, lines 1-2"}, "is not the path of a document"),
        ({"query": "x", "source_file": "z" * 1_000 + "/.."}, "is not the path of a document"),
        ({"query": "x", "maxResults": 3}, "unknown argument 'maxResults'; known are query"),
    ],
)
def test_what_makes_no_sense_is_refused_and_why(arguments, why):
    with pytest.raises(InvalidRequest, match=why) as caught:
        to_query(arguments, 5)
    assert caught.value.status == 400
    assert len(str(caught.value)) < 300


def test_a_query_goes_on_as_it_is_and_blank_filters_are_none():
    query = to_query({"query": " rds? ", "service": " rds ", "document_type": " "}, 5)
    assert query.text == " rds? "
    assert query.filters == {"service": "rds"}


def test_a_path_goes_on_as_it_is_for_it_has_to_match_exactly():
    path = "runbooks/Über uns (2).md"
    assert to_query({"query": "x", "source_file": path}, 5).source_file == path
    assert to_query({"query": "x", "source_file": "a.md "}, 5).source_file == "a.md "
    assert to_query({"query": "x", "source_file": " \n"}, 5).source_file is None
    assert to_query({"query": "x", "source_file": "y" * 1_024}, 5).source_file == "y" * 1_024


@given(
    st.dictionaries(
        st.sampled_from(
            ["query", "max_results", "service", "document_type", "source_file", "other"]
        ),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()),
    )
)
def test_any_arguments_are_either_a_query_within_bounds_or_a_refusal(arguments):
    try:
        query = to_query(arguments, 5)
    except InvalidRequest as error:
        str(error).encode()
    else:
        assert query.text.strip()
        assert 1 <= query.max_results <= 5
