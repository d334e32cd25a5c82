"""Mutated inputs for every reader: ``python -m tests.fuzz 10000 --seed 7``.

A third of the cases is valid and must be read as it was written. A third is damaged in a place that
no sound file of its kind has: a value of another type, a row twice, an end cut off. It must be
refused, or be read as it was written. A third is changed at random, and must be read, or refused in
a few printable lines. No case may raise another exception or take five seconds.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import random
import re
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

from pytest_irquality.baselines.history import HistoryEntry, append_history, read_history
from pytest_irquality.baselines.run_files import (
    encode_row,
    encode_run_file,
    make_header,
    read_run_lines,
)
from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.baselines.trec import read_trec_run
from pytest_irquality.io.decoding import open_lines
from pytest_irquality.io.files import FileError
from pytest_irquality.retrieval.errors import ResultError
from pytest_irquality.retrieval.hit_reader import ResultReader, split_batch
from pytest_irquality.retrieval.run import Provenance, QueryError, Ranking, Run
from pytest_irquality.suite.mistakes import SuiteError
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.suite.parser import load_suite

MAX_SECONDS = 5
MAX_LINES = 11  # ten mistakes, and how many more there are
REFUSALS = (SuiteError, BaselineError, FileError, ResultError)
KINDS = ("valid", "damaged", "changed")

Dice: TypeAlias = random.Random
# What a file says, in values that can be compared.
Content: TypeAlias = Any


class Wrong(Exception):
    """An input was read as something that it does not say, or refused without saying why."""


# -- Random data -------------------------------------------------------------------------------

LETTERS = "abcxyz 019.-_:/é椅😀'\"#,{}[]&*!|>%@`=+~\\\t"
ODD_TEXTS = [
    "[", "]", "{", "}", "{}", "[]", ": ", "- ", ", ", "\n", "\r", "\t", "'", '"', "#", "&a ", "*a",
    "? ", "| ", "> ", "%YAML 9", "---", "...", "!!python/object/apply:os.system [x]", "!!binary ",
    "<<: ", "~", "null", "true", "-1", "0", "1e999", ".nan", "nan", "inf", "²", "٣", "①", "１",
    '{"a":' * 300, "[" * 60, "9" * 30, "1.5", "5%", "-5%", "2024-13-45", "12:34:56", "0x1f", "\x00",
    "\x1b[31m", "\u202e", "\ud7ff", "\ufeff", "\u2028", "\x85", "é", "😀", "ı", "x" * 5000, "NaN",
    "Infinity", '\\"', "\\ud800", "Q0", '"a,b"', ";", "query,docid,rating", '{"_id": 1}',
    "query-id\tcorpus-id\tscore", "<<<<<<< main", "::error ::x", "##[error]x",
]  # fmt: skip
ODD_VALUES: list[Any] = [
    None, True, False, -1, 0, 1e308, 10**400, "", "x", [], {}, [[]], [None], [[], []], {"": None},
    {"a": []}, "²", "nan", ["x"], [1, 2, 3, 4, 5, 6],
]  # fmt: skip


def make_word(dice: Dice) -> str:
    return "".join(dice.choices("abcdefgh0123456789-_", k=dice.randint(1, 8)))


def make_words(dice: Dice, most: int = 6) -> list[str]:
    return list(dict.fromkeys(make_word(dice) for _ in range(dice.randint(1, most))))


def make_text(dice: Dice) -> str:
    """Make whatever a person may write, without spaces at its ends."""
    return "q" + "".join(dice.choices(LETTERS, k=dice.randint(0, 12))).rstrip() + "q"


# -- Mutations ---------------------------------------------------------------------------------


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def remove(dice: Dice, data: bytearray) -> None:
    start = dice.randrange(len(data) + 1)
    del data[start : start + dice.choice([1, 1, 2, 5, 40, len(data)])]


def insert(dice: Dice, data: bytearray) -> None:
    is_text = dice.random() < 0.8
    odd = _encode(dice.choice(ODD_TEXTS)) if is_text else bytes([dice.randrange(256)])
    start = dice.randrange(len(data) + 1)
    data[start : start + dice.choice([0, 0, 1, 3, 10])] = odd


def repeat(dice: Dice, data: bytearray) -> None:
    start = dice.randrange(len(data) + 1)
    data[start:start] = data[start : start + dice.choice([1, 10, 80])] * dice.choice([1, 2, 30])


def swap_lines(dice: Dice, data: bytearray) -> None:
    lines = bytes(data).split(b"\n")
    first, second = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    data[:] = b"\n".join(lines)


def replace_value(dice: Dice, data: bytearray) -> None:
    places = [match.end() for match in re.finditer(rb"[:,\t] *", data)]
    if places:
        start = dice.choice(places)
        end = next((i for i in range(start, len(data)) if data[i] in b",}\n\t"), len(data))
        data[start:end] = _encode(dice.choice(ODD_TEXTS))


def change_encoding(dice: Dice, data: bytearray) -> None:
    codec = dice.choice(["utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig"])
    data[:] = bytes(data).decode("utf-8", "replace").encode(codec, "replace")


def compress(dice: Dice, data: bytearray) -> None:
    packed = gzip.compress(bytes(data), 1)
    data[:] = packed[: dice.choice([len(packed), len(packed) // 2, 12])]


MUTATIONS: Sequence[Callable[[Dice, bytearray], None]] = [
    remove, insert, insert, insert, repeat, swap_lines, replace_value, replace_value,
    change_encoding, compress,
]  # fmt: skip


def change(dice: Dice, content: bytes) -> bytes:
    """Change bytes at random places."""
    data = bytearray(content)
    for _ in range(dice.choice([1, 1, 2, 3, 6])):
        dice.choice(MUTATIONS)(dice, data)
    return bytes(data)


def list_places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value inside a JSON value, and of the value itself."""
    yield path
    inner: Iterator[tuple[Any, Any]] = iter(())
    if isinstance(value, dict):
        inner = iter(value.items())
    elif isinstance(value, list):
        inner = iter(enumerate(value))
    for key, each in inner:
        yield from list_places(each, (*path, key))


