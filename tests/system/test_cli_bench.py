"""The speed benchmarks as people run them; what they measure is not for a test to judge."""

import pytest


@pytest.mark.parametrize(
    ("arguments", "titles"),
    [
        (["handler", "--calls", "10"], ["10 calls of each", "retrieve_knowledge", "aim: at most"]),
        (["coldstart", "--rounds", "1"], ["best of 1", "boto3 + client", "aim: at most"]),
        (["load", "--calls", "100", "--threads", "2"], ["100 calls by 2 threads", "mixed up: 0"]),
    ],
)
def test_a_table_shows_what_was_measured_and_the_exit_code_whether_the_aim_was_reached(
    cli, arguments, titles
):
    ran = cli("bench", *arguments)
    assert ran.err == ""
    for title in titles:
        assert title in ran.out
    assert ran.code == int("missed" in ran.out)


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [(["handler", "--calls", "10"], "reached"), (["coldstart", "--rounds", "1"], "reached")],
)
def test_json_says_the_same(cli, arguments, verdict):
    ran = cli("bench", *arguments, "--json")
    assert ran.err == ""
    assert ran.code == int(not ran.json[verdict])
    assert ran.json["rows"][0]["ratio"] == 1.0


@pytest.mark.parametrize("arguments", [["handler", "--calls", "1"], ["load", "--threads", "0"]])
def test_what_can_t_be_measured_is_refused(cli, arguments):
    ran = cli("bench", *arguments)
    assert ran.code == 2
