"""Items when they run: one pass a suite and retriever in the setup of the first, and verdicts
looked up in the call.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import NoReturn

import pytest

from pytest_irquality.edges.printable import terminal
from pytest_irquality.plugin.collect import FILES, RESULTS, SuiteModule, variant
from pytest_irquality.plugin.fixtures import said_of
from pytest_irquality.plugin.internals import (
    Failure,
    at,
    first_line_only,
    for_the_user,
    only_fixture,
    said_safely,
)
from pytest_irquality.plugin.judging import OUTCOMES, Ended, Judged, NotJudged, Outcome, judged
from pytest_irquality.report.data import encode
from pytest_irquality.report.failure import explain, summary_reason
from pytest_irquality.retrieval import UnreadableResult
from pytest_irquality.retrieval.jobs import NO_FAULTS
from pytest_irquality.suite import Place
from pytest_irquality.verdict import SuiteResult, Verdict
from pytest_irquality.wording.reasons import reason

PACKAGE = str(Path(__file__).parents[1])
MARKS = (pytest.skip.Exception, pytest.xfail.Exception)
"""What a fixture or a call may raise to say what is to become of the test."""
NO_FAULTS.update((*MARKS, pytest.exit.Exception))
SENT = pytest.StashKey[Judged]()


class Broken(Failure):
    """A rule or a limit did not hold. Nothing else raises it, so an outage can never pass for a
    known issue.

    ``short`` says why, for where the check's name stands beside it.
    """

    def __init__(self, text: str, short: str | None = None) -> None:
        super().__init__(text, pytrace=False)
        self.short = short


Broken.__module__ = "builtins"  # as pytest's own, so that summaries say "Broken: ..." and no path


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Once a suite and retriever was retrieved its items only look up: they set up nothing else."""
    __tracebackhide__ = True
    if not isinstance(item.parent, SuiteModule) or not isinstance(item, pytest.Function):
        return (yield)
    outcomes = item.parent.stash.setdefault(OUTCOMES, {})
    key = variant(item)
    asks = _must_ask(item, outcomes.get(key))
    needs_retriever = asks and not item.config.stash[FILES].kept
    with only_fixture(item, None if needs_retriever else "_ir_run"):
        try:
            return (yield)
        except (*MARKS, pytest.exit.Exception, KeyboardInterrupt):
            raise  # they mean for this item what they mean for any
        except BaseException as error:
            if asks and not isinstance(outcomes.get(key), Judged):
                why = f"not evaluated{_briefly(error)} (shown at {item.name})"
                outcomes[key] = Ended(Failure, why, _attempt(item))
            if told := said_of(item.parent.suite, error):
                _fail(item, told)
            raise


@pytest.fixture
def _ir_run(request: pytest.FixtureRequest) -> Callable[[], None]:
    """What the item calls: nothing where its check holds, else what raises."""
    __tracebackhide__ = True
    item = request.node
    outcome = _outcome(request, item)
    if isinstance(outcome, Ended):
        if outcome.error is Failure:
            _fail(item, outcome.reason)
        raise outcome.error(outcome.reason)
    verdict = outcome.verdicts[item.originalname]
    if verdict.outcome in ("error", "not evaluated"):
        _raise_fault(item, verdict, outcome)
    # Under --runxfail pytest.xfail does nothing, so what is broken fails; what is fixed must then
    # pass.
    runxfail = request.config.getoption("runxfail", False)
    if verdict.outcome == "passed" or (verdict.outcome == "fixed" and runxfail):
        return _hold
    return _breaks(outcome.result, verdict)


def _outcome(request: pytest.FixtureRequest, item: pytest.Function) -> Outcome:
    """What became of the item's suite and retriever, which is asked now if it was not yet."""
    __tracebackhide__ = True
    assert isinstance(item.parent, SuiteModule)
    outcomes, key = item.parent.stash[OUTCOMES], variant(item)
    known = outcomes.get(key)
    if known is not None and not _must_ask(item, known):
        return known
    kept = item.config.stash[FILES].kept
    retriever = None if kept else request.getfixturevalue(item.parent.suite.retriever)
    earlier = known if isinstance(known, Judged) else None
    try:
        outcomes[key] = new = judged(item, retriever, earlier, _attempt(item))
    except MARKS as mark:
        outcomes[key] = Ended(type(mark), str(mark), _attempt(item))
        raise
    except NotJudged as error:
        _fail(item, str(error))
    item.stash[SENT] = new
    return new


def _attempt(item: pytest.Item) -> int:
    """Which run of the item this is, as pytest-rerunfailures counts them."""
    return getattr(item, "execution_count", 1)


