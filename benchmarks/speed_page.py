"""Write the page about speed of the documentation, or check what it claims.

    python -m benchmarks.speed_page           writes docs/reference/speed.md from results.json
    python -m benchmarks.speed_page --check   runs short versions of all benchmarks

The check fails if a claim of the page is better than half of what a short run shows, so it finds a
claim that is far too good on any machine, and nothing else.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import fields
from typing import Any

from benchmarks.timing import RESULTS, ROOT, Figure

PAGE = ROOT / "docs" / "reference" / "speed.md"
MIN_FRACTION = 0.5

# What each benchmark measures, in the order of the page.
BENCHMARKS = {
    "startup": "Start of pytest",
    "example": "A small suite",
    "items": "A large suite",
    "evaluation": "Evaluation",
    "complete_job": "A saved run",
    "reading": "Reading files",
    "results": "Reading results",
    "base_run": "The base branch's code",
    "shards": "Shards",
    "growth": "Growth",
    "kills": "Kills",
}
INTRODUCTION = (
    "# Speed and size\n\n"
    "This page shows what the plugin costs in addition to your search. The scripts in `benchmarks/`"
    " measure it in seconds of the processor, next to other tools or to the least that anybody has"
    " to do. A ratio of 1.5 means half as much again.\n"
)
EXPLANATION = (
    "`pip install -e . --group bench` and `python -m benchmarks.NAME` repeat a measurement."
    ' "Growth" doubles a project along one axis three times; the ratio is that of the last'
    " doubling, so 2 is linear.\n\n"
    "The page needs Jinja2 and one pass over all queries: `--ir-report=none` leaves it out. After"
    " an installation, the first run is slower, because Python and Jinja2 compile.\n"
)


def read_results() -> dict[str, dict[str, Any]]:
    """Return the kept figures by their key."""
    results: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return results


def make_figure(result: dict[str, Any]) -> Figure:
    return Figure(**{field.name: result[field.name] for field in fields(Figure)})


def find_benchmark(key: str) -> str:
    """Return the benchmark that a figure comes from."""
    if key.startswith("decision"):
        return "evaluation"
    name = key.replace("-", "_")
    return next(benchmark for benchmark in BENCHMARKS if name.startswith(benchmark))


def write_page() -> str:
    """Return the page."""
    results = read_results()
    parts = [INTRODUCTION]
    for benchmark, title in BENCHMARKS.items():
        figures = [
            make_figure(result)
            for key, result in results.items()
            if find_benchmark(key) == benchmark
        ]
        if figures:
            parts.append(format_table(title, figures))
    dates = sorted({result["date"] for result in results.values()})
    machines = sorted({result["machine"] for result in results.values()})
    parts.append(EXPLANATION)
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    parts.append(
        f"Measured {when} on {'; '.join(machines)}. `benchmarks/results.json` has the commit of"
        " each figure.\n"
    )
    return "\n".join(parts)


def format_table(title: str, figures: list[Figure]) -> str:
    lines = [f"## {title}", "", "| work | compared with | cost | seconds |", "|---|---|---:|---:|"]
    for figure in figures:
        seconds = ""
        if figure.seconds is not None:
            is_short = figure.seconds < 0.01
            seconds = f"{1000 * figure.seconds:.2f} ms" if is_short else f"{figure.seconds:.2f} s"
        cells = [figure.work, figure.compared_with, figure.formatted_value, seconds]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def check_claims(only: str) -> list[str]:
    """Run short versions, and return the claims that are too good."""
    claims = read_results()
    too_good = []
    for benchmark in BENCHMARKS:
        if only not in benchmark:
            continue
        command = [sys.executable, "-m", f"benchmarks.{benchmark}", "--short"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            too_good.append(f"{benchmark} failed: {done.stderr[-1000:]}{done.stdout[-1000:]}")
            continue
        for line in done.stdout.splitlines():
            if not line.startswith('{"key"'):
                continue
            measured = make_figure(json.loads(line))
            # Absolute values depend on the size of the work, which is smaller here.
            is_comparable = bool(measured.compared_with) or measured.unit == "files"
            claim = claims.get(measured.key)
            if claim is None or not is_comparable:
                continue
            if claim["value"] < MIN_FRACTION * measured.value:
                claimed = make_figure(claim).formatted_value
                too_good.append(
                    f"{measured.key}: the page says {claimed}, and this run"
                    f" {measured.formatted_value}"
                )
        print(f"{benchmark}: checked", flush=True)
    return too_good


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="check the claims of the page")
    parser.add_argument("--only", default="", help="check only benchmarks with this in their name")
    options = parser.parse_args()
    if options.check:
        too_good = check_claims(options.only)
        sys.exit("\n".join(too_good) if too_good else 0)
    PAGE.write_text(write_page(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} is written.")


if __name__ == "__main__":
    main()
