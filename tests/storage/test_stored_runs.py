"""A run as a file: what goes in comes out, a kill never leaves half of one, and a damaged one says where."""

from __future__ import annotations

import math
import os
import stat
import sys
import types
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.retrieval import Answer, Fault, Ranking, Run
from pytest_irquality.storage.jsonl import read_header, read_run, write_run
from pytest_irquality.storage.stored import (
    DamagedRunError,
    Header,
    StoredRun,
    StoredRunError,
    digest,
    stored_run,
)
from pytest_irquality.suite.model import Query, Suite

SUITE = Suite(
    "Shop",
    "shop.ir.yaml",
    (
        Query("q1", "office chair"),
        Query("q2", "NO", params={"filters": {"stock": True}}),
        Query("line\nbreak", "\u2028 and \r\n"),
        Query("broken", "x"),
        Query("empty", "nothing"),
    ),
    params={"locale": "en-GB"},
    match="text",
)
ANSWER = Answer(
    {
        "q1": Ranking(("d1", "d2", "d1"), (3.0, 1e-300, math.inf), 0.25),
        "q2": Ranking(("0123", "NO"), None, 0.5),
        "line\nbreak": Ranking(("\ud800 half", "d2"), None),
        "empty": Ranking((), None, 1.0),
    },
    {"d1": "A “chair”", "d2": "A desk\nof two lines", "NO": "Norway"},
    {"d2": "the whole passage"},
)
RUN = Run("bm25", (ANSWER,), {"broken": Fault("ConnectionError: index is down")}, "v7")
HEADER = Header(
    "Shop",
    "shop.ir.yaml",
    10,
    "bm25",
    digest(SUITE),
    None,
    "v7",
    "abc1234",
    "2024-01-01T00:00:00Z",
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run.jsonl"
    write_run(path, stored_run(SUITE, RUN, HEADER))
    stored = read_run(path)
    assert (stored.header, read_header(path)) == (HEADER, HEADER)
    read = stored.run(SUITE)
    scores = read.first.rankings["q1"].scores
    assert scores is not None
    assert scores[:2] == (3.0, 1e-300)
    assert math.isnan(
        scores[2]
    )  # JSON has no infinity; a score that is no number is never equal to another
    assert read.first.rankings["q1"].ids == ("d1", "d2", "d1")
    assert {id: read.first.rankings[id] for id in RUN.answered if id != "q1"} == {
        id: ranking for id, ranking in RUN.first.rankings.items() if id != "q1"
    }
    assert (read.retriever, read.faults, read.first.titles, read.first.texts, read.version) == (
        "bm25", RUN.faults, RUN.first.titles, RUN.first.texts, "v7",
    )  # fmt: skip
    lines = path.read_bytes().split(b"\n")
    assert len(lines) == 20  # a header, five queries of three lines, a text, and the last line
    assert lines[1:7] == [b"", b'"q1"', *lines[3:5], b"", b'"q2"']
    assert [*path.parent.iterdir()] == [path]


def test_only_what_is_asked_today_in_the_same_words_is_compared(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    write_run(path, stored_run(SUITE, RUN, HEADER))
    q1, q2, *_ = SUITE.queries
    stored = read_run(path)
    today = replace(
        SUITE, queries=(q1, replace(q2, params={"filters": {"stock": False}}), Query("new", "new"))
    )
    assert set(stored.run(today).first.rankings) == {"q1"}
    assert stored.matching(today).gone == ("\u2028 and \r\n", "x", "nothing")
    assert (
        set(stored.run(replace(today, queries=(replace(q1, text="Office chair"),))).first.rankings)
        == set()
    )
    assert set(stored.run(replace(SUITE, params={})).first.rankings) == set()


def test_a_digest_stands_for_the_questions_alone() -> None:
    assert digest(SUITE) == digest(
        replace(SUITE, name="Other", top_k=3, queries=SUITE.queries[::-1])
    )
    assert digest(SUITE) != digest(replace(SUITE, queries=SUITE.queries[1:]))
    assert digest(SUITE) != digest(replace(SUITE, params={}))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked process")
def test_a_kill_at_any_line_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    old = stored_run(SUITE, RUN, replace(HEADER, commit="old"))
    new = stored_run(SUITE, RUN, replace(HEADER, commit="new"))
    seen = []
    for lines in range(1, 1000):
        write_run(path, old)
        killed = _write_and_die(path, new, lines)
        seen.append(read_run(path).header.commit or "")
        if not killed:
            break
    assert seen == sorted(seen, reverse=True)  # old until it is new: never half, never gone
    assert seen.count("old") > 20
    assert seen[-1] == "new"


def _write_and_die(path: Path, stored: StoredRun, lines: int) -> bool:
    """Write in a process of its own that dies, with all it holds in buffers, when it comes to the n-th line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads
        child = os.fork()
    if child:
        return bool(os.waitpid(child, 0)[1])
    left = lines

    def trace(frame: types.FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.endswith(("stored.py", "jsonl.py")):
            return None
        left -= event == "line"
        if left == 0:
            os._exit(1)
        return trace

    try:
        sys.settrace(trace)
        write_run(path, stored)
        os._exit(0)
    finally:
        os._exit(2)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    write_run(path, stored_run(SUITE, RUN, HEADER))
    before = path.read_bytes()
    broken = replace(SUITE.queries[0], params={"x": math.nan})
    with pytest.raises(ValueError, match="JSON"):
        write_run(path, stored_run(replace(SUITE, queries=(broken,)), RUN, HEADER))
    assert (path.read_bytes(), [*tmp_path.iterdir()]) == (before, [path])


def test_a_file_is_as_private_as_any_other_and_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    write_run(tmp_path / "link.jsonl", stored_run(SUITE, RUN, HEADER))
    assert (tmp_path / "link.jsonl").is_symlink()
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "real.jsonl")]
    assert modes[0] == modes[1]


HEAD = b'{"format":"pytest-irquality run","format_version":2,"suite":"s","path":"s.ir.yaml","depth":10}\n'
LINE = b'{"id":"q","query":"q","docs":["d"]}\n'
END = b'\n{"end":"pytest-irquality run"}\n'
UPDATE = "`--ir-update-baseline`"
CONFLICT = (
    b"<<<<<<< HEAD\n"
    + LINE
    + b"||||||| base\n"
    + LINE
    + b"=======\n"
    + LINE
    + b">>>>>>> feature/x\n"
)
UNRESOLVED = "an unresolved merge conflict over 'q': keep either line of each query, or"

FOREIGN = [
    (b"", "run:1: empty"),
    (b"q0 0 d1 1\n", "run:1: not a line of JSON"),
    (b"[1]\n", "run:1: not a JSON object"),
    (b'{"a": 1}\n', "run:1: not a run that pytest-irquality wrote"),
    (HEAD.replace(b'version":2', b'version":3'), "run:1: written in format 3; this pytest-irquality reads format 2"),
    (b"<<<<<<< HEAD\nmine\n=======\nyours\n>>>>>>> b\n", "run:1: not a line of JSON"),
]  # fmt: skip
DAMAGED = [
    (HEAD.replace(b'"depth":10', b'"depth":"x"'), "run:1: damaged: no 'depth' in the header, or no such thing"),
    (HEAD.replace(b'"depth":10', b'"depth":1,"time":5'), "run:1: damaged: no 'time' in the header, or no such thing"),
    (HEAD + LINE, "run:2: damaged: it was cut off here"),
    (HEAD + LINE + END + LINE, "run:5: damaged: this stands behind its last line"),
    (HEAD + LINE + b"\n" + LINE.replace(b'"d"', b'"e"'), f"run:4: the query 'q' stands here twice (line 2 is the other), as a merge may leave it: keep one, or write the file anew with {UPDATE}"),
    (HEAD + LINE[:-9], "run:2: not a line of JSON"),
    (HEAD + b"\n" + CONFLICT + END, f"run:3: {UNRESOLVED} write the file anew with {UPDATE}"),
    (CONFLICT.replace(LINE, HEAD) + LINE + END, f"run:1: {UNRESOLVED} write the file anew with {UPDATE}".replace(" over 'q'", "")),
    (HEAD + b"<<<<<<< HEAD\n" + b"".join(LINE.replace(b'"q"', b'"%d"' % n) for n in range(9)), f"run:2: an unresolved merge conflict over '0', '1', '2' and 6 more: keep either line of each query, or write the file anew with {UPDATE}"),
    (HEAD + b'{"id":3}\n', "run:2: damaged: a line needs 'id' and 'query'"),
    (HEAD + b'{"id":"q","query":"q"}\n', "run:2: damaged: the query 'q' has neither 'docs' nor 'fault'"),
    (HEAD + LINE.replace(b'"d"', b"3"), "run:2: damaged: a document is [id, score, title]"),
    (HEAD + LINE.replace(b'"d"', b'["d","x"]'), "run:2: damaged: a document is [id, score, title]"),
    (HEAD + LINE.replace(b'"d"', b'["d",1' + b"0" * 400 + b"]"), "run:2: damaged: a score is too large"),
    (HEAD + LINE.replace(b'"d"', b'["d",NaN]'), "run:2: damaged: a score is too large"),
    (HEAD + LINE.replace(b'"docs"', b'"seconds":1e999,"docs"'), "run:2: damaged: the query 'q' has neither 'docs' nor 'fault'"),
    (HEAD + LINE.replace(b'"docs"', b'"version":7,"docs"'), "run:2: damaged: 'version' is a text"),
    (HEAD + b"\xff\n", "run:2: not a line of JSON"),
    (HEAD + b"[" * 100_000, "run:2: not a line of JSON"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "said"), [*FOREIGN, *DAMAGED])
def test_what_is_damaged_or_foreign_says_where_in_one_line(
    tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "run").write_bytes(content)
    with pytest.raises(StoredRunError) as error:
        read_run(tmp_path / "run", "run")
    assert str(error.value) == said
    # Only what was ours is ever written over.
    assert isinstance(error.value, DamagedRunError) == ((content, said) in DAMAGED)


def test_texts_are_kept_for_suites_that_read_them(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    suite = replace(SUITE, queries=(Query("q", "a"),))
    run = Run("", (Answer({"q": Ranking(("d1",))}, texts={"d1": "a chunk"}),))
    by_id = replace(suite, match="id")
    write_run(path, stored_run(by_id, run, HEADER))
    assert read_run(path).queries["q"].texts == ()
    assert read_run(path).lacks_texts(suite)
    assert not read_run(path).lacks_texts(by_id)
    write_run(path, stored_run(suite, run, HEADER))
    stored = read_run(path)
    assert stored.queries["q"].texts == ("a chunk",)
    assert not stored.lacks_texts(suite)
