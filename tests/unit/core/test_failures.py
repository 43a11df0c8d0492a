import http.client
import socket
import ssl

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
)
from botocore.session import get_session

from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.failures import _CODES, FORESEEN, as_failure
from knowledge_rag.core.net.deadline import ResponseTooLarge
from knowledge_rag.core.outcome import Reason

URL = "https://kb.example"


def answered(status, code, request_id="id-1"):
    return ClientError(
        {
            "Error": {"Code": code, "Message": "the query was: secret"},
            "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": request_id},
        },
        "Retrieve",
    )


@pytest.mark.parametrize(
    ("status", "code", "reason", "permanent"),
    [
        (429, "ThrottlingException", Reason.THROTTLED, False),
        (429, "429", Reason.THROTTLED, False),
        (400, "ThrottlingException", Reason.THROTTLED, False),
        (400, "ServiceQuotaExceededException", Reason.THROTTLED, False),
        (500, "InternalServerException", Reason.UNAVAILABLE, False),
        (502, "502", Reason.UNAVAILABLE, False),
        (503, "", Reason.UNAVAILABLE, False),
        (409, "ConflictException", Reason.UNAVAILABLE, False),
        (424, "424", Reason.UNAVAILABLE, False),
        (408, "408", Reason.UNAVAILABLE, False),
        (403, "AccessDeniedException", Reason.ACCESS_DENIED, True),
        (403, "SomethingNew", Reason.ACCESS_DENIED, True),
        (401, "401", Reason.ACCESS_DENIED, True),
        (400, "ExpiredTokenException", Reason.ACCESS_DENIED, True),
        (400, "UnrecognizedClientException", Reason.ACCESS_DENIED, True),
        (404, "ResourceNotFoundException", Reason.CONFIGURATION, True),
        (404, "404", Reason.CONFIGURATION, True),
        (400, "ValidationException", Reason.CONFIGURATION, True),
        (302, "302", Reason.CONFIGURATION, True),
    ],
)
def test_what_the_service_answers_has_its_reason(status, code, reason, permanent):
    failure = as_failure(answered(status, code))
    assert (failure.reason, failure.permanent) == (reason, permanent)
    assert (failure.code, failure.request_id) == (code, "id-1")
    assert "secret" not in str(failure)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DeadlineExceeded("over"), Reason.TIMEOUT),
        (TimeoutError(), Reason.TIMEOUT),
        (ReadTimeoutError(endpoint_url=URL), Reason.TIMEOUT),
        (ConnectTimeoutError(endpoint_url=URL), Reason.TIMEOUT),
        (ConnectionRefusedError(), Reason.UNAVAILABLE),
        (socket.gaierror(), Reason.UNAVAILABLE),
        (ssl.SSLCertVerificationError(), Reason.UNAVAILABLE),
        (http.client.BadStatusLine("x"), Reason.UNAVAILABLE),
        (http.client.IncompleteRead(b""), Reason.MALFORMED_RESPONSE),
        (ResponseTooLarge(), Reason.MALFORMED_RESPONSE),
        (EndpointConnectionError(endpoint_url=URL), Reason.UNAVAILABLE),
        (ConnectionClosedError(endpoint_url=URL), Reason.UNAVAILABLE),
        (NoCredentialsError(), Reason.ACCESS_DENIED),
        (ParamValidationError(report="query: secret"), Reason.CONFIGURATION),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_went_wrong_on_the_way_has_its_reason(error, reason):
    assert isinstance(error, FORESEEN)
    failure = as_failure(error)
    assert failure.reason is reason
    assert failure.code == type(error).__name__


def test_every_error_that_retrieve_models_has_a_reason():
    shapes = get_session().get_service_model("bedrock-agent-runtime").operation_model("Retrieve")
    assert {shape.name for shape in shapes.error_shapes} <= set(_CODES)


def test_a_code_of_any_length_or_type_is_cut_to_what_a_log_takes():
    assert len(as_failure(answered(500, "x" * 5000)).code) == 64
    assert as_failure(ClientError({}, "Retrieve")).reason is Reason.CONFIGURATION
