"""Scenarios: a change that breaks search hides, deletes or narrows what would object."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.end_to_end.shop import (
    AGAINST_MAIN,
    QUERIES,
    STRICT,
    Shop,
    find,
    list_docs,
    make_suite,
    mark_rest_slow,
)

HELP = ("return an order", "change address", "track a parcel")
UNIT_TEST = "def test_arithmetic():\n    assert 1 + 1 == 2\n"


def start_two_suites(shop: Shop, ini: str = "") -> None:
    """Put a shop and a help suite on main, and break the shop's search on a branch."""
    shop.write_ini(ini)
    shop.write_suite(make_suite(), "tests/shop/shop.ir.yaml")
    shop.write_suite(make_suite(HELP), "tests/help/help.ir.yaml")
    shop.write_rankings(find([*QUERIES, *HELP]))
    shop.start_change()
    shop.write_rankings(find([*QUERIES, *HELP], QUERIES[:10]))


def rename_away(shop: Shop) -> None:
    shop.git("mv", "tests/shop/shop.ir.yaml", "tests/shop/shop.yaml")


HIDING: dict[str, Callable[[Shop], object]] = {
    "suite files": lambda shop: shop.write_ini("ir_suite_files = help.ir.yaml"),
    "path in addopts": lambda shop: shop.write_ini("addopts = tests/help"),
    "ignore in addopts": lambda shop: shop.write_ini("addopts = --ignore=tests/shop"),
    "ignore glob in addopts": lambda shop: shop.write_ini("addopts = --ignore-glob=*shop*"),
    "deselect in addopts": lambda shop: shop.write_ini(
        "addopts = --deselect=tests/shop/shop.ir.yaml"
    ),
    "keyword in addopts": lambda shop: shop.write_ini("addopts = -k parcel"),
    "collect_ignore": lambda shop: shop.write("tests/conftest.py", "collect_ignore = ['shop']\n"),
    "collect_ignore_glob": lambda shop: shop.write(
        "tests/conftest.py", "collect_ignore_glob = ['*shop*']\n"
    ),
    "pytest_ignore_collect": lambda shop: shop.write(
        "tests/conftest.py",
        "def pytest_ignore_collect(collection_path):\n"
        "    return True if 'shop' in str(collection_path.name) else None\n",
    ),
    "pytest_collect_directory": lambda shop: shop.write(
        "tests/conftest.py",
        "import pytest\n"
        "class Empty(pytest.Directory):\n"
        "    def collect(self): return []\n"
        "def pytest_collect_directory(path, parent):\n"
        "    if path.name == 'shop': return Empty.from_parent(parent, path=path)\n",
    ),
    "pytest_collect_file": lambda shop: shop.write(
        "tests/conftest.py",
        "import pytest\n"
        "@pytest.hookimpl(wrapper=True)\n"
        "def pytest_collect_file(file_path):\n"
        "    found = yield\n"
        "    return [] if 'shop' in file_path.name else found\n",
    ),
    "modifyitems": lambda shop: shop.write(
        "tests/conftest.py",
        "def pytest_collection_modifyitems(items):\n"
        "    items[:] = [item for item in items if 'shop' not in item.nodeid]\n",
    ),
    "modifyitems trylast": lambda shop: shop.write(
        "tests/conftest.py",
        "import pytest\n"
        "@pytest.hookimpl(wrapper=True, tryfirst=True)\n"
        "def pytest_collection_modifyitems(items):\n"
        "    yield\n"
        "    items[:] = [item for item in items if 'shop' not in item.nodeid]\n",
    ),
    "skip mark": lambda shop: shop.write(
        "tests/conftest.py",
        "import pytest\n"
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items: item.add_marker(pytest.mark.skip('later'))\n",
    ),
    "xfail mark": lambda shop: shop.write(
        "tests/conftest.py",
        "import pytest\n"
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items: item.add_marker(pytest.mark.xfail(reason='later'))\n",
    ),
    "testpaths": lambda shop: shop.write_ini("testpaths = tests/help"),
    "norecursedirs": lambda shop: shop.write_ini("norecursedirs = shop"),
    "rename": rename_away,
    "deletion": lambda shop: shop.remove("tests/shop/shop.ir.yaml"),
    "confcutdir": lambda shop: shop.write_ini("addopts = --confcutdir=tests/help tests/help"),
}


