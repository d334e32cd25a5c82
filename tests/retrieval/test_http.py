"""A URL as the retriever, over real sockets: what is sent, what is read, and which errors there are."""

from __future__ import annotations

import base64
import json
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.io.secrets import Secrets
from pytest_irquality.retrieval import collect
from pytest_irquality.retrieval.collect import collect_run
from pytest_irquality.retrieval.errors import RetrieverError
from pytest_irquality.retrieval.http import UrlRetriever
from pytest_irquality.retrieval.run import Run
from pytest_irquality.retrieval.service import MAX_QUOTED_CHARS
from pytest_irquality.suite.model import Query, Retry, Settings
from tests.retrieval.servers import (
    HttpRequest,
    LoopbackServer,
    Respond,
    make_hits,
    make_response,
    open_server,
)


def run_queries(retriever: object, *texts: str, **settings: Any) -> Run:
    params = settings.pop("params", {})
    progress = settings.pop("report_progress", None)
    queries = [Query(text, text, params=params) for text in texts or ("desk", "chair")]
    return collect_run(retriever, queries, Settings(**settings), report_progress=progress)


@contextmanager
def open_retriever(
    line: str, headers: Sequence[str] = (), folder: Path = Path()
) -> Iterator[UrlRetriever]:
    retriever = UrlRetriever(line, headers, folder, Secrets.from_environment(headers))
    yield retriever
    retriever.close()


def run_on(respond: Respond, *texts: str, rest: str = "", **settings: Any) -> Run:
    rest = rest or "/search?q={query}&size={k}"
    with open_server(respond) as server, open_retriever(server.url(rest)) as retriever:
        return run_queries(retriever, *texts, **settings)


def get_error(respond: Respond, **settings: Any) -> str:
    """Return the message of the only query, which gets no answer."""
    run = run_on(respond, "desk", **{"timeout": 5.0, **settings})
    assert not run.answers
    return next(iter(run.errors.values())).message


def get_first_ids(run: Run) -> list[str]:
    return [rankings[0].doc_ids[0] for rankings in run.answers.values()]


# What is sent.


def test_placeholders_are_percent_encoded() -> None:
    hard = "größe 50%/a?b=c&d#e {k} +\\\"'日本"
    rest = "/shops/{params.shop}/search?q={query}&size={k}&safe={params.safe}"
    with (
        open_server(lambda request: make_hits("d1")) as server,
        open_retriever(server.url(rest)) as retriever,
    ):
        run = run_queries(retriever, hard, params={"shop": "a/b ö", "safe": True})

    assert get_first_ids(run) == ["d1"]
    (request,) = server.requests
    assert request.target.startswith("/shops/a%2Fb%20%C3%B6/search?q=")
    assert request.params == {"q": hard, "size": "10", "safe": "true"}
    assert (request.method, request.body) == ("GET", b"")
    assert request.headers["accept"] == "application/json"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_query_changes_more_than_its_own_value(text: str) -> None:
    retriever = UrlRetriever("http://127.0.0.1:1/a?q={query}&size={k}", (), Path(), Secrets())

    target, _ = retriever._make_request({"query": text, "k": 10})

    assert target.startswith("/a?q=")
    assert target.endswith("&size=10")
    assert unquote(target[len("/a?q=") : -len("&size=10")]) == text
    assert "&" not in target.removesuffix("&size=10")
    assert target.isascii()
    assert target.isprintable()


def test_complete_strings_of_a_body_are_placeholders(tmp_path: Path) -> None:
    body = {
        "query": {"match": {"title": {"query": "{query}", "operator": "and"}}},
        "size": "{k}",
        "boost": "{params.boost}",
        "filter": [{"terms": {"brand": "{params.brands}"}}, "{}", "{other}", "a {query} b", 7, None],
        "{query}": "a key stays",
    }  # fmt: skip
    (tmp_path / "search.json").write_text(json.dumps(body))
    hard = 'say "{k}" \\ {params.boost}'
    with open_server(lambda request: make_hits("d1")) as server:
        line = f"POST {server.url('/shop/_search')} @search.json"
        with open_retriever(line, folder=tmp_path) as retriever:
            run_queries(retriever, hard, params={"boost": 1.5, "brands": ["a", "b"]})

    (request,) = server.requests
    assert request.json == {
        "query": {"match": {"title": {"query": hard, "operator": "and"}}},
        "size": 10,
        "boost": 1.5,
        "filter": [{"terms": {"brand": ["a", "b"]}}, "{}", "{other}", "a {query} b", 7, None],
        "{query}": "a key stays",
    }
    assert (request.method, request.headers["content-type"]) == ("POST", "application/json")


