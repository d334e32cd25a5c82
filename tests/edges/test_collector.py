"""The collector of cycles is paused for some work, and afterwards as it was before."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from pytest_irquality.edges.collector import no_cycles


@pytest.fixture(params=[True, False], ids=["running", "stopped"])
def running(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Whether somebody else has let the collector run."""
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_the_collector_runs_afterwards_as_before(running: bool) -> None:
    with no_cycles():
        assert not gc.isenabled()
        with no_cycles():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() is running


def test_work_that_fails_leaves_it_as_it_was(running: bool) -> None:
    @no_cycles()
    def work() -> None:
        raise ValueError("bad")

    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            work()
        assert gc.isenabled() is running
