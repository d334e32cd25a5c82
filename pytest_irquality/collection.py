"""A suite file as a pytest module: one item a check, one retrieval pass a suite and retriever.

The module object is made from the YAML, so pytest's own machinery does fixtures, parameters, selection and reports.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_irquality import baseline
from pytest_irquality.files import Files, Target
from pytest_irquality.metrics import MeasureError, with_own
from pytest_irquality.report.data import encode
from pytest_irquality.report.text import explain
from pytest_irquality.retrieval import Fault, RetrieverError, Run, UnreadableResult, retrieve
from pytest_irquality.retrieval.shards import Shard
from pytest_irquality.retrieval.stored import StoredRunError
from pytest_irquality.suite import Check, Suite, SuiteError, load_suite
from pytest_irquality.suite.names import slug
from pytest_irquality.verdict import Baseline, SuiteResult, Verdict, judge
from pytest_irquality.why import with_reasons

if TYPE_CHECKING:

    class Failure(BaseException):
        """``pytest.fail.Exception``, which pytest names in no way that a type checker follows."""

        def __init__(self, msg: str, pytrace: bool = True) -> None: ...

else:
    Failure = pytest.fail.Exception

PACKAGE = str(Path(__file__).parent)


class Broken(Failure):
    """A rule or a limit did not hold. Nothing else raises it, so an outage can never pass for a known issue."""


Broken.__module__ = "builtins"  # as pytest does with its own, so that summaries say "Broken: ..." and no path


@dataclass
class Judged:
    """A retriever's result, kept for the items that look their verdicts up. ``told``: causes already shown in full."""

    result: SuiteResult
    verdicts: Mapping[str, Verdict]
    faults: Mapping[str, Fault]
    run: Run | None = None  # kept where another retriever of the suite is compared with it
    told: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """A fixture that broke: it is not tried again for each item."""

    reason: str
    shown_at: str


OUTCOMES = pytest.StashKey[dict[str, "Judged | Failed"]]()
SENT = pytest.StashKey[str]()
FILES = pytest.StashKey[Files]()


def pytest_configure(config: pytest.Config) -> None:
    """Gather the options that name files. Raises ``pytest.UsageError`` where they contradict each other."""
    option = config.option
    try:
        shard = Shard.parse(option.ir_shard) if option.ir_shard else None
    except ValueError as error:
        raise pytest.UsageError(f"--ir-shard: {error}") from None
    for other, given in (("--ir-runs", option.ir_runs), ("--ir-update-baseline", option.ir_update_baseline)):
        if shard and given:
            raise pytest.UsageError(f"--ir-shard asks a share of the queries, and {other} is for all of them")
    config.stash[FILES] = Files(
        config.invocation_params.dir, config.rootpath, option.ir_baseline, option.ir_update_baseline,
        tuple(option.ir_runs), option.ir_save_runs, shard,
    )  # fmt: skip


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Under ``--ir-shard`` keep what a share of the queries can tell; put the retriever compared with before others."""
    if shard := config.stash[FILES].shard:
        here = [item for item in items if not isinstance(item.parent, SuiteModule) or item.parent.is_in(shard, item)]
        config.hook.pytest_deselected(items=list(set(items).difference(here)))
        items[:] = here
    places: dict[SuiteModule, list[int]] = {}
    for place, item in enumerate(items):
        if isinstance(item.parent, SuiteModule) and item.parent.suite.baseline_retriever:
            places.setdefault(item.parent, []).append(place)
    for module, own in places.items():
        ordered = sorted((items[n] for n in own), key=lambda item: variant(item) != module.suite.baseline_retriever)
        for place, item in zip(own, ordered, strict=True):
            items[place] = item


def pytest_collection_finish(session: pytest.Session) -> None:
    """Read what an update will replace while no worker of pytest-xdist can have replaced it yet."""
    files = session.config.stash[FILES]
    targets = {(item.parent, variant(item)): None for item in session.items if isinstance(item.parent, SuiteModule)}
    files.targets = len(targets)
    for module, key in targets if files.updating else ():
        with suppress(StoredRunError):  # told when its items run
            files.read_baseline(Target(module.suite, module.path, key))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A share that none of the selected queries falls into is no failure of this job."""
    if session.config.stash[FILES].shard and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


