"""The framing of streamed answers, read back by botocore's own parser."""

from __future__ import annotations

import json

import pytest
from botocore.eventstream import EventStreamBuffer, ParserError
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.local.bedrock.wire import Event, encode, message

NAMES = st.text(min_size=1, max_size=40).filter(lambda name: len(name.encode()) <= 255)
HEADERS = st.dictionaries(NAMES, st.text(max_size=200), max_size=6)
ANSWER = Event("chunk", {"bytes": "aGVsbG8="})


def read(*parts):
    buffer = EventStreamBuffer()
    messages = []
    for part in parts:
        buffer.add_data(part)
        messages.extend(buffer)
    return messages


@given(HEADERS, st.binary(max_size=2_000))
def test_what_is_written_is_what_botocore_reads(headers, payload):
    (found,) = read(message(headers, payload))
    assert (found.headers, found.payload) == (headers, payload)


def test_an_event_and_an_exception_tell_what_they_are():
    event, error = read(
        encode(ANSWER), encode(Event("throttlingException", {"message": "slow"}, failed=True))
    )
    assert event.headers == {
        ":event-type": "chunk",
        ":content-type": "application/json",
        ":message-type": "event",
    }
    assert json.loads(event.payload) == ANSWER.payload
    assert event.to_response_dict()["status_code"] == 200
    assert error.headers[":exception-type"] == "throttlingException"
    assert error.headers[":message-type"] == "exception"
    assert ":event-type" not in error.headers
    assert error.to_response_dict()["status_code"] == 400


@pytest.mark.parametrize("size", [1, 2, 7, 11, 12, 13, 64, 10_000])
def test_it_does_not_matter_how_the_bytes_arrive(size):
    written = encode(ANSWER) + encode(Event("trace", {"text": "é💥" * 50})) + encode(ANSWER)
    parts = [written[start : start + size] for start in range(0, len(written), size)]
    kinds = [found.headers[":event-type"] for found in read(*parts)]
    assert kinds == ["chunk", "trace", "chunk"]


@given(st.data())
def test_any_flipped_byte_is_noticed(data):
    written = bytearray(encode(ANSWER))
    # not the two lengths: a longer message is one whose rest has not come yet
    where = data.draw(st.integers(8, len(written) - 1))
    written[where] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ParserError):
        read(bytes(written))
