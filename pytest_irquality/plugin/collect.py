"""A suite file as a pytest module: one item a check.

The module object is made from the YAML, so pytest's own machinery does fixtures, parameters, selection and reports.
"""

from __future__ import annotations

import os
import types
import warnings
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.edges.printable import terminal
from pytest_irquality.metrics import MeasureError, with_own
from pytest_irquality.pipeline.files import Files, Target
from pytest_irquality.plugin.hooks import is_suite
from pytest_irquality.storage import baseline
from pytest_irquality.storage.shards import Shard
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.suite import Check, Place, Suite, SuiteError, load_suite
from pytest_irquality.suite.lint import IRQualityWarning, lint
from pytest_irquality.suite.names import slug

FILES = pytest.StashKey[Files]()


def pytest_configure(config: pytest.Config) -> None:
    """Gather the options that name files. Raises ``pytest.UsageError`` where they contradict each other."""
    option = config.option
    try:
        shard = Shard.parse(option.ir_shard) if option.ir_shard else None
    except ValueError as error:
        raise pytest.UsageError(f"--ir-shard: {error}") from None
    for other, given in (
        ("--ir-runs", option.ir_runs),
        ("--ir-update-baseline", option.ir_update_baseline),
    ):
        if shard and given:
            raise pytest.UsageError(
                f"--ir-shard asks a share of the queries, and {other} is for all of them"
            )
    in_file = option.ir_baseline and not option.ir_baseline.startswith(baseline.COMMITS)
    compared = [option.ir_baseline] if in_file and not option.ir_update_baseline else []
    for name, paths in (("--ir-runs", option.ir_runs), ("--ir-baseline", compared)):
        for path in paths:
            if not Path(config.invocation_params.dir, path).exists():
                raise pytest.UsageError(f"{name} {path}: there is no such file or folder")
    config.stash[FILES] = Files(
        config.invocation_params.dir, config.rootpath, option.ir_baseline, option.ir_update_baseline,
        tuple(option.ir_runs), option.ir_save_runs, shard,
        named=tuple(_named_folders(config)),
        outside=tuple(config.rootpath / name for name in config.getini("ir_allow_outside")),
        history=Path(config.invocation_params.dir, option.ir_history) if option.ir_history else None,
        accepts_nothing=_choice(config, "ir_accepted", ("xfail", "fail")) == "fail",
    )  # fmt: skip


def _choice(config: pytest.Config, key: str, choices: Sequence[str]) -> str:
    value = str(config.getini(key))
    if value not in choices:
        raise pytest.UsageError(f"ini key {key} must be {' or '.join(choices)}, not {value!r}")
    return value


def _named_folders(config: pytest.Config) -> Iterator[Path]:
    """The folders that the command line names, and those of the files that it names."""
    for arg in config.args:
        path = Path(os.path.abspath(config.invocation_params.dir / arg.partition("::")[0]))
        yield path if path.is_dir() else path.parent


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Under ``--ir-shard`` keep what a share of the queries can tell; bring along what others are compared with."""
    yield  # to -k, --lf and whatever else selects
    if shard := config.stash[FILES].shard:
        here = [
            item
            for item in items
            if not isinstance(item.parent, SuiteModule) or item.parent.is_in(shard, item)
        ]
        config.hook.pytest_deselected(items=list(set(items).difference(here)))
        items[:] = here
    for module in {item.parent: None for item in items if isinstance(item.parent, SuiteModule)}:
        if module.suite.baseline_retriever:
            items[:] = _compared_first(module, list(items))


def _compared_first(module: SuiteModule, items: Collection[pytest.Item]) -> Iterator[pytest.Item]:
    """The items, those of the retriever that others are compared with before the others, and selected with them."""
    base = module.suite.baseline_retriever
    own = {item.name: item for item in items if item.parent is module}
    checks = {getattr(item, "originalname", "") for item in own.values() if variant(item) != base}
    everything = [
        item for item in pytest.Module.collect(module) if isinstance(item, pytest.Function)
    ]
    module.variants = list({variant(item): None for item in everything})
    twins = [item for item in everything if variant(item) == base]
    first = [
        own.get(item.name, item)
        for item in twins
        if item.originalname in checks or item.name in own
    ]
    for item in items:
        if item.parent is module:
            yield from first
            first = []
        if item.parent is not module or variant(item) != base:
            yield item


def pytest_collection_finish(session: pytest.Session) -> None:
    """Read what an update will replace while no worker of pytest-xdist can have replaced it yet."""
    files = session.config.stash[FILES]
    targets = {
        (item.parent, variant(item)): None
        for item in session.items
        if isinstance(item.parent, SuiteModule)
    }
    files.targets = len(targets)
    if (
        targets
        and not hasattr(session.config, "workerinput")
        and (wrong := files.unknown_revision())
    ):
        raise pytest.UsageError(wrong)
    for module, key in targets if files.updating else ():
        with suppress(StoredRunError):  # told when its items run
            files.read_baseline(Target(module.suite, module.path, key))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A share that none of the selected queries falls into is no failure of this job."""
    if (
        session.config.stash[FILES].shard
        and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
    ):
        session.exitstatus = pytest.ExitCode.OK


