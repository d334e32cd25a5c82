"""A suite file as a pytest module: one item a check.

The module object is made from the YAML, so pytest's own machinery does fixtures, parameters,
selection and reports.
"""

from __future__ import annotations

import os
import tempfile
import types
import warnings
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from glob import has_magic
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.edges.collector import no_cycles
from pytest_irquality.edges.near import did_you_mean
from pytest_irquality.edges.printable import terminal
from pytest_irquality.edges.project import Project
from pytest_irquality.edges.reach import DECLARING, SUFFIX, USUAL, is_declared
from pytest_irquality.metrics import Definition, MeasureError
from pytest_irquality.metrics.catalogue import with_own
from pytest_irquality.pipeline.exams import Exams
from pytest_irquality.pipeline.plan import HELD_OUT_WITHIN, Plan
from pytest_irquality.plugin.frames import function_at, hide_source
from pytest_irquality.plugin.gate import BASE, compared_by, gate_of
from pytest_irquality.plugin.internals import MadeModule, named_on_command_line, retriever_of
from pytest_irquality.plugin.items import CheckItem
from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.outcomes import SELECTED, Judging
from pytest_irquality.retrieval.pace import Paces
from pytest_irquality.storage.commits import AtCommit
from pytest_irquality.storage.elsewhere import suites_with_baselines
from pytest_irquality.storage.kept import KeptRuns
from pytest_irquality.storage.saved import SavedRuns
from pytest_irquality.storage.shards import Shard
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.storage.target import run_name
from pytest_irquality.storage.trec import is_trec
from pytest_irquality.suite import Suite, SuiteError, load_suite
from pytest_irquality.suite.item_names import slug
from pytest_irquality.suite.lint import IRQualityWarning, lint
from pytest_irquality.suite.perturb import BY_HAND, PERTURBATIONS, Perturbation
from pytest_irquality.suite.reader import is_held_out
from pytest_irquality.wording.numbers import counted

PLAN = pytest.StashKey[Plan]()
COLLECTED = pytest.StashKey[dict[Path, "SuiteModule"]]()
LEFT_OUT = pytest.StashKey[list[str]]()
"""The suites of which no check is selected, in words."""
GONE = "not in this checkout, and its queries are asked by no suite of this run"
HIDDEN = "not asked: pytest passes over it since this change"


