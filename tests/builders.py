"""Short builders for suites and runs, so a test shows only the data that matters to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_irquality.metrics import Judgments, parse_metric
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import (
    Bound,
    BoundUnit,
    CheckItem,
    ItemKind,
    Query,
    Settings,
    Suite,
    Threshold,
)
from pytest_irquality.suite.rules import Rule

GRADES = {"best": 3.0, "good": 2.0, "fair": 1.0}


def rank(*doc_ids: str, scores: Sequence[float] | None = None, **fields: Any) -> Ranking:
    return Ranking(doc_ids, scores, **fields)


def parse_ranking(text: str) -> Ranking:
    """Parse a ranking such as ``a:3 b:2``. Without any score it has none."""
    doc_ids = []
    scores = []
    for word in text.split():
        doc_id, _, score = word.partition(":")
        doc_ids.append(doc_id)
        if score:
            scores.append(float(score))
    return Ranking(tuple(doc_ids), tuple(scores) or None)


# With GRADES, these have an nDCG of 1.000, 0.509, 0.922 and 0.
GOOD = rank("best", "good", "fair")
WORSE = rank("junk-1", "junk-2", "junk-3", "best", "good", "fair")
SWAPPED = rank("good", "best", "fair")
EMPTY = rank()


def make_query(text: str, grades: Mapping[str, float] | None = None, **fields: Any) -> Query:
    fields.setdefault("judgments", Judgments(GRADES if grades is None else grades))
    fields.setdefault("id", text)
    return Query(text=text, **fields)


def make_threshold(metric: str = "ndcg@10", *, warn: bool = False, **bounds: object) -> Threshold:
    """Make a threshold: ``make_threshold("recall@10", min=0.7, max_drop="5%")``.

    A percentage is of the queries for ``min`` and ``max``, and of the baseline otherwise.
    """
    written = {}
    for name, value in bounds.items():
        if isinstance(value, str) and value.endswith("%"):
            is_value = name in ("min", "max")
            unit = BoundUnit.QUERY_FRACTION if is_value else BoundUnit.BASELINE_FRACTION
            written[name] = Bound(float(value[:-1]) / 100, unit, value)
        elif isinstance(value, (int, float)):
            written[name] = Bound(value)
    others = {name: value for name, value in bounds.items() if name not in written}
    return Threshold(parse_metric(metric), is_warning=warn, **written, **others)  # type: ignore[arg-type]


def make_suite(
    name: str = "shop",
    queries: int | Sequence[Query] = 20,
    *,
    metrics: Sequence[str] = (),
    thresholds: Sequence[Threshold] = (),
    tags: Mapping[str, Sequence[Threshold]] | None = None,
    each_tag: Sequence[Threshold] = (),
    each_query: Sequence[Threshold | Rule] = (),
    settings: Settings | None = None,
    **fields: Any,
) -> Suite:
    """Make a suite with all its items. A number makes the queries ``shop 0``, ``shop 1`` etc."""
    if isinstance(queries, int):
        queries = [make_query(f"{name} {number}") for number in range(queries)]
    items = [CheckItem("answers", "every query has an answer", ItemKind.ANSWERS)]
    for query in queries:
        if not query.is_sampled:
            items.append(CheckItem(query.id, query.text, ItemKind.QUERY, query_id=query.id))
    lines = [("", "", threshold) for threshold in thresholds]
    lines += [("each_tag", "", threshold) for threshold in each_tag]
    for tag, tag_thresholds in (tags or {}).items():
        lines += [("tag", tag, threshold) for threshold in tag_thresholds]
    for key, tag, threshold in lines:
        label = f"{tag or key} {threshold.metric}".strip()
        item = CheckItem(
            label,
            label,
            ItemKind.THRESHOLD,
            tag=tag,
            is_each_tag=key == "each_tag",
            threshold=threshold,
        )
        items.append(item)
    for requirement in each_query:
        is_rule = isinstance(requirement, Rule)
        label = f"each_query {requirement.key if is_rule else requirement.metric}"  # type: ignore[union-attr]
        kind = {"rule" if is_rule else "threshold": requirement}
        items.append(CheckItem(label, label, ItemKind.EACH_QUERY, **kind))  # type: ignore[arg-type]
    items.append(CheckItem("default checks", "default checks", ItemKind.DEFAULT_CHECKS))
    fields.setdefault("path", f"{name}.ir.yaml")
    return Suite(
        name,
        tuple(queries),
        metrics=tuple(parse_metric(metric) for metric in metrics),
        items=tuple(items),
        settings=settings or Settings(),
        **fields,
    )


def make_run(*suites: Suite, worse: int = 0, ranking: Ranking = WORSE, **fields: Any) -> Run:
    """Answer the first ``worse`` queries of each suite with ``ranking``, and the others well."""
    answers = {}
    for suite in suites:
        for number, query in enumerate(suite.queries):
            answers[query.request] = (ranking if number < worse else GOOD,)
    return Run(answers, **fields)


def make_repeated_run(suite: Suite, *repeats: Sequence[Ranking]) -> Run:
    """Answer each of the first queries with the given repeats, and the others well three times."""
    answers = {}
    for number, query in enumerate(suite.queries):
        query_repeats = repeats[number] if number < len(repeats) else (GOOD, GOOD, GOOD)
        answers[query.request] = tuple(query_repeats)
    return Run(answers)


def answer(rankings: Mapping[str, Ranking | Sequence[Ranking]], **fields: Any) -> Run:
    """Make a run from the ranking or the repeats of each request."""
    answers = {}
    for request, ranking in rankings.items():
        answers[request] = (ranking,) if isinstance(ranking, Ranking) else tuple(ranking)
    return Run(answers, **fields)
