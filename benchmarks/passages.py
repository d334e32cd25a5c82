"""Passages whose fate is known: how often the ledger of loss is right, and what it costs.

    python benchmarks/passages.py FOLDER [--passages 100] [--queries 1000] [--seed 1]

FOLDER holds texts of your own (.md, .rst, .txt), 16 MB of them for 20,000 chunks. They are
cut by three chunkers whose every chunk is known by its place in its file: windows, windows that
overlap, and paragraphs. Passages are drawn from the texts. Some files are left out of the index,
and some passages are edited there. So it is known of each passage, from places alone, whether a
result, a stage, any chunk or two chunks hold it. Each chunker is asked through BM25, vectors (LSA)
and their fusion, as three stages, of which the last lets 50 go on to a reranker, by one suite that
is never edited. Printed are how often the ledger agrees, with stage and rank, and whatever it says
otherwise.

Then the cost: seconds of the processor for looking through the corpus, for a second suite over it,
for finding the passages of each query beside asking BM25, and the size of the baseline.

It needs scikit-learn (`pip install -e '.[bench]'`).
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sqlite3
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from heapq import nlargest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pytest_irquality.verdict.passages import by_passages
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from pytest_irquality import check, load_suite, retrieve
from pytest_irquality.passages import letters

SUFFIXES = (".md", ".rst", ".txt")
SIZE, OVERLAP, DEPTH, CANDIDATES, GO_ON, TOP_K = 800, 200, 30, 100, 50, 10
CHANGED = "zweckentfremdet"
SUITE = {"match": "text", "top_k": TOP_K, "depth": DEPTH, "metrics": ["recall@10"]}


class Span(NamedTuple):
    """A piece of a file."""

    file: int
    start: int
    end: int

    def covers(self, other: Span) -> bool:
        return self.file == other.file and self.start <= other.start and other.end <= self.end

    def touches(self, other: Span) -> bool:
        return self.file == other.file and self.start < other.end and other.start < self.end


class Passage(NamedTuple):
    """A passage of the texts; ``edited`` and ``left_out`` say what the index has of it."""

    span: Span
    text: str
    query: str
    edited: bool
    left_out: bool


# -- texts, chunks and passages --------------------------------------------------------------------


def windows(text: str, overlap: int) -> Iterator[tuple[int, int]]:
    """Pieces of a size, each from a space on, the next some characters before its end."""
    start = 0
    while start < len(text):
        end = min(start + SIZE, len(text))
        space = text.rfind(" ", start + overlap + 1, end)
        end = space if end < len(text) and space > 0 else end
        yield start, end
        start = end if end == len(text) else max(end - overlap, start + 1)


def paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Paragraphs, short ones together and long ones in windows."""
    start = 0
    ends = [match.end() for match in re.finditer(r"\n\s*\n", text)] + [len(text)]
    for end, following in zip(ends, [*ends[1:], len(text)], strict=True):
        if following - start > SIZE or end == len(text):
            for first, last in windows(text[start:end], 0):
                yield start + first, start + last
            start = end


CHUNKERS = {
    "windows": lambda text: windows(text, 0),
    "overlapping": lambda text: windows(text, OVERLAP),
    "paragraphs": paragraphs,
}


