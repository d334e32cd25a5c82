"""The nouns of a report: the view and the parts that it consists of.

Templates read these objects and decide how many entries fit and where they go. They compute nothing
and word nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property

from pytest_irquality.baselines.history import HistoryEntry
from pytest_irquality.evaluation.edits import SuiteEdit
from pytest_irquality.evaluation.evaluate import Evaluation
from pytest_irquality.evaluation.results import CheckResult, Coverage, Notice, Outcome
from pytest_irquality.io import dataclass, field
from pytest_irquality.io.text import Text
from pytest_irquality.reports.query_rows import QueryRow, SearchNames, choose_names
from pytest_irquality.reports.tiles import Tile

# Every report has this text in its first bytes, so that a later run may replace the file.
OUTPUT_MARKER = "pytest-irquality:report"
MARKED_BYTES = 4_096


MAX_OPEN_SUITES = 8


@dataclass(frozen=True)
class HistoryPoint:
    """A value of a suite's primary metric in an earlier build.

    Attributes:
        date: When the build ran, as an ISO date, or empty.
    """

    value: float
    date: str = ""
    commit: str = ""


@dataclass(frozen=True)
class ViewSettings:
    """What a report needs to know about the session besides the decision.

    Attributes:
        branch: The current branch, if known.
        commit: The current commit, if known, with ``-dirty`` if files are edited.
        compared_with: The baseline as the user named it, such as ``git:main`` or ``.ir-baseline``.
        compared_commit: Its commit, if known.
        now: When the session started.
        command: The words of a command that runs suites again, such as ``pytest --ir-suite``.
        update_command: The words of a command that updates baselines.
        folder: Where commands are typed, relative to the root of the project, with ``/``.
        node_suffixes: What follows ``path::item`` in a node id, by (suite path, retriever).
        written: The reports that were written, by kind: ``{"report": "ir-report.html"}``.
        grading_link: A relative link from the HTML report to the grading page, if one is written.
        history: The earlier builds (``--ir-history``), oldest first.
        seconds: How long the session took.
        version: The version of this package.
    """

    branch: str = ""
    commit: str = ""
    compared_with: str = ""
    compared_commit: str = ""
    now: datetime | None = None
    command: tuple[str, ...] = ("pytest", "--ir-suite")
    update_command: tuple[str, ...] = ("pytest", "--ir-update-baseline")
    folder: str = ""
    node_suffixes: Mapping[tuple[str, str], str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    grading_link: str = ""
    history: Sequence[HistoryEntry] = ()
    seconds: float | None = None
    version: str = ""


@dataclass(frozen=True)
class Header:
    """What was tested, and what it was compared with."""

    suite: str
    path: str = ""
    branch: str = ""
    commit: str = ""
    compared_with: str = ""
    date: str = ""


@dataclass(frozen=True)
class TagRow:
    """A tag of a suite.

    Attributes:
        tiles: The primary metric, then every other metric shown.
    """

    tag: str
    query_count: int
    worse_count: int
    better_count: int
    tiles: tuple[Tile, ...] = ()

    @property
    def primary(self) -> Tile | None:
        """Return the tile of the primary metric, if the tag has queries with judgments."""
        return self.tiles[0] if self.tiles else None

    @property
    def improvement(self) -> float:
        """Return the change of the primary metric for the better, negative for the worse."""
        return self.primary.improvement if self.primary else 0.0


@dataclass(frozen=True)
class Step:
    """What to do next: a sentence, and the command or the place for it."""

    text: Text
    command: str = ""
    location: str = ""


@dataclass(frozen=True, eq=False)  # Templates look up suites, often hundreds.
class SuiteView:
    """One suite on one retriever.

    Attributes:
        label: The suite among those of the build: its name, its retriever if several run one suite,
            or both.
        line: The suite in one line, such as ``9 of 20 queries worse, 1 better``.
        primary: The tile of the primary metric.
        is_base: Whether the suite is the base branch's.
    """

    name: str
    path: str
    retriever: str
    label: str
    outcome: Outcome
    line: Text
    metric: str
    evaluation: Evaluation = field(repr=False, compare=False)
    primary: Tile | None = None
    tiles: tuple[Tile, ...] = ()
    rows: tuple[QueryRow, ...] = field(default=(), repr=False)
    tags: tuple[TagRow, ...] = ()
    history: tuple[HistoryPoint, ...] = ()
    is_base: bool = False

    @property
    def has_changes(self) -> bool:
        """Return whether any query got worse or better, or changed otherwise."""
        return any(row.direction.is_change for row in self.rows)

    @property
    def shown_tiles(self) -> tuple[Tile, ...]:
        """Return the tiles that readers see.

        Without grades, the only metrics are formulas such as the overlap with the baseline, which
        the summary says in words. Without answers, there are no values at all.
        """
        if self.primary is None and not any(tile.mark and tile.value for tile in self.tiles):
            return ()
        return self.tiles


@dataclass(frozen=True)
class View:
    """The content of a report.

    Attributes:
        headline: One sentence with the size of the outcome.
        summary: What else matters: the most damaged tag, what improved, the significance.
        reasons: What failed besides the headline and the tiles, such as broken rules.
        causes: The notices that explain the outcome. They belong below the headline.
        suites: Worst first.
        worse: The queries that got worse in any suite, worst first.
        better: The queries that got better, best first.
        changed: The queries that changed and have no judgments.
        baseline_only: The queries for which only the baseline finds relevant documents, if it is
            another search.
        checks: Failed ones first.
        base_checks: The checks of the base branch that lead the report for ``REVIEW``.
        notices: Those that are no causes, most severe first. Like the causes, they begin with their
            suite if the build has several.
        coverage_line: The queries by status, which adds up to all queries.
        last_paragraph: The conclusion, which begins with the outcome.
        quiet_line: The conclusion in one line, for ``-q``.
    """

    outcome: Outcome
    exit_status: int
    header: Header
    headline: Text
    summary: Text
    reasons: tuple[Text, ...]
    causes: tuple[Notice, ...]
    suites: tuple[SuiteView, ...]
    worse: tuple[QueryRow, ...]
    better: tuple[QueryRow, ...]
    changed: tuple[QueryRow, ...]
    baseline_only: tuple[QueryRow, ...]
    checks: tuple[CheckResult, ...]
    base_checks: tuple[CheckResult, ...]
    edits: tuple[SuiteEdit, ...]
    notices: tuple[Notice, ...]
    next_steps: tuple[Step, ...]
    coverage: Coverage
    coverage_line: Text
    last_paragraph: Text
    quiet_line: Text
    settings: ViewSettings = field(repr=False, default=ViewSettings())

    @cached_property
    def names(self) -> SearchNames:
        """Return what reports call the searches that are compared."""
        return choose_names(suite.evaluation for suite in self.suites)

    def split_suites(self) -> tuple[Sequence[SuiteView], Sequence[SuiteView]]:
        """Return the suites to look at and, if there are many, those without any change."""
        quiet = [each for each in self.suites if not each.has_changes and not each.outcome]
        if not MAX_OPEN_SUITES < len(self.suites) > len(quiet):
            return self.suites, ()
        return [suite for suite in self.suites if suite.has_changes or suite.outcome], quiet

    @property
    def groups(self) -> list[tuple[str, str, tuple[QueryRow, ...]]]:
        """Return the queries that differ from the baseline, in groups with a key and a title."""
        titles = ("What got worse", "What got better", "What changed at the top")
        name = self.names.before
        if not self.names.is_one_search:
            titles = (f"Worse than {name}", f"Better than {name}", "Other first results")
        groups = [
            ("worse", titles[0], self.worse),
            ("better", titles[1], self.better),
            ("changed", titles[2], self.changed),
            ("baseline-only", f"Found only by {name}", self.baseline_only),
        ]
        return [group for group in groups if group[2]]


def find_label(suites: Sequence[SuiteView], item: CheckResult | Notice) -> str:
    """Return which suite a finding is about, or nothing if the suites are one."""
    for suite in suites:
        if suite.path == item.suite_path and suite.retriever == str(item.retriever or ""):
            return suite.label if len(suites) > 1 else ""
    names = {suite.name for suite in suites}
    return item.subject if names != {item.subject} else ""
