"""The cost of 10,000 probes of 5,000 documents, compared with a program that only searches.

The engine is the full-text search of SQLite. The program builds the same index and sends the same
texts in a loop. Reading the catalog, making the probes, the items and the report are the rest. No
page is written.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.timing import (
    Figure,
    Options,
    compute_ratio,
    make_pytest_command,
    run_benchmark,
    run_in_turns,
)
from pytest_irquality.suite.parser import load_suite

DOCUMENTS, SHORT_DOCUMENTS = 5_000, 500
WORDS = 20_000  # of the language, in which a word is the rarer the higher its number is
TITLE_LENGTH, TEXT_LENGTH = 6, 120  # words

ENGINE = """\
import json
import re
import sqlite3


def open_search():
    index = sqlite3.connect(":memory:")
    index.execute("create virtual table shop using fts5(id unindexed, title, text)")
    for line in open("catalog.jsonl"):
        index.execute("insert into shop values (:id, :title, :text)", json.loads(line))

    def search(query, k):
        words = " OR ".join(re.findall(r"\\w+", query))
        sql = "select id, title from shop where shop match ? order by rank limit ?"
        return index.execute(sql, (words, k)).fetchall()

    return search
"""
CONFTEST = """\
import pytest
from engine import open_search


@pytest.fixture(scope="session")
def retriever():
    search = open_search()
    return lambda query, k: [{"id": id, "title": title} for id, title in search(query, k)]
"""
LOOP = """\
import json
from engine import open_search

search = open_search()
for query in json.load(open("queries.json")):
    search(query, 10)
"""
SUITE = """\
probes: {{from: catalog.jsonl, by: {{title: whole, text: quote}}, sample: {count}}}
thresholds: {{success@10: 0.5}}
"""


def write_project(folder: Path, count: int) -> int:
    """Write a catalog, a suite and both programs, and return the number of probes."""
    chance = random.Random(1)
    vocabulary = [f"w{number}" for number in range(WORDS)]
    weights = [1 / (number + 10) for number in range(WORDS)]
    lines = []
    for number in range(count):
        words = chance.choices(vocabulary, weights, k=TITLE_LENGTH + TEXT_LENGTH)
        title, text = " ".join(words[:TITLE_LENGTH]), " ".join(words[TITLE_LENGTH:])
        lines.append(json.dumps({"id": f"d{number}", "title": title, "text": text}) + "\n")
    files = {
        "catalog.jsonl": "".join(lines),
        "engine.py": ENGINE,
        "conftest.py": CONFTEST,
        "loop.py": LOOP,
        "probes.ir.yaml": SUITE.format(count=count),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    suite = load_suite(folder / "probes.ir.yaml", root=folder)
    (folder / "queries.json").write_text(json.dumps([query.text for query in suite.queries]))
    return len(suite.queries)


def measure(options: Options) -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = write_project(folder, SHORT_DOCUMENTS if options.short else DOCUMENTS)
        session = make_pytest_command("--ir-suite", "--ir-report=none", "probes.ir.yaml")
        commands = {"loop": ([sys.executable, "loop.py"], folder), "session": (session, folder)}
        usages = run_in_turns(commands, options.rounds, warm=options.short)
    session_cpu = [usage.cpu for usage in usages["session"]]
    ratio = compute_ratio(session_cpu, [usage.cpu for usage in usages["loop"]])
    work = f"{count:,} probes on the full-text search of SQLite"
    peer = "a program that only searches"
    return [Figure("probes", work, peer, ratio, target=1.1, seconds=median(session_cpu))]


if __name__ == "__main__":
    run_benchmark(__doc__, measure, rounds=3)
