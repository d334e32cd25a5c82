"""The page about speed: what it shows, and which claims a short run refutes."""

from __future__ import annotations

import pytest

from benchmarks.all import combine
from benchmarks.complete_job import make_peer_commands
from benchmarks.speed_page import find_excessive_claims, generate
from benchmarks.timing import Figure, read_results


@pytest.mark.parametrize(
    ("claimed", "measured", "unit", "is_excessive"),
    [
        (1.2, 2.5, "", True),
        (1.2, 2.3, "", False),
        (3.0, 1.0, "", False),
        (5, 25, "ms", False),
        (5, 35, "ms", True),
    ],
)
def test_claim_that_is_better_than_half_of_a_short_run_is_excessive(
    claimed: float, measured: float, unit: str, is_excessive: bool
) -> None:
    figure = Figure("items", "work", "stock tests", measured, unit=unit)
    claim = {**vars(figure), "value": claimed}

    problems = list(find_excessive_claims({"items": claim}, [figure]))

    assert bool(problems) is is_excessive


def test_page_is_short_and_names_its_source() -> None:
    ((_, text),) = generate()

    result = read_results()["items"]
    assert len(text.split()) <= 400
    assert result["commit"] in text
    assert result["date"] in text


def test_figures_of_rounds_are_combined_by_their_median() -> None:
    figures = [Figure("items", "work", "", value, seconds=value) for value in (3.0, 1.0, 2.0)]

    assert (combine(figures).value, combine(figures).seconds) == (2.0, 2.0)


def test_peers_that_are_not_installed_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")

    commands = make_peer_commands()

    assert "trec_eval" not in commands
    assert "trec_eval" in capsys.readouterr().out
