"""Random changes of search, suites, judgments and baselines never pass if the base branch objects.

The oracle works on plain lists and dictionaries and shares no code with the product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from hypothesis import given, strategies as st

from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.evaluation.decide import Decision, decide
from pytest_irquality.evaluation.evaluate import Branch
from pytest_irquality.evaluation.results import Outcome
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import KnownIssue, RetrieverId, RunKey, Suite
from pytest_irquality.suite.rules import MustFind, Rule
from tests.builders import make_query, make_suite, make_threshold

DOCS = [f"d{number}" for number in range(12)]
TEXTS = [f"query {number}" for number in range(16)]

Answers = dict[str, list[str]]


@dataclass(frozen=True)
class PlainQuery:
    text: str
    grades: Mapping[str, int]
    must_find: str = ""
    weight: float = 1.0
    has_known_issue: bool = False
    is_sampled: bool = False


@dataclass(frozen=True)
class PlainSuite:
    queries: Mapping[str, PlainQuery]
    min_mrr: float | None = None
    max_drop: float | None = None


@dataclass(frozen=True)
class World:
    """One branch: its suites by name and the answers in its baseline file."""

    suites: Mapping[str, PlainSuite]
    baseline: Answers = field(default_factory=dict)


# -- The oracle ------------------------------------------------------------------------------------


def find_first(query: PlainQuery, docs: list[str]) -> int:
    """Return the rank of the first relevant document in the top 10, or 0."""
    for position, doc_id in enumerate(docs[:10]):
        if query.grades.get(doc_id, 0) > 0:
            return position + 1
    return 0


def score(query: PlainQuery, docs: list[str]) -> float:
    first = find_first(query, docs)
    return 1 / first if first else 0.0


def find_objections(base: World, search: Answers) -> list[str]:
    """Say what the base branch objects to."""
    objections = []
    drops: dict[str, float] = {}
    rises: dict[str, float] = {}
    for name, suite in base.suites.items():
        lost = gained = 0
        for query in suite.queries.values():
            now = search[query.text]
            if query.must_find and query.must_find not in now[:10]:
                objections.append(f"{name} does not find {query.must_find}")
            if query.text not in base.baseline or not query.grades:
                continue
            before = base.baseline[query.text]
            if not query.is_sampled:
                lost += find_first(query, before) > 0 and find_first(query, now) == 0
                gained += find_first(query, before) == 0 and find_first(query, now) > 0
            change = score(query, now) - score(query, before)
            if change and suite.max_drop is None:
                (drops if change < 0 else rises)[query.text] = change
        if lost:
            objections.append(f"{name} lost {lost} and gained {gained}")
        values = [
            score(query, search[query.text]) for query in suite.queries.values() if query.grades
        ]
        if suite.min_mrr is not None and values and fmean(values) < suite.min_mrr - 1e-9:
            objections.append(f"{name} is below its minimum")
    if not rises and len(drops) >= 5:
        objections.append(f"{len(drops)} queries dropped and none rose")
    if not rises and len(drops) in (3, 4) and sum(drops.values()) < -0.6:
        large = [drop for drop in drops.values() if drop < -0.05]
        if len(large) >= 3 and sum(large) < -0.6:
            objections.append("three or four queries dropped by much")
    return objections


# -- From plain data to the product ----------------------------------------------------------------


def build_suite(name: str, plain: PlainSuite) -> Suite:
    queries = []
    for query_id, query in plain.queries.items():
        rules: tuple[Rule, ...] = ()
        if query.must_find:
            rules = (MustFind({query.must_find: None}),)
        queries.append(
            make_query(
                query.text,
                {doc_id: float(grade) for doc_id, grade in query.grades.items()},
                id=query_id,
                rules=rules,
                weight=query.weight,
                known_issue=KnownIssue("X") if query.has_known_issue else None,
                is_sampled=query.is_sampled,
            )
        )
    bounds = {"min": plain.min_mrr, "max_drop": plain.max_drop}
    written: dict[str, Any] = {}
    for key, value in bounds.items():
        if value is not None:
            written[key] = value
    thresholds = [make_threshold("mrr@10", **written)] if written else []
    return make_suite(name, queries, metrics=["mrr@10"], thresholds=thresholds)


def build_run(answers: Answers) -> Run:
    return Run({text: (Ranking(tuple(docs)),) for text, docs in answers.items()})


def build_branch(world: World) -> Branch:
    suites = tuple(build_suite(name, suite) for name, suite in world.suites.items())
    return Branch("main", suites=suites, baselines=(Baseline(build_run(world.baseline)),))


def decide_on_worlds(base: World, current: World, search: Answers, *, strict: bool) -> Decision:
    runs = {RunKey(RetrieverId()): build_run(search)}
    return decide(build_branch(current), runs, build_branch(base), strict_override=strict)


# -- Strategies ------------------------------------------------------------------------------------

rankings = st.lists(st.sampled_from(DOCS), unique=True, max_size=12)
grades = st.dictionaries(st.sampled_from(DOCS[:6]), st.integers(1, 3), min_size=1, max_size=3)
plain_queries = st.builds(
    PlainQuery,
    text=st.sampled_from(TEXTS),
    grades=st.one_of(grades, grades, st.just({})),
    is_sampled=st.booleans(),
)
graded_queries = st.builds(PlainQuery, text=st.sampled_from(TEXTS), grades=grades)


@st.composite
def draw_base(draw: st.DrawFn) -> World:
    """Draw a base branch whose own checks hold on its own answers."""
    good = {text: draw(rankings) for text in TEXTS}
    suites = {}
    for name in draw(st.lists(st.sampled_from("abc"), unique=True, min_size=1)):
        queries = {}
        drawn = [draw(graded_queries), *draw(st.lists(plain_queries, max_size=7))]
        for number, query in enumerate(drawn):
            docs = good[query.text][:10]
            must_find = draw(st.sampled_from(["", *docs[:2]]))
            queries[f"q{number}"] = replace(query, must_find=must_find)
        values = [score(query, good[query.text]) for query in queries.values() if query.grades]
        minimum = draw(st.sampled_from([None, 0.0, 0.5, 1.0]))
        suites[name] = PlainSuite(
            queries,
            min_mrr=fmean(values) * minimum if values and minimum is not None else None,
            max_drop=draw(st.sampled_from([None, None, 0.3])),
        )
    return World(suites, good)


@st.composite
def draw_edited(draw: st.DrawFn, base: World, search: Answers) -> World:
    """Draw a change of suites, judgments and baselines, honest or not."""
    suites = dict(base.suites)
    for name in list(suites):
        suite = suites[name]
        queries = dict(suite.queries)
        for query_id in list(queries):
            query = queries[query_id]
            edit = draw(st.sampled_from(["", "", "", *"rgwkmdx"]))
            if edit == "r":
                queries[query_id] = replace(query, text=draw(st.sampled_from(TEXTS)))
            elif edit == "g":
                queries[query_id] = replace(query, grades=draw(grades))
            elif edit == "w":
                queries[query_id] = replace(query, weight=0.0)
            elif edit == "k":
                queries[query_id] = replace(query, has_known_issue=True)
            elif edit == "m":
                queries[query_id] = replace(query, must_find="")
            elif edit == "d":
                del queries[query_id]
            elif edit == "x":
                queries[query_id] = replace(query, is_sampled=not query.is_sampled)
        suites[name] = replace(
            suite,
            queries=queries,
            min_mrr=draw(st.sampled_from([suite.min_mrr, None, 0.0])),
            max_drop=draw(st.sampled_from([suite.max_drop, 0.9, 1.0])),
        )
        fate = draw(st.sampled_from(["", "", "", "delete", "rename", "copy"]))
        if fate in ("delete", "rename"):
            moved = suites.pop(name)
            if fate == "rename":
                suites[f"{name}-renamed"] = moved
        elif fate == "copy":
            suites[f"{name}-copy"] = suites[name]
    baseline = dict(base.baseline)
    for text in draw(st.lists(st.sampled_from(TEXTS), unique=True)):
        if draw(st.booleans()):
            baseline[text] = search[text]
        else:
            baseline.pop(text)
    return World(suites, baseline)


@st.composite
def draw_search(draw: st.DrawFn, base: World) -> Answers:
    """Draw the current search, which changes some rankings."""
    search = dict(base.baseline)
    for text in draw(st.lists(st.sampled_from(TEXTS), unique=True)):
        docs = search[text]
        search[text] = draw(
            st.one_of(st.just([]), st.permutations(docs), st.just(docs[1:]), rankings)
        )
    return search


@given(st.data())
def test_no_change_passes_that_the_base_branch_objects_to(data: st.DataObject) -> None:
    base = data.draw(draw_base(), label="base")
    search = data.draw(draw_search(base), label="search")
    current = data.draw(draw_edited(base, search), label="current")

    decision = decide_on_worlds(base, current, search, strict=False)

    objections = find_objections(base, search)
    if decision.outcome < Outcome.REVIEW:
        assert objections == []
    query_count = sum(len(suite.queries) for suite in current.suites.values())
    coverage = decision.coverage
    assert coverage.total == query_count
    assert coverage.compared + coverage.new == query_count
    assert coverage.comparable == coverage.compared
    base_texts = {query.text for suite in base.suites.values() for query in suite.queries.values()}
    texts = {query.text for suite in current.suites.values() for query in suite.queries.values()}
    assert coverage.removed == coverage.base_only == len(base_texts - texts)


@given(draw_base())
def test_change_of_nothing_passes(world: World) -> None:
    decision = decide_on_worlds(world, world, world.baseline, strict=False)

    # A suite in which nothing can fail does not pass, and says so.
    codes = {notice.code for notice in decision.current.notices if notice.outcome > 0}
    assert codes <= {"nothing-can-fail"}
    assert (decision.outcome is Outcome.PASSED) is (not codes)
    assert decision.notices == ()
    assert decision.exit_status == 0


@given(st.data())
def test_change_of_search_alone_fails_if_the_base_branch_objects(data: st.DataObject) -> None:
    """Without edits both sides agree, so nothing is left for a review but outweighed losses."""
    base = data.draw(draw_base(), label="base")
    search = data.draw(draw_search(base), label="search")

    decision = decide_on_worlds(base, base, search, strict=True)

    assert decision.base_failures == ()
    if find_objections(base, search):
        assert decision.outcome >= Outcome.REVIEW
        assert decision.exit_status == 1
