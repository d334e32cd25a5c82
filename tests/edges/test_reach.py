"""What data may reach: attacks by suites, each in a project whose code is nobody's fault."""

from __future__ import annotations

import os
import types
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.edges.reach import is_data, is_declared
from pytest_irquality.retrieval import RetrieverError, retrieve
from pytest_irquality.suite import Query, Suite
from tests.conftest import Project
from tests.repository import git

QUERY = "queries:\n  - {query: %s, must_find: [d1]}\n"

# -- fixtures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fixture", "body"),
    [
        (
            "con",
            "    class Con:\n        def query(self, text): open(text, 'w')\n    return Con()\n",
        ),
        ("shell", "    import os\n    return os.system\n"),
        ("pytester", None),
        ("tmp_path_factory", None),
    ],
)
def test_a_suite_asks_no_fixture_that_is_not_declared(
    project: Project, fixture: str, body: str | None
) -> None:
    """Any fixture with ``run``, ``query``, ``search`` or ``invoke`` would do."""
    project.conftest(
        "pytest_plugins = ['pytester']\n"
        + (f"@pytest.fixture\ndef {fixture}():\n    open('set-up', 'w')\n{body}" if body else "")
    )
    project.suite(f"retriever: {fixture}\n" + QUERY % "written")
    result = project.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines(
        [
            f"shop.ir.yaml:1:1: the fixture '{fixture}' is not declared to be a retriever; write"
            f" `ir_retrievers = {fixture}` into the ini file, or call it {fixture}_retriever"
        ]
    )
    assert not (project.path / "written").exists()
    assert not (project.path / "set-up").exists()


def test_an_engines_own_name_takes_one_line_of_the_ini_file(project: Project) -> None:
    project.conftest("@pytest.fixture\ndef qdrant():\n    return lambda query: ['d1']\n")
    project.suite("retriever: qdrant\n" + QUERY % "desk")
    (project.path / "pytest.ini").write_text("[pytest]\nir_retrievers = qdrant other\n")
    project.run().assert_outcomes(passed=1)
    project.suite("retriever: qrdant\n" + QUERY % "desk")
    project.run().stdout.fnmatch_lines(["*'qrdant' is not declared*; did you mean 'qdrant'?; *"])


def test_names_that_say_so_need_no_line() -> None:
    assert is_declared("retriever", ())
    assert is_declared("bm25_retriever", ())
    assert is_declared("bm25", ("bm25",))
    assert not is_declared("retrievers", ())
    assert not is_declared("my_retriever_db", ())


# -- fields of results ----------------------------------------------------------------------------------------------


class Hit:
    """A hit as engines return it."""

    score = 1.0

    def __init__(self) -> None:
        self.payload = {"_id": "d1", "made": self.as_row}
        self.frames = (1 for _ in "x")
        self.module = os
        self.kind = Hit

    def as_row(self) -> dict[str, Any]:
        return {}


def test_a_name_that_the_base_does_not_declare_is_new_there(project: Project) -> None:
    project.conftest(
        "@pytest.fixture(name='con')\ndef retriever():\n    return lambda query: ['d1']\n"
        "@pytest.fixture\ndef other_retriever(con):\n    return con\n"
    )
    project.suite("retriever: other_retriever\n" + QUERY % "desk")
    git(project.path, "init", "-q", "-b", "main")
    project.run("--ir-update-baseline")
    git(project.path, "add", "-A")
    git(project.path, "commit", "-qm", "base")
    new = "the base declares no retriever 'con' (ir_retrievers): it is new there"
    assert new not in project.run("--ir-baseline=git:main").stdout.str()
    project.suite("retriever: con\n" + QUERY % "desk")
    assert project.run("--ir-baseline=git:main").ret == 2
    (project.path / "pytest.ini").write_text("[pytest]\nir_retrievers = con\n")
    assert new in project.run("--ir-baseline=git:main").stdout.str()
    git(project.path, "add", "pytest.ini")
    git(project.path, "commit", "-qm", "declared")
    git(project.path, "branch", "-f", "later")
    assert new not in project.run("--ir-baseline=git:later").stdout.str()


