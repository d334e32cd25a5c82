"""The page of definitions, drawn from the measures themselves so that it cannot drift from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_irquality.metrics.catalogue import DEFINITIONS
from pytest_irquality.metrics.definition import Definition, Parameter
from pytest_irquality.metrics.measure import written

DIRECTION = {True: "higher", False: "lower", None: "neither"}

HEAD = """\
# Measures

Drawn from the measures themselves: `python -m docs.tools.renew`.

A name is `[weighted] [[stage] candidates] measure[(parameter=value, …)][@k]`, in capitals or small letters: `ndcg@10`, `AP(rel=2)@100`,
`weighted mrr@10`. Without `@k`, a measure that takes one is computed at the suite's `top_k`. The spellings of
ir_measures (`nDCG@10`, `SetP`) and trec_eval (`ndcg_cut_10`, `P_5`) are read too;
names of trec_eval that carry no cutoff (`map`, `recip_rank`, `ndcg`) are computed at `top_k` like any other. Reports
print one canonical name. A project's own measures, made with `own_measure`, are named in the same way.

What holds of all of them:

- **Relevant** is a document whose grade is at least `relevant_from` (1 unless the suite says otherwise), or at least
  the measure's own `rel`. Grades may be fractions. A grade of 0 or below is never relevant and gives no gain; a
  negative one means, as in trec_eval, that nobody judged the document, but `judged` counts it as judged.
- **A query without a relevant document** has no value and enters no mean; reports show how many did. Under
  `undefined: judged_zero` it scores 0 where anything of it was graded, and under `undefined: zero` always, as in
  trec_eval (`rank_of_first`: k + 1). Graded measures need a positive grade
  instead, whatever `relevant_from` says. A limit over no defined query fails.
- **No results** score 0 (`rank_of_first`: k + 1). With fewer than k results the rest count as not relevant:
  `precision@k` still divides by k.
- **Duplicates** are removed before anything is computed, and ranks close up. Nothing is ever credited twice.
- **Order** is the retriever's. Scores are not looked at, so ties are not broken anew.
- **Weighted** means are Σ(weight · value) ÷ Σ weight over the queries that have a value. Only means can be weighted.
- **Candidates**: `candidates recall@100` is recall of what the [first stage](../guides/stages.md) gave, not of the ranking;
  `dense candidates recall@100` that of the stage `dense`, where there are several.
- **Budgets**: `recall(tokens=4000)` and `ndcg(words=3000)` have a [budget](../guides/passages.md#context-for-a-reader) in place of a
  cutoff: k is the number of whole results that fit. So may every measure of relevance that takes a cutoff and is better high.
- Nothing is rounded, and means are summed without loss (`math.fsum`).

What other tools do differently, whatever the measure (each was run, or its code was read):

- **trec_eval, pytrec_eval**: sort by score as a 32-bit float, ties by document id descending; count a query that is
  judged but has no relevant document as 0; leave a judged query that is absent from the run out of the mean
  (trec_eval's `-c` counts it). pytrec_eval takes only whole grades.
- **ir_measures**: as pytrec_eval where that computes the measure, but counts a judged query that is absent from the
  run. Its `Judged` and `RR@k` break ties by document id ascending instead.
- **ranx**: sorts by score, ties in the order given; counts a query without a relevant document as 0; refuses a run
  whose queries are not those of the judgments; cuts fractions off grades.
- **BEIR**: pytrec_eval's values, rounded to five digits, after dropping results whose id equals the query's.
- **scikit-learn**: takes arrays of grades and scores, not rankings; what was not retrieved must stand in the array too.
"""


def page(definitions: Mapping[str, Definition] = DEFINITIONS) -> str:
    """The whole page, as Markdown."""
    return "\n".join(
        [HEAD, *index(definitions), *(line for d in definitions.values() for line in section(d))]
    )


def index(definitions: Mapping[str, Definition]) -> Iterator[str]:
    """One line a measure."""
    yield "| measure | what | range | better |"
    yield "|---|---|---|---|"
    for definition in definitions.values():
        link = f"[`{example(definition)}`](#{definition.name})"
        yield (
            f"| {link} | {definition.title} | {bounds(definition)} |"
            f" {DIRECTION[definition.higher_is_better]} |"
        )
    yield ""


def section(definition: Definition) -> Iterator[str]:
    """All that is to be said of one measure."""
    yield f"## {definition.name}"
    yield ""
    yield f"**{definition.title}**: `{example(definition)}`"
    yield ""
    yield f"> {definition.formula}"
    yield ""
    yield f"- Range: {bounds(definition)}; {DIRECTION[definition.higher_is_better]} is better."
    if definition.aggregate == "sum":
        yield "- Over many queries: their sum."
    yield f"- Undefined: {definition.undefined}."
    for parameter in definition.parameters:
        yield f"- `{parameter.name}`: {parameter.meaning}{default(parameter)}."
    if definition.aliases:
        yield f"- Also read as: {', '.join(f'`{alias}`' for alias in definition.aliases)}."
    yield f"- Source: {definition.source}."
    if definition.differs:
        yield f"- Elsewhere: {definition.differs}."
    yield ""


def example(definition: Definition) -> str:
    """The name as one would write it."""
    shown = ",".join(
        f"{p.name}={written(p.default)}"
        for p in definition.parameters
        if p.always_shown and p.default
    )
    at = "@k" if definition.takes_cutoff else ""
    return f"{definition.plain_name or definition.name}{f'({shown})' if shown else ''}{at}"


def bounds(definition: Definition) -> str:
    """Lowest and highest value."""
    low, high = definition.range
    unit = " seconds" if definition.unit == "seconds" else ""
    return f"{low:g}{unit} and up" if high == float("inf") else f"{low:g} to {high:g}{unit}"


def default(parameter: Parameter) -> str:
    """What is taken unless it is written."""
    return "" if parameter.default is None else f"; `{written(parameter.default)}` unless written"
