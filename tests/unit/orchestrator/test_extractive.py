"""The advisor without a model: what it lifts, in which order, word for word."""

import asyncio

import pytest

from knowledge_rag.core.outcome import Reason, RetrievalOutcome, Status
from knowledge_rag.core.retrieval import Query, degraded
from knowledge_rag.orchestrator.advisors.extractive import ExtractiveAdvisor, write
from knowledge_rag.orchestrator.advisors.sections import Purpose, purpose_of
from knowledge_rag.orchestrator.composition import recommend
from knowledge_rag.orchestrator.findings import Asked, Findings
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.wording import NO_MATCH, UNREACHABLE
from tests.unit.orchestrator.evidence import (
    FINDINGS,
    POSTMORTEM_RESULTS,
    RUNBOOK_FILE,
    RUNBOOK_RESULTS,
    findings_of,
    results_of,
)
from tests.unit.orchestrator.schema import VALIDATOR

INCIDENT = Incident(title="Writer of orders-db unavailable", service="rds")


def advised(incident, findings):
    advice = asyncio.run(ExtractiveAdvisor().advise(incident, findings))
    given = recommend(incident, advice)
    VALIDATOR.validate(given.to_dict())
    return given


def steps_of(text, told="disk"):
    """Give the steps lifted from a runbook's section, as (action, commands, lines)."""
    findings = findings_of(results_of("runbooks/disk.md", f"# Disk\n\n## Resolution\n\n{text}"))
    return [
        (step.action, step.commands, [(c.citation.start_line, c.citation.end_line) for c in step.citations])
        for step in advised(Incident(title=told), findings).guidance
    ]  # fmt: skip


def test_the_whole_answer():
    assert (
        write(INCIDENT, FINDINGS)
        == """\
## Guidance

1. Verify replica health. [Source: runbooks/rds-failover.md, lines 15-19]

   ```bash
   aws rds describe-events
   ```
2. Find out who is writer now. [Source: runbooks/rds-failover.md, lines 21-21]
3. **Warning**: a failover drops every open connection. [Source: runbooks/rds-failover.md, lines 25-25]
4. Tell the incident commander. [Source: runbooks/rds-failover.md, lines 27-27]
5. Initiate manual failover if replication lag > 60s: [Source: runbooks/rds-failover.md, lines 28-28]
6. Cluster: promote the reader. [Source: runbooks/rds-failover.md, lines 30-34]

   ```bash
   aws rds failover-db-cluster
   ```
7. Instance: there is no choice. [Source: runbooks/rds-failover.md, lines 36-36]
8. Check | Wanted
   writer of orders-db | available [Source: runbooks/rds-failover.md, lines 40-40] [Source: runbooks/rds-failover.md, lines 42-42]

## Similar incidents

- INC-2024-001: Manual failover was successful: [Source: postmortems/2024-01-rds.md, lines 11-15]

  ```bash
  aws rds failover-db-cluster --db-cluster-identifier orders-db
  ```
"""
    )


def test_the_recommendation_made_of_it():
    given = advised(INCIDENT, FINDINGS)
    assert given.status is Status.OK
    assert given.summary == (
        "8 steps from runbooks/rds-failover.md. 1 similar incident: INC-2024-001."
    )
    assert [step.support.value for step in given.guidance] == ["supported"] * 8
    assert not given.warnings
    (similar,) = given.similar_incidents
    assert similar.incident_id == "INC-2024-001"
    assert similar.resolution.startswith("Manual failover was successful:\naws rds failover")


def test_it_is_the_same_for_the_same():
    assert write(INCIDENT, FINDINGS) == write(INCIDENT, FINDINGS)


@pytest.mark.parametrize(
    ("markdown", "step"),
    [
        ("- Free the disk.", ("Free the disk.", (), [(5, 5)])),
        ("* [ ] Free the disk.", ("Free the disk.", (), [(5, 5)])),
        ("7) Free the disk,\n   all of it.", ("Free the disk,\nall of it.", (), [(5, 6)])),
        ("- Free the disk:\n\n  - logs\n  - images", ("Free the disk:\n- logs\n- images", (), [(5, 8)])),
        ("Free the disk:\n\n```sh\nrm a\nrm b\n```", ("Free the disk:", ("rm a\nrm b",), [(5, 10)])),
        ("### Disk is full\n\n~~~\nrm a\n~~~", ("Disk is full", ("rm a",), [(5, 9)])),
        ("> Free no disk in use.", ("Free no disk in use.", (), [(5, 5)])),
        ("- Free the disk:\n  ```\n  a\n  ```\n  ```\n  b\n  ```", ("Free the disk:", ("a", "b"), [(5, 11)])),
        ("- Free the disk.\r\n", ("Free the disk.", (), [(5, 5)])),
        ("- 解放磁盘 disk\u2028空间", ("解放磁盘 disk\u2028空间", (), [(5, 5)])),
        ("- Free the disk `a`` b`.", ("Free the disk `a`` b`.", (), [(5, 5)])),
        ("- Free the disk:\n\n  ````\n  ```\n  x\n  ```\n  ````", ("Free the disk:", ("```\nx\n```",), [(5, 11)])),
    ],
)  # fmt: skip
def test_a_step_is_the_sources_own_words_and_its_narrowest_lines(markdown, step):
    assert steps_of(markdown) == [step]


