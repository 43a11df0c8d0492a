"""Lines of a passage that another system cut: exactly its own, or none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.lines import slice_lines
from knowledge_rag.core.locating import (
    MAX_PLACES,
    Original,
    Originals,
    RawPassage,
    locate,
    raw_passage,
)
from knowledge_rag.core.metadata import prove, stored_text
from knowledge_rag.core.outcome import DropReason, RetrievalResult

TEXT = (
    "---\n"
    "title: RDS failover\n"
    "---\n"
    "# RDS\n"
    "\n"
    "## Fail over\r\n"
    "\n"
    "1. Promote the reader:\n"
    "\n"
    "       aws rds failover-db-cluster\t--db-cluster-identifier orders\n"
    "\n"
    "2. Wait  for the\u00a0endpoint.\n"
    "\n"
    "## Check\n"
    "\n"
    "Lag is 0 s. Lag is 0 s.\n"
)


def original(text, name="runbooks/rds.md"):
    document, decoded = read_document(name, text.encode())
    return Original(document, decoded, chunk_text(document, decoded))


def located(text, *passages):
    documents = {"d": original(text)}
    return locate([RawPassage(one, "d", str(n)) for n, one in enumerate(passages)], documents.get)


def lines(result):
    assert isinstance(result, RetrievalResult), result
    return result.citation.start_line, result.citation.end_line


@pytest.mark.parametrize(
    ("passage", "expected"),
    [
        ("## Fail over\r\n\n1. Promote the reader:", (6, 8)),
        ("## Fail over 1. Promote the reader:", (6, 8)),
        ("aws rds failover-db-cluster --db-cluster-identifier orders", (10, 10)),
        ("1. Promote the reader:  \naws rds failover-db-cluster --db-cluster", (8, 10)),
        ("mote the reader:\n\n\n aws rds fail", (8, 10)),
        ("\ufeff---\ntitle: RDS failover\n---\n# RDS\n\n", (1, 4)),
        ("2. Wait for the endpoint.", (12, 12)),
        ("Lag is 0 s.", (16, 16)),
        ("\n\nCheck\n", (14, 14)),
    ],
    ids=["verbatim", "joined", "unindented", "blank lines dropped", "cut in words", "mark", "no-break space",
         "twice in a line", "part of a line"],
)  # fmt: skip
def test_the_citation_is_the_whole_lines_that_hold_the_passage(passage, expected):
    (result,) = located(TEXT, passage)
    assert lines(result) == expected
    assert result.content == slice_lines(TEXT, *expected)


@pytest.mark.parametrize(
    "passage",
    [
        "Lag is 1 s. Lag is 0 s.",
        "lag is 0 s.",
        "2. Wait forthe endpoint.",
        "2. Wait f or the endpoint.",
        "## Check\n\n2. Wait for the endpoint.",
        "RDS failover\n\n2. Wait for the endpoint.",
        "2. Wait for the endpoint. …",
        "Title: RDS\n\nLag is 0 s. Lag is 0 s.",
        "2. Wait for the endpoint.\n\nAnother file's text.",
        "\ud800",
        " \n\t",
    ],
)
def test_anything_else_is_not_located(passage):
    assert located(TEXT, passage) == [DropReason.UNLOCATED]


def test_a_located_result_is_proven_like_any_other():
    (result,) = located(TEXT, "aws rds failover-db-cluster")
    metadata = {**result.metadata, **result.citation.to_dict()}
    assert result.citation.section_header == "Fail over"
    assert metadata["title"] == "RDS failover"
    again = prove(result.content, metadata)
    assert (again.content, again.citation) == (result.content, result.citation)


def test_the_section_is_that_of_the_first_line():
    (result,) = located(TEXT, "2. Wait for the endpoint. ## Check")
    assert (lines(result), result.citation.section_header) == ((12, 14), "Fail over")


REPEATED = "# A\n\nRestart it.\n\n# B\n\nRestart it.\n\n# C\n\nRestart it at once.\n"


def test_a_passage_in_several_places_is_ambiguous_unless_as_many_chunks_were_returned():
    assert located(REPEATED, "Restart it.") == [DropReason.AMBIGUOUS]
    first, heading, second = located(REPEATED, "Restart it.", "# B", "Restart\nit.")
    assert (lines(first), lines(heading), lines(second)) == ((3, 3), (5, 5), (7, 7))
    assert located(REPEATED, "Restart it") == [DropReason.AMBIGUOUS]
    assert located(REPEATED, "Restart it", "Restart it") == [DropReason.AMBIGUOUS] * 2


def test_places_that_share_a_line_are_told_apart():
    assert located("x y x\ny z\n", "x y") == [DropReason.AMBIGUOUS]
    assert located("z x\ny x\ny\n", "x y") == [DropReason.AMBIGUOUS]


TWICE_IN_A_LINE = "Restart it. Restart it.\n\nRestart it. Wait.\n"


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        (TWICE_IN_A_LINE, [("1", ""), ("2", "")]),  # both may be of the first line
        (TWICE_IN_A_LINE, [("1", ""), ("2", ""), ("3", "")]),
        (REPEATED, [("1", "a"), ("2", "b")]),  # each data source has each place
        (REPEATED, [("1", "a"), ("1", "b")]),
        (REPEATED, [("1", ""), ("", "")]),  # the one without an id may be the other
    ],
)
def test_chunks_that_may_be_of_one_place_are_no_evidence_of_another(text, chunks):
    passages = [RawPassage("Restart it.", "d", name, None, source) for name, source in chunks]
    assert set(locate(passages, {"d": original(text)}.get)) == {DropReason.AMBIGUOUS}


def test_several_chunks_of_the_only_place_are_located_there_each_with_its_score():
    passages = [
        RawPassage("Restart it at", "d", name, score)
        for name, score in (("1", 0.5), ("2", 0.25), ("", 1))
    ]
    found = locate(passages, {"d": original(REPEATED)}.get)
    assert [(lines(one), one.relevance_score) for one in found] == [
        ((11, 11), score) for score in (0.5, 0.25, 1)
    ]


@given(
    st.lists(st.sampled_from(["a", "b", "", " ", "\r", "ab"]), min_size=1, max_size=8), st.data()
)
def test_lines_are_a_documents_own_exactly_if_they_are_its_slice(rows, data):
    text = "\n".join(["x", *rows])
    start = data.draw(st.integers(1, len(rows) + 3))
    end = data.draw(st.integers(start, start + 3))
    content = data.draw(
        st.sampled_from(["\n".join(["x", *rows, "", ""][start - 1 : end]), "a", "x\na", "\n"])
    )
    result = RetrievalResult(content, Citation("runbooks/rds.md", start, end), None)
    try:
        expected = slice_lines(text, start, end) == content
    except IndexError:
        expected = False
    assert original(text).has(result) == expected
    assert not original(text, "other.md").has(result)


def test_passages_for_which_there_is_no_time_are_unread():
    passages = [RawPassage(text, "d", text) for text in ("# A", "Restart it at", "# B", "# A")]
    times = iter([True, True, False])
    found = locate(passages, {"d": original(REPEATED)}.get, lambda: next(times))
    assert [lines(one) for one in found[:2]] == [(1, 1), (11, 11)]
    assert found[2] is DropReason.UNREAD
    assert lines(found[3]) == (1, 1)  # is known already


def test_passages_of_one_long_line_share_it():
    text = "# A\n" + " ".join(f"w{n}" for n in range(1000))
    first, second = located(text, "w1 w2", "w500 w501")
    assert first.content is second.content
    assert lines(first) == (2, 2)


@pytest.mark.parametrize("chunk_id", ["1", ""])
def test_one_chunk_that_is_returned_twice_is_no_second_place(chunk_id):
    passages = [RawPassage("Restart it.", "d", chunk_id)] * 2
    assert locate(passages, {"d": original(REPEATED)}.get) == [DropReason.AMBIGUOUS] * 2


def test_only_the_named_document_is_searched():
    documents = {"a": original("Drain the node.\n", "a.md"), "b": original("Scale up.\n", "b.md")}
    found = locate(
        [
            RawPassage("Scale up.", "a", "1"),
            RawPassage("Scale up.", "b", "2", 0.5),
            RawPassage("Scale up.", "c", "3"),
            RawPassage("Scale up.", "", "4"),
            RawPassage("Drain the node.\n\nScale up.", "a", "5"),
            RawPassage("", "a", "6"),
        ],
        documents.get,
    )
    assert found[0] is DropReason.UNLOCATED
    assert (found[1].citation.source_file, found[1].relevance_score) == ("b.md", 0.5)
    assert found[2:] == [
        DropReason.UNREAD,
        DropReason.NO_CITATION,
        DropReason.UNLOCATED,
        DropReason.NOT_TEXT,
    ]


def test_a_letter_in_a_huge_line_is_found_at_once_and_one_in_many_lines_is_ambiguous():
    assert lines(located("a " * 1_000_000 + "\nb\n", "a")[0]) == (1, 1)
    passages = ["x"] * (MAX_PLACES + 1)
    assert set(located("x\n" * 100_000, *passages)) == {DropReason.AMBIGUOUS}


_WORDS = st.text(st.sampled_from("ab0 .\t\r\u00a0\u2028é"), max_size=12)


@given(st.lists(_WORDS, min_size=1, max_size=12), st.data())
def test_every_stretch_of_a_text_is_located_at_lines_that_hold_it_or_is_ambiguous(rows, data):
    text = "\n".join(["# T", *rows])
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    passage = text[start:end]
    (found,) = located(text, passage.replace("\n", data.draw(st.sampled_from(["\n", " ", "  \n"]))))
    if not passage.strip():
        assert found is DropReason.UNLOCATED
        return
    begin = start + len(passage) - len(passage.lstrip())
    true = text.count("\n", 0, begin) + 1, text.count("\n", 0, start + len(passage.rstrip())) + 1
    if found is not DropReason.AMBIGUOUS:
        assert lines(found) == true
    solid = [index for index, character in enumerate(passage) if character.strip()]
    position = data.draw(st.sampled_from(solid))
    changed = passage[:position] + "Z" + passage[position + 1 :]
    assert located(text, changed) == [DropReason.UNLOCATED]


def test_the_cache_keeps_the_documents_that_were_used_last_within_its_size():
    one = original("x" * 1000)
    cache = Originals(max_bytes=2 * one.bytes)
    cache.put("a", "1", one)
    cache.put("b", "1", one)
    assert cache.get("a") == ("1", one)
    cache.put("c", "1", one)
    assert (cache.get("b"), cache.get("a"), cache.get("c")) == (None, ("1", one), ("1", one))
    cache.put("a", "2", one)
    assert (cache.get("a"), cache.get("c")) == (("2", one), ("1", one))
    cache.put("a", "3", original("x" * 100_000))
    assert (cache.get("a"), cache.get("c")) == (None, ("1", one))


URI = "s3://bucket/docs/a.md"


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            {"content": {"type": "TEXT", "text": "t"}, "location": {"type": "S3", "s3Location": {"uri": URI}},
             "score": 0.5, "metadata": {"x-amz-bedrock-kb-chunk-id": "1%3A0", "x-amz-bedrock-kb-data-source-id": "D"}},
            RawPassage("t", URI, "1%3A0", 0.5, "D"),
        ),
        ({"content": {"text": "t"}, "metadata": {"x-amz-bedrock-kb-source-uri": URI}}, RawPassage("t", URI)),
        ({"content": {"text": "t"}, "location": {"type": "WEB", "webLocation": {"url": "https://x"}}}, RawPassage("t", "https://x")),
        ({"page_content": "t", "metadata": {"source": "docs/a.md"}, "id": "7"}, RawPassage("t", "docs/a.md", "7")),
        ({"node": {"text": "t", "metadata": {"file_path": "a.md"}, "id_": "8"}, "score": 1}, RawPassage("t", "a.md", "8", 1)),
        ({"content": {"type": "IMAGE", "byteContent": "x"}}, RawPassage("", "")),
        ({"content": None, "location": [], "metadata": "x"}, RawPassage("", "")),
        ({"content": {"text": "t"}, "metadata": {"start_line": 1.0}}, None),
        ({"content": {"text": "t"}, "metadata": {"end_line": "x"}}, None),
        ({"node": 3}, None),
        ("t", None),
    ],
)  # fmt: skip
def test_results_of_several_systems_are_read(item, expected):
    assert raw_passage(item) == expected


def test_lines_that_a_result_names_itself_do_not_count_where_its_document_is_at_hand():
    item = {"page_content": "t", "metadata": {"source": URI, "start_line": 1, "end_line": 1}}
    assert raw_passage(item) is None
    assert raw_passage(item, "s3://other/") is None
    assert raw_passage(item, "s3://bucket/docs/") == RawPassage("t", URI)


def test_a_passage_of_this_product_keeps_its_context_prefix_and_is_not_located_by_its_text():
    document, text = read_document("runbooks/rds.md", TEXT.encode())
    chunk = chunk_text(document, text)[0]
    assert located(TEXT, stored_text(chunk)) == [DropReason.UNLOCATED]
    assert isinstance(located(TEXT, chunk.content)[0], RetrievalResult)
