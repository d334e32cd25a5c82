"""Write the page about speed of the documentation, or check what it claims.

    python -m benchmarks.speed_page           writes docs/reference/speed.md from results.json
    python -m benchmarks.speed_page --check   runs short versions of all benchmarks

The check fails if a claim of the page is better than half of what a short run shows, so it finds a
claim that is far too good on any machine, and nothing else.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from benchmarks.all import BENCHMARKS, run
from benchmarks.timing import ROOT, Figure, read_results

PAGE = ROOT / "docs" / "reference" / "speed.md"
MIN_FRACTION = 0.5
MAX_ATTEMPTS = 3
MAX_NOISE_MS = 20  # What is added to a start of half a second differs by that much.

# What users want to know, in the order of the page. All other figures are in results.json.
SHOWN = (
    "startup-unused",
    "startup-suite",
    "example-no-page",
    "example-page",
    "items",
    "items-memory",
    "evaluation",
    "evaluation-baseline",
    "complete-job-no-page",
    "complete-job-page",
    "complete-job-memory",
    "complete-job-ir_measures",
    "complete-job-ranx",
    "complete-job-trec_eval",
    "reading-run",
    "reading-qrels",
    "results-dicts",
    "base-run",
    "shards",
    "shards-memory",
)
INTRODUCTION = """\
# Speed and size

What the plugin costs in addition to your search. Ratios compare CPU seconds.
"""
GROWTH = """\

If a project doubles, its cost should double. The ratios of the last doubling:

|work|ratio|seconds|
|---|--:|--:|
"""
CONCLUSION = """\

The report needs Jinja2 and a pass over all queries: `--ir-report=none` leaves it out. `python -m
benchmarks.all` repeats the measurement. {source}. `benchmarks/results.json` has all figures.
"""


def generate() -> Iterator[tuple[Path, str]]:
    """Yield the page with its text."""
    results = read_results()
    lines = ["|work|compared with|cost|seconds|", "|---|---|--:|--:|"]
    for key in SHOWN:
        if key in results:
            figure = make_figure(results[key])
            cells = (figure.work, figure.compared_with, figure.formatted_value)
            lines.append(format_row(*cells, format_seconds(figure)))
    rows = []
    for key, result in results.items():
        if key.startswith("growth-"):
            figure = make_figure(result)
            rows.append(format_row(figure.work, figure.formatted_value, format_seconds(figure)))
    sources = []
    for name in ("commit", "date", "machine"):
        sources.append(", ".join(sorted({result[name] for result in results.values()})))
    source = f"Measured at {'; '.join(sources)}"
    table, growth = "\n".join(lines), "\n".join(rows)
    conclusion = CONCLUSION.format(source=source)
    yield PAGE, f"{INTRODUCTION}\n{table}\n{GROWTH}{growth}\n{conclusion}"


def make_figure(result: dict[str, Any]) -> Figure:
    """Return a figure without its source."""
    return Figure(**{field.name: result[field.name] for field in fields(Figure)})


def format_seconds(figure: Figure) -> str:
    return "" if figure.seconds is None else f"{figure.seconds:.2g}"


def format_row(*cells: str) -> str:
    """Return a row of a table. Spaces around the cells would count as words of the page."""
    return f"|{'|'.join(cells)}|"


def find_excessive_claims(claims: dict[str, Any], measured: Sequence[Figure]) -> Iterator[str]:
    """Yield the claims that are better than half of what was measured."""
    for figure in measured:
        # Absolute values depend on the size of the work, which is smaller in short runs.
        is_comparable = bool(figure.compared_with) or figure.unit == "files"
        claim = claims.get(figure.key)
        if claim is None or not is_comparable:
            continue
        noise = MAX_NOISE_MS if figure.unit == "ms" else 0
        if claim["value"] < MIN_FRACTION * (figure.value - noise):
            claimed = make_figure(claim).formatted_value
            yield f"{figure.key}: the page says {claimed}, and this run {figure.formatted_value}"


def check_claims(name: str) -> list[str]:
    """Return the claims of a benchmark that are too good in every one of several short runs.

    Short runs take fractions of a second, so anything else on the machine makes one of them slow.
    """
    keys: set[str] = set()
    for attempt in range(MAX_ATTEMPTS):
        excessive = list(find_excessive_claims(read_results(), run(name, "--short")))
        if attempt:
            excessive = [claim for claim in excessive if claim.partition(":")[0] in keys]
        keys = {claim.partition(":")[0] for claim in excessive}
        if not keys:
            break
    return excessive


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="check the claims of the page")
    parser.add_argument("--only", default="", help="check only benchmarks with this in their name")
    options = parser.parse_args()
    if options.check:
        excessive: list[str] = []
        for name in BENCHMARKS:
            if options.only in name:
                excessive += check_claims(name)
        sys.exit("\n".join(excessive) if excessive else 0)
    for path, text in generate():
        path.write_text(text, encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {len(text.split())} words")


if __name__ == "__main__":
    main()
