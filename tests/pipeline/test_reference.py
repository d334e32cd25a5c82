"""A retriever that others are compared with is never ticked by a comparison with itself."""

from __future__ import annotations

import pytest

from tests.conftest import Project
from tests.pipeline.test_exam import commit, last
from tests.repository import git

SUITE = """baseline: {retriever: bm25}
thresholds: {mrr: {max_drop: 0.05}}
queries:
""" + "".join(f"  - {{query: q{n}, relevant: [d]}}\n" for n in range(4))
CODE = """@pytest.fixture(params=['bm25', 'hybrid'])
def retriever(request):
    return lambda query: ['d', 'x']
"""
BROKEN = CODE.replace("['d', 'x']", "['x', 'd']")


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE)
    project.conftest(CODE)
    (project.path / ".gitignore").write_text("ir-report.html\nout.*\n__pycache__\n.pytest_cache\n")
    git(project.path, "init", "-q", "-b", "main")
    return project


def ended(shop: Project) -> dict[str, str]:
    """The worst that a check of each retriever came to."""
    order = ("failed", "accepted", "passed")
    found = {}
    for one in shop.data["suites"]:
        outcomes = {verdict["outcome"] for verdict in one["verdicts"]}
        found[one["retriever"]] = next(name for name in order if name in outcomes)
    return found


def test_what_breaks_all_alike_is_seen_in_its_stored_baseline(shop: Project) -> None:
    written = shop.run("-v", "--ir-update-baseline").stdout.str()
    assert [file.name for file in (shop.path / ".ir-baseline").iterdir()] == ["shop.bm25.jsonl"]
    assert "baseline not written: shop.ir.yaml compares with the retriever 'bm25'" in written
    assert last(shop.run("-v")) == "✓ 2 retrievers passed"
    shop.conftest(BROKEN)
    assert shop.run("-v").ret == 1
    assert ended(shop) == {"bm25": "failed", "hybrid": "passed"}
    assert shop.run("-v", "--ir-update-baseline").ret == 0  # which accepts it
    assert shop.run("-v").ret == 0


@pytest.mark.parametrize("against", ["git:main", pytest.param("run:main", marks=pytest.mark.slow)])
def test_nor_does_a_change_break_all_alike(shop: Project, against: str) -> None:
    if against == "git:main":
        shop.run("--ir-update-baseline")
    commit(shop)
    git(shop.path, "checkout", "-qb", "change")
    shop.conftest(BROKEN)
    assert shop.run(f"--ir-baseline={against}").ret == 1
    assert ended(shop)["bm25"] == "failed"
    shop.suite(SUITE.replace("max_drop: 0.05", "max_drop: 0.9"))
    assert shop.run(f"--ir-baseline={against}").ret == 0
    assert ended(shop) == {"bm25": "accepted", "hybrid": "passed"}


@pytest.mark.parametrize(
    "options",
    [(), ("--ir-baseline=git:main",), pytest.param(("-n1",), marks=pytest.mark.slow)],
    ids=str,
)
def test_without_one_it_is_said_to_be_unguarded(shop: Project, options: tuple[str, ...]) -> None:
    commit(shop)
    result = shop.run(*options)
    assert result.ret == 0
    assert last(result) == "! 2 retrievers passed, but nothing was compared (shop [bm25])"
    result.stdout.fnmatch_lines(["*it is unguarded: it has no baseline of its own; make one *"])
    shop.suite(SUITE.replace("max_drop: 0.05", "max_drop: 0.9, min: 0.5"))
    assert shop.run(*options).ret == 0
    assert "Accepted" not in shop.run(*options).stdout.str()


def test_nor_does_a_change_choose_what_it_is_compared_with(shop: Project) -> None:
    shop.suite(SUITE.partition("\n")[2])
    shop.run("--ir-update-baseline")
    commit(shop)
    git(shop.path, "checkout", "-qb", "change")
    shop.conftest(BROKEN)
    shop.suite(SUITE)
    result = shop.run("--ir-baseline=git:main")
    assert result.ret == 1
    assert ended(shop) == {"bm25": "failed", "hybrid": "accepted"}