def set_value(value: Any, path: Sequence[Any], new: Any) -> Any:
    """Return a JSON value with another value at a path."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = set_value(copy[path[0]], path[1:], new)
    return copy


# -- Suites ------------------------------------------------------------------------------------

METRICS = {
    "ndcg@10": "ndcg@10", "NDCG@5": "ndcg@5", "p@3": "precision@3", "mrr@10": "mrr@10",
    "rr@4": "mrr@4", "R@2": "recall@2", "ap@7": "map@7", "hit_rate@3": "success@3",
}  # fmt: skip


def write_suite(dice: Dice) -> tuple[str, Content]:
    """Write a suite, and return what its queries, judgments, rules and thresholds are."""
    lines: list[str] = []
    top_k = dice.randint(1, 9)
    settings: list[tuple[str, Any]] = [
        ("top_k", top_k),
        ("suite", make_text(dice)),
        ("undefined", dice.choice(["skip", "zero"])),
        ("repeat", dice.randint(1, 9)),
        ("timeout", dice.choice(["5s", "200ms", "2min"])),
        ("errors", {"max": dice.randint(1, 9)}),
        ("show", ["price"]),
        ("id_field", "metadata.source"),
    ]
    for name, value in settings:
        if name == "top_k" or dice.random() < 0.3:
            lines.append(f"{name}: {json.dumps(value, ensure_ascii=False)}")
    written, expected_queries = _write_queries(dice, top_k)
    metric = dice.choice(list(METRICS))
    minimum = dice.choice([0.05, 0.25, 0.9])
    if dice.random() < 0.5:
        lines.append(f"thresholds: {{{metric}: {{min: {minimum}}}}}")
        thresholds = [(METRICS[metric], minimum)]
    else:
        thresholds = []
    blocks = (
        [*lines, "queries:", *written] if dice.random() < 0.5 else ["queries:", *written, *lines]
    )
    return "\n".join(blocks) + "\n", {"queries": expected_queries, "thresholds": thresholds}


def _write_queries(dice: Dice, top_k: int) -> tuple[list[str], Content]:
    lines = []
    expected: dict[str, Any] = {}
    for number, query_id in enumerate(make_words(dice)):
        text = make_text(dice)
        keys: dict[str, Any] = {"query": text, "id": query_id}
        documents = make_words(dice)
        grades = {name: float(dice.choice([0, 1, 2, 3.5])) for name in documents}
        if not number:
            grades[documents[0]] = 4.0
        keys["relevant"] = grades
        rules: dict[str, Any] = {}
        if dice.random() < 0.4:
            ranks = {name: dice.randint(1, 30) for name in documents}
            keys["must_find"] = ranks
            rules["must_find"] = ranks
        if dice.random() < 0.3:
            keys["must_not_find"] = [f"no-{name}" for name in documents]
            rules["must_not_find"] = {f"no-{name}": top_k for name in documents}
        if dice.random() < 0.3:
            keys["params"] = {"n": dice.randint(1, 9), "locale": "NO"}
        if dice.random() < 0.5:
            lines.append(f"  - {json.dumps(keys, ensure_ascii=False)}")
        else:
            entries = [
                f"{key}: {json.dumps(each, ensure_ascii=False)}" for key, each in keys.items()
            ]
            lines += [f"  - {entries[0]}", *(f"    {entry}" for entry in entries[1:])]
        expected[query_id] = (text, grades, rules, keys.get("params", {}))
    return lines, expected


def read_suite(path: Path, name: str = "") -> Content:
    suite = load_suite(path, root=path.parent)
    queries: dict[str, Any] = {}
    for query in suite.queries:
        rules = {}
        for rule in query.rules:
            ranks = getattr(rule, "ranks", {})
            top_k = suite.settings.top_k
            rules[rule.key] = {doc_id: rank or top_k for doc_id, rank in ranks.items()}
        queries[query.id] = (query.text, dict(query.judgments.grades), rules, dict(query.params))
    thresholds = []
    for threshold in suite.thresholds:
        thresholds.append((str(threshold.metric), threshold.min.value if threshold.min else None))
    return {"queries": queries, "thresholds": thresholds}


# -- Judgments ---------------------------------------------------------------------------------

Grades: TypeAlias = "dict[str, dict[str, float]]"


def make_grades(dice: Dice) -> Grades:
    grades: Grades = {}
    for query in make_words(dice, 4):
        grades[query] = {doc_id: float(dice.randint(-1, 4)) for doc_id in make_words(dice)}
    return grades


def list_rows(grades: Grades) -> list[tuple[str, str, float]]:
    rows = []
    for query, documents in grades.items():
        rows += [(query, doc_id, grade) for doc_id, grade in documents.items()]
    return rows


def write_qrels(grades: Grades) -> str:
    return "".join(f"{query} 0 {doc} {grade:g}\n" for query, doc, grade in list_rows(grades))


def write_table(grades: Grades, columns: Sequence[str], delimiter: str) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n", delimiter=delimiter)
    writer.writerows([columns, *list_rows(grades)])
    return file.getvalue()


def write_json_lines(grades: Grades) -> str:
    lines = []
    for query, doc_id, grade in list_rows(grades):
        lines.append(json.dumps({"qid": query, "docid": doc_id, "grade": grade}) + "\n")
    return "".join(lines)


JUDGMENTS: Mapping[str, Callable[[Grades], str]] = {
    "trec": write_qrels,
    "beir": lambda grades: write_table(grades, ("query-id", "corpus-id", "score"), "\t"),
    "csv": lambda grades: write_table(grades, ("query_id", "docid", "grade"), ","),
    "tsv": lambda grades: write_table(grades, ("qid", "doc", "rating"), "\t"),
    "jsonl": write_json_lines,
}


def read_judgments(path: Path, name: str) -> Content:
    """Read a file of judgments through a suite that has all its queries."""
    queries = json.loads((path.parent / "queries.json").read_text())
    suite = path.parent / "judged.ir.yaml"
    lines = [{"query": f"text {query}", "id": query} for query in queries]
    text = f"queries: {json.dumps(lines)}\njudgments: {{file: {path.name}, format: {name}}}\n"
    suite.write_text(text)
    read = load_suite(suite, root=path.parent).queries
    return {query.id: dict(query.judgments.grades) for query in read if query.judgments.grades}


# -- Rankings ----------------------------------------------------------------------------------


def make_run(dice: Dice) -> tuple[Suite, Run]:
    texts = {make_text(dice): name for name in make_words(dice)}
    queries = tuple(Query(name, text, params=_make_params(dice)) for text, name in texts.items())
    answers = {}
    errors = {}
    stages = {}
    for query in queries:
        if dice.random() < 0.1:
            errors[query.request] = QueryError("timed out")
            continue
        repeats = [_make_ranking(dice) for _ in range(dice.choice([1, 1, 3]))]
        answers[query.request] = tuple(repeats)
        if dice.random() < 0.3:
            stages[query.request] = (_make_ranking(dice),)
    titles = {}
    for own_repeats in answers.values():
        titles.update({doc_id: f"Title of {doc_id}" for doc_id in own_repeats[0].doc_ids})
    depth = Provenance(depth=10)
    runs = {"bm25": Run(stages, provenance=depth)} if stages else {}
    run = Run(answers, errors, titles=titles, stages=runs, provenance=depth)
    return Suite("s", queries, path="s.ir.yaml"), run


def _make_params(dice: Dice) -> dict[str, Any]:
    return {"locale": "NO", "n": dice.randint(1, 9)} if dice.random() < 0.3 else {}


def _make_ranking(dice: Dice) -> Ranking:
    """Make a ranking with some of the columns that a file can have."""
    doc_ids = tuple(make_words(dice, 9))
    count = len(doc_ids)
    columns: dict[str, Any] = {}
    if dice.random() < 0.5:
        columns["scores"] = tuple(float(count - rank) for rank in range(count))
    if dice.random() < 0.3:
        columns["seconds"] = 0.25
    if dice.random() < 0.3:
        columns["fields"] = tuple({"price": rank} for rank in range(count))
    if dice.random() < 0.3:
        columns["sizes"] = {"words": tuple(float(rank) for rank in range(count))}
    if dice.random() < 0.3:
        columns["passages"] = {0: ("the rent is due",)}
    return Ranking(doc_ids, **columns)


def describe_run(run: Run) -> Content:
    answers = {}
    for request, repeats in run.answers.items():
        answers[request] = [_describe_ranking(ranking) for ranking in repeats]
    errors = {request: error.message for request, error in run.errors.items()}
    return answers, errors, {name: describe_run(stage) for name, stage in run.stages.items()}


def _describe_ranking(ranking: Ranking) -> Content:
    scores = None if ranking.scores is None else list(ranking.scores)
    others = (ranking.seconds, list(map(dict, ranking.fields)), dict(ranking.sizes))
    # An index below 0 has the passages that were looked for.
    passages = {index: texts for index, texts in ranking.passages.items() if index >= 0}
    return ranking.doc_ids, scores, *others, passages


def write_run_file(dice: Dice) -> tuple[str, Content]:
    suite, run = make_run(dice)
    lines = {}
    for query in suite.queries:
        lines[query.request] = encode_row(run, query.request, score_digits=7)
    header = make_header(run, path="s.ir.yaml")
    return b"".join(encode_run_file(header, lines)).decode(), describe_run(run)


def read_run_file(path: Path, name: str = "") -> Content:
    return describe_run(read_run_lines(open_lines(path), path.name).run)


def write_trec_file(dice: Dice) -> tuple[str, Content]:
    lines = []
    rankings = {}
    for number in range(dice.randint(1, 8)):
        doc_ids = tuple(make_words(dice, 9))
        if doc_ids:
            rankings[f"q{number}"] = doc_ids
        for rank, doc_id in enumerate(doc_ids, start=1):
            lines.append(f"q{number} Q0 {doc_id} {rank} {9.5 - rank} tag\n")
    return "".join(lines), rankings


def read_trec_file(path: Path, name: str = "") -> Content:
    rankings = read_trec_run(path, name=path.name)
    return {query_id: ranking.doc_ids for query_id, ranking in rankings.items()}


def write_history_file(dice: Dice) -> tuple[str, Content]:
    entries = []
    for _ in range(dice.randint(1, 4)):
        values = {"ndcg@10": round(dice.random(), 4)}
        entries.append(
            HistoryEntry("s.ir.yaml", commit=make_word(dice), date="2026-11-28", values=values)
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "history.jsonl")
        append_history(path, entries)
        return path.read_text("utf-8"), list(read_history(path))


def read_history_file(path: Path, name: str = "") -> Content:
    return list(read_history(path))


# -- Damage ------------------------------------------------------------------------------------


def damage_lines(dice: Dice, text: str, broken: Sequence[str], header: int) -> str:
    """Insert a line that no file of this kind has."""
    lines = text.splitlines()
    lines.insert(dice.randint(min(header, len(lines)), len(lines)), dice.choice(broken))
    return "\n".join(lines) + "\n"


def damage_json_lines(dice: Dice, text: str) -> str:
    """Put a value of another type into a line, or write a line twice, or cut the end off."""
    way = dice.random()
    if way < 0.15:
        return text[: dice.randrange(len(text) - 1)]
    lines = text.splitlines()
    rows = [number for number, line in enumerate(lines) if line.startswith("{")]
    number = dice.choice(rows)
    row = json.loads(lines[number])
    if way < 0.25:
        lines.insert(number, lines[number])
        return "\n".join(lines) + "\n"
    if way < 0.35:
        key = dice.choice(list(row))
        lines[number] = f"{lines[number][:-1]},{json.dumps(key)}:{json.dumps(row[key])}}}"
        return "\n".join(lines) + "\n"
    path = dice.choice(list(list_places(row)))
    lines[number] = json.dumps(set_value(row, path, dice.choice(ODD_VALUES)), ensure_ascii=False)
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Reader:
    """How files of a kind are written, read and damaged.

    Attributes:
        accepts: Whether a damaged file may say what was read instead of what was expected. A
            JSON value replaced by another one of the right type makes a sound file.
    """

    write: Callable[[Dice], tuple[str, Content]]
    read: Callable[[Path, str], Content]
    damage: Callable[[Dice, str], str]
    suffix: str
    accepts: Callable[[Content, Content], bool] = field(default=lambda expected, read: False)


def _make_judgment_reader(name: str, broken: Sequence[str], header: int) -> Reader:
    def write(dice: Dice) -> tuple[str, Content]:
        grades = make_grades(dice)
        return JUDGMENTS[name](grades), grades

    def damage(dice: Dice, text: str) -> str:
        return damage_lines(dice, text, broken, header)

    return Reader(write, read_judgments, damage, f".{name}")


def _damage_suite(dice: Dice, text: str) -> str:
    return damage_lines(dice, text, ("weigth: 1", "\t- x", "@x", "%x: 1", "suite: [a]", "]"), 0)


def _damage_trec(dice: Dice, text: str) -> str:
    broken = (
        "a Q0 d 1 1",
        "a Q0 d 1 nan t",
        "a Q0 d 1 x t",
        "a Q0",
        "a Q0 d 1 1 t u",
        "a Q0 d 1 1_0 t",
    )
    return damage_lines(dice, text, broken, 0)


def _is_same_shape(expected: Content, read: Content) -> bool:
    """Return whether no answer, repeat or document of a run is missing.

    A text may be another text, since nothing says what it was.
    """
    expected_answers, expected_errors, _ = expected
    answers, errors, _ = read
    if len(expected_answers) + len(expected_errors) != len(answers) + len(errors):
        return False
    shapes = [Counter(_list_shapes(each)) for each in (expected_answers, answers)]
    return sum((shapes[0] - shapes[1]).values()) <= 1


def _list_shapes(answers: Mapping[str, Any]) -> Iterator[tuple[int, ...]]:
    for repeats in answers.values():
        yield tuple(len(doc_ids) for doc_ids, *_ in repeats)


READERS: Mapping[str, Reader] = {
    "suite": Reader(write_suite, read_suite, _damage_suite, ".ir.yaml"),
    "trec": _make_judgment_reader("trec", ("a b c", "a 0 d x", "a", "a 0 d ²", "a 0 d nan"), 0),
    "beir": _make_judgment_reader("beir", ("a\tb", "a\tb\tx", "a\tb\tinf"), 1),
    "csv": _make_judgment_reader("csv", ("a,b", "a,b,x", "a,b,1,z", "a,b,1_0"), 1),
    "tsv": _make_judgment_reader("tsv", ("a\tb", "a\tb\tx", "a\tb\t1\tz"), 1),
    "jsonl": _make_judgment_reader(
        "jsonl",
        (
            "{", "[]", '{"qid": 1}', '{"a": 1, "a": 2}', '{"qid": "a", "docid": "b", "grade": NaN}',
            '{"qid": ["a"], "docid": "b", "grade": 1}', '{"qid": "a", "docid": null, "grade": 1}',
        ),
        0,
    ),
    "run file": Reader(write_run_file, read_run_file, damage_json_lines, ".jsonl", _is_same_shape),
    "TREC run": Reader(write_trec_file, read_trec_file, _damage_trec, ".run"),
    # A history decides nothing, and may be edited.
    "history": Reader(
        write_history_file, read_history_file, damage_json_lines, ".jsonl", lambda *_: True
    ),
}  # fmt: skip


# -- Answers of engines ------------------------------------------------------------------------

SHAPES: Sequence[Callable[[list[str]], Any]] = [
    lambda ids: ids,
    tuple,
    iter,
    lambda ids: [(doc_id, 1.0) for doc_id in ids],
    lambda ids: [(1.0, doc_id) for doc_id in ids],
    lambda ids: [{"id": doc_id, "score": 1.0, "title": "t"} for doc_id in ids],
    lambda ids: {"hits": {"hits": [{"_id": doc_id, "_source": {}} for doc_id in ids]}},
    lambda ids: {"ids": [ids], "distances": [[0.1] * len(ids)]},
    lambda ids: [[{"corpus_id": doc_id, "score": 0.7} for doc_id in ids]],
    lambda ids: {"documents": [SimpleNamespace(id=doc_id, content="x", meta={}) for doc_id in ids]},
    lambda ids: {"bm25": {"documents": [SimpleNamespace(id=doc_id, meta={}) for doc_id in ids]}},
    lambda ids: SimpleNamespace(points=[SimpleNamespace(id=doc_id, payload={}) for doc_id in ids]),
    lambda ids: {"matches": [{"id": doc_id, "score": 1.0} for doc_id in ids]},
    lambda ids: [SimpleNamespace(node=SimpleNamespace(node_id=doc_id), score=1) for doc_id in ids],
    lambda ids: {"hits": [{"document": {"id": doc_id}, "text_match": 1} for doc_id in ids]},
    lambda ids: {"response": {"numFound": len(ids), "docs": [{"id": doc_id} for doc_id in ids]}},
    lambda ids: {"root": {"children": [{"id": each, "relevance": 1.0} for each in ids]}},
]
# What engines say of a partial answer, and where in their response.
PARTIAL_ANSWERS: Sequence[Callable[[list[str]], Any]] = [
    lambda ids: {"timed_out": True, "hits": {"hits": [{"_id": each} for each in ids]}},
    lambda ids: {"_shards": {"failed": 1}, "hits": {"hits": [{"_id": each} for each in ids]}},
    lambda ids: {
        "responseHeader": {"partialResults": True},
        "response": {"docs": [{"id": each} for each in ids]},
    },
    lambda ids: {
        "root": {
            "coverage": {"full": False, "degraded": {"timeout": True}},
            "children": [{"id": each, "relevance": 1.0} for each in ids],
        }
    },
    lambda ids: {"search_cutoff": True, "hits": [{"document": {"id": each}} for each in ids]},
]  # fmt: skip
WRAPPERS: Sequence[Callable[[Any], Any]] = [
    lambda answer: answer,
    lambda answer: [answer],
    lambda answer: {"retriever": answer},
    lambda answer: {"responses": [answer]},
    lambda answer: {"results": [answer]},
    lambda answer: {"pipeline": {"result": answer}},
]


def make_odd_object(dice: Dice, depth: int = 0) -> Any:
    leaves = [*ODD_VALUES, float("nan"), b"x", object(), "\ud800"]
    if depth > 3 or dice.random() < 0.4:
        return dice.choice(leaves)
    if dice.random() < 0.5:
        return [make_odd_object(dice, depth + 1) for _ in range(dice.randint(0, 4))]
    keys = ("id", "_id", "hits", "score", "text", "metadata", "results", "x", "root", "children")
    return {dice.choice(keys): make_odd_object(dice, depth + 1) for _ in range(dice.randint(0, 4))}


def check_answer(dice: Dice, kind: str) -> bool:
    ids = [f"d-{word}" for word in make_words(dice)]
    reader = ResultReader()
    if kind == "valid":
        shape = dice.choice(SHAPES)
        read = reader.read(shape(ids), 10).ranking.doc_ids
        if read != tuple(ids):
            raise Wrong(f"{ids} was read as {read}")
        return True
    if kind == "damaged":
        answer = dice.choice(WRAPPERS)(dice.choice(PARTIAL_ANSWERS)(ids))
        results = [answer]
        if dice.random() < 0.3:
            results = list(split_batch([answer, answer], 2))
        for result in results:
            try:
                read = reader.read(result, 10).ranking.doc_ids
            except ResultError:
                continue
            raise Wrong(f"a partial answer was read as {read}: {answer!r}")
        return False
    try:
        reader.read(make_odd_object(dice), 10)
    except ResultError:
        return False
    return True


# -- Cases -------------------------------------------------------------------------------------


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Raise ``Wrong`` in code that takes longer, if the system has alarms."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def interrupt(*_: object) -> None:
        raise Wrong(f"it took more than {seconds:g} s")

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def check_refusal(error: Exception) -> None:
    lines = str(error).split("\n")
    if len(lines) > MAX_LINES or not all(line.strip() and line.isprintable() for line in lines):
        raise Wrong(f"not a few printable lines: {str(error)!r}")
    if any(len(line) > 1000 for line in lines):
        raise Wrong(f"a line of {max(map(len, lines))} characters")


def check_file(name: str, folder: Path, dice: Dice, kind: str) -> bool:
    """Check one file, and return whether it was read."""
    reader = READERS[name]
    text, expected = reader.write(dice)
    path = folder / f"case{reader.suffix}"
    if name in JUDGMENTS:
        (folder / "queries.json").write_text(json.dumps(list(expected)))
    data = text.encode()
    if kind == "damaged":
        data = reader.damage(dice, text).encode("utf-8", "surrogatepass")
    elif kind == "changed":
        data = change(dice, data)
    path.write_bytes(data)
    try:
        read = reader.read(path, name)
    except REFUSALS as error:
        check_refusal(error)
        if kind == "valid":
            raise Wrong(f"refused: {error}") from None
        return False
    if kind == "valid" and read != expected:
        raise Wrong(f"{expected!r} was read as {read!r}")
    if kind == "damaged" and read != expected and not reader.accepts(expected, read):
        raise Wrong(f"{expected!r} was damaged and read as {read!r}: {data!r}")
    return True


NAMES = (*READERS, "answers")


def check_case(number: int, seed: str, folder: Path) -> tuple[str, str, bool]:
    """Check one case, and return its reader, its kind and whether it was read.

    Raises:
        Wrong: The input was read wrongly, not refused properly, or took too long.
    """
    name = NAMES[number % len(NAMES)]
    kind = KINDS[number // len(NAMES) % len(KINDS)]
    dice = random.Random(f"{seed}-{number}")
    with limit_time(MAX_SECONDS):
        if name == "answers":
            return name, kind, check_answer(dice, kind)
        return name, kind, check_file(name, folder, dice, kind)


def main() -> int:
    """Run the cases, and print what was wrong and how many were read."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=int)
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    totals: Counter[tuple[str, str]] = Counter()
    accepted: Counter[tuple[str, str]] = Counter()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.cases):
            try:
                name, kind, is_read = check_case(number, options.seed, Path(folder))
            except Exception as error:
                wrong += 1
                print(
                    f"Case {number} of seed {options.seed}: {type(error).__name__}: {error}"[:2000]
                )
                if not isinstance(error, Wrong):
                    traceback.print_exc(limit=-4)
                continue
            totals[name, kind] += 1
            accepted[name, kind] += is_read
    for name in NAMES:
        counts = [f"{accepted[name, kind]} of {totals[name, kind]} {kind}" for kind in KINDS]
        print(f"{name:<9} read {', '.join(counts)}")
    print(f"{options.cases} cases, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
