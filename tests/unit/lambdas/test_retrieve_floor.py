"""The evidence floor that the function reads from a parameter, beside the search and never before it."""

from __future__ import annotations

import json
import threading

import pytest

from knowledge_rag.evaluation.faults.payloads import item, retrieved
from knowledge_rag.evaluation.faults.server import answering, http, serving
from lambdas.retrieve_knowledge import floor as floor_module
from lambdas.retrieve_knowledge import service
from lambdas.retrieve_knowledge.floor import (
    MAX_AGE_SECONDS,
    EvidenceFloor,
    Floor,
    FloorSource,
    read_floor,
)
from tests.support.fixtures import invoke
from tests.support.patience import patient_function

NAME = "/knowledge-rag-dev/evidence-floor/TESTKB0001/hybrid"
DEFAULT = Floor(0.385, FloorSource.DEFAULT)
ASKED = {"query": "how?", "explain": True}


def parameter(value):
    return http({"Parameter": {"Name": NAME, "Type": "String", "Value": value, "Version": 1}})


def refusal(code, status="400 Bad Request"):
    return http({"__type": code, "message": "no"}, status)


class Clock:
    def __init__(self):
        self.seconds = 1000.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def parameters(aws_environment):
    """A loopback server in the Parameter Store's place: each read takes the next answer."""
    answers = []
    reads = []

    def script(sock, server):
        while request := server.read_request(sock):
            reads.append(request)
            sock.sendall(answers.pop(0))

    with serving(script) as server:
        aws_environment.setenv("AWS_ENDPOINT_URL_SSM", server.url)
        answers_and_reads = answers, reads
        yield answers_and_reads


@pytest.fixture
def read(parameters):
    """Read again and again, a minute apart; give the floor after each answer."""
    clock = Clock()
    floor = EvidenceFloor(DEFAULT.value, NAME, "us-east-1", clock)

    def again(answer):
        parameters[0].append(answer)
        clock.seconds += MAX_AGE_SECONDS
        assert floor.refresh().over.wait(60)
        return floor.current, floor.new_problem()

    return again


def test_the_parameter_replaces_the_default(read, parameters):
    assert read(parameter("0.41")) == (Floor(0.41, FloorSource.PARAMETER), "")
    ((head, body),) = parameters[1]
    assert b"AmazonSSM.GetParameter" in head
    assert json.loads(body) == {"Name": NAME}


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (parameter("high"), "'high' is not a number from 0 to 1"),
        (parameter(""), "'' is not a number from 0 to 1"),
        (parameter("nan"), "'nan' is not a number"),
        (parameter("inf"), "'inf' is not a number"),
        (parameter("-0.1"), "'-0.1' is not a number"),
        (parameter("40"), "'40' is not a number"),
        (parameter(["0.4"]), "is not a number from 0 to 1"),
        (http({"Parameter": {}}), "'None' is not a number"),
        (http({}), "'None' is not a number"),
        (http({"Parameter": "0.4"}), "AttributeError"),
        (http("<html>"), "'None' is not a number"),
        (refusal("AccessDeniedException"), "AccessDeniedException"),
        (refusal("ThrottlingException"), "ThrottlingException"),
        (refusal("InternalServerError", "500 Internal Server Error"), "InternalServerError"),
        (b"", ""),
        (http({"Parameter": {"Value": "0.4"}})[:-9], ""),
    ],
)
def test_a_bad_read_keeps_the_last_good_floor_and_is_reported_once(read, wrong, problem):
    floor, first = read(wrong)
    assert floor == DEFAULT
    assert problem in first
    assert first
    good, nothing = read(parameter("0.41"))
    assert (good, nothing) == (Floor(0.41, FloorSource.PARAMETER), "")
    assert read(wrong) == (good, first)
    assert read(wrong) == (good, "")


def test_without_the_parameter_the_default_applies_again(read):
    assert read(refusal("ParameterNotFound")) == (DEFAULT, "")
    assert read(parameter("0.41"))[0].value == 0.41
    assert read(refusal("ParameterNotFound")) == (DEFAULT, "")


def test_it_is_read_once_a_minute(parameters):
    clock = Clock()
    floor = EvidenceFloor(None, NAME, "us-east-1", clock)
    parameters[0].append(parameter("0.4"))
    assert floor.refresh().over.wait(60)
    clock.seconds += MAX_AGE_SECONDS - 1
    floor.refresh()
    assert len(parameters[1]) == 1