@pytest.mark.parametrize(
    "markdown",
    [
        "<!--\nFree the disk by formatting it.\n-->",
        "<details>Free the disk.</details>",
        "- Free the disk:\n\n  | a | b |\n  |---|---|\n  | x | y |",
        "The disk is freed by:",
        "Related: [the disk](disk.md).",
        "---",
        "- **",
        "- [The disk](disk.md).",
        "[disk]: https://example.com/disk",
        "- <https://example.com/disk>",
        "TODO",
    ],
)
def test_what_is_no_step_is_not_lifted(markdown):
    assert steps_of(markdown) == []


def test_of_a_table_the_rows_that_speak_of_the_incident_are_given_below_their_columns():
    table = (
        "- See why:\n\n  | Seen | Do |\n  |---|---|\n  | disk is full | free it |\n  | fire | run |"
    )
    assert steps_of(table, "disk full") == [
        ("See why:\nSeen | Do\ndisk is full | free it", (), [(5, 7), (9, 9)])
    ]


def test_a_code_block_that_is_cut_off_is_left_out():
    whole = results_of(
        "runbooks/disk.md", "# Disk\n\n## Resolution\n\n- Free the disk:\n\n  ```\n  rm x"
    )
    (step,) = advised(Incident(title="disk"), findings_of(whole)).guidance
    assert step.commands == ()


LONG_CODE = "# Disk\n\n## Resolution\n\n```bash\n" + "rm x \\\n" * 150 + "```\n"


@pytest.mark.parametrize(
    ("behind", "actions"),
    [
        ("\n- Free the disk.\n\n```bash\nrm y\n```\n", ["Free the disk."]),
        ("", []),
        ("\n- Free the disk.\n", []),  # the fence might as well open what is cut off
    ],
)
def test_a_passage_that_begins_in_code_gives_what_surely_stands_behind_it(behind, actions):
    results = results_of("runbooks/disk.md", LONG_CODE + behind)
    last = [it for it in results if it.content.startswith("rm x") and "```" in it.content]
    assert len(last) == 1
    given = advised(Incident(title="disk"), findings_of(last))
    assert [step.action for step in given.guidance] == actions


def test_the_middle_of_a_code_block_gives_nothing():
    results = results_of("runbooks/disk.md", LONG_CODE.replace("rm x", "free disk"))
    middle = [it for it in results if "```" not in it.content and it.content.startswith("free")]
    assert middle
    assert advised(Incident(title="disk"), findings_of(middle)).status is Status.NO_MATCH


def test_a_heading_whose_code_is_cut_off_asks_for_nothing():
    cut_off = "### Check the disk\n\n```bash\ndf -h\n"
    ((action, commands, _),) = steps_of(f"{cut_off}```\n")
    assert (action, commands) == ("Check the disk", ("df -h",))
    assert steps_of(cut_off) == []


def test_a_comment_of_a_script_is_no_heading():
    text = (
        "# Disk\n\n## Resolution\n\n```bash\n"
        + "echo the disk is full.\n# free the disk.\n" * 80
        + "```\n"
    )
    middle = [it for it in results_of("runbooks/disk.md", text) if "```" not in it.content][1:]
    assert middle
    assert advised(Incident(title="disk"), findings_of(middle)).guidance == ()


def test_rows_of_a_table_keep_their_order():
    table = "- See:\n\n  | Seen | Do |\n  |---|---|\n  | z disk full | b |\n  | a full disk | a |"
    ((action, _, _),) = steps_of(table, "disk full")
    assert action == "See:\nSeen | Do\nz disk full | b\na full disk | a"


