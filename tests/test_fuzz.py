"""No input whatever gets a traceback: a suite and its files are read, or refused in one line with a place.

``IRQUALITY_FUZZ=50000`` runs that many mutated inputs instead of the few that fit into every run; ``IRQUALITY_SEED``
picks others.
"""

from __future__ import annotations

import gzip
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from pytest_irquality import SuiteError, load_suite

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data" / "files"
CASES = int(os.environ.get("IRQUALITY_FUZZ", "1500"))
SEED = int(os.environ.get("IRQUALITY_SEED", "20240601"))
ONE_LINE = re.compile(r"[^\n]*:[1-9]\d*:[1-9]\d*: \S[^\n]*")

WHOLE = b"""\
suite: Shop
top_k: 5
params: {locale: en, n: 3}
grades: {perfect: 3, good: 2, ok: 1, bad: 0}
relevant_from: 0.5
undefined: zero
errors: {max: 2}
concurrency: 2
timeout: 5s
metrics: [NDCG, P@3]
thresholds: {mrr: 80%, zero_results: {max: 2%, warn_above: 0}, ndcg@10: {min: 0.1, max_drop: 5%}}
tags: {head: {map@3: {min: 0.1, known_issue: X}}}
each_tag: {recall: 0.5}
each_query: {must_not_find: [x], lost_all_relevant: warn}
queries:
  - query: office chair
    id: 0123
    tags: [head]
    why: 'because'
    relevant: {a: perfect, b: 0.5, c: bad, d: -1}
    must_find: {a: 3}
    must_find_any: [a, b]
    in_order: [a, b]
    thresholds: {recall: 1.0}
    weight: 2.5
    params: {n: 4, when: 2024-01-01}
    known_issue: S-1
  - {query: nothing, expect_no_results: true}
"""
ODD = [
    "[", "]", "{", "}", "{}", "[]", ": ", "- ", ", ", "\n", "\r", "\t", "'", '"', "#", "&a ", "*a", "? ", "| ", "> ", "%YAML 9", "---",
    "...", "!!python/object/apply:os.system [x]", "!!binary ", "<<: ", "~", "null", "true", "-1", "0", "1e999", ".nan", "nan", "inf",
    '{"a":' * 300, "[" * 60, "999999999999999999999", "1.5", "5%", "-5%", "2024-13-45", "12:34:56", "0x1f", "\x00", "\x1b[31m", "\u202e", "\ud7ff", "\ufeff", "\u2028", "\x85",
    "é", "😀", "ı", "٣", "x" * 5000, "NaN", "Infinity", '\\"', "\\ud800", "Q0", '"a,b"', ";", "query,docid,rating", "query-id\tcorpus-id\tscore", '{"_id": 1}',
]  # fmt: skip

Mutation = Callable[[random.Random, bytearray], None]


def cut(dice: random.Random, data: bytearray) -> None:
    start = dice.randrange(len(data) + 1)
    del data[start : start + dice.choice([1, 1, 2, 5, 40, len(data)])]


def put(dice: random.Random, data: bytearray) -> None:
    odd = (
        dice.choice(ODD).encode("utf-8", "surrogatepass")
        if dice.random() < 0.8
        else bytes([dice.randrange(256)])
    )
    at = dice.randrange(len(data) + 1)
    data[at : at + dice.choice([0, 0, 1, 3, 10])] = odd


def repeat(dice: random.Random, data: bytearray) -> None:
    start = dice.randrange(len(data) + 1)
    data[start:start] = data[start : start + dice.choice([1, 10, 80])] * dice.choice([1, 2, 30])


def swap_lines(dice: random.Random, data: bytearray) -> None:
    lines = bytes(data).split(b"\n")
    one, two = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    data[:] = b"\n".join(lines)


def retype(dice: random.Random, data: bytearray) -> None:
    """Another value where one stands behind a colon."""
    places = [match.end() for match in re.finditer(rb"[:,\t] *", data)]
    if places:
        at = dice.choice(places)
        end = next((i for i in range(at, len(data)) if data[i] in b",}\n\t"), len(data))
        data[at:end] = dice.choice(ODD).encode("utf-8", "surrogatepass")


def recode(dice: random.Random, data: bytearray) -> None:
    codec = dice.choice(["utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig"])
    data[:] = bytes(data).decode("utf-8", "replace").encode(codec, "replace")


