"""A change cannot hide a suite by where it is, nor by how the job or a link names it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.end_to_end.shop import (
    AGAINST_MAIN,
    QUERIES,
    STRICT,
    Shop,
    list_docs,
    lose,
    make_suite,
    mark_rest_slow,
)
from tests.project import CONFTEST

UNIT_TEST = "def test_arithmetic():\n    assert 1 + 1 == 2\n"
MINIMUM = "thresholds: {ndcg@10: 0.9}\n"


@dataclass(frozen=True)
class Place:
    """Where a suite is, and how the job names it.

    Attributes:
        path: The suite, whose folder has a conftest.
        arguments: The arguments of the job. ``{path}`` is the absolute path of the project.
        links: Links to folders, by their path.
    """

    path: str = "tests/search/shop.ir.yaml"
    arguments: tuple[str, ...] = ()
    ini: str = ""
    links: tuple[tuple[str, str], ...] = ()


PLACES = {
    "absolute path": Place(arguments=("{path}/tests",)),
    "file with a name of its own": Place("tests/shop.yaml", ("tests/shop.yaml",)),
    "module": Place("specs/search/s.ir.yaml", ("--pyargs", "specs.search"), "pythonpath = ."),
    "link to the test paths": Place(
        "v1/shop.ir.yaml", ini="testpaths = tests", links=(("tests", "v1"),)
    ),
    "link on the command line": Place("v1/shop.ir.yaml", ("tests",), links=(("tests", "v1"),)),
    "link to an inner folder": Place(
        "v1/shop.ir.yaml", ini="testpaths = tests", links=(("tests/search", "../v1"),)
    ),
    "outside the rootdir": Place(arguments=("-c", "ci/pytest.ini", "tests")),
    "pattern with a folder": Place(ini="ir_suite_files = search/*.ir.yaml"),
}


def start(shop: Shop, place: Place) -> list[str]:
    """Put a suite on main, start a branch, and return the arguments of the job."""
    shop.write_ini(place.ini)
    shop.write_ini("", "ci/pytest.ini")
    folder = place.path.rpartition("/")[0]
    shop.write_suite(make_suite(head=MINIMUM), place.path)
    shop.remove("conftest.py")
    rankings = json.dumps(str(shop.path / "rankings.json"))
    code = CONFTEST.format(arguments='(scope="session")')
    shop.write(
        f"{folder}/conftest.py",
        code.replace('Path(__file__).with_name("rankings.json")', f"Path({rankings})"),
    )
    shop.write("tests/unit/test_arithmetic.py", UNIT_TEST)
    if "--pyargs" in place.arguments:
        shop.write("specs/__init__.py", "")
        shop.write("specs/search/__init__.py", "")
    for link, target in place.links:
        path = shop.path / link
        if link == "tests":
            (shop.path / "tests").rename(shop.path / "others")
        path.symlink_to(target)
    arguments = [each.format(path=shop.path) for each in place.arguments]
    shop.start_change(*arguments)
    return arguments


@pytest.mark.parametrize("name", mark_rest_slow(3, PLACES))
def test_suite_of_main_is_found_wherever_it_is(shop: Shop, name: str) -> None:
    place = PLACES[name]
    arguments = start(shop, place)
    sound = shop.build(AGAINST_MAIN, *arguments, *STRICT)
    shop.break_search()
    shop.write_suite(make_suite(QUERIES[10:]), place.path)

    build = shop.build(AGAINST_MAIN, *arguments)

    assert sound.verdict == ("PASSED", 0), sound.text
    assert sound.coverage["compared"] == sound.data["coverage"]["comparable"] > 0
    assert build.verdict == ("REVIEW", 0), build.text
    assert "ndcg@10" in build.last
    assert "removed" in build.last


@pytest.mark.parametrize("name", mark_rest_slow(1, PLACES))
def test_deleted_suite_of_main_is_found_wherever_it_was(shop: Shop, name: str) -> None:
    place = PLACES[name]
    arguments = start(shop, place)
    shop.break_search()
    shop.remove(place.path)

    build = shop.build(AGAINST_MAIN, *arguments)

    if name == "file with a name of its own":
        assert int(build.result.ret) == pytest.ExitCode.USAGE_ERROR
    else:
        assert build.verdict == ("REVIEW", 0), build.text
        assert "removes all queries" in build.text


def test_list_of_queries_on_main_is_evaluated(shop: Shop) -> None:
    """The command line names a list, from which a change removes the queries that it breaks."""
    shop.write("queries.txt", "\n".join(QUERIES) + "\n")
    shop.start_change("queries.txt")
    shop.break_search(change=lambda docs: [])
    shop.write("queries.txt", "\n".join(QUERIES[10:]) + "\n")

    build = shop.build(AGAINST_MAIN, "queries.txt")

    assert build.verdict == ("REVIEW", 0), build.text
    assert "10 removed" in build.last


# -- Suites that main itself leaves out ------------------------------------------------------------

IGNORING: dict[str, tuple[str, tuple[str, ...]]] = {
    "path in addopts": ("addopts = --ignore=tests/slow", ()),
    "pattern in addopts": ("addopts = --ignore-glob=*slow*", ()),
    "path": ("", ("--ignore=tests/slow",)),
    "pattern": ("", ("--ignore-glob=*slow*",)),
    "absolute path": ("", ("--ignore={path}/tests/slow",)),
    "folders": ("norecursedirs = slow", ()),
    "conftest": ("", ()),
}


@pytest.mark.parametrize("way", mark_rest_slow(2, IGNORING))
def test_suite_that_main_leaves_out_too_needs_no_review(shop: Shop, way: str) -> None:
    ini, arguments = IGNORING[way]
    arguments = tuple(each.format(path=shop.path) for each in arguments)
    shop.write_ini(ini)
    if way == "conftest":
        shop.write("tests/conftest.py", "collect_ignore = ['slow']\n")
    shop.write_suite(make_suite(), "tests/search/shop.ir.yaml")
    shop.write_suite(
        make_suite([f"slow {query}" for query in QUERIES], MINIMUM), "tests/slow/s.ir.yaml"
    )
    shop.start_change(*arguments)

    build = shop.build(AGAINST_MAIN, *arguments, *STRICT)

    assert build.verdict == ("PASSED", 0), build.text


READING = """
import json
from pathlib import Path

