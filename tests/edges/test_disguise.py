"""Attacks by what git can bring besides text: links, submodules, attributes, and whatever makes git itself fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from _pytest.main import _in_venv

from tests.conftest import Project
from tests.repository import git

TOKEN = "s3cr3t-t0ken"
NAMED = "queries: {file: %s, format: text}\n"
TRACKS = "only a file is read that git tracks"


@pytest.fixture
def job(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A checkout in CI, in which a step before left a credential that is ignored."""
    monkeypatch.setenv("CI", "true")
    project.conftest("@pytest.fixture\ndef retriever():\n    return lambda query: ['d1']\n")
    (project.path / "ignored").mkdir()
    (project.path / "ignored" / "q.txt").write_text(f"{TOKEN}\n")
    (project.path / "q.txt").write_text("desk\n")
    (project.path / ".gitignore").write_text(
        "/ignored\n*.html\nout.json\n.pytest_cache\n__pycache__\n"
    )
    git(project.path, "init", "-q", "-b", "main")
    commit(project)
    return project


def commit(project: Project) -> None:
    git(project.path, "add", "-A")
    git(project.path, "commit", "-qm", "change")


def refused(project: Project, said: str, *args: str) -> None:
    result = project.run(*args)
    assert result.ret == 2
    assert said in result.stdout.str()
    assert TOKEN not in result.stdout.str() + result.stderr.str()
    for report in (*project.path.glob("*.html"), *project.path.glob("out.json")):
        assert TOKEN not in report.read_text()


# -- what is read -----------------------------------------------------------------------------------------------------


def test_a_suite_that_is_a_link_is_held_to_the_rules(job: Project) -> None:
    (job.path / "ignored" / "q.txt").write_text(f"{TOKEN}: x\n")
    (job.path / "shop.ir.yaml").symlink_to("ignored/q.txt")
    commit(job)
    refused(job, f"shop.ir.yaml:1:1: ignored/q.txt: {TRACKS}")


def test_so_is_a_list_of_queries_that_is_named(job: Project) -> None:
    (job.path / ".env").write_text(TOKEN)
    (job.path / "list.txt").symlink_to(".env")
    commit(job)
    refused(job, "list.txt:1:1: .env: files and folders that begin with a dot", "list.txt")


