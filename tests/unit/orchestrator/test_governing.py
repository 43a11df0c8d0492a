"""What words in front of lines make of them: one table, and ordinary sentences stay steps."""

import pytest

from knowledge_rag.orchestrator.governing import (
    NEVER,
    Governs,
    excluded_by,
    governs,
    holds_for_all,
    is_gone,
    is_precondition,
    is_struck,
    prohibits,
    says_nothing,
    steps_revoked,
    titles_withdrawn,
    warns,
)


@pytest.mark.parametrize(
    "text",
    [
        "Never do any of the following in production:",
        "Do not do this:",
        "Don't run any of these:",
        "Don’t run any of these:",
        "You must not run this:",
        "**Never** delete the queue.",
        "> **Warning**: do not restart the writer.",
        "3. Never restart the writer.",
        "In production, never do the following:",
        "On-call must never do this:",
        "Under no circumstances:",
        "Avoid these commands:",
        "These commands must not be run:",
        "The following is forbidden:",
        "Wrong:",
        "What not to do:",
        "Please do NOT touch the index.",
    ],
)
def test_a_prohibition_prohibits(text):
    assert governs(text) is Governs.PROHIBITED


@pytest.mark.parametrize(
    "text",
    [
        "Verify that the slot is indeed not needed any more.",
        "1. Verify the project no longer exists:",
        "Deleting no longer needed data is the fastest and the cheapest solution.",
        "Remove deprecated images:",
        "If the block is deprecated you can remove it.",
        "In order to avoid those errors, you must create all roles:",
        "In order to avoid applying bad changes, a targeted apply can be performed via:",
        "Under normal circumstances, we do not expect any snapshot failures",
        "You don't need to restart it.",
        "Prune to 7 days, with the yes of the lead. Less than that is not allowed by the policy.",
        "`queue trim --older-than 7d`. Trimming the audit queue is not allowed.",
        "Look for ❌ in the output",
        "Delete the pods that are over a day old (younger ones are not allowed).",
        "Prints but can't be scanned: wrong label stock. Change the roll.",
    ],
)
def test_what_a_sentence_does_not_say_of_itself_forbids_nothing(text):
    assert governs(text) not in NEVER


@pytest.mark.parametrize(
    "text",
    [
        "Obsolete, kept for history:",
        "This procedure is no longer valid. Use the new one:",
        'The steps of the old page "Reset" (`cli reset`, then a restart of all that is there) are superseded.',
        "Old way (obsolete)",
        "Deprecated since v3: restart twice",
        "Restart the worker (no longer needed since v3)",
        "Since v3 this is not needed any more",
        "Restarting it used to be the fix",
        "We restarted the cache, which made it worse.",
        "We no longer do this:",
    ],
)
def test_what_says_of_itself_that_it_is_gone_is_obsolete(text):
    assert governs(text) is Governs.OBSOLETE


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Only for the sandbox. Never on production or training.", ["production or training"]),
        ("Not meant for staging", ["staging"]),
        ("Run it on staging", []),
    ],
)
def test_for_what_words_do_not_hold(text, what):
    assert excluded_by(text) == what


@pytest.mark.parametrize(
    "text",
    [
        "Don't restart it until you have:",
        "Do not fail over unless the lag is 0:",
        "Never restart more than one broker:",
        "Never drain it without an approval:",
        "Do not delete it before the backup ended:",
        "Don't run it while a deployment is under way:",
        "The restart must not be done before these checks:",
    ],
)
def test_a_prohibition_with_an_exception_is_a_condition(text):
    assert governs(text) is Governs.CONDITION


@pytest.mark.parametrize(
    "text",
    [
        "If the disk is full:",
        "When the lag grows, do:",
        "On staging only:",
        "Only for the European cluster:",
        "Otherwise:",
        "In case of a second failure:",
        "After the failover:",
        "Before you start:",
        "With more than one broker down:",
        "**If it is the primary:**",
        "Option 2: rebuild it",
        "If that did not help, restart the writer:",
        "If the previous step failed, run:",
        "If the configuration was wrong, fix it:",
        "When a deprecated client is left, stop it:",
    ],
)
def test_words_that_say_when_or_where_are_a_condition(text):
    assert governs(text) is Governs.CONDITION


@pytest.mark.parametrize(
    "text",
    [
        "Old procedure, kept for reference:",
        "Deprecated since 2024:",
        "Superseded by the operator:",
        "This was wrong:",
        "No longer needed:",
        "The old way:",
        "Previous steps:",
        "Old process (until 2024):",
        "~~Delete the queue.~~",
        "<del>Delete the queue.</del>",
    ],
)
def test_what_was_done_once_is_obsolete(text):
    assert governs(text) is Governs.OBSOLETE


@pytest.mark.parametrize(
    "text",
    [
        "Be careful: this drops connections.",
        "Warning: this can't be undone.",
        "This is irreversible.",
        "Anything that isn't backed up is lost.",
        "⚠ Drops every connection.",
        ":warning: Drops every connection.",
    ],
)
def test_words_that_tell_to_take_care_are_a_caution(text):
    assert governs(text) is Governs.CAUTION
    assert warns(text)


