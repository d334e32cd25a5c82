"""Which files are suites, what their items are called, and which of them a selection runs."""

from __future__ import annotations

import pytest

from tests.project import Project, get_item_lines

SUITE = """\
thresholds:
  ndcg@10: 0.5
tags:
  head:
    mrr@10: 0.5
queries:
  - {query: office chair, id: q14, tags: [head], relevant: [d1], must_find: [d1]}
  - {query: desk, relevant: [d1]}
"""
NAMES = ["q14", "desk", "ndcg-10", "head-mrr-10"]


@pytest.fixture
def shop(project: Project) -> Project:
    project.write_suite(SUITE)
    project.write_rankings({"office chair": ["d1"], "desk": ["d1"]})
    return project


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ([], 1),
        (["--ir-suite"], 3),
        (["--ir-suite", "tests"], 2),
        (["--ir-suite=tests"], 2),
        (["--ir-suite", "tests/"], 2),
        (["tests", "--ir-suite"], 2),
        (["--ir-suite", "other/b.ir.yaml"], 1),
        (["--ir-suite=other/b.ir.yaml::a"], 1),
        (["--ir-suite", "tests", "--ir-suite", "other"], 3),
        (["--ir-suite", "tests", "other"], 3),
        (["--ir-suite", "other/any.yml"], 1),
        (["other/b.ir.yaml"], 1),
        (["--ir-suite", "other", "--from-other"], 1),
    ],
    ids=str,
)
def test_a_path_after_the_option_is_a_test_path(
    project: Project, arguments: list[str], count: int
) -> None:
    suite = "queries: [{query: a, id: a, must_find: [d1]}]\n"
    project.write_rankings({"a": ["d1"]})
    project.write_suite(suite, "tests/a.ir.yaml")
    project.write("tests/test_py.py", "def test_py(): pass\n")
    project.write_suite(suite, "other/b.ir.yaml")
    project.write_suite(suite, "other/any.yml")
    option = "def pytest_addoption(parser): parser.addoption('--from-other', action='store_true')\n"
    project.write_conftest(option, folder="other")

    result = project.run_pytest("--collect-only", "-q", *arguments)

    names = {line.partition("::")[0] for line in result.outlines if "::" in line}
    assert result.ret == 0
    assert len(names) == count


def test_items_are_queries_then_thresholds_at_their_lines(shop: Project) -> None:
    result = shop.run("--collect-only", "-q")

    names = get_item_lines(result)
    assert [name for name in names if name in NAMES] == NAMES
    assert not shop.list_calls()
    assert not (shop.path / "ir-report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "expected", "calls"),
    [
        (["-k", "chair"], ["q14"], ["office chair"]),
        (["-k", "office-chair"], ["q14"], ["office chair"]),
        (["-k", "head"], ["q14", "head-mrr-10"], ["office chair"]),
        (["-k", "ndcg-10"], ["ndcg-10"], ["office chair", "desk"]),
        (["shop.ir.yaml::desk"], ["desk"], ["desk"]),
        (["-m", "not ir_suite"], [], []),
    ],
    ids=str,
)
def test_only_queries_that_selected_items_need_are_run(
    shop: Project, arguments: list[str], expected: list[str], calls: list[str]
) -> None:
    result = shop.run("-v", *arguments)

    passed = [line for line in result.outlines if " PASSED " in line and "::" in line]
    assert [line.split()[0].partition("::")[2] for line in passed] == expected
    assert shop.list_calls() == calls
    assert result.ret == (0 if expected else 5)


def test_a_folder_without_suites_gets_one_line(project: Project) -> None:
    (project.path / "empty").mkdir()

    result = project.run("empty")

    result.stdout.fnmatch_lines(["No search-quality suite was found*'[*].ir.yaml [*].ir.yml'*"])
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_plain_pytest_says_how_suites_run(shop: Project) -> None:
    result = shop.run_pytest()

    result.stdout.fnmatch_lines(["*1 search-quality suite*`pytest --ir-suite`*"])
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_list_of_queries_is_a_suite_if_it_is_named(project: Project) -> None:
    project.write("queries.txt", "red shoes\nblue shoes\n")
    project.write_rankings({"red shoes": ["d1"], "blue shoes": ["d2"]})

    named = project.run("queries.txt")
    not_named = project.run("--collect-only")

    assert named.ret == 0
    assert project.list_calls() == ["red shoes", "blue shoes"]
    assert not_named.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_suite_that_cannot_be_read_errors_and_others_run(shop: Project) -> None:
    shop.write_suite("queries:\n  - query: a\n    relevent: [b]\n", "broken.ir.yaml")

    result = shop.run()

    counts = result.parseoutcomes()
    assert counts["errors"] == 1
    assert counts["passed"] >= 4
    result.stdout.fnmatch_lines(["*broken.ir.yaml:3: *relevent*"])
    assert result.ret == 2


@pytest.mark.parametrize(
    "name", ["a\n::error ::x.ir.yaml", "b ##[error]x.ir.yaml", "-ojson.ir.yaml"]
)
def test_names_that_a_ci_system_or_pytest_would_act_on_are_refused(
    shop: Project, name: str
) -> None:
    shop.write_suite(SUITE, name)

    result = shop.run()

    assert result.ret == 2
    output = [*result.outlines, *result.errlines]
    assert not any(line.startswith("::") or "##[" in line for line in output)
    assert result.parseoutcomes()["errors"] == 1


def test_fixture_that_is_not_declared_as_a_retriever_is_not_set_up(project: Project) -> None:
    project.write_conftest("@pytest.fixture\ndef database(): raise SystemExit('set up')\n")
    project.write_suite("retriever: database\nqueries: [{query: a, must_find: [b]}]\n")

    result = project.run()

    result.stdout.fnmatch_lines(["*'database' is not declared as a retriever*ir_retrievers*"])
    assert result.ret == 2


def test_declared_fixture_is_a_retriever(project: Project) -> None:
    project.write_conftest("@pytest.fixture\ndef database(): return lambda query: ['b']\n")
    project.write_suite("retriever: database\nqueries: [{query: a, must_find: [b]}]\n")
    project.write_ini("ir_retrievers = database")

    assert project.run().ret == 0
