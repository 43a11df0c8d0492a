import pytest

from knowledge_rag.core.bedrock import MAX_ERROR_BODY_BYTES, check_response, create_client
from knowledge_rag.core.errors import DeadlineExceeded, InvalidSettings
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.evaluation.faults.payloads import item, retrieved
from knowledge_rag.evaluation.faults.server import answering, http, serving


@pytest.mark.usefixtures("aws_environment")
def test_the_client_sends_through_the_transport(monkeypatch):
    with serving(answering(http(retrieved(item())))) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", server.url)
        client = create_client("eu-west-1")
        client.prepare()
        with Deadline.after(2).applied():
            answer = client.api.retrieve(knowledgeBaseId="TESTKB0001", retrievalQuery={"text": "x"})
        assert answer["retrievalResults"] == [item()]
        assert answer["ResponseMetadata"]["RequestId"].startswith("1111")
        assert len(client.transport._idle) == 1
        client.close()
        head = server.requests[0][0]
    assert b"/eu-west-1/bedrock/aws4_request" in head
    assert b"User-Agent: knowledge-rag botocore/" in head


@pytest.mark.usefixtures("aws_environment")
@pytest.mark.parametrize(
    ("name", "value"),
    [("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", "localhost"), ("AWS_PROFILE", "absent")],
)
def test_wrong_surroundings_are_wrong_settings(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidSettings, match="AWS client"):
        create_client("eu-west-1")


@pytest.mark.usefixtures("aws_environment")
def test_a_token_file_that_is_not_there_is_a_wrong_setting(monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "absent"))
    with pytest.raises(InvalidSettings, match=r"AWS client: .*absent"):
        create_client("eu-west-1")


@pytest.mark.usefixtures("aws_environment")
def test_a_wrong_bundle_is_told_before_the_first_call(monkeypatch, tmp_path):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "absent.pem"))
    client = create_client("eu-west-1")
    with pytest.raises(InvalidSettings, match="certificate bundle"):
        client.prepare()
    client.close()


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (b'{"__type": "ThrottlingException"}', True),
        (b'{"message": "x"}', True),
        (b'{"__type": 5}', False),
        (b'{"code": [1]}', False),
        (b'{"Code": {}}', False),
        (b'{"code": null}', False),
        (b'{"message": [1]}', False),
        (b'{"message": "' + b"x" * MAX_ERROR_BODY_BYTES + b'"}', False),
        (b"[1]", False),
        (b'"text"', False),
        (b"\xff", False),
        (b"", False),
    ],
)
def test_only_an_error_s_body_that_botocore_can_read_is_kept(body, kept):
    response = {"status_code": 500, "headers": {}, "body": body}
    check_response(response, {})
    assert response["body"] == (body if kept else b"{}")


@pytest.mark.parametrize(
    ("body", "seconds", "parsed"),
    [
        (b'{"retrievalResults": [' + b"0," * 500_000 + b"0]}", 1.0, True),
        (b'{"retrievalResults": [' + b"0," * 500_000 + b"0]}", 0.05, False),
        (b'{"retrievalResults": [' + b"[]," * 200_000 + b"[]]}", 1.0, True),
        (b'{"retrievalResults": [' + b"{}," * 200_000 + b"{}]}", 0.5, False),
    ],
    ids=["numbers", "numbers, late", "brackets", "brackets, late"],
)
def test_a_body_is_parsed_only_if_there_is_time_for_it(body, seconds, parsed):
    response = {"status_code": 200, "headers": {}, "body": body}
    found = {}
    with Deadline.after(seconds, lambda: 0.0).applied():
        if parsed:
            check_response(response, found)
            return
        with pytest.raises(DeadlineExceeded):
            check_response(response, found)
    assert not found


def test_nothing_but_what_retrieve_answers_is_taken_from_a_body():
    response = {
        "status_code": 200,
        "headers": {},
        "body": b'{"retrievalResults": [5], "Error": {}, "ResponseMetadata": 1}',
    }
    parsed = {}
    check_response(response, parsed)
    assert parsed == {"retrievalResults": [5]}
    assert response["body"] == b"{}"
