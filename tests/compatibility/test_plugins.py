"""Plugins that many projects have, one at a time and together.

Each run has the same outcomes, exit status and section as without them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree

import pytest

from tests.compatibility.conftest import Neighborhood

PASSING_SUITE = (
    "queries:\n"
    "  - {query: q1, relevant: [d1], must_find: [d1]}\n"
    "  - {query: q2, relevant: [d2], must_find: [d2]}\n"
    "thresholds: {mrr@10: 0.9}\n"
)
FAILING_SUITE = PASSING_SUITE.replace("must_find: [d2]", "must_find: [d3]")
CONFTEST = "@pytest.fixture\ndef retriever(): return lambda query: ['d' + query[1:]]\n"
ITEMS = {"q1", "q2", "mrr-10"}


@dataclass(frozen=True)
class Plugin:
    """A plugin and how a test uses it.

    Attributes:
        name: The name for ``-p``.
        module: The module that shows whether the plugin is installed.
        options: Options that make it do its work.
        companions: Other plugins that it needs.
        repeats: How often it runs each item.
        files: The files that it must have written.
        output: A text that it must have printed.
        is_alone: Whether it cannot be combined with the others, because it replaces the terminal,
            orders items as another one does, or runs items more than once.
    """

    name: str
    module: str
    options: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    repeats: int = 1
    files: tuple[str, ...] = ()
    output: str = ""
    is_alone: bool = False


PLUGINS = (
    Plugin("xdist", "xdist", ("-n2",)),
    Plugin("rerunfailures", "pytest_rerunfailures", ("--reruns=1",)),
    Plugin("asyncio", "pytest_asyncio", ("-oasyncio_default_fixture_loop_scope=function", "--asyncio-mode=auto")),
    Plugin("anyio", "anyio"),
    Plugin("timeout", "pytest_timeout", ("--timeout=300",)),
    Plugin("pytest_cov", "pytest_cov", ("--cov=conftest", "--cov-report=xml"), files=("coverage.xml",)),
    Plugin("randomly", "pytest_randomly"),
    Plugin("random_order", "random_order", ("--random-order",), is_alone=True),
    Plugin("sugar", "pytest_sugar", ("--force-sugar",), is_alone=True),
    Plugin("rich", "pytest_rich", ("--rich",), is_alone=True),
    Plugin("html", "pytest_html", ("--html=html.html",), companions=("metadata", "html_fixtures"), files=("html.html",)),
    Plugin("pytest_jsonreport", "pytest_jsonreport", ("--json-report",), companions=("metadata",), files=(".report.json",)),
    Plugin("pytest_reportlog", "pytest_reportlog", ("--report-log=log.jsonl",), files=("log.jsonl",)),
    Plugin("repeat", "pytest_repeat", ("--count=2",), repeats=2, is_alone=True),
    Plugin("flakefinder", "pytest_flakefinder", ("--flake-finder", "--flake-runs=2"), repeats=2, is_alone=True),
    Plugin("pytest-split", "pytest_split", ("--splits=1", "--group=1")),
    Plugin("pytest_subtests.plugin", "pytest_subtests", is_alone=True),
    Plugin("pytest_mock", "pytest_mock"),
    Plugin("pytest-bdd", "pytest_bdd"),
    Plugin("django", "pytest_django"),
    Plugin("benchmark", "pytest_benchmark", is_alone=True),
    Plugin("pytest_order", "pytest_order", ("--indulgent-ordering",)),
    Plugin("allure_pytest", "allure_pytest", ("--alluredir=allure",), files=("allure",)),
    Plugin("pytest-teamcity", "teamcity", ("--teamcity",), output="##teamcity[testStarted", is_alone=True),
    Plugin("pytest_github_actions_annotate_failures", "pytest_github_actions_annotate_failures", environment={"GITHUB_ACTIONS": "true"}),
)  # fmt: skip
COMBINABLE_PLUGINS = [plugin for plugin in PLUGINS if not plugin.is_alone]


def run(neighborhood: Neighborhood, plugins: list[Plugin], is_failing: bool) -> pytest.RunResult:
    neighborhood.project.write_suite(FAILING_SUITE if is_failing else PASSING_SUITE)
    neighborhood.project.write_conftest(CONFTEST)
    names: list[str] = []
    options: list[str] = []
    for plugin in plugins:
        names += [*plugin.companions, plugin.name]
        options += plugin.options
        for name, value in plugin.environment.items():
            neighborhood.set_variable(name, value)
    reports = ("--ir-suite", "--ir-json=out.json", "--junitxml=junit.xml")
    return neighborhood.run(*options, *reports, plugins=names)


def check(
    neighborhood: Neighborhood, result: pytest.RunResult, plugins: list[Plugin], is_failing: bool
) -> None:
    """Check everything that a user sees of a run, whatever its terminal looks like."""
    output = result.stdout.str()
    path = neighborhood.project.path
    assert result.ret == int(is_failing), output + result.stderr.str()
    assert "INTERNALERROR" not in output + result.stderr.str()

    repeats = max(plugin.repeats for plugin in plugins)
    (cases,) = ElementTree.parse(path / "junit.xml").iter("testsuite")
    names = [str(case.get("name")).partition("[")[0] for case in cases.iter("testcase")]
    for item in ITEMS:
        # A rerun adds a test case of its own.
        assert names.count(item) >= repeats, (item, names)
    assert int(cases.get("failures", "0")) == is_failing * repeats
    assert int(cases.get("errors", "0")) == 0

    report = json.loads(neighborhood.project.read("out.json"))
    assert report["outcome"] == ("FAILED" if is_failing else "PASSED")
    assert (path / "ir-report.html").stat().st_size > 1000
    assert output.count(" search quality ") == 1, output
    section = output.partition(" search quality ")[2]
    assert ("FAILED shop" in section) == is_failing, output
    assert ("PASSED shop" in section) != is_failing, output

    for plugin in plugins:
        assert plugin.output in output
        for name in plugin.files:
            assert (path / name).exists(), f"{plugin.name} wrote no {name}"


@pytest.mark.slow
@pytest.mark.parametrize("is_failing", [False, True], ids=["passes", "fails"])
@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param(plugin, id=plugin.name, marks=pytest.mark.needs(plugin.module))
        for plugin in PLUGINS
    ],
)
def test_plugin_alone(neighborhood: Neighborhood, plugin: Plugin, is_failing: bool) -> None:
    check(neighborhood, run(neighborhood, [plugin], is_failing), [plugin], is_failing)


@pytest.mark.needs(*(plugin.module for plugin in COMBINABLE_PLUGINS))
@pytest.mark.parametrize("is_failing", [False, True], ids=["passes", "fails"])
def test_plugins_together(neighborhood: Neighborhood, is_failing: bool) -> None:
    result = run(neighborhood, COMBINABLE_PLUGINS, is_failing)

    check(neighborhood, result, COMBINABLE_PLUGINS, is_failing)
