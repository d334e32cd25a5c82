"""Inputs without end, for every reader: ``python -m tests.fuzz N [--seed S] [--pytest M]``.

A third of the cases is valid, and must be accepted and come back as it was. A third is broken at one known line, and
must be refused there. A third is mutated at will, and must be read or refused, a mistake a line. Nothing may end in a
traceback or take ten seconds. ``--pytest M`` also runs M mutated suites through pytest. In the end it reports, by
reader, how many were accepted and which share of the reader's lines were run in a sample.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, SimpleNamespace
from typing import Any

from pytest_irquality import SuiteError, load_suite
from pytest_irquality.retrieval.results import read_result
from pytest_irquality.retrieval.run import Answer, Ranking, Run
from pytest_irquality.retrieval.wrappers import UnreadableResult
from pytest_irquality.storage.jsonl import read_run, write_run
from pytest_irquality.storage.stored import Header, StoredRunError, stored_run
from pytest_irquality.storage.trec import read_trec, write_trec
from pytest_irquality.suite import Query, Suite
from tests.fuzz.suites import Dice, said, suite, text, words
from tests.test_fuzz import MUTATIONS, WHOLE

PACKAGE = str(Path(__file__).parents[2] / "pytest_irquality")
SLOW = 10.0
BATCH = 100  # suites of one run of pytest, whose summary takes the square of its failures
SAMPLE = 60  # every so many cases the lines that run are noted


class Wrong(Exception):
    """A case that was read otherwise than it should be."""


Grades = dict[str, dict[str, float]]


def judged(dice: Dice) -> Grades:
    """Grades by document by query."""
    return {q: {d: float(dice.randint(-1, 4)) for d in words(dice)} for q in words(dice, 4)}


# -- one reader each: write a valid file and say what it should be read as; break one at a line --------------------------


def read_suite(path: Path, expected: Any) -> Any:
    return said(load_suite(path, shown=path.name), expected)


def judgments_in(write: Callable[[Grades], str]) -> Callable[[Dice], tuple[str, Any]]:
    def make(dice: Dice) -> tuple[str, Any]:
        grades = judged(dice)
        return write(grades), grades

    return make


def rows(grades: Grades) -> Iterator[tuple[str, str, float]]:
    for query, documents in grades.items():
        for document, grade in documents.items():
            yield query, document, grade


def as_trec(grades: Grades) -> str:
    return "".join(f"{q} 0 {d} {g:g}\n" for q, d, g in rows(grades))


def as_beir(grades: Grades) -> str:
    return "query-id\tcorpus-id\tscore\n" + "".join(
        f"{q}\t{d}\t{g:g}\n" for q, d, g in rows(grades)
    )


def as_csv(grades: Grades) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([("query_id", "docid", "grade"), *rows(grades)])
    return file.getvalue()


def as_jsonl(grades: Grades) -> str:
    lines = ({"qid": q, "docid": d, "grade": g} for q, d, g in rows(grades))
    return "".join(json.dumps(line) + "\n" for line in lines)


def reads_judgments(name: str) -> Callable[[Path, Any], Any]:
    def read(path: Path, _: Any) -> Any:
        ids = list(json.loads((path.parent / "ids.json").read_text()))
        queries = (
            ", ".join(json.dumps({"query": f"text {id}", "id": id}) for id in ids)
            or "{query: none}"
        )
        suite = path.parent / "s.ir.yaml"
        suite.write_text(
            f"queries: [{queries}]\njudgments: {{file: {path.name}, format: {name}}}\n"
        )
        found = load_suite(suite, shown=suite.name).queries
        return {q.id: dict(q.judgments.grades) for q in found if q.id in ids and q.judgments.grades}

    return read


def ranked(dice: Dice) -> tuple[Suite, Run]:
    queries = tuple(Query(id, text(dice)) for id in words(dice))
    rankings = {}
    for query in queries:
        ids = tuple(words(dice, 9))
        scores = tuple(float(len(ids) - n) for n in range(len(ids)))
        rankings[query.id] = Ranking(ids, scores if dice.random() < 0.5 else None)
    return Suite("s", "s.ir.yaml", queries, depth=10), Run("", (Answer(rankings),))


def stored(dice: Dice) -> tuple[str, Any]:
    suite, run = ranked(dice)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "run.jsonl")
        write_run(path, stored_run(suite, run, Header("s", "s.ir.yaml", 10)))
        return path.read_text("utf-8"), {id: r.ids for id, r in run.first.rankings.items()}


def read_stored(path: Path, _: Any) -> Any:
    read = read_run(path, path.name).queries
    return {id: query.ranking.ids if query.ranking else None for id, query in read.items()}


def trec_run(dice: Dice) -> tuple[str, Any]:
    suite, run = ranked(dice)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "a.run")
        write_trec(path, suite, run)
        return path.read_text("utf-8"), {id: r.ids for id, r in run.first.rankings.items()}


def read_trec_run(path: Path, _: Any) -> Any:
    return {id: ranking.ids for id, ranking in read_trec(path, path.name).items()}


@dataclass(frozen=True)
class Reader:
    """How files of a kind are made, read and broken: ``broken`` is a line that no such file may hold."""

    make: Callable[[Dice], tuple[str, Any]]
    read: Callable[[Path, Any], Any]
    broken: tuple[str, ...]
    modules: tuple[str, ...]
    suffix: str
    first: int = 0  # lines before the first that may be broken


READERS = {
    "suite": Reader(suite, read_suite, ("weigth: 1", "\t- x", "@x", "%x: 1", "suite: [a]"), ("suite/yaml", "suite/reader", "suite/keys", "suite/limit_reader", "suite/rules", "suite/values"), ".ir.yaml"),
    "trec": Reader(judgments_in(as_trec), reads_judgments("trec"), ("a b c", "a 0 d x", "a"), ("suite/files/formats", "suite/files/judgment_files"), ".trec"),
    "beir": Reader(judgments_in(as_beir), reads_judgments("beir"), ("a\tb", "a\tb\tx"), ("suite/files/formats",), ".tsv", 1),
    "csv": Reader(judgments_in(as_csv), reads_judgments("csv"), ("a,b", "a,b,x", "a,b,1,z"), ("suite/files/formats",), ".csv", 1),
    "jsonl": Reader(judgments_in(as_jsonl), reads_judgments("jsonl"), ("{", "[]", '{"qid": 1}', '{"a": 1, "a": 2}', '{"qid": "a", "docid": "b", "grade": NaN}'), ("suite/files/formats",), ".jsonl"),
    "stored run": Reader(stored, read_stored, ("{", "[]", '{"id": 5}', '{"id": "a", "query": "b", "docs": 3}', "<<<<<<< a"), ("storage/jsonl", "storage/stored"), ".jsonl", 1),
    "trec run": Reader(trec_run, read_trec_run, ("a Q0 d 1 1", "a Q0 d 1 nan t", "a Q0 d 1 x t"), ("storage/trec",), ".run"),
}  # fmt: skip
REFUSALS = (SuiteError, StoredRunError, UnreadableResult)


# -- results of retrievers -----------------------------------------------------------------------------------------------


def returned(dice: Dice, ids: list[str]) -> Any:
    """The same documents in one of the shapes that engines give."""
    shapes: list[Callable[[], Any]] = [
        lambda: ids,
        lambda: tuple(ids),
        lambda: [(id, 1.0) for id in ids],
        lambda: [{"id": id, "score": 1.0, "title": "t"} for id in ids],
        lambda: {"hits": {"hits": [{"_id": id, "_score": 1.0, "_source": {}} for id in ids]}},
        lambda: (id for id in ids),
        lambda: [(1.0, id) for id in ids],
        lambda: {"ids": [ids], "distances": [[0.1] * len(ids)]},
        lambda: [[{"corpus_id": id, "score": 0.7} for id in ids]],
        lambda: {
            "documents": [SimpleNamespace(id=id, content="x", meta={}, score=1.0) for id in ids]
        },
        lambda: SimpleNamespace(
            points=[SimpleNamespace(id=id, score=1.0, payload={}) for id in ids]
        ),
        lambda: {"matches": [{"id": id, "score": 1.0} for id in ids]},
        lambda: [SimpleNamespace(node=SimpleNamespace(node_id=id), score=1.0) for id in ids],
        lambda: {"hits": [{"document": {"id": id}, "text_match": 1} for id in ids]},
        lambda: [{"ref": id, "score": 7.4, "match_data": {}} for id in ids],
    ]
    return dice.choice(shapes)()


def odd(dice: Dice, depth: int = 0) -> Any:
    """Any object at all."""
    leaves: list[Any] = [
        None,
        True,
        -1,
        1e999,
        float("nan"),
        "",
        "x",
        b"x",
        object(),
        10**400,
        "\ud800",
        {},
        [],
    ]
    if depth > 3 or dice.random() < 0.4:
        return dice.choice(leaves)
    if dice.random() < 0.5:
        return [odd(dice, depth + 1) for _ in range(dice.randint(0, 4))]
    keys = ("id", "_id", "hits", "score", "text", "metadata", "results", "x")
    return {dice.choice(keys): odd(dice, depth + 1) for _ in range(dice.randint(0, 4))}


def results_case(dice: Dice, kind: int) -> bool:
    if kind == 0:
        ids = words(dice)
        if (read := read_result(returned(dice, ids), 10).ids) != tuple(ids):
            raise Wrong(f"{ids} was read as {read}")
        return True
    try:
        read_result(odd(dice), 10)
    except UnreadableResult:
        return False
    return True


# -- the cases ------------------------------------------------------------------------------------------------------------


def differences(expected: Any, read: Any) -> str:
    """Where two values differ, as deep as both are mappings."""
    if isinstance(expected, dict) and isinstance(read, dict):
        names = [name for name in {**expected, **read} if expected.get(name) != read.get(name)]
        return "; ".join(f"{name}: {differences(expected.get(name), read.get(name))}" for name in names)  # fmt: skip
    return f"{expected!r} was read as {read!r}"


def file_case(reader: Reader, folder: Path, dice: Dice, kind: int) -> bool:
    """Whether the case was accepted. Raises ``Wrong``."""
    content, expected = reader.make(dice)
    path = folder / f"case{reader.suffix}"
    (folder / "ids.json").write_text(json.dumps(list(expected.get("queries", expected))))
    if kind == 0:
        path.write_text(content, encoding="utf-8")
        if (read := reader.read(path, expected)) != expected:
            raise Wrong(differences(expected, read))
        return True
    if kind == 1:
        return broken_case(reader, path, content, expected, dice)
    data = bytearray(
        content.encode() if dice.random() < 0.7 or reader.suffix != ".ir.yaml" else WHOLE
    )
    for _ in range(dice.choice([1, 1, 2, 3, 6])):
        dice.choice(MUTATIONS)(dice, data)
    path.write_bytes(data)
    try:
        reader.read(path, expected)
    except REFUSALS as error:
        lines = str(error).split("\n")
        if len(lines) > 11 or not all(map(str.isprintable, lines)):
            raise Wrong(f"not a few printable lines: {error}") from None
        return False
    return True


def broken_case(reader: Reader, path: Path, content: str, expected: Any, dice: Dice) -> bool:
    lines = content.splitlines()
    places = [n for n in range(reader.first, len(lines) + 1) if n == len(lines) or lines[n]]
    at = dice.choice(places[:-1] or places) if reader.suffix == ".jsonl" else dice.choice(places)
    lines.insert(at, dice.choice(reader.broken))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    try:
        reader.read(path, expected)
    except REFUSALS as error:
        # YAML often notices one line later that the line before it was wrong.
        near = range(at + 1, at + 3) if reader.suffix == ".ir.yaml" else range(at + 1, at + 2)
        if not any(f"{path.name}:{line}:" in str(error) for line in near):
            raise Wrong(f"broken on line {at + 1}, and said: {error}") from None
        return False
    raise Wrong(f"accepted although line {at + 1} is {lines[at]!r}")


def one(name: str, folder: Path, seed: str, kind: int) -> bool:
    dice = random.Random(seed)
    return results_case(dice, kind) if name == "results" else file_case(READERS[name], folder, dice, kind)  # fmt: skip


# -- what was run ------------------------------------------------------------------------------------------------------


@contextmanager
def noted(ran: dict[str, set[int]]) -> Iterator[None]:
    """Note which lines of the package run."""

    def local(frame: FrameType, event: str, _: Any) -> Any:
        ran.setdefault(frame.f_code.co_filename, set()).add(frame.f_lineno)
        return local

    def started(frame: FrameType, event: str, _: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(PACKAGE) else None

    sys.settrace(started)
    try:
        yield
    finally:
        sys.settrace(None)


def lines_of(code: CodeType) -> set[int]:
    """The lines of a module's functions."""
    found = set()
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= {line for _, _, line in inner.co_lines() if line and line != inner.co_firstlineno}  # fmt: skip
            found |= lines_of(inner)
    return found


