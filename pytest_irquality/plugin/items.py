"""Items when they run: one pass a suite and retriever, and verdicts looked up in the call.

The first item's setup makes that pass.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest

from pytest_irquality.edges.codec import encode
from pytest_irquality.edges.printable import terminal
from pytest_irquality.pipeline.judged import NotJudged
from pytest_irquality.plugin.fixtures import said_of
from pytest_irquality.plugin.frames import at, for_the_user, function_at
from pytest_irquality.plugin.internals import (
    Failure,
    first_line_only,
    fixture_of,
    like,
    passed_strictly,
    said_safely,
)
from pytest_irquality.plugin.outcomes import Ended, Judged, Judging, Outcome
from pytest_irquality.report.failure import explain
from pytest_irquality.retrieval.jobs import NO_FAULTS, SKIPS
from pytest_irquality.retrieval.wrappers import UnreadableResult
from pytest_irquality.suite import Check, Place
from pytest_irquality.suite.item_names import slug
from pytest_irquality.verdict import SuiteResult, Verdict
from pytest_irquality.wording.reasons import reason, summary_reason

PACKAGE = str(Path(__file__).parents[1])
MARKS = (pytest.skip.Exception, pytest.xfail.Exception)
"""What a fixture or a call may raise to say what is to become of the test."""
NO_FAULTS.add(pytest.exit.Exception)
SKIPS.update(MARKS)
RESULTS = pytest.StashKey[dict[str, SuiteResult]]()
"""What the items of this process found, by node id, until the reporter takes it."""


class Broken(Failure):
    """A rule or a limit did not hold.

    Nothing else raises it, so an outage can never pass for a known issue. ``short`` says why, for
    where the check's name stands beside it.
    """

    def __init__(self, text: str, short: str | None = None) -> None:
        super().__init__(text, pytrace=False)
        self.short = short


Broken.__module__ = "builtins"  # as pytest's own, so that summaries say "Broken: ..." and no path


class KnownItem(NamedTuple):
    """An item as the process that reports knows it."""

    path: str  # the suite's, as messages name it
    retriever: str
    check: str

    @property
    def key(self) -> tuple[str, str]:
        """The suite and retriever of the result that it belongs to."""
        return self.path, self.retriever


class CheckItem(pytest.Function):
    """A check and a retriever.

    The first item of a retriever has everything asked and judged; the others set up nothing, and
    look their verdicts up. ``found`` is what the item itself has had judged.
    """

    found: Judged | None = None

    def __init__(self, *, judging: Judging, check: Check, retriever: str, **function: Any) -> None:
        super().__init__(**function)
        self.judging = judging
        self.check = check
        self.retriever = retriever

    @classmethod
    def of(
        cls,
        module: pytest.Module,
        judging: Judging,
        check: Check,
        case: pytest.Function,
        retriever: str,
    ) -> CheckItem:
        """The item of a check that has the fixtures and parameters of a case."""
        end = case.name.removeprefix(case.originalname)
        made: CheckItem = cls.from_parent(
            module, name=check.name + end, originalname=check.name, judging=judging, check=check,
            retriever=retriever, **like(case),
        )  # fmt: skip
        return made

    @property
    def known(self) -> KnownItem:
        """The names by which others know it."""
        return KnownItem(self.judging.suite.path, self.retriever, self.check.name)

    @property
    def function(self) -> Callable[..., object]:
        """The function that pytest made its items of, at the check's place.

        It has what plugins note on that.
        """
        place = self.check.place
        function = function_at(self.judging.file_of(place), place.line, self.check.name)
        vars(function).update(vars(self.obj))
        return function

    def reportinfo(self) -> tuple[Path, int, str]:
        """Give the place of the check in the suite.

        pytest turns the dots of a name into ``::`` where a node id ends with it, as if they were
        those of a class, and a pasted id would not be found. A space at its end, which nobody sees,
        keeps it from that.
        """
        place = self.check.place
        name = f"{self.name} " if "." in self.name else self.name
        return self.judging.file_of(place), place.line - 1, name

    def listextrakeywords(self) -> set[str]:
        """Give the words of ``-k`` besides the name: tags and the query's text."""
        query, label = self.check.query, self.check.label
        words = (*query.tags, query.text, slug(query.text)) if query else (label, slug(label))
        return super().listextrakeywords().union(words)

    def setup(self) -> None:
        """Have the retriever asked, if that was not done.

        Then what is no verdict on its answers raises.
        """
        __tracebackhide__ = True
        outcome = self.judging.outcomes.get(self.retriever)
        if self._must_ask(outcome):
            outcome = self._ask(outcome)
        if isinstance(outcome, Judged):
            verdict = outcome.verdicts.get(self.check.name)
            if verdict is None:
                self._raise_skip(outcome)
            if verdict.outcome in ("error", "not evaluated"):
                self._raise_fault(verdict, outcome)
        elif outcome is not None:
            if outcome.error is Failure:
                self._fail(outcome.reason)
            self._raise(outcome.error(outcome.reason))

    def runtest(self) -> None:
        """Raise where the check does not hold."""
        __tracebackhide__ = True
        judged = self.judging.outcomes[self.retriever]
        assert isinstance(judged, Judged)
        error = self._broken(judged.result, judged.verdicts[self.check.name])
        if error is not None:
            self._raise(error)

    # -- before the call ---------------------------------------------------------------------------

    @property
    def _attempt(self) -> int:
        """The number of this run of the item, as pytest-rerunfailures counts them."""
        return getattr(self, "execution_count", 1)

    def _must_ask(self, outcome: Outcome | None) -> bool:
        """Tell whether the retriever is needed: at first, and once a rerun for what had no answer.

        Verdicts on answers stand.
        """
        if outcome is None:
            return True
        if self._attempt <= outcome.attempt:
            return False
        if isinstance(outcome, Ended):
            return outcome.error is Failure
        verdict = outcome.verdicts.get(self.check.name)
        return verdict is not None and verdict.outcome == "error"

    def _ask(self, earlier: Outcome | None) -> Outcome | None:
        """Give the outcome of the retriever; None where fixtures are only shown.

        Errors are shown in full here, and in a line by its other items.
        """
        __tracebackhide__ = True
        try:
            if not self.judging.plan.kept:
                super().setup()
            if self.config.getoption("setupplan", False):
                return None
            outcome = self._judged(earlier if isinstance(earlier, Judged) else None)
        except (*MARKS, pytest.exit.Exception, KeyboardInterrupt):
            raise  # they mean for this item what they mean for any
        except BaseException as error:
            why = f"not evaluated{_briefly(error)} (shown at {self.name})"
            self.judging.outcomes[self.retriever] = Ended(Failure, why, self._attempt)
            if told := said_of(self.judging.suite, error):
                self._fail(told)
            raise
        self.judging.outcomes[self.retriever] = outcome
        return outcome

    def _judged(self, earlier: Judged | None) -> Outcome:
        __tracebackhide__ = True
        judging = self.judging
        try:
            self.found = judging.judged(
                self.retriever, self.funcargs.get(judging.suite.retriever), self._selected(),
                variant=self._variant(), fixture=fixture_of(self, judging.suite.retriever),
                attempt=self._attempt, earlier=earlier,
            )  # fmt: skip
        except MARKS as mark:  # of every call
            return Ended(type(mark), str(mark), self._attempt)
        except NotJudged as error:
            told = str(error)
        else:
            return self.found
        self._fail(told)

    def _selected(self) -> list[Check]:
        """The checks of the items that this session runs of the same suite and retriever."""
        selected = {
            item.check.name
            for item in self.session.items
            if isinstance(item, CheckItem)
            and item.judging is self.judging
            and item.retriever == self.retriever
        }
        return [check for check in self.judging.suite.checks if check.name in selected]

    def _variant(self) -> str:
        """``[bm25-1-2]`` of a node id, where that is more than the retriever's name."""
        written = self.name.removeprefix(self.check.name)
        return "" if written == (f"[{self.retriever}]" if self.retriever else "") else written

    # -- how it ends -------------------------------------------------------------------------------

    def _broken(self, result: SuiteResult, verdict: Verdict) -> BaseException | None:
        """Give the exception that a verdict raises; None where the check holds.

        Under ``--runxfail`` what is broken fails, though it is known; what is fixed must then pass.
        """
        runxfail = self.config.getoption("runxfail", False)
        if verdict.outcome == "passed" or (verdict.outcome == "fixed" and runxfail):
            return None
        whose = "suite" if verdict.over.exam else "baseline"
        accepted = f"accepted by this change's own {whose}"
        excuses = {"known": verdict.known_issue, "accepted": accepted}
        if verdict.outcome in excuses and not runxfail:
            said = f"{excuses[verdict.outcome]}: {reason(result, verdict)}"
            return pytest.xfail.Exception(terminal(said), pytrace=False)
        return Broken(explain(result, verdict), terminal(summary_reason(result, verdict)))

    def _raise(self, error: BaseException, place: Place | None = None) -> NoReturn:
        """Raise as if from the line of the check, or from another place of the suite."""
        __tracebackhide__ = True
        place = place or self.check.place
        at(self.judging.file_of(place), place.line, self.check.name)(error)

    def _fail(self, text: str, place: Place | None = None) -> NoReturn:
        """Fail in words."""
        __tracebackhide__ = True
        lines = "\n".join(map(terminal, text.split("\n")))
        self._raise(Failure(lines, pytrace=False), place)

    def _raise_skip(self, judged: Judged) -> NoReturn:
        """Skip, as the calls of all its queries said."""
        __tracebackhide__ = True
        needed = self.judging.suite.needed(self.check)
        faults = (judged.run.unanswered.get(query.id) for query in needed)
        fault = next(fault for fault in faults if fault and fault.skipped)
        kind = type(fault.error) if fault.error else pytest.skip.Exception
        self._raise(kind(fault.message))

    def _raise_fault(self, verdict: Verdict, judged: Judged) -> NoReturn:
        """The cause of an unanswered query: in full the first time, in one line after that."""
        __tracebackhide__ = True
        result, query = judged.result, _unanswered(verdict, judged)
        fault = judged.run.unanswered.get(query) if query is not None else None
        if query is None or fault is None:
            self._fail(f"{reason(result, verdict)}\n  at {result.place(verdict)}")
        asked = result.query(query)
        where, cause, said = result.place(asked), fault.cause, f"{asked.text!r}: {fault.message}"
        place = Place(asked.line, 1, asked.file)
        if cause in judged.shown_at:
            self._fail(f"{said} (shown at {judged.shown_at[cause]})\n  at {where}", place)
        judged.shown_at[cause] = self.name
        alike = sum(other.cause == cause for other in judged.run.unanswered.values())
        more = f"; {alike} queries failed so" if alike > 1 else ""
        # What is no Exception, as sys.exit raises it, would leave pytest's setup in pieces.
        if not isinstance(fault.error, Exception) or isinstance(fault.error, UnreadableResult):
            self._fail(f"{said}\n  at {where}{more}", place)
        self.add_report_section("setup", "query", terminal(f"{asked.text!r} at {where}{more}"))
        raise for_the_user(fault.error, PACKAGE)