def test_a_step_whose_command_is_in_the_next_chunk_cites_both():
    text = "# Disk\n\n## Resolution\n\n1. Free the disk. " + "word " * 200
    text += "\n\n   ```bash\n   " + "rm " + "x" * 400 + "\n   ```\n"
    results = results_of("runbooks/disk.md", text)
    assert len(results) == 3
    (step,) = advised(Incident(title="disk"), findings_of(results[-2:])).guidance
    assert [c.citation.start_line for c in step.citations] == [5, 7]
    assert step.commands[0].startswith("rm xxx")


def test_steps_before_a_chosen_one_of_a_list_come_along():
    text = "1. Alpha.\n2. Beta.\n3. The disk is full: free the disk."
    assert [action for action, _, _ in steps_of(text)] == [
        "Alpha.",
        "Beta.",
        "The disk is full: free the disk.",
    ]


def test_the_same_step_is_given_once():
    assert len(steps_of("- Free the disk.\n- Free  the disk.")) == 1


def test_no_more_than_eight_steps_are_given():
    assert len(steps_of("\n".join(f"- Free disk {n}." for n in range(40)))) <= 8


def test_background_is_no_guidance():
    text = "# Disk\n\nThe disk is full.\n\n## Symptoms\n\n- The disk is full.\n"
    given = advised(Incident(title="disk"), findings_of(results_of("runbooks/disk.md", text)))
    assert given.status is Status.NO_MATCH
    assert given.summary == NO_MATCH
    assert given.reasoning == (
        "2 passages came back; those of runbooks/disk.md are about it, and none says what to do."
    )


@pytest.mark.parametrize(
    ("name", "text", "steps"),
    [
        ("disk.md", "# Disk\n\nIt is full.\n\n1. Find logs.\n2. Free them.", ["Find logs.", "Free them."]),
        ("disk.md", "# Disk\n\nFree the disk with `rm`.", ["Free the disk with `rm`."]),
        ("disk.md", "When the disk is full:\n\n- free it.", ["free it."]),
        ("disk.md", "Disk is full\n\n```\nrm a\n```", ["Disk is full"]),
        ("disk.txt", "The disk is full\n\nFind what: du -x\nFree it: rm", ["Find what: du -x\nFree it: rm"]),
        ("disk.txt", "Free the disk", ["Free the disk"]),
        ("disk.pdf", "DISK\n\nFree the disk:\n\n1. rm a\n2. rm b", ["rm a", "rm b"]),
    ],
)  # fmt: skip
def test_a_page_without_sections_says_what_to_do_below_its_title(name, text, steps):
    given = advised(Incident(title="disk"), findings_of(results_of(f"runbooks/{name}", text)))
    assert [step.action for step in given.guidance] == steps


def test_what_introduces_a_page_with_sections_is_no_guidance():
    text = "# Disk\n\n- Free it.\n\n## Resolution\n\n- Free the disk.\n"
    given = advised(Incident(title="disk"), findings_of(results_of("runbooks/disk.md", text)))
    assert [step.action for step in given.guidance] == ["Free the disk."]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("DiskIsFilling.md", "# Space\n\n## Resolution\n\n- Free it."),
        ("space.md", "---\ntitle: Disk is filling\n---\n# Space\n\n## Resolution\n\n- Free it."),
        ("space.md", "# Space\n\n## Disk filling\n\n- Free it."),
    ],
)
def test_a_document_named_like_the_alert_is_about_it_however_much_the_alert_says(name, text):
    long = "Partition of volume seven on host eleven predicted exhausted within hours, capacity dwindling."
    findings = findings_of(results_of(f"runbooks/{name}", text))
    (step,) = advised(Incident(alert_name="DiskFilling", description=long), findings).guidance
    assert step.action == "Free it."
    assert not advised(Incident(alert_name="DiskBroken", description=long), findings).guidance


def test_of_a_page_with_a_section_for_each_alert_the_one_of_its_name_is_given():
    text = "# Disk alerts\n\n## `DiskFilling`\n\n- Free the disk.\n\n## DiskFillingSlowly\n\n- Wait for the disk.\n"
    findings = findings_of(results_of("runbooks/alerts.md", text))
    for name, wanted in (
        ("DiskFilling", ["Free the disk."]),
        ("disk-filling-slowly", ["Wait for the disk."]),
        ("DiskFillingFast", ["Free the disk.", "Wait for the disk."]),
        ("", ["Free the disk.", "Wait for the disk."]),
    ):
        given = advised(Incident(alert_name=name, title="Disk filling"), findings)
        assert [step.action for step in given.guidance] == wanted


def test_a_document_that_shares_few_words_with_the_incident_is_no_guidance():
    other = Incident(title="Label printer of the writer prints blank pages in the warehouse")
    assert write(other, findings_of(RUNBOOK_RESULTS)) == NO_MATCH


