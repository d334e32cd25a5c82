"""Items when they run: one pass a suite and retriever in the setup of the first, and verdicts looked up in the call."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_irquality.metrics import MeasureError
from pytest_irquality.metrics.names import did_you_mean
from pytest_irquality.pipeline.files import Against, Target
from pytest_irquality.pipeline.judge import judge_run, version_of
from pytest_irquality.plugin.collect import FILES, SuiteModule, variant
from pytest_irquality.plugin.progress import shown_progress
from pytest_irquality.report.data import encode
from pytest_irquality.report.text import explain
from pytest_irquality.retrieval import RetrieverError, Run, UnreadableResult, retrieve
from pytest_irquality.retrieval.call import AWAITED_BY, CUTOFF_NAMES
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.suite import Suite
from pytest_irquality.verdict import Baseline, SuiteResult, Verdict
from pytest_irquality.verdict.pool import Pool, pool
from pytest_irquality.wording.sentences import reason

if TYPE_CHECKING:

    class Failure(BaseException):
        """``pytest.fail.Exception``, which pytest names in no way that a type checker follows."""

        def __init__(self, msg: str, pytrace: bool = True) -> None: ...

else:
    Failure = pytest.fail.Exception

QUERY_NAMES = ("query", "queries", "q", "text", "question", "search", "term", "keywords")
PACKAGE = str(Path(__file__).parents[1])


class Broken(Failure):
    """A rule or a limit did not hold. Nothing else raises it, so an outage can never pass for a known issue."""


Broken.__module__ = (
    "builtins"  # as pytest does with its own, so that summaries say "Broken: ..." and no path
)


@dataclass
class Judged:
    """A retriever's result, kept for the items that look their verdicts up. ``told``: causes already shown in full.

    ``run`` is whole where it may be needed again: for a rerun, or by a retriever that is compared with this one.
    ``attempt``: which run of an item this is of, where a plugin runs those again that failed.
    """

    run: Run
    result: SuiteResult
    verdicts: Mapping[str, Verdict]
    attempt: int = 1
    told: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """A fixture that broke: it is not tried again for each item."""

    reason: str
    attempt: int = 1


@dataclass(frozen=True)
class Skipped:
    """A retriever that asked for a skip when it was called: so are all its items."""

    reason: str
    attempt: int = 1


OUTCOMES = pytest.StashKey[dict[str, "Judged | Failed | Skipped"]]()
SENT = pytest.StashKey[SuiteResult]()
POOL = pytest.StashKey[Pool]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Once a suite and retriever was retrieved its items only look up: they set up nothing else."""
    __tracebackhide__ = _is_theirs
    if not isinstance(item.parent, SuiteModule) or not isinstance(item, pytest.Function):
        return (yield)
    outcomes, key, names = (
        item.parent.stash.setdefault(OUTCOMES, {}),
        variant(item),
        item.fixturenames,
    )
    asks = _must_ask(item, outcomes.get(key))
    if not asks or item.config.stash[FILES].kept:
        item.fixturenames = ["_ir_run"]
    try:
        return (yield)
    except (Exception, pytest.fail.Exception) as error:  # neither a skip nor Ctrl-C
        if asks and not isinstance(outcomes.get(key), Judged):
            outcomes[key] = Failed(
                f"not evaluated{_briefly(error)} (shown at {item.name})", _attempt(item)
            )
        if told := _about_fixtures(item.parent.suite, error):
            raise pytest.fail.Exception(told, pytrace=False) from None
        raise
    finally:
        item.fixturenames = names  # a rerun may need them


@pytest.fixture
def _ir_run(request: pytest.FixtureRequest) -> Callable[[], None]:
    __tracebackhide__ = _is_theirs
    item = request.node
    suite, key = item.parent, variant(item)
    outcomes = suite.stash[OUTCOMES]
    outcome = outcomes.get(key)
    if _must_ask(item, outcome):
        kept, earlier = item.config.stash[FILES].kept, outcome
        retriever = None if kept else request.getfixturevalue(suite.suite.retriever)
        try:
            outcome = _retrieve_and_judge(
                item, retriever, earlier if isinstance(earlier, Judged) else None
            )
        except pytest.skip.Exception as skip:
            outcomes[key] = Skipped(str(skip), _attempt(item))
            raise
        outcomes[key] = outcome
        item.stash[SENT] = outcome.result
    if isinstance(outcome, Skipped):
        pytest.skip(outcome.reason)
    if isinstance(outcome, Failed):
        pytest.fail(outcome.reason, pytrace=False)
    assert isinstance(outcome, Judged)
    judged = outcome
    verdict = judged.verdicts[item.originalname]
    if verdict.outcome in ("error", "not evaluated"):
        _raise_fault(item, verdict, judged)
    # Under --runxfail pytest.xfail does nothing, so what is broken fails; what is fixed must then pass.
    quiet = verdict.outcome == "passed" or (
        verdict.outcome == "fixed" and request.config.getoption("runxfail", False)
    )
    return (lambda: None) if quiet else (lambda: _conclude(judged.result, verdict))