class SuiteModule(pytest.Module):
    """A suite file, collected like a Python module of one function a check."""

    suite: Suite
    variants: Sequence[str] = ()  # the retrievers there are, selected or not
    _made: types.ModuleType | None = None

    def _getobj(self) -> types.ModuleType:
        if self._made is None:  # pytest may ask more than once
            self._made = self._make()
        return self._made

    def _make(self) -> types.ModuleType:
        shown = shown_path(self.config, self.path)
        try:
            own = [
                measure
                for given in self.ihook.pytest_ir_measures(config=self.config)
                for measure in given or ()
            ]
            self.suite = load_suite(
                self.path,
                shown=shown,
                definitions=with_own(own),
                allowed=self.config.stash[FILES].allowed(self.path),
            )
            if self.config.option.ir_history:
                self.suite = self.suite.with_trends()
            if self.suite.baseline_retriever or baseline.expected(
                self.path, self.config.option.ir_baseline
            ):
                self.suite = self.suite.guarded()
            if self.config.option.ir_audit:
                self.suite = self.suite.audited()
        except (SuiteError, MeasureError) as error:
            raise self.CollectError(str(error)) from None
        self.checks = {check.name: check for check in self.suite.checks}
        module = types.ModuleType(slug(self.suite.name))
        module.__file__ = str(self.path)
        # usefixtures rather than an argument: a parametrised retriever gives every item its [bm25], [hybrid].
        vars(module)["pytestmark"] = [
            pytest.mark.ir_suite,
            pytest.mark.usefixtures(self.suite.retriever),
        ]
        for name, check in self.checks.items():
            vars(module)[name] = _function(check, self._file(check.place), module.__name__)
        return module

    def _file(self, place: Place) -> Path:
        """The file of a place: a query of a JSONL file may carry rules of its own."""
        return Path(self.config.invocation_params.dir, place.path) if place.path else self.path

    def is_in(self, shard: Shard, item: pytest.Item) -> bool:
        """Whether a share of the queries is enough for this item: its own query's, or that all were answered."""
        check = self.checks[getattr(item, "originalname", "")]
        return shard.holds(check.query.id) if check.query else check.scope == "bulk"

    def funcnamefilter(self, name: str) -> bool:
        """Only what was made here is a test, whatever ``python_functions`` says."""
        return name in self.checks

    def classnamefilter(self, name: str) -> bool:
        """There are no classes here."""
        return False

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """The items, with tags and query text as keywords for ``-k``. Doubts about the suite become warnings."""
        _ = self.obj
        self._warn()
        for item in super().collect():
            check = self.checks.get(getattr(item, "originalname", ""))
            if check:
                query = check.query
                words = (
                    (*query.tags, query.text, slug(query.text))
                    if query
                    else (check.label, slug(check.label))
                )
                item.extra_keyword_matches.update(words)
            yield item

    def _warn(self) -> None:
        for place, text in lint(self.suite):
            try:
                # As node.warn does it, which knows no line but the file's first.
                warnings.warn_explicit(
                    IRQualityWarning(terminal(text)), None, str(self._file(place)), place.line
                )
            except IRQualityWarning as error:  # under -W error
                raise self.CollectError(
                    f"{place.path or self.suite.path}:{place.line}:{place.column}: {error}"
                ) from None


def shown_path(config: pytest.Config, path: Path) -> str:
    """How messages name a file: from where pytest was called."""
    try:
        return path.relative_to(config.invocation_params.dir).as_posix()
    except ValueError:
        return str(path)


def _function(check: Check, path: Path, module: str) -> Callable[..., None]:
    """A test function of its own whose place is the check's line of its file."""

    def verdict(_ir_run: Callable[[], None]) -> None:
        _ir_run()

    code = verdict.__code__.replace(
        co_filename=str(path), co_firstlineno=check.place.line, co_name=check.name
    )
    function = types.FunctionType(code, verdict.__globals__, check.name)
    function.__module__ = module
    return function


def variant(item: pytest.Item) -> str:
    """``bm25`` of the item ``ndcg-10[bm25]``: which retriever of a parametrised fixture."""
    return (
        item.name.removeprefix(getattr(item, "originalname", item.name))
        .removeprefix("[")
        .removesuffix("]")
    )


def suite_of(item: Any) -> tuple[str, str] | None:
    """Which suite and retriever an item belongs to, or None for other items."""
    if isinstance(item.parent, SuiteModule):
        return item.parent.suite.path, variant(item)
    return None


def suites_of(config: pytest.Config, ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The same for items that another process has collected, by their node ids."""
    named = {
        Path(config.invocation_params.dir, arg.partition("::")[0]).resolve() for arg in config.args
    }
    shown: dict[str, str | None] = {}
    for file, _, name in (id.partition("::") for id in ids):
        if file not in shown:
            path = config.rootpath / file
            shown[file] = (
                shown_path(config, path)
                if is_suite(config, path, path.resolve() in named)
                else None
            )
        if (suite := shown[file]) is not None:
            yield suite, name.partition("[")[2].removesuffix("]")