def drawn(texts: Sequence[str], many: int, seed: int) -> list[Passage]:
    """Passages of 8 to 25 words that stand once in the texts.

    Every eighth is edited, every ninth left out.
    """
    draw = random.Random(seed)
    every = "\n".join(letters(text) for text in texts)
    weights = [len(text) for text in texts]
    passages: list[Passage] = []
    taken = Counter[int]()
    while len(passages) < many:
        (file,) = draw.choices(range(len(texts)), weights)
        at = draw.randrange(max(1, len(texts[file]) - 2_000))
        inside = list(re.finditer(r"(?<!\S)\S+", texts[file][at : at + 2_000]))[1:][
            : draw.randint(8, 25)
        ]
        if len(inside) < 8 or taken[file] > many // 10:
            continue
        span = Span(file, at + inside[0].start(), at + inside[-1].end())
        text = texts[file][span.start : span.end]
        plain = re.findall(r"[a-z]{4,}", text.lower())
        if (
            re.search(r"[<>\[\]`*_|#&{}\\~^…=+]|\n\s*\n|^[\s>-]*[-0-9]", text, re.M)
            or len(plain) < 6
        ):
            continue
        if every.count(letters(text)) != 1:
            continue
        taken[file] += 1
        number = len(passages)
        asked = " ".join(draw.sample(plain, draw.randint(2, 6)))
        passages.append(
            Passage(
                span, text, f"{asked} {number}", number % 8 == 0, number % 9 == 1 and number % 8 > 0
            )
        )
    return passages


# -- search ----------------------------------------------------------------------------------------


