"""What is true of a team's search and suites, and what a build should say of it.

Nothing here shares code with the product. A ranking is a list of ids without scores, so there are
no ties. A suite scores mrr@10, and may have a minimum, a largest drop, and rules for some queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import product
from operator import mul

Ranking = list[str]
Rankings = dict[str, Ranking]
DEPTH = 10
ROUNDING = 1e-9
ORDER = ("PASSED", "INCOMPLETE", "REVIEW", "FAILED")


@dataclass
class Query:
    """The relevant documents, and perhaps a rule: a document and its lowest rank."""

    relevant: list[str]
    rule: tuple[str, int] | None = None

    def score(self, ranking: Ranking) -> float:
        for position, doc in enumerate(ranking[:DEPTH]):
            if doc in self.relevant:
                return 1 / (position + 1)
        return 0.0

    def is_kept(self, ranking: Ranking) -> bool:
        return self.rule is None or self.rule[0] in ranking[: self.rule[1]]


@dataclass
class Suite:
    minimum: float | None
    drop: float | None
    queries: dict[str, Query]

    def format(self) -> str:
        """Return the YAML."""
        bounds = {"min": self.minimum, "max_drop": self.drop}
        written = ", ".join(f"{key}: {value}" for key, value in bounds.items() if value is not None)
        lines = ["metrics: [mrr@10]"]
        if written:
            lines.append(f"thresholds: {{mrr@10: {{{written}}}}}")
        lines.append("queries:")
        for text, query in self.queries.items():
            rule = f", must_find: {{{query.rule[0]}: {query.rule[1]}}}" if query.rule else ""
            lines.append(f"  - {{query: {text}, relevant: [{', '.join(query.relevant)}]{rule}}}")
        return "\n".join(lines) + "\n"


@dataclass
class State:
    """A commit: what search returns, the suites, and the stored rankings by the name of a suite."""

    search: Rankings = field(default_factory=dict)
    suites: dict[str, Suite] = field(default_factory=dict)
    stored: dict[str, Rankings] = field(default_factory=dict)

    def copy(self) -> State:
        return deepcopy(self)

    def list_texts(self) -> set[str]:
        return {text for suite in self.suites.values() for text in suite.queries}


# -- What a suite is compared with -----------------------------------------------------------------


def find_stored(name: str, texts: Iterable[str], stored: Mapping[str, Rankings]) -> Rankings:
    """Return the stored rankings of queries: from the suite's own file, or from any other."""
    files = [stored.get(name, {}), *(stored[other] for other in sorted(stored) if other != name)]
    found = {}
    for text in texts:
        for rankings in files:
            if text in rankings:
                found[text] = rankings[text]
                break
    return found


def find_before(
    name: str, suite: Suite, now: State, base: State | None, answers: Rankings | None
) -> tuple[Rankings, bool]:
    """Return what the current side compares a suite with, and whether all its queries are new."""
    committed = find_stored(name, suite.queries, now.stored)
    if base is None:
        return committed, False
    base_committed = find_stored(name, suite.queries, base.stored)
    known = base_committed
    if answers is not None:
        known = {text: answers[text] for text in suite.queries if text in answers}
    if not known:
        return committed, True
    edited = {t: its for t, its in committed.items() if its != base_committed.get(t)}
    return {text: edited.get(text, its) for text, its in known.items()}, False


# -- Checks ----------------------------------------------------------------------------------------

Results = dict[tuple[str, str], str]


@dataclass
class Compared:
    """A suite and what it is compared with."""

    name: str
    suite: Suite
    before: Rankings
    is_new: bool
    now: Rankings

    def list_deltas(self) -> list[float]:
        deltas = []
        for text, query in self.suite.queries.items():
            if text in self.before:
                delta = query.score(self.now[text]) - query.score(self.before[text])
                deltas.append(delta if abs(delta) > ROUNDING else 0.0)
        return deltas

    def compute_before(self) -> float:
        scores = [
            query.score(self.before[text])
            for text, query in self.suite.queries.items()
            if text in self.before
        ]
        return sum(scores) / len(scores) if scores else 0.0

    def limits_drop(self) -> bool:
        """Return whether the written drop could be exceeded, so no default check is needed."""
        return self.suite.drop is not None and self.compute_before() > self.suite.drop + ROUNDING


def check_suite(compared: Compared) -> Results:
    """Return the outcomes of the checks of one suite by its name and the label of the check."""
    name, suite, now = compared.name, compared.suite, compared.now
    results: Results = {}
    for text, query in suite.queries.items():
        if query.rule:
            results[name, f"must_find {text}"] = "PASSED" if query.is_kept(now[text]) else "FAILED"
    deltas = compared.list_deltas()
    outcomes = []
    if suite.minimum is not None:
        scores = [query.score(now[text]) for text, query in suite.queries.items()]
        is_low = sum(scores) / len(scores) < suite.minimum - ROUNDING
        outcomes.append("FAILED" if is_low else "PASSED")
    if suite.drop is not None and not deltas:
        outcomes.append("INCOMPLETE")
    elif suite.drop is not None:
        is_low = -sum(deltas) / len(deltas) > suite.drop + ROUNDING
        outcomes.append("FAILED" if is_low else "PASSED")
    if outcomes:
        results[name, "mrr@10"] = max(outcomes, key=ORDER.index)
    if deltas:
        lost = gained = 0
        for text, query in suite.queries.items():
            if text in compared.before:
                before, after = query.score(compared.before[text]), query.score(now[text])
                lost += before > 0 and after == 0
                gained += before == 0 and after > 0
        outcome = "FAILED" if lost > gained else "REVIEW" if lost else "PASSED"
        results[name, "lost"] = outcome
    can_fail = any(query.rule for query in suite.queries.values()) or bool(suite.minimum)
    if not can_fail and not (compared.before and compared.compute_before() > 0):
        results[name, "nothing can fail"] = "INCOMPLETE"
    return results


