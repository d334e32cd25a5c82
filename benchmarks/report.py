"""The HTML report of a large run: size, time to write it, and how it behaves in Chromium.

    python benchmarks/report.py [--queries 7000] [--baseline] [--keep report.html]

7,000 queries with 10 shown results each, nearly all of them different documents, as in a web
collection. With ``--baseline`` each has a second ranking of as many. In Chromium (the extra
``browser``, and a browser on the path) it measures the time from navigation until the page takes
input, and until a filter's or a search's rows are drawn. Best of five.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pytest_irquality.edges.codec import decode, encode
from pytest_irquality.report.data import document
from pytest_irquality.report.html import html_report
from pytest_irquality.report.markdown import markdown_report
from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.verdict.findings import Change, Finding, RankedDocument
from pytest_irquality.verdict.result import (
    Mean,
    QueryResult,
    ShownDocument,
    SuiteResult,
    Verdict,
)

SHOWN = 10
WORDS = [
    "office", "chair", "standing", "desk", "wireless", "headphones", "garden", "hose", "espresso",
    "machine", "hiking", "boots", "running", "shoes", "cotton", "bed", "sheet", "kitchen", "knife",
    "steel", "bottle", "winter", "jacket", "travel", "pillow", "reading", "lamp", "mountain",
    "bike", "camera", "lens",
]  # fmt: skip
MEASURES = ("ndcg@10", "mrr@10", "recall@10")


def result(queries: int, baseline: bool) -> SuiteResult:
    """A run made with a fixed seed: one query in twenty fails, a third of the rankings changed."""
    chance = random.Random(7)

    def words(count: int) -> str:
        return " ".join(chance.choices(WORDS, k=count))

    titles: dict[str, str] = {}

    def shown(rank: int | None, before: int | None, id: str) -> ShownDocument:
        title = titles.setdefault(id, words(8).capitalize())
        grade = (None, None, 0.0, 1.0, 2.0, 3.0)[len(title) % 6]
        return ShownDocument(rank, id, title, grade, bool(grade), chance.random() * 20, before)

    made, verdicts = [], []
    for n in range(queries):
        ids = [f"doc-{chance.randrange(8_800_000)}" for _ in range(SHOWN)]
        changed = baseline and n % 3 == 0
        old = [*ids[3:], *ids[:2], f"doc-{chance.randrange(8_800_000)}"] if changed else ids
        ranks = {id: rank for rank, id in enumerate(ids, 1)}
        then = {id: rank for rank, id in enumerate(old, 1)}
        ranking = tuple(shown(ranks[id], then.get(id) if baseline else None, id) for id in ids)
        values = tuple(chance.random() for _ in MEASURES)
        before = (
            tuple(min(1.0, max(0.0, v + chance.gauss(0, 0.2))) for v in values)
            if changed
            else values
        )
        made.append(
            QueryResult(
                id=f"{1_000_000 + n}",
                text=f"{words(chance.randint(2, 7))} {n}",
                line=1,
                values=values,
                ranking=ranking,
                missing=(shown(None, None, ids[0]),) if n % 4 == 0 else (),
                returned=100,
                before=before if baseline else None,
                compared=values if baseline else None,
                ranking_before=(
                    tuple(shown(ranks.get(id), then[id], id) for id in old) if changed else ()
                ),
                tags=(WORDS[n % 12], "head" if n % 10 == 0 else "tail"),
                seconds=chance.random() / 10,
            )
        )
        if n % 20 == 0:
            ranked = (RankedDocument(ids[0], 7, limit=3),)
            finding = Finding(made[-1].id, "must_find", False, ranked=ranked)
            verdicts.append(
                Verdict(f"q{n}", made[-1].text, 1, "failed", (finding,), query=made[-1].id)
            )
    change = (
        Change(0.5, 0.49, queries, queries // 6, queries // 6, queries - queries // 3, p=0.2)
        if baseline
        else None
    )
    return SuiteResult(
        suite="Large",
        path="large.ir.yaml",
        retriever="",
        top_k=10,
        measures=MEASURES,
        formulas=MEASURES,
        shown=MEASURES,
        means=tuple(
            Mean(m, tag, 0.5, queries, 0, change=change)
            for m in MEASURES
            for tag in (None, *WORDS[:12])
        ),
        queries=tuple(made),
        verdicts=tuple(verdicts),
        baseline=Baseline("large.jsonl", queries) if baseline else None,
    )


def timed(what: str, make: Callable[[], str]) -> str:
    start = time.process_time()
    text = make()
    print(f"{what:<28} {time.process_time() - start:6.2f} s  {len(text.encode()) / 1e6:6.2f} MB")
    return text


def in_chromium(file: Path) -> None:
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - an extra
    except ImportError:
        print("not measured in Chromium: playwright is not installed")
        return
    found = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if found is None:
        print("not measured in Chromium: there is none on the path")
        return
    usable: list[float] = []
    actions: dict[str, list[float]] = {name: [] for name in ACTIONS}
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=flags)
        for _ in range(5):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(file.as_uri())
            page.wait_for_selector("html[data-ready]", state="attached")
            usable.append(page.evaluate("performance.getEntriesByName('usable')[0].startTime"))
            for name, action in ACTIONS.items():
                actions[name].append(page.evaluate(MEASURE, action))
            page.close()
        browser.close()
    print(
        f"{'usable in Chromium':<28} {min(usable):6.0f} ms (median {statistics.median(usable):.0f})"
    )
    for name, took in actions.items():
        print(f"{name:<28} {min(took):6.0f} ms (median {statistics.median(took):.0f})")


# From the event until the frame that shows its effect.
MEASURE = """async (action) => {
  const start = performance.now();
  Function(action)();
  await new Promise((done) => requestAnimationFrame(() => { const port = new MessageChannel();
    port.port1.onmessage = done; port.port2.postMessage(0); }));
  return performance.now() - start;
}"""
SEARCH = (
    "const box = document.querySelector('input'); box.value = {0!r}; box.dispatchEvent(new"
    " Event('input'))"
)
ACTIONS = {
    "filter: failed": "document.querySelector('[data-kind=failed]').click()",
    "filter: all": "document.querySelector('[data-kind=all]').click()",
    "search: words": SEARCH.format("chair desk"),
    "search: tag": SEARCH.format("tag:head"),
    "search: document": SEARCH.format("doc:doc-12"),
    "search: nothing": SEARCH.format(""),
    "sort": "document.querySelectorAll('table.rows thead button')[2].click()",
    "open the first row": "document.querySelector('tr.row button').click()",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=7000)
    parser.add_argument("--baseline", action="store_true")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    made = result(options.queries, options.baseline)
    print(
        f"{options.queries} queries, {SHOWN} results shown of"
        f" each{', baseline' if options.baseline else ''}"
    )
    sent = timed("sent home by a worker", lambda: encode(made))
    timed("read again", lambda: str(len(decode(sent, SuiteResult).queries)))
    timed("JSON report", lambda: document([made], []))
    timed("Markdown report", lambda: markdown_report([made]))
    page = timed("HTML report", lambda: html_report([made]))
    with tempfile.TemporaryDirectory() as folder:
        file = options.keep or Path(folder, "report.html")
        file.write_text(page, encoding="utf-8")
        in_chromium(file.resolve())


if __name__ == "__main__":
    main()
