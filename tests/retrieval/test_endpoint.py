"""A URL as the retriever, asked over real sockets: what is sent, what is read, and what a slow, broken or lying server
is called.
"""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.retrieval import RetrieverError, Run, jobs, retrieve
from pytest_irquality.retrieval.endpoint import Endpoint
from pytest_irquality.retrieval.secrets import END, Secrets
from pytest_irquality.suite import Query, Suite
from pytest_irquality.suite.keys import Retry

from ..servers import Answer, Asked, found, reply, served


def suite(*queries: str, **keys: Any) -> Suite:
    asked = queries or ("desk", "chair")
    return Suite("s", "s", tuple(Query(query, query) for query in asked), depth=10, **keys)


@contextmanager
def opened(line: str, headers: Sequence[str] = (), folder: Path = Path()) -> Iterator[Endpoint]:
    made = Endpoint(line, headers, folder, Secrets.named_in(headers))
    yield made
    made.close()


def run(
    answer: Answer, given: Suite | None = None, rest: str = "/search?q={query}&size={k}"
) -> Run:
    with served(answer) as server, opened(server.url(rest)) as made:
        return retrieve(given or suite(), made)


def fault(answer: Answer, **keys: Any) -> str:
    """What is said of the only query, which nothing is found for."""
    got = run(answer, suite("desk", **{"timeout": 5.0, **keys}))
    assert not got.first.rankings
    return got.faults["desk"].message


# -- what is sent --------------------------------------------------------------------------------------------------------


def test_placeholders_stand_percent_encoded_in_path_and_query() -> None:
    hard = "größe 50%/a?b=c&d#e {k} +\\\"'日本"
    with (
        served(lambda asked: found("d1")) as server,
        opened(
            server.url("/shops/{params.shop}/search?q={query}&size={k}&safe={params.safe}")
        ) as made,
    ):
        got = retrieve(suite(hard, params={"shop": "a/b ö", "safe": True}), made)
    assert got.first.rankings[hard].ids == ("d1",)
    (asked,) = server.asked
    assert asked.target.startswith("/shops/a%2Fb%20%C3%B6/search?q=")
    assert asked.params == {"q": hard, "size": "10", "safe": "true"}
    assert (asked.method, asked.body) == ("GET", b"")
    assert asked.headers["accept"] == "application/json"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_whatever_the_query_it_changes_nothing_but_its_own_value(text: str) -> None:
    made = Endpoint("http://127.0.0.1:1/a/search?q={query}&size={k}", (), Path(), Secrets([]))
    target = made._filled({"query": text, "k": 10})
    assert target.startswith("/a/search?q=")
    assert target.endswith("&size=10")
    asked = Asked("GET", target, {}, b"", 1)
    assert asked.params == {"q": text, "size": "10"}
    assert target.isascii()
    assert target.isprintable()


def test_in_a_body_whole_strings_are_placeholders_and_all_else_stays(tmp_path: Path) -> None:
    body = {
        "query": {"match": {"title": {"query": "{query}", "operator": "and"}}},
        "size": "{k}",
        "boost": "{params.boost}",
        "filter": [
            {"terms": {"brand": "{params.brands}"}},
            "{}",
            "{other}",
            "a {query} b",
            7,
            None,
        ],
        "{query}": "a key stays",
    }
    (tmp_path / "search.json").write_text(json.dumps(body))
    hard = 'say "{k}" \\ {params.boost}'
    with served(lambda asked: found("d1")) as server:
        line = f"POST {server.url('/shop/_search')} @search.json"
        with opened(line, folder=tmp_path) as made:
            retrieve(suite(hard, params={"boost": 1.5, "brands": ["a", "b"]}), made)
    (asked,) = server.asked
    assert asked.json == {
        "query": {"match": {"title": {"query": hard, "operator": "and"}}},
        "size": 10,
        "boost": 1.5,
        "filter": [{"terms": {"brand": ["a", "b"]}}, "{}", "{other}", "a {query} b", 7, None],
        "{query}": "a key stays",
    }
    assert (asked.method, asked.headers["content-type"]) == ("POST", "application/json")


