"""The table of SECURITY.md: each row names tests that are there."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

TEXT = (ROOT / "SECURITY.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith("| do this")
]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_each_capability_names_a_test_of_its_own() -> None:
    assert len(ROWS) >= 14
    for row in ROWS:
        cannot, because, tests = row
        assert cannot
        assert because
        assert NAMED.sub("", tests).strip(" ,") == "", f"{cannot}: no test by its name"
        assert NAMED.search(tests), f"{cannot} has no test"


def test_the_tests_that_are_named_are_there_once() -> None:
    named = NAMED.findall(TEXT)
    assert len(named) == len(set(named))
    for path, test in named:
        assert f"def {test}(" in (ROOT / path).read_text("utf-8"), f"{path}::{test}"


def test_what_else_is_named_is_there() -> None:
    for path in re.findall(
        r"`((?:tests|benchmarks|pytest_irquality|\.ci|\.github)/[\w./-]+)(?=[`:])", TEXT
    ):
        assert (ROOT / path).exists(), path
