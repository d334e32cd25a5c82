"""The page to grade in, in Chromium: how fast it opens, finds what is missing, and takes a grade.

    python benchmarks/grading.py [--corpus 20000] [--documents 2000]

One query has that many documents, and the corpus is searched by title. Best of five, in
milliseconds, from the event until the frame that shows its effect; needs the extra ``browser``.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from report import MEASURE, WORDS, timed

from pytest_irquality.report.judging import judging_page
from pytest_irquality.verdict.pool import Pool, Pooled, PooledQuery, by_importance

SCALE = (("bad", 0.0), ("ok", 1.0), ("good", 2.0), ("perfect", 3.0))
TYPE = (
    "const field = document.querySelector('#find'); field.value = {0!r};"
    "field.dispatchEvent(new Event('input'))"
)
GRADE = "document.querySelectorAll('.card.active .grade')[1].click()"
ACTIONS = {
    "first search (it makes the index)": TYPE.format("chair"),
    "search: a word of many titles": TYPE.format("desk"),
    "search: three words": TYPE.format("lamp desk 12"),
    "search: a letter": TYPE.format("e"),
    "search: an id": TYPE.format("doc-1999"),
    "search: nothing fits": TYPE.format("zzz"),
    "to the query of many documents": "document.querySelectorAll('#queries button')[1].click()",
    "a grade": GRADE,
    "another grade": GRADE,
}


def page_text(corpus: int, documents: int) -> str:
    """The page of two queries: one that returned nothing, one that returned all these documents."""
    chance = random.Random(7)
    texts = tuple(
        (
            f"doc-{n}",
            f"{' '.join(chance.choices(WORDS, k=8))} {n}",
            " ".join(chance.choices(WORDS, k=40)),
        )
        for n in range(corpus)
    )
    many = tuple(
        Pooled(id, n + 1, title, text) for n, (id, title, text) in enumerate(texts[:documents])
    )
    queries = (PooledQuery("none", "nothing"), PooledQuery("many", "chair desk", documents=many))
    return judging_page(by_importance([Pool("s.ir.yaml", "s", SCALE, queries, corpus=texts)], ()))


def measured(page: Page, file: Path) -> tuple[float, dict[str, float]]:
    """How long it took until the page could be used, and each action after."""
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    usable = page.evaluate("performance.now()")
    page.fill("#name", "Anna")
    page.click("#go")
    page.wait_for_selector("#find")
    return usable, {name: page.evaluate(MEASURE, action) for name, action in ACTIONS.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=int, default=20_000)
    parser.add_argument("--documents", type=int, default=2_000)
    options = parser.parse_args()
    text = timed("page written", lambda: page_text(options.corpus, options.documents))
    found = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder, "judge.html")
        file.write_text(text, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        runs = []
        for _ in range(5):
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            runs.append(measured(context.new_page(), file))
            context.close()
        browser.close()
    usable = [one for one, _ in runs]
    print(
        f"{'usable in Chromium':<34} {min(usable):6.0f} ms (median {statistics.median(usable):.0f})"
    )
    for name in ACTIONS:
        took = [one[name] for _, one in runs]
        print(f"{name:<34} {min(took):6.0f} ms (median {statistics.median(took):.0f})")


if __name__ == "__main__":
    main()