def test_a_file_alone_means_post_and_a_method_may_be_another(tmp_path: Path) -> None:
    (tmp_path / "search.json").write_text('{"q": "{query}"}')
    with served(lambda asked: found()) as server:
        for method in ("", "GET ", "QUERY "):
            with opened(f"{method}{server.url('/')} @search.json", folder=tmp_path) as made:
                retrieve(suite("desk"), made)
    assert [asked.method for asked in server.asked] == ["POST", "GET", "QUERY"]
    assert [asked.json for asked in server.asked] == [{"q": "desk"}] * 3


def test_headers_come_from_the_environment_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_TOKEN", "tok-12345\n")  # as it is read from many a file
    headers = [
        "Authorization: Bearer $SEARCH_TOKEN",
        "x-price: 5$$",
        "accept: application/vnd.x+json",
    ]
    with served(lambda asked: found()) as server, opened(server.url(), headers) as made:
        retrieve(suite("desk"), made)
    sent = server.asked[0].headers
    assert sent["authorization"] == "Bearer tok-12345"
    assert (sent["x-price"], sent["accept"]) == ("5$", "application/vnd.x+json")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("localhost:9200/x?q={query}", "ini key ir_url must have lines of '[NAME: ][METHOD ]http"),
        ("http://localhost:9200?q={query}", "ini key ir_url must have lines of"),
        ("file:///etc/passwd?q={query}", "ini key ir_url must have lines of"),
        ("http://{query}.example/x", "placeholders behind the host only"),
        ("http://{params.user}@shop/x?q={query}", "placeholders behind the host only"),
        ("http://elastic:hunter22@shop/x?q={query}", "no user: that is a line of ir_headers"),
        ("http://h/x?q={query} search.json", "ini key ir_url must have lines of"),
        (
            "http://h/x?q={query}&n={size}",
            "ir_url: {size} is no {query}, {k} or {params.NAME}",
        ),
        ("http://h/x?q={params.query}", "ir_url: {params.query} is no {query}"),
        ("http://h/x?size={k}", "ir_url: {query} stands nowhere, or in its file within a string"),
        ("http://h/x @none.json", "ir_url: none.json cannot be read as JSON: "),
        ("http://h/x @broken.json", "ir_url: broken.json cannot be read as JSON: Expecting"),
        (
            "http://h/x @within.json",
            "ir_url: {query} stands nowhere, or in its file within a string",
        ),
    ],
)
def test_a_line_that_cannot_be_meant_is_said(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "within.json").write_text('{"query": "title:{query}"}')
    with pytest.raises(RetrieverError) as raised:
        Endpoint(line, (), tmp_path, Secrets([]))
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Authorization: $NOT_THERE", "ir_headers: the environment has no NOT_THERE"),
        ("Authorization: Bearer ${EMPTY}", "ir_headers: the environment has no EMPTY"),
        ("Authorization", "ir_headers: a line is 'Name: value'"),
        ("X: costs 5$", "ir_headers: a line is 'Name: value'"),
    ],
)
def test_a_header_that_cannot_be_made_is_said(
    monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    monkeypatch.setenv("EMPTY", " ")
    with pytest.raises(RetrieverError, match=r"ir_headers") as raised:
        Endpoint("http://h/x?q={query}", [line], Path(), Secrets([]))
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "the retriever ir_url(query, k, *, locale) needs 'locale' too"),
        ({"locale": "de", "brand": "x"}, "does not take 'brand' of 'params'"),
    ],
)
def test_params_and_their_places_must_agree(params: Mapping[str, Any], said: str) -> None:
    made = Endpoint("http://h/{params.locale}?q={query}", (), Path(), Secrets([]))
    with pytest.raises(RetrieverError) as raised:
        retrieve(suite("desk", params=params), made)
    assert said in str(raised.value)


@pytest.mark.parametrize("query", [".", ".."])
def test_a_query_cannot_leave_its_folder(query: str) -> None:
    got = run(lambda asked: found("d1"), suite(query, "a/../b"), "/index/{query}?size={k}")
    assert got.first.rankings.keys() == {"a/../b"}  # its slashes are encoded
    assert got.faults[query].message.startswith("no part of a path may be . or ..")


# -- connections ---------------------------------------------------------------------------------------------------------