def test_a_suite_in_a_checkout_behind_a_link_is_its_own_file(
    job: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = job.path.parent / f"{job.path.name}-link"
    link.symlink_to(job.path)
    monkeypatch.chdir(link)
    job.suite("queries: [{query: desk}]\n", "ignored/shop.ir.yaml")
    assert job.run(str(link / "ignored" / "shop.ir.yaml")).ret == 0


@pytest.mark.parametrize("variable", ["BUILD_NUMBER", "TF_BUILD"])
def test_jenkins_and_azure_are_known_without_the_usual_variable(
    job: Project, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("CI")
    monkeypatch.setenv(variable, "12")
    (job.path / "creds.txt").write_text(TOKEN)  # new, and nothing ignores it
    job.suite(NAMED % "creds.txt")
    refused(job, f"creds.txt: {TRACKS}, as git holds it")


def test_where_git_fails_nothing_is_read(job: Project) -> None:
    """A clean filter that fails, which a line of .gitattributes calls for, once opened every file."""
    git(job.path, "config", "filter.big.clean", "false")
    git(job.path, "config", "filter.big.required", "true")
    (job.path / ".gitattributes").write_text("fatal*.txt filter=big\n")
    name = "fatal: not a git repository.txt"
    job.suite(f"queries: {{file: '{name[:5]}*.txt', format: text}}\n")
    git(job.path, "-c", "filter.big.clean=cat", "add", ".gitattributes", "shop.ir.yaml")
    (job.path / name).write_text("desk\n")
    git(job.path, "-c", "filter.big.clean=cat", "add", name)
    git(job.path, "-c", "filter.big.clean=cat", "commit", "-qm", "attributes")
    (job.path / name).write_text(TOKEN)
    refused(job, "git cannot tell whether it holds it: ")


def test_what_a_filter_decrypts_is_not_as_git_holds_it(job: Project) -> None:
    git(job.path, "config", "filter.crypt.clean", "rev")
    git(job.path, "config", "filter.crypt.smudge", "rev")
    for part, does in {"clean": "cat", "smudge": "cat", "process": "", "required": "false"}.items():
        git(job.path, "config", f"filter.lfs.{part}", does)  # whatever this machine has
    (job.path / ".gitattributes").write_text("secret.txt filter=crypt\nq.txt filter=lfs\n")
    (job.path / "secret.txt").write_text(f"{TOKEN}\n")
    job.suite(NAMED % "secret.txt")
    commit(job)
    assert TOKEN not in git(job.path, "show", "HEAD:secret.txt")
    refused(job, f"secret.txt: {TRACKS}, as git holds it")
    job.suite(NAMED % "q.txt")
    assert job.run().ret == 0


@pytest.mark.slow
def test_many_long_names_hide_none(job: Project) -> None:
    """All in one command were more than a system takes, and the command failed."""
    deep = Path(*["x" * 200] * 18)
    (job.path / deep).mkdir(parents=True)
    (job.path / "many").mkdir()
    for number in range(700):
        (job.path / deep / f"{number}.txt").write_text(f"desk {number}\n")
        (job.path / "many" / f"{number}.txt").symlink_to(Path("..", deep, f"{number}.txt"))
    (job.path / "many" / "zz.txt").symlink_to("../ignored/q.txt")
    job.suite("queries: {file: many/*.txt, format: text}\n")
    commit(job)
    refused(job, f"ignored/q.txt: {TRACKS}")
    (job.path / "many" / "zz.txt").unlink()
    commit(job)
    assert job.run().ret == 0


def test_a_folder_is_no_submodule_because_a_change_says_so(job: Project, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "q.txt").write_text(f"{TOKEN}\n")
    git(other, "init", "-q")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "x")
    git(tmp_path, "clone", "-q", str(other), str(job.path / "lib"))  # as a job does
    head = git(other, "rev-parse", "HEAD").strip()
    job.suite(NAMED % "lib/q.txt")
    git(job.path, "add", "shop.ir.yaml")
    for hash in ("1" * 40, head):
        git(job.path, "update-index", "--add", "--cacheinfo", f"160000,{hash},lib")
        git(job.path, "commit", "-qm", "link")
        if hash != head:
            refused(job, f"lib/q.txt: {TRACKS}")
    assert job.run().ret == 0  # who knows the very commit has it anyway


def test_nothing_under_git_is_read_outside_of_the_checkout_either(
    job: Project, tmp_path: Path
) -> None:
    other = tmp_path / "shared"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "config", "user.token", TOKEN)
    (job.path / "pytest.ini").write_text(f"[pytest]\nir_files = {other}\n")
    job.suite(NAMED % f"{other}/.git/config")
    commit(job)
    refused(job, "nothing under .git is read")


def test_a_suite_of_the_base_reads_no_more_of_today(job: Project) -> None:
    """What the base names and does not track is today's, and held to today's rules."""
    (job.path / "pytest.ini").write_text("[pytest]\nir_files = build/*\n")
    job.suite(NAMED % "build/q.txt")
    job.suite("queries: [{query: desk}]\n", "more.ir.yaml")
    commit(job)
    (job.path / "build").mkdir()
    (job.path / "build" / "q.txt").symlink_to("../ignored/q.txt")
    job.suite("queries: [{query: desk}]\n")
    commit(job)
    result = job.run("-v", "--ir-baseline=git:HEAD~1")
    assert f"ignored/q.txt: {TRACKS}" in result.stdout.str()
    assert TOKEN not in result.stdout.str()
    assert TOKEN not in (job.path / "out.json").read_text()