collect_ignore = json.loads(Path(__file__).with_name("ignored.json").read_text())
"""
ELSEWHERE: dict[str, Callable[[Shop], object]] = {
    "data file": lambda shop: shop.write("tests/ignored.json", '["search"]'),
    "plugin": lambda shop: shop.write(
        "leaving_out.py",
        "def pytest_ignore_collect(collection_path):\n"
        "    return True if collection_path.name == 'search' else None\n",
    ),
    "virtual environment": lambda shop: shop.write("tests/search/pyvenv.cfg", ""),
}


@pytest.mark.parametrize("way", mark_rest_slow(1, ELSEWHERE))
def test_suite_that_only_the_change_leaves_out_is_evaluated(shop: Shop, way: str) -> None:
    """The suite, the conftest files above it and the ini file are unchanged."""
    shop.write("conftest.py", shop.read("conftest.py") + "pytest_plugins = ['leaving_out']\n")
    shop.write("leaving_out.py", "")
    shop.write("tests/ignored.json", "[]")
    shop.write("tests/conftest.py", READING)
    shop.write("tests/test_arithmetic.py", UNIT_TEST)
    shop.write_suite(make_suite(), "tests/search/shop.ir.yaml")
    shop.start_change()
    shop.break_search()
    ELSEWHERE[way](shop)

    build = shop.build(AGAINST_MAIN, in_subprocess=True)

    assert build.outcome in ("REVIEW", "FAILED"), build.text
    assert "significant drop" in build.text


def test_data_that_git_never_tracked_needs_no_review(shop: Shop) -> None:
    shop.write_ini("ir_files = generated/*")
    head = "judgments: generated/queries.csv\nthresholds: {mrr@10: 0.9}\n"
    shop.write_suite(f"queries: generated/queries.csv\n{head}")
    shop.commit()
    shop.write(".gitignore", shop.read(".gitignore") + "generated\n")
    rows = [f"{query},{list_docs(query)[0]},1\n" for query in QUERIES]
    shop.write("generated/queries.csv", "query,doc,grade\n" + "".join(rows))
    shop.start_change()

    sound = shop.build(AGAINST_MAIN, *STRICT)
    shop.break_search(change=lose)
    build = shop.build(AGAINST_MAIN)

    assert sound.verdict == ("PASSED", 0), sound.text
    assert "reads the current file" in sound.text
    assert build.verdict == ("FAILED", 1), build.text
