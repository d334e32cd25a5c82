"""The short document of ``--ir-json=-``, for a program that reads nothing else of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import PurePath
from typing import Any

from pytest_irquality.edges.printable import clipped, visible
from pytest_irquality.report.data import VERSION, outcome_of
from pytest_irquality.storage.elsewhere import FOLDER
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording import moves
from pytest_irquality.wording.examined import exam_lines, weaker
from pytest_irquality.wording.steps import Decision, falls_with_all
from pytest_irquality.wording.stories import steps_of, worst_first
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.words import node

LONGEST = 400
"""Characters of one text."""
MOST: Mapping[str, int] = {
    "suites": 5, "exam": 3, "causes": 4, "worst": 5, "failures": 7, "not_judged": 3, "errors": 3,
    "next": 2, "a_person_decides": 3,
}  # fmt: skip
"""Entries of each list, so that all of it has at most 60 lines."""
FILES = 30
"""The paths under ``do_not_edit``, which stand on one line."""


def digest(
    results: Sequence[SuiteResult],
    not_evaluated: Sequence[str],
    left_out: Sequence[str],
    *,
    exit_status: int,
    errors: Sequence[str] = (),
    guards: Sequence[str] = (),
) -> str:
    """JSON of at most 60 lines: the verdict, what it rests on, the worst, and what to do.

    ``exit_status`` is pytest's, ``errors`` are what stopped anything, in words; ``guards`` the
    paths beside the suites' own that no change may touch to get green, as the ini file.
    """
    stories = worst_first(results)
    steps = steps_of(stories)
    said: dict[str, Any] = {
        "version": VERSION,
        "outcome": _outcome(stories, not_evaluated, left_out),
        "exit_status": exit_status,
        "suites": (_suite(story) for story in stories),
        "exam": chain(*(_exam(result) for result in results)),
        "causes": chain(*(story.causes for story in stories)),
        "worst": chain(*(_worst(story) for story in stories)),
        "failures": chain(*(_failures(story) for story in stories)),
        "not_judged": [*not_evaluated, *left_out],
        "errors": errors,
        "next": [step._asdict() for step in steps if not isinstance(step, Decision)],
        "a_person_decides": [step._asdict() for step in steps if isinstance(step, Decision)],
        "do_not_edit": islice(dict.fromkeys([*chain(*map(_instruments, results)), *guards]), FILES),
    }
    return _laid_out(said)


def _outcome(
    stories: Sequence[Story], not_evaluated: Sequence[str], left_out: Sequence[str]
) -> str:
    if not (stories or not_evaluated):
        return "not judged"
    outcome = outcome_of([story.result for story in stories], not_evaluated, left_out)
    accepts = outcome == "passed" and any(story.accepts for story in stories)
    return "accepted" if accepts else outcome


def _suite(story: Story) -> dict[str, Any]:
    shown = [mean for mean in story.result.means if mean.measure in story.result.shown]
    return {
        "path": story.result.path,
        "retriever": story.result.retriever,
        "outcome": story.state,
        "headline": story.headline,
        "compared": story.compared,
        "means": {mean.measure: mean.value for mean in shown if mean.tag is None},
    }


def _exam(result: SuiteResult) -> Iterator[str]:
    """Lines on the base's exam: what is not passed, and in what today's is weaker."""
    yield from exam_lines(result)
    if words := weaker(result):
        yield words


def _worst(story: Story) -> Iterator[dict[str, Any]]:
    """The queries that lost most, each with its item and the documents that moved."""
    for query in story.losers[: MOST["worst"]]:
        worse, result = story.in_words(query), story.result
        yield {
            "query": query.text,
            "node_id": node(result, query.check),
            "at": result.place(query),
            "measure": story.damage.measure,
            "lost": worse.lost,
            "values": worse.values,
            "moved": worse.moves,
            "first_now": [moves.name(document) for document in query.ranking[:3]],
        }


def _failures(story: Story) -> Iterator[dict[str, Any]]:
    """The checks that failed, most damage first, each with why."""
    for verdict, why in story.failures():
        result = story.result
        # by its item alone a limit over all suites is not judged: all of the suite is to be run
        check = None if falls_with_all(verdict) else verdict.check
        yield {"node_id": node(result, check), "at": result.place(verdict), "why": why}


def _instruments(result: SuiteResult) -> Iterator[str]:
    """The files that measure: a change that gets green by them has not mended search."""
    yield result.path
    yield from result.files
    yield f"{(PurePath(result.path).parent / FOLDER).as_posix()}/"


def _laid_out(said: Mapping[str, Any]) -> str:
    """The whole document, with every entry of a list on a line of its own."""
    parts, more = [], {}
    for name, value in said.items():
        entries = _safe(value)
        if most := MOST.get(name):
            parts.append(f" {_one(name)}: {_listed(entries[:most])}")
            more[name] = len(entries) - most
        else:
            parts.append(f" {_one(name)}: {_one(entries)}")
    beyond = {name: many for name, many in more.items() if many > 0}
    parts.append(f' "beyond_these": {_one(beyond)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _listed(entries: Sequence[Any]) -> str:
    if not entries:
        return "[]"
    return "[\n" + ",\n".join(f"  {_one(entry)}" for entry in entries) + "\n ]"


def _safe(value: Any) -> Any:
    """A value whose texts do nothing to whoever shows them, and are of some length at the most."""
    if isinstance(value, str):
        return visible(clipped(value, LONGEST))
    if isinstance(value, Mapping):
        return {name: _safe(one) for name, one in value.items()}
    if isinstance(value, Iterable):
        return [*map(_safe, value)]
    return value


def _one(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