def test_a_connection_is_kept_for_each_call_in_flight() -> None:
    together = threading.Barrier(4)

    def answer(asked: Asked) -> bytes:
        together.wait(10)
        return found(asked.query)

    with served(answer) as server, opened(server.url()) as made:
        given = suite(*(f"q{i}" for i in range(40)), concurrency=4)
        got = retrieve(given, made)
    assert {query: ranking.ids for query, ranking in got.first.rankings.items()} == {
        f"q{i}": (f"q{i}",) for i in range(40)
    }
    assert server.connections == 4


def test_a_connection_that_was_closed_in_between_is_made_anew() -> None:
    """Closed before the call, and by the call: of both nobody hears."""

    def answer(asked: Asked) -> Iterator[bytes]:
        served_here = sum(one.connection == asked.connection for one in server.asked)
        if asked.query == "q2" and served_here > 1:
            yield b""
        yield found(asked.query)
        if asked.query == "q0":
            yield b""

    with served(answer) as server, opened(server.url()) as made:
        got = retrieve(suite("q0", "q1", "q2", "q3"), made)
    assert [ranking.ids for ranking in got.first.rankings.values()] == [
        ("q0",),
        ("q1",),
        ("q2",),
        ("q3",),
    ]
    assert server.connections == 3


def test_what_was_sent_unasked_is_no_answer_to_the_next_query() -> None:
    def answer(asked: Asked) -> bytes:
        return found(asked.query) + (found("wrong") if asked.query == "q0" else b"")

    with served(answer) as server, opened(server.url()) as made:
        got = retrieve(suite("q0", "q1", "q2"), made)
        assert [ranking.ids for ranking in got.first.rankings.values()] == [
            ("q0",),
            ("q1",),
            ("q2",),
        ]


def test_a_late_answer_is_no_answer_to_the_next_query() -> None:
    release = threading.Event()

    def answer(asked: Asked) -> bytes:
        if asked.query == "q0":
            release.wait(60)
        return found(f"of {asked.query}")

    def tell(done: int, total: int) -> None:
        if done == 1:
            release.set()

    with served(answer) as server, opened(server.url()) as made:
        got = retrieve(suite("q0", "q1", "q2", timeout=2.0), made, progress=tell)
    assert (
        got.faults["q0"].message
        == f"no answer within 2 s; GET {server.url('/search?q=q0&size=10')}"
    )
    assert [ranking.ids for ranking in got.first.rankings.values()] == [("of q1",), ("of q2",)]


# -- time ----------------------------------------------------------------------------------------------------------------


def silent(asked: Asked) -> bytes:
    time.sleep(60)
    return found()


def trickle(first: bytes) -> Answer:
    def answer(asked: Asked) -> Iterator[bytes]:
        yield first
        for _ in range(1200):
            time.sleep(0.05)
            yield b" "

    return answer