@pytest.mark.parametrize("way", mark_rest_slow(3, HIDING))
def test_hidden_suite_is_evaluated_for_main(shop: Shop, way: str) -> None:
    """S37, S51: a suite is left out in the change that breaks it."""
    start_two_suites(shop)
    HIDING[way](shop)
    shop.commit()

    build = shop.build(AGAINST_MAIN)
    strict_build = shop.build(AGAINST_MAIN, *STRICT)

    assert build.outcome in ("REVIEW", "FAILED") or way == "confcutdir", build.text
    assert build.outcome != "PASSED"
    assert strict_build.status > 0
    assert "shop" in build.last


def test_deleted_suite_needs_a_review_with_sound_search_too(shop: Shop) -> None:
    """S37: a suite of which no request and no id is left."""
    start_two_suites(shop)
    shop.write_rankings(find([*QUERIES, *HELP]))
    shop.remove("tests/shop/shop.ir.yaml")

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("REVIEW", 0)
    assert "shop" in build.last
    assert "this change removes all queries the suite has on main" in build.text


def test_suite_with_other_queries_needs_a_review(shop: Shop) -> None:
    """S37: every query of a suite gets another text and another id."""
    shop.write_suite(make_suite())
    shop.start_change()
    others = [f"cheap {query}" for query in QUERIES]
    shop.write_suite(make_suite(others))
    shop.write_rankings(find([*QUERIES, *others]))

    assert shop.build(AGAINST_MAIN).verdict == ("REVIEW", 0)


def move_away(shop: Shop) -> None:
    shop.write("old/shop.ir.yaml", shop.read("tests/search/shop.ir.yaml"))
    shop.remove("tests/search/shop.ir.yaml")
    shop.write_ini("testpaths = tests")


ONLY: dict[str, Callable[[Shop], object]] = {
    "deletion": lambda shop: shop.remove("tests/search/shop.ir.yaml"),
    "rename": lambda shop: shop.git("mv", "tests/search/shop.ir.yaml", "tests/search/shop.yaml"),
    "move": move_away,
    "testpaths": lambda shop: shop.write_ini("testpaths = tests/unit"),
    "marker": lambda shop: shop.write_ini("addopts = -m 'not ir_suite'"),
    "suite option": lambda shop: shop.write_ini("ir_suite_files = *.suite.yaml"),
}


@pytest.mark.parametrize("way", mark_rest_slow(1, ONLY))
def test_only_suite_that_is_hidden_needs_a_review(shop: Shop, way: str) -> None:
    """S52: breaks the only suite and hides it, so only unit tests are collected."""
    shop.write_suite(make_suite(), "tests/search/shop.ir.yaml")
    shop.write("tests/unit/test_arithmetic.py", UNIT_TEST)
    shop.start_change()
    shop.break_search()
    ONLY[way](shop)
    shop.commit()

    build = shop.build(AGAINST_MAIN, "--ir-report=page.html", "--ir-markdown=out.md")

    assert build.outcome in ("REVIEW", "FAILED"), build.text
    assert build.verdict == ("REVIEW", 0) or way == "move"
    assert "shop" in build.last
    assert "shop" in shop.read("page.html")
    assert "REVIEW" in shop.read("out.md") or way == "move"
    assert build.result.parseoutcomes()["passed"] >= 1
    assert shop.build(AGAINST_MAIN, *STRICT).status == 1


def test_suite_deleted_with_its_retriever_needs_a_review(shop: Shop) -> None:
    """S53: deletes the only suite together with its retriever."""
    shop.write_suite(make_suite(), "tests/search/shop.ir.yaml")
    shop.write("tests/unit/test_arithmetic.py", UNIT_TEST)
    shop.start_change()
    shop.remove("tests/search/shop.ir.yaml", "conftest.py")
    shop.commit()

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("REVIEW", 0)
    assert "shop" in build.last
    assert "did not run" in build.text