def _attempt(item: pytest.Item) -> int:
    """Which run of the item this is, as pytest-rerunfailures counts them."""
    return getattr(item, "execution_count", 1)


def _must_ask(item: pytest.Function, outcome: Judged | Failed | Skipped | None) -> bool:
    """Whether the retriever is needed: at first, and once a rerun for what had no answer. Verdicts on answers stand."""
    if outcome is None:
        return True
    if _attempt(item) <= outcome.attempt:
        return False
    return isinstance(outcome, Failed) or (
        isinstance(outcome, Judged) and outcome.verdicts[item.originalname].outcome == "error"
    )


def _briefly(error: BaseException) -> str:
    """Why, in the few words that bear repeating for every item."""
    if isinstance(error, pytest.fail.Exception):
        return ""
    if isinstance(error, pytest.FixtureLookupError):
        return f": no fixture {error.argname!r}"
    return f": {type(error).__name__}: {error}".split("\n", 1)[0]


def _about_fixtures(suite: Suite, error: BaseException) -> str | None:
    """One line for a fixture that is missing or that nothing awaits, of which pytest says more and less."""
    if isinstance(error, pytest.FixtureLookupError):
        return _no_such_fixture(suite, error)
    found = (
        re.search(r"requested an async fixture '(\w+)'", str(error))
        if isinstance(error, Failure)
        else None
    )
    return found and f"the fixture {found[1]!r} is async and nothing has awaited it: {AWAITED_BY}"


def _no_such_fixture(suite: Suite, error: pytest.FixtureLookupError) -> str | None:
    """One line for the retriever, or a fixture it asks for, that is not there, with a name that is near."""
    name, asking = error.argname, error.request.fixturename
    if name is None or (name != suite.retriever and asking is None):
        return None
    listed = str(getattr(error.formatrepr(), "errorstring", "")).partition("available fixtures: ")[
        2
    ]
    near = did_you_mean(
        name, [known for known in listed.partition("\n")[0].split(", ") if known != "_ir_run"]
    )
    if name != suite.retriever:
        if asking == suite.retriever and name in (*QUERY_NAMES, *CUTOFF_NAMES):
            return f"{suite.path}: the fixture {asking!r} takes {name!r} itself; it must return a function that does"
        return f"{suite.path}: no fixture {name!r}, which the fixture {asking!r} asks for, is found from here{near}"
    place = suite.places.get("retriever")
    if place is None:
        advice = (
            near or "; write it in a conftest.py, or name yours in the suite: 'retriever: NAME'"
        )
        return f"{suite.path}: no fixture 'retriever' is found from here{advice}"
    return f"{suite.path}:{place.line}:{place.column}: no fixture {suite.retriever!r} is found from here{near}"


def _retrieve_and_judge(
    item: pytest.Item, retriever: object, earlier: Judged | None = None
) -> Judged:
    """Ask every query the selected items of this suite and retriever need, and judge those items' checks.

    After an ``earlier`` attempt only those queries are asked that had no answer then.
    """
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
        compared = _baseline(
            module, key, needed
        )  # one that is damaged is told before anything is asked
        run, notes = (
            files.kept_run(target, needed)
            if files.kept
            else (_ask(item, retriever, needed, earlier), ())
        )
        past = files.past(target, needed)
    except StoredRunError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    try:
        known = compared or Against(run, Baseline(key, len(run.rankings), version=run.version))
        result = judge_run(
            files,
            target,
            run,
            checks=checks,
            compared=known,
            retriever=retriever,
            notes=notes,
            audit=item.config.option.ir_audit,
            past=past,
        )
    except MeasureError as error:  # a measure of the project's own
        raise pytest.fail.Exception(f"{error} ({suite.path})", pytrace=False) from None
    if asks_for_grades(item.config):
        sides = [side for side in (run, known[0]) if side is not None]
        item.stash[POOL] = pool(asked, sides, _depth(item.config, suite))
    if not (run.faults or suite.baseline_retriever):
        run = replace(
            run, rankings={}, titles={}, texts={}
        )  # large, and nobody will ask for them again
    return Judged(
        run, result, {verdict.check: verdict for verdict in result.verdicts}, _attempt(item)
    )


def _ask(item: Any, retriever: object, needed: Collection[str], earlier: Judged | None) -> Run:
    """The run of today: the queries that are needed, after an earlier attempt those of them that had no answer then."""
    __tracebackhide__ = _is_theirs
    suite = item.parent.suite
    asked = [
        query for query in suite.queries if query.id in (earlier.run.faults if earlier else needed)
    ]
    try:
        with shown_progress(item.config, suite.path) as progress:
            run = retrieve(
                suite,
                retriever,
                asked,
                variant(item),
                concurrency=_concurrency(item.config, suite),
                progress=progress,
                details=bool(item.config.option.ir_judge),
            )
    except RetrieverError as error:
        at = f"{error.place.path or suite.path}:{error.place.line}" if error.place else suite.path
        raise pytest.fail.Exception(
            f"{error} (fixture {suite.retriever!r}, {at})", pytrace=False
        ) from None
    for fault in run.faults.values():
        if isinstance(
            fault.error, pytest.exit.Exception
        ):  # an Exception like others, but an order to the session
            raise fault.error
    if run.interrupted:
        item.session.shouldstop = f"interrupted while asking the queries of {suite.path}"
    return replace(earlier.run.retried(run) if earlier else run, version=version_of(retriever))