def pytest_configure(config: pytest.Config) -> None:
    """Gather the plan of the session.

    Raises ``pytest.UsageError`` where the options contradict each other, or name nothing.
    """
    options, shard = Options(config), None
    project = Project(
        config.invocation_params.dir,
        config.rootpath,
        patterns=tuple(options.suite_files),
        named=tuple(_named_folders(config)),
        files=tuple(options.files),
    )
    compared = compared_by(config, options, project)
    _refuse_contradictions(options)
    if options.shard:
        try:
            shard = Shard.parse(options.shard)
        except ValueError as error:
            raise pytest.UsageError(f"--ir-save-runs: shard: {error}") from None
    base = compared if isinstance(compared, AtCommit) else None
    gate = gate_of(config, base)
    project, exams = replace(project, patterns=tuple(options.suite_files)), None
    if base and not options.update_baseline:
        exams = Exams(
            base, project, refused=gate.accepted, refuses_weaker=gate.exam,
            looked_in=gate.looked_in,
        )  # fmt: skip
    saved = None
    if options.save_runs:
        saved = SavedRuns(options.save_runs, project, shard, options.resume)
    config.stash[PLAN] = Plan(
        project,
        compared,
        kept=KeptRuns(options.runs, project) if options.runs else None,
        updating=options.update_baseline,
        saved=saved,
        shard=shard,
        history=Path(project.start, options.history) if options.history else None,
        accepts_nothing=gate.accepted,
        strict=gate.strict,
        audit=options.audit,
        paces=Paces(_shared(config)),
        exams=exams,
        declared_then=gate.declared,
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist the base, whose name may stand for another commit soon."""
    if exams := node.config.stash[PLAN].exams:
        with suppress(OSError):  # that git does not know the commit is told elsewhere
            node.workerinput[BASE] = exams.at.base


def _shared(config: pytest.Config) -> Path | None:
    """Give how the names of files begin in which the workers of a session share what they must."""
    session = getattr(config, "workerinput", {}).get("testrunuid")
    if session is None:
        return None
    shared = Path(tempfile.gettempdir(), f"irquality-{session}")

    def remove() -> None:
        for file in shared.parent.glob(f"{shared.name}*"):
            file.unlink(missing_ok=True)

    config.add_cleanup(remove)
    return shared


def _refuse_contradictions(options: Options) -> None:
    """Raise ``pytest.UsageError`` where an option has no meaning beside another, or without one."""
    for_all = options.runs and Options.runs.flag
    if options.update_baseline:
        for_all = Options.update_baseline.flag
    if options.shard and for_all:
        raise pytest.UsageError(
            f"a shard asks a share of the queries, and {for_all} is for all of them"
        )
    if options.resume and is_trec(Path(options.save_runs or "")):
        raise pytest.UsageError("--ir-save-runs: resume goes on with the runs of a folder")
    if options.resume and options.runs:
        raise pytest.UsageError("resume asks the retriever, and --ir-runs does not: leave one")


def _named_folders(config: pytest.Config) -> Iterator[Path]:
    """The folders that the command line names, and those of the files that it names."""
    for path in map(os.path.abspath, named_on_command_line(config)):
        yield Path(path) if os.path.isdir(path) else Path(path).parent


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Keep the items of a share of the queries, and bring along what others are compared with."""
    yield  # to -k, --lf and whatever else selects
    shard = config.stash[PLAN].shard
    if shard:
        here = [item for item in items if _is_in(shard, item)]
        config.hook.pytest_deselected(items=list(set(items).difference(here)))
        items[:] = here
    for module in _modules(items):
        if module.suite.baseline_retriever:
            items[:] = _compared_first(module, items)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Note that not all checks are judged."""
    for item in items:
        if isinstance(item, CheckItem):
            item.config.stash[SELECTED] = True


def _is_in(shard: Shard, item: pytest.Item) -> bool:
    """Tell whether a share of the queries is enough for an item.

    It is for its own query's, and for the one that says that all were answered.
    """
    if not isinstance(item, CheckItem):
        return True
    check = item.check
    return shard.holds(check.query.id) if check.query else check.over.answers


def _modules(items: Iterable[pytest.Item]) -> list[SuiteModule]:
    """The suites that items are of, each once."""
    parents = dict.fromkeys(item.parent for item in items)
    return [parent for parent in parents if isinstance(parent, SuiteModule)]


def _compared_first(module: SuiteModule, items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Give the items, first those of the retriever that others are compared with.

    They are selected with the others.
    """
    base = module.suite.baseline_retriever
    own = {*module.items}.intersection(items)
    selected = {item.check.name for item in own}
    first = [
        item for item in module.items if item.retriever == base and item.check.name in selected
    ]
    before = [*takewhile(lambda item: item.parent is not module, items)]
    placed = {*before, *first}
    return [*before, *first, *(item for item in items if item not in placed)]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Read what an update will replace while no worker of pytest-xdist can have replaced it yet."""
    plan, runs = session.config.stash[PLAN], retrieved_by(session.items)
    session.config.stash[LEFT_OUT] = left_out = _left_out(session)
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["ir_left_out"] = left_out
    plan.will_judge([judging.target(retriever) for judging, retriever in runs])
    if plan.compared and plan.targets and not hasattr(session.config, "workerinput"):
        try:
            plan.compared.refuse_unknown()
        except StoredRunError as error:
            raise pytest.UsageError(str(error)) from None
    if not plan.updating:
        return
    for module in _modules(session.items):  # retrievers that are not selected have a file, too
        plan.retrievers[module.path] = module.judging.retrievers
    for target in plan.targets:
        with suppress(StoredRunError):  # reported when its items run
            plan.replaced(target)


def _left_out(session: pytest.Session) -> list[str]:
    """The suites and retrievers of which no check is selected, each with its checks."""
    modules = session.config.stash.get(COLLECTED, {}).values()
    every = Counter(item.known.key for module in modules for item in module.items)
    for item in session.items:
        if isinstance(item, CheckItem):
            every.pop(item.known.key, None)
    found = [f"{run_name(*key)}: {counted(n, 'check')} deselected" for key, n in every.items()]
    exams = session.config.stash[PLAN].exams
    if exams:
        folders = [path.resolve() for path in named_on_command_line(session.config)]
        collected = session.config.stash.get(COLLECTED, {})
        found += [f"{suite}: {GONE}" for suite in exams.not_asked(collected, folders)]
        found += [f"{suite}: {HIDDEN}" for suite in exams.passed_over(collected, folders)]
    return found


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A share that none of the selected queries falls into is no failure of this job."""
    nothing = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
    if nothing and session.config.stash[PLAN].shard:
        session.exitstatus = pytest.ExitCode.OK


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
            return self._as_asked(self._load())
        except SuiteError as error:
            raise self.CollectError(str(error)) from None

    def _load(self) -> Suite:
        """The suite as its file says it."""
        path = self.config.stash[PLAN].project.shown(self.path)
        if terminal(path) != path or "::" in path:
            raise self.CollectError(
                f"{terminal(path)}: a suite's path may hold no '::' and nothing that a terminal or"
                " CI would act on"
            )
        try:
            return load_suite(
                self.path,
                shown=path,
                definitions=with_own(own_measures(self)),
                perturbations=self._perturbations(),
                allowed=self.config.stash[PLAN].project.allowed(self.path),
            )
        except (SuiteError, MeasureError) as error:
            told = untold(self.path, path, error)
        raise self.CollectError(told)

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
        return suite.audited() if options.audit and not suite.show_only else suite

    def _perturbations(self) -> Mapping[str, Perturbation]:
        """Give the kinds of variants, those of conftests too.

        Raises ``MeasureError`` for what is none.
        """
        kinds = dict(PERTURBATIONS)
        for given in self.ihook.pytest_ir_perturbations(config=self.config):
            if not isinstance(given, Mapping) or not all(map(callable, given.values())):
                raise MeasureError(
                    f"pytest_ir_perturbations must give functions by name, not {given!r}"
                )
            for name, make in given.items():
                if name in kinds or name == BY_HAND:
                    raise MeasureError(f"the kind of variants {name!r} is taken")
                kinds[str(name)] = make
        return kinds

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
        for place, text in () if self.suite.show_only else lint(self.suite):
            try:
                # As node.warn does it, which knows no line but the file's first.
                warnings.warn_explicit(
                    IRQualityWarning(terminal(text)), None, str(file_of(place)), place.line
                )
            except IRQualityWarning as error:  # under -W error
                raise self.CollectError(
                    f"{place.path or self.suite.path}:{place.line}:{place.column}: {error}"
                ) from None


def untold(file: Path, name: str, error: Exception) -> str:
    """Give an error's words, or of a held-out suite that there is one."""
    told = str(error)
    if HELD_OUT_WITHIN in told or not is_held_out(file):
        return told
    return f"{name}: it cannot be read; more is not said, for it has 'show_only'"


def own_measures(node: pytest.Item | pytest.Collector) -> list[Definition]:
    """Give the measures of conftests. Raises ``MeasureError`` for what is no list of them."""
    own: list[Definition] = []
    for given in node.ihook.pytest_ir_measures(config=node.config):
        measures = [given] if isinstance(given, Definition) else given or ()
        if not isinstance(measures, Iterable) or isinstance(measures, (str, bytes)):
            raise MeasureError(f"pytest_ir_measures must give a list, not {given!r}")
        own += measures
    for measure in own:
        if not isinstance(measure, Definition):
            raise MeasureError(
                f"pytest_ir_measures must give what own_measure makes, not {measure!r}"
            )
    return own


def hidden_suites(config: pytest.Config) -> Iterator[str]:
    """Suites that were not collected though a committed baseline, or the ini file, names them."""
    collected = config.stash.get(COLLECTED, {}).keys()
    if hasattr(config, "workerinput") or not collected.isdisjoint(named_on_command_line(config)):
        return
    folders = [path.resolve() for path in named_on_command_line(config)]
    reasons = dict.fromkeys(suites_with_baselines(config.rootpath), "it has a baseline in git")
    for name in Options(config).suite_files:
        if not has_magic(name):
            reasons.setdefault(config.rootpath / name, "the ini key ir_suite_files names it")
    for path, why in reasons.items():
        hidden = path.is_file() and path not in collected
        if hidden and not {path.resolve(), *path.resolve().parents}.isdisjoint(folders):
            file = config.stash[PLAN].project.shown(path)
            yield f"{file} was NOT COLLECTED, though {why}: {_cause(path)}"


def _cause(hidden: Path) -> str:
    if hidden.suffix in (".yaml", ".yml"):
        return "pytest passes over its folder (norecursedirs)"
    return "a list of queries must be named"


def compared_of(items: Iterable[pytest.Item]) -> list[tuple[Judging, str]]:
    """Those of them that are compared with anything: no held-out suite is."""
    return [one for one in retrieved_by(items) if not one[0].suite.show_only]


def retrieved_by(items: Iterable[pytest.Item]) -> list[tuple[Judging, str]]:
    """Each suite and retriever that items are of, once."""
    own = (item for item in items if isinstance(item, CheckItem))
    return list(dict.fromkeys((item.judging, item.retriever) for item in own))
