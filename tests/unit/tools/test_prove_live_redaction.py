"""A report that is sent to others has nothing in it that identifies the account or opens it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.prove_live.redaction import Redactor

ACCOUNT = "123456789012"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "User: arn:aws:sts::123456789012:assumed-role/ops/anna is not authorized",
            "User: <ARN of sts> is not authorized",
        ),
        ("arn:aws-cn:iam::123456789012:role/x, and", "<ARN of iam>, and"),
        ("account 123456789012, as", "account <account>, as"),
        ("1234567890123 ms", "1234567890123 ms"),
        ("key AKIAIOSFODNN7EXAMPLE was", "key <key> was"),
        ("role id AROAJQABLZS4A3QDU576Q", "role id <key>"),
        (f"secret {SECRET}", "secret <removed>"),
        ("https://abc.gateway.bedrock-agentcore.eu-west-1.amazonaws.com/mcp is", "<address> is"),
        ("abc123.us-east-1.aoss.amazonaws.com", "<address>"),
        ("knowledge base KB12345678 does", "knowledge base <id> does"),
        ("stack CREATE_COMPLETE after CONDITIONS", "stack CREATE_COMPLETE after CONDITIONS"),
        ("mail anna@example.com", "mail <mail>"),
    ],
)
def test_what_identifies_is_replaced(text, shown):
    assert Redactor().text(text) == shown


def test_identifiers_stay_when_asked_for_and_secrets_never():
    kept = Redactor([SECRET], identifiers=True)
    text = "arn:aws:iam::123456789012:role/x"
    assert kept.text(text) == text
    assert kept.text(f"{SECRET[:20]} {SECRET} AKIAIOSFODNN7EXAMPLE") == (
        f"{SECRET[:20]} <removed> <key>"
    )


def test_a_secret_of_any_form_is_removed():
    assert Redactor(["pass word"]).text("a pass word, b") == "a <removed>, b"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 99) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(before=JSON, around=st.text("ab :/,\"'{}", max_size=5))
def test_no_account_or_secret_survives_anywhere_in_a_report(before, around):
    hidden = [
        ACCOUNT,
        f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:x",
        SECRET,
        {f"{around}{ACCOUNT}": [f"{around}{SECRET}{around}"]},
    ]
    shown = json.dumps(Redactor([SECRET, ACCOUNT]).value([before, *hidden]))
    assert ACCOUNT not in shown
    assert SECRET not in shown


@given(JSON)
def test_a_redacted_value_stays_json_of_the_same_form(value):
    shown = Redactor().value(value)
    assert type(shown) is type(value)
    assert len(json.dumps(shown)) >= 1
