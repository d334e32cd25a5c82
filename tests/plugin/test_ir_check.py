"""The fixture ``ir_check``: an ordinary test that judges a suite."""

from __future__ import annotations

import json
import re

import pytest

from tests.conftest import Project

SUITE = "queries: [{query: chair, relevant: [d1], must_find: {d1: 1}}]\nthresholds: {mrr@10: 0.9}\n"
TESTS = """
import pytest

@pytest.mark.parametrize("first", ["d1", "d9"])
def test_first(ir_check, first):
    result = ir_check("shop.ir.yaml", lambda query: [first, "d1"])
    assert not result.failed

def test_rankings(ir_check):
    ir_check("shop.ir.yaml", rankings={"chair": ["d1"]})
    ir_check("shop.ir.yaml", retrievers={"bm25": lambda query: ["d1"]})
"""


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE, "sub/shop.ir.yaml")
    (project.path / "sub/test_shop.py").write_text(TESTS)
    return project


@pytest.mark.usefixtures("pages")
def test_it_fails_with_the_text_of_the_suites_items(shop: Project) -> None:
    result = shop.pytester.runpytest("sub/test_shop.py")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "'chair'",
            "*✗ d1 must be in the top 1: it is at rank 2",
            "*at sub/shop.ir.yaml:1",
            "*mrr@10 is 0.500, below its floor 0.900",
            "FAILED sub/test_shop.py::test_first?d9? - Broken: *",
        ]
    )
    result.stdout.no_fnmatch_line("*checking.py*")
    assert not (shop.path / "ir-report.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "xdist"])
@pytest.mark.usefixtures("pages")
def test_it_joins_the_reports_by_its_node_id(shop: Project, workers: tuple[str, ...]) -> None:
    result = shop.run("sub/test_shop.py", *workers)
    assert result.ret == 1
    assert {suite["retriever"]: _failed(suite) for suite in shop.data["suites"]} == {
        "sub/test_shop.py::test_first[d1]": False,
        "sub/test_shop.py::test_first[d9]": True,
        "sub/test_shop.py::test_rankings": False,
        "sub/test_shop.py::test_rankings · bm25 · 2": False,
    }
    assert "side by side" not in result.stdout.str()
    page = (shop.path / "ir-report.html").read_text("utf-8")
    assert re.search(r"pytest --ir-suite [^<]*&#39;sub/test_shop\.py::test_first\[d9\]&#39;", page)


def test_subtests_and_threads_lose_no_result(shop: Project) -> None:
    (shop.path / "sub/test_shop.py").write_text(
        "from threading import Thread\n"
        "import pytest\n"
        "good, bad = lambda query: ['d1'], lambda query: ['d9']\n"
        "@pytest.mark.skipif(not hasattr(pytest, 'Subtests'), reason='pytest 9')\n"
        "def test_parts(request, ir_check):\n"
        "    subtests = request.getfixturevalue('subtests')\n"
        "    for search in (good, bad, good):\n"
        "        with subtests.test():\n"
        "            ir_check('shop.ir.yaml', search)\n"
        "    ir_check('shop.ir.yaml', good)\n"
        "def test_threads(ir_check):\n"
        "    fell = []\n"
        "    def one(search):\n"
        "        try:\n"
        "            ir_check('shop.ir.yaml', search)\n"
        "        except pytest.fail.Exception:\n"
        "            fell.append(search)\n"
        "    threads = [Thread(target=one, args=[search]) for search in (good, bad) * 8]\n"
        "    for thread in threads:\n"
        "        thread.start()\n"
        "    for thread in threads:\n"
        "        thread.join()\n"
        "    assert fell == [bad] * 8\n"
    )
    assert shop.run("sub/test_shop.py").ret == int(hasattr(pytest, "Subtests"))
    failed = {suite["retriever"]: _failed(suite) for suite in shop.data["suites"]}
    of_threads = [fell for name, fell in failed.items() if "test_threads" in name]
    assert sorted(of_threads) == [False] * 8 + [True] * 8
    if hasattr(pytest, "Subtests"):
        name = "sub/test_shop.py::test_parts"
        parts = {name: False, f"{name} · 2": True, f"{name} · 3": False, f"{name} · 4": False}
        assert failed.items() >= parts.items()


def test_it_stands_beside_the_suites_own_items(shop: Project) -> None:
    shop.conftest("@pytest.fixture\ndef retriever():\n    return lambda query: ['d1']\n")
    shop.run().assert_outcomes(passed=4, failed=1)
    assert shop.data["suites"][0]["retriever"] == ""
    assert len(shop.data["suites"]) == 5


def test_it_compares_with_a_baseline_only_where_it_is_given_one(shop: Project) -> None:
    shop.suite("queries: [{query: chair, relevant: [d1]}]\n", "sub/shop.ir.yaml")
    (shop.path / "sub/test_shop.py").write_text(
        "import pytest\n"
        "from pytest_irquality import check\n"
        "def test_kept():\n"
        "    check('sub/shop.ir.yaml', lambda query: ['d1'], update_baseline=True)\n"
        "@pytest.mark.parametrize('baseline', [False, True, 'sub/.ir-baseline/shop.jsonl'])\n"
        "def test_compared(ir_check, baseline):\n"
        "    ir_check('shop.ir.yaml', lambda query: ['d9'], baseline=baseline)\n"
    )
    result = shop.pytester.runpytest("sub/test_shop.py")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*chair*lost all its relevant documents*"])


def test_what_cannot_be_judged_is_a_line_and_no_traceback(shop: Project) -> None:
    (shop.path / "sub/test_shop.py").write_text(
        "def test_suite(ir_check):\n"
        "    ir_check('nope.ir.yaml', lambda query: [])\n"
        "def test_baseline(ir_check):\n"
        "    ir_check('shop.ir.yaml', lambda query: [], baseline='nope')\n"
        "def test_retriever(ir_check):\n"
        "    ir_check('shop.ir.yaml', 5)\n"
    )
    result = shop.pytester.runpytest("sub/test_shop.py")
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "sub/nope.ir.yaml:1:1: no such file",
            "--ir-baseline nope: there is no such file or folder",
            "*(sub/shop.ir.yaml)",
        ]
    )
    result.stdout.no_fnmatch_line("*test_shop.py:[0-9]*: *")