def coverage(modules: tuple[str, ...], ran: dict[str, set[int]]) -> str:
    every, seen = 0, 0
    for module in modules:
        path = f"{PACKAGE}/{module}.py"
        lines = lines_of(compile(Path(path).read_text("utf-8"), path, "exec"))
        every, seen = every + len(lines), seen + len(lines & ran.get(path, set()))
    return f"{100 * seen / every:.0f} % of {every} lines"


def through_pytest(many: int, seed: str, folder: Path) -> int:
    """Mutated suites, all in one run: no traceback of ours, and no internal error."""
    dice = random.Random(seed)
    (folder / "conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef retriever(): return lambda query, k, **params: ['a', 'b', 'd1']\n"
    )
    for n in range(many):
        content = suite(dice)[0].encode() if dice.random() < 0.5 else WHOLE
        data = bytearray(content)
        for _ in range(dice.choice([0, 1, 1, 2])):
            dice.choice(MUTATIONS)(dice, data)
        (folder / f"s{n}.ir.yaml").write_bytes(data)
    command = [
        "-m",
        "pytest",
        "--ir-suite",
        "-q",
        "--continue-on-collection-errors",
        "-p",
        "no:cacheprovider",
    ]
    command += [
        "--ir-json=out.json",
        "--ir-markdown=out.md",
        "--ir-update-baseline",
        "-p",
        "no:hypothesispytest",
    ]
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, errors="replace", check=False)  # fmt: skip
    bad = [w for w in ("INTERNALERROR", "Traceback (most", f'File "{PACKAGE}') if w in done.stdout + done.stderr]  # fmt: skip
    print(f"through pytest: {many} suites, exit {done.returncode}: {done.stdout.splitlines()[-1:]}")
    if bad:
        print(done.stdout[-3000:] + done.stderr[-3000:])
    return len(bad)


