"""A suite reads only files of the project, as git has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_irquality.io.access import FileAccess, check_suite_path
from pytest_irquality.io.escaping import escape_log_line
from pytest_irquality.io.files import FileError

from .helpers import commit_all, make_repository, run_git, write_file

DOT = "start with a dot are not read"
NOT_IN_WORK = "Suites read only files that git tracks, or that are new and not ignored. 'ir_files'"
NOT_IN_CI = "Suites read only files that git tracks, as committed. 'ir_files'"
OF_GIT = "'.git' is never read"
OUTSIDE = "The path leads out of the project. 'ir_files' in the ini file can allow its folder."


@pytest.fixture(autouse=True)
def at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test know whether a CI system runs it."""
    for name in ("CI", "BUILD_NUMBER", "TF_BUILD"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout with what jobs and people leave in it."""
    folder = make_repository(tmp_path / "project")
    write_file(folder / "data" / "q.txt")
    write_file(folder / ".gitignore", "/ignored\n/build\ngha-creds-*\n")
    commit_all(folder)
    for name in (".env", ".cache/q.txt", "ignored/q.txt", "gha-creds-1.json", "build/q.txt"):
        write_file(folder / name)
    write_file(tmp_path / "outside" / "q.txt")
    return folder


def find_refusal(access: FileAccess, *names: str, suite: str = "") -> str:
    """Return why a suite may not read files, or an empty text."""
    suite_path = access.root / suite if suite else None
    try:
        access.check_data_files([access.root / name for name in names], suite_path)
    except FileError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        ("data/q.txt", ""),
        ("new.txt", ""),
        ("good-link/q.txt", ""),
        ("data", ""),
        (".git/config", f".git/config: {OF_GIT}"),
        ("data/../.git/config", f".git/config: {OF_GIT}"),
        ("git-link/config", OF_GIT),
        (".env", f".env: Files and folders that {DOT}"),
        (".cache/q.txt", DOT),
        ("env-link", DOT),
        ("ignored/q.txt", f"ignored/q.txt: {NOT_IN_WORK}"),
        ("ignored-link/q.txt", f"ignored/q.txt: {NOT_IN_WORK}"),
        ("gha-creds-1.json", NOT_IN_WORK),
        ("../outside/q.txt", OUTSIDE),
        ("out-link/q.txt", OUTSIDE),
        ("/etc/passwd", OUTSIDE),
    ],
)
def test_at_work_a_suite_reads_tracked_and_new_files(
    project: Path, name: str, refusal: str
) -> None:
    write_file(project / "data" / "q.txt", "edited\n")
    write_file(project / "new.txt")
    links = {"env": ".env", "ignored": "ignored", "git": ".git", "out": "../outside"}
    for link, target in {**links, "good": "data"}.items():
        (project / f"{link}-link").symlink_to(target)

    found = find_refusal(FileAccess(project), name)

    assert refusal in found
    assert bool(refusal) == bool(found)


@pytest.mark.usefixtures("in_ci")
def test_in_ci_a_suite_reads_files_as_git_has_them(project: Path) -> None:
    access = FileAccess(project)
    assert find_refusal(access, "data/q.txt") == ""

    write_file(project / "new.txt")
    write_file(project / "data" / "q.txt", "a credential\n")

    assert f"new.txt: {NOT_IN_CI}" in find_refusal(access, "new.txt")
    assert f"data/q.txt: {NOT_IN_CI}" in find_refusal(access, "data/q.txt")


@pytest.mark.parametrize("variable", ["BUILD_NUMBER", "TF_BUILD"])
def test_jenkins_and_azure_are_ci_systems(
    project: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv("CI", "false")
    monkeypatch.setenv(variable, "12")
    write_file(project / "new.txt")

    assert NOT_IN_CI in find_refusal(FileAccess(project), "new.txt")


@pytest.mark.usefixtures("in_ci")
def test_the_ini_file_allows_generated_files_and_folders_outside(
    project: Path, tmp_path: Path
) -> None:
    access = FileAccess(project, ("build", "gha-*.json", ".cache/*", "../outside"))

    assert find_refusal(access, "build/q.txt", "gha-creds-1.json", ".cache/q.txt") == ""
    assert find_refusal(access, "../outside/q.txt") == ""
    assert NOT_IN_CI in find_refusal(access, "ignored/q.txt")
    assert DOT in find_refusal(access, ".env")


def test_nothing_of_git_is_read_outside_the_project_either(project: Path, tmp_path: Path) -> None:
    make_repository(tmp_path / "outside")

    refusal = find_refusal(FileAccess(project, ("../outside", ".git")), "../outside/.git/config")

    assert OF_GIT in refusal
    assert OF_GIT in find_refusal(FileAccess(project, (".git",)), ".git/config")


def test_suites_in_a_folder_of_the_command_line_read_it(project: Path, tmp_path: Path) -> None:
    access = FileAccess(project, named_folders=(tmp_path / "outside",))

    access.check_location(tmp_path / "outside" / "q.txt", tmp_path / "outside" / "a.ir.yaml")

    with pytest.raises(FileError, match="leads out of the project"):
        access.check_location(tmp_path / "outside" / "q.txt", project / "a.ir.yaml")


@pytest.mark.usefixtures("in_ci")
def test_a_suite_may_be_untracked_but_not_a_link_to_what_is_not(project: Path) -> None:
    write_file(project / "ignored" / "shop.ir.yaml")
    (project / "shop.ir.yaml").symlink_to("ignored/q.txt")
    access = FileAccess(project)

    assert find_refusal(access, "ignored/shop.ir.yaml", suite="ignored/shop.ir.yaml") == ""
    assert NOT_IN_CI in find_refusal(access, "shop.ir.yaml", suite="shop.ir.yaml")


def test_without_git_hidden_files_are_not_read(tmp_path: Path) -> None:
    project = tmp_path / "plain"
    for name in (".env", "q.txt", "sub/.hidden/q.txt"):
        write_file(project / name)
    access = FileAccess(project)

    assert find_refusal(access, "q.txt") == ""
    assert DOT in find_refusal(access, ".env")
    assert DOT in find_refusal(access, "sub/.hidden/q.txt")
    assert OUTSIDE in find_refusal(access, "../q.txt")


def test_the_project_is_the_checkout_around_the_root(project: Path) -> None:
    (project / "deep").mkdir()
    access = FileAccess(project / "deep")

    assert find_refusal(access, "../data/q.txt") == ""
    assert OUTSIDE in find_refusal(access, "../../outside/q.txt")


@pytest.mark.usefixtures("in_ci")
def test_nothing_is_read_if_git_fails(project: Path) -> None:
    """A required filter that fails once opened every file."""
    run_git(project, "config", "filter.big.clean", "false")
    run_git(project, "config", "filter.big.required", "true")
    write_file(project / ".gitattributes", "*.txt filter=big\n")
    write_file(project / "data" / "q.txt", "a credential\n")

    refusal = find_refusal(FileAccess(project), "data/q.txt")

    assert "Git cannot tell whether it tracks the file" in refusal


@pytest.mark.usefixtures("in_ci")
def test_what_a_filter_decrypts_is_not_what_git_has(project: Path) -> None:
    run_git(project, "config", "filter.crypt.clean", "rev")
    run_git(project, "config", "filter.crypt.smudge", "rev")
    for key, value in {"clean": "cat", "smudge": "cat", "process": "", "required": "false"}.items():
        run_git(project, "config", f"filter.lfs.{key}", value)
    write_file(project / ".gitattributes", "secret.txt filter=crypt\nlarge.txt filter=lfs\n")
    for name in ("secret.txt", "large.txt"):
        write_file(project / name, "a token\n")
    commit_all(project)

    assert NOT_IN_CI in find_refusal(FileAccess(project), "secret.txt")
    assert find_refusal(FileAccess(project), "large.txt") == ""


def test_many_files_are_checked_in_several_commands(project: Path) -> None:
    names = [f"data/{'x' * 200}-{number}.txt" for number in range(250)]
    for name in names:
        write_file(project / name)
    access = FileAccess(project)

    assert find_refusal(access, *names) == ""
    assert NOT_IN_WORK in find_refusal(access, *names, "ignored/q.txt")


def test_baselines_are_in_their_own_folder(project: Path) -> None:
    access = FileAccess(project)
    folder = project / ".ir-baseline"
    write_file(folder / "shop.jsonl")
    (folder / "link.jsonl").symlink_to("../ignored/q.txt")

    access.check_baseline_file(folder / "shop.jsonl", folder)
    with pytest.raises(FileError, match=r"link.jsonl: A link leads out of '\.ir-baseline'"):
        access.check_baseline_file(folder / "link.jsonl", folder)

    (project / "other").mkdir()
    (project / "other" / ".ir-baseline").symlink_to("../ignored")
    other = project / "other" / ".ir-baseline"
    with pytest.raises(FileError, match="A link leads out of"):
        access.check_baseline_file(other / "q.txt", other)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a\n::error ::spoken.ir.yaml", r"contains control characters or line breaks"),
        ("d/\n::stop-commands::x/s.ir.yaml", r"'\\n::stop-commands::x' contains control"),
        ("b\x1b[2J.ir.yaml", r"b\\x1b\[2J.ir.yaml: The name"),
        ("a\u202e.ir.yaml", r"'a\\u202e.ir.yaml' contains control"),
        ("##[error]spoken.ir.yaml", "contains a command of a CI system"),
        ("x##vso[task]y.ir.yaml", "contains a command of a CI system"),
        ("::error ::x/s.ir.yaml", "contains a command of a CI system"),
        ("-oir_command=sh run.ir.yaml", "starts with '-', so it could be taken for an option"),
        ("sub/--junitxml=a.ir.yaml", "starts with '-'"),
    ],
)
def test_a_name_that_could_act_is_refused_in_escaped_form(path: str, message: str) -> None:
    with pytest.raises(FileError, match=message) as error:
        check_suite_path(path)

    assert escape_log_line(str(error.value)) == str(error.value)


@pytest.mark.parametrize(
    "path", ["shop.ir.yaml", "größe/тест.ir.yaml", "a b/c-d.ir.yaml", "../x::y.ir.yaml", "@a"]
)
def test_other_names_of_suites_are_allowed(path: str) -> None:
    check_suite_path(path)
