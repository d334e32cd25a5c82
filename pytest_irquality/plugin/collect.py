"""The items of a session: which are selected, in which order, and what is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from itertools import takewhile

import pytest

from pytest_irquality.plugin.internals import named_on_command_line
from pytest_irquality.plugin.items import CheckItem
from pytest_irquality.plugin.outcomes import SELECTED, Judging
from pytest_irquality.plugin.planning import PLAN
from pytest_irquality.plugin.suite_module import COLLECTED, SuiteModule
from pytest_irquality.storage.shards import Shard
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.storage.target import run_name
from pytest_irquality.wording.numbers import counted

LEFT_OUT = pytest.StashKey[list[str]]()
"""The suites of which no check is selected, in words."""
GONE = "not in this checkout, and its queries are asked by no suite of this run"
HIDDEN = "not asked: pytest passes over it since this change"


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


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say it where there is no suite at all, though the command line asks for some."""
    asked = any(str(arg).startswith("--ir-suite") for arg in config.invocation_params.args)
    if config.stash.get(COLLECTED, {}) or not asked:
        return []
    patterns = " ".join(config.stash[PLAN].project.patterns)
    return [f"irquality: no suite was found: no file there matches {patterns!r}"]


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


def retrieved_by(items: Iterable[pytest.Item]) -> list[tuple[Judging, str]]:
    """Each suite and retriever that items are of, once."""
    own = (item for item in items if isinstance(item, CheckItem))
    return list(dict.fromkeys((item.judging, item.retriever) for item in own))