def main() -> int:
    """Run them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=int)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--pytest", type=int, default=0)
    option = parser.parse_args()
    names = [*READERS, "results"]
    accepted: Counter[tuple[str, int]] = Counter()
    total: Counter[tuple[str, int]] = Counter()
    wrong = 0
    ran: dict[str, set[int]] = {}
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        for case in range(option.cases):
            name, kind = names[case % len(names)], case // len(names) % 3
            seed, start = f"{option.seed}-{case}", time.process_time()
            total[name, kind] += 1
            try:
                if case // len(names) % SAMPLE < 3:
                    with noted(ran):
                        accepted[name, kind] += one(name, folder, seed, kind)
                else:
                    accepted[name, kind] += one(name, folder, seed, kind)
            except Exception as error:
                wrong += 1
                print(
                    f"case {case} of seed {option.seed} ({name}): {type(error).__name__}: {str(error)[:400]}"
                )
            if time.process_time() - start > SLOW:
                wrong += 1
                print(f"case {case} of seed {option.seed} ({name}) took more than {SLOW:g} s")
        if option.pytest:
            for start in range(0, option.pytest, BATCH):
                project = folder / f"project-{start}"
                project.mkdir()
                many = min(BATCH, option.pytest - start)
                wrong += through_pytest(many, f"{option.seed}-{start}", project)
    for name in names:
        shares = [f"{accepted[name, kind]:,} of {total[name, kind]:,} {what}" for kind, what in enumerate(("valid", "broken", "mutated"))]  # fmt: skip
        lines = READERS[name].modules if name in READERS else ("retrieval/results",)
        print(f"{name:<11} accepted {', '.join(shares)}; {coverage(lines, ran)}")
    print(f"{option.cases:,} cases, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
