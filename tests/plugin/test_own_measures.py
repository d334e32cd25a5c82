"""Measures that a project's conftest adds."""

from __future__ import annotations

import pytest

from tests.conftest import Project

RETRIEVER = "@pytest.fixture\ndef retriever(): return lambda query: ['a-1', 'b-1', 'a-2']\n"
BRANDS = (
    "from pytest_irquality import own_measure\n"
    "def pytest_ir_measures():\n"
    "    def brands(ranking, grades, k):\n        'Distinct brands.'\n        return {value}\n"
    "    return [own_measure('{name}', brands, range=(0, 10), needs_relevant=False, better='{better}')]\n"
)
COUNT = "len({d.split('-')[0] for d in ranking})"


def conftest(value: str = COUNT, name: str = "brands", better: str = "higher") -> str:
    return RETRIEVER + BRANDS.replace("{value}", value).replace("{name}", name).replace(
        "{better}", better
    )


@pytest.mark.usefixtures("pages")
def test_it_is_a_name_like_any_other(project: Project) -> None:
    project.suite(
        "queries: [{query: q, relevant: [a-1]}]\nthresholds: {brands@2: 2, brands: {max: 1}}\n"
    )
    project.conftest(conftest())
    result = project.run()
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*brands@10 is 2.000, above its ceiling 1.000"])
    assert "Distinct brands." in (project.path / "ir-report.html").read_text("utf-8")


def test_where_lower_is_better_a_bare_number_is_the_ceiling(project: Project) -> None:
    project.suite("queries: [{query: q, relevant: [a-1]}]\nthresholds: {brands: 1}\n")
    project.conftest(conftest(better="lower"))
    project.run().stdout.fnmatch_lines(["*brands@10 is 2.000, above its ceiling 1.000"])


def test_only_the_suites_below_its_conftest_know_it(project: Project) -> None:
    suite = "queries: [{query: q, relevant: [a-1]}]\nthresholds: {brands: 1}\n"
    project.suite(suite, "in/ir_in.yaml")
    project.suite(suite, "out/ir_out.yaml")
    project.conftest(conftest(), "in")
    result = project.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines(["out/ir_out.yaml:2:14: unknown measure 'brands'*"])
    assert "ERROR collecting in/" not in result.stdout.str()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "ndcg"}, "*ndcg*"),
        (
            {"value": "11"},
            "brands@10, query 'q': the function returned 11, which is outside 0 to 10 (shop.ir.yaml)",
        ),
        (
            {"value": "'x'"},
            "brands@10, query 'q': the function returned 'x', which is no number (shop.ir.yaml)",
        ),
        (
            {"value": "1 / 0"},
            "brands@10, query 'q': the function raised ZeroDivisionError: division by zero (shop.ir.yaml)",
        ),
    ],
)
def test_what_is_wrong_with_one_is_one_line(
    project: Project, change: dict[str, str], said: str
) -> None:
    project.suite("queries: [{query: q, relevant: [a-1]}]\nthresholds: {brands: 1}\n")
    project.conftest(conftest(**change))
    result = project.run()
    assert result.ret in (1, 2)
    result.stdout.fnmatch_lines([said])
    assert "Traceback" not in result.stdout.str()
