"""The page on reading a red build explains what real runs say, in their words."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import Project

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/start/reading.md").read_text("utf-8")
SUITE = """\
metrics: [ndcg@10]
thresholds: {ndcg@10: {max_drop: 0.05}}
queries:
"""
RETRIEVER = """
import pytest
from pathlib import Path
class Retriever:
    def search(self, query):
        now = Path("changed").exists()
        if query == "broken" and now: raise OSError("no route")
        good, poor = f"good {query}", f"poor {query}"
        if query.startswith("lost") and now: return ["same"]
        if query == "gone" and now: return [poor]
        if query.startswith("below") and now: return ["same", good, "shared"]
        if query == "empty" and now: return []
        if query.startswith("lost"): return ["popular", "shared", "same"]
        return [good, "shared", "same"] if query != "new" or now else []
    def exists(self, id): return not (Path("changed").exists() and id == "good gone")
@pytest.fixture
def retriever(): return Retriever()
"""


def explained() -> list[str]:
    """What the page's list of explained words quotes, each before its colon."""
    told = PAGE.partition("## The end of the output")[2].partition("## What to do next")[0]
    listed = told.rpartition("```\n")[2]
    return [
        text
        for quoted in re.findall(r"((?:`[^`]+`(?:,\s)?)+):\s", listed)
        for text in re.findall(r"`([^`]+)`", quoted)
    ]


@pytest.fixture
def said(project: Project, monkeypatch: pytest.MonkeyPatch) -> str:
    """What three runs print: the example without its title boost, a change that breaks much, one with failed calls."""
    monkeypatch.setenv("COLUMNS", "300")
    example = project.path / "example"
    shutil.copytree(ROOT / "example_project", example)
    search = example / "shop_search.py"
    text = search.read_text("utf-8").replace('"title": 8.0', '"title": 1.0')
    search.write_text(text, "utf-8")
    monkeypatch.chdir(example)
    printed = project.pytester.runpytest_subprocess("--ir-suite", "-v").stdout.str()
    monkeypatch.chdir(project.path)
    shutil.rmtree(example)
    queries = ["gone", "empty", *(f"lost {n}" for n in range(3)), *(f"below {n}" for n in range(3))]
    good = {q: "popular" if q.startswith("lost") else f"good {q}" for q in queries}
    lines = [f"  - {{query: {q}, relevant: {{{good[q]}: 2}}}}\n" for q in queries]
    project.suite(SUITE + "".join(lines))
    project.suite(
        SUITE.replace("0.05", "0.1") + "".join(lines[3:4]) + "  - {query: calm 1, relevant: [good calm 1]}\n"
        + "".join(f"  - {{query: calm {n}, relevant: [good calm {n}]}}\n" for n in range(2, 9)),
        "one.ir.yaml",
    )  # fmt: skip
    project.suite(
        SUITE.replace("max_drop: 0.05", "min: 0.9") + "".join(lines[5:]), "unjudged.ir.yaml"
    )
    project.conftest(RETRIEVER)
    project.run("-v", "--ir-update-baseline")
    (project.path / "changed").touch()
    printed += project.run("-v").stdout.str()
    project.suite(SUITE + "".join(lines[:1]) + "  - {query: broken, relevant: [good broken]}\n")
    return printed + project.run("-v").stdout.str()


ELSEWHERE = {"without unjudged documents … would hold"}  # test_scenarios.py, S5


def test_every_sentence_that_the_page_explains_is_one_of_a_real_run(said: str) -> None:
    missing = [
        text
        for text in {*explained()} - ELSEWHERE
        if not all(part in said for part in re.split(r" … ", text.replace("limits undecided", "limits are undecided")))
    ]  # fmt: skip
    assert not missing