def _unanswered(verdict: Verdict, judged: Judged) -> str | None:
    """Give the query whose fault an item shows, if any."""
    if verdict.over.answers:
        # No bulk query has an item of its own, so their cause is shown here.
        return next(iter(verdict.unanswered), None)
    if verdict.query is None:  # of candidates alone no query's item tells
        return next((id for id in verdict.unanswered if id not in judged.run.faults), None)
    return verdict.query


def _briefly(error: BaseException) -> str:
    """Give the cause in the few words that bear repeating for every item."""
    if isinstance(error, Failure):
        return ""
    if isinstance(error, pytest.FixtureLookupError):
        return f": no fixture {error.argname!r}"
    return terminal(f": {type(error).__name__}: {error}".split("\n", 1)[0])


# -- what is said of it ----------------------------------------------------------------------------


def _short(raised: pytest.ExceptionInfo[BaseException] | None) -> str | None:
    """Give the short summary's words on an error of ours, beside the check's name."""
    error = raised and raised.value
    if isinstance(error, Broken) and error.short:
        return error.short
    return str(error).split("\n", 1)[0] if isinstance(error, Failure) else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send home, on the setup report, whose item this was, and the result if it had that judged.

    Through xdist a result travels as JSON; where the reporter is in this process it is left for it,
    so that the report itself holds plain values only.
    """
    report = yield
    if not isinstance(item, CheckItem):
        return report
    if not report.passed:
        said_safely(report, terminal)
        first_line_only(report, _short(call.excinfo))
        vars(report)["ir_passed"] = passed_strictly(item, call)
    if report.when != "setup":
        return report
    judging, told = item.judging, vars(report)
    far = hasattr(item.config, "workerinput")
    if far:
        told["ir_item"] = [*item.known]
    if report.failed:
        told["ir_not_judged"] = not isinstance(judging.outcomes.get(item.retriever), Judged)
    if (sent := item.found) is not None:
        told["ir_result"] = encode(sent.result) if far else ""
        if sent.to_grade is not None:
            told["ir_pool"] = encode(sent.to_grade)
        if not far:
            item.config.stash.setdefault(RESULTS, {})[report.nodeid] = sent.result
        item.found = None
    return report