DESCRIBES = "# Disk full\n\nThe disk is full.\n\n## Symptoms\n\n- The disk is full.\n"
SAYS_WHAT_TO_DO = "# Full disk\n\n## Resolution\n\n- Empty the full disk.\n"


@pytest.mark.parametrize(("own_steps", "drawn_on"), [(1, True), (3, False)])
def test_a_lesser_document_is_drawn_on_where_the_best_one_gives_few_steps(own_steps, drawn_on):
    steps = "".join(f"- Free the disk, way {number}.\n" for number in range(own_steps))
    best = results_of("runbooks/best.md", f"{DESCRIBES}\n## Resolution\n\n{steps}")
    other = results_of("runbooks/other.md", SAYS_WHAT_TO_DO)
    findings = findings_of(best, other)
    guidance = advised(Incident(title="disk full"), findings).guidance
    assert ("Empty the full disk." in {step.action for step in guidance}) is drawn_on


def test_a_report_of_another_service_is_no_similar_incident():
    findings = findings_of(RUNBOOK_RESULTS, results_of(
        "postmortems/x.md", "---\nservice: s3\n---\n# X\n\n## Resolution\n\nThe writer of orders-db was fixed.\n"
    ))  # fmt: skip
    assert advised(INCIDENT, findings).similar_incidents == ()


def test_a_report_that_does_not_say_what_resolved_it_is_left_out():
    findings = findings_of(RUNBOOK_RESULTS, [POSTMORTEM_RESULTS[0], POSTMORTEM_RESULTS[2]])
    assert advised(INCIDENT, findings).similar_incidents == ()


def test_a_report_without_a_name_is_a_similar_incident_without_one():
    report = "---\nservice: rds\n---\n# Writer stalled\n\n## Resolution\n\nFailed over by hand.\n"
    (similar,) = advised(
        INCIDENT, findings_of(RUNBOOK_RESULTS, results_of("postmortems/x.md", report))
    ).similar_incidents
    assert (similar.incident_id, similar.resolution) == ("", "Failed over by hand.")


@pytest.mark.parametrize(
    ("outcomes", "text", "status"),
    [
        ((), NO_MATCH, Status.NO_MATCH),
        ((RetrievalOutcome(Status.NO_MATCH),), NO_MATCH, Status.NO_MATCH),
        ((degraded(Reason.TIMEOUT),), UNREACHABLE, Status.DEGRADED),
        ((RetrievalOutcome(Status.NO_MATCH), degraded(Reason.THROTTLED)), UNREACHABLE, Status.DEGRADED),
    ],
)  # fmt: skip
def test_without_evidence_it_says_so(outcomes, text, status):
    findings = Findings(tuple(Asked(Query("q"), outcome) for outcome in outcomes))
    assert write(INCIDENT, findings) == text
    given = advised(INCIDENT, findings)
    assert (given.status, given.summary, given.confidence) == (status, text, 0.0)


def test_a_step_names_only_files_that_were_retrieved():
    files = {
        c.citation.source_file for s in advised(INCIDENT, FINDINGS).guidance for c in s.citations
    }
    assert files == {RUNBOOK_FILE}


@pytest.mark.parametrize("hostile", ["- ", "1. ", "> ", "- ```\n", "| a ", "<!--", "`", "# "])
def test_no_document_is_too_deep(hostile):
    text = f"# Disk\n\n## Resolution\n\n{hostile * 2_000}disk\n"
    results = results_of("runbooks/disk.md", text)
    assert advised(Incident(title="disk"), findings_of(results)).status is not None


@pytest.mark.parametrize(
    ("path", "purpose"),
    [
        ((), Purpose.INTRODUCTION),
        (("Title",), Purpose.INTRODUCTION),
        (("Diagnosis",), Purpose.DIAGNOSIS),
        (("Title", "Symptoms"), Purpose.BACKGROUND),
        (("Title", "Diagnosis", "When to fail over"), Purpose.DIAGNOSIS),
        (("Title", "Resolution", "Roll back"), Purpose.RESOLUTION),
        (("Title", "Mitigation"), Purpose.RESOLUTION),
        (("Title", "Rollback"), Purpose.ROLLBACK),
        (("Title", "Verify the fix"), Purpose.VERIFICATION),
        (("Kafka recovery", "Consumers lag"), Purpose.OTHER),
        (("Kafka recovery", "Impact"), Purpose.BACKGROUND),
        (("Title", "Escalation"), Purpose.ESCALATION),
    ],
)
def test_the_outermost_heading_that_tells_says_what_a_section_is_for(path, purpose):
    assert purpose_of(path, "Title") is purpose