def check_shared(suites: list[Compared]) -> Results:
    """Return the outcomes of the checks over all suites."""
    results: Results = {}
    tested = [each for each in suites if each.list_deltas() and not each.limits_drop()]
    pooled = [each for each in tested if not each.is_new]
    changed = [each for each in pooled if any(each.list_deltas())]
    deltas = [delta for each in changed for delta in each.list_deltas()]
    alpha = 0.04 if len(changed) > 1 else 0.05
    if is_significant(deltas, alpha):
        results["", "significant drop"] = "FAILED"
    alone = [each for each in tested if each.is_new]
    alone += changed if len(changed) > 1 else []
    if any_is_significant([each.list_deltas() for each in alone], 0.01):
        results["", "significant drop"] = "FAILED"
    nonzero = [delta for delta in deltas if delta]
    large = [delta for delta in nonzero if abs(delta) > 0.05]
    drops = [delta for delta in large if delta < 0]
    if len(nonzero) < 5 and len(drops) >= 3 and sum(large) < -0.6:
        results["", "large drops"] = "FAILED"
    return results


def compute_p_value(deltas: list[float]) -> float:
    """Return the fraction of all signs with a sum as low, by counting all of them."""
    sizes = [abs(delta) for delta in deltas if delta]
    total = sum(deltas)
    low = 0
    for signs in product((-1.0, 1.0), repeat=len(sizes)):
        low += sum(map(mul, signs, sizes)) <= total + ROUNDING
    return float(low / 2 ** len(sizes))


def is_significant(deltas: list[float], alpha: float) -> bool:
    return any_is_significant([deltas], alpha)


def any_is_significant(samples: list[list[float]], alpha: float) -> bool:
    """Return whether a sample dropped significantly, after the correction of Hochberg."""
    tests = []
    for deltas in samples:
        changed_count = sum(delta != 0 for delta in deltas)
        is_tested = deltas and sum(map(abs, deltas)) / len(deltas) > 0.002
        if is_tested and 0.5**changed_count <= alpha:
            tests.append((compute_p_value(deltas), -sum(deltas) / len(deltas)))
    tests.sort()
    for count in range(len(tests), 0, -1):
        if tests[count - 1][0] <= alpha / (len(tests) - count + 1):
            return any(drop > 0.002 for _, drop in tests[:count])
    return False


# -- Builds ----------------------------------------------------------------------------------------


def evaluate_current(now: State, base: State | None, answers: Rankings | None = None) -> Results:
    """Return the outcomes of the current side."""
    compared = []
    results: Results = {}
    for name, suite in now.suites.items():
        before, is_new = find_before(name, suite, now, base, answers)
        compared.append(Compared(name, suite, before, is_new, now.search))
        results.update(check_suite(compared[-1]))
    return {**results, **check_shared(compared)}


def evaluate_base(now: State, base: State, answers: Rankings | None = None) -> Results:
    """Return the outcomes of the base side: its suites and baselines, and the current search."""
    compared = []
    results: Results = {}
    for name, suite in base.suites.items():
        before = find_stored(name, suite.queries, base.stored)
        if answers is not None:
            before = {text: answers[text] for text in suite.queries}
        compared.append(Compared(name, suite, before, False, now.search))
        results.update(check_suite(compared[-1]))
        if not now.list_texts() & suite.queries.keys():
            results[name, "nothing left"] = "REVIEW"
    return {**results, **check_shared(compared)}


def decide(now: State, base: State, answers: Rankings | None = None) -> str:
    """Return the outcome of a change against the base branch."""
    outcome = max(evaluate_current(now, base, answers).values(), key=ORDER.index)
    base_outcomes = [
        each for each in evaluate_base(now, base, answers).values() if each in ("REVIEW", "FAILED")
    ]
    if outcome != "FAILED" and base_outcomes:
        return "REVIEW"
    return outcome


def is_strict_pass(now: State, base: State) -> bool:
    """Return whether a strict build passes: nothing is stale, and nothing lacks a baseline."""
    if decide(now, base) != "PASSED":
        return False
    for name, suite in now.suites.items():
        committed = find_stored(name, suite.queries, now.stored)
        known = find_stored(name, suite.queries, base.stored)
        for text in suite.queries:
            if text in committed and committed[text] != now.search[text]:
                return False
            if text in base.list_texts() and text not in committed and text not in known:
                return False
    return True


def merge(ours: State, theirs: State, base: State) -> State:
    """Return the search of both sides, and their judgments of queries that we left alone."""
    both = ours.copy()
    for text, ranking in theirs.search.items():
        if ours.search.get(text) == base.search.get(text):
            both.search[text] = list(ranking)
    known = {text: query for suite in base.suites.values() for text, query in suite.queries.items()}
    for suite in theirs.suites.values():
        for text, query in suite.queries.items():
            for mine in both.suites.values():
                if text in mine.queries and text in known and mine.queries[text] == known[text]:
                    mine.queries[text] = deepcopy(query)
    return both
