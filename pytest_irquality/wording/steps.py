"""The next steps: what helps, with the command that does it, and nothing that cannot help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_irquality.storage.provenance import UPDATE, Again
from pytest_irquality.suite.demands import Together
from pytest_irquality.verdict import facts
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import BAD, SuiteResult, Verdict
from pytest_irquality.wording.block import Step
from pytest_irquality.wording.causes import renumbered
from pytest_irquality.wording.numbers import few
from pytest_irquality.wording.reasons import removal
from pytest_irquality.wording.words import command, node

NODES, FILES, PLACES = 3, 8, 3
"""How many checks and files a command names, and how many places of a suite a sentence."""
Failure = tuple[SuiteResult, Verdict]


class Decision(Step):
    """A step that changes what search is held to: a person is to choose it."""


def next_steps(results: Sequence[SuiteResult]) -> Iterator[Step]:
    """The steps for some results of one run. Where it was no run of pytest, none has a command."""
    failures = [(one, its) for one in results for its in one.verdicts if its.outcome in BAD]
    again = results[0].again if results else None
    if again is None:
        yield from _edits(failures)
        return
    yield from _first_baseline(again, results)
    yield from _rerun(again, results, failures)
    yield from _edits(failures)
    yield from _update(again, failures)
    yield from _grade(again, [one for one in results if one.failed])


def _grade(again: Again, failed: Sequence[SuiteResult]) -> Iterator[Step]:
    """To grade what a failure rests on."""
    if unjudged := [one for one in failed if _has(one, facts.RestsOnUnjudged)]:
        judge = _command(again, unjudged, "--ir-judge=judge.html")
        yield Decision("grade what it rests on", judge)


def _has(result: SuiteResult, kind: type[facts.Fact]) -> bool:
    return any(isinstance(fact, kind) for fact in result.facts)


def _command(again: Again, results: Sequence[SuiteResult], *more: str) -> str:
    """A command for the suites of some results."""
    files = [*dict.fromkeys(node(result, None) for result in results)]
    return command(again, files if len(files) <= FILES else again.files, *more)


def _first_baseline(again: Again, results: Sequence[SuiteResult]) -> Iterator[Step]:
    """To make a baseline, where a suite has none and would gain by one."""
    references = {(one.path, one.baseline.source) for one in results if one.baseline}
    without = [
        one for one in results if (one.path, one.retriever) not in references and _gains_by_one(one)
    ]
    if without:
        words = "keep today's rankings as the baseline, to see changes"
        yield Decision(words, _command(again, without, UPDATE))


def _gains_by_one(result: SuiteResult) -> bool:
    """Tell whether a baseline would show anything, and today's rankings are fit to be one."""
    written = any(line.startswith("baseline") for line in result.written)
    fit = not (result.alarmed or any(query.fault for query in result.queries))
    return fit and bool(result.queries) and not (result.baseline or written)


def _rerun(
    again: Again, results: Sequence[SuiteResult], failures: Sequence[Failure]
) -> Iterator[Step]:
    """To run again what failed: a few checks by name, many by their files.

    A drop over all suites takes all of them.
    """
    words = "run what failed again"
    failed = [result for result in results if result.failed]
    if any(falls_with_all(verdict) for _, verdict in failures):
        yield Step(words, command(again, again.files))
    elif 0 < len(failures) <= NODES:
        named = [node(result, verdict.check) for result, verdict in failures]
        yield Step(words, command(again, [*dict.fromkeys(named)]))
    elif failures or any(result.alarmed for result in failed):
        yield Step(words, _command(again, failed))


def falls_with_all(verdict: Verdict) -> bool:
    """Tell whether it failed by a drop over all suites together."""
    return any(issubclass(finding.demand, Together) for finding in verdict.broken)


def on_change(finding: Finding) -> bool:
    """Tell whether a finding is on a change since the baseline, so that another one mends it."""
    return not finding.variants and (finding.demand.on_change or _compares(finding))


def _compares(finding: Finding) -> bool:
    """Tell whether its measure reads the baseline's rankings, so that only some have a value."""
    return bool(finding.of) and (finding.lacks is None or finding.lacks.why.uncompared)


def _changed(verdict: Verdict) -> bool:
    """Tell whether a check failed, and for nothing but changes since the baseline."""
    return verdict.outcome == "failed" and all(map(on_change, verdict.broken))


def _mends(result: SuiteResult, verdict: Verdict) -> bool:
    """Tell whether a new baseline mends all that a check broke."""
    accepts = result.baseline is not None and result.again is not None and result.again.accepts
    helps = not (result.alarmed or renumbered(result))
    return accepts and helps and _changed(verdict)


def _edits(failures: Sequence[Failure]) -> Iterator[Step]:
    """The edits that certainly help, and the places of what no baseline mends.

    Of the base's exam there is none here.
    """
    yield from (Decision(removal(*one)) for one in failures if one[1].outcome == "fixed")
    failed = [one for one in failures if one[1].outcome == "failed" and not one[1].over.exam]
    yield from _mend([one for one in failed if not _changed(one[1])])


def _mend(stays: Sequence[Failure]) -> Iterator[Step]:
    """To edit what search breaks and no baseline mends."""
    places = [*dict.fromkeys(result.place(verdict) for result, verdict in stays)]
    if 0 < len(places) <= PLACES:
        yield Decision(f"mend search, or edit {few(places)}")


def _update(again: Again, failures: Sequence[Failure]) -> Iterator[Step]:
    """To accept what changed, where that is all that some checks failed for."""
    mended = [one for one in failures if _mends(*one)]
    if not mended:
        return
    words = "accept today's rankings, then commit the baseline"
    if again.commits:
        words = "commit the baseline that this writes, to accept today's rankings"
    if len(mended) < len(failures):
        words += f" ({len(mended)} of {len(failures)} failures; the others stay red)"
    yield Decision(words, _command(again, [result for result, _ in mended], UPDATE))
