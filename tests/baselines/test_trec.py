"""Run files of TREC: what is read, and in which order."""

from __future__ import annotations

import codecs
import gzip
import math
import random
from pathlib import Path

import pytest

from pytest_irquality.baselines import trec
from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.baselines.trec import is_trec_path, read_trec_run
from pytest_irquality.metrics import Judgments, parse_metric, score_rankings

TEXT = "1 Q0 t1 1 9.0 old\n1 Q0 t9 2 8.5 old\n2 Q0 t9 1 9 old\n"
EXPECTED = {"1": (("t1", 9.0), ("t9", 8.5)), "2": (("t9", 9.0),)}

Hits = dict[str, tuple[tuple[str, float], ...]]


def read(path: Path) -> Hits:
    hits: Hits = {}
    for query, ranking in read_trec_run(path, name=path.name).items():
        hits[query] = tuple(zip(ranking.doc_ids, ranking.scores or (), strict=True))
    return hits


def read_text(folder: Path, text: str | bytes) -> Hits:
    path = folder / "a.run"
    path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    return read(path)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.run", True), ("a.trec.gz", True), ("A.RUN", True), ("run", False), ("a.jsonl", False)],
)
def test_runs_are_recognized_by_their_names(name: str, expected: bool) -> None:
    assert is_trec_path(Path(name)) is expected


