"""Weeks of a team at random: every verdict right, every step with a way on, no line lost.

``IRQUALITY_WEEKS=200`` draws as many, ``IRQUALITY_WEEKS=5000-5199`` those of these seeds; ``--junitxml`` keeps how much
each of them did.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random

import pytest

from tests.conftest import Project, first
from tests.weeks.team import Team

DAYS = 5
TRIES = 6  # until a red change is green
FIRST, _, LAST = os.environ.get("IRQUALITY_WEEKS", "3000-3006").rpartition("-")
SEEDS = range(int(FIRST or 1), int(LAST) + 1)


def a_day(team: Team, random: Random) -> None:
    """A change, from its branch to main."""
    team.branches()
    acts = [
        team.changes_search, team.changes_search, team.changes_judgments, team.changes_limits, team.adds_a_query,
        team.renames, team.splits, team.merges_suites, team.updates,
    ]  # fmt: skip
    for _ in range(random.randint(1, 3)):
        team.acts += 1
        random.choice(acts)()
        if random.random() < 0.5:
            team.commit("a part")
    if random.random() < 0.3:
        team.main_moves()
        team.takes_in_main()
    team.commit("the rest")
    verdict, result = team.judged()
    if random.random() < 0.3:
        random.choice([team.shards, team.reruns, team.judged_by_code])()
    for _ in range(TRIES):
        if verdict != "failed":
            break
        team.goes_on(result)
        verdict, result = team.judged()
    if verdict == "failed":
        team.mends_search()
        team.commit("as it was")
    else:
        team.merges()


def a_week(project: Project, seed: int, days: int) -> Team:
    random = Random(seed)
    team = Team(project, random)
    for _ in range(days):
        a_day(team, random)
        if random.random() < 0.4:
            team.nightly()
    return team


@pytest.mark.parametrize("seed", first(1, [2, 1]))
def test_two_days(project: Project, seed: int) -> None:
    a_week(project, seed, days=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_week(
    project: Project, seed: int, record_property: Callable[[str, object], None]
) -> None:
    team = a_week(project, seed, DAYS)
    record_property("changes of files", team.acts)
    record_property("commands", len(team.log))
    record_property("verdicts", team.verdicts)
