"""From a suite and a run to verdicts: what held, what broke, and why."""

from pytest_irquality.verdict.accepted import Accepting as Accepting
from pytest_irquality.verdict.audit_facts import (
    Audit as Audit,
    Dead as Dead,
    LowFloor as LowFloor,
    Rate as Rate,
    Watch as Watch,
)
from pytest_irquality.verdict.comparison import Then as Then
from pytest_irquality.verdict.differences import Difference as Difference
from pytest_irquality.verdict.facts import Fact as Fact
from pytest_irquality.verdict.findings import (
    Cause as Cause,
    Change as Change,
    FateCount as FateCount,
    Fated as Fated,
    Fates as Fates,
    Finding as Finding,
    Holder as Holder,
    Lack as Lack,
    Loss as Loss,
    Noise as Noise,
    RankedDocument as RankedDocument,
    Robustness as Robustness,
    VariantLoss as VariantLoss,
    Why as Why,
    WorstVariant as WorstVariant,
)
from pytest_irquality.verdict.judge import judge as judge
from pytest_irquality.verdict.ledger import Ledger as Ledger
from pytest_irquality.verdict.result import (
    Chunk as Chunk,
    Compared as Compared,
    Exam as Exam,
    Mark as Mark,
    Mean as Mean,
    QueryResult as QueryResult,
    Share as Share,
    ShownDocument as ShownDocument,
    SuiteResult as SuiteResult,
    Verdict as Verdict,
)
