"""Random weeks of a team in a real repository: every outcome is right.

``IRQUALITY_WEEKS=200`` runs so many, and ``IRQUALITY_WEEKS=5000-5199`` those of these seeds.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random

import pytest

from tests.project import Project
from tests.weeks.team import Team

DAYS = 5
FIRST, _, LAST = os.environ.get("IRQUALITY_WEEKS", "3000-3006").rpartition("-")
SEEDS = range(int(FIRST or 1), int(LAST) + 1)


def live_day(team: Team, random: Random) -> None:
    """Make a change, from its branch to main."""
    team.start_branch()
    acts = [
        *[team.change_search] * 4,
        *[team.change_judgments, team.change_bounds, team.add_query, team.remove_query],
        *[team.rename_suite, team.split_suite, team.merge_suites, team.delete_suite],
        *[team.add_suite, team.update],
    ]
    for _ in range(random.randint(1, 3)):
        team.act_count += 1
        random.choice(acts)()
        if random.random() < 0.5:
            team.commit("A part")
    if random.random() < 0.3:
        team.move_main()
        team.merge_main()
    team.commit("The rest")
    outcome = team.judge()
    team.judge_strictly()
    if random.random() < 0.3:
        random.choice([team.run_shards, team.rerun, team.judge_with_base_code])()
    if outcome == "FAILED" and random.random() < 0.5:
        team.fix_search()
        team.commit("Fix the search")
        outcome = team.judge()
    elif outcome == "FAILED":
        team.update()
        team.commit("Accept the change")
        assert team.judge() in ("REVIEW", "FAILED")
        outcome = team.outcomes[-1]
    if outcome != "FAILED":
        team.merge_change()


def live_week(project: Project, seed: int, days: int) -> Team:
    random = Random(seed)
    team = Team(project, random)
    for _ in range(days):
        live_day(team, random)
    return team


def test_every_outcome_of_two_days_is_right(project: Project) -> None:
    live_week(project, seed=1, days=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_every_outcome_of_a_week_is_right(
    project: Project, seed: int, record_property: Callable[[str, object], None]
) -> None:
    team = live_week(project, seed, DAYS)
    record_property("changes of files", team.act_count)
    record_property("commands", len(team.log))
    record_property("verdicts", team.verdict_count)
    record_property("outcomes", " ".join(team.outcomes))
