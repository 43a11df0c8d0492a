"""What a claim changes in the sentence that it repeats."""

import pytest

from knowledge_rag.guardrails.support.check import check_support
from knowledge_rag.guardrails.support.report import Change, Verdict

FAILOVER = "Fail over the orders database only if the replication lag is above 60 seconds."


def changes(claim, *lines):
    return {it.change for it in check_support(claim, lines).contradictions if it.certain}


@pytest.mark.parametrize(
    ("claim", "line", "change"),
    [
        ("Fail over the orders database if the replication lag is above 60 seconds.", FAILOVER, Change.CONDITION),
        ("Fail over the orders database only if the replication lag is below 60 seconds.", FAILOVER, Change.OPPOSITE),
        ("The writer is down, restart the proxy.", "If the writer is down, restart the proxy.", Change.CONDITION),
        ("Restart the proxy.", "If the writer is down, restart the proxy.", Change.CONDITION),
        ("Restart the proxy pods during a failover.", "Do not restart the proxy pods during a failover.", Change.NEGATION),
        ("Enable the write freeze on the primary.", "Disable the write freeze on the primary.", Change.OPPOSITE),
        ("Mark the node as healthy again.", "Mark the node as unhealthy again.", Change.OPPOSITE),
        ("Mark the outage as a minor incident.", "Mark the outage as a major incident.", Change.OPPOSITE),
        ("The limit is temporarily lifted here.", "The limit is permanently lifted here.", Change.OPPOSITE),
        ("Restart the pod, then rotate every certificate.", "Restart the pod.", Change.CLAUSE),
        ("Promote the replica before you stop the writer process.", "Stop the writer process before you promote the replica.", Change.ORDER),
        ("Resize the disk before you take a snapshot.", "Take a snapshot, then resize the disk.", Change.ORDER),
        ("Deployment after you check the canary's error rate.", "Check the canary's error rate after deployment.", Change.ORDER),
        ("The search index should be rebuilt.", "The search index should be rebuilt if the version changes.", Change.CONDITION),
        ("Once the freeze ends, restart the proxy.", "Once the freeze ends, restart the proxy if the writer is down.", Change.CONDITION),
        ("Clear the blocked indices (and remove that block as well).", "Clear the blocked indices (and, if the entire cluster has been marked as read-only by the disk watermark, remove that block as well).", Change.CONDITION),
        ("Create an index named orders_by_day_old.", "Create an index named orders_by_day.", Change.VALUE),
    ],
)  # fmt: skip
def test_a_change_of_meaning_is_an_error(claim, line, change):
    report = check_support(claim, [line])
    assert report.verdict is Verdict.UNSUPPORTED
    assert change in {it.change for it in report.contradictions if it.certain}


def test_values_of_the_same_lines_in_each_other_s_place_are_found():
    lines = ["Set --max-retries 5 on the consumer.", "Set --batch-size 200 on the producer."]
    assert changes("Set --max-retries 200 on the consumer.", *lines) == {Change.VALUE}
    assert changes("Set --max-retries 5 on the consumer.", *lines) == set()
    named = ["Restart the Gateway service first.", "The Billing service is not affected."]
    assert changes("Restart the Billing service first.", *named) == {Change.VALUE}
    short = ["Restart the Gateway with:", "Use the latest version of MaxScale", "Start Billing."]
    assert changes("Restart the Billing with:", *short) == {Change.VALUE}
    assert changes("Use the latest version of Billing", *short) == {Change.VALUE}


def test_a_name_at_the_front_is_found_where_its_words_stand_elsewhere_too():
    logs = ["Old Nginx logs: `/var/log/nginx`", "Old Audit logs: `/var/log/audit`"]
    assert changes("Old Nginx logs: `/var/log/audit`", *logs) == {Change.VALUE}
    assert changes("Old Audit logs: `/var/log/audit`", *logs) == set()


