"""Suites, baselines and retrievers that have another name than when the baseline was made."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.conftest import Project, first
from tests.repository import git

QUERIES = [f"query {n}" for n in range(6)]
GOOD = {text: [f"d{n}", "x", "y"] for n, text in enumerate(QUERIES)}
WORSE = {text: ids[::-1] for text, ids in GOOD.items()}
ONE = ".ir-baseline/shop.jsonl"
FELL = "*mrr@10 fell 1.000 → 0.333*"


def suite(queries: Iterable[int] = range(6)) -> str:
    lines = [f"  - {{query: query {n}, relevant: [d{n}]}}\n" for n in queries]
    return f"queries:\n{''.join(lines)}thresholds: {{mrr: {{max_drop: 0.1}}}}\n"


@pytest.fixture
def shop(project: Project) -> Project:
    """A suite with a baseline, over an engine that has become worse since."""
    project.suite(suite())
    project.answers(GOOD)
    project.run("--ir-update-baseline")
    project.answers(WORSE)
    return project


def rename(project: Project, old: str, new: str) -> None:
    (project.path / new).parent.mkdir(parents=True, exist_ok=True)
    (project.path / old).rename(project.path / new)


def baselines(project: Project) -> list[str]:
    paths = project.path.rglob(".ir-baseline/*")
    return sorted(path.relative_to(project.path).as_posix() for path in paths)


@pytest.mark.parametrize("new", ["store.ir.yaml", "search/shop.ir.yaml", "search/store.ir.yaml"])
def test_s19_a_suite_renamed_alone_is_compared_with_its_old_file(shop: Project, new: str) -> None:
    rename(shop, "shop.ir.yaml", new)
    result = shop.run("-v")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [FELL, f"*compared with {ONE}, the baseline of shop.ir.yaml; the next update takes it over"]
    )
    folder, name = str(Path(new).parent / ".ir-baseline"), Path(new).name.removesuffix(".ir.yaml")
    result = shop.run("-v", "--ir-update-baseline")
    result.stdout.fnmatch_lines(
        [
            f"  baseline written: {folder}/{name}.jsonl: 6 rankings changed, taken over from"
            " shop.ir.yaml",
            f"  removed: {ONE}",
        ]
    )
    assert baselines(shop) == [f"{folder}/{name}.jsonl"]
    assert shop.run("-v").ret == 0


def test_s19_a_suite_renamed_with_its_baseline(shop: Project) -> None:
    rename(shop, "shop.ir.yaml", "store.ir.yaml")
    rename(shop, ONE, ".ir-baseline/store.jsonl")
    result = shop.run("-v")
    assert result.ret == 1
    result.stdout.fnmatch_lines([FELL, "*store.jsonl, the baseline of shop.ir.yaml;*"])
    shop.answers(GOOD)
    result = shop.run("-v", "--ir-update-baseline")
    result.stdout.fnmatch_lines(["  baseline written: *store.jsonl: taken over from shop.ir.yaml"])
    assert baselines(shop) == [".ir-baseline/store.jsonl"]
    shop.run("-v", "--ir-update-baseline").stdout.fnmatch_lines(["  baseline unchanged: *"])


def test_s19_the_baseline_renamed_alone(shop: Project) -> None:
    rename(shop, ONE, ".ir-baseline/store.jsonl")
    result = shop.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines([FELL])
    shop.run("--ir-update-baseline")
    assert baselines(shop) == [ONE]


PARAMETRISED = """
ANSWERS = {answers!r}
@pytest.fixture(params=['bm25', 'dense'])
def retriever(request):
    return lambda query: ANSWERS[query]