def test_a_file_means_post_unless_the_line_has_a_method(tmp_path: Path) -> None:
    (tmp_path / "search.json").write_text('{"q": "{query}"}')
    with open_server(lambda request: make_hits()) as server:
        for method in ("", "GET ", "QUERY "):
            line = f"{method}{server.url('/')} @search.json"
            with open_retriever(line, folder=tmp_path) as retriever:
                run_queries(retriever, "desk")

    assert [request.method for request in server.requests] == ["POST", "GET", "QUERY"]
    assert [request.json for request in server.requests] == [{"q": "desk"}] * 3


def test_headers_have_values_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_TOKEN", "tok-12345\n")  # as read from a file
    headers = ["Authorization: Bearer $SEARCH_TOKEN", "x-price: 5$$", "accept: application/x+json"]
    with (
        open_server(lambda request: make_hits()) as server,
        open_retriever(server.url(), headers) as retriever,
    ):
        run_queries(retriever, "desk")

    sent = server.requests[0].headers
    assert sent["authorization"] == "Bearer tok-12345"
    assert (sent["x-price"], sent["accept"]) == ("5$", "application/x+json")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("localhost:9200/x?q={query}", "a line must be '[NAME: ][METHOD ]http"),
        ("http://localhost:9200?q={query}", "a line must be"),
        ("file:///etc/passwd?q={query}", "a line must be"),
        ("http://{query}.example/x", "Placeholders may only follow the host"),
        ("http://{params.user}@shop/x?q={query}", "Placeholders may only follow the host"),
        ("http://elastic:hunter22@shop/x?q={query}", "credentials belong under 'ir_headers'"),
        ("http://h/x?q={query} search.json", "a line must be"),
        ("http://h/x?q={query}&n={size}", "{size} is unknown. Use {query}, {k} or {params.NAME}"),
        ("http://h/x?q={params.query}", "{params.query} is unknown"),
        ("http://h/x?size={k}", "write {query} in the URL"),
        ("http://h/x @none.json", "none.json cannot be read. "),
        ("http://h/x @broken.json", "broken.json cannot be read. This is not JSON"),
        ("http://h/x @within.json", "write {query} in the URL, or alone in a string"),
    ],
)
def test_a_line_that_cannot_be_read_is_explained(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "within.json").write_text('{"query": "title:{query}"}')

    with pytest.raises(RetrieverError, match=r"^Ini key ir_url: ") as raised:
        UrlRetriever(line, (), tmp_path, Secrets())

    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Authorization: $NOT_THERE", "the environment variable NOT_THERE is not set"),
        ("Authorization: Bearer ${EMPTY}", "the environment variable EMPTY is not set"),
        ("Authorization", "a line must be 'Name: value'"),
        ("X: costs 5$", "a line must be 'Name: value'"),
    ],
)
def test_a_header_that_cannot_be_made_is_explained(
    monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.setenv("EMPTY", " ")

    with pytest.raises(RetrieverError, match=r"^Ini key ir_headers: ") as raised:
        UrlRetriever("http://h/x?q={query}", [line], Path(), Secrets())

    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "The retriever ir_url(query, k, *, locale) cannot be called: missing a required"),
        (
            {"locale": "de", "brand": "x"},
            "cannot be called: got an unexpected keyword argument 'brand'",
        ),
    ],
)
def test_params_and_placeholders_must_agree(params: Mapping[str, Any], message: str) -> None:
    retriever = UrlRetriever("http://h/{params.locale}?q={query}", (), Path(), Secrets())

    with pytest.raises(RetrieverError) as raised:
        run_queries(retriever, "desk", params=params)

    assert message in str(raised.value)


@pytest.mark.parametrize("query", [".", ".."])
def test_a_query_cannot_leave_its_folder(query: str) -> None:
    run = run_on(lambda request: make_hits("d1"), query, "a/../b", rest="/index/{query}?size={k}")

    assert list(run.answers) == ["a/../b"]  # its slashes are encoded
    assert run.errors[query].message.startswith("No part of a path may be . or ..")