def test_steps_in_another_order_are_found():
    steps = ["1. Stop the queue consumers.", "2. Promote the standby database."]
    claim = "First, promote the standby database, then stop the queue consumers."
    assert changes(claim, *steps) == {Change.ORDER}
    assert changes("Stop the queue consumers, then promote the standby database.", *steps) == set()


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        (FAILOVER, FAILOVER),
        ("First, fail over orders database only if replication lag is above 1 min.", FAILOVER),
        ("Don't restart the proxy pods.", "Do not restart the proxy pods."),
        (
            "When the writer is down, restart the proxy.",
            "If the writer is down, restart the proxy.",
        ),
        ("Wait 5-10min for caches to expire.", "Wait 5-10 minutes for caches to expire."),
        ("Restart the pod and wait.", "Restart the pod."),
        ("Take a snapshot before you resize the disk.", "Take a snapshot, then resize the disk."),
        ("It only applies to HEAD/GET requests.", "It only applies to `HEAD`/`GET` requests."),
        ("Find out whether the writer is down.", "Find out whether or not the writer is down."),
        (
            "It was one of the oldest queues.",
            "It was not only the largest but one of the oldest queues.",
        ),
        (
            "The pod is replaced by the operator.",
            "The flag is `never` — the pod is replaced by the operator.",
        ),
        ("Should it fail, restart the proxy.", "If it fails, restart the proxy."),
    ],
)
def test_rewordings_are_no_changes(claim, line):
    assert changes(claim, line) == set()


@pytest.mark.parametrize(
    "lines",
    [
        ["Restart the pod.", "The volume is shared.", "Old logs may be deleted."],
        ["Restart the pod.", "Check the volume."],
    ],
)
def test_destruction_with_its_words_scattered_is_an_error(lines):
    report = check_support("Restart the pod, then delete the volume.", lines)
    assert report.verdict is Verdict.UNSUPPORTED
    assert Change.DANGER in {it.change for it in report.contradictions}


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        ("Delete the volume.", "Then delete the old volume."),
        ("Remove the volume.", "Delete the volume once it is detached."),
        ("Never delete the volume.", "Restart the pod; the volume stays."),
    ],
)
def test_destruction_that_the_lines_tell_or_nobody_wants_is_none(claim, line):
    assert Change.DANGER not in changes(claim, line)


def test_offsets_are_those_of_the_claim():
    claim = "1. Check the lag.\n2. **Enable** the write freeze on the primary."
    report = check_support(claim, ["Check the lag.", "Disable the write freeze on the primary."])
    (found,) = report.contradictions
    assert claim[found.start : found.end] == "Enable"
    assert (found.line, found.lines_say) == (1, "disable")


def test_words_in_other_languages_are_not_judged():
    report = check_support(
        "Der Knoten muss nach dem Neustart wieder in den Verbund aufgenommen werden.",
        ["Restart the node and rejoin the cluster with `join --token 7`."],
    )
    assert (report.language, report.coverage, report.doubt) == ("de", None, None)
    assert report.verdict is Verdict.NOTHING_TO_CHECK
    wrong = check_support(
        "Der Knoten ist nach dem Neustart mit `join --token 8` wieder da.", ["join --token 7"]
    )
    assert wrong.verdict is Verdict.UNSUPPORTED


@pytest.mark.parametrize("lines", [[], [""], ["---", "***"], ["|||"]])
def test_evidence_without_words_supports_nothing(lines):
    report = check_support("Restart the primary database now.", lines)
    assert report.verdict is Verdict.UNSUPPORTED
    assert report.doubt is not None
    assert report.doubt > 0.5


def test_false_alarms_seen_on_others_claims_stay_away():
    film = "Poseidon grossed $ 181,674,817 at the worldwide box office."
    assert check_support("Poseidon grossed $181,674,817 at the box office.", [film]).missing == ()
    assert (
        check_support("It has two causes: heat and dust.", ["Causes are heat, dust."]).missing == ()
    )
    other = check_support("Start two replicas.", ["Start 3 replicas."])
    assert [it.text for it in other.missing] == ["two"]