"""


def test_s19_a_fixture_that_became_parametrised(shop: Project) -> None:
    shop.conftest(PARAMETRISED.format(answers=WORSE))
    result = shop.run("-v")
    assert result.ret == 1
    assert str(result.stdout).count(f"compared with {ONE}, the baseline of shop.ir.yaml;") == 2
    assert shop.outcomes()["mrr-10"] == "failed"
    result = shop.run("-v", "--ir-update-baseline", "-k", "bm25")
    result.stdout.fnmatch_lines(
        [f"  {ONE} stays: shop.ir.yaml [[]dense[]] is compared with it, too"]
    )
    assert baselines(shop) == [".ir-baseline/shop.bm25.jsonl", ONE]
    assert shop.run("-v", "-k", "bm25").ret == 0
    assert shop.run("-v", "-k", "dense").ret == 1
    shop.run("-v", "--ir-update-baseline")
    assert baselines(shop) == [".ir-baseline/shop.bm25.jsonl", ".ir-baseline/shop.dense.jsonl"]


def test_s19_renamed_and_parametrised_at_once(shop: Project) -> None:
    rename(shop, "shop.ir.yaml", "store.ir.yaml")
    shop.conftest(PARAMETRISED.format(answers=WORSE))
    result = shop.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines([FELL])
    shop.run("--ir-update-baseline")
    assert baselines(shop) == [".ir-baseline/store.bm25.jsonl", ".ir-baseline/store.dense.jsonl"]


def test_a_copied_suite_never_takes_the_file_of_one_that_exists(shop: Project) -> None:
    shop.suite(suite(), "copy.ir.yaml")
    result = shop.run("copy.ir.yaml")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*max_drop 0.1 has nothing to compare with: there is no baseline*"]
    )
    shop.run("--ir-update-baseline", "copy.ir.yaml")
    assert baselines(shop) == [".ir-baseline/copy.jsonl", ONE]
    assert shop.run("shop.ir.yaml").ret == 1


def test_a_split_suite_serves_both_halves_and_goes_with_the_second(shop: Project) -> None:
    (shop.path / "shop.ir.yaml").unlink()
    shop.suite(suite(range(3)), "head.ir.yaml")
    shop.suite(suite(range(3, 6)), "tail.ir.yaml")
    assert shop.run().ret == 1
    assert set(shop.outcomes().values()) == {"failed", "passed"}
    for one in shop.data["suites"]:
        assert one["baseline"]["of"] == "shop.ir.yaml"
    result = shop.run("--ir-update-baseline", "head.ir.yaml")
    result.stdout.fnmatch_lines([f"  {ONE} stays: tail.ir.yaml is compared with it, too"])
    result = shop.run("tail.ir.yaml")
    assert result.ret == 1
    result.stdout.fnmatch_lines([FELL])
    shop.run("--ir-update-baseline", "tail.ir.yaml")
    assert baselines(shop) == [".ir-baseline/head.jsonl", ".ir-baseline/tail.jsonl"]


def test_both_halves_of_a_split_suite_are_updated_together(shop: Project) -> None:
    (shop.path / "shop.ir.yaml").unlink()
    shop.suite(suite(range(3)), "head.ir.yaml")
    shop.suite(suite(range(3, 6)), "tail.ir.yaml")
    shop.run("--ir-update-baseline")
    assert baselines(shop) == [".ir-baseline/head.jsonl", ".ir-baseline/tail.jsonl"]


def test_suites_that_became_one_are_compared_with_the_baselines_of_all(shop: Project) -> None:
    (shop.path / "shop.ir.yaml").unlink()
    shop.suite(suite(range(4)), "head.ir.yaml")
    shop.suite(suite(range(4, 6)), "tail.ir.yaml")
    shop.run("--ir-update-baseline")
    (shop.path / "head.ir.yaml").unlink()
    rename(shop, "tail.ir.yaml", "store.ir.yaml")
    shop.suite(suite(range(6)), "store.ir.yaml")
    assert shop.run().ret == 0
    assert shop.data["suites"][0]["ledger"]["queries"] == {"compared": 6}
    assert shop.run("--ir-update-baseline").ret == 0
    assert baselines(shop) == [".ir-baseline/store.jsonl"]


def test_a_joined_baseline_is_as_deep_as_its_least_deep(shop: Project) -> None:
    (shop.path / "shop.ir.yaml").unlink()
    shop.suite(f"top_k: 10\n{suite(range(4))}", "head.ir.yaml")
    shop.suite(f"top_k: 3\n{suite(range(4, 6))}", "tail.ir.yaml")
    shop.run("--ir-update-baseline")
    (shop.path / "head.ir.yaml").unlink()
    rename(shop, "tail.ir.yaml", "store.ir.yaml")
    shop.suite(suite().replace("{mrr:", "{recall@10:"), "store.ir.yaml")
    result = shop.run("-v")
    assert "and .ir-baseline/tail.jsonl" in result.stdout.str()  # each source is named
    assert shop.data["suites"][0]["ledger"]["checks"].get("unable to fail") or result.ret == 1


def test_one_of_other_queries_is_never_compared_with(shop: Project) -> None:
    (shop.path / "shop.ir.yaml").unlink()
    shop.suite(suite().replace("query ", "other "), "a.ir.yaml")
    shop.answers({text.replace("query", "other"): ids for text, ids in WORSE.items()})
    assert shop.run("-v").ret == 1
    assert all(one["baseline"] is None for one in shop.data["suites"])
    shop.run("-v", "--ir-update-baseline")
    assert ONE in baselines(shop)


def test_a_damaged_orphan_is_in_nobodys_way(shop: Project) -> None:
    (shop.path / ".ir-baseline/gone.jsonl").write_text("{}\n")
    path = shop.path / ONE
    (shop.path / ".ir-baseline/old.jsonl").write_text(path.read_text().replace("d1", "\n"))
    path.unlink()
    rename(shop, "shop.ir.yaml", "new.ir.yaml")
    result = shop.run()
    result.stdout.fnmatch_lines(["*there is no baseline; make one*"])


@pytest.fixture
def repository(shop: Project) -> Project:
    """The same, committed as main; the change is on a branch."""
    git(shop.path, "init", "-q", "-b", "main")
    git(shop.path, "add", "shop.ir.yaml", ".ir-baseline")
    git(shop.path, "commit", "-qm", "a baseline")
    git(shop.path, "checkout", "-qb", "change")
    return shop


@pytest.mark.parametrize("updated", [False, True], ids=["", "updated"])
@pytest.mark.parametrize("new", first(1, ["deep/store.ir.yaml", "store.ir.yaml"]))
def test_s19_against_a_revision_that_has_the_old_name(
    repository: Project, new: str, updated: bool
) -> None:
    rename(repository, "shop.ir.yaml", new)
    if updated:
        repository.run("-v", "--ir-update-baseline")
        assert repository.run("-v").ret == 0
    git(repository.path, "add", "-A")
    git(repository.path, "commit", "-qm", "rename, and break")
    result = repository.run("-v", "--ir-baseline=git:main")
    # What the change commits itself is a drop that it accepts in the open.
    outcome = "accepted" if updated else "failed"
    assert repository.outcomes()["mrr-10"] == outcome
    assert result.ret == (0 if updated else 1)
    result.stdout.fnmatch_lines([f"*compared with git:main {ONE}, the baseline of shop.ir.yaml;*"])


def test_s19_suite_and_baseline_renamed_against_a_revision(repository: Project) -> None:
    git(repository.path, "mv", "shop.ir.yaml", "store.ir.yaml")
    git(repository.path, "mv", ONE, ".ir-baseline/store.jsonl")
    git(repository.path, "commit", "-qm", "rename both")
    result = repository.run("--ir-baseline=git:main")
    assert result.ret == 1
    result.stdout.fnmatch_lines([FELL])


def test_a_baseline_left_lying_goes_behind_that_of_a_suite_which_the_base_had(
    repository: Project,
) -> None:
    repository.suite(suite(), "a.ir.yaml")  # answered as badly as the change does
    repository.run("--ir-update-baseline", "a.ir.yaml")
    git(repository.path, "checkout", "-q", "main")
    git(repository.path, "add", ".ir-baseline/a.jsonl")
    git(repository.path, "commit", "-qm", "a file that nobody needs")
    git(repository.path, "checkout", "-qB", "change")
    (repository.path / "a.ir.yaml").unlink()
    rename(repository, "shop.ir.yaml", "store.ir.yaml")
    git(repository.path, "add", "-A")
    git(repository.path, "commit", "-qm", "rename, and break")
    result = repository.run("-v", "--ir-baseline=git:main")
    assert result.ret == 1
    assert repository.outcomes()["mrr-10"] == "failed"


def test_a_rename_is_no_way_to_be_compared_with_more(project: Project) -> None:
    """What was left lying would halve a drop: red by its old name, green by the new one."""
    project.answers(GOOD)
    for name, queries in (("shop", range(3)), ("left", range(3, 6))):
        project.suite(suite(queries).replace("0.1", "0.2"), f"{name}.ir.yaml")
    project.run("--ir-update-baseline")
    (project.path / "left.ir.yaml").unlink()
    project.suite(suite().replace("0.1", "0.2"))
    git(project.path, "init", "-q", "-b", "main")
    git(project.path, "add", ".")
    git(project.path, "commit", "-qm", "two suites became one")
    git(project.path, "checkout", "-qb", "change")
    project.answers({**GOOD, "query 0": WORSE["query 0"]})
    git(project.path, "commit", "-qam", "break")
    assert project.run("--ir-baseline=git:main").ret == 1
    rename(project, "shop.ir.yaml", "store.ir.yaml")
    git(project.path, "add", "-A")
    git(project.path, "commit", "-qm", "rename")
    assert project.run("--ir-baseline=git:main").ret == 1


def test_a_rename_takes_nothing_from_what_another_suite_is_compared_with(project: Project) -> None:
    """A part of a suite that was split stands on what that left lying, whatever leaves beside it."""
    project.answers(GOOD)
    for name, queries in (("a", range(3)), ("b", range(3, 6))):
        project.suite(suite(queries), f"{name}.ir.yaml")
    project.run("--ir-update-baseline")
    (project.path / "a.ir.yaml").unlink()
    project.suite(suite([0, 3]), "part.ir.yaml")
    project.suite(suite([4, 5]), "b.ir.yaml")
    git(project.path, "init", "-q", "-b", "main")
    git(project.path, "add", ".")
    git(project.path, "commit", "-qm", "split")
    git(project.path, "checkout", "-qb", "change")
    project.answers({**GOOD, "query 0": WORSE["query 0"]})
    git(project.path, "commit", "-qam", "break")
    assert project.run("--ir-baseline=git:main").ret == 1
    rename(project, "b.ir.yaml", "c.ir.yaml")
    git(project.path, "add", "-A")
    git(project.path, "commit", "-qm", "rename the other")
    assert project.run("--ir-baseline=git:main").ret == 1


def test_a_copied_suite_is_new_to_a_revision(repository: Project) -> None:
    repository.suite(suite(), "copy.ir.yaml")
    git(repository.path, "add", "-A")
    git(repository.path, "commit", "-qm", "a copy")
    result = repository.run("--ir-baseline=git:main", "copy.ir.yaml")
    result.stdout.fnmatch_lines(
        ["*copy.ir.yaml is new: git:main .ir-baseline/copy.jsonl does not exist*"]
    )


def test_a_suite_that_a_revision_has_without_a_baseline_is_not_called_new(
    repository: Project,
) -> None:
    git(repository.path, "rm", "-q", "--cached", ONE)
    git(repository.path, "commit", "-qm", "without")
    result = repository.run("--ir-baseline=git:HEAD")
    result.stdout.fnmatch_lines(
        [f"*this change brings the first baseline of shop.ir.yaml: git:HEAD {ONE} does not exist*"]
    )
    result.stdout.no_fnmatch_line("*is new*")