def squeeze(dice: random.Random, data: bytearray) -> None:
    packed = gzip.compress(bytes(data), 1)
    data[:] = packed[: dice.choice([len(packed), len(packed) // 2, 12])]


MUTATIONS: list[Mutation] = [
    cut,
    put,
    put,
    put,
    repeat,
    swap_lines,
    retype,
    retype,
    recode,
    squeeze,
]


def read(path: Path) -> None:
    """Load a suite, or be refused in a few printable lines that have a place."""
    try:
        load_suite(path, shown=path.name)
    except SuiteError as error:
        said = str(error)
        lines = said.split("\n")
        assert all(map(ONE_LINE.fullmatch, lines[:10])), said
        assert len(lines) <= 11, said
        assert "".join(lines).isprintable(), said
        assert max(map(len, lines)) < 1000, said


def test_mutated_suites_and_files_are_read_or_refused_in_one_line(tmp_path: Path) -> None:
    shutil.copytree(DATA, tmp_path, dirs_exist_ok=True)
    suite = tmp_path / "s.ir.yaml"
    originals = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    suites: list[tuple[bytes, list[Path]]] = [
        (WHOLE, []),
        ((ROOT / "example_project" / "shop.ir.yaml").read_bytes()[:3000], []),
    ]
    for asked, judged in [
        ("topics.tsv", "qrels.trec"),
        ("queries.csv", "spreadsheet.csv"),
        ("{file: list.txt, format: text}", "{file: spreadsheet.tsv, format: tsv}"),
        ("rules.jsonl", "'j*.jsonl'"),
        ("mini-beir", "mini-beir/qrels/d*.tsv"),
        ("quepid.csv", "qrels.trec.gz"),
    ]:
        text = f"grades: {{good: 2, ok: 1, bad: 0}}\nqueries: [{asked}, {{query: inline, relevant: [d1]}}]\njudgments: {judged}\n"
        used = [
            path
            for path in sorted(originals)
            if path.name in asked + judged or ("beir" in asked and "beir" in str(path))
        ]
        suites.append(
            (
                text.encode(),
                used
                + [path for path in originals if path.name == "judgments.jsonl" and "j*" in judged],
            )
        )
    for case in range(CASES):
        dice = random.Random(f"{SEED}-{case}")
        written, used = suites[case % len(suites)]
        data = bytearray(written)
        file = dice.choice(used) if used else None
        content = bytearray(originals[file]) if file else data
        for _ in range(dice.choice([1, 1, 2, 3, 6])):
            dice.choice(MUTATIONS)(dice, content)
        suite.write_bytes(data)
        if file:
            file.write_bytes(content)
        try:
            read(suite)
        except Exception as error:
            pytest.fail(
                f"case {case} of seed {SEED}, {file and file.name}: {error!r} on {bytes(content)!r}"
            )
        if file:
            file.write_bytes(originals[file])


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
KEYS = st.sampled_from(["query", "id", "relevant", "min", "a"])


def nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return leaves | st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4)


yaml_values = nested(nested(nested(leaves)))


@settings(
    max_examples=min(CASES // 10, 5000),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    key=st.sampled_from(
        [
            "query",
            "id",
            "tags",
            "why",
            "relevant",
            "must_find",
            "must_find_any",
            "in_order",
            "thresholds",
            "weight",
            "params",
            "known_issue",
            "expect_no_results",
        ]
    ),
    value=yaml_values,
)
def test_any_value_under_any_key_is_read_or_refused_in_one_line(
    tmp_path: Path, key: str, value: object
) -> None:
    import json

    line = json.dumps({"query": "a", key: value})
    (tmp_path / "q.jsonl").write_text(line + "\n", encoding="utf-8")
    for text in (
        "queries: q.jsonl\n",
        f"queries:\n  - {line}\n",
        f"{key}: {json.dumps(value)}\nqueries: [q.jsonl]\n",
    ):
        (tmp_path / "s.ir.yaml").write_text(text, encoding="utf-8")
        read(tmp_path / "s.ir.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\nqueries: *c\n",
        "queries: &a [*a]\n",
        "queries: " + "[" * 100_000,
        "queries: " + "{a: " * 100_000,
        "- " * 100_000,
        "? " * 100_000,
        "queries:\n" + "".join(" " * depth + "-\n" for depth in range(2000)),
        "queries: [{query: a, params: " + "[" * 39 + "]" * 39 + "}]\n",
        "queries: [{query: " + "a" * 5_000_000 + ", relevant: [d], weigth: 1}]\n",
        "queries: [{query: a, relevant: {"
        + ", ".join(f"d{n}: x{n}" for n in range(20_000))
        + "}}]\n",
        "grades: {"
        + ", ".join(f"w{n}: {n}" for n in range(20_000))
        + "}\nqueries: [{query: a, relevant: {d: w}}]\n",
        "queries: [{query: a, weight: " + "9" * 100_000 + "}]\n",
        "top_k: 1e300\nqueries: [{query: a}]\n",
        "queries: " + "../" * 3000 + "x\n",
        "queries: '" + "*/" * 50 + "x'\n",
        'queries: "a\\0b"\n',
        'queries: "\\x1b[31m/\\u202e.csv"\n',
        "queries: /dev/stdin\n",
        "queries: /proc/self/mem\n",
        "queries: /\n",
        "queries: s.ir.yaml\n",
    ],
    ids=lambda text: text[:30],
)
def test_bombs_and_odd_paths(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.ir.yaml"
    path.write_text(text, encoding="utf-8")
    read(path)


def test_a_hundred_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "s.ir.yaml"
    with path.open("wb") as file:
        file.write(b"queries: " + b"a" * (100 << 20))
    read(path)
    path.rename(tmp_path / "big.jsonl")
    path.write_text("queries: big.jsonl\n", encoding="utf-8")
    read(path)


def test_what_is_no_file_to_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.ir.yaml")
    (tmp_path / "loop.ir.yaml").symlink_to(tmp_path / "loop.ir.yaml")
    closed = tmp_path / "closed.ir.yaml"
    closed.write_text("queries: [{query: a}]\n", encoding="utf-8")
    closed.chmod(0)
    for path in (
        tmp_path,
        Path("/dev/zero"),
        tmp_path / "pipe.ir.yaml",
        tmp_path / "loop.ir.yaml",
        closed,
        tmp_path / ("x" * 300),
    ):
        read(path)
