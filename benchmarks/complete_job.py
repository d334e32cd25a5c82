"""The complete job: a saved TREC run and qrels, read and evaluated, compared with pytrec_eval.

Both read the same two files and compute ndcg@10, map@100, recall@100, precision@10 and mrr@10 for
each of 6,980 queries with 1,000 results, and their means. For this package that is pytest from its
start to the outcome, without other plugins; for pytrec_eval only its calls count, and neither the
start of Python nor its import.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.timing import (
    MB,
    Figure,
    Options,
    Usage,
    compute_ratio,
    make_pytest_command,
    run_benchmark,
    run_process,
)

QUERIES, SHORT_QUERIES, RESULTS = 6_980, 1_000, 1_000
DOCUMENTS = 500_000

SUITE = f"""\
top_k: 10
depth: {RESULTS}
metrics: [ndcg@10, map@100, recall@100, precision@10, mrr@10]
thresholds: {{ndcg@10: 0.01}}
queries: topics.tsv
judgments: qrels.txt
"""
CONFTEST = """\
import pytest

@pytest.fixture(scope="session")
def retriever():
    return lambda query, k: pytest.fail("The run is saved")
"""
PYTREC_EVAL = """\
import time
import pytrec_eval

start = time.process_time()
names = {"ndcg_cut_10", "map_cut_100", "recall_100", "P_10", "recip_rank"}
with open("qrels.txt") as lines:
    qrels = pytrec_eval.parse_qrel(lines)
with open("saved.run") as lines:
    run = pytrec_eval.parse_run(lines)
values = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
for name in names:
    pytrec_eval.compute_aggregated_measure(name, [row[name] for row in values.values()])
print(time.process_time() - start)
"""


def write_files(folder: Path, queries: int) -> None:
    """Write the run, the judgments and the suite. A few documents of each query are judged."""
    draw = random.Random(20240229)
    with (folder / "saved.run").open("w") as run, (folder / "qrels.txt").open("w") as qrels:
        for query in range(queries):
            start, step = draw.randrange(DOCUMENTS), draw.randrange(1, DOCUMENTS // RESULTS, 2)
            ranking = [f"doc-{(start + step * rank) % DOCUMENTS:07d}" for rank in range(RESULTS)]
            # Most of them are near the top.
            ranks = {int(RESULTS * draw.random() ** 3) for _ in range(draw.randint(1, 12))}
            for rank in sorted(ranks):
                qrels.write(f"{query} 0 {ranking[rank]} {draw.randint(0, 3)}\n")
            qrels.write(f"{query} 0 missing-{query} 1\n")
            run.writelines(
                f"{query} Q0 {doc_id} {rank} {1000 - rank / 7:.4f} bm25\n"
                for rank, doc_id in enumerate(ranking, start=1)
            )
    topics = [f"{query}\tsome words of query {query}\n" for query in range(queries)]
    (folder / "topics.tsv").write_text("".join(topics))
    (folder / "complete.ir.yaml").write_text(SUITE)
    (folder / "conftest.py").write_text(CONFTEST)


def measure(options: Options) -> list[Figure]:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    pytest_command = make_pytest_command(
        "-p", "pytest_irquality.plugin.entry", "--ir-suite", "--ir-runs=saved.run"
    )
    commands = {
        "pytrec_eval": [sys.executable, "-c", PYTREC_EVAL],
        "no page": [*pytest_command, "--ir-report=none"],
        "page": [*pytest_command, "--ir-report=report.html"],
    }
    usages: dict[str, list[Usage]] = {name: [] for name in commands}
    peer_seconds = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, SHORT_QUERIES if options.short else QUERIES)
        for _ in range(options.rounds):
            for contender, command in commands.items():
                usages[contender].append(run_process(command, folder))
                if contender == "pytrec_eval":
                    peer_seconds.append(float((folder / "output.txt").read_text()))
    work = f"evaluate a saved TREC run, {QUERIES:,} queries × {RESULTS:,} results"
    figures = []
    for key, label, target in (("no page", "", 1.0), ("page", " with the report", 1.25)):
        cpu = [usage.cpu for usage in usages[key]]
        ratio = compute_ratio(cpu, peer_seconds)
        figures.append(
            Figure(
                f"complete-job-{key.replace(' ', '-')}",
                work + label,
                "pytrec_eval's own calls",
                ratio,
                target=target,
                seconds=median(cpu),
            )
        )
    if not options.short:
        peak = max(usage.memory for usage in usages["page"]) / MB
        memory = Figure("complete-job-memory", f"memory to {work}", "", peak, 600, "MB")
        figures.append(memory)
    return figures


if __name__ == "__main__":
    run_benchmark(__doc__, measure, rounds=3)
