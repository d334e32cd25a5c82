"""What makes a retriever one of several, what its items are called, and where they say they are."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import QUIET, Project

SUITE = "queries:\n  - {query: node.js tutorial, relevant: [d1], must_find: [d1]}\nthresholds: {mrr: 0.5}\n"
CONFTEST = (
    "@pytest.fixture(params=['x', 'y'])\ndef index(request): return request.param\n"
    "@pytest.fixture(params=[1, 2], autouse=True)\ndef unrelated(request): return request.param\n"
    "@pytest.fixture\ndef retriever(index): return lambda query: ['d1']\n"
    "def pytest_generate_tests(metafunc):\n    metafunc.fixturenames.append('again')\n"
    "    metafunc.parametrize('again', range(2), indirect=False)\n"
    "@pytest.fixture\ndef again(request): return request.param\n"
)


def test_only_what_the_retriever_is_made_of_makes_another(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(CONFTEST)
    result = project.run("--ir-update-baseline")
    result.assert_outcomes(passed=16)
    assert sorted(suite["retriever"] for suite in project.data["suites"]) == ["x", "y"]
    kept = sorted(path.name for path in (project.path / ".ir-baseline").iterdir())
    assert kept == ["shop.x.jsonl", "shop.y.jsonl"]
    result = project.run()
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*there is no baseline*")


def test_an_override_that_builds_on_what_it_overrides(project: Project) -> None:
    project.suite(SUITE, "deep/shop.ir.yaml")
    project.conftest("@pytest.fixture(params=['a', 'b'])\ndef retriever(request): return lambda query: [request.param]\n")  # fmt: skip
    project.conftest("@pytest.fixture\ndef retriever(retriever): return lambda query: ['d1']\n", "deep")  # fmt: skip
    project.run()
    assert sorted(suite["retriever"] for suite in project.data["suites"]) == ["a", "b"]


def test_node_ids_that_v_prints_can_be_pasted(project: Project) -> None:
    project.suite(SUITE)
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n")
    result = project.run("-v")
    ids = [line.split(" ")[0] for line in result.outlines if " PASSED" in line]
    assert ids == ["shop.ir.yaml::node.js-tutorial", "shop.ir.yaml::mrr-10"]
    assert project.run(ids[0]).ret == 0


def test_broken_checks_say_the_line_of_the_suite_and_calls_that_raised_the_users_own(
    project: Project,
) -> None:
    project.suite(
        "queries:\n  - query: a\n    must_find: [d9]\n  - query: b\n    must_find: [d1]\nthresholds:\n  p@1: 0.9\n"
    )
    project.conftest(
        "@pytest.fixture\ndef retriever():\n    def ask(query):\n        if query == 'b':\n            raise ValueError('x')\n"
        "        return ['d1']\n    return ask\n"
        "@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_makereport(item, call):\n    report = yield\n"
        "    crash = getattr(report.longrepr, 'reprcrash', None)\n"
        "    if crash: print('CRASH', item.name, crash.path.rpartition('/')[2], crash.lineno)\n"
        "    import json; json.dumps(report._to_json())\n    return report\n"
    )
    result = project.run("-s")
    crashes = [line.partition("CRASH ")[2] for line in result.outlines if "CRASH" in line]
    assert crashes == ["a shop.ir.yaml 2", "b conftest.py 6", "precision-1 shop.ir.yaml 7"]


@pytest.mark.slow
def test_pdb_lands_in_the_suite_or_in_the_users_call(project: Project) -> None:
    project.suite("queries:\n  - query: a\n    must_find: [d9]\n")
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n")
    command = [sys.executable, "-m", "pytest", "--ir-suite", "--pdb", *QUIET]
    done = subprocess.run(
        command, cwd=project.path, input="where\nq\n", capture_output=True, text=True, check=False
    )
    (place,) = [line for line in done.stdout.splitlines() if line.startswith("> ")][:1]
    assert "shop.ir.yaml(2)a()" in place


def test_reports_hold_plain_values_only(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(
        "import json\n@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n"
        "def pytest_runtest_logreport(report):\n    json.dumps(report._to_json())\n"
    )
    assert project.run().ret == 0
    assert json.dumps(project.data)


@pytest.mark.parametrize(
    "args", [(), pytest.param(("-p", "xdist", "-n1"), marks=pytest.mark.slow)], ids=str
)
def test_a_suite_outside_the_project_is_named_from_where_we_stand(
    project: Project, args: tuple[str, ...]
) -> None:
    inside = project.path / "inside"
    inside.mkdir()
    project.suite(SUITE, "ext/ok.ir.yaml")
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n", "ext")
    project.pytester.chdir()
    import os

    os.chdir(inside)
    result = project.pytester.runpytest(
        "--rootdir=.", "--ir-suite", "../ext", "--ir-json=../out.json", "--ir-save-runs=kept", *QUIET, *args
    )  # fmt: skip
    assert result.ret == 0
    assert "NOT EVALUATED" not in result.stdout.str()
    assert project.data["suites"][0]["path"] == "../ext/ok.ir.yaml"
    (kept,) = (inside / "kept").rglob("*.jsonl")
    assert str(project.path) not in kept.read_text(encoding="utf-8")
