"""Runs as they are kept and read back: files of ours and TREC's, shares, baselines."""

from pytest_irquality.storage.history import Entry as Entry, Past as Past
from pytest_irquality.storage.jsonl import read_run as read_run
from pytest_irquality.storage.matching import Matching as Matching, Question as Question
from pytest_irquality.storage.provenance import Again as Again, Baseline as Baseline
from pytest_irquality.storage.stored import (
    DamagedRunError as DamagedRunError,
    Header as Header,
    StoredQuery as StoredQuery,
    StoredRun as StoredRun,
    StoredRunError as StoredRunError,
)
