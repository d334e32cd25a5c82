"""Write the reference page of metrics from their definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path

from docs.tools import ROOT
from pytest_irquality.metrics import METRICS, Definition, Parameter
from pytest_irquality.metrics.metric import RELEVANT_FROM

PAGE = ROOT / "docs/reference/metrics.md"

ESSENTIAL_METRICS = (
    "ndcg",
    "mrr",
    "recall",
    "precision",
    "success",
    "complete",
    "zero_results",
    "latency_p95",
)
USUAL_UNDEFINED = Definition.__dataclass_fields__["undefined"].default

HEAD = """\
# Metrics

The definitions of all metrics. A metric is a number for each query, and its mean over a suite or a
tag. `ndcg@10` is ndcg of the first ten results; without `@10`, the cutoff is the suite's `top_k`.
This page is generated from the code.

- **Relevant** documents have a grade of at least `relevant_from` (1 by default). Unjudged
  documents are not relevant.
- **Queries without a relevant document** have no value and are left out of means, or score 0
  under `undefined: zero`.
- **A query that returns nothing** scores 0. Duplicates count once. Scores do not change the order,
  and nothing is rounded.

A complete name is `[weighted] [STAGE] [candidates] METRIC[(PARAMETER=VALUE)][@CUTOFF]`:

- `weighted ndcg@10` uses the `weight` of each query.
- `bm25 candidates recall@100` is the recall of the first 100 results of the
  [stage](../guides/stages.md#first-stage-and-reranker) `bm25`.
- `recall(rel=2)@10` counts only documents with a grade of at least 2.
- `recall(tokens=4000)` counts results that fit into 4,000 tokens (or `words`).
"""

TAIL = """\
## Other tools

Values equal those of trec_eval, pytrec_eval, ir_measures, ranx and BEIR, except as above and
here:

- trec_eval and pytrec_eval sort by score as a 32-bit float, ties by descending id. Here, that is
  the order of TREC runs only. They score a judged query without a relevant document 0.
- ir_measures breaks ties of `Judged` and `RR@k` by ascending id.
- ranx scores a query without a relevant document 0, and truncates grades to whole numbers.
- BEIR rounds to five digits, and drops results whose id is that of the query.
"""


def generate() -> Iterator[tuple[Path, str]]:
    """Yield the page."""
    yield PAGE, render_page()


def render_page(definitions: Mapping[str, Definition] = METRICS) -> str:
    """Render the page as Markdown. Each metric is a heading, so that it has an anchor."""
    lines = [HEAD, "## Common metrics", ""]
    for name in ESSENTIAL_METRICS:
        lines += render_metric(definitions[name])
    lines += ["## Advanced metrics", ""]
    for name, definition in definitions.items():
        if name not in ESSENTIAL_METRICS:
            lines += render_metric(definition)
    lines.append(TAIL)
    return "\n".join(lines)


def render_metric(definition: Definition) -> Iterator[str]:
    """Yield the lines about one metric. What is true of most metrics is left out."""
    yield from (f"### `{definition.name}`", "")
    unusual = []
    if definition.range != (0, 1):
        unusual.append(_describe_range(definition))
    if not definition.higher_is_better:
        unusual.append("lower is better")
    remark = f" ({', '.join(unusual)})" if unusual else ""
    yield from (f"{definition.title}{remark}: *{definition.formula}*.", "")
    sentences = []
    if definition.undefined not in (USUAL_UNDEFINED, "never"):
        sentences.append(f"Undefined {definition.undefined}.")
    for parameter in definition.parameters:
        if parameter is not RELEVANT_FROM:
            sentences.append(_describe_parameter(parameter))
    if definition.aliases:
        aliases = ", ".join(f"`{alias}`" for alias in definition.aliases)
        sentences.append(f"Also {aliases}.")
    if definition.source != "ours":
        sentences.append(f"Source: {definition.source}.")
    if definition.differences:
        sentences.append(f"Elsewhere: {definition.differences}.")
    if sentences:
        yield from (" ".join(sentences), "")


def _describe_range(definition: Definition) -> str:
    low, high = definition.range
    unit = {"seconds": "seconds", "count": "queries"}.get(definition.unit, "")
    if high == inf:
        return f"in {unit}" if unit else f"from {low:g}"
    return f"{low:g} to {high:g}"


def _describe_parameter(parameter: Parameter) -> str:
    default = ""
    if parameter.default is not None:
        default = f" (default: `{_format_value(parameter.default)}`)"
    return f"`{parameter.name}`: {parameter.meaning}{default}."


def _format_value(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
