"""An ingest is measured, with what its time was spent on."""

from dataclasses import replace

from knowledge_rag.evaluation.ingest_bench import as_table, run_ingest_bench
from tests.support.local import RUNBOOKS, WordHashes, write_files
from tests.support.tables import shown


def test_an_ingest_is_told_with_its_share_in_the_model_and_a_second_one_embeds_nothing(tmp_path):
    report = run_ingest_bench(write_files(tmp_path, RUNBOOKS), WordHashes())
    assert report.documents == len(RUNBOOKS)
    assert 0 < report.in_model < 1
    assert report.again_embedded == 0
    assert not report.reached  # counting words takes no time
    assert "0 chunks" in shown(as_table(report))
    assert "3 chunks" in shown(as_table(replace(report, again_embedded=3)))
