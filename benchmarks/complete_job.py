"""The complete job: a saved TREC run and qrels, read and evaluated, compared with other tools.

All read the same two files and compute ndcg@10, map@100, recall@100, precision@10 and mrr@10 for
each of 6,980 queries with 1,000 results, and their means. For this package that is pytest from its
start to the outcome, without other plugins. For a library only its calls count, and neither the
start of Python nor its import. The program ``trec_eval`` is looked for in the ``PATH``. Build it
with ``make CFLAGS='-O3 …'``, because its makefile does not optimize.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from statistics import median

from benchmarks.timing import (
    MB,
    Figure,
    Options,
    compute_ratio,
    make_pytest_command,
    run_benchmark,
    run_process,
)

QUERIES, SHORT_QUERIES, RESULTS = 6_980, 2_000, 1_000
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
# The imports of libraries, and the calls that are measured.
LIBRARIES = {
    "pytrec_eval": (
        "import pytrec_eval",
        """
names = {"ndcg_cut_10", "map_cut_100", "recall_100", "P_10", "recip_rank"}
with open("qrels.txt") as lines:
    qrels = pytrec_eval.parse_qrel(lines)
with open("saved.run") as lines:
    run = pytrec_eval.parse_run(lines)
values = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
for name in names:
    pytrec_eval.compute_aggregated_measure(name, [row[name] for row in values.values()])
""",
    ),
    "ir_measures": (
        "import ir_measures as ir",
        """
metrics = [ir.nDCG @ 10, ir.AP @ 100, ir.R @ 100, ir.P @ 10, ir.RR @ 10]
qrels = list(ir.read_trec_qrels("qrels.txt"))
run = list(ir.read_trec_run("saved.run"))
ir.calc(metrics, qrels, run)
""",
    ),
    "ranx": (
        "import ranx",
        """
names = ["ndcg@10", "map@100", "recall@100", "precision@10", "mrr@10"]
qrels = ranx.Qrels.from_file("qrels.txt", kind="trec")
run = ranx.Run.from_file("saved.run", kind="trec")
ranx.evaluate(qrels, run, names)
""",
    ),
}
TIMED_CALLS = """\
import time
{imports}
start = time.process_time()
{calls}
print(time.process_time() - start)
"""
PROGRAM = "trec_eval"
PROGRAM_METRICS = ("ndcg_cut.10", "map_cut.100", "recall.100", "P.10", "recip_rank")
# The key, what is added to the work, the work, the peer, and the target.
COMPARISONS = (
    ("no-page", "", "no page", "pytrec_eval", 1.0),
    ("page", " with the report", "page", "pytrec_eval", 1.25),
    ("ir_measures", "", "no page", "ir_measures", None),
    ("ranx", "", "no page", "ranx", None),
    ("trec_eval", "", "no page", PROGRAM, None),
)


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


def make_peer_commands() -> dict[str, list[str]]:
    """Return the commands of the peers that are installed."""
    commands = {}
    for name, (imports, calls) in LIBRARIES.items():
        if find_spec(name):
            script = TIMED_CALLS.format(imports=imports, calls=calls)
            commands[name] = [sys.executable, "-c", script]
    if which(PROGRAM):
        names = [part for name in PROGRAM_METRICS for part in ("-m", name)]
        commands[PROGRAM] = [PROGRAM, *names, "qrels.txt", "saved.run"]
    missing = {*LIBRARIES, PROGRAM} - commands.keys()
    if missing:
        print(f"Left out, because they are not installed: {', '.join(sorted(missing))}")
    return commands


def measure(options: Options) -> list[Figure]:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    pytest_command = make_pytest_command(
        "-p", "pytest_irquality.plugin.entry", "--ir-suite", "--ir-runs=saved.run"
    )
    peers = make_peer_commands()
    commands = {
        "no page": [*pytest_command, "--ir-report=none"],
        "page": [*pytest_command, "--ir-report=report.html"],
        **peers,
    }
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    peak = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, SHORT_QUERIES if options.short else QUERIES)
        for _ in range(options.rounds):
            for contender, command in commands.items():
                usage = run_process(command, folder)
                if contender in LIBRARIES:
                    output = (folder / "output.txt").read_text()
                    cpu[contender].append(float(output.split()[-1]))
                else:
                    cpu[contender].append(usage.cpu)
                if contender == "page":
                    peak = max(peak, usage.memory / MB)
    work = f"evaluate a saved TREC run, {QUERIES:,} queries × {RESULTS:,} results"
    figures = []
    for key, label, contender, peer, target in COMPARISONS:
        if peer in peers:
            figures.append(
                Figure(
                    f"complete-job-{key}",
                    work + label,
                    f"calls of {peer}" if peer in LIBRARIES else f"{peer}, in C",
                    compute_ratio(cpu[contender], cpu[peer]),
                    target,
                    seconds=median(cpu[contender]),
                )
            )
    if not options.short:
        memory = Figure("complete-job-memory", f"memory to {work}", "", peak, 600, "MB")
        figures.append(memory)
    return figures


if __name__ == "__main__":
    run_benchmark(__doc__, measure, rounds=3)