def test_a_folder_of_baselines_that_is_a_link_is_neither_read_nor_written(job: Project) -> None:
    job.suite("queries: [{query: desk, relevant: [d1]}]\n")
    (job.path / "elsewhere").mkdir()
    (job.path / "elsewhere" / "shop.jsonl").write_text('{"kept": "by others"}\n')
    (job.path / ".ir-baseline").symlink_to("elsewhere")
    commit(job)
    for option in ((), ("--ir-update-baseline",)):
        refused(job, ".ir-baseline/shop.jsonl:1: leads outside .ir-baseline/", *option)
    assert (job.path / "elsewhere" / "shop.jsonl").read_text() == '{"kept": "by others"}\n'
    (job.path / "elsewhere" / "shop.jsonl").unlink()
    given = "--ir-baseline=elsewhere"
    assert job.run(given, "--ir-update-baseline").ret == 0
    job.run(given).assert_outcomes(passed=3)


# -- what is written --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "target", "option"),
    [
        ("ir-report.html", "ignored/activate", ()),
        ("ir-report.html", "conftest.py", ()),
        ("ir-report.html", ".git/config", ()),
        ("report.md", "ignored/activate", ("--ir-markdown=report.md",)),
        ("reports", "ignored", ("--ir-markdown=reports/activate",)),
        ("kept", "ignored", ("--ir-save-runs=kept",)),
        ("history.jsonl", "ignored/activate", ("--ir-history=history.jsonl",)),
        ("judge.html", "ignored/activate", ("--ir-judge=judge.html",)),
        ("base", "ignored", ("--ir-baseline=base", "--ir-update-baseline")),
    ],
)
@pytest.mark.usefixtures("pages")
def test_nothing_is_written_through_a_link_that_a_commit_brought(
    job: Project, link: str, target: str, option: tuple[str, ...]
) -> None:
    """It leads to what is run later: a report holds lines of the change's own."""
    script = job.path / "ignored" / "activate"
    script.write_text("")
    before = {path: path.read_bytes() for path in job.path.rglob("*") if path.is_file()}
    job.suite("queries: [{query: '$(touch ran)', relevant: [d2]}]\n")
    (job.path / link).symlink_to(target)
    git(job.path, "add", "-fA", ".", ":!ignored")
    git(job.path, "commit", "-qm", "a link")
    result = job.run(*option)
    assert f"NOT WRITTEN: {link}" in result.stdout.str().replace("reports/activate", "reports")
    assert "is a link in git, and nothing is written through one" in result.stdout.str()
    for path in (script, job.path / "conftest.py", job.path / ".git" / "config"):
        assert path.read_bytes() == before[path]
    assert os.listdir(job.path / "ignored") == [*{path.name for path in before if path.parent.name == "ignored"}] or {*os.listdir(job.path / "ignored")} == {"q.txt", "activate"}  # fmt: skip


# -- what is asked ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["pyvenv.cfg", "conda-meta/history"])
def test_a_folder_that_is_made_to_look_like_an_environment_is_missed(
    job: Project, file: str
) -> None:
    """pytest passes over those, and no configuration says so."""
    for name in ("old", "new"):
        job.suite("queries: [{query: desk, must_find: [d1]}]\n", f"{name}/{name}.ir.yaml")
    commit(job)
    place = job.path / "old" / file
    place.parent.mkdir(exist_ok=True)
    place.write_text("")
    if not _in_venv(job.path / "old"):
        pytest.skip("this pytest looks for other files")
    commit(job)
    result = job.run("--ir-baseline=git:HEAD~1")
    said = "old/old.ir.yaml: not asked: pytest passes over it since this change"
    result.stdout.fnmatch_lines([f"! PARTIAL  *{said}*"])
    assert job.run("--ir-baseline=git:HEAD~1", "-o", "ir_strict=true").ret == 1