# Connections.


def test_a_connection_is_kept_for_each_call_in_flight() -> None:
    barrier = threading.Barrier(4)

    def respond(request: HttpRequest) -> bytes:
        barrier.wait(10)
        return make_hits(request.query)

    texts = [f"q{n}" for n in range(40)]
    with open_server(respond) as server, open_retriever(server.url()) as retriever:
        run = run_queries(retriever, *texts, concurrency=4)

    assert get_first_ids(run) == texts
    assert server.connection_count == 4


def test_a_closed_connection_is_opened_again() -> None:
    def respond(request: HttpRequest) -> Iterator[bytes]:
        count = sum(other.connection == request.connection for other in server.requests)
        if request.query == "q2" and count > 1:
            yield b""
        yield make_hits(request.query)
        if request.query == "q0":
            yield b""

    server: LoopbackServer
    with open_server(respond) as server, open_retriever(server.url()) as retriever:
        run = run_queries(retriever, "q0", "q1", "q2", "q3")

    assert get_first_ids(run) == ["q0", "q1", "q2", "q3"]
    assert server.connection_count == 3


def test_unrequested_data_does_not_answer_the_next_query() -> None:
    def respond(request: HttpRequest) -> bytes:
        return make_hits(request.query) + (make_hits("wrong") if request.query == "q0" else b"")

    assert get_first_ids(run_on(respond, "q0", "q1", "q2")) == ["q0", "q1", "q2"]


@pytest.mark.slow
def test_a_late_answer_does_not_answer_the_next_query() -> None:
    released = threading.Event()

    def respond(request: HttpRequest) -> bytes:
        if request.query == "q0":
            released.wait(60)
        return make_hits(f"of {request.query}")

    def report(done: int, total: int) -> None:
        if done == 1:
            released.set()

    run = run_on(respond, "q0", "q1", "q2", timeout=2.0, report_progress=report)

    assert run.errors["q0"].message.startswith("No answer within 2 s. GET http://127.0.0.1:")
    assert get_first_ids(run) == ["of q1", "of q2"]


# Time.


def stay_silent(request: HttpRequest) -> bytes:
    time.sleep(60)
    return make_hits()


def trickle(first: bytes) -> Respond:
    def respond(request: HttpRequest) -> Iterator[bytes]:
        yield first
        for _ in range(1200):
            time.sleep(0.05)
            yield b" "

    return respond