def _must_ask(item: pytest.Function, outcome: Outcome | None) -> bool:
    """Whether the retriever is needed: at first, and once a rerun for what had no answer. Verdicts
    on answers stand.
    """
    if outcome is None:
        return True
    if _attempt(item) <= outcome.attempt:
        return False
    if isinstance(outcome, Ended):
        return outcome.error is Failure
    return outcome.verdicts[item.originalname].outcome == "error"


def _briefly(error: BaseException) -> str:
    """Why, in the few words that bear repeating for every item."""
    if isinstance(error, Failure):
        return ""
    if isinstance(error, pytest.FixtureLookupError):
        return f": no fixture {error.argname!r}"
    return terminal(f": {type(error).__name__}: {error}".split("\n", 1)[0])


# -- how an item ends ------------------------------------------------------------------------------


def _hold() -> None:
    """The check holds."""


def _breaks(result: SuiteResult, verdict: Verdict) -> Callable[[], None]:
    def conclude() -> NoReturn:
        __tracebackhide__ = True
        if verdict.outcome == "known":
            pytest.xfail(terminal(f"{verdict.known_issue}: {reason(result, verdict)}"))
        if verdict.outcome == "accepted":
            said = f"accepted by this change's own baseline: {reason(result, verdict)}"
            pytest.xfail(terminal(said))
        raise Broken(explain(result, verdict), terminal(summary_reason(result, verdict)))

    return conclude


def _fail(item: pytest.Item, text: str, place: Place | None = None) -> NoReturn:
    """Fail in words, as if from the line of the item's check, or from another place of the
    suite.
    """
    __tracebackhide__ = True
    module = item.parent
    assert isinstance(module, SuiteModule)
    name = getattr(item, "originalname", item.name)
    place = place or module.checks[name].place
    lines = "\n".join(map(terminal, text.split("\n")))
    at(module.file_of(place), place.line, name)(Failure(lines, pytrace=False))


def _raise_fault(item: pytest.Function, verdict: Verdict, judged: Judged) -> NoReturn:
    """The cause of an unanswered query: in full the first time, in one line after that."""
    __tracebackhide__ = True
    result = judged.result
    query = verdict.query
    if verdict.scope == "bulk":  # no bulk query has an item of its own, so their cause is told here
        bulk = (query.id for query in result.queries if query.fault and not query.check)
        query = next(bulk, None)
    elif query is None:  # of candidates alone no query's item tells
        alone = (id for id in verdict.unanswered if id not in judged.run.faults)
        query = next(alone, None)
    fault = judged.run.unanswered.get(query) if query is not None else None
    if query is None or fault is None:
        _fail(item, f"{reason(result, verdict)}\n  at {result.place(verdict)}")
    asked = result.query(query)
    where, cause, said = result.place(asked), fault.cause, f"{asked.text!r}: {fault.message}"
    place = Place(asked.line, 1, asked.file)
    if cause in judged.told:
        _fail(item, f"{said} (shown at {judged.told[cause]})\n  at {where}", place)
    judged.told[cause] = item.name
    alike = sum(other.cause == cause for other in judged.run.unanswered.values())
    more = f"; {alike} queries failed so" if alike > 1 else ""
    # What is no Exception, as sys.exit raises it, would leave pytest's setup in pieces.
    if not isinstance(fault.error, Exception) or isinstance(fault.error, UnreadableResult):
        _fail(item, f"{said}\n  at {where}{more}", place)
    item.add_report_section("setup", "query", terminal(f"{asked.text!r} at {where}{more}"))
    raise for_the_user(fault.error, PACKAGE)


def _short(error: BaseException | None) -> str | None:
    """What the short summary says of an error of ours, where the check's name stands beside it."""
    if isinstance(error, Broken) and error.short:
        return error.short
    return str(error).split("\n", 1)[0] if isinstance(error, Failure) else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send home whose item this was, and the result on the setup report of the item that retrieved.

    Through xdist a result travels as JSON; where the reporter is in this process it is left for it,
    so that the report itself holds plain values only.
    """
    report = yield
    if not isinstance(item.parent, SuiteModule) or not isinstance(item, pytest.Function):
        return report
    if not report.passed:
        said_safely(report, terminal)
        first_line_only(report, _short(call.excinfo.value if call.excinfo else None))
    vars(report)["ir_item"] = [item.parent.suite.path, variant(item), item.originalname]
    if report.when == "setup" and report.failed:
        outcome = item.parent.stash[OUTCOMES].get(variant(item))
        vars(report)["ir_not_judged"] = not isinstance(outcome, Judged)
    if report.when == "setup" and (sent := item.stash.get(SENT, None)) is not None:
        far = hasattr(item.config, "workerinput")
        vars(report)["ir_result"] = encode(sent.result) if far else ""
        if sent.to_grade is not None:
            vars(report)["ir_pool"] = encode(sent.to_grade)
        if not far:
            item.config.stash.setdefault(RESULTS, {})[report.nodeid] = sent.result
        del item.stash[SENT]
    return report
