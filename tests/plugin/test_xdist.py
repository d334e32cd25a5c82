"""Sessions that pytest-xdist distributes say the same as others."""

from __future__ import annotations

import json

import pytest

from tests.project import Project

pytest.importorskip("xdist")

QUERIES = [f"query {number}" for number in range(6)]


@pytest.fixture
def shop(project: Project) -> Project:
    rows = "".join(f"  - {{query: {query}, relevant: [a, b]}}\n" for query in QUERIES)
    project.write_suite(f"thresholds:\n  recall@10: {{min: 0.9}}\nqueries:\n{rows}")
    project.write_suite("queries:\n  - {query: other, must_find: [a]}\n", "help/help.ir.yaml")
    project.write_rankings({query: ["a", "b", "x"] for query in [*QUERIES, "other"]})
    project.run("--ir-update-baseline")
    rankings = {query: ["x", "b"] for query in QUERIES}
    project.write_rankings({**rankings, "query 0": "down", "other": ["a"]})
    return project


def run_json(project: Project, *arguments: str) -> tuple[object, ...]:
    """Return the outcomes of the items, the exit status, and the JSON report without times."""
    result = project.run("--ir-json=out.json", *arguments, in_subprocess=True)
    document = json.loads(project.read("out.json"))
    del document["timing"]
    (project.path / "out.json").unlink()
    text = json.dumps(document)
    for argument in arguments:
        text = text.replace(f" {argument}", "")
    return result.parseoutcomes(), result.ret, json.loads(text)


@pytest.mark.parametrize(
    "distribution",
    [
        "load",
        pytest.param("loadfile", marks=pytest.mark.slow),
        pytest.param("worksteal", marks=pytest.mark.slow),
    ],
)
def test_report_and_exit_status_are_the_same_with_workers(shop: Project, distribution: str) -> None:
    """S13."""
    alone = run_json(shop)

    distributed = run_json(shop, "-n2", f"--dist={distribution}")

    assert distributed == alone
    assert alone[1] == 1


@pytest.mark.slow
def test_workers_know_what_was_typed(shop: Project) -> None:
    distributed = shop.run("-n2", "-k", "query-1", in_subprocess=True)

    assert distributed.parseoutcomes()["passed"] == 1
    distributed.stdout.no_fnmatch_line("*addopts*")


@pytest.mark.slow
def test_own_metrics_of_a_conftest_are_known_to_the_controller(project: Project) -> None:
    project.write_conftest(
        "from pytest_irquality import make_own_metric\n"
        "def first(ids, grades, k): return float(bool(ids) and ids[0] in grades)\n"
        "def pytest_ir_metrics(config): return [make_own_metric('first', first, cutoff=False)]\n"
        "@pytest.fixture\ndef retriever(): return lambda query: ['a']\n",
        folder="search",
    )
    suite = "thresholds: {first: {min: 1}}\nqueries:\n  - {query: q, relevant: [a]}\n"
    project.write_suite(suite, "search/shop.ir.yaml")

    result = project.run("-n2", in_subprocess=True)

    result.stdout.fnmatch_lines(["PASSED *"])
    assert result.ret == 0


@pytest.mark.slow
def test_base_suites_run_with_workers(shop: Project) -> None:
    shop.write_rankings({query: ["a", "b", "x"] for query in [*QUERIES, "other"]})
    shop.commit()
    shop.start_branch()
    shop.write_rankings({**{query: ["x"] for query in QUERIES}, "other": ["a"]})
    (shop.path / "shop.ir.yaml").unlink()
    shop.commit()

    result = shop.run("-n2", "--ir-baseline=git:main", in_subprocess=True)

    result.stdout.fnmatch_lines(["REVIEW *shop*"])
    assert result.ret == 0


@pytest.mark.slow
def test_hidden_base_suite_stays_a_base_suite_with_workers(shop: Project) -> None:
    """S51: the file of the suite is still there, and the controller must not collect it."""
    shop.write_rankings({query: ["a", "b", "x"] for query in [*QUERIES, "other"]})
    shop.commit()
    shop.start_branch()
    shop.write_ini("testpaths = help")
    shop.write_rankings({**{query: ["x"] for query in QUERIES}, "other": ["a"]})
    shop.commit()

    result = shop.run("-n2", "--ir-baseline=git:main", in_subprocess=True)

    result.stdout.fnmatch_lines(["REVIEW *shop*"])
    assert result.ret == 0


@pytest.mark.slow
def test_broken_suite_is_an_error_with_workers(shop: Project) -> None:
    shop.write_suite("queries:\n  - querry: a\n", "broken.ir.yaml")

    result = shop.run("-n2", in_subprocess=True)

    result.stdout.fnmatch_lines(["ERROR *broken.ir.yaml*"])
    assert result.ret == 2
