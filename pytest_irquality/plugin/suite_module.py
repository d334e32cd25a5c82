"""A suite file as a pytest module: one item a check.

The module object is made from the YAML, so pytest's own machinery does fixtures, parameters,
selection and reports.
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_irquality.edges.collector import no_cycles
from pytest_irquality.edges.near import did_you_mean
from pytest_irquality.edges.printable import terminal
from pytest_irquality.edges.reach import DECLARING, SUFFIX, USUAL, is_declared
from pytest_irquality.plugin.frames import function_at, hide_source
from pytest_irquality.plugin.internals import MadeModule, retriever_of
from pytest_irquality.plugin.items import CheckItem
from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.outcomes import Judging
from pytest_irquality.plugin.planning import PLAN
from pytest_irquality.plugin.reading import loaded
from pytest_irquality.suite import Suite, SuiteError
from pytest_irquality.suite.item_names import slug
from pytest_irquality.suite.lint import IRQualityWarning, lint

COLLECTED = pytest.StashKey[dict[Path, "SuiteModule"]]()


class SuiteModule(MadeModule):
    """A suite file, collected like a Python module of one function, of which every check is a case.

    ``items`` are all there are, selected or not.
    """

    suite: Suite
    judging: Judging
    items: Sequence[CheckItem] = ()

    def made(self) -> types.ModuleType:
        """Read the suite, and make its module."""
        self.suite = self._suite()
        self._refuse_undeclared()
        plan = self.config.stash[PLAN]
        self.judging = Judging(self.session, self.suite, self.path, plan)
        # usefixtures rather than an argument: a parametrised retriever gives every item its [bm25],
        # [hybrid].
        retriever = pytest.mark.usefixtures(self.suite.retriever)
        function = function_at(self.path, 1, "check")
        return self.module_of(function, slug(self.suite.name), pytest.mark.ir_suite, retriever)

    def _suite(self) -> Suite:
        """The suite with what options add to it."""
        try:
            return self._as_asked(loaded(self))
        except SuiteError as error:
            raise self.CollectError(str(error)) from None

    def _refuse_undeclared(self) -> None:
        name, declared = self.suite.retriever, Options(self.config).declared
        if is_declared(name, declared):
            return
        place = self.suite.places["retriever"]
        near = did_you_mean(name, [USUAL, *declared])
        raise self.CollectError(
            f"{self.suite.path}:{place.line}:{place.column}: the fixture {name!r} is not declared"
            f" to be a retriever{near}; write `{DECLARING} = {name}` into the ini file, or call it"
            f" {name}{SUFFIX}"
        )

    def _as_asked(self, suite: Suite) -> Suite:
        """The suite with what options add to it."""
        options, plan = Options(self.config), self.config.stash[PLAN]
        if options.history:
            suite = suite.with_trends()
        suite = plan.guarded(suite, self.path)
        name, then = suite.retriever, plan.declared_then
        if then is not None and not is_declared(name, then):
            new = f"the base declares no retriever {name!r} ({DECLARING}): it is new there"
            suite = replace(suite, notes=(*suite.notes, new))
        if options.repeat:
            suite = replace(suite, repeat=options.repeat)
        return suite.audited() if options.audit else suite

    @no_cycles()
    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """An item for each check and retriever. Doubts about the suite become warnings."""
        self.config.stash.setdefault(COLLECTED, {})[self.path] = self
        _ = self.obj
        self._warn()
        cases = [item for item in super().collect() if isinstance(item, pytest.Function)]
        retrievers = [retriever_of(case, self.suite.retriever) for case in cases]
        self.judging.retrievers = list(dict.fromkeys(retrievers))
        self.items = [
            CheckItem.of(self, self.judging, check, case, retriever)
            for check in self.suite.checks
            for case, retriever in zip(cases, retrievers, strict=True)
        ]
        return self.items

    def _warn(self) -> None:
        file_of = self.judging.file_of
        for file in {self.path, *(file_of(check.place) for check in self.suite.checks)}:
            hide_source(file)
        for place, text in lint(self.suite):
            try:
                # As node.warn does it, which knows no line but the file's first.
                warnings.warn_explicit(
                    IRQualityWarning(terminal(text)), None, str(file_of(place)), place.line
                )
            except IRQualityWarning as error:  # under -W error
                raise self.CollectError(
                    f"{place.path or self.suite.path}:{place.line}:{place.column}: {error}"
                ) from None
