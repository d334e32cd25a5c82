"""The judge: a suite, a run and perhaps a baseline in, verdicts out.

It opens no file and asks nobody anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pytest_irquality.edges.collector import no_cycles
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.history import Past
from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.suite.by_default import guarded
from pytest_irquality.suite.model import Check, Suite
from pytest_irquality.verdict.accepted import Accepting
from pytest_irquality.verdict.broken_builds import as_read
from pytest_irquality.verdict.comparison import Then, compare
from pytest_irquality.verdict.findings import Loss
from pytest_irquality.verdict.opinions import with_other_judges
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.verdict.summary import summary
from pytest_irquality.verdict.verdicts import Verdicts, on_answers


@no_cycles()
def judge(
    suite: Suite,
    run: Run,
    checks: Iterable[Check] | None = None,
    *,
    before: Run | None = None,
    baseline: Baseline | None = None,
    updating: bool = False,
    accepting: Accepting | None = None,
    past: Past | None = None,
    nowhere: Mapping[str, Loss] | None = None,
    then: Then | None = None,
) -> SuiteResult:
    """Hold a run against every check of its suite, or against the given ones.

    A query that ``run`` neither answers nor has a fault for was not asked: it is in no figure, and
    a check that needs it is ``not evaluated``. Nothing is rounded before it is compared; a value
    within 1e-9 of a limit satisfies it.

    ``before`` is the baseline's run, with those of today's queries that it holds under the same
    text and params, and ``baseline`` what is known of it; with one, the default guard is among the
    suite's checks. While ``updating`` it, drops are shown and do not fail. ``accepting`` is the
    baseline that the change itself commits: what fails against ``before`` alone, and holds where
    the queries that return what was committed are compared with that, is accepted. ``past`` is the
    history, which limits on many changes together are held against. ``nowhere`` are the passages
    that stand whole in no chunk of the corpus (None: that is not known), ``then`` what the base's
    suite says of its queries. Raises ``StoredRunError`` for a
    baseline of which too few builds are alike.
    """
    run, before, accepting, broken = as_read(suite, run, before, accepting, updating)
    if before is not None:
        suite = guarded(suite) if checks is None else suite
        source = before.retriever or "baseline"
        baseline = baseline or Baseline(source, len(before.answered), version=before.version)

    def judged(suite: Suite, checks: Iterable[Check]) -> Verdicts:
        comparison = compare(suite, run, before, baseline)
        return Verdicts(comparison, tuple(checks), updating, accepting, past)

    verdicts = judged(suite, on_answers(suite.checks if checks is None else checks))
    result = summary(verdicts, nowhere, then)
    result = replace(result, facts=(*broken, *result.facts))
    return with_other_judges(suite, result, lambda suite, checks: judged(suite, checks).all)
