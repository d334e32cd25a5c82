"""Engines that waver and people who mistype: whole pull requests over search that really does so."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from pytest_irquality import judge, load_suite, retrieve
from pytest_irquality.storage.jsonl import write_run
from pytest_irquality.storage.kept import together
from pytest_irquality.storage.stored import Header, stored_run
from pytest_irquality.suite import Suite
from tests.conftest import Project

# -- an index that answers differently with every build --------------------------------------------

WORDS = "oak steel velvet office garden hall swivel low high square dark outdoor"
THINGS = "chair table lamp shelf bench stool desk sofa"
SHARDS = 12


def _number(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:6], "big")


def _document(number: int) -> tuple[list[str], list[str]]:
    draw, words, things = Random(number), WORDS.split(), THINGS.split()
    return [draw.choice(words), things[number % len(things)]], draw.sample(words, 5)


DOCUMENTS = [_document(number) for number in range(240)]
SHARD_OF = [_number(f"shard {number}") % SHARDS for number in range(240)]


@dataclass(frozen=True)
class Furniture:
    """240 documents, each found by its title or its text; of twelve shards one does not answer."""

    build: int
    texts: bool = True

    def search(self, query: str) -> list[str]:
        silent = _number(f"{self.build} {query}") % SHARDS
        word, thing = query.split()
        scored = []
        for number, (title, text) in enumerate(DOCUMENTS):
            score = title.count(word) + title.count(thing) + (self.texts and text.count(word))
            if score and SHARD_OF[number] != silent:
                scored.append((-score, number))
        return [f"d{number}" for _, number in sorted(scored)[:10]]


def furniture(folder: Path) -> Suite:
    """Queries of two words: a thing, and a word that the title or the text of one or two such
    things has.
    """
    lines = [
        "metrics: [ndcg@10, recall@10]",
        "thresholds:",
        "  ndcg@10:   {max_significant_drop: 0.01, max_drop: 0.15}",
        "  recall@10: {max_significant_drop: 0.01, max_drop: 0.15}",
        "queries:",
    ]
    for word in WORDS.split():
        for thing in THINGS.split():
            good = [
                f"d{number}"
                for number, (title, text) in enumerate(DOCUMENTS)
                if title[1] == thing and title[0] == word and word in text
            ]
            if 1 <= len(good) <= 2:
                lines.append(f"  - {{query: {word} {thing}, relevant: [{', '.join(good)}]}}")
    path = folder / "shop.ir.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return load_suite(path)


@pytest.mark.slow
def test_s23_unchanged_code_is_green_and_a_dropped_field_is_red(tmp_path: Path) -> None:
    suite = furniture(tmp_path)

    def side(first: int, texts: bool = True) -> object:
        builds = range(first, first + 3)
        header = Header(suite.name, suite.path, suite.depth)
        runs = [retrieve(suite, Furniture(build, texts)) for build in builds]
        return together([stored_run(suite, run, header) for run in runs]).run(suite)

    before = side(0)
    unchanged = [judge(suite, side(3 * n), before=before) for n in range(1, 21)]  # type: ignore[arg-type]
    assert sum(result.failed for result in unchanged) <= 1
    dropped = [judge(suite, side(3 * n, False), before=before) for n in range(1, 6)]  # type: ignore[arg-type]
    assert all(result.failed for result in dropped)
    # With one build a side the same engine alarms on nothing, over and over.
    alone = retrieve(suite, Furniture(0))
    single = [judge(suite, retrieve(suite, Furniture(n)), before=alone) for n in range(1, 21)]
    assert sum(result.failed for result in single) > 10


def keep(project: Project, suite: Suite, folder: str, engine: Furniture) -> None:
    run = retrieve(suite, engine)
    header = Header(suite.name, "shop.ir.yaml", suite.depth)
    path = project.path / folder / "shop.jsonl"
    path.parent.mkdir(parents=True)
    write_run(path, stored_run(suite, run, header))


def test_s23_as_its_reports_say_it(project: Project) -> None:
    suite = furniture(project.path)
    project.conftest("@pytest.fixture\ndef retriever(): pass\n")
    for build in range(6):
        keep(project, suite, f"{'before' if build < 3 else 'now'}/{build}", Furniture(build))
        if build >= 3:
            keep(project, suite, f"worse/{build}", Furniture(build, texts=False))
    before = [f"--ir-baseline=before/{build}" for build in range(3)]
    result = project.run("-v", *before, *(f"--ir-runs=now/{build}" for build in (3, 4, 5)))
    text = result.stdout.str()
    assert result.ret == 0, text
    assert "unchanged code: 3 answers to each query today, 3 in the baseline" in text
    assert "repeats cannot show" not in text
    result = project.run("-v", *before, *(f"--ir-runs=worse/{build}" for build in (3, 4, 5)))
    assert result.ret == 1
    assert project.outcomes()["ndcg-10"] == "failed"


# -- a forgiving engine and an exact one -----------------------------------------------------------

TITLES = (
    "office chair", "garden hose", "winter jacket", "running shoes", "coffee grinder", "desk lamp",
    "kitchen scale", "mountain bicycle", "leather wallet", "wooden bookshelf",
)  # fmt: skip
MISTYPED = (
    "metrics: [recall@3]\n"
    "robustness: {recall@3: {max_drop: 0.25}, zero_results: {max: 10%}}\n"
    "queries:\n"
    + "".join(
        f"  - {{query: {title}, relevant: [d{n}], variants: [{title[:-3]}x{title[-2:]}, x{title}]}}\n"
        for n, title in enumerate(TITLES)
    )
)


def fts5(db: sqlite3.Connection, fallback: bool) -> Callable[[str], list[str]]:
    """SQLite's full-text search; with ``fallback`` what finds nothing is asked again by trigrams."""
    try:
        db.execute("create virtual table words using fts5(id unindexed, title)")
        db.execute("create virtual table grams using fts5(id unindexed, title, tokenize=trigram)")
    except sqlite3.OperationalError:
        pytest.skip("this Python's SQLite has no FTS5, or no trigrams")
    for number, title in enumerate(TITLES):
        for table in ("words", "grams"):
            db.execute(f"insert into {table} values (?, ?)", (f"d{number}", title))

    def ask(table: str, terms: list[str]) -> list[str]:
        asked = " OR ".join(f'"{term}"' for term in terms)
        found = db.execute(
            f"select id from {table} where {table} match ? order by rank limit 10", (asked,)
        )
        return [id for (id,) in found]

    def search(query: str) -> list[str]:
        words = query.split()
        found = ask("words", [" ".join(words)])
        if found or not fallback:
            return found
        grams = [word[n : n + 3] for word in words for n in range(len(word) - 2)]
        return ask("grams", grams) if grams else []

    return search


@pytest.mark.parametrize("fallback", [False, True])
def test_the_table_tells_a_forgiving_engine_from_an_exact_one(
    tmp_path: Path, fallback: bool
) -> None:
    path = tmp_path / "shop.ir.yaml"
    path.write_text(MISTYPED, encoding="utf-8")
    suite = load_suite(path)
    with closing(sqlite3.connect(":memory:", check_same_thread=False)) as db:
        result = judge(suite, retrieve(suite, fts5(db, fallback)))
    assert result.robustness
    (loss,) = result.robustness.losses
    lost, empty = -loss.change.difference, len(result.robustness.empty)
    assert result.robustness.variants == 2 * len(TITLES)
    assert next(mean.value for mean in result.means if mean.tag is None) == 1.0  # typed right
    if fallback:
        assert (lost < 0.1, empty) == (True, 0)
        assert not result.failed
    else:
        assert (lost > 0.9, empty) == (True, 2 * len(TITLES))
        assert {v.outcome for v in result.verdicts if v.scope == "robustness"} == {"failed"}
