"""From a suite and a run to verdicts: what held, what broke, and why."""

from pytest_irquality.verdict.accepted import Accepting as Accepting
from pytest_irquality.verdict.audit_facts import (
    Agreement as Agreement,
    Audit as Audit,
    Dead as Dead,
    Disputed as Disputed,
    NeverMet as NeverMet,
    Opinions as Opinions,
    Resolution as Resolution,
    Skipped as Skipped,
    WeakLimit as WeakLimit,
)
from pytest_irquality.verdict.facts import Fact as Fact
from pytest_irquality.verdict.findings import (
    Candidate as Candidate,
    Cause as Cause,
    Change as Change,
    Finding as Finding,
    Holder as Holder,
    Lack as Lack,
    Loss as Loss,
    Noise as Noise,
    Point as Point,
    RankedDocument as RankedDocument,
    Robustness as Robustness,
    Spread as Spread,
    Stages as Stages,
    Trail as Trail,
    VariantLoss as VariantLoss,
    Wavering as Wavering,
    Why as Why,
    WorstVariant as WorstVariant,
)
from pytest_irquality.verdict.judge import judge as judge
from pytest_irquality.verdict.result import (
    Chunk as Chunk,
    Mark as Mark,
    Mean as Mean,
    QueryResult as QueryResult,
    ShownDocument as ShownDocument,
    SuiteResult as SuiteResult,
    Verdict as Verdict,
)
from pytest_irquality.verdict.trend import Past as Past
