"""A kept run as the one that later runs are compared with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

SOUND = "passed"


class PromotionError(Exception):
    """A run that cannot be promoted, nor refused: one line."""


def standing(last: Path) -> bool:
    """Tell whether there is a run to compare with, and bring back what a kill put aside."""
    aside = _aside(last)
    if aside.exists() and not last.exists():
        aside.rename(last)
    return last.exists()


def promoted(run: Path, last: Path, report: Path, *, by_hand: bool) -> str:
    """Put a run in the place of the last one, and say so, or why not.

    Only one that was judged whole and was green, which one with an accepted drop is, too;
    ``by_hand``: whatever its report says. Raises ``PromotionError``, ``OSError``.
    """
    if not run.exists():
        raise PromotionError(f"{run}: there is no such run")
    outcome = _outcome(report)
    if outcome != SOUND and not by_hand:
        judged = "judged in part" if outcome == "partial" else outcome
        return f"not promoted: {run} was {judged} ({report}); {last} stays"
    aside = _aside(last)
    if standing(last):
        shutil.rmtree(aside, ignore_errors=True)
        last.rename(aside)
    last.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.move(run, last)
    except OSError:  # a full disk, where the two lie on different ones
        shutil.rmtree(last, ignore_errors=True)
        standing(last)
        raise
    shutil.rmtree(aside, ignore_errors=True)
    return f"promoted: {run} is {last} now"


def _aside(last: Path) -> Path:
    return last.with_name(f"{last.name}.before")


def _outcome(report: Path) -> str:
    """The outcome that a report of ``--ir-json`` has. Raises ``PromotionError``."""
    try:
        return str(json.loads(report.read_text(encoding="utf-8"))["outcome"])
    except FileNotFoundError:
        raise PromotionError(f"{report}: there is no report: the run was not judged") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PromotionError(f"{report}: no report of --ir-json: {error}") from None
