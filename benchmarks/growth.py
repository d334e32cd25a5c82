"""How the cost grows if the work doubles along one axis: queries, tags, judgments and others.

Every axis is a project that is run by pytest with a page, compared with a baseline from which a
third of the rankings differ. The work doubles three times. The ratio is that of the last doubling,
without the start of Python and of pytest; a ratio above 2.2 fails. 40,000 queries written in one
suite are the largest size of the axis "items".
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.timing import Figure, Options, make_pytest_command, run_benchmark, run_process

MAX_RATIO = 2.2
DOUBLINGS, SHORT_DOUBLINGS = 3, 1
SHORT_DIVISOR = 4
CORES = 2
BEFORE = "BENCHMARK_BEFORE"

HEAD = "metrics: [ndcg@10, recall@100]\nthresholds: {ndcg@10: {max_drop: 0.9}}\n"
# Before the change, a third of the rankings begins with their third document.
CONFTEST = f"""\
import json
import os
from pathlib import Path
from zlib import crc32

import pytest

RETRIEVERS = [f"r{{number}}" for number in range(int(Path("retrievers.txt").read_text()))]
IS_BEFORE = bool(os.environ.get("{BEFORE}"))


@pytest.fixture(scope="session", params=RETRIEVERS if len(RETRIEVERS) > 1 else None)
def retriever(request):
    answers = json.loads(Path("answers.json").read_text())
    default = answers.pop("", [])

    def search(query, k):
        hits = answers.get(query, default)[:k]
        is_other = IS_BEFORE and crc32(query.encode()) % 3 == 0
        return hits[2:] + hits[:2] if is_other else hits

    return search
"""


@dataclass(frozen=True)
class Axis:
    """One way in which a project grows.

    Attributes:
        write: Writes the files of a project of some size into a folder.
        first_size: The smallest size.
        unit: What the size counts.
        arguments: More arguments of pytest.
        has_baseline: Whether a baseline is recorded first.
    """

    write: Callable[[Path, int], None]
    first_size: int
    unit: str
    arguments: tuple[str, ...] = ()
    has_baseline: bool = True


def write_project(
    folder: Path, suites: dict[str, str], answers: dict[str, object], retrievers: int = 1
) -> None:
    """Write suites and what the retriever returns. The answer to "" is that to other queries."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "retrievers.txt").write_text(str(retrievers))
    (folder / "answers.json").write_text(json.dumps(answers))
    for name, text in suites.items():
        (folder / name).write_text(text)


def list_docs(count: int) -> list[str]:
    return [f"d{number}" for number in range(count)]


def write_inline(texts: Iterable[str], head: str = HEAD, more: str = "") -> str:
    """Write a suite with queries that have five relevant documents each."""
    lines = [head, "queries:\n"]
    for text in texts:
        lines.append(f"  - query: {text}\n    relevant: [d0, d3, d5, d7, e1]\n{more}")
    return "".join(lines)


def list_texts(count: int) -> list[str]:
    return [f"words of query {number}" for number in range(count)]


def grow_queries(folder: Path, size: int) -> None:
    rows = [json.dumps({"query": text, "relevant": ["d1", "d9"]}) for text in list_texts(size)]
    (folder / "queries.jsonl").write_text("\n".join(rows))
    suites = {"s.ir.yaml": f"{HEAD}queries: queries.jsonl\n"}
    write_project(folder, suites, {"": list_docs(20)})


def grow_items(folder: Path, size: int) -> None:
    text = write_inline(list_texts(size), more="    must_find: [d5]\n")
    write_project(folder, {"s.ir.yaml": text}, {"": list_docs(20)})


def grow_tags(folder: Path, size: int) -> None:
    lines = ["each_tag: {recall@10: {max_drop: 0.9}}\n", HEAD, "queries:\n"]
    for number in range(size):
        lines.append(f"  - query: words {number}\n    tags: [t{number}, u{number}]\n")
        lines.append(f"    relevant: [d1, e{number}]\n")
    write_project(folder, {"s.ir.yaml": "".join(lines)}, {"": list_docs(20)})


