"""The order of sources: six correctness properties, what is a website, and why something moved."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.core.policy import (
    Candidate,
    SourceKind,
    Timing,
    arrange,
    past_notice,
    source_kind,
    timing,
)
from knowledge_rag.core.policy_settings import present_day, read_scope

TODAY = date(2026, 11, 21)
DATED = "When is the next parent-teacher conference?"
UNDATED = "Who are the executive directors?"


def candidate(number, kind="other", dates=(), score=0.5, **metadata):
    """Give a result that the service might have ranked at ``number``."""
    if kind == "website":
        metadata = {"source_url": f"https://school.example/{number}"} | metadata
    name = f"{number}.pdf" if kind == "pdf" else f"{number}.md"
    if dates:
        metadata["dates"] = list(dates)
    return Candidate(RetrievalResult("text", Citation(name, number, number, ""), score, metadata))


KINDS = st.sampled_from(["website", "pdf", "other"])
DATES = st.lists(st.dates(TODAY - timedelta(800), TODAY + timedelta(800)).map(str), max_size=3).map(
    sorted
)
SPECS = st.lists(st.tuples(KINDS, DATES), max_size=70)


def made(specs):
    return [
        candidate(number, kind, dates, score=1 - number / 100)
        for number, (kind, dates) in enumerate(specs, start=1)
    ]


def order(arrangement):
    return [placement.before for placement in arrangement.placements]


def kinds(arrangement, wanted):
    return [placement for placement in arrangement.placements if placement.kind is wanted]


class TestProperties:
    @given(SPECS, st.sampled_from([DATED, UNDATED]))
    def test_1_every_website_stands_before_every_pdf(self, specs, question):
        arrangement = arrange(made(specs), question, TODAY)
        websites = [it.after for it in kinds(arrangement, SourceKind.WEBSITE)]
        pdfs = [it.after for it in kinds(arrangement, SourceKind.PDF)]
        assert max(websites, default=0) < min(pdfs, default=1000)

    @given(SPECS)
    def test_1_what_is_of_one_kind_keeps_its_order(self, specs):
        arrangement = arrange(made(specs), UNDATED, TODAY)
        for kind in SourceKind:
            ranks = [placement.before for placement in kinds(arrangement, kind)]
            assert ranks == sorted(ranks)

    @given(SPECS)
    def test_2_asked_for_a_date_days_to_come_stand_before_past_ones_in_each_kind(self, specs):
        arrangement = arrange(made(specs), DATED, TODAY)
        for kind in SourceKind:
            timings = [it.timing for it in kinds(arrangement, kind)]
            dated = [it for it in timings if it is not Timing.UNDATED]
            assert dated == sorted(dated, key=[Timing.FUTURE, Timing.PAST].index)

    @given(SPECS)
    def test_2_within_a_timing_and_for_the_undated_the_order_is_kept(self, specs):
        arrangement = arrange(made(specs), DATED, TODAY)
        for kind in SourceKind:
            for one in Timing:
                ranks = [it.before for it in kinds(arrangement, kind) if it.timing is one]
                assert ranks == sorted(ranks)

    @given(SPECS, st.data())
    def test_3_however_it_is_phrased_one_set_of_candidates_has_one_order(self, specs, data):
        candidates = made(specs)
        phrasings = [
            [
                "When is the next parent-teacher conference?",
                "next parent teacher conference date",
                "parent-teacher conferences: when?",
                "upcoming conferences for parents and teachers",
                "What day are the conferences on?",
            ],
            [
                "Who are the executive directors?",
                "executive directors",
                "names of the Executive Directors please",
                "list everyone who is an executive director",
            ],
        ]
        alike = data.draw(st.sampled_from(phrasings))
        one, other = data.draw(st.tuples(st.sampled_from(alike), st.sampled_from(alike)))
        assert order(arrange(candidates, one, TODAY)) == order(arrange(candidates, other, TODAY))

    @given(st.lists(st.tuples(st.sampled_from(["pdf", "other"]), DATES), max_size=70))
    def test_4_without_a_website_pdfs_stay_where_they_are(self, specs):
        candidates = made(specs)
        assert order(arrange(candidates, UNDATED, TODAY)) == list(range(1, len(specs) + 1))
        places = [it.after for it in kinds(arrange(candidates, DATED, TODAY), SourceKind.PDF)]
        assert places == [n for n, (kind, _) in enumerate(specs, start=1) if kind == "pdf"]

    @given(SPECS, st.sampled_from([DATED, UNDATED]))
    def test_nothing_is_scored_added_lost_or_changed(self, specs, question):
        candidates = made(specs)
        arrangement = arrange(candidates, question, TODAY)
        assert sorted(order(arrangement)) == list(range(1, len(specs) + 1))
        for placement in arrangement.placements:
            assert placement.result is candidates[placement.before - 1].result
        assert [it.after for it in arrangement.placements] == sorted(order(arrangement))

    @given(SPECS, st.sampled_from([DATED, UNDATED]))
    def test_an_order_once_made_stays(self, specs, question):
        once = arrange(made(specs), question, TODAY)
        again = arrange([Candidate(it.result) for it in once.placements], question, TODAY)
        assert [it.result for it in again.placements] == [it.result for it in once.placements]

    @given(SPECS, st.sampled_from([DATED, UNDATED]))
    def test_what_is_neither_website_nor_pdf_keeps_the_places_of_its_kind(self, specs, question):
        arrangement = arrange(made(specs), question, TODAY)
        places = [it.after for it in kinds(arrangement, SourceKind.OTHER)]
        assert places == [n for n, (kind, _) in enumerate(specs, start=1) if kind == "other"]

    @given(SPECS, st.sampled_from([DATED, UNDATED]))
    def test_whatever_moved_has_a_reason_and_whatever_stayed_in_place_has_none(
        self, specs, question
    ):
        for it in arrange(made(specs), question, TODAY).placements:
            still = it.before == it.by_kind == it.after
            assert (it.why == "kept its place") is still


def test_undated_sources_keep_their_rank_where_dates_are_compared():
    candidates = [
        candidate(1, "website", ["2025-11-13"]),
        candidate(2, "website"),
        candidate(3, "website", ["2025-11-13", "2026-12-03"]),
        candidate(4, "pdf", ["2024-01-01"]),
        candidate(5, "pdf", ["2027-01-01"]),
    ]
    assert order(arrange(candidates, DATED, TODAY)) == [3, 2, 1, 5, 4]
    assert order(arrange(candidates, UNDATED, TODAY)) == [1, 2, 3, 4, 5]


def test_why_says_what_moved_a_source():
    candidates = [
        candidate(1, "pdf", ["2025-01-01"]),
        candidate(2),
        candidate(3, "website", ["2025-11-13"]),
        candidate(4, "website", ["2026-12-03"]),
    ]
    assert [(it.before, it.why) for it in arrange(candidates, DATED, TODAY).placements] == [
        (4, "a website goes before PDFs; 2026-12-03 is to come"),
        (2, "kept its place"),
        (3, "a website goes before PDFs; nothing later than 2025-11-13"),
        (1, "a PDF goes behind websites"),
    ]


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://school.example/staff", "website"),
        ("HTTP://SCHOOL.EXAMPLE", "website"),
        ("https://school.net/a/b.html?x=1.pdf#y.pdf", "website"),
        ("https://school.com/handbook.pdf", "pdf"),
        ("https://school.com/Handbook.PDF?download=1#page=3", "pdf"),
        ("https://school.com/handbook%2Epdf", "pdf"),
        ("https://school.com/handbook.pdf;v=2", "pdf"),
        ("https://school.com/pdf", "website"),
        ("ftp://school.com/staff", "other"),
        ("s3://bucket/staff.html", "other"),
        ("s3://bucket/staff.pdf", "pdf"),
        ("https://", "other"),
        ("http://[", "other"),
        ("staff.html", "other"),
        ("", "other"),
    ],
)
def test_an_address_says_what_a_source_is(url, kind):
    assert source_kind(candidate(1, source_url=url)) == kind


@pytest.mark.parametrize(
    ("name", "uri", "metadata", "kind"),
    [
        ("a.pdf", "", {}, "pdf"),
        ("a.PDF", "", {"source_url": "https://school.example/a"}, "pdf"),
        ("a.txt", "s3://bucket/docs/a.pdf", {}, "pdf"),
        ("a.md", "", {"document_type": "pdf", "source_url": "https://school.example/a"}, "pdf"),
        ("a.md", "", {"document_type": "web"}, "other"),
        ("a.html", "s3://bucket/a.html", {"source_url": "https://school.example/a"}, "website"),
        ("runbooks/pdf.md", "s3://bucket/runbooks/pdf.md", {}, "other"),
    ],
)
def test_so_do_a_file_an_object_and_a_document_type(name, uri, metadata, kind):
    result = RetrievalResult("text", Citation(name, 1, 1, ""), None, metadata)
    assert source_kind(Candidate(result, uri)) == kind


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        ([], Timing.UNDATED),
        (["2026-11-20"], Timing.PAST),
        (["2026-11-21"], Timing.FUTURE),
        (["2020-01-01", "2026-11-22"], Timing.FUTURE),
    ],
)
def test_today_is_not_yet_past(dates, expected):
    assert timing(candidate(1, dates=dates).result, TODAY) is expected


class TestPastNotice:
    def notice(self, question, *dates):
        candidates = [candidate(n, "website", days) for n, days in enumerate(dates, start=1)]
        arrangement = arrange(candidates, question, TODAY)
        return past_notice(arrangement, [it.result for it in candidates])

    def test_past_dates_alone_are_told_with_the_latest(self):
        assert self.notice(DATED, ["2025-11-13"], [], ["2024-11-14"]) == (
            "Every date in these passages is past, the latest is 2025-11-13: "
            "what they say may be outdated."
        )

    @pytest.mark.parametrize(
        ("question", "dates"),
        [
            (UNDATED, [["2025-11-13"]]),
            (DATED, [["2025-11-13"], ["2026-11-21"]]),
            (DATED, [[]]),
            (DATED, []),
        ],
        ids=["not asked for", "one to come", "none", "nothing found"],
    )
    def test_there_is_nothing_to_tell(self, question, dates):
        assert self.notice(question, *dates) is None


def test_a_day_is_past_only_when_it_is_over_everywhere():
    assert present_day() == (datetime.now(UTC) - timedelta(hours=12)).date()


class TestScope:
    @pytest.mark.parametrize(
        "text",
        [
            '{"equals": {"key": "service", "value": "north"}}',
            '{"andAll": [{"in": {"key": "page", "value": [1]}}, {"equals": {"key": "a", "value": 1}}]}',
        ],
    )
    def test_a_filter_is_read(self, text):
        assert list(read_scope(text)) in (["equals"], ["andAll"])

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("service=north", "JSON"),
            ("[" * 100_000, "JSON"),
            ("[]", "one operator"),
            ("{}", "one operator"),
            ('{"equals": {"key": "a", "value": 1}, "in": {}}', "one operator"),
            ('{"like": {"key": "a", "value": 1}}', "no operator"),
            ('{"equals": {"key": "a"}}', "key and a value"),
            ('{"equals": {"key": "", "value": 1}}', "1 to 100 characters"),
            ('{"orAll": [{"equals": {"key": "a", "value": 1}}]}', "two filters"),
            ('{"andAll": [' * 9 + "1", "JSON"),
        ],
    )
    def test_what_is_none_is_refused_with_the_reason(self, text, problem):
        with pytest.raises(ValueError, match=problem):
            read_scope(text)

    def test_what_is_nested_too_deeply_is_refused(self):
        leaf = '{"equals": {"key": "a", "value": 1}}'
        nested = leaf
        for _ in range(9):
            nested = f'{{"orAll": [{nested}, {leaf}]}}'
        with pytest.raises(ValueError, match="nested"):
            read_scope(nested)