class Search:
    """BM25, LSA, and their fusion over chunks."""

    def __init__(self, spans: Sequence[Span], texts: Sequence[str]) -> None:
        self.spans = spans
        self.chunks = [{"id": f"c{n}", "text": text} for n, text in enumerate(texts)]
        self.counter = CountVectorizer(token_pattern=r"[A-Za-z]{2,}")
        counts = self.counter.fit_transform(texts).tocsc().astype(np.float32)
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        norm = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
        frequency = np.diff(counts.indptr)
        idf = np.log(1 + (len(texts) - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
        counts.data = counts.data * 2.2 / (counts.data + norm[counts.indices])
        counts.data *= np.repeat(idf, frequency)
        self.weights = counts
        self.tfidf = TfidfVectorizer(token_pattern=r"[A-Za-z]{2,}", sublinear_tf=True)
        self.svd = TruncatedSVD(64, random_state=1)
        vectors = self.svd.fit_transform(self.tfidf.fit_transform(texts))
        self.vectors = vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)

    def texts(self) -> list[dict[str, str]]:
        return self.chunks

    def bm25(self, query: str, k: int) -> list[int]:
        words = [self.counter.vocabulary_.get(word) for word in query.lower().split()]
        scores = np.zeros(len(self.chunks), np.float32)
        for word in words:
            if word is not None:
                column = slice(*self.weights.indptr[word : word + 2])
                scores[self.weights.indices[column]] += self.weights.data[column]
        return _best(scores, k)

    def dense(self, query: str, k: int) -> list[int]:
        (vector,) = self.svd.transform(self.tfidf.transform([query]))
        return _best(self.vectors @ vector, k)

    def before(self, query: str) -> dict[str, list[int]]:
        """What stands before the reranker, in order."""
        return {
            "bm25": self.bm25(query, CANDIDATES),
            "dense": self.dense(query, CANDIDATES),
            "fused": self.fused(query, CANDIDATES),
        }

    def stages(self, query: str, k: int) -> dict[str, Any]:
        given = {
            name: [self.chunks[n] for n in found] for name, found in self.before(query).items()
        }
        return {**given, "fused": (given["fused"], GO_ON)}

    def fused(self, query: str, k: int) -> list[int]:
        """The fusion by ranks."""
        scores = defaultdict[int, float](float)
        for found in (self.bm25(query, CANDIDATES), self.dense(query, CANDIDATES)):
            for rank, n in enumerate(found):
                scores[n] += 1 / (60 + rank)
        return nlargest(k, scores, key=scores.__getitem__)

    def ranked(self, query: str, k: int) -> list[int]:
        """The reranker: those that hold most of the query's words near together come first."""
        words = {*query.lower().split()}

        def density(n: int) -> float:
            text = re.findall(r"[a-z]{2,}", self.chunks[n]["text"].lower())
            return max((sum(word in words for word in text[at : at + 40])
                        for at in range(0, len(text), 20)), default=0)  # fmt: skip

        return nlargest(k, self.fused(query, GO_ON), key=density)

    def search(self, query: str, k: int) -> list[dict[str, str]]:
        return [self.chunks[n] for n in self.ranked(query, k)]


def _best(scores: Any, k: int) -> list[int]:
    best = np.argpartition(-scores, k)[:k]
    return [int(n) for n in best[np.argsort(-scores[best], kind="stable")] if scores[n] > 0]


def search_of(chunker: str, texts: Sequence[str], passages: Sequence[Passage]) -> Search:
    """The search over chunks of the texts as they are indexed: edited, some files left out."""
    edits = {p.span: p for p in passages if p.edited}
    gone = {p.span.file for p in passages if p.left_out}
    spans, indexed = [], []
    for file, text in enumerate(texts):
        if file in gone:
            continue
        here = [span for span in edits if span.file == file]
        for start, end in CHUNKERS[chunker](text):
            span, shown = Span(file, start, end), text[start:end]
            for edit in here:
                middle = re.search(
                    r"[A-Za-z]{4,}", text[(edit.start + edit.end) // 2 - 5 : edit.end]
                )
                assert middle, "a passage has words in its second half"
                at = (edit.start + edit.end) // 2 - 5 + middle.start()
                if start <= at and at + len(middle[0]) <= end:
                    shown = shown[: at - start] + CHANGED + shown[at - start + len(middle[0]) :]
            spans.append(span)
            indexed.append(shown)
    return Search(spans, indexed)


# -- what is true, and what is said ----------------------------------------------------------------


def truth(passage: Passage, search: Search, gone: set[int]) -> set[str]:
    """The places that are true of it: one, or several for what was edited and cut as well."""
    if passage.span.file in gone:
        return {"not in the corpus"}
    holders = {n for n, span in enumerate(search.spans) if span.covers(passage.span)}
    if passage.edited:
        return {"changed"} if holders else {"changed", "cut", "not in the corpus"}
    if not holders:
        return {"cut"}
    for rank, n in enumerate(search.ranked(passage.query, DEPTH), 1):
        if n in holders:
            return {"found" if rank <= TOP_K else "further down"}
    for stage, found in reversed(search.before(passage.query).items()):
        for rank, n in enumerate(found, 1):
            if n in holders:
                sunk = f" of {len(found)}, {rank <= GO_ON}" if stage == "fused" else ""
                return {f"in stage {stage} at {rank}{sunk}"}
    return {"in no stage"}


def told(query: Any, passage: Passage, search: Search) -> str:
    """The place that the ledger names, of a stage with its rank.

    Of what was cut also whether the chunks that are named do touch it.
    """
    (fated,) = query.fates
    for one in query.missing:
        loss = one.loss
        if loss and loss.fate == "in stage":
            return f"in stage {loss.stage} at {loss.rank} of {loss.of}"
        if loss and loss.fate == "cut":
            chunks = [search.spans[int(holder.id[1:])] for holder in loss.holders]
            if not all(chunk.touches(passage.span) for chunk in chunks):
                return "cut between other chunks"
    return str(fated.now)


def suite_in(folder: Path, name: str, passages: Sequence[Passage]) -> Path:
    path = folder / f"{name}.ir.yaml"
    queries = [{"query": p.query, "relevant": [p.text]} for p in passages]
    path.write_text(json.dumps({**SUITE, "queries": queries}), encoding="utf-8")
    return path


def ledger(chunker: str, texts: Sequence[str], passages: Sequence[Passage], suite: Path) -> None:
    """Judge one chunker, and say how often the ledger is right."""
    search = search_of(chunker, texts, passages)
    gone = {p.span.file for p in passages if p.left_out}
    result = check(suite, search, baseline=False, start=suite.parent)
    (judged,) = result.results
    right, contradictions, wrong, fates = 0, 0, [], Counter[str]()
    for passage, query in zip(passages, judged.queries, strict=True):
        (fated,) = query.fates
        true = truth(passage, search, gone)
        fates[fated.now] += 1
        said = told(query, passage, search)
        right += said in true
        if said not in true:
            wrong.append(f"    {said}, not {' or '.join(sorted(true))}: {passage.text!r}")
        also = {one.loss.fate for one in query.missing if one.id == fated.id and one.loss}
        contradictions += bool(also - {fated.now})
    counted = ", ".join(f"{fate} {many}" for fate, many in fates.most_common())
    print(f"{chunker}: {len(search.chunks):,} chunks; {counted}")
    print(f"  right in {right} of {len(passages)}, contradicted {contradictions} times")
    print("\n".join(wrong))


def spent(work: Any) -> tuple[float, Any]:
    start = time.process_time()
    done = work()
    return time.process_time() - start, done


def sqlite_of(search: Search) -> Callable[[str], list[Any]]:
    """BM25 as SQLite has it."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE chunks USING fts5(text)")
    database.executemany("INSERT INTO chunks VALUES (?)", [(one["text"],) for one in search.chunks])
    ask = f"SELECT rowid FROM chunks WHERE chunks MATCH ? ORDER BY bm25(chunks) LIMIT {TOP_K}"
    return lambda query: database.execute(ask, [" OR ".join(query.split())]).fetchall()


def cost(texts: Sequence[str], many: int, seed: int, folder: Path) -> None:
    """Print what passages cost, over one chunker."""
    passages = drawn(texts, many, seed + 1)
    passages = [p._replace(edited=False, left_out=False) for p in passages]
    search = search_of("paragraphs", texts, passages)
    asked, _ = spent(lambda: [search.bm25(p.query, TOP_K) for p in passages])
    in_sqlite = sqlite_of(search)
    sqlite, _ = spent(lambda: [in_sqlite(p.query) for p in passages])
    path = suite_in(folder, "cost", passages)
    path.write_text(path.read_text().replace(f'"depth": {DEPTH}', f'"depth": {TOP_K}'))

    class Plain:
        def search(self, query: str, k: int) -> list[dict[str, str]]:
            return [search.chunks[n] for n in search.bm25(query, k)]

    suite = load_suite(path)
    run = retrieve(suite, Plain())
    first, _ = spent(lambda: by_passages(suite, run))
    again, _ = spent(lambda: by_passages(suite, run))
    per = 1000 / many
    print(f"{len(search.chunks):,} chunks, {many:,} queries, {TOP_K} results each; ms a query:")
    print(f"  BM25 in SQLite {sqlite * per:.2f}, in NumPy {asked * per:.2f}")
    print(f"  finding passages {first * per:.2f}, once more {again * per:.2f}")

    class Corpus(Plain):
        def texts(self) -> list[dict[str, str]]:
            return search.chunks

    times = []
    for _ in range(2):
        without, _ = spent(lambda: check(path, Plain(), baseline=False, start=folder))
        whole, _ = spent(lambda: check(path, Corpus(), baseline=False, start=folder))
        times.append(whole - without)
    print(f"  looking through the corpus {times[0]:.2f} s, for a second suite {times[1]:.2f} s")
    check(path, Plain(), update_baseline=True, start=folder)
    (baseline,) = (folder / ".ir-baseline").glob("*.jsonl")
    print(f"  the baseline: {baseline.stat().st_size / 2**20:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--passages", type=int, default=100)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    files = sorted(
        file for folder in options.folder for file in folder.rglob("*") if file.suffix in SUFFIXES
    )
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file()]
    print(f"{len(texts):,} files, {sum(map(len, texts)) / 2**20:.1f} million characters")
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as made:
        passages = drawn(texts, options.passages, options.seed)
        suite = suite_in(Path(made), "passages", passages)
        for chunker in CHUNKERS:
            ledger(chunker, texts, passages, suite)
        cost(texts, options.queries, options.seed, Path(made))


if __name__ == "__main__":
    main()