def test_a_clock_that_was_set_back_makes_the_read_old(parameters):
    clock = Clock()
    floor = EvidenceFloor(None, NAME, "us-east-1", clock)
    parameters[0].extend([parameter("0.4"), parameter("0.5")])
    assert floor.refresh().over.wait(60)
    clock.seconds -= 3600
    assert floor.refresh().over.wait(60)
    assert floor.current.value == 0.5


def test_without_a_parameter_nothing_is_read(aws_environment):
    aws_environment.setenv("AWS_ENDPOINT_URL_SSM", "http://127.0.0.1:9")
    floor = EvidenceFloor(0.4)
    assert floor.refresh() is None
    assert floor.current == Floor(0.4, FloorSource.SETTING)


@pytest.mark.parametrize("text", ["0", "1", " 0.385 ", "4e-1"])
def test_numbers_from_0_to_1_are_floors(text):
    assert read_floor(text) == float(text)


class TestInTheFunction:
    @pytest.fixture(autouse=True)
    def _patient(self, monkeypatch):
        monkeypatch.setattr(floor_module, "READ_SECONDS", 60.0)
        with patient_function():
            yield

    @pytest.fixture
    def asked(self, knowledge_base, aws_environment):
        """Ask of items with these scores, and a Parameter Store that answers so."""
        aws_environment.setenv("EVIDENCE_FLOOR_HYBRID", "0.385")
        aws_environment.setenv("FLOOR_PARAMETER", NAME)

        def ask(*scores, store):
            found = [item(start=1 + 10 * n, score=score) for n, score in enumerate(scores)]
            knowledge_base(answering(http(retrieved(*found))))
            service.reset()
            with serving(store) as parameters:
                aws_environment.setenv("AWS_ENDPOINT_URL_SSM", parameters.url)
                reading = service.service().floor.refresh()
                if store is not silent:
                    assert reading.over.wait(60)
                ran = invoke(ASKED)
                assert reading.over.is_set() is (store is not silent)
                return ran

        return ask

    def test_no_match_follows_from_the_default_before_anything_was_measured(self, asked):
        ran = asked(0.38, 0.2, store=answering(refusal("ParameterNotFound")))
        assert ran.answer["status"] == "no_match"
        assert ran.metrics[0]["KnowledgeRetrievalZeroResults"] == [1.0]
        assert ran.answer["explanation"]["evidence"] == {
            "floor": 0.385,
            "floor_source": "default",
            "best_score": 0.38,
        }

    def test_no_match_follows_from_the_measured_floor(self, asked):
        ran = asked(0.44, 0.4, store=answering(parameter("0.45")))
        assert ran.answer["status"] == "no_match"
        evidence = ran.answer["explanation"]["evidence"]
        assert (evidence["floor"], evidence["floor_source"]) == (0.45, "parameter")

    def test_a_denied_read_is_logged_and_costs_no_answer(self, asked):
        ran = asked(0.6, store=answering(refusal("AccessDeniedException")))
        assert ran.answer["status"] == "ok"
        logged = {each["message"]: each for each in ran.logs}
        assert logged["evidence floor not read"]["problem"] == "AccessDeniedException"
        assert logged["evidence floor not read"]["floor"] == 0.385

    def test_a_silent_parameter_store_is_not_waited_for(self, asked):
        ran = asked(0.6, store=silent)
        assert ran.answer["status"] == "ok"
        assert ran.answer["explanation"]["evidence"]["floor_source"] == "default"

    def test_a_read_that_ends_during_the_search_counts_for_that_search(
        self, knowledge_base, aws_environment
    ):
        aws_environment.setenv("FLOOR_PARAMETER", NAME)
        asked_for = threading.Event()

        def searching(sock, server):
            server.read_request(sock)
            assert asked_for.wait(60)
            assert service.service().floor.refresh().over.wait(60)
            sock.sendall(http(retrieved(item(score=0.4))))

        def reading(sock, server):
            server.read_request(sock)
            asked_for.set()
            sock.sendall(parameter("0.5"))

        knowledge_base(searching)
        with serving(reading) as parameters:
            aws_environment.setenv("AWS_ENDPOINT_URL_SSM", parameters.url)
            assert invoke(ASKED).answer["status"] == "no_match"


def silent(sock, server):
    server.read_request(sock)
    sock.recv(1)