@pytest.mark.parametrize(
    "place",
    [
        "as_row.__globals__.os.environ.PATH", "payload.made.__func__", "__class__.__name__", "module.name", "kind.__name__",
        "frames.gi_frame.f_code.co_name", "__dict__.payload._id", "as_row.__name__", "kind.score", "module.environ.PATH",
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", ["id_field", "text_field"])
def test_paths_of_fields_stay_in_data(place: str, key: str) -> None:
    match = "text" if key == "text_field" else "id"
    suite = Suite(name="s", path="s", queries=(Query("a", "a"),), **{"match": match, key: place})  # type: ignore[arg-type]
    run = retrieve(suite, lambda query: [Hit()])
    assert "names no" in run.faults["a"].message


def test_keys_and_public_attributes_are_data() -> None:
    suite = Suite(name="s", path="s", queries=(Query("a", "a"),), id_field="payload._id")
    assert retrieve(suite, lambda query: [Hit()]).first.rankings["a"].ids == ("d1",)
    assert not any(map(is_data, (os, Hit, len, Hit.as_row, [].append, types.FunctionType)))
    assert all(map(is_data, ("x", 1, [], {}, Hit(), None)))


def test_what_judges_see_of_a_result_is_data(project: Project) -> None:
    project.conftest(
        "import os\nos.environ['TOKEN'] = 's3cr3t'\nclass Hit:\n    id = 'd1'\n    def row(self): pass\n"
        "@pytest.fixture\ndef retriever():\n    return lambda query: [Hit()]\n"
    )
    project.suite("show: [row.__globals__.os.environ.TOKEN]\n" + QUERY % "desk")
    project.run("--ir-judge=judge.html")
    for report in project.path.glob("*.html"):
        assert "s3cr3t" not in report.read_text()


# -- files ----------------------------------------------------------------------------------------------------------

TOKEN = "s3cr3t-t0ken"


@pytest.fixture
def checkout(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A checkout of a job, with what jobs and people leave in it."""
    monkeypatch.delenv("CI", raising=False)
    project.conftest("@pytest.fixture\ndef retriever():\n    return lambda query: ['d1']\n")
    for name in (
        "data/q.txt",
        ".env",
        ".cache/q.txt",
        "ignored/q.txt",
        "gha-creds-1.json",
        "build/q.txt",
    ):
        place = project.path / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"{TOKEN}\n" if name != "data/q.txt" else "desk\n")
    (project.path / ".gitignore").write_text(
        "/ignored\n/build\ngha-creds-*\nout.json\nir-report.html\n__pycache__\n"
    )
    git(project.path, "init", "-q")
    git(project.path, "config", "user.token", TOKEN)
    git(project.path, "add", "data", "conftest.py", ".gitignore")
    git(project.path, "commit", "-qm", "data")
    return project


def refused(project: Project, file: str, said: str) -> None:
    project.suite(f"queries: {{file: '{file}', format: text}}\n")
    result = project.run("--ir-judge=judge.html")
    assert result.ret == 2
    result.stdout.fnmatch_lines([f"shop.ir.yaml:1:*{said}*"])
    for report in (*project.path.glob("*.html"), *project.path.glob("out.json")):
        assert TOKEN not in report.read_text()


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (".git/config", "nothing under .git is read"),
        ("data/../.git/config", "nothing under .git is read"),
        (".env", "begin with a dot are not read"),
        (".cache/q.txt", "begin with a dot are not read"),
        (".cache/*.txt", "begin with a dot are not read"),
        ("ignored/q.txt", "tracks, or is new and not ignored; `ir_files` may name it"),
        ("ignored/*.txt", "tracks, or is new and not ignored; `ir_files` may name it"),
        ("gha-creds-*.json", "tracks, or is new and not ignored"),
        ("link.txt", "begin with a dot are not read"),
        ("linked/q.txt", "ignored/q.txt: only a file is read that git tracks"),
        ("sub/config", "nothing under .git is read"),
    ],
)
def test_a_suite_names_the_repositorys_own_files(checkout: Project, file: str, said: str) -> None:
    (checkout.path / "link.txt").symlink_to(".env")
    (checkout.path / "linked").symlink_to("ignored")
    (checkout.path / "sub").symlink_to(".git")
    refused(checkout, file, said)


def test_where_people_work_new_files_and_edited_ones_are_read(checkout: Project) -> None:
    (checkout.path / "data" / "q.txt").write_text("lamp\n")
    (checkout.path / "written-now.txt").write_text("desk\n")
    (checkout.path / "in").symlink_to("data")
    for file in ("data/q.txt", "written-now.txt", "in/q.txt", "data/*.txt"):
        checkout.suite(f"queries: {{file: '{file}', format: text}}\n")
        assert checkout.run().ret == 0, file


def test_in_ci_a_file_is_read_as_git_holds_it(
    checkout: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    checkout.suite("queries: {file: data/q.txt, format: text}\n")
    assert checkout.run().ret == 0
    (checkout.path / "new.txt").write_text(TOKEN)
    refused(checkout, "new.txt", "that git tracks, as git holds it; `ir_files` may name it")
    (checkout.path / "data" / "q.txt").write_text(f"{TOKEN}\n")  # as a job writes a credential
    refused(checkout, "data/q.txt", "that git tracks, as git holds it; `ir_files` may name it")


def test_what_jobs_make_is_named_in_the_ini_file(
    checkout: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judgments exported in CI, data kept by DVC."""
    monkeypatch.setenv("CI", "true")
    (checkout.path / "pytest.ini").write_text("[pytest]\nir_files = build ignored/*.txt .git/*\n")
    for file in ("build/q.txt", "ignored/q.txt"):
        (checkout.path / file).write_text("desk\n")
        checkout.suite(f"queries: {{file: {file}, format: text}}\n")
        assert checkout.run().ret == 0
    refused(checkout, ".git/config", "nothing under .git is read")
    refused(checkout, "gha-creds-1.json", "git tracks, as git holds it")


def test_submodules_are_asked_themselves(
    checkout: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "library"
    (library / "data").mkdir(parents=True)
    (library / "data" / "q.txt").write_text("desk\n")
    git(library, "init", "-q")
    git(library, "add", "-A")
    git(library, "commit", "-qm", "x")
    git(checkout.path, "submodule", "--quiet", "add", str(library), "lib")
    git(checkout.path, "commit", "-qm", "lib")
    monkeypatch.setenv("CI", "1")
    checkout.suite("queries: {file: lib/data/q.txt, format: text}\n")
    assert checkout.run().ret == 0
    (checkout.path / "lib" / "more.txt").write_text(TOKEN)
    refused(checkout, "lib/more.txt", "only a file is read that git tracks")
    git(
        tmp_path, "clone", "-q", str(library), str(checkout.path / "other")
    )  # a job's, no submodule
    refused(checkout, "other/data/q.txt", "only a file is read that git tracks")


def test_beir_folders_and_judgments_are_held_to_it_too(checkout: Project) -> None:
    folder = checkout.path / "ignored"
    (folder / "qrels").mkdir()
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "desk"}\n')
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td1\t1\n")
    checkout.suite("queries: {file: ignored, format: beir}\n")
    assert (
        "ignored/queries.jsonl: only a file is read that git tracks" in checkout.run().stdout.str()
    )
    checkout.suite("queries: [{query: desk}]\njudgments: ignored/q.txt\n")
    assert "ignored/q.txt: only a file is read" in checkout.run().stdout.str()


def test_without_git_no_dot_file_is_read(project: Project) -> None:
    """A source archive, or a container without git."""
    project.conftest("@pytest.fixture\ndef retriever():\n    return lambda query: ['d1']\n")
    (project.path / "q.txt").write_text("desk\n")
    (project.path / ".env").write_text(TOKEN)
    project.suite("queries: {file: q.txt, format: text}\n")
    project.suite("queries: {file: q.txt, format: text}\n", "more.ir.yaml")
    result = project.run()
    assert result.ret == 0
    assert (
        result.stdout.str().count("no git here: suites may name whatever lies below rootdir") == 1
    )
    (project.path / "more.ir.yaml").unlink()
    refused(project, ".env", "begin with a dot are not read")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives files away")
def test_a_checkout_of_another_owner_works(checkout: Project) -> None:
    """As in a container, whose user is not the host's."""
    for at, folders, files in os.walk(checkout.path):
        for name in (at, *(os.path.join(at, one) for one in (*folders, *files))):
            os.lchown(name, 12345, 12345)
    checkout.suite("queries: {file: data/q.txt, format: text}\n")
    assert checkout.run().ret == 0
    refused(checkout, "ignored/q.txt", "only a file is read that git tracks")


# -- what the user named --------------------------------------------------------------------------------------------


def fusion(query: str, top_k: int = 10, k: int = 60) -> list[str]:
    return [f"{top_k}-{k}"]


def sized(query: str, k: int = 60, size: int = 10) -> list[str]:
    return [f"{size}-{k}"]


def limited(query: str, limit: int = 10, n: int = 60) -> list[str]:
    return [f"{limit}-{n}"]


@pytest.mark.parametrize("retriever", [fusion, sized, limited])
def test_a_short_name_is_no_cutoff_beside_a_better_one(retriever: object) -> None:
    suite = Suite(name="s", path="s", queries=(Query("a", "a"),), depth=50)
    assert retrieve(suite, retriever).first.rankings["a"].ids == ("50-60",)


def test_a_name_in_params_is_never_the_cutoff() -> None:
    suite = Suite(name="s", path="s", queries=(Query("a", "a"),), depth=50, params={"top_k": 3})
    assert retrieve(suite, fusion).first.rankings["a"].ids == ("3-50",)


def test_two_names_that_could_be_the_cutoff_are_an_error() -> None:
    suite = Suite(name="s", path="s", queries=(Query("a", "a"),), depth=50)

    def either(query: str, top_k: int = 10, limit: int = 10) -> list[str]:
        return [str(top_k)]

    with pytest.raises(RetrieverError, match="takes 'top_k' and 'limit', and each of them could"):
        retrieve(suite, either)


# -- small forgeries ------------------------------------------------------------------------------------------------