@pytest.mark.parametrize(
    "respond",
    [
        stay_silent,
        trickle(b"HTTP/1.1 200 OK\r\nX-Slow:"),
        trickle(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n["),
        trickle(b'HTTP/1.1 200 OK\r\n\r\n["d1"]'),
    ],
    ids=["silent", "headers", "body", "after the answer"],
)
@pytest.mark.parametrize("concurrency", [1, 2])
def test_the_time_limit_covers_reading_the_answer(respond: Respond, concurrency: int) -> None:
    start = time.monotonic()

    message = get_error(respond, timeout=0.4, concurrency=concurrency)

    assert message.startswith("No answer within 0.4 s. GET http://127.0.0.1:")
    assert time.monotonic() - start < 30


def test_without_a_timeout_a_call_has_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "DEFAULT_TIMEOUT_S", 0.3)

    assert get_error(stay_silent, timeout=None).startswith("No answer within 0.3 s")


def test_a_server_that_asks_for_a_pause_gets_it() -> None:
    times: list[float] = []

    def respond(request: HttpRequest) -> bytes:
        times.append(time.monotonic())
        if len(times) == 1:
            return make_response("slow down", "429 Too Many Requests", Retry_After="0.2")
        return make_hits("d1")

    run = run_on(respond, "desk", retry=Retry(times=2))

    assert get_first_ids(run) == ["d1"]
    assert run.provenance.retry_count == 1
    assert 0.2 <= times[1] - times[0] < 0.9


# Errors.

PAGE = "<!doctype html><html><title>502 Bad\nGateway</title><body><h1>nginx &amp; co</h1></body></html>"


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (make_response({"error": {"reason": "no such index [shop]"}}, "404 Not Found"),
         'HTTP 404 Not Found. GET {url} answered \'{{"error": {{"reason": "no such index [shop]"}}}}\''),
        (make_response(PAGE, "502 Bad Gateway"),
         "HTTP 502 Bad Gateway. GET {url} answered '502 Bad Gateway nginx & co'"),
        (make_response("x" * 5000, "500 Oh"),
         "HTTP 500 Oh. GET {url} answered '" + 120 * "x" + " … " + 120 * "x" + "'"),
        (make_response(PAGE), "The answer is not JSON. GET {url} answered '502 Bad Gateway nginx & co'"),
        (make_response('{"hits": [{"id"'), "The answer is not JSON. GET {url} answered '{{\"hits\": [{{\"id\"'"),
        (make_response("[" * 200_000), "The answer is not JSON. GET {url} answered '[[["),
        (make_response("[" * 50 + "]" * 50), "The answer is not JSON. GET {url} answered '[[["),
        (make_response(""), "The answer is not JSON. GET {url}"),
        (make_response('"desk"'), "Cannot read the result: It is not a list of hits"),
        (make_response({"took": 3}), "Cannot read the result: A mapping has no order"),
        (make_response({"hits": [], "error": "index is being built"}),
         "The answer is an error. GET {url} answered '\"index is being built\"'"),
        (make_response({"hits": ["d1"]})[:-5], "The answer was cut off. GET {url}"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n[\"d1\",", "The answer was cut off. GET {url}"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "The answer was cut off. GET {url}"),
        (b"", "No answer: RemoteDisconnected: Remote end closed connection without response. GET {url}"),
        (b"220 mail.example ESMTP\r\n", "No answer: BadStatusLine: 220 mail.example ESMTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", "No answer: HTTPException: got more than 100 headers"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000, "No answer: LineTooLong: got more than 65536 bytes"),
        (make_response("x", Content_Encoding="gzip"), "The answer is compressed, but compression was not requested. GET {url}"),
    ],
)  # fmt: skip
def test_a_broken_answer_is_one_clear_line(response: bytes, message: str) -> None:
    with (
        open_server(lambda request: [response, b""]) as server,
        open_retriever(server.url()) as retriever,
    ):
        run = run_queries(retriever, "desk", timeout=5.0)

    error = run.errors["desk"].message
    assert error.startswith(message.format(url=server.url("/search?q=desk&size=10")))
    assert "\n" not in error
    assert len(error) < 500


def make_gzip_bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(packer.compress(b" " * 2**20) for _ in range(100)) + packer.flush()
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    return head.encode() + packed


def send_hundred_megabytes(head: bytes) -> Respond:
    def respond(request: HttpRequest) -> Iterator[bytes]:
        yield head
        for _ in range(100):
            yield b" " * 2**20

    return respond