@pytest.mark.parametrize(
    "answer",
    [
        silent,
        trickle(b"HTTP/1.1 200 OK\r\nX-Slow:"),
        trickle(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n["),
        trickle(b'HTTP/1.1 200 OK\r\n\r\n["d1"]'),
    ],
    ids=["silent", "headers", "body", "after the answer"],
)
@pytest.mark.parametrize("concurrency", [1, 2])
def test_the_time_limit_is_that_of_the_whole_call(answer: Answer, concurrency: int) -> None:
    start = time.monotonic()
    said = fault(answer, timeout=0.4, concurrency=concurrency)
    assert said.startswith("no answer within 0.4 s; GET http://127.0.0.1:")
    assert time.monotonic() - start < 30


def test_without_a_timeout_it_has_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs.TimedOut, "usual", 0.3)
    said = fault(silent, timeout=None)
    assert said.startswith("no answer within 0.3 s (longer by 'timeout' in the suite); GET ")


def test_a_server_that_asks_for_patience_gets_it() -> None:
    times: list[float] = []

    def answer(asked: Asked) -> bytes:
        times.append(time.monotonic())
        if len(times) == 1:
            return reply("slow down", "429 Too Many Requests", Retry_After="0.2")
        return found("d1")

    got = run(answer, suite("desk", retry=Retry(times=2)))
    assert got.first.rankings["desk"].ids == ("d1",)
    assert got.retries == 1
    assert 0.2 <= times[1] - times[0] < 0.9


# -- what is called what -------------------------------------------------------------------------------------------------

PAGE = "<!doctype html><html><title>502 Bad\nGateway</title><body><h1>nginx &amp; co</h1></body></html>"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (reply({"error": {"reason": "no such index [shop]"}}, "404 Not Found"),
         'HTTP 404 Not Found; GET {url} said \'{{"error": {{"reason": "no such index [shop]"}}}}\''),
        (reply(PAGE, "502 Bad Gateway"), "HTTP 502 Bad Gateway; GET {url} said '502 Bad Gateway nginx & co'"),
        (reply("x" * 5000, "500 Oh"), "HTTP 500 Oh; GET {url} said '" + 120 * "x" + " … " + 120 * "x" + "'"),
        (reply(PAGE), "its answer is no JSON; GET {url} said '502 Bad Gateway nginx & co'"),
        (reply('{"hits": [{"id"'), "its answer is no JSON; GET {url} said '{{\"hits\": [{{\"id\"'"),
        (reply("[" * 200_000), "its answer is no JSON; GET {url} said '[[["),
        (reply(""), "its answer is no JSON; GET {url}"),
        (reply('"desk"'), "cannot read the retriever's result: it is no list of hits"),
        (reply({"took": 3}), "cannot read the retriever's result: a mapping has no order"),
        (reply({"hits": [], "error": "index is being built"}),
         "it answered with an error; GET {url} said '\"index is being built\"'"),
        (reply({"hits": ["d1"]})[:-5], "its answer was cut off; GET {url}"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n[\"d1\",", "its answer was cut off; GET {url}"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "its answer was cut off; GET {url}"),
        (b"", "no answer: RemoteDisconnected: Remote end closed connection without response; GET {url}"),
        (b"220 mail.example ESMTP\r\n", "no answer: BadStatusLine: 220 mail.example ESMTP; GET {url}"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", "no answer: HTTPException: got more than 100 headers"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000, "no answer: LineTooLong: got more than 65536 bytes"),
        (reply("x", Content_Encoding="gzip"), "its answer is compressed, which was not asked for; GET {url}"),
    ],
)  # fmt: skip
def test_a_broken_answer_is_one_clear_line(answer: bytes, said: str) -> None:
    # With an answer to be cut off the connection is closed after it.
    with served(lambda asked: [answer, b""]) as server, opened(server.url()) as made:
        got = retrieve(suite("desk", timeout=5.0), made)
    message = got.faults["desk"].message
    assert message.startswith(said.format(url=server.url("/search?q=desk&size=10")))
    assert "\n" not in message
    assert len(message) < 500


def gzip_bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(packer.compress(b" " * 2**20) for _ in range(100)) + packer.flush()
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    return head.encode() + packed


def hundred_megabytes(head: bytes) -> Answer:
    def answer(asked: Asked) -> Iterator[bytes]:
        yield head
        for _ in range(100):
            yield b"10000\r\n" + b" " * 65536 + b"\r\n" if b"chunked" in head else b" " * 2**20

    return answer


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            hundred_megabytes(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n"),
            "its answer is larger than 16 MB",
        ),
        (hundred_megabytes(b"HTTP/1.1 200 OK\r\n\r\n"), "its answer is larger than 16 MB"),
        (hundred_megabytes(b"HTTP/1.1 503 No\r\n\r\n"), "its answer is larger than 16 MB"),
        (lambda asked: gzip_bomb(), "its answer is compressed"),
    ],
    ids=["announced", "endless", "an error", "gzip bomb"],
)
def test_what_is_too_large_is_not_read(answer: Answer, said: str) -> None:
    assert fault(answer, timeout=20.0).startswith(said)


@pytest.mark.slow
def test_a_large_answer_within_the_bound_is_read() -> None:
    hits = [{"id": f"d{i}", "text": "x" * 1000} for i in range(10_000)]
    assert run(lambda asked: reply(hits), suite("desk")).first.rankings["desk"].ids[0] == "d0"


def test_nobody_there() -> None:
    with served(lambda asked: found()) as server:
        pass
    with opened(server.url()) as made:
        got = retrieve(suite(), made)
    url = server.url("/search?q=desk&size=10")
    assert got.faults["desk"].message == f"no answer: Connection refused; GET {url}"
    assert len({fault.cause for fault in got.faults.values()}) == 1
    with opened("http://nobody.invalid/?q={query}") as made:
        message = retrieve(suite("desk"), made).faults["desk"].message
    assert message.startswith("no answer: ")
    with opened("http://127.0.0.1:none/?q={query}") as made:
        message = retrieve(suite("desk"), made).faults["desk"].message
    assert message.startswith("no answer: InvalidURL: nonnumeric port: 'none'")


