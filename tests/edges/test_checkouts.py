"""Checkouts of every kind: what is not in them is said, and never taken for gone, new or equal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import Project
from tests.repository import git

SUITE = """\
thresholds: {ndcg@10: {max_drop: 0.05}}
queries:
  - {query: desk, relevant: [d1]}
  - {query: lamp, relevant: [d1]}
"""
CONFTEST = """\
from pathlib import Path
@pytest.fixture
def retriever():
    return lambda query: Path(__file__).with_name("answers").read_text().split()
"""
NEEDS_SYNONYMS = """\
    if not Path(__file__).with_name("synonyms").exists():
        assert __import__("os").environ["IRQUALITY_SIDE"] == "today"
"""
OTHER = SUITE.replace("lamp", "sofa").replace("desk", "rug")
BASELINE = "quality/.ir-baseline/shop.jsonl"
ZEROS = "0" * 40
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 12\n"


@pytest.fixture
def shop(project: Project) -> Project:
    """A repository with a baseline on main, and a branch that breaks search and does not say so."""
    project.suite(SUITE, "quality/shop.ir.yaml")
    project.conftest(CONFTEST)
    (project.path / "answers").write_text("d1 d2")
    (project.path / ".gitignore").write_text("*.html\nout.json\n__pycache__\n.pytest_cache\n")
    git(project.path, "init", "-q", "-b", "main")
    assert project.run("--ir-update-baseline").ret == 0
    commit(project.path, "base")
    git(project.path, "checkout", "-qb", "change")
    (project.path / "answers").write_text("d9 d1")
    commit(project.path, "worse")
    return project


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)


def at(project: Project, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(folder)
    return project


# -- what git does not take, or does not have here -------------------------------------------------


def test_an_update_that_git_would_ignore_is_refused_with_the_line(shop: Project) -> None:
    git(shop.path, "rm", "-q", "--cached", BASELINE)
    kept = (shop.path / BASELINE).read_bytes()
    with (shop.path / ".gitignore").open("a") as file:
        file.write(".ir-baseline/\n")
    result = shop.run("--ir-update-baseline")
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        [f"*{BASELINE} is not written: git ignores it (.gitignore:5:.ir-baseline/)*"]
    )
    assert (shop.path / BASELINE).read_bytes() == kept
    with (shop.path / ".gitignore").open("a") as file:
        file.write("!.ir-baseline/\n")
    assert shop.run("--ir-update-baseline").ret == 0
    assert shop.run("--ir-update-baseline", "--ir-baseline=out.html").ret == 0  # the caller chose


@pytest.mark.parametrize("name", ["quality/grades.csv", BASELINE, "quality/shop.ir.yaml"])
def test_what_git_lfs_keeps_elsewhere_names_the_command(
    shop: Project, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)  # where a file must be as git holds it
    shop.suite(f"judgments: grades.csv\n{SUITE}", "quality/shop.ir.yaml")
    shop.suite("query,docid,rating\ndesk,d3,0\n", "quality/grades.csv")
    shop.suite(POINTER, name)
    for more in ((), ("--ir-update-baseline",)):
        result = shop.run(*more)
        assert result.ret == 2
        result.stdout.fnmatch_lines(
            [f"*{name}:1*is kept by Git LFS, and not here: `git lfs pull`*"]
        )
        assert (shop.path / name).read_text() == POINTER


def test_a_sparse_checkout_says_what_it_leaves_out(shop: Project) -> None:
    shop.suite(OTHER, "other/other.ir.yaml")
    assert shop.run("--ir-update-baseline").ret == 0
    commit(shop.path, "another suite")
    git(shop.path, "branch", "-qf", "main")
    git(shop.path, "sparse-checkout", "set", "--no-cone", "/*", "!.ir-baseline/")
    for more in ((), ("--ir-update-baseline",)):
        result = shop.run("quality", *more)
        assert result.ret == 2
        result.stdout.fnmatch_lines([f"*{BASELINE}: git has it, and this sparse checkout leaves *"])
    git(shop.path, "sparse-checkout", "set", "--no-cone", "/*", "!quality/")
    result = shop.run("--ir-baseline=git:main")
    result.stdout.fnmatch_lines(["! PARTIAL *quality/shop.ir.yaml: not in this checkout, and its*"])
    assert shop.run("--ir-baseline=git:main", "-o", "ir_strict=true").ret == 1


@pytest.mark.slow
def test_the_base_of_a_sparse_checkout_is_whole(shop: Project) -> None:
    git(shop.path, "checkout", "-q", "main")
    (shop.path / "synonyms").write_text("")
    shop.conftest(CONFTEST.replace("    return", f"{NEEDS_SYNONYMS}    return"))
    commit(shop.path, "the code needs a file")
    git(shop.path, "checkout", "-qB", "change")
    (shop.path / "answers").write_text("d9 d1")
    commit(shop.path, "worse")
    git(shop.path, "sparse-checkout", "set", "--no-cone", "/*", "!synonyms")
    result = shop.run("--ir-baseline=run:main")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*ndcg@10 fell 1.000 → 0.631*"])


# -- the first push --------------------------------------------------------------------------------


def test_a_first_push_is_compared_with_where_it_left_the_default_branch(
    shop: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = f"--ir-baseline=git:{ZEROS}"
    result = shop.run(new)
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"*git:{ZEROS} (a first push) does not exist, so no limit on *"])
    assert "nothing was compared" in result.stdout.str()
    assert shop.run(f"--ir-baseline=run:{ZEROS}").ret == 0
    result = shop.run(new, "-o", "ir_strict=true")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*nothing to compare with at a first push, which ir_strict *"])
    for other in ("0" * 41, "0" * 39 + "1"):
        assert shop.run(f"--ir-baseline=git:{other}").ret == 4

    git(shop.path, "checkout", "-q", "main")
    git(tmp_path, "clone", "-q", str(shop.path), "clone")
    git(tmp_path / "clone", "checkout", "-q", "change")
    result = at(shop, tmp_path / "clone", monkeypatch).run(new, "-o", "ir_strict=true")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*ndcg@10 fell 1.000 → *"])


# -- a name that moves, and history that is written anew -------------------------------------------


def test_a_base_is_one_commit_for_all_of_a_run(shop: Project) -> None:
    shop.conftest(
        f"{CONFTEST}\nimport subprocess\n"
        "@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_collection_modifyitems():\n"
        "    subprocess.run(['git', 'branch', '-f', 'main', 'change'], check=True)\n"
    )
    result = shop.run("--ir-baseline=git:main")
    assert result.ret == 1
    assert git(shop.path, "rev-parse", "main") == git(shop.path, "rev-parse", "change")


@pytest.mark.slow
def test_so_it_is_for_workers_and_for_the_process_of_the_base(shop: Project) -> None:
    moved = (
        "import os, subprocess\n"
        "def pytest_sessionstart(session):\n"
        "    if hasattr(session.config, 'workerinput') or not os.environ.get('MOVED'):\n"
        "        subprocess.run(['git', 'branch', '-f', 'main', 'change'], check=False)\n"
    )
    shop.conftest(f"{CONFTEST}\n{moved}")
    first = git(shop.path, "rev-parse", "main").strip()
    for given in (("--ir-baseline=git:main", "-n2"), ("--ir-baseline=run:main",)):
        git(shop.path, "branch", "-qf", "main", first)
        result = shop.run(*given)
        assert result.ret == 1, result.stdout.str()
        result.stdout.fnmatch_lines(["*ndcg@10 fell 1.000 → *"])


@pytest.mark.slow
def test_after_a_squash_and_a_rebase_the_change_is_judged_alone(shop: Project) -> None:
    git(shop.path, "checkout", "-q", "main")
    shop.suite(SUITE.replace("lamp", "lamp, tags: [head]"), "quality/shop.ir.yaml")
    git(shop.path, "merge", "-q", "--squash", "change")
    assert shop.run("--ir-update-baseline").ret == 0
    commit(shop.path, "squashed")
    git(shop.path, "checkout", "-q", "change")
    assert shop.run("--ir-baseline=git:main").ret == 1  # as seen from where it left
    git(shop.path, "rebase", "-q", "main")
    for given in ("git:main", "run:main"):
        assert shop.run(f"--ir-baseline={given}").ret == 0
    (shop.path / "answers").write_text("d9 d8 d1")
    commit(shop.path, "worse still")
    git(shop.path, "commit", "-q", "--amend", "-m", "written anew")
    for given in ("git:main", "run:main"):
        assert shop.run(f"--ir-baseline={given}").ret == 1


# -- submodules, line ends, clones that lack objects -----------------------------------------------


@pytest.fixture
def apart(shop: Project, tmp_path: Path) -> Project:
    """The suite in a submodule, and another beside it; search is as good as ever."""
    git(shop.path, "checkout", "-q", "main")
    source = tmp_path / "suites"
    (shop.path / "quality").rename(source)
    git(source, "init", "-q", "-b", "main")
    commit(source, "suites")
    git(shop.path, "rm", "-rq", "quality")
    git(shop.path, "submodule", "add", "-q", source.as_uri(), "quality")
    shop.suite(OTHER, "other/other.ir.yaml")
    assert shop.run("--ir-update-baseline").ret == 0
    commit(shop.path, "apart")
    git(shop.path, "checkout", "-qB", "change")
    return shop


HIDES = [
    ("pytest.ini", "[pytest]\nnorecursedirs = quality\n"),
    ("conftest.py", "collect_ignore = ['quality']\n"),
    ("conftest.py", "def pytest_ignore_collect(collection_path):\n    return 'shop' in collection_path.name or None\n"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), HIDES)
def test_a_change_hides_no_suite_of_a_submodule(apart: Project, name: str, text: str) -> None:
    file = apart.path / name
    file.write_text((file.read_text() if file.exists() else "") + text)
    commit(apart.path, "hide it")
    for given in ("git:main", "run:main"):
        result = apart.run(f"--ir-baseline={given}")
        result.stdout.fnmatch_lines(
            ["! PARTIAL *quality/shop.ir.yaml: not asked: pytest passes over it since this change*"]
        )
        assert apart.run(f"--ir-baseline={given}", "-o", "ir_strict=true").ret == 1


def test_a_submodule_has_ignored_and_left_out_files_of_its_own(apart: Project) -> None:
    inside = apart.path / "quality"
    result = apart.run("-v", "quality")
    result.stdout.re_match_lines([r".*compared with quality/\.ir-baseline/shop\.jsonl"])
    git(inside, "sparse-checkout", "set", "--no-cone", "/*", "!.ir-baseline/")
    result = apart.run("quality")
    assert result.ret == 2
    result.stdout.fnmatch_lines([f"*{BASELINE}: git has it, and this sparse checkout leaves *"])
    git(inside, "sparse-checkout", "disable")
    git(inside, "rm", "-rq", ".ir-baseline")
    (inside / ".gitignore").write_text(".ir-baseline/\n")
    result = apart.run("quality", "--ir-update-baseline")
    assert result.ret == 2
    result.stdout.fnmatch_lines([f"*{BASELINE} is not written: git ignores it (.gitignore:1:*"])


@pytest.mark.slow
def test_a_suite_in_a_submodule_is_judged_and_missed_like_any(apart: Project) -> None:
    (apart.path / "answers").write_text("d9 d1")
    for given in ((), ("--ir-baseline=git:main",), ("--ir-baseline=run:main",)):
        assert apart.run("quality", *given).ret == 1
    (apart.path / "answers").write_text("d1 d2")
    git(apart.path / "quality", "rm", "-q", "shop.ir.yaml")
    git(apart.path / "quality", "commit", "-qm", "gone")
    commit(apart.path, "the pointer")
    gone = "*: not in this checkout, and its queries are asked by no suite of this run"
    apart.run("--ir-baseline=git:main").stdout.fnmatch_lines(
        [f"! PARTIAL *quality/shop{gone[:18]}*"]
    )
    git(apart.path, "rm", "-qf", "quality")
    commit(apart.path, "no submodule")
    result = apart.run("--ir-baseline=git:main", "-o", "ir_strict=true")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*quality{gone[1:]}*"])


@pytest.mark.slow
def test_of_a_submodule_that_the_job_does_not_want_nothing_is_said(
    apart: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "clone", "-q", str(apart.path), "clone")
    result = at(apart, tmp_path / "clone", monkeypatch).run(
        "--ir-baseline=git:origin/main", "-o", "ir_strict=true"
    )
    assert result.ret == 0, result.stdout.str()


@pytest.mark.slow
def test_line_ends_of_another_system_change_nothing(
    shop: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(
        tmp_path, "-c", "core.autocrlf=true", "clone", "-q", str(shop.path), "clone", "-b", "change"
    )
    clone = tmp_path / "clone"
    git(clone, "config", "core.autocrlf", "true")
    assert b"\r\n" in (clone / BASELINE).read_bytes()
    monkeypatch.setenv("CI", "true")
    at(shop, clone, monkeypatch)
    assert shop.run("--ir-baseline=git:origin/main").ret == 1
    assert shop.run().ret == 1
    (clone / "answers").write_text("d1 d2")
    result = shop.run("--ir-baseline=git:origin/main")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*exam*")
    assert shop.run("--ir-update-baseline").ret == 0
    assert git(clone, "status", "--porcelain", "quality") == ""


@pytest.mark.slow
@pytest.mark.parametrize("filter", ["blob:none", "tree:0"])
def test_a_partial_clone_fetches_what_it_lacks_or_says_so(
    shop: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filter: str
) -> None:
    """An outage must not look like a base whose suite cannot be read, which a change may accept."""
    git(shop.path, "checkout", "-q", "main")
    shop.suite(SUITE + "top_k: 9\n", "quality/shop.ir.yaml")
    commit(shop.path, "main goes on")
    git(shop.path, "config", "uploadpack.allowFilter", "true")
    git(shop.path, "config", "uploadpack.allowAnySHA1InWant", "true")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", f"--filter={filter}", shop.path.as_uri(), str(clone))
    at(shop, clone, monkeypatch)
    away = shop.path.with_name("away")
    shop.path.rename(away)
    broken = shop.pytester.runpytest("--ir-suite", "--ir-baseline=git:origin/main~1")
    away.rename(shop.path)
    assert broken.ret in (2, 4)
    assert "could not fetch" in broken.stdout.str() + broken.stderr.str()
    assert shop.run("--ir-baseline=git:origin/main~1").ret == 0
    (clone / "answers").write_text("d9 d1")
    assert shop.run("--ir-baseline=git:origin/main~1").ret == 1
    assert os.path.exists(clone / BASELINE)