@pytest.mark.parametrize(
    ("respond", "message"),
    [
        (send_hundred_megabytes(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n"),
         "The answer is larger than 16 MB"),
        (send_hundred_megabytes(b"HTTP/1.1 200 OK\r\n\r\n"), "The answer is larger than 16 MB"),
        (send_hundred_megabytes(b"HTTP/1.1 503 No\r\n\r\n"), "The answer is larger than 16 MB"),
        (lambda request: make_gzip_bomb(), "The answer is compressed"),
    ],
    ids=["announced", "endless", "an error", "gzip bomb"],
)  # fmt: skip
def test_an_answer_that_is_too_large_is_not_read(respond: Respond, message: str) -> None:
    assert get_error(respond, timeout=20.0).startswith(message)


def test_a_server_that_is_not_there_is_one_cause() -> None:
    with open_server(lambda request: make_hits()) as server:
        pass
    with open_retriever(server.url()) as retriever:
        run = run_queries(retriever)

    url = server.url("/search?q=desk&size=10")
    assert run.errors["desk"].message == f"No answer: Connection refused. GET {url}"
    assert len({error.cause for error in run.errors.values()}) == 1


@pytest.mark.parametrize(
    "line", ["http://nobody.invalid/?q={query}", "http://127.0.0.1:none/?q={query}"]
)
def test_an_address_that_leads_nowhere_is_an_error(line: str) -> None:
    with open_retriever(line) as retriever:
        assert run_queries(retriever, "desk").errors["desk"].message.startswith("No answer: ")


def test_a_server_without_tls_is_an_error_of_tls() -> None:
    with (
        open_server(lambda request: make_hits()) as server,
        open_retriever(server.url().replace("http", "https")) as retriever,
    ):
        message = run_queries(retriever, "desk", timeout=5.0).errors["desk"].message

    assert message.startswith("No answer: [SSL")


@pytest.mark.parametrize(
    "location",
    [
        "/newer", "{origin}/newer", "http://127.0.0.1:1/x", "//127.0.0.1:1/x", "file:///etc/passwd",
        "javascript:alert(1)", "http://[::1/x", "{origin}@evil.example/",
    ],
)  # fmt: skip
def test_no_redirect_is_followed(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_TOKEN", "tok-12345")

    def respond(request: HttpRequest) -> bytes:
        return make_response("", "302 Found", Location=location.format(origin=server.origin))

    server: LoopbackServer
    with (
        open_server(respond) as server,
        open_retriever(server.url(), ["Authorization: $SEARCH_TOKEN"]) as retriever,
    ):
        run = run_queries(retriever, "desk", timeout=5.0)

    assert len(server.requests) == 1
    shown = location.format(origin=server.origin)
    assert run.errors["desk"].message.startswith(f"HTTP 302 Found, to {shown}. GET ")


# Secrets.

TOKEN = 'tok/"<&>=%20 $ecret'
ECHOES: Mapping[str, Callable[[str], bytes]] = {
    "title": lambda token: make_response({"hits": [{"id": "d1", "title": f"it is {token}"}]}),
    "key": lambda token: make_response({"hits": [{"id": "d1", token: token, "title": token}]}),
    "escaped": lambda token: make_response(
        '{"hits": [{"id": "d1", "title": "' + "".join(f"\\u{ord(c):04X}" for c in token) + '"}]}'
    ),
    "escaped in an error": lambda token: make_response(
        '{"message": "' + "".join(f"\\u{ord(c):04X}" for c in token) + '"}', "401 No"
    ),
    "error": lambda token: make_response({"error": f"bad {token}"}),
    "status": lambda token: make_response(f"no user {token}", f"401 {token[:3]}{token[3:]}"),
    "page": lambda token: make_response(
        f"<p>{token.replace('&', '&amp;').replace('<', '&lt;')}</p>", "403 No"
    ),
    "address": lambda token: make_response(quote(token), "400 Bad"),
    "base64": lambda token: make_response(base64.b64encode(f"u:{token}".encode()).decode(), "400 Bad"),
    "cut": lambda token: make_response("x" * (MAX_QUOTED_CHARS - 5) + token + "y" * 300),
    "redirect": lambda token: make_response("", "302 Found", Location=f"http://e/?{quote(token)}"),
    "shape": lambda token: make_response({"took": token}),
    "no HTTP": lambda token: token.encode() + b"\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("echo", ECHOES)
def test_a_secret_never_comes_back(echo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_TOKEN", TOKEN)
    headers = ["X-Token: Token ${SEARCH_TOKEN}"]
    with (
        open_server(lambda request: ECHOES[echo](TOKEN)) as server,
        open_retriever(server.url(), headers) as retriever,
    ):
        run = run_queries(retriever, "desk", timeout=5.0)

    assert server.requests[0].headers["x-token"] == f"Token {TOKEN}"
    shown = repr(run) + repr(run.titles) + "".join(error.message for error in run.errors.values())
    for part in ("ecret", "tok/", "20 $", "dG9rLyI8", "0074"):
        assert part not in shown
    assert "***" in shown or echo == "base64"


@pytest.mark.parametrize("secret", ["73519846220", "7351.98462"])
def test_a_document_id_that_contains_a_secret_is_an_error(
    secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEA_KEY", secret)
    for value in (float(secret) if "." in secret else int(secret), secret, f"doc-{secret}"):
        hits = [{"id": value, "score": 2.0}, {"id": "t1", "score": 1.0}]
        with (
            open_server(lambda request, hits=hits: make_response(hits)) as server,  # type: ignore[misc]
            open_retriever(server.url(), ["X-Key: $TEA_KEY"]) as retriever,
        ):
            run = run_queries(retriever, "tea")

        message = run.errors["tea"].message
        assert message.startswith("Cannot read the result: A document id contains a secret")
        assert secret not in message