def test_retriever_that_is_skipped_is_not_a_pass(shop: Shop) -> None:
    """S38: the fixture skips, so nothing runs."""
    shop.write_suite(make_suite())
    shop.start_change()
    shop.write_conftest("@pytest.fixture\ndef retriever(): pytest.skip('no index')\n")

    build = shop.build(AGAINST_MAIN)

    assert build.outcome != "PASSED"
    assert build.status == 1
    assert "not run" in build.last


@pytest.mark.parametrize(
    "addopts", ["-k 'red or blue'", "-m 'not ir_suite'", "--deselect=shop.ir.yaml::red-lamp"]
)
def test_selection_in_addopts_makes_a_build_incomplete(shop: Shop, addopts: str) -> None:
    """S38: checks are deselected by 'addopts'."""
    shop.write("tests/test_arithmetic.py", UNIT_TEST)
    shop.write_suite(make_suite())
    shop.record()
    shop.write_ini(f"addopts = {addopts}")

    build = shop.build()

    assert build.outcome in ("INCOMPLETE", "ERROR"), build.text
    assert build.outcome == "INCOMPLETE" or "-m" in addopts
    assert "addopts" in build.text
    assert "not run" in build.last or "red-lamp" in addopts or build.outcome == "ERROR"
    assert shop.build(*STRICT).status in (1, 2)


def test_typed_selection_is_not_held_against_a_build(shop: Shop) -> None:
    """S38: a selection that somebody typed is on purpose."""
    shop.write_suite(make_suite(extra=lambda query: f"must_find: [{list_docs(query)[0]}]"))
    shop.start_change()

    for arguments in (["-k", "red-kettle"], ["shop.ir.yaml::red-kettle"]):
        build = shop.build(AGAINST_MAIN, *arguments)

        assert build.outcome in ("PASSED", "INCOMPLETE"), build.text
        assert build.status == 0
        assert build.coverage["not_run"] == 19
        assert "19 not run" in build.last


def test_skipped_call_makes_a_build_incomplete(shop: Shop) -> None:
    """S38: a call is skipped."""
    code = """
import json
from pathlib import Path

@pytest.fixture
def retriever():
    rankings = json.loads(Path(__file__).with_name("rankings.json").read_text())

    def search(query, k):
        if query == "red lamp" and Path(__file__).with_name("skip").exists():
            pytest.skip("no model")
        return rankings[query][:k]

    return search
"""
    shop.write_conftest(code)
    shop.write_suite(make_suite())
    shop.record()
    shop.write("skip", "")

    build = shop.build()

    assert build.verdict == ("INCOMPLETE", 0)
    assert build.coverage["not_run"] == 1
    assert "red lamp" in build.text
    assert "1 not run" in build.last
    assert shop.build(*STRICT).verdict == ("INCOMPLETE", 1)


def test_saved_run_that_lacks_answers_is_incomplete(shop: Shop) -> None:
    """S38: last night's saved run lacks 11 of 12 answers."""
    queries = QUERIES[:12]
    shop.write_suite(make_suite(queries))
    shop.record()
    shop.build("--ir-save-runs=night")
    (path,) = (shop.path / "night").glob("*.jsonl")
    rows = path.read_text().split("\n\n")
    path.write_text("\n\n".join([*rows[:2], rows[-1]]) if "query" not in rows[-1] else "")

    build = shop.build("--ir-runs=night")

    assert build.verdict == ("INCOMPLETE", 1)
    assert "11 not run" in build.last
    assert "11" in build.data["headline"] + build.data["summary"] or "1 of 12" in build.top


def test_good_run_does_not_hide_a_new_one_in_another_format(shop: Shop) -> None:
    """A folder has last night's answers, and current ones in TREC's format."""
    shop.write_suite(make_suite())
    shop.record()
    shop.build("--ir-save-runs=runs,shard=1/1")
    shop.write("runs/today.run", "q1 Q0 nothing 1 1.0 x\n")

    build = shop.build("--ir-runs=runs")

    assert build.verdict == ("ERROR", 2)
    assert "There are several runs" in build.text
    assert "Correct this file" not in build.text  # The suite is not at fault.


