"""What is kept and read back: run files, TREC, shards, baselines, kept runs."""

from pytest_irquality.storage.history import Entry as Entry
from pytest_irquality.storage.jsonl import read_run as read_run
from pytest_irquality.storage.matching import Matching as Matching
from pytest_irquality.storage.matching import Question as Question
from pytest_irquality.storage.provenance import Baseline as Baseline
from pytest_irquality.storage.stored import DamagedRunError as DamagedRunError
from pytest_irquality.storage.stored import Header as Header
from pytest_irquality.storage.stored import StoredQuery as StoredQuery
from pytest_irquality.storage.stored import StoredRun as StoredRun
from pytest_irquality.storage.stored import StoredRunError as StoredRunError