ENCODINGS = {
    "plain": TEXT.encode(),
    "no line end": TEXT.rstrip("\n").encode(),
    "CRLF": TEXT.replace("\n", "\r\n").encode(),
    "CR": TEXT.replace("\n", "\r").encode(),
    "tabs": TEXT.replace(" ", "\t").encode(),
    "blank lines": f"\n{TEXT}\n \n".encode(),
    "byte order mark": codecs.BOM_UTF8 + TEXT.encode(),
    "UTF-16": TEXT.encode("utf-16"),
    "gzip": gzip.compress(TEXT.encode()),
    "gzip with a byte order mark": gzip.compress(codecs.BOM_UTF8 + TEXT.encode()),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_run_is_read_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    assert read_text(tmp_path, ENCODINGS[encoding]) == EXPECTED


def test_documents_are_ordered_as_by_trec_eval(tmp_path: Path) -> None:
    """By score as a number of 32 bits, and equal scores by id, both descending."""
    lines = [("a", "2"), ("b", "3"), ("c", "2"), ("d", "-1e2"), ("e", "2.00000001"), ("f", "inf")]
    text = "".join(f"q Q0 {doc_id} 1 {score} t\n" for doc_id, score in lines)

    (hits,) = read_text(tmp_path, text).values()

    assert [doc_id for doc_id, _ in hits] == ["f", "b", "e", "c", "a", "d"]
    assert all(math.isfinite(score) for _, score in hits)


@pytest.mark.parametrize(
    "scores",
    [("2", "2"), ("2.00000001", "2"), ("inf", "1e300"), ("5e38", "4e38"), ("2e-50", "1e-50")],
)
def test_equal_scores_of_an_ordered_run_are_ordered_by_id(
    tmp_path: Path, scores: tuple[str, str]
) -> None:
    first, second = scores
    text = f"q Q0 a 1 {first} t\nq Q0 b 2 {second} t\nq Q0 c 3 -1 t\n"

    (hits,) = read_text(tmp_path, text).values()

    assert [doc_id for doc_id, _ in hits] == ["b", "a", "c"]
    assert all(math.isfinite(score) for _, score in hits)


def test_runs_with_equal_scores_have_the_values_of_trec_eval(tmp_path: Path) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval-terrier is missing")
    draw = random.Random(1)
    lines, qrels = [], {}
    for number in range(200):
        doc_ids = draw.sample([f"d{index}" for index in range(40)], 20)
        qrels[f"q{number}"] = {doc_id: draw.randint(0, 3) for doc_id in [*doc_ids[::2], "missing"]}
        for doc_id in doc_ids:
            score = draw.choice(("1", "2", "2.00000001", "3.5", str(draw.random())))
            lines.append(f"q{number} Q0 {doc_id} 1 {score} x\n")
    draw.shuffle(lines)
    path = tmp_path / "a.run"
    path.write_text("".join(lines))
    names = {"ndcg_cut_5": "ndcg@5", "map_cut_20": "map@20", "P_3": "precision@3"}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.5", "map_cut.20", "P.3"})
    expected = evaluator.evaluate(pytrec_eval.parse_run(lines))

    rankings = read_trec_run(path)

    metrics = [parse_metric(name) for name in names.values()]
    judgments = [Judgments(qrels[query_id]) for query_id in rankings]
    columns = score_rankings(metrics, judgments, [each.doc_ids for each in rankings.values()])
    for name, column in zip(names, columns, strict=True):
        assert [expected[query_id][name] for query_id in rankings] == column


def test_lines_of_a_query_need_not_be_together(tmp_path: Path) -> None:
    text = "q Q0 a 1 3 t\nr Q0 x 1 1 t\nq Q0 b 2 4 t\nr Q0 y 2 2 t\nq Q0 c 3 5 t\n"

    assert read_text(tmp_path, text) == {
        "q": (("c", 5.0), ("b", 4.0), ("a", 3.0)),
        "r": (("y", 2.0), ("x", 1.0)),
    }


def test_only_ascii_spaces_separate_fields(tmp_path: Path) -> None:
    text = "q\xa01 Q0 d\u2003\x1c1 1 3 t\nq\xa01 Q0 é 2 2 t\n"

    assert read_text(tmp_path, text) == {"q\xa01": (("d\u2003\x1c1", 3.0), ("é", 2.0))}


def test_a_large_run_is_read_like_a_small_one(tmp_path: Path) -> None:
    """Many blocks, queries over several blocks, and scores with many digits."""
    dice = random.Random(1)
    expected: dict[str, list[tuple[str, float]]] = {}
    lines = []
    for query in range(60):
        scores = sorted((dice.random() for _ in range(dice.choice([1, 10, 300]))), reverse=True)
        hits = [(f"d{dice.randrange(10**6)}", score) for score in scores]
        expected[f"q{query}"] = hits
        for rank, (doc_id, score) in enumerate(hits, start=1):
            lines.append(f"q{query} Q0 {doc_id} {rank} {score!r} t\n")

    hits_by_query = read_text(tmp_path, "".join(lines))

    assert {query: list(hits) for query, hits in hits_by_query.items()} == expected


WRONG: dict[str, tuple[str | bytes, str]] = {
    "five fields": ("1 Q0 t1 1 9.0\n", "a.run:1: A line needs six fields"),
    "seven fields": (TEXT + "1 Q0 t 3 1 a b\n", "a.run:4: A line needs six fields"),
    "fields of two lines": ("1 Q0 t1 1 9.0\nold 1 Q0 t9 2 8.5 old\n", "a.run:1: A line needs six"),
    "no number": (TEXT + "1 Q0 t3 3 high t\n", "a.run:4: The score 'high' is not a number"),
    "digits of another script": ("1 Q0 t 1 \u0663 t\n", "a.run:1: The score '\u0663' is not a number"),
    "NaN": ("1 Q0 t 1 nan t\n", "a.run: A score of query '1' is not a number"),
    "NaN among others": (TEXT + "2 Q0 t2 2 nan t\n", "a.run: A score of query '2' is not a number"),
    "not text": (b"1 Q0 t\xff 1 2 t\n", "a.run: The ids are not valid UTF-8"),
    "NUL": (b"1 Q0 t\0 1 2 t\n", "a.run:1: A NUL character"),
    "damaged gzip": (gzip.compress(TEXT.encode())[:-9], "a.run: The gzip file is damaged"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_line_is_named(tmp_path: Path, case: str) -> None:
    text, message = WRONG[case]

    with pytest.raises(BaselineError) as caught:
        read_text(tmp_path, text)

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("line_count", [0, 5000])
def test_a_line_with_too_many_bytes_is_an_error_wherever_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line_count: int
) -> None:
    """The decoder counts characters, so it accepts a line that the fast reader refuses."""
    monkeypatch.setattr(trec, "MAX_LINE_LENGTH", 2**16)
    lines = "".join(f"1 Q0 t{rank} {rank} 1 t\n" for rank in range(line_count))

    with pytest.raises(BaselineError, match="A line is longer than"):
        read_text(tmp_path, f"{lines}2 Q0 {'d' * 2**18} 1 1 t\n")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match=r"^b\.run: No such file"):
        read(tmp_path / "b.run")
