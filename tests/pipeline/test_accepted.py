"""A drop that a change accepts in the open: green, loud and exact, and only what is committed in HEAD."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from tests.conftest import Once, Project, first
from tests.repository import git

SUITE = """\
queries:
  - {query: desk, relevant: [d1]}
  - {query: lamp, relevant: [d1]}
  - {query: sofa, relevant: [d1]}
thresholds: {mrr: {max_drop: 0.05}, recall@10: {min: 0.1}, rbo@5: 0.9}
each_query: {lost_all_relevant: fail}
"""
GIT = "--ir-baseline=git:main"


@pytest.fixture
def shop(project: Project, once: Once) -> Project:
    """A repository with its baseline on main and a branch checked out."""
    return once(project, branch)


def branch(project: Project) -> None:
    project.suite(SUITE)
    answers(project)
    (project.path / ".gitignore").write_text("ir-report.html\nout.*\n__pycache__\n.pytest_cache\n")
    git(project.path, "init", "-q", "-b", "main")
    accept(project, "main")
    git(project.path, "checkout", "-qb", "change")


def answers(project: Project, **changed: str) -> None:
    """What each query returns: d1 first, but for those that changed."""
    known = dict.fromkeys(("desk", "lamp", "sofa"), "d1 d2") | changed
    project.answers({query: ranking.split() for query, ranking in known.items()})


def accept(project: Project, message: str, *options: str) -> None:
    project.run("--ir-update-baseline", *options)
    commit(project, message)


def commit(project: Project, message: str = "change") -> None:
    git(project.path, "add", "-A")
    git(project.path, "commit", "-qm", message)


@pytest.mark.parametrize(
    "option", [GIT, pytest.param("--ir-baseline=run:main", marks=pytest.mark.slow)]
)
@pytest.mark.usefixtures("pages")
def test_s16_an_accepted_drop_is_green_loud_and_exact(shop: Project, option: str) -> None:
    answers(shop, desk="d2 d1", lamp="d3")
    accept(shop, "wanted")
    result = shop.run(option, "--ir-markdown=out.md", "--junitxml=out.xml", "-rx")
    assert result.ret == 0, result.stdout.str()
    outcomes = shop.outcomes()
    assert {name for name, outcome in outcomes.items() if outcome == "accepted"} == {
        "mrr-10", "rbo-p=0.9-5", "each_query-lost_all_relevant",
    }  # fmt: skip
    assert outcomes["recall-10"] == "passed"
    first = (
        "This change accepts a drop: mrr@10 fell 1.000 → 0.500, by 0.500: more than max_drop 0.050"
    )
    summary = result.stdout.str().partition(" search quality ")[2]
    assert summary.partition("\n")[2].startswith(first)
    result.stdout.fnmatch_lines([
        f"{first}*(against {option.partition('=')[2]}*",
        "  committed with other rankings, and returned so: 'desk', 'lamp'",
        "! ACCEPTED  shop (shop.ir.yaml): This change accepts a drop: 3 queries, 1 limit holds, *",
        "XFAIL shop.ir.yaml::mrr-10 - *accepted by this change's own baseline: mrr@10 fell *",
    ])  # fmt: skip
    markdown = (shop.path / "out.md").read_text()
    assert markdown.startswith("- ⚠ This change accepts a drop: mrr@10 fell 1.000 → 0.500")
    page = (shop.path / "ir-report.html").read_text()
    assert page.index("This change accepts a drop") < page.index("<h1>")
    skipped = ET.parse(shop.path / "out.xml").findall(".//skipped")
    assert len(skipped) == 3
    assert "accepted by this change" in skipped[0].attrib["message"]


def test_what_got_worse_beyond_what_was_committed_fails(shop: Project) -> None:
    answers(shop, desk="d2 d1")
    accept(shop, "wanted")
    answers(shop, desk="d2 d1", sofa="d2 d3 d1")
    commit(shop, "one more that nobody has seen")
    result = shop.run(GIT)
    assert result.ret == 1
    assert shop.outcomes()["mrr-10"] == "failed"


def test_floors_and_rules_are_never_accepted_this_way(shop: Project) -> None:
    shop.suite(SUITE.replace("{max_drop: 0.05}", "{max_drop: 0.05, min: 0.9}"))
    answers(shop, desk="d2 d1")
    accept(shop, "wanted")
    assert shop.run(GIT).ret == 1
    assert shop.outcomes()["mrr-10"] == "failed"


def test_what_is_not_committed_accepts_nothing(shop: Project) -> None:
    answers(shop, desk="d2 d1")
    commit(shop)
    assert shop.run("--ir-update-baseline").ret == 0  # as a job that updates first and then gates
    assert shop.run(GIT).ret == 1
    git(shop.path, "add", "-A")
    assert shop.run(GIT).ret == 1
    git(shop.path, "commit", "-qm", "in the open")
    assert shop.run(GIT).ret == 0


def test_a_baseline_that_is_not_what_the_code_returns_accepts_nothing(shop: Project) -> None:
    answers(shop, desk="d2 d1")
    accept(shop, "wanted")
    answers(shop, desk="d3 d2 d1")
    assert shop.run(GIT).ret == 1
    assert shop.outcomes()["mrr-10"] == "failed"


def test_some_of_the_drops_may_be_accepted(shop: Project) -> None:
    shop.suite(
        SUITE.replace("thresholds", "each_query: {mrr: {max_drop: 0.2}}\nignored").split(
            "\nignored"
        )[0]
    )
    accept(shop, "limits of each query")
    git(shop.path, "branch", "-f", "main")
    answers(shop, desk="d2 d1", lamp="d2 d1")
    accept(shop, "only the desk", "-k", "desk")
    assert shop.run(GIT).ret == 1
    accept(shop, "and the lamp", "-k", "lamp")
    assert shop.run(GIT).ret == 0


def test_the_strict_let_nobody_accept_alone(shop: Project) -> None:
    (shop.path / "pytest.ini").write_text("[pytest]\nir_accepted = fail\n")
    answers(shop, desk="d2 d1")
    accept(shop, "wanted")
    result = shop.run(GIT)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["This change's own baseline would accept a drop, and ir_accepted = fail *"]
    )
    (shop.path / "pytest.ini").write_text("[pytest]\nir_accepted = no\n")
    result = shop.run(GIT)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: ini key ir_accepted must be pass or fail, not 'no'"])


@pytest.mark.parametrize("case", first(1, ["damaged", "params", "shallow"]))
def test_no_gate_is_locked_for_good_by_what_the_base_holds(shop: Project, case: str) -> None:
    if case == "damaged":
        baseline = shop.path / ".ir-baseline/shop.jsonl"
        text = baseline.read_text()
        baseline.write_text("<<<<<<< a\n" + text)
        commit(shop, "broken on main")
        git(shop.path, "branch", "-f", "main")
        baseline.unlink()
    else:
        key = "params: {locale: en}\n" if case == "params" else "depth: 50\n"
        shop.suite(key + SUITE.replace("mrr:", "mrr@50:" if case == "shallow" else "mrr:"))
        shop.conftest(
            "@pytest.fixture\ndef retriever():\n    return lambda query, locale=None: ['d1', 'd2']\n"
        )
        commit(shop)
    locked = shop.run(GIT).ret in (1, 2)  # as something that failed, or that cannot be judged
    assert locked or case == "params"
    accept(shop, "a baseline that can be compared with")
    result = shop.run(GIT)
    assert result.ret == 0, result.stdout.str()
    assert ("accepted" in shop.outcomes().values()) == locked
    if locked:
        result.stdout.fnmatch_lines(["This change accepts a drop: *"])


def test_annotations_warn_of_it(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(shop, desk="d2 d1")
    accept(shop, "wanted")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = shop.run(GIT)
    result.stdout.fnmatch_lines(
        ["::warning file=shop.ir.yaml,line=5,*::accepted by this change: mrr@10 fell*"]
    )
    result.stdout.no_fnmatch_line("::error*")


def test_the_working_trees_progress_on_main_is_no_loss(shop: Project) -> None:
    git(shop.path, "checkout", "-q", "main")
    shop.suite(SUITE.replace("relevant: [d1]", "relevant: [d1, d2]", 1))
    answers(shop, lamp="d1")
    accept(shop, "main gets better")
    git(shop.path, "checkout", "-q", "change")
    shop.suite(SUITE)
    answers(shop)
    assert shop.run(GIT).ret == 0
