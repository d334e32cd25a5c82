"""TREC run files: read in trec_eval's order, written so that everyone else gets the order back."""

from __future__ import annotations

import gzip
import json
import math
from array import array
from pathlib import Path

import pytest

from pytest_irquality import evaluate, parse_measure
from pytest_irquality.metrics import Judgments
from pytest_irquality.retrieval import Answer, Ranking, Run
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.storage.trec import read_trec, write_trec
from pytest_irquality.suite.model import Query, Suite
from tests.conftest import Project
from tests.metrics.shared import shared


def qrels(path: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for line in path.read_text().splitlines():
        query, _, document, grade = line.split()
        found.setdefault(query, {})[document] = float(grade)
    return found


@pytest.mark.parametrize(
    "name", ["osmem-opensearch", "sqlite-fts5", "fts5-nostem", "fts5-titleonly"]
)
def test_real_runs_with_ties_score_as_trec_eval_scores_them(name: str) -> None:
    truth = json.loads(shared("cranfield/truth.json").read_text())[name]["trec"]
    measures = [
        parse_measure(measure)
        for measure in ("nDCG@10", "AP@100", "R@100", "RR@10", "P@10", "Success@10")
    ]
    grades = {
        query: Judgments(known)
        for query, known in qrels(shared("cranfield/qrels/test.qrels")).items()
    }
    rankings = read_trec(shared(f"cranfield/runs/{name}.run.gz"))
    # trec_eval's means are over the queries that are judged; a query without relevant documents scores 0.
    scores = evaluate(grades, {id: rankings[id].ids if id in rankings else () for id in grades}, measures, undefined="zero")  # fmt: skip
    got = {str(measure): scores.aggregate(measure).value for measure in measures}
    assert list(got.values()) == pytest.approx([truth[str_name] for str_name in ("nDCG@10", "AP@100", "R@100", "RR@10", "P@10", "Success@10")], abs=1e-6)  # fmt: skip


def test_trec_eval_s_own_run_scores_as_it_says() -> None:
    said = dict(line.split()[::2] for line in shared("trec_eval/out.test").read_text().splitlines())
    judged = {
        query: Judgments(known) for query, known in qrels(shared("trec_eval/qrels.test")).items()
    }
    rankings = {
        id: ranking.ids for id, ranking in read_trec(shared("trec_eval/results.test.gz")).items()
    }
    assert sum(map(len, rankings.values())) == int(said["num_ret"])
    measure = parse_measure("map@1000")
    total = evaluate(judged, rankings, [measure]).aggregate(measure)
    assert total.value is not None
    assert round(total.value, 4) == float(said["map"])


def test_order_is_by_32_bit_score_then_by_document_descending_whatever_the_lines_say(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.run"
    path.write_text(
        "q 0 low 1 -1e39 t\nq 0 a 2 0.3 t\nq\t0  b  3  0.30000000000000004 t\n\nq Q0 ü 9 0.30000000001 t\nq Q0 top 7 1e39 t\n"
        "o%20ther 0 x%20y 1 1 t\n"
    )
    rankings = read_trec(path)
    assert rankings["q"].ids == ("top", "ü", "b", "a", "low")
    assert rankings["o%20ther"].ids == ("x%20y",)  # not ours, so not encoded


AWKWARD = Suite(
    "s", "s.ir.yaml", (Query("office chair", "office chair"), Query("100%", "100%"), Query("none", "none"), Query("%41", "x"))
)  # fmt: skip
NAN = math.nan
RANKINGS = {
    "office chair": Ranking(
        ("a b", "%20", "", "%", "\u00a0", "a b"), (5.0, 4.0, 3.0, 2.0, 1.0, 0.5)
    ),
    "100%": Ranking(("x", "y", "z"), (1.0, 1.0 - 1e-12, 0.5)),
    "none": Ranking(()),
    "%41": Ranking(("n", "m"), (NAN, 1.0)),
}


@pytest.mark.parametrize("name", ["b.run", "b.trec.gz"])
def test_what_is_written_comes_back_in_its_order_under_its_ids(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_trec(path, AWKWARD, Run("my bm25", (Answer(RANKINGS),)))
    content = gzip.decompress(path.read_bytes()) if name.endswith("gz") else path.read_bytes()
    lines = content.decode().splitlines()
    assert lines[0] == "office%20chair Q0 a%20b 1 5.0 pytest-irquality:my%20bm25"
    assert all(len(line.split()) == 6 for line in lines)
    read = read_trec(path)
    assert {id: ranking.ids for id, ranking in read.items()} == {
        id: tuple(dict.fromkeys(ranking.ids)) for id, ranking in RANKINGS.items() if ranking.ids
    }
    for ranking in read.values():
        scores = array("f", ranking.scores or ())
        assert list(scores) == sorted(set(scores), reverse=True)
    # The engine's own where they keep the order.
    assert [*(read["office chair"].scores or ())] == [5, 4, 3, 2, 1]
    assert [*(read["100%"].scores or ())] == [3, 2, 1]
    before = path.read_bytes()
    write_trec(path, AWKWARD, Run("my bm25", (Answer(RANKINGS),)))
    assert path.read_bytes() == before


@pytest.mark.parametrize("tag", ["t", "pytest-irquality:bm25"])
@pytest.mark.parametrize(
    "odd", ["\n", "q1\u00a0 0 d 1 1 t\n", "other 0 d\x1c 1 1 t\r\n", "the first line"]
)
def test_many_lines_at_a_time_say_what_each_line_says(tmp_path: Path, tag: str, odd: str) -> None:
    lines = [
        f"later-{at // 40} Q0 d%20{at * 7919 % 9000:04} 1 {at * 31 % 700 / 8} {tag}\n"
        for at in range(9000)
    ]
    apart = [*lines[1:], lines[0]] if odd == "the first line" else [*lines, odd]
    rankings = []
    for name, written in (("alike.run", lines), ("odd.run", apart)):
        text = "".join(
            written
        )  # any odd line, or one away from its query's: each is read by itself
        (tmp_path / name).write_text(text, newline="")
        rankings.append(read_trec(tmp_path / name))
    alike, one_by_one = rankings
    assert sum(len(ranking.ids) for ranking in alike.values()) == 9000
    for query, ranking in alike.items():
        assert one_by_one[query] == ranking


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b"q 0 d 1 1\nt q 0 e 1 1 t\n",
            "a.run:1: 5 fields; a line is: query Q0 document rank score tag",
        ),
        ("q 0 d 1 \u0661 t\n".encode(), "a.run:1: the score '\u0661' is no number"),
        (b"q 0 \0 1 nan t\n", "a.run:1: the score 'nan' is no number"),
        (
            b"q 0 d 1 1 t\nq 0 d 1\n",
            "a.run:2: 4 fields; a line is: query Q0 document rank score tag",
        ),
        (b"q 0 d 1 x t\n", "a.run:1: the score 'x' is no number"),
        (b"q 0 d 1 nan t\n", "a.run:1: the score 'nan' is no number"),
        (b"q 0 d 1 1 t\nq 0 d 2 1 t\n", "a.run:2: the document 'd' stands twice in this query"),
        (b"q 0 \xff 1 1 t\n", "a.run: its ids are not UTF-8"),
    ],
)
def test_a_line_that_trec_eval_refuses_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "a.run").write_bytes(content)
    with pytest.raises(StoredRunError) as error:
        read_trec(tmp_path / "a.run", "a.run")
    assert str(error.value) == said


