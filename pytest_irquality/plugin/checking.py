"""The fixture ``ir_check``: a suite that is judged inside an ordinary test.

It joins the reports by the test's node id.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from pytest_irquality.edges.codec import encode
from pytest_irquality.edges.printable import terminal
from pytest_irquality.metrics import MeasureError
from pytest_irquality.pipeline import CheckResult, NotJudged
from pytest_irquality.pipeline.check import Compared, check
from pytest_irquality.plugin.internals import Failure
from pytest_irquality.plugin.items import Broken
from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.reading import own_measures
from pytest_irquality.suite import SuiteError
from pytest_irquality.verdict import SuiteResult
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.stories import worst_first
from pytest_irquality.wording.words import OF_A_TEST

CHECKED = pytest.StashKey[list[SuiteResult]]()


class IrCheck:
    """The value of the fixture, which is called with a suite and what answers it.

    It fails as the suite's own items do.
    """

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        self._numbers = count(1)
        self._checked = item.stash[CHECKED] = list[SuiteResult]()

    def __call__(
        self,
        suite: Path | str,
        retriever: object = None,
        *,
        retrievers: Mapping[str, object] | None = None,
        rankings: Mapping[str, object] | None = None,
        baseline: Compared = False,
        concurrency: int | None = None,
    ) -> CheckResult:
        """Judge a suite, whose path is relative to the test's file, as ``check`` does.

        Unlike there nothing is compared with unless ``baseline`` says so.
        """
        __tracebackhide__ = True
        item, config = self._item, self._item.config
        try:
            result = check(
                item.path.parent / suite,
                retriever,
                retrievers=retrievers,
                rankings=rankings,
                baseline=baseline,
                concurrency=concurrency,
                measures=own_measures(item),
                start=config.invocation_params.dir,
                files=Options(config).files,
            )
        except (MeasureError, NotJudged, SuiteError) as error:
            raise Failure(terminal(str(error)), pytrace=False) from None
        for one in result.results:  # in one of several threads, it may be
            named = replace(one, retriever=self._name(one, next(self._numbers)))
            self._checked.append(named)
        if result.failed:
            raise Broken("\n\n".join((_first_reason(result), *result.failures)))
        return result

    def _name(self, result: SuiteResult, number: int) -> str:
        """Name the result in reports: the test, its retriever if it names any, and its number."""
        parts = self._item.nodeid, result.retriever, str(number) if number > 1 else ""
        return OF_A_TEST.join(filter(None, parts))


def _first_reason(checked: CheckResult) -> str:
    """Give the reason of the worst failure, for the short summary, which quotes the first line."""
    worst = worst_first(checked.results)[0]
    failures = worst.damage.failures
    return reason(worst.result, failures[0]) if failures else worst.headline


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send what a test has judged home on its report: reports travel through xdist as JSON.

    Subtests have reports of their own.
    """
    report = yield
    checked = item.stash.get(CHECKED, [])
    if report.when == "call" and checked:
        vars(report)["ir_checked"] = [encode(checked.pop(0)) for _ in range(len(checked))]
    return report
