"""What a finding says may be an answer's own words: they are shown, and lead nowhere."""

import pytest

from knowledge_rag.core.sarif import Region, SarifResult, SarifRule, sarif_log

RULE = SarifRule("r", "A rule.", "error")
PLACE = Region("a.md", 1, 1, 1, 2)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("[Source 9](http://evil.example): no such source", r"[Source 9\](http://evil.example): no such source"),
        (r"[9\](http://evil.example)", r"[9\\\](http://evil.example)"),
        (r"[a\\](b) [c]", r"[a\\\\\](b) [c]"),
        ("[9] (b) a\\b", "[9] (b) a\\b"),
    ],
)  # fmt: skip
def test_no_message_holds_a_link(said, told):
    (result,) = sarif_log("1", [RULE], [SarifResult("r", said, PLACE)])["runs"][0]["results"]
    assert result["message"]["text"] == told


def test_a_name_that_is_no_unicode_keeps_its_bytes():
    name = b"docs/\xff #1.md".decode(errors="surrogateescape")
    (run,) = sarif_log("1", [RULE], [SarifResult("r", "said", Region(name, 1, 1, 1, 2))])["runs"]
    (location,) = run["results"][0]["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "docs/%FF%20%231.md"