@pytest.mark.parametrize(
    "content", [b"\x1f\x8bno", gzip.compress(b"q 0 d 1 1 t\n" * 9, mtime=0)[:-9]]
)
def test_a_damaged_gzip_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.run.gz").write_bytes(content)
    with pytest.raises(StoredRunError, match=r"^a\.run\.gz:1: damaged gzip: "):
        read_trec(tmp_path / "a.run.gz", "a.run.gz")


def test_a_suite_is_judged_on_a_trec_file_and_what_it_lacks_scores_0_out_loud(
    project: Project,
) -> None:
    project.suite(
        "queries:\n  - {query: office chair, id: '1', relevant: [a]}\n  - {query: desk, id: '2', relevant: [b]}\n"
        "  - {query: zzz, id: '3', expect_no_results: true}\nmetrics: [mrr]\n"
    )
    run = project.path / "other.run"
    run.write_text("1 Q0 x 1 2.0 t\n1 Q0 a 2 2.0 t\n")
    result = project.run("--ir-runs=other.run")
    assert result.ret == 0
    result.stdout.fnmatch_lines([
        "  1 of 3 (33 %) queries returned nothing and score 0: 'desk'",
        "  other.run has nothing for 1 of 3 queries ('desk'), which therefore score 0",
    ])  # fmt: skip
    assert project.data["suites"][0]["means"][0]["value"] == 0.25

    project.run("--ir-runs=other.run", "--ir-save-runs=again.trec.gz")
    assert read_trec(project.path / "again.trec.gz")["1"].ids == ("x", "a")

    (project.path / "shop.run").write_text("9 Q0 x 1 2.0 t\n")
    result = project.run("--ir-runs=.")  # of several the one that bears the suite's name
    result.stdout.fnmatch_lines(["shop.run has no query of shop.ir.yaml: its ids are '9' ..."])
    (project.path / "shop.run").rename(project.path / "third.run")
    result = project.run("--ir-runs=.")
    result.stdout.fnmatch_lines(["more than one TREC run may be that of shop.ir.yaml: again.trec.gz, other.run, third.run; name one shop.run, or give it alone"])  # fmt: skip

    project.conftest(
        "@pytest.fixture(params=['bm25', 'hybrid'])\ndef retriever(request): raise OSError\n"
    )
    run.rename(project.path / "bm25.run")
    result = project.run("--ir-runs=bm25.run")
    result.assert_outcomes(passed=3, errors=3)
    result.stdout.fnmatch_lines(
        ["no kept run of shop.ir.yaml [[]hybrid] in bm25.run: there is bm25.run"]
    )


def test_what_looks_encoded_and_is_no_text_stays_as_it_stands(tmp_path: Path) -> None:
    """Found by the fuzz: a byte of UTF-8 alone, in a file that says it is ours."""
    path = tmp_path / "a.run"
    path.write_text("q%ee Q0 d%20%e9 1 1 pytest-irquality\nq%c3%a9 Q0 d 1 1 pytest-irquality\n")
    read = read_trec(path)
    assert {id: ranking.ids for id, ranking in read.items()} == {"q%ee": ("d%20%e9",), "qé": ("d",)}