class SuiteModule(pytest.Module):
    """A suite file, collected like a Python module of one function a check."""

    suite: Suite
    _made: types.ModuleType | None = None

    def _getobj(self) -> types.ModuleType:
        if self._made is None:  # pytest may ask more than once
            self._made = self._make()
        return self._made

    def _make(self) -> types.ModuleType:
        self.stash[OUTCOMES] = {}
        try:
            shown = self.path.relative_to(self.config.invocation_params.dir).as_posix()
        except ValueError:
            shown = str(self.path)
        try:
            own = [measure for given in self.ihook.pytest_ir_measures(config=self.config) for measure in given or ()]
            self.suite = load_suite(self.path, shown=shown, definitions=with_own(own))
            if self.suite.baseline_retriever or baseline.expected(self.path, self.config.option.ir_baseline):
                self.suite = self.suite.guarded()
        except (SuiteError, MeasureError) as error:
            raise self.CollectError(str(error)) from None
        self.checks = {check.name: check for check in self.suite.checks}
        module = types.ModuleType(slug(self.suite.name))
        module.__file__ = str(self.path)
        # usefixtures rather than an argument: a parametrised retriever gives every item its [bm25], [hybrid].
        vars(module)["pytestmark"] = [pytest.mark.ir_suite, pytest.mark.usefixtures(self.suite.retriever)]
        for name, check in self.checks.items():
            vars(module)[name] = _function(check, self.path, module.__name__)
        return module

    def is_in(self, shard: Shard, item: pytest.Item) -> bool:
        """Whether a share of the queries is enough for this item: its own query's, or that all were answered."""
        check = self.checks[getattr(item, "originalname", "")]
        return shard.holds(check.query.id) if check.query else not (check.limits or check.rule or check.guard)

    def funcnamefilter(self, name: str) -> bool:
        """Only what was made here is a test, whatever ``python_functions`` says."""
        return name in self.checks

    def classnamefilter(self, name: str) -> bool:
        """There are no classes here."""
        return False

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """The items, with tags and query text as keywords for ``-k``."""
        for item in super().collect():
            check = self.checks.get(getattr(item, "originalname", ""))
            if check:
                query = check.query
                words = (*query.tags, query.text, slug(query.text)) if query else (check.label, slug(check.label))
                item.extra_keyword_matches.update(words)
            yield item


def _function(check: Check, path: Path, module: str) -> Callable[..., None]:
    """A test function of its own whose place is the check's line of the YAML file."""

    def verdict(_ir_run: Callable[[], None]) -> None:
        _ir_run()

    code = verdict.__code__.replace(co_filename=str(path), co_firstlineno=check.place.line, co_name=check.name)
    function = types.FunctionType(code, verdict.__globals__, check.name)
    function.__module__ = module
    return function


def variant(item: pytest.Item) -> str:
    """``bm25`` of the item ``ndcg-10[bm25]``: which retriever of a parametrised fixture."""
    return item.name.removeprefix(getattr(item, "originalname", item.name)).removeprefix("[").removesuffix("]")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Once a suite and retriever was retrieved its items only look up: they set up nothing else."""
    __tracebackhide__ = _is_theirs
    if not isinstance(item.parent, SuiteModule) or not isinstance(item, pytest.Function):
        return (yield)
    outcomes, key, names = item.parent.stash[OUTCOMES], variant(item), item.fixturenames
    if key in outcomes or item.config.stash[FILES].kept:
        item.fixturenames = ["_ir_run"]
    try:
        return (yield)
    except (Exception, pytest.fail.Exception) as error:  # neither a skip nor Ctrl-C
        outcomes.setdefault(key, Failed(f"{type(error).__name__}: {error}".split("\n", 1)[0], item.name))
        raise
    finally:
        item.fixturenames = names  # a rerun may need them


@pytest.fixture
def _ir_run(request: pytest.FixtureRequest) -> Callable[[], None]:
    __tracebackhide__ = _is_theirs
    item = request.node
    suite, key = item.parent, variant(item)
    outcomes = suite.stash[OUTCOMES]
    if key not in outcomes:
        kept = item.config.stash[FILES].kept
        outcomes[key] = _retrieve_and_judge(item, None if kept else request.getfixturevalue(suite.suite.retriever))
        item.stash[SENT] = encode(outcomes[key].result)
    outcome = outcomes[key]
    if isinstance(outcome, Failed):
        pytest.fail(f"not evaluated: {outcome.reason} (shown at {outcome.shown_at})", pytrace=False)
    verdict = outcome.verdicts[item.originalname]
    if verdict.outcome in ("error", "not evaluated"):
        _raise_fault(item, verdict, outcome)
    # Under --runxfail pytest.xfail does nothing, so what is broken fails; what is fixed must then pass.
    quiet = verdict.outcome == "passed" or (verdict.outcome == "fixed" and request.config.getoption("runxfail", False))
    return (lambda: None) if quiet else (lambda: _conclude(outcome.result, verdict))


def _retrieve_and_judge(item: pytest.Item, retriever: object) -> Judged:
    """Ask every query the selected items of this suite and retriever need, and judge those items' checks."""
    __tracebackhide__ = _is_theirs
    module = item.parent
    assert isinstance(module, SuiteModule)
    files, suite, key = item.config.stash[FILES], module.suite, variant(item)
    target, asked = Target(suite, module.path, key), files.part(suite)
    selected = {
        getattr(other, "originalname", "")
        for other in item.session.items
        if other.parent is module and variant(other) == key
    }
    checks = [check for check in suite.checks if check.name in selected]
    needed = {query.id for check in checks for query in asked.needed(check)}
    try:
        compared = _baseline(module, key)  # one that is damaged is told before anything is asked
        run, notes = files.kept_run(target, needed) if files.kept else (_ask(item, retriever, asked, needed), ())
    except StoredRunError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    try:
        before, known = compared or (run, Baseline(key, len(run.rankings), version=run.version))
        result = judge(asked, run, checks, before=before, baseline=known, updating=files.updating)
    except MeasureError as error:  # a measure of the project's own
        raise pytest.fail.Exception(f"{error} ({suite.path})", pytrace=False) from None
    result = files.completed(target, run, with_reasons(result, retriever), notes)
    kept = run if suite.baseline_retriever else None
    return Judged(result, {verdict.check: verdict for verdict in result.verdicts}, run.faults, kept)