@pytest.mark.parametrize(
    "text",
    [
        "The folder has files: only the entry is wrong. Publish it again:",
        "The configuration is wrong. Fix it:",
        "Look for wrong entries:",
        "To roll back:",
        "In order to free the disk:",
        "Run:",
        "Good:",
        "For example:",
        "Restart the writer.",
        "Do this on every broker:",
        "Delete what is left of the failed job:",
        "Notify the team:",
        "Repeat the previous steps:",
        "Kill the old process:",
    ],
)
def test_ordinary_sentences_govern_nothing(text):
    assert governs(text) is Governs.NOTE
    assert not prohibits(text)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("Before you start, take a snapshot.", True),
        ("Requires access to the production account.", True),
        ("You'll need the admin role.", True),
        ("This page applies to version 3.", True),
        ("Restart the writer.", False),
    ],
)
def test_a_precondition_says_what_must_hold_for_all_of_a_page(text, is_one):
    assert is_precondition(text) is is_one


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("~~Delete the queue.~~", True),
        ("- ~~Delete the queue.~~", True),
        ("2. [x] ~~Delete the queue~~.", True),
        ("<s>Delete the queue.</s>", True),
        ("- [-] Delete the queue.", True),
        ("3. [~] Delete the queue.", True),
        ("[ ] Delete the queue.", False),
        ("`[-]` is a dash.", False),
        ("~~Delete~~ Drain the queue.", False),
        ("Drain the queue ~~and delete it~~.", False),
    ],
)
def test_only_what_is_struck_out_whole_is_struck_out(text, is_one):
    assert is_struck(text) is is_one


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("TODO", True),
        (f"TODO (Ann): describe {'what to do ' * 20}if nobody gets through. Ask me.", True),
        ("TBD: write this", True),
        ("n/a", True),
        ("[The disk](disk.md).", True),
        ("https://example.com/disk", True),
        ("[disk]: https://example.com/disk", True),
        ("Restart it, see [the disk](disk.md).", False),
        ("None of the replicas answers: restart one.", False),
        ("None", True),
        ("None known yet.", True),
        ("none: go to step 3", False),
        ("None found? Restart it.", False),
        ("", False),
    ],
)
def test_a_bare_link_and_a_gap_to_be_filled_say_nothing(text, is_one):
    assert says_nothing(text) is is_one


@pytest.mark.parametrize(
    "text",
    [
        "Previously:", "Formerly we did this:", "In the past we did this:", "Until 2023:", "Up to 2023 it went like this:", "Old:",
        "We used to recover it in this way:", "The old procedure was:", "Not any more:", "Legacy:", "Instead of:",
        "Replaced by the commands below:", "For history only, nobody does this today:", "Wrong way:", "Bad idea:", "Banned:",
        "A common mistake is:", "What went wrong last time:", "Tempting, but dangerous:", "This does not work and hangs the host:",
        "Somebody on Stack Overflow recommends:", "ChatGPT suggests this, it breaks the cluster:",
        "The vendor's advice, which we reject:", "In incident 311 somebody did this, and we lost data:",
        "Tempting, but banned since the outage of May: `killall -9 haproxy`",
    ],
)  # fmt: skip
def test_what_leads_into_old_or_bad_advice_makes_it_no_step(text):
    assert governs(text) in NEVER


@pytest.mark.parametrize(
    "text",
    [
        "If that does not work:", "If it breaks again:", "If we lost data:", "Login does not work:", "Before the migration:",
        "Previously we saw this at night.", "The old node is drained first.", "The command is used to drain:", "Replace it:",
        "When the disk was replaced:", "Until the queue is empty:",
    ],
)  # fmt: skip
def test_ordinary_words_of_the_same_kind_lead_into_steps(text):
    assert governs(text) not in NEVER


@pytest.mark.parametrize(
    "text", ["This whole page applies to the EU only.", "Everything on this page needs two people."]
)
def test_some_words_hold_for_the_whole_page(text):
    assert holds_for_all(text)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Update 2025: step 2 no longer applies.", [2]),
        ("Steps 1, 3 and 5 are obsolete since v9.", [1, 3, 5]),
        ("**Do not do steps 2-4.**", [2, 3, 4]),
        ("Note: skip step 2 (it loses mail).", [2]),
        ("Skip step 2 on EU.", []),
        ("Do not do step 2 before you called.", []),
        ("After step 2 the old node is no longer needed.", []),
        ("Never skip step 2. Don't repeat step 3.", []),
    ],
)
def test_steps_are_revoked_by_their_numbers_whatever_the_case(text, numbers):
    assert sorted(steps_revoked(text)) == numbers


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("The section “Open it” and `Close it` has been withdrawn.", ["Close it"]),
        ('"Open it" is deprecated since v9; "Close it" was retired.', ["Open it", "Close it"]),
        ('"Open it" is not needed if it is "closed".', []),
        ("Open it is withdrawn.", []),
    ],
)
def test_what_is_withdrawn_is_named_by_its_title(text, titles):
    assert titles_withdrawn(text) == titles


def test_a_thing_that_is_no_longer_used_makes_no_step_obsolete():
    assert not is_gone("Delete the old volume. It is no longer used.")
    assert is_gone("Delete the old volume. It is no longer needed since v9.")
    assert is_gone("Flush it.\n\nUpdate: no longer needed.")
