"""Every plugin that many projects have, one at a time and together: the same outcomes, exit status and section."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree

import pytest

from tests.beside.conftest import Beside

PASSES = (
    "queries:\n"
    "  - {query: q1, relevant: [d1], must_find: [d1]}\n"
    "  - {query: q2, relevant: [d2], must_find: [d2]}\n"
    "thresholds: {mrr@10: 0.9}\n"
)
FAILS = PASSES.replace("must_find: [d2]", "must_find: [d3]")
CONFTEST = "@pytest.fixture\ndef retriever(): return lambda query: ['d' + query[1:]]\n"
VERDICTS = {"q1": "passed", "q2": "passed", "mrr-10": "passed"}


@dataclass(frozen=True)
class Plugin:
    """A plugin as ``-p`` names it, the module that shows it is installed, and options that put it to work.

    ``times``: how often it runs each item. ``files``: what it must have written. ``alone``: why it cannot stand
    beside the others.
    """

    name: str
    module: str
    options: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    times: int = 1
    files: tuple[str, ...] = ()
    says: str = ""
    alone: str = ""


PLUGINS = (
    Plugin("xdist", "xdist", ("-n2",)),
    Plugin("rerunfailures", "pytest_rerunfailures", ("--reruns=1",)),
    Plugin("asyncio", "pytest_asyncio", ("-oasyncio_default_fixture_loop_scope=function", "--asyncio-mode=auto")),
    Plugin("anyio", "anyio"),
    Plugin("timeout", "pytest_timeout", ("--timeout=300",)),
    Plugin("pytest_cov", "pytest_cov", ("--cov=conftest", "--cov-report=xml"), files=("coverage.xml",)),
    Plugin("randomly", "pytest_randomly"),
    Plugin("random_order", "random_order", ("--random-order",), alone="orders the items, as randomly does"),
    Plugin("sugar", "pytest_sugar", ("--force-sugar",), alone="is a terminal of its own, as rich is"),
    Plugin("rich", "pytest_rich", ("--rich",), alone="is a terminal of its own, as sugar is"),
    Plugin("html", "pytest_html", ("--html=html.html",), also=("metadata", "html_fixtures"), files=("html.html",)),
    Plugin("pytest_jsonreport", "pytest_jsonreport", ("--json-report",), also=("metadata",), files=(".report.json",)),
    Plugin("pytest_reportlog", "pytest_reportlog", ("--report-log=log.jsonl",), files=("log.jsonl",)),
    Plugin("repeat", "pytest_repeat", ("--count=2",), times=2, alone="runs every item more than once"),
    Plugin("flakefinder", "pytest_flakefinder", ("--flake-finder", "--flake-runs=2"), times=2, alone="runs every item more than once"),
    Plugin("pytest-split", "pytest_split", ("--splits=1", "--group=1")),
    Plugin("pytest_subtests.plugin", "pytest_subtests", alone="is a part of pytest since 9.0"),
    Plugin("pytest_mock", "pytest_mock"),
    Plugin("pytest-bdd", "pytest_bdd"),
    Plugin("django", "pytest_django"),
    Plugin("benchmark", "pytest_benchmark", alone="warns beside xdist"),
    Plugin("pytest_order", "pytest_order", ("--indulgent-ordering",)),
    Plugin("allure_pytest", "allure_pytest", ("--alluredir=allure",), files=("allure",)),
    Plugin("pytest-teamcity", "teamcity", ("--teamcity",), says="##teamcity[testStarted", alone="takes every test's output over"),
    Plugin("pytest_github_actions_annotate_failures", "pytest_github_actions_annotate_failures", environment={"GITHUB_ACTIONS": "true"}),
)  # fmt: skip
TOGETHER = [plugin for plugin in PLUGINS if not plugin.alone]


def run(beside: Beside, plugins: list[Plugin], broken: bool) -> pytest.RunResult:
    beside.project.suite(FAILS if broken else PASSES)
    beside.project.conftest(CONFTEST)
    names = [name for plugin in plugins for name in (*plugin.also, plugin.name)]
    options = [option for plugin in plugins for option in plugin.options]
    for plugin in plugins:
        for name, value in plugin.environment.items():
            beside.set(name, value)
    return beside.run(
        *options, "--ir-suite", "--ir-json=out.json", "--junitxml=junit.xml", plugins=names
    )


def check(beside: Beside, result: pytest.RunResult, plugins: list[Plugin], broken: bool) -> None:
    """All that a user sees of a run, however its terminal looks."""
    said, path = result.stdout.str(), beside.project.path
    assert result.ret == int(broken), said + result.stderr.str()
    # What pytest's own reports say of the items.
    times = max(plugin.times for plugin in plugins)
    (cases,) = ElementTree.parse(path / "junit.xml").iter("testsuite")
    counts = {
        name: int(cases.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")
    }
    assert counts == {"tests": 3 * times, "failures": broken * times, "errors": 0, "skipped": 0}
    # What ours say.
    verdict = {"q2": "failed"} if broken else {}
    assert beside.project.outcomes() == VERDICTS | verdict
    assert len(beside.project.data["suites"]) == 1
    assert (path / "ir-report.html").stat().st_size > 1000
    assert said.count(" search quality ") == 1, said
    section = said.partition(" search quality ")[2]
    assert ("✗ FAILED  shop (shop.ir.yaml): " in section) == broken, said
    assert ("✓ passed  shop (shop.ir.yaml): " in section) != broken, said
    assert "INTERNALERROR" not in said + result.stderr.str()
    # That the plugin was there.
    for plugin in plugins:
        assert plugin.says in said
        for name in plugin.files:
            assert (path / name).exists(), f"{plugin.name} wrote no {name}"


@pytest.mark.slow
@pytest.mark.parametrize("broken", [False, True], ids=["passes", "fails"])
@pytest.mark.parametrize(
    "plugin", [pytest.param(p, id=p.name, marks=pytest.mark.needs(p.module)) for p in PLUGINS]
)
def test_one_plugin_beside_ours(beside: Beside, plugin: Plugin, broken: bool) -> None:
    check(beside, run(beside, [plugin], broken), [plugin], broken)


@pytest.mark.needs(*(plugin.module for plugin in TOGETHER))
@pytest.mark.parametrize("broken", [False, True], ids=["passes", "fails"])
def test_those_that_can_stand_together(beside: Beside, broken: bool) -> None:
    check(beside, run(beside, TOGETHER, broken), TOGETHER, broken)