def test_tls_is_asked_for_and_a_plain_server_told_apart() -> None:
    with (
        served(lambda asked: found()) as server,
        opened(server.url().replace("http", "https")) as made,
    ):
        message = retrieve(suite("desk", timeout=5.0), made).faults["desk"].message
    assert message.startswith("no answer: [SSL")


# -- redirects -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "where",
    [
        "/newer", "{origin}/newer", "http://127.0.0.1:1/x", "https://127.0.0.1/", "//127.0.0.1:1/x", "file:///etc/passwd", "ftp://127.0.0.1/x",
        "http://localhost/", "javascript:alert(1)", "http://[::1/x", "{origin}.evil.example/x", "{origin}@evil.example/",
    ],
)  # fmt: skip
def test_no_redirect_is_followed(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_TOKEN", "tok-12345")
    asked_elsewhere: list[Asked] = []

    def answer(asked: Asked) -> bytes:
        return reply("", "302 Found", Location=where.format(origin=server.origin))

    with served(answer) as server, opened(server.url(), ["Authorization: $SEARCH_TOKEN"]) as made:
        got = retrieve(suite("desk", timeout=5.0), made)
    assert len(server.asked) == 1
    assert not asked_elsewhere
    message = got.faults["desk"].message
    assert message.startswith(f"HTTP 302 Found, to {where.format(origin=server.origin)}; GET ")


@pytest.mark.parametrize("status", ["303 See Other", "304 Not Modified", "300 Choices"])
def test_other_redirects_are_told_too(status: str) -> None:
    assert fault(lambda asked: reply("", status, Location="/x")).startswith(
        f"HTTP {status}, to /x; GET "
    )


# -- secrets -------------------------------------------------------------------------------------------------------------

TOKEN = 'tök/"<&>=%20 $ecret'.encode().decode("utf-8").replace("ö", "o")
ECHOES: Mapping[str, Callable[[str], bytes]] = {
    "title": lambda said: reply({"hits": [{"id": "d1", "title": f"it is {said}"}]}),
    "key": lambda said: reply({"hits": [{"id": "d1", said: said, "title": said}]}),
    "escaped": lambda said: reply(
        '{"hits": [{"id": "d1", "title": "' + "".join(f"\\u{ord(c):04X}" for c in said) + '"}]}'
    ),
    "error": lambda said: reply({"error": f"bad {said}"}),
    "status": lambda said: reply(f"no user {said}", f"401 {said[:3]}{said[3:]}"),
    "page": lambda said: reply(
        f"<p>{said.replace('&', '&amp;').replace('<', '&lt;')}</p>", "403 No"
    ),
    "in an address": lambda said: reply(quote(said), "400 Bad"),
    "no JSON": lambda said: reply("x" * (END - 5) + said),
    "elsewhere": lambda said: reply("", "302 Found", Location=f"http://e/?{quote(said)}"),
    "shape": lambda said: reply({"took": said}),
    "no HTTP": lambda said: said.encode() + b"\r\n\r\n",
}


@pytest.mark.parametrize("echo", ECHOES)
def test_no_secret_comes_back(echo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_TOKEN", TOKEN)
    headers = ["X-Token: Token ${SEARCH_TOKEN}"]
    with served(lambda asked: ECHOES[echo](TOKEN)) as server, opened(server.url(), headers) as made:
        got = retrieve(suite("desk", timeout=5.0), made)
    assert server.asked[0].headers["x-token"] == f"Token {TOKEN}"
    seen = repr(got) + "".join(fault.message for fault in got.faults.values())
    for part in ("ecret", "tok/", "20 $"):
        assert part not in seen
    assert "***" in seen or echo in ("key",)


def test_what_is_no_secret_stays() -> None:
    kept = Secrets(["abc", ""])  # too short to be one: it would hide words
    assert kept.mask("abc def") == "abc def"
    assert Secrets(["abcd"]).mask("ABCD abcd xabcdx abc") == "*** *** x***x abc"