def asks_for_grades(config: pytest.Config) -> bool:
    """Whether somebody is to grade what is returned."""
    return bool(config.option.ir_judge or config.option.ir_unjudged)


def _depth(config: pytest.Config, suite: Suite) -> int:
    """How many results of a query are to be graded."""
    return int(config.option.ir_judge_depth or suite.top_k)


def _concurrency(config: pytest.Config, suite: Suite) -> int:
    """Calls in flight: what the command line says, or the suite, or the ini file."""
    return int(
        config.option.ir_concurrency or suite.concurrency or config.getini("ir_concurrency") or 1
    )


def _baseline(module: SuiteModule, key: str, needed: Collection[str]) -> Against | None:
    """What a retriever is compared with: a stored run, or another retriever of this session; None: with itself."""
    other = module.suite.baseline_retriever
    if other is None:
        return module.config.stash[FILES].before(Target(module.suite, module.path, key), needed)
    if other == key:
        return None
    judged = module.stash[OUTCOMES].get(other)
    if not isinstance(judged, Judged):
        known = ", ".join(map(repr, module.variants))
        unknown = f"there is none of that name, but {known}{did_you_mean(other, module.variants)}"
        elsewhere = ", or it was by another worker: --dist loadfile keeps them together"
        not_run = f"it was not run; select its items, too{elsewhere * hasattr(module.config, 'workerinput')}"
        what = (
            "its fixture failed"
            if isinstance(judged, Failed)
            else not_run
            if other in module.variants
            else unknown
        )
        raise pytest.fail.Exception(
            f"{module.suite.path} compares [{key}] with the retriever {other!r} ('baseline'): {what}",
            pytrace=False,
        )
    run = judged.run
    return Against(run, Baseline(other, len(run.rankings), version=run.version))


def _raise_fault(item: pytest.Item, verdict: Verdict, judged: Judged) -> None:
    """The cause of an unanswered query: in full the first time, in one line after that."""
    # The user's own error is shown without this frame; a message of ours needs one frame that is not hidden.
    __tracebackhide__ = _is_theirs
    query = verdict.query
    if verdict.scope == "bulk":  # no bulk query has an item of its own, so their cause is told here
        query = next(
            (result.id for result in judged.result.queries if result.fault and not result.check),
            None,
        )
    fault = judged.run.faults.get(query) if query is not None else None
    if query is None or fault is None:
        pytest.fail(
            f"{reason(judged.result, verdict)}\n  at {judged.result.place(verdict)}", pytrace=False
        )
    asked = judged.result.query(query)
    where, text, cause = judged.result.place(asked), asked.text, fault.cause
    if cause in judged.told:
        pytest.fail(
            f"{text!r}: {fault.message} (shown at {judged.told[cause]})\n  at {where}",
            pytrace=False,
        )
    judged.told[cause] = item.name
    alike = sum(other.cause == cause for other in judged.run.faults.values())
    more = f"; {alike} queries failed so" if alike > 1 else ""
    # What is no Exception, as sys.exit raises it, would leave pytest's setup in pieces.
    if not isinstance(fault.error, Exception) or isinstance(fault.error, UnreadableResult):
        pytest.fail(f"{text!r}: {fault.message}\n  at {where}{more}", pytrace=False)
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
        pytest.xfail(f"{verdict.known_issue}: {reason(result, verdict)}")
    if verdict.outcome == "accepted":
        pytest.xfail(f"accepted by this change's own baseline: {reason(result, verdict)}")
    raise Broken(explain(result, verdict), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send the result home on the setup report of the item that retrieved: reports travel through xdist as JSON."""
    report = yield
    crash = getattr(report.longrepr, "reprcrash", None)
    if isinstance(item.parent, SuiteModule) and crash is not None:
        # The short summary, JUnit's message and annotations repeat it, on CI in full: the first line is enough there.
        crash.message = crash.message.split("\n", 1)[0]
    if report.when == "setup" and (sent := item.stash.get(SENT, None)) is not None:
        vars(report)["ir_result"] = encode(sent) if hasattr(item.config, "workerinput") else sent
        del item.stash[SENT]
    if report.when == "setup" and (to_grade := item.stash.get(POOL, None)) is not None:
        worker = hasattr(item.config, "workerinput")
        vars(report)["ir_pool"] = encode(to_grade) if worker else to_grade
        del item.stash[POOL]
    return report
