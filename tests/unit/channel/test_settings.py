"""Settings of hooks: keys come from the environment, and all mistakes are reported together."""

from __future__ import annotations

import pytest

from knowledge_rag.channel.settings import Kind, Maker, read_destinations, read_settings
from knowledge_rag.core.errors import InvalidSettings

GOOD = """
links = "https://git.example/blob/main/{path}#L{start}-L{end}"
answers_a_minute = 3

[hooks.alertmanager]
from = "alertmanager"
secret_env = "HOOK"
to = ["oncall", "tracker"]

[destinations.oncall]
kind = "slack"
token_env = "SLACK"
channel = "C0123ABCDEF"
buttons = true

[destinations.tracker]
kind = "github"
token_env = "GITHUB"
repository = "acme/ops"
issue = 7
url = "https://github.acme.example/api/v3/"
"""
KEYS = {"HOOK": "h", "SLACK": "xoxb-1", "GITHUB": "g"}


def test_settings_name_hooks_and_destinations():
    found = read_settings(GOOD, KEYS)
    hook, slack, github = found.hooks["alertmanager"], *found.destinations.values()
    assert (hook.maker, hook.secret, hook.to) == (Maker.ALERTMANAGER, "h", ("oncall", "tracker"))
    assert (slack.kind, slack.url, slack.secret) == (Kind.SLACK, "https://slack.com/api", "xoxb-1")
    assert (slack.buttons, github.buttons) == (True, False)
    assert (github.url, github.issue) == ("https://github.acme.example/api/v3", 7)
    assert (found.answers_a_minute, found.quiet_minutes) == (3, 30)
    assert found.links.url("a.md", 1, 2) == "https://git.example/blob/main/a.md#L1-L2"


def test_no_key_is_shown_by_its_settings():
    shown = repr(read_settings(GOOD, {"HOOK": "hush1", "SLACK": "hush2", "GITHUB": "hush3"}))
    assert "hush" not in shown


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('secret_env = "HOOK"', 'secret_env = "NOT_SET"', "NOT_SET is not set"),
        ('secret_env = "HOOK"', 'secret = "hush"', "unknown setting 'secret'"),
        ('secret_env = "HOOK"', 'secret_env = "xoxb-1-2"', "name the environment variable"),
        ('from = "alertmanager"', 'from = "nagios"', "hooks.alertmanager: from must be one of alertmanager"),
        (
            'to = ["oncall", "tracker"]',
            'to = ["oncall", "nobody"]',
            "to must list names of destinations; there is no [destinations.nobody]",
        ),
        (
            'to = ["oncall", "tracker"]',
            'to = ["oncall", "oncall"]',
            "hooks.alertmanager: to lists oncall more than once",
        ),
        ('kind = "slack"', 'kind = "teams"', "kind must be one of slack"),
        ('channel = "C0123ABCDEF"', 'channel = "#oncall"', "the channel's id"),
        ("buttons = true", 'buttons = "no"', "destinations.oncall: buttons must be true or false"),
        ("issue = 7", "issue = 7\nbuttons = true", "destinations.tracker: unknown setting 'buttons'"),
        ('repository = "acme/ops"', 'repository = "ops"', "repository must be owner/name"),
        ("issue = 7", "issue = 0", "issue must be 1 to"),
        ("https://github.acme", "http://github.acme", "url must be an https address"),
        ("answers_a_minute = 3", "answers_a_minute = true", "answers_a_minute must be 1 to 60"),
        ("answers_a_minute = 3", "answers = 3", "unknown setting 'answers'"),
        ('links = "https', 'links = "javascript', "links: repository URL"),
        ("[hooks.alertmanager]", "[hooks.'a b']", "a table with a name of a-z"),
        ("links = ", "links ", "not valid TOML"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place(old, new, said):
    assert old in GOOD
    with pytest.raises(InvalidSettings, match=said.replace("[", r"\[")) as raised:
        read_settings(GOOD.replace(old, new), KEYS)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "key",
    [
        "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
        "y_NbAkKc66ryYTWUXYEu",
        "a3f9c2e17b604d58a9c1e2f3b4d5a6c7",
    ],
)
def test_a_key_in_place_of_its_variable_is_not_shown(key):
    for read in (read_settings, read_destinations):
        with pytest.raises(InvalidSettings, match="name the environment variable") as raised:
            read(GOOD.replace('"GITHUB"', f'"{key}"'), KEYS)
        assert key not in str(raised.value)


@pytest.mark.parametrize("name", ["ACME_ONCALL_SLACK_BOT_TOKEN_PROD_EU1", "GH_PAT_2", "api_key"])
def test_a_variable_that_is_not_set_is_named(name):
    with pytest.raises(InvalidSettings, match=f"{name} is not set"):
        read_settings(GOOD.replace('"GITHUB"', f'"{name}"'), KEYS)


def test_a_note_for_another_makers_incidents_is_refused():
    pager = (
        '[destinations.pager]\nkind = "pagerduty"\ntoken_env = "GITHUB"\nsender = "a@b.example"\n'
    )
    text = GOOD.replace('"tracker"]', '"tracker", "pager"]') + pager
    with pytest.raises(InvalidSettings, match="pagerduty notes need its own incidents"):
        read_settings(text, KEYS)


def test_all_mistakes_are_reported_together():
    with pytest.raises(InvalidSettings) as raised:
        read_settings(GOOD, {})
    assert [it in str(raised.value) for it in KEYS] == [True] * 3
