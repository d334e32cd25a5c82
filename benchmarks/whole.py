"""The whole job: a kept TREC run and qrels, read and judged, beside those who do the same.

    python benchmarks/whole.py [--queries 6980] [--results 1000] [--rounds 3] [--trec-eval PATH]

Everybody reads the same two files and computes ndcg@10, map@100, recall@100, precision@10 and
mrr@10 of each query and their means, in a process of its own, in turns. For this package that
process is pytest, from its start to the verdict, without other plugins that may be installed; with
the page it writes the report, too. "calls alone" leaves out what Python and imports cost: the time
that a peer's own calls take, reading included. Ratios are of the processor's time. ``--trec-eval``
is the program, or the folder of its sources, which is then built there with ``make``.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from beside import MB, Spent, process, pytest_command, ratio

OURS = "this package, with the page"
PEER = "pytrec_eval"
DOCUMENTS = 500_000

SUITE = """\
top_k: 10
depth: {results}
metrics: [ndcg@10, map@100, recall@100, precision@10, mrr@10]
thresholds: {{ndcg@10: 0.01}}
queries: topics.tsv
judgments: qrels.txt
"""

TIMED = """
import time
{imports}
start = time.process_time()
{calls}
print(time.process_time() - start)
"""

PEERS = {
    PEER: (
        "import pytrec_eval",
        """
names = {"ndcg_cut_10", "map_cut_100", "recall_100", "P_10", "recip_rank"}
with open("qrels.txt") as lines:
    qrels = pytrec_eval.parse_qrel(lines)
with open("kept.run") as lines:
    run = pytrec_eval.parse_run(lines)
values = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
for name in names:
    pytrec_eval.compute_aggregated_measure(name, [row[name] for row in values.values()])
""",
    ),
    "ir_measures": (
        "import ir_measures as ir",
        """
measures = [ir.nDCG @ 10, ir.AP @ 100, ir.R @ 100, ir.P @ 10, ir.RR @ 10]
qrels = list(ir.read_trec_qrels("qrels.txt"))
run = list(ir.read_trec_run("kept.run"))
ir.calc(measures, qrels, run)
""",
    ),
    "ranx": (
        "import ranx",
        """
names = ["ndcg@10", "map@100", "recall@100", "precision@10", "mrr@10"]
qrels = ranx.Qrels.from_file("qrels.txt", kind="trec")
run = ranx.Run.from_file("kept.run", kind="trec")
ranx.evaluate(qrels, run, names)
""",
    ),
}
TREC_EVAL = ("-q", "-m", "ndcg_cut.10", "-m", "map_cut.100", "-m", "recall.100", "-m", "P.10")


def make(folder: Path, queries: int, results: int) -> None:
    """The files: a few judged documents a query, more of them near the top."""
    draw = random.Random(20240229)

    def rows() -> Iterator[tuple[str, str]]:
        for number in range(queries):
            start, step = draw.randrange(DOCUMENTS), draw.randrange(1, DOCUMENTS // results, 2)
            ranking = [f"doc-{(start + step * place) % DOCUMENTS:07d}" for place in range(results)]
            near = {int(results * draw.random() ** 3) for _ in range(draw.randint(1, 12))}
            judged = {ranking[place]: draw.randint(0, 3) for place in sorted(near)}
            judged[f"lost-{number}"] = 1
            run = "".join(
                f"{number} Q0 {document} {rank} {1000 - rank / 7:.4f} bm25\n"
                for rank, document in enumerate(ranking, 1)
            )
            lines = (f"{number} 0 {document} {grade}\n" for document, grade in judged.items())
            qrels = "".join(lines)
            yield run, qrels

    with (folder / "kept.run").open("w") as kept, (folder / "qrels.txt").open("w") as qrels:
        for of_run, of_qrels in rows():
            kept.write(of_run)
            qrels.write(of_qrels)
    topics = "".join(f"{number}\tsome words of query {number}\n" for number in range(queries))
    (folder / "topics.tsv").write_text(topics)
    (folder / "whole.ir.yaml").write_text(SUITE.format(results=results))
    (folder / "conftest.py").write_text(
        'import pytest\n\n@pytest.fixture(scope="session")\ndef retriever():\n'
        '    return lambda query, k: pytest.fail("the run is kept")\n'
    )


def commands(trec_eval: Path | None) -> dict[str, list[str]]:
    """What each contender starts."""
    judge = pytest_command("-p", "irquality", "--ir-suite", "--ir-runs=kept.run")
    found = {
        OURS: [*judge, "--ir-report=report.html"],
        "this package, no page": [*judge, "--ir-report=none"],
    }
    for name, (imports, calls) in PEERS.items():
        if find_spec(name):
            found[name] = [sys.executable, "-c", TIMED.format(imports=imports, calls=calls)]
    if trec_eval:
        found["trec_eval"] = [str(trec_eval), *TREC_EVAL, "qrels.txt", "kept.run"]
    return found


def built(path: Path | None) -> Path | None:
    """The program trec_eval; built first where its sources are given."""
    if path is not None and path.is_dir():
        subprocess.run(["make", "-C", str(path)], check=True, capture_output=True)
        return (path / "trec_eval").resolve()
    return path and path.resolve()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=6_980)
    parser.add_argument("--results", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trec-eval", type=Path)
    parser.add_argument("--only", help="contenders whose name contains one of these (a,b)")
    chosen = parser.parse_args()
    contenders = commands(built(chosen.trec_eval))
    if chosen.only:
        parts = chosen.only.split(",")
        contenders = {
            name: command
            for name, command in contenders.items()
            if any(part in name for part in parts)
        }
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    taken: dict[str, list[Spent]] = {name: [] for name in contenders}
    calls: dict[str, list[float]] = {name: [] for name in contenders}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, chosen.queries, chosen.results)
        for _ in range(chosen.rounds):
            for contender, command in contenders.items():
                taken[contender].append(process(command, folder))
                if contender in PEERS:
                    last = (folder / "output.txt").read_text().splitlines()[-1]
                    calls[contender].append(float(last))
    report(taken, calls, f"{chosen.queries:,} queries × {chosen.results:,} results")


def report(taken: dict[str, list[Spent]], calls: dict[str, list[float]], size: str) -> None:
    """Medians, and how many times the CPU of pytrec_eval's calls alone, turn by turn."""
    peer = calls.get(PEER) or [spent.cpu for spent in next(iter(taken.values()))]
    print(f"### {size}\n")
    print("| | process, s | CPU, s | calls alone, s | peak, MB | CPU ÷ pytrec_eval's calls |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, spent in taken.items():
        whole = [one.seconds for one in spent]
        cpu = [one.cpu for one in spent]
        alone = f"{median(calls[name]):.2f}" if calls[name] else ""
        print(
            f"| {name} | {median(whole):.2f} | {median(cpu):.2f} | {alone} |"
            f" {median(one.memory for one in spent) / MB:,.0f} | {ratio(cpu, peer):.2f} |"
        )


if __name__ == "__main__":
    main()
