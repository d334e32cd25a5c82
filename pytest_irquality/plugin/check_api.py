"""``check()``, which evaluates a suite from Python as ``pytest --ir-suite`` does."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_irquality.baselines.git_source import GitSource
from pytest_irquality.evaluation.decide import Decision
from pytest_irquality.evaluation.results import CheckResult, Notice, Outcome
from pytest_irquality.io import dataclass
from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.git import find_checkout
from pytest_irquality.metrics import Definition
from pytest_irquality.plugin.base_branch import load_base_suite
from pytest_irquality.plugin.query_plan import SessionBranch
from pytest_irquality.plugin.session import SearchSession, create_baseline_source
from pytest_irquality.reports.build_view import build_view
from pytest_irquality.reports.terminal import format_failure, render_terminal
from pytest_irquality.suite.model import RetrieverId
from pytest_irquality.suite.parser import load_suite

COLUMNS = 120
NOTEBOOK_HEIGHT_PX = 720


class SearchQualityError(AssertionError):
    """A suite failed. The message has every check that failed."""


@dataclass(frozen=True)
class CheckReport:
    """The result of ``check``. It prints like the section of the terminal.

    Attributes:
        decision: The decision, with all results, values and notices.
    """

    decision: Decision

    @property
    def outcome(self) -> Outcome:
        """Return the outcome of all suites and retrievers."""
        return self.decision.outcome

    @property
    def failed(self) -> bool:
        """Return whether anything fails. A known issue that is still broken does not."""
        return self.outcome >= Outcome.FAILED

    @property
    def failures(self) -> tuple[str, ...]:
        """Return a text for each check that fails, as pytest shows it."""
        texts = []
        for evaluation in self.decision.current.evaluations:
            retriever = evaluation.suite.retriever
            prefix = f"{retriever.parameter}: " if retriever.parameter else ""
            for result in evaluation.results:
                if result.outcome >= Outcome.FAILED:
                    texts.append(prefix + format_failure([result], evaluation))
        parts: list[CheckResult | Notice] = [*self.decision.current.shared_results]
        for part in [*parts, *self.decision.notices]:
            if part.outcome >= Outcome.FAILED:
                texts.append(f"{part.subject}: {part.text}")
        return tuple(texts)

    def raise_for_failures(self) -> None:
        """Raise an error if anything fails.

        Raises:
            SearchQualityError: The message has every check that failed.
        """
        __tracebackhide__ = True
        if self.failed:
            raise SearchQualityError("\n\n".join(self.failures))

    def to_html(self) -> str:
        """Return the HTML report."""
        from pytest_irquality.reports.html import render_html

        return render_html(build_view(self.decision))

    def __str__(self) -> str:
        return render_terminal(build_view(self.decision), columns=COLUMNS)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {build_view(self.decision).last_paragraph}>"

    def _repr_html_(self) -> str:
        # In a frame, neither the report's styles nor the notebook's reach the other.
        return (
            f'<iframe srcdoc="{html.escape(self.to_html())}" title="search quality"'
            f' style="width: 100%; height: {NOTEBOOK_HEIGHT_PX}px; border: 0"></iframe>'
        )


def check(
    suite: Path | str,
    retriever: object = None,
    *,
    retrievers: Mapping[str, object] | None = None,
    baseline: bool | str | Path | None = True,
    update_baseline: bool = False,
    concurrency: int | None = None,
    metrics: Sequence[Definition] = (),
    root: Path | str | None = None,
    files: Sequence[str] = (),
) -> CheckReport:
    """Run the queries of a suite and evaluate its checks, as ``pytest --ir-suite`` does.

    Args:
        suite: The suite, relative to the working directory.
        retriever: The value that the retriever fixture would return.
        retrievers: Several retrievers by name, in place of one.
        baseline: The committed baseline (True), none (False or None), a saved run (a path), or the
            baseline of another branch (``git:REF``).
        update_baseline: Whether to write the answers as the baseline, after the decision.
        concurrency: The number of calls at the same time. Overrides the setting of the suite.
        metrics: The project's own metrics, as ``make_own_metric`` returns them.
        root: The root of the project, to which paths in messages are relative. By default the git
            checkout of the suite, or the working directory.
        files: More files that the suite may read, as the ini key ``ir_files`` lists them.

    Returns:
        The report. A query whose call fails is an error of that query only.

    Raises:
        SuiteError: The suite cannot be read.
        RetrieverError: A retriever cannot be called.
        BaselineError: Git does not know the revision to compare with.
    """
    if (retriever is None) == (not retrievers):
        raise TypeError("check() needs either 'retriever' or 'retrievers'.")
    if concurrency is not None and concurrency < 1:
        raise ValueError("'concurrency' must be at least 1.")
    if str(baseline).startswith("run:"):
        raise ValueError("check() cannot run the code of another branch. Compare with `git:REF`.")
    path = Path.cwd() / suite
    root = Path.cwd() / (root or find_checkout(path.parent) or "")
    loaded = load_suite(
        path, root=root, own_metrics=metrics, access=FileAccess(root, tuple(files), (path.parent,))
    )
    session = SearchSession(root, concurrency=concurrency, is_update=update_baseline)
    base_suite = None
    if baseline is None or isinstance(baseline, bool):
        session.current.is_compared = bool(baseline)
    else:
        source = create_baseline_source(str(baseline), Path.cwd(), root=root)
        if not isinstance(source, GitSource):
            session.current.source = source
        else:
            base = SessionBranch(source, name=source.ref)
            session.add_base_branch(base)
            if source.read_file(loaded.path) is not None:
                base_suite = load_base_suite(base, source, loaded.path, own_metrics=metrics)

    named = dict(retrievers) if retrievers else {"": retriever}
    baseline_retriever = None
    if loaded.baseline_retriever:
        if loaded.baseline_retriever not in named or len(named) == 1:
            text = f"{loaded.path} compares with '{loaded.baseline_retriever}'."
            raise ValueError(f"{text} Pass it and another one in 'retrievers'.")
        baseline_id = RetrieverId(loaded.baseline_retriever)
        baseline_retriever = (baseline_id, named.pop(loaded.baseline_retriever))
    keys = {}
    for name, value in named.items():
        retriever_id = RetrieverId(loaded.retriever.fixture, "", name)
        keys[session.current.add_suite(loaded, retriever_id)] = value
        if session.base is not None and base_suite is not None:
            session.base.add_suite(base_suite, retriever_id)
    for key, value in keys.items():
        session.run_suite_queries(key, value, baseline_retriever)
        session.evaluate(key, value)
    decision = session.decide()
    if update_baseline:
        session.update_baselines()
    return CheckReport(decision)
