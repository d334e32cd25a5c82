"""A few mutated inputs in every run; ``python -m tests.fuzz 10000`` runs as many as you like."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from pytest_irquality.suite.mistakes import SuiteError
from pytest_irquality.suite.parser import load_suite
from tests.fuzz import NAMES, change, check_case, check_refusal, write_suite
from tests.project import Project

CASES = 12 * 3 * len(NAMES)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
KEYS = st.sampled_from(["query", "id", "relevant", "min", "a"])
QUERY_KEYS = [
    "query", "id", "tags", "why", "relevant", "must_find", "must_find_any", "must_not_find",
    "in_order", "every_result", "max_per", "newest_first", "thresholds", "weight", "params",
    "variants", "known_issue", "expect_no_results",
]  # fmt: skip


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(pytester, monkeypatch)


def read(path: Path) -> None:
    try:
        load_suite(path, root=path.parent)
    except SuiteError as error:
        check_refusal(error)


def test_mutated_inputs_are_read_as_they_are_or_refused(tmp_path: Path) -> None:
    for number in range(CASES):
        check_case(number, "default", tmp_path)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    key=st.sampled_from(QUERY_KEYS),
    value=st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
        max_leaves=8,
    ),
)
def test_any_value_of_any_key_is_read_or_refused(tmp_path: Path, key: str, value: Any) -> None:
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
        + "}}]",
        "grades: {" + ", ".join(f"w{n}: {n}" for n in range(20_000)) + "}\nqueries: [{query: a}]\n",
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
def test_bombs_and_odd_paths_are_refused_quickly(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.ir.yaml"
    path.write_text(text, encoding="utf-8")

    read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.ir.yaml")
    (tmp_path / "loop.ir.yaml").symlink_to(tmp_path / "loop.ir.yaml")

    for name in ("", "pipe.ir.yaml", "loop.ir.yaml", "x" * 300, "/dev/zero"):
        read(tmp_path / name)


@pytest.mark.slow
def test_a_hundred_megabytes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.ir.yaml"
    with path.open("wb") as file:
        file.write(b"queries: " + b"a" * (100 << 20))
    read(path)
    path.rename(tmp_path / "big.jsonl")
    path.write_text("queries: big.jsonl\n", encoding="utf-8")
    read(path)


@pytest.mark.slow
def test_session_survives_mutated_suites(project: Project) -> None:
    dice = random.Random("session")
    for number in range(100):
        text = change(dice, write_suite(dice)[0].encode())
        (project.path / f"s{number}.ir.yaml").write_bytes(text)
    project.write_rankings({})

    result = project.run("--ir-json=out.json", "--ir-markdown=out.md", "--ir-update-baseline")

    output = result.stdout.str() + result.stderr.str()
    assert "INTERNALERROR" not in output
    assert "Traceback" not in output