def test_what_is_no_measure_is_a_line(shop: Project) -> None:
    shop.conftest("def pytest_ir_measures():\n    return 5\n")
    result = shop.pytester.runpytest("sub/test_shop.py", "-k", "rankings")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(["pytest_ir_measures must give a list, not 5"])


def test_it_reads_what_the_ini_file_allows(shop: Project) -> None:
    outside = shop.path.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "qrels.trec").write_text("chair 0 d1 1\n")
    shop.suite(f"judgments: {outside / 'qrels.trec'}\n{SUITE}", "sub/shop.ir.yaml")
    run = ("sub/test_shop.py", "-k", "rankings")
    result = shop.pytester.runpytest(*run)
    result.stdout.fnmatch_lines(["*qrels.trec': lies outside the project; the ini key *"])
    shop.pytester.runpytest(*run, "-o", f"ir_files={outside}").assert_outcomes(passed=1)


def test_measures_of_the_project_are_known(shop: Project) -> None:
    shop.suite(SUITE + "metrics: [mine@3]\n", "sub/shop.ir.yaml")
    shop.conftest(
        "from pytest_irquality import own_measure\n"
        "def pytest_ir_measures():\n"
        "    def mine(ranking, grades, k):\n"
        '        """Mine."""\n'
        "        return 1.0\n"
        "    return [own_measure('mine', mine)]\n"
    )
    shop.run("sub/test_shop.py", "-k", "rankings").assert_outcomes(passed=1)
    assert "mine@3" in shop.data["suites"][0]["shown"]


def _failed(suite: dict[str, object]) -> bool:
    return '"outcome": "failed"' in json.dumps(suite["verdicts"])