def test_forbidden_document_below_the_results_of_a_saved_run_is_no_pass(shop: Shop) -> None:
    """The suite looks at more results than it did when the run was saved."""
    (query, *_) = QUERIES
    rule = {query: f"must_not_find: [{list_docs(query)[6]}]"}
    shop.write_suite(make_suite(head="top_k: 5\n", extra=rule))
    saving = shop.build("--ir-save-runs=runs")
    shop.write_suite(make_suite(head="top_k: 10\n", extra=rule))

    build = shop.build("--ir-runs=runs")

    assert saving.status == 0
    assert build.verdict == ("ERROR", 2)
    assert "5 results were requested" in build.text


def test_update_in_addopts_is_refused(shop: Shop) -> None:
    """S61: 'addopts = --ir-update-baseline'."""
    shop.write_suite(make_suite())
    shop.record()
    before = shop.read(".ir-baseline/shop.jsonl")
    shop.break_search()
    shop.write_ini("addopts = --ir-update-baseline")

    result = shop.run("--ir-report=none")

    assert result.ret == 4
    assert "addopts" in "".join(result.errlines)
    assert shop.read(".ir-baseline/shop.jsonl") == before


@pytest.mark.parametrize("source", ["git:main", "run:main"])
def test_update_against_a_branch_is_refused(shop: Shop, source: str) -> None:
    """S61: '--ir-update-baseline' together with 'git:' or 'run:'."""
    shop.write_suite(make_suite())
    shop.start_change()
    before = shop.read(".ir-baseline/shop.jsonl")
    shop.break_search()

    result = shop.run("--ir-update-baseline", f"--ir-baseline={source}")

    assert result.ret == 4
    assert shop.read(".ir-baseline/shop.jsonl") == before


def test_saved_run_of_another_commit_is_named_and_no_strict_pass(shop: Shop) -> None:
    """A job keeps a run of main as an artifact, and evaluates it for a change that breaks search."""
    shop.write_suite(make_suite())
    shop.start_change()
    shop.build("--ir-save-runs=kept")
    of_this_commit = shop.build(AGAINST_MAIN, "--ir-runs=kept", *STRICT)
    shop.break_search()
    shop.commit()

    build = shop.build(AGAINST_MAIN, "--ir-runs=kept")
    strict = shop.build(AGAINST_MAIN, "--ir-runs=kept", *STRICT)

    assert of_this_commit.verdict == ("PASSED", 0)
    assert build.verdict == ("PASSED", 0)
    assert "not from the current code" in build.top
    assert strict.verdict == ("INCOMPLETE", 1)


def test_saved_runs_in_addopts_are_incomplete(shop: Shop) -> None:
    """S62: 'addopts = --ir-runs=DIR' with a run of another commit."""
    shop.write_suite(make_suite())
    shop.start_change()
    shop.build("--ir-save-runs=kept")
    commit = shop.git("rev-parse", "--short=7", "HEAD").strip()
    shop.break_search()
    shop.write_ini("addopts = --ir-runs=kept")
    shop.commit()

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("INCOMPLETE", 0)
    assert "current code did not run" in build.top
    assert commit in build.text
    assert shop.build(AGAINST_MAIN, *STRICT).status == 1


@pytest.mark.parametrize(
    "option",
    mark_rest_slow(
        2,
        [
            "--collect-only",
            "--setup-plan",
            "--fixtures",
            "--fixtures-per-test",
            "--help",
            "--markers",
            "--cache-show",
            "--ir-init=queries.txt",
            "--ir-save-runs=kept,shard=1/2",
            "-p no:irquality-conclusion",
        ],
    ),
)
def test_option_that_runs_nothing_is_an_error_in_addopts(shop: Shop, option: str) -> None:
    """S38: 'addopts' leaves nothing to evaluate."""
    shop.write_suite(make_suite())
    shop.start_change()
    shop.break_search()
    shop.write("queries.txt", "lamp\n")
    shop.write_ini(f"addopts = {option}")

    result = shop.run(AGAINST_MAIN)

    assert result.ret == 4
    assert ("switched off" if "irquality" in option else "addopts") in "".join(result.errlines)