def grow_variants(folder: Path, size: int) -> None:
    lines = [HEAD, "queries:\n"]
    for number in range(10):
        variants = ", ".join(f"query {number} variant {variant}" for variant in range(size // 10))
        lines.append(f"  - query: query {number}\n    relevant: [d1, d5]\n")
        lines.append(f"    variants: [{variants}]\n")
    write_project(folder, {"s.ir.yaml": "".join(lines)}, {"": list_docs(20)})


def grow_judgments(folder: Path, size: int) -> None:
    topics = [f"{number}\t{text}\n" for number, text in enumerate(list_texts(1_000))]
    (folder / "topics.tsv").write_text("".join(topics))
    qrels = []
    for query in range(1_000):
        qrels += [f"{query} 0 d{number} {(number + 1) % 3}\n" for number in range(size // 1_000)]
    (folder / "qrels.txt").write_text("".join(qrels))
    suites = {"s.ir.yaml": f"{HEAD}queries: topics.tsv\njudgments: qrels.txt\n"}
    write_project(folder, suites, {"": list_docs(20)})


def grow_suites(folder: Path, size: int) -> None:
    suites = {}
    for number in range(size):
        texts = [f"query {query} of suite {number}" for query in range(10)]
        suites[f"s{number}.ir.yaml"] = write_inline(texts)
    write_project(folder, suites, {"": list_docs(20)})


def grow_retrievers(folder: Path, size: int) -> None:
    suites = {"s.ir.yaml": write_inline(list_texts(50))}
    write_project(folder, suites, {"": list_docs(20)}, retrievers=size)


def grow_results(folder: Path, size: int) -> None:
    text = write_inline(list_texts(100), f"depth: {size}\n{HEAD}")
    write_project(folder, {"s.ir.yaml": text}, {"": list_docs(size)})


def grow_repeats(folder: Path, size: int) -> None:
    text = write_inline(list_texts(200), f"repeat: {size}\n{HEAD}")
    write_project(folder, {"s.ir.yaml": text}, {"": list_docs(20)})


def grow_corpus(folder: Path, size: int) -> None:
    filler = "some other words that a chunk has as well "
    rows = []
    for number in range(size):
        text = f"{filler * 10} chunk {number} says the answer {number % 100} here {filler * 10}"
        rows.append(json.dumps({"id": f"c{number}", "text": text}))
    (folder / "corpus.jsonl").write_text("\n".join(rows))
    lines = ["match: text\ncorpus: {files: corpus.jsonl}\n", HEAD, "queries:\n"]
    for number in range(100):
        lines.append(f"  - query: words of query {number}\n")
        lines.append(f"    relevant: [says the answer {number} here, says nothing of {number}]\n")
    hits = [json.loads(row) for row in rows[:10]]
    write_project(folder, {"s.ir.yaml": "".join(lines)}, {"": hits})


def grow_run(folder: Path, size: int) -> None:
    queries = size // 1_000
    with (folder / "saved.run").open("w") as file:
        for query in range(queries):
            for rank in range(1, 1_001):
                file.write(f"{query} Q0 d{rank} {rank} {1000 - rank / 7:.4f} bm25\n")
    topics = [f"{number}\t{text}\n" for number, text in enumerate(list_texts(queries))]
    (folder / "topics.tsv").write_text("".join(topics))
    qrels = [f"{query} 0 d{query % 50} 1\n" for query in range(queries)]
    (folder / "qrels.txt").write_text("".join(qrels))
    suites = {"s.ir.yaml": f"depth: 1000\n{HEAD}queries: topics.tsv\njudgments: qrels.txt\n"}
    write_project(folder, suites, {"": []})


AXES = {
    "queries": Axis(grow_queries, 2_000, "queries from a file"),
    "items": Axis(grow_items, 5_000, "queries in the suite"),
    "tags": Axis(grow_tags, 500, "queries with two tags of their own"),
    "variants": Axis(grow_variants, 1_000, "variants"),
    "judgments": Axis(grow_judgments, 250_000, "judgments"),
    "suites": Axis(grow_suites, 40, "suites"),
    "retrievers": Axis(grow_retrievers, 10, "retrievers"),
    "results": Axis(grow_results, 1_250, "results of 100 queries"),
    "repeats": Axis(grow_repeats, 16, "repeats of 200 queries"),
    "corpus": Axis(grow_corpus, 2_500, "documents of a corpus"),
    "run": Axis(
        grow_run, 500_000, "lines of a TREC run", ("--ir-runs=saved.run",), has_baseline=False
    ),
}


class Project:
    """A project of some size, in which a baseline is recorded if the axis needs one."""

    def __init__(self, axis: Axis, size: int, folder: Path) -> None:
        self.folder = folder
        self.command = make_pytest_command("--ir-suite", "-p", "no:random_order", *axis.arguments)
        self.seconds: list[float] = []
        folder.mkdir()
        axis.write(folder, size)
        if axis.has_baseline:
            update = [*self.command, "--ir-update-baseline", "--ir-report=none"]
            run_process(update, folder, {BEFORE: "1"})

    def run(self) -> None:
        """Run the project once more, with a page."""
        usage = run_process([*self.command, "--ir-report=report.html"], self.folder)
        self.seconds.append(usage.cpu)


def measure_start(folder: Path, rounds: int) -> float:
    """Return the seconds of the processor that the smallest project takes."""
    project = Project(AXES["queries"], 1, folder / "start")
    for _ in range(rounds):
        project.run()
    return median(project.seconds)


def measure_axis(name: str, options: Options, folder: Path, start: float) -> Figure:
    """Measure an axis: the two largest sizes in turns, the smaller ones once."""
    axis = AXES[name]
    first_size, doublings = axis.first_size, DOUBLINGS
    if options.short:
        first_size, doublings = max(axis.first_size // SHORT_DIVISOR, 2), SHORT_DOUBLINGS
    sizes = [first_size * 2**number for number in range(doublings + 1)]
    projects = [Project(axis, size, folder / f"{name}-{size}") for size in sizes]
    for project in projects[:-2]:
        project.run()
    for _ in range(options.rounds):
        for project in projects[-2:]:
            project.run()
    seconds = [median(project.seconds) - start for project in projects]
    shown = ", ".join(f"{size:,}: {cost:.2f} s" for size, cost in zip(sizes, seconds, strict=True))
    print(f"{name}: {shown}", flush=True)
    return Figure(
        f"growth-{name}",
        f"{axis.first_size * 2**DOUBLINGS:,} {axis.unit}",
        "half as many",
        # A small size costs no more than the start differs from run to run.
        seconds[-1] / max(seconds[-2], 0.01),
        target=MAX_RATIO,
        seconds=seconds[-1],
    )


def measure(options: Options) -> list[Figure]:
    names = [name for name in AXES if options.only in name]
    if not names:
        return []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start = measure_start(folder, options.rounds)
        # Most of the time goes to projects that run in processes of their own, one on each core.
        with ThreadPoolExecutor(CORES) as pool:
            figures = list(pool.map(lambda name: measure_axis(name, options, folder, start), names))
    print(f"median of the ratios: {median(figure.value for figure in figures):.2f}")
    steep = [figure.key for figure in figures if figure.value > MAX_RATIO]
    if steep:
        print(f"Steeper than {MAX_RATIO}: {', '.join(steep)}")
    return figures


if __name__ == "__main__":
    run_benchmark(__doc__, measure, rounds=3)
