"""``show:`` through pytest: what today's results, kept runs and committed baselines hold of it."""

from __future__ import annotations

import json

from tests.conftest import Project
from tests.report.made import data_of

RETRIEVER = """
@pytest.fixture
def retriever():
    def hit(id):
        return {{"id": id, "product_name": f"Chair {{id}}", "price": 7, "link": f"https://shop.example/{{id}}"}}
    return lambda query: [hit(id) for id in {ids}]
"""
SUITE = "show: [product_name, price, link]\nqueries: [{query: a, relevant: [d1]}]\n"


def test_a_committed_baseline_has_titles_alone_and_a_kept_run_all_fields(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(RETRIEVER.format(ids=["d1", "d2"]))
    assert project.run("--ir-update-baseline", "--ir-save-runs=then").ret == 0
    baseline = (project.path / ".ir-baseline/shop.jsonl").read_text("utf-8")
    assert '["d1",null,"Chair d1"]' in baseline
    assert "price" not in baseline
    assert "shop.example" not in baseline
    kept = (project.path / "then/shop.jsonl").read_text("utf-8")
    fields = {"product_name": "Chair d1", "price": "7", "link": "https://shop.example/d1"}
    assert json.dumps({"d1": fields})[1:-1].replace(", ", ",").replace(": ", ":") in kept
    project.conftest(RETRIEVER.format(ids=["d2", "d3"]))

    def shown(*args: str) -> dict[str, dict[str, str]]:
        project.run("--ir-report=out.html", "--ir-markdown=out.md", *args)
        data = data_of((project.path / "out.html").read_text("utf-8"))
        return {
            id: dict(some) for id, some in zip(data["ids"], data["fields"], strict=True) if some
        }

    assert shown().keys() == {"d2", "d3"}
    assert shown("--ir-baseline=then").keys() == {"d1", "d2", "d3"}
    assert shown("--ir-baseline=then")["d1"] == fields
    assert "| Chair d1 | d1 |" in (project.path / "out.md").read_text("utf-8")
    assert shown("--ir-runs=then").keys() == {"d1", "d2"}
    assert "price" not in (project.path / ".ir-baseline/shop.jsonl").read_text("utf-8")
