"""Short builders of decisions and views, so a test shows only the data that matters to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.evaluation.decide import Decision, decide
from pytest_irquality.evaluation.evaluate import Branch
from pytest_irquality.metrics import Judgments, parse_metric
from pytest_irquality.reports.build_view import build_view
from pytest_irquality.reports.view_model import View, ViewSettings
from pytest_irquality.retrieval.run import QueryError, Ranking, Run
from pytest_irquality.suite.mistakes import Location
from pytest_irquality.suite.model import Bound, CheckItem, ItemKind, Query, Suite, Threshold
from pytest_irquality.suite.parser import make_items

GRADES = {"best": 3.0, "good": 2.0, "fair": 1.0}
TITLES = {
    "best": "Oak Table",
    "good": "Pine Table",
    "fair": "Table Cloth",
    "junk-1": "Garden Hose",
    "junk-2": "Desk Lamp",
    "junk-3": "Wool Rug",
}


def rank(*doc_ids: str) -> Ranking:
    return Ranking(doc_ids)


# With GRADES, these have an nDCG@10 of 1.000, 0.509, 0.922 and 0.
GOOD = rank("best", "good", "fair")
WORSE = rank("junk-1", "junk-2", "junk-3", "best", "good", "fair")
SWAPPED = rank("good", "best", "fair")
LOST = rank("junk-1", "junk-2", "junk-3")
EMPTY = rank()

SETTINGS = ViewSettings(
    branch="faster-index",
    commit="0123456789abcdef",
    compared_with=".ir-baseline",
    now=datetime(2026, 11, 28, 12, 30),
    version="2.0.0",
)


def name_doc(role: str, text: str) -> str:
    """Name the document that has a role for a query. Every query has its own documents."""
    return f"{role}:{text.replace(' ', '-')}"


def make_query(text: str, grades: Mapping[str, float] | None = None, **fields: Any) -> Query:
    fields.setdefault("id", text.replace(" ", "-"))
    fields.setdefault("location", Location("shop.ir.yaml", 7))
    named = {}
    for role, grade in (GRADES if grades is None else grades).items():
        named[name_doc(role, text)] = grade
    return Query(text=text, judgments=Judgments(named), **fields)


def make_threshold(metric: str, **bounds: Any) -> Threshold:
    is_warning = bounds.pop("warn", False)
    written: dict[str, Any] = {}
    for name, value in bounds.items():
        written[name] = Bound(value, text=f"{value:g}")
    location = Location("shop.ir.yaml", 3)
    return Threshold(parse_metric(metric), is_warning=is_warning, location=location, **written)


def make_suite(
    name: str = "shop",
    queries: int | Sequence[Query] = 20,
    *,
    metrics: Sequence[str] = ("ndcg@10",),
    thresholds: Sequence[Threshold | tuple[str, Threshold]] = (),
    **fields: Any,
) -> Suite:
    """Make a suite with the queries ``shop 0``, ``shop 1`` and so on.

    A threshold in a pair with a tag applies to the tag.
    """
    if isinstance(queries, int):
        queries = [make_query(f"{name} {number}") for number in range(queries)]
    checks = []
    for entry in thresholds:
        tag, threshold = entry if isinstance(entry, tuple) else ("", entry)
        label = f"{tag} {threshold.metric}".strip()
        checks.append(
            CheckItem(
                "", label, ItemKind.THRESHOLD, threshold.location, tag=tag, threshold=threshold
            )
        )
    fields.setdefault("path", f"{name}.ir.yaml")
    shown = tuple(parse_metric(metric) for metric in metrics)
    suite = Suite(name, tuple(queries), metrics=shown, **fields)
    return Suite(name, suite.queries, metrics=shown, items=make_items(suite, checks), **fields)


def make_run(
    suites: Suite | Sequence[Suite],
    answers: Mapping[str, Ranking | str] | None = None,
    *,
    worse: int = 0,
    ranking: Ranking = WORSE,
    **fields: Any,
) -> Run:
    """Answer the first ``worse`` queries of each suite with ``ranking``, and the others well.

    ``answers`` has other answers by the text of the query. A string is the message of an error.
    """
    rankings: dict[str, tuple[Ranking, ...]] = {}
    errors: dict[str, QueryError] = {}
    titles: dict[str, str] = {}
    for suite in [suites] if isinstance(suites, Suite) else suites:
        for number, query in enumerate(suite.queries):
            answer = (answers or {}).get(query.text, ranking if number < worse else GOOD)
            if isinstance(answer, str):
                errors[query.request] = QueryError(answer, cause=answer)
            else:
                doc_ids = [name_doc(role, query.text) for role in answer.doc_ids]
                rankings[query.request] = (replace(answer, doc_ids=tuple(doc_ids)),)
                for role, doc_id in zip(answer.doc_ids, doc_ids, strict=True):
                    titles[doc_id] = TITLES.get(role, "")
    fields.setdefault("titles", titles)
    return Run(rankings, errors, **fields)


def make_decision(
    suites: Suite | Sequence[Suite],
    run: Run,
    before: Run | None = None,
    base_suites: Suite | Sequence[Suite] | None = None,
    **options: Any,
) -> Decision:
    """Decide on a build in which all suites use one retriever.

    With ``base_suites`` there is a base branch ``main``, whose committed baseline is ``before``.
    """
    current = [suites] if isinstance(suites, Suite) else list(suites)
    branch = Branch(suites=tuple(current), baselines=_make_baselines(current, before))
    runs = {suite.run_key: run for suite in current}
    base = None
    if base_suites is not None:
        old = [base_suites] if isinstance(base_suites, Suite) else list(base_suites)
        base = Branch("main", suites=tuple(old), baselines=_make_baselines(old, before))
        runs |= {suite.run_key: run for suite in old}
    return decide(branch, runs, base, **options)


def _make_baselines(suites: Sequence[Suite], run: Run | None) -> tuple[Baseline, ...]:
    if run is None:
        return ()
    return tuple(Baseline(run, suite.retriever, suite.path) for suite in suites)


def make_view(
    suites: Suite | Sequence[Suite],
    run: Run,
    before: Run | None = None,
    base_suites: Suite | Sequence[Suite] | None = None,
    settings: ViewSettings = SETTINGS,
    **options: Any,
) -> View:
    return build_view(make_decision(suites, run, before, base_suites, **options), settings)
