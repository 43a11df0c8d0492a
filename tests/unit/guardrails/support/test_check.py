"""A claim against the lines that it cites."""

import pytest

from knowledge_rag.guardrails.support.check import check_support
from knowledge_rag.guardrails.support.report import (
    Verdict,
    WarningKind,
    describe,
)

GUIDANCE = (
    "3. Restart the primary with `systemctl restart postgresql --wait=60s` on db-01.prod.example.com.",
    "   The log is `/var/log/postgresql/main.log`; alert when `pg_up` stays below 1 for 5 minutes.",
)


def missing(claim, *lines):
    return [atom.text for atom in check_support(claim, lines or GUIDANCE).missing]


def test_guidance_supports_itself():
    for line in GUIDANCE:
        assert check_support(line, GUIDANCE).verdict is Verdict.SUPPORTED


@pytest.mark.parametrize(
    ("claim", "lost"),
    [
        ("Run `systemctl stop postgresql`.", "stop"),
        ("Use `--force`.", "--force"),
        ("Restart db-02.prod.example.com.", "db-02.prod.example.com"),
        ("Read /var/log/postgresql/old.log.", "/var/log/postgresql/old.log"),
        ("Look at pg_down.", "pg_down"),
        ("Alert after 10 minutes.", "10 minutes"),
        ("Alert after 5 hours.", "5 hours"),
        ("Alert when it is above 1.", "1"),
        ("Since 2024-03-05 it restarts.", "2024-03-05"),
    ],
)
def test_one_changed_thing_makes_a_claim_unsupported(claim, lost):
    assert missing(claim) == [lost]
    assert check_support(claim, GUIDANCE).verdict is Verdict.UNSUPPORTED


@pytest.mark.parametrize(
    "claim",
    [
        "First, restart the primary with `systemctl restart postgresql --wait 1 min`.",
        "Alert when pg_up is under 1 for 300 s.", "The log is main.log.",
        "Restart the primary on DB-01.prod.example.com.", "Five minutes below 1 raise an alert.",
    ],
)  # fmt: skip
def test_another_spelling_is_supported(claim):
    assert missing(claim) == []


def test_a_claim_of_another_section_is_unsupported_by_its_words_alone():
    report = check_support("Renew the certificate before customers notice.", GUIDANCE)
    assert report.verdict is Verdict.UNSUPPORTED
    assert report.coverage == 0
    assert report.missing_words == ("renew", "certificate", "customers", "notice")


def test_who_gets_the_names_right_may_say_the_rest_in_own_words():
    line = "Look at `ReplicaLag` and `CPUUtilization` of both readers."
    own = "Candidates whose `ReplicaLag` and `CPUUtilization` look healthy take over."
    assert check_support(own, [line]).verdict is Verdict.SUPPORTED


def test_few_words_and_no_atom_are_nothing_to_check():
    assert check_support("All good.", GUIDANCE).verdict is Verdict.NOTHING_TO_CHECK
    assert check_support("", GUIDANCE).verdict is Verdict.NOTHING_TO_CHECK


def test_without_cited_lines_nothing_is_supported():
    assert check_support("Use `--force`.", ()).verdict is Verdict.UNSUPPORTED


def test_an_atom_names_the_cited_line_that_holds_it():
    report = check_support("Use `--wait` and read /var/log/postgresql/main.log.", GUIDANCE)
    assert [(atom.text, atom.line) for atom in report.atoms] == [
        ("--wait", 0),
        ("/var/log/postgresql/main.log", 1),
    ]


def test_a_name_is_in_the_first_line_that_has_it_whatever_stands_around_it():
    assert check_support("See p95.", ["p95.", "p95:", "p95."]).atoms[0].line == 0


def test_a_missing_atom_names_the_other_lines_that_hold_it():
    others = ("Use `--force` with care.", "Nothing.", "Or `--force`.")
    (atom,) = check_support("Use `--force`.", GUIDANCE, elsewhere=others).missing
    assert atom.elsewhere == (0, 2)


def test_a_number_word_that_does_not_count_hides_no_missing_atom():
    claim = "It has two causes; use `--force`."
    (atom,) = check_support(claim, ["Its causes vary."], elsewhere=("Use `--force`.",)).missing
    assert (atom.text, atom.elsewhere) == ("--force", (0,))


def test_a_missing_atom_that_is_nowhere_says_so():
    (atom,) = check_support("Use `--force`.", GUIDANCE).missing
    assert describe(atom) == "flag --force is not in the cited lines"


def test_a_placeholder_of_the_lines_may_be_filled_in_with_a_warning():
    report = check_support(
        "Run `aws rds reboot-db-instance --db-instance-identifier orders-1`.",
        ["aws rds reboot-db-instance --db-instance-identifier <db-id>"],
    )
    assert report.verdict is Verdict.SUPPORTED
    assert [(it.kind, it.text) for it in report.warnings] == [
        (WarningKind.FILLED_PLACEHOLDER, "orders-1")
    ]


def test_a_placeholder_is_filled_in_only_where_it_stands():
    lost = missing("Run `kubectl delete orders-1 -n shop`.", "Run `kubectl get pods -n <name>`.")
    assert lost == ["delete", "orders-1"]


def test_a_name_with_a_placeholder_within_may_be_filled_in():
    assert missing("Look at `pod/web-1`.", "Look at `pod/<name>`.") == []
    assert missing("Look at `job/web-1`.", "Look at `pod/<name>`.") == ["job/web-1"]


@pytest.mark.parametrize(
    "name", ["<db-id>", "$NAME", "${NAME}", "{id}", "{{ id }}", "YOUR-NAME", r"your\_name"]
)
def test_placeholders_of_a_claim_are_not_looked_for(name):
    assert missing(f"Use `--wait {name}`.", "Use `--wait 60s`.") == []


def test_what_stands_around_a_claims_placeholder_is_looked_for():
    assert missing("Call `/api/v1/<id>/restart`.", "Call `/api/v1/42/restart`.") == []
    assert missing("Call `/api/v2/<id>/restart`.", "Call `/api/v1/42/restart`.") == [
        "/api/v2/<id>/restart"
    ]


def test_references_and_list_marks_are_no_statements():
    claim = "4. Restart the primary [1], [2, 3] [Source: a-9.md, lines 7-8] [Source 4]."
    assert check_support(claim, GUIDANCE).atoms == ()


def test_numbered_references_behind_words_are_no_statements():
    assert (
        check_support("Restart the primary[1][2]. Then wait[3], and look [1][3].", GUIDANCE).atoms
        == ()
    )


def test_numbers_in_brackets_are_indices_in_code_and_where_the_lines_have_such():
    assert missing("Use `a nodes[1] b` on it.", "Use `a nodes[0] b` on it.") == ["1"]
    assert missing("Restart nodes[1].", "Restart nodes[0].") == ["1"]
    assert missing("Restart nodes[0].", "Restart nodes[0].") == []


def test_case_counts_in_flags_and_paths_only():
    assert missing("Use `tar -X` here.", "use `tar -x` here") == ["-X"]
    assert missing("Read /VAR/log/a.", "read /var/log/a") == ["/VAR/log/a"]
    assert missing("On `CloudWatch` too.", "on `cloudwatch` too") == []


def test_many_other_lines_checked_before_change_nothing():
    for number in (*range(200), *range(5)):
        (atom,) = check_support(f"Use `--x{number}`.", [f"use --x{number}"]).atoms
        assert atom.found
        (atom,) = check_support(f"Use `--x{number}`.", [f"use --x{number + 1}"]).atoms
        assert not atom.found
