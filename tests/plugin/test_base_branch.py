"""Whatever a change does to the collection, the suites of the base branch run and decide."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from tests.project import Project

QUERIES = [f"query {number}" for number in range(10)]
GOOD = {query: ["best", "good", "x", "y", "z", "v", "w"] for query in QUERIES}
BROKEN = {**GOOD, **{query: ["x", "y", "z", "v", "w", "best", "good"] for query in QUERIES[:8]}}
SUITE = "queries:\n" + "".join(
    f"  - {{query: {query}, relevant: {{best: 3, good: 2}}}}\n" for query in QUERIES
)
OTHER = "queries:\n  - {query: other, must_find: [a]}\n"


@pytest.fixture
def shop(project: Project) -> Project:
    """Return a project with a suite and its baseline on main, and a branch with broken search."""
    project.write_suite(SUITE, "search/shop.ir.yaml")
    project.write_suite(OTHER, "help/help.ir.yaml")
    project.write("test_unit.py", "def test_unit(): pass\n")
    project.write_rankings({**GOOD, "other": ["a"]})
    project.start_change()
    project.write_rankings({**BROKEN, "other": ["a"]})
    project.list_calls()
    return project


def run(project: Project, *arguments: str) -> pytest.RunResult:
    project.commit("Change")
    return project.run("--ir-baseline=git:main", *arguments)


def get_conclusion(result: pytest.RunResult) -> str:
    """Return the last paragraph of our section."""
    words = ("PASSED ", "INCOMPLETE ", "REVIEW ", "FAILED ", "ERROR ")
    lines = [line for line in result.outlines if line.startswith(words) and "::" not in line]
    position = result.outlines.index(lines[-1])
    continued = [line for line in result.outlines[position + 1 :] if line.startswith("  ")]
    return " ".join([lines[-1], *(line.strip() for line in continued)])


def narrow_suite_files(project: Project) -> None:
    project.write_ini("ir_suite_files = help.ir.yaml")


def narrow_testpaths(project: Project) -> None:
    project.write_ini("testpaths = help")


def add_path(project: Project) -> None:
    project.write_ini("addopts = help")


def ignore_path(project: Project) -> None:
    project.write_ini("addopts = --ignore=search")


def ignore_in_conftest(project: Project) -> None:
    project.write("search/conftest.py", 'collect_ignore_glob = ["*"]\n')


def skip_folder_in_conftest(project: Project) -> None:
    hook = "def pytest_ignore_collect(collection_path):\n    return collection_path.name == 'search' or None\n"
    project.write("conftest.py", project.read("conftest.py") + hook)


def add_norecursedirs(project: Project) -> None:
    project.write_ini("norecursedirs = search")


def deselect_by_mark(project: Project) -> None:
    project.write_ini("addopts = -m 'not ir_suite'")


def deselect_by_keyword(project: Project) -> None:
    project.write_ini("addopts = -k other")


def deselect_in_conftest(project: Project) -> None:
    hook = "def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if 'search' not in str(i.path)]\n"
    project.write("conftest.py", project.read("conftest.py") + hook)


def delete_suite(project: Project) -> None:
    (project.path / "search/shop.ir.yaml").unlink()


def delete_folder(project: Project) -> None:
    shutil.rmtree(project.path / "search")


def rename_suite(project: Project) -> None:
    (project.path / "search/shop.ir.yaml").rename(project.path / "search/shop.yaml")


def point_at_old_answers(project: Project) -> None:
    project.write("old.json", project.git("show", "main:rankings.json"))
    fixture = "import pytest, json, pathlib\n@pytest.fixture\ndef old_retriever():\n    old = json.loads((pathlib.Path(__file__).parent.parent / 'old.json').read_text())\n    return old.get\n"
    project.write("search/conftest.py", fixture)
    project.write_suite("retriever: old_retriever\n" + SUITE, "search/shop.ir.yaml")


HIDING = [
    narrow_suite_files,
    narrow_testpaths,
    add_path,
    ignore_path,
    ignore_in_conftest,
    skip_folder_in_conftest,
    add_norecursedirs,
    deselect_by_mark,
    deselect_by_keyword,
    deselect_in_conftest,
    delete_suite,
    delete_folder,
    rename_suite,
    point_at_old_answers,
]


@pytest.mark.parametrize("hide", HIDING, ids=lambda function: function.__name__)
def test_hidden_suite_of_the_base_branch_is_evaluated(
    shop: Project, hide: Callable[[Project], None]
) -> None:
    """S37, S51, S52 and S63: the change breaks search and hides the suite."""
    hide(shop)

    result = run(shop)

    conclusion = get_conclusion(result)
    assert conclusion.startswith("REVIEW")
    assert "shop" in conclusion
    assert set(QUERIES) <= set(shop.list_calls())
    assert result.ret == 0


def test_strict_gate_of_the_base_branch_counts(shop: Project) -> None:
    shop.git("checkout", "-q", "main")
    shop.write_ini("ir_gate = strict")
    shop.commit("Be strict")
    shop.git("checkout", "-q", "change", "--force")
    shop.git("rebase", "-q", "main")
    shop.write_rankings({**BROKEN, "other": ["a"]})
    delete_suite(shop)
    shop.write_ini("")

    review = run(shop)
    overridden = shop.run("--ir-baseline=git:main", "-o", "ir_gate=normal")

    assert get_conclusion(review).startswith("REVIEW")
    assert (review.ret, overridden.ret) == (1, 0)


def test_hidden_suite_with_sound_search_passes_or_is_for_review(shop: Project) -> None:
    """A suite that is left out needs no review if its checks hold and its queries are asked."""
    shop.write_rankings({**GOOD, "other": ["a"]})
    (shop.path / "search/shop.ir.yaml").rename(shop.path / "search/renamed.ir.yaml")

    assert get_conclusion(run(shop)).startswith("PASSED")


def test_suite_that_both_sides_leave_out_does_not_run(project: Project) -> None:
    project.write_suite(SUITE, "drafts/shop.ir.yaml")
    project.write("drafts/conftest.py", 'collect_ignore_glob = ["*.ir.yaml"]\n')
    project.write_suite(OTHER)
    project.write_rankings({"other": ["a"]})
    project.commit()
    project.start_branch()

    result = run(project)

    assert project.list_calls() == ["other"]
    assert get_conclusion(result).startswith("PASSED")


@pytest.mark.parametrize(
    "arguments", [["-k", "other"], ["help/help.ir.yaml::other"], ["help"]], ids=str
)
def test_typed_selection_leaves_base_suites_out(shop: Project, arguments: list[str]) -> None:
    delete_suite(shop)

    result = run(shop, *arguments)

    assert shop.list_calls() == ["other"]
    assert result.ret == 0


def test_removed_query_still_runs_for_the_base_branch(shop: Project) -> None:
    shop.write_rankings({**GOOD, "other": ["a"]})
    shop.write_suite(
        SUITE.replace("  - {query: query 3,", "  - {query: query new,"), "search/shop.ir.yaml"
    )
    shop.write_rankings({**GOOD, "other": ["a"], "query new": ["best"]})

    result = run(shop)

    calls = shop.list_calls()
    assert {"query 3", "query new"} <= set(calls)
    assert len(calls) == len(set(calls)), "each request runs once"
    assert "1 removed" in get_conclusion(result)


def test_base_suite_without_its_retriever_is_for_review(shop: Project) -> None:
    """S53: the change deletes the only suite together with its retriever."""
    delete_suite(shop)
    (shop.path / "help/help.ir.yaml").unlink()
    shop.write("conftest.py", "")

    result = run(shop)

    assert get_conclusion(result).startswith("REVIEW")
    assert "shop" in get_conclusion(result)


def test_damaged_suite_of_the_base_branch_is_for_review(project: Project) -> None:
    project.write_suite("queries:\n  - querry: a\n", "search/shop.ir.yaml")
    project.write_suite(OTHER)
    project.write_rankings({"other": ["a"], "a": ["b"]})
    project.commit()
    project.start_branch()
    project.write_suite("queries:\n  - query: a\n    must_find: [b]\n", "search/shop.ir.yaml")

    result = run(project)

    assert get_conclusion(result).startswith("REVIEW")


def test_parametrized_fixture_is_compared_for_each_parameter(shop: Project) -> None:
    """S19: the fixture gains parameters, and search is broken."""
    conftest = shop.read("conftest.py")
    shop.write(
        "conftest.py",
        conftest.replace('(scope="session")', '(scope="session", params=["a", "b"])').replace(
            "def retriever():", "def retriever(request):"
        ),
    )

    result = run(shop)

    assert get_conclusion(result).startswith(("REVIEW", "FAILED"))


def test_own_code_of_the_base_branch_answers(shop: Project) -> None:
    """S22: no stored baseline is needed."""
    for name in ("search/.ir-baseline/shop.jsonl", "help/.ir-baseline/help.jsonl"):
        (shop.path / name).unlink()
    shop.commit("Remove baselines")

    result = shop.run("--ir-baseline=run:main")

    assert get_conclusion(result).startswith("FAILED")
    assert result.ret == 1


def test_unknown_revision_is_a_wrong_option(shop: Project) -> None:
    result = shop.run("--ir-baseline=git:mian")

    result.stderr.fnmatch_lines(["ERROR: --ir-baseline=git:mian*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
