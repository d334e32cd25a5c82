"""The page of definitions, drawn from the measures themselves so that it cannot drift from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_irquality.metrics.catalogue import DEFINITIONS
from pytest_irquality.metrics.definition import REL, Definition, Parameter
from pytest_irquality.metrics.measure import written

HEAD = """\
# Measures

A measure is a number for each query, and its mean over a suite or a tag. Its name is
`[weighted] [[stage] candidates] measure[(parameter=value, …)][@k]`: `ndcg@10`, `AP(rel=2)@100`, `weighted mrr@10`. Without `@k` it is
computed at the suite's `top_k`. The spellings of ir_measures (`nDCG@10`) and trec_eval (`ndcg_cut_10`, `P_5`) are read too. This page is
drawn from the measures themselves (`python -m docs.tools.renew`).

- **Relevant** is a document whose grade is at least `relevant_from` (1 unless written), or the measure's own `rel`. A grade of 0 or below
  never is. A negative one means that nobody judged the document.
- **A query without a relevant document** has no value and enters no mean. Under `undefined: judged_zero` it scores 0 where anything of it
  was graded, under `undefined: zero` always. A limit over no defined query fails.
- **No results** score 0. With fewer than k the rest count as not relevant. **Duplicates** are removed first.
- **Order** is the retriever's: scores are not looked at. Nothing is rounded.
- `candidates recall@100` is recall of what the [first stage](../guides/stages.md) gave.

trec_eval, pytrec_eval, ir_measures, ranx and BEIR agree where they have the measure, unless *Elsewhere* says otherwise (each was run, or its
code was read). But:

- **trec_eval, pytrec_eval** sort by score as a 32-bit float, ties by document id descending. They count a judged query without a
  relevant document as 0, and leave one that is absent from the run out (`-c` counts it).
- **ir_measures** counts that one. Its `Judged` and `RR@k` break ties by document id ascending.
- **ranx** sorts by score, counts a query without a relevant document as 0, and cuts fractions off grades.
- **BEIR** rounds to five digits, and drops results whose id equals the query's.
- **scikit-learn** takes arrays: what was not retrieved must stand in them, too.
"""


def page(definitions: Mapping[str, Definition] = DEFINITIONS) -> str:
    """The whole page, as Markdown."""
    return "\n".join([HEAD, *(line for d in definitions.values() for line in section(d))])


def section(definition: Definition) -> Iterator[str]:
    """What is to be said of one measure, but for what is usual: 0 to 1, and high is good."""
    yield from (f"## {definition.name}", "", f"> {definition.formula}", "")
    unusual = [
        *([bounds(definition)] if definition.range != (0, 1) else ()),
        *([] if definition.higher_is_better else ["lower is better"]),
    ]
    said = f" ({', '.join(unusual)})" if unusual else ""
    yield f"{definition.title}: `{example(definition)}`{said}."
    if definition.undefined not in (Definition.undefined, "never"):
        yield f"Undefined {definition.undefined}."
    for parameter in definition.parameters:
        if parameter is not REL:
            yield f"`{parameter.name}`: {parameter.meaning}{default(parameter)}."
    if definition.aliases:
        yield f"Also written {', '.join(f'`{alias}`' for alias in definition.aliases)}."
    if definition.source != "ours":
        yield f"Source: {definition.source}."
    if definition.differs:
        yield f"Elsewhere: {definition.differs}."
    yield ""


def example(definition: Definition) -> str:
    """The name as one would write it."""
    shown = ",".join(
        f"{p.name}={written(p.default)}"
        for p in definition.parameters
        if p.always_shown and p.default
    )
    at = "@k" if definition.takes_cutoff else ""
    return f"{definition.name}{f'({shown})' if shown else ''}{at}"


def bounds(definition: Definition) -> str:
    """Lowest and highest value."""
    low, high = definition.range
    unit = " seconds" if definition.unit == "seconds" else ""
    return f"{low:g}{unit} and up" if high == float("inf") else f"{low:g} to {high:g}{unit}"


def default(parameter: Parameter) -> str:
    """What is taken unless it is written."""
    return "" if parameter.default is None else f" (`{written(parameter.default)}` unless written)"