def _ask(item: pytest.Item, retriever: object, suite: Suite, needed: Collection[str]) -> Run:
    __tracebackhide__ = _is_theirs
    try:
        run = retrieve(suite, retriever, [query for query in suite.queries if query.id in needed], variant(item))
    except RetrieverError as error:
        raise pytest.fail.Exception(f"{error} (fixture {suite.retriever!r}, {suite.path})", pytrace=False) from None
    if run.interrupted:
        item.session.shouldstop = f"interrupted while asking the queries of {suite.path}"
    return replace(run, version=_version(retriever))


def _baseline(module: SuiteModule, key: str) -> tuple[Run, Baseline] | tuple[None, None] | None:
    """What a retriever is compared with: a stored run, or another retriever of this session; None: with itself."""
    other = module.suite.baseline_retriever
    if other is None:
        return module.config.stash[FILES].before(Target(module.suite, module.path, key))
    if other == key:
        return None
    judged = module.stash[OUTCOMES].get(other)
    if not isinstance(judged, Judged) or judged.run is None:
        what = "its fixture failed" if isinstance(judged, Failed) else "it was not run; select its items, too"
        raise pytest.fail.Exception(
            f"{module.suite.path} compares [{key}] with the retriever {other!r} ('baseline'): {what}", pytrace=False
        )
    return judged.run, Baseline(other, len(judged.run.rankings), version=judged.run.version)


def _version(retriever: object) -> str | None:
    version = getattr(retriever, "version", None)
    return str(version) if isinstance(version, (str, int, float)) else None


def _raise_fault(item: pytest.Item, verdict: Verdict, judged: Judged) -> None:
    """The cause of an unanswered query: in full the first time, in one line after that."""
    # The user's own error is shown without this frame; a message of ours needs one frame that is not hidden.
    __tracebackhide__ = _is_theirs
    where = f"{judged.result.path}:{verdict.line}"
    fault = judged.faults.get(verdict.query) if verdict.query is not None else None
    if fault is None:
        pytest.fail(f"{verdict.reason}\n  at {where}", pytrace=False)
    text = judged.result.query(verdict.query or "").text
    if fault.message in judged.told:
        pytest.fail(f"{text!r}: {fault.message} (shown at {judged.told[fault.message]})\n  at {where}", pytrace=False)
    judged.told[fault.message] = item.name
    if fault.error is None or isinstance(fault.error, UnreadableResult):
        pytest.fail(f"{text!r}: {fault.message}\n  at {where}", pytrace=False)
    alike = sum(other.message == fault.message for other in judged.faults.values())
    more = f"; {alike} queries failed so" if alike > 1 else ""
    item.add_report_section("setup", "query", f"{text!r} at {where}{more}")
    raise fault.error.with_traceback(_users_frames(fault.error.__traceback__))


def _is_theirs(raised: pytest.ExceptionInfo[BaseException]) -> bool:
    return not isinstance(raised.value, pytest.fail.Exception)


def _users_frames(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """The traceback from the first frame that is not ours."""
    first = traceback
    while first and first.tb_frame.f_code.co_filename.startswith(PACKAGE):
        first = first.tb_next
    return first or traceback


def _conclude(result: SuiteResult, verdict: Verdict) -> None:
    __tracebackhide__ = _is_theirs
    if verdict.outcome == "known":
        pytest.xfail(f"{verdict.known_issue}: {verdict.reason}")
    raise Broken(explain(result, verdict), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send the result home on the setup report of the item that retrieved: reports travel through xdist as they are."""
    report = yield
    crash = getattr(report.longrepr, "reprcrash", None)
    if isinstance(item.parent, SuiteModule) and crash is not None:
        # The short summary, JUnit's message and annotations repeat it, on CI in full: the first line is enough there.
        crash.message = crash.message.split("\n", 1)[0]
    if report.when == "setup" and (sent := item.stash.get(SENT, None)) is not None:
        vars(report)["ir_result"] = sent
        del item.stash[SENT]
    return report


def suite_of(item: Any) -> tuple[str, str] | None:
    """Which suite and retriever an item belongs to, or None for other items."""
    if isinstance(item.parent, SuiteModule):
        return item.parent.suite.path, variant(item)
    return None
