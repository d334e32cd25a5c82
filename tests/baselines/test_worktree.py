"""The base branch's own code in a worktree: whose code answers, and what is left of it."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.baselines.git_source import GitSource
from pytest_irquality.baselines.sources import Baseline, BaselineError, QueryBatch
from pytest_irquality.baselines.worktree import PytestInvocation, WorktreeSource
from pytest_irquality.suite.model import Query, RetrieverId, RunKey, Settings
from tests.baselines.builders import get_doc_ids, make_suite
from tests.io.helpers import commit_all, make_repository, run_git, write_file

CONFTEST = """\
import pytest


@pytest.fixture
def retriever():
    from shop import search

    return search
"""
GOOD = "def search(query):\n    return ['d1', 'd2']\n"
WORSE = "def search(query):\n    return ['d2', 'd1']\n"
QUERIES = (Query("desk", "desk"), Query("lamp", "lamp"))
COMMAND = (sys.executable, "-m", "pytest")
PLUGINS = "-p no:cacheprovider -p no:randomly -p no:random_order"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project whose good code is on main, with a branch of worse code checked out."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("PYTEST_ADDOPTS", PLUGINS)
    root = make_repository(tmp_path / "shop")
    write_file(root / "conftest.py", CONFTEST)
    write_file(root / "shop.py", GOOD)
    write_file(root / "pytest.ini", "[pytest]\npythonpath = .\n")
    write_file(root / ".gitignore", "__pycache__\nindex\nlinked\n")
    commit_all(root)
    run_git(root, "checkout", "-qb", "change")
    write_file(root / "shop.py", WORSE)
    yield root
    assert list(temporary.iterdir()) == []
    assert run_git(root, "worktree", "list").count("\n") == 0


def change_main(root: Path, **files: str | None) -> None:
    """Commit files on main (``shop_py`` is ``shop.py``), and start the branch again.

    ``None`` deletes a file.
    """
    run_git(root, "stash", "-q")
    run_git(root, "checkout", "-q", "main")
    for name, content in files.items():
        folder, _, ending = name.rpartition("_")
        path = root / f"{folder.replace('__', '/')}.{ending}"
        if content is None:
            path.unlink()
        else:
            write_file(path, content)
    commit_all(root)
    run_git(root, "checkout", "-qB", "change")
    write_file(root / "shop.py", WORSE)


def make_batch(**fields: Any) -> QueryBatch:
    fields.setdefault("key", RunKey(RetrieverId()))
    return QueryBatch(**{"folder": "", "queries": QUERIES, **fields})


def run(
    root: Path, *batches: QueryBatch, command: Sequence[str] = COMMAND, **fields: Any
) -> tuple[WorktreeSource, tuple[Baseline, ...]]:
    git = GitSource(root, "main", label="run:main")
    invocation = PytestInvocation(program=tuple(command), folder=root, **fields)
    source = WorktreeSource(git, invocation)
    source.run(batches or [make_batch()], write_line=lambda line: None)
    return source, source.read_baselines([make_suite()])


def get_error(root: Path, *batches: QueryBatch, **fields: Any) -> str:
    with pytest.raises(BaselineError) as caught:
        run(root, *batches, **fields)
    return str(caught.value)


GOOD_ANSWERS = {"desk": [["d1", "d2"]], "lamp": [["d1", "d2"]]}


# Whose code answers


def test_the_code_of_the_merge_base_answers(shop: Path) -> None:
    """S22: no stored file is needed."""
    commit_all(shop)
    source, (baseline,) = run(shop)

    assert get_doc_ids(baseline.run) == GOOD_ANSWERS
    assert (baseline.retriever, baseline.suite_path) == (RetrieverId(), "shop.ir.yaml")
    base = run_git(shop, "rev-parse", "main")
    assert (source.label, source.commit) == ("run:main", base)
    assert baseline.run.provenance.commit == base
    assert baseline.run.provenance.source == "run:main"


def test_queries_are_run_as_the_current_branch_asks_for_it(shop: Path) -> None:
    code = "def search(query, k, boost=1):\n    return [(query, boost), ('k', k)]\n"
    change_main(shop, shop_py=code)
    query = Query("x", "x", params={"boost": 2.5})

    _, (baseline,) = run(shop, make_batch(queries=(query,), depth=7, settings=Settings(repeat=2)))

    rankings = baseline.run.answers[query.request]
    assert [ranking.doc_ids for ranking in rankings] == [("x", "k"), ("x", "k")]
    assert list(rankings[0].scores or ()) == [2.5, 7.0]


FINDER = """\
import importlib.machinery, sys

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "shop":
            return importlib.machinery.PathFinder.find_spec(name, [{folder!r}])

sys.meta_path.insert(0, Finder)
"""
CHILD_CONFTEST = """\
import ast, subprocess, sys
import pytest

CODE = "import shop; print(shop.search('x'))"


@pytest.fixture
def retriever():
    return lambda query: ast.literal_eval(subprocess.check_output([sys.executable, "-c", CODE], text=True))
"""


@pytest.mark.slow
@pytest.mark.parametrize("installation", ["path", "finder", "finder in a child"])
def test_an_editable_install_never_lets_current_code_answer(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installation: str
) -> None:
    """S22: src layout, installed as an editable package."""
    conftest = CHILD_CONFTEST if installation == "finder in a child" else CONFTEST
    change_main(
        shop,
        shop_py=None,
        src__shop_py=GOOD,
        conftest_py=conftest,
        pyproject_toml="[project]\nname = 'shop'\n",
        pytest_ini="[pytest]\n",
    )
    (shop / "shop.py").unlink()
    write_file(shop / "src/shop.py", WORSE)
    site = tmp_path / "site"
    write_file(site / "sitecustomize.py", FINDER.format(folder=str(shop / "src")))
    folder = shop / "src" if installation == "path" else site
    monkeypatch.setenv("PYTHONPATH", str(folder))

    _, (baseline,) = run(shop)

    assert get_doc_ids(baseline.run) == GOOD_ANSWERS


@pytest.mark.slow
def test_a_module_that_only_the_current_branch_has_is_missing(shop: Path) -> None:
    indented = GOOD.replace("\n", "\n    ")
    code = f"try:\n    from faster import search\nexcept ImportError:\n    {indented}"
    change_main(shop, shop_py=code)
    write_file(shop / "faster.py", WORSE)

    _, (baseline,) = run(shop)

    assert get_doc_ids(baseline.run) == GOOD_ANSWERS


@pytest.mark.slow
def test_a_copy_from_elsewhere_is_an_error(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(tmp_path / "other/shop.py", GOOD)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "other"))
    change_main(shop, shop_py=None, pytest_ini="[pytest]\n", src__shop_py=GOOD)

    message = get_error(shop)

    assert f"imported shop from {tmp_path}/other/shop.py, not from its own checkout." in message
    assert "Set 'ir_base_command'" in message


READING = """\
import os
INDEX = os.path.join({folder}, "index")


def search(query):
    with open(INDEX) as file:
        return file.read().split()
"""


def test_a_file_that_this_change_edits_is_not_read_by_the_base(shop: Path) -> None:
    """S45: the base answers with its own data file."""
    change_main(shop, shop_py=READING.format(folder="os.path.dirname(__file__)"), data_txt="x")
    write_file(shop / "index", "d1 d2")
    run_git(shop, "add", "-f", "index")
    run_git(shop, "stash", "-q")
    run_git(shop, "checkout", "-q", "main")
    write_file(shop / "index", "d1 d2")
    run_git(shop, "add", "-f", "index")
    commit_all(shop)
    run_git(shop, "checkout", "-qB", "change")
    write_file(shop / "index", "broken")

    _, (baseline,) = run(shop)
    assert get_doc_ids(baseline.run) == GOOD_ANSWERS

    change_main(shop, shop_py=READING.format(folder=repr(str(shop))))
    write_file(shop / "index", "d2 d1")
    assert f"read {shop}/index, which this change edits." in get_error(shop)


@pytest.mark.slow
def test_untracked_files_are_linked_if_they_are_named(shop: Path) -> None:
    change_main(shop, shop_py=READING.format(folder="os.path.dirname(__file__)"))
    write_file(shop / "index", "d1 d2")

    source, baselines = run(shop)
    assert baselines == ()
    (message,) = source.errors.values()
    assert "answered no query with 'retriever': FileNotFoundError" in message
    assert "'ir_base_link'" in message

    source, (baseline,) = run(shop, links=("index",))
    assert get_doc_ids(baseline.run) == GOOD_ANSWERS
    (notice,) = source.notes
    assert str(notice) == "Both branches read the current files of 'ir_base_link': index"


@pytest.mark.slow
def test_links_that_lead_back_to_current_code_are_refused(shop: Path) -> None:
    write_file(shop / "linked/inner/file", "x")
    (shop / "linked/inner/code").symlink_to("../../shop.py")

    assert "the link 'linked/inner/code' leads back into" in get_error(shop, links=("linked",))
    assert "There is no 'nothing' in the checkout" in get_error(shop, links=("nothing",))


@pytest.mark.slow
def test_a_project_in_a_subfolder_is_run_there(shop: Path) -> None:
    change_main(
        shop,
        deep__conftest_py=CONFTEST,
        deep__shop_py=GOOD,
        deep__pytest_ini="[pytest]\npythonpath = .\n",
    )
    write_file(shop / "deep/shop.py", WORSE)
    root = shop / "deep"
    source = WorktreeSource(
        GitSource(root, "main", label="run:main"),
        PytestInvocation(program=COMMAND, folder=root, arguments=(str(root),)),
    )

    source.run([make_batch()], write_line=lambda line: None)

    (baseline,) = source.read_baselines([])
    assert get_doc_ids(baseline.run) == GOOD_ANSWERS


# What the base lacks


def test_a_retriever_that_the_base_lacks_is_missing(shop: Path) -> None:
    other = RunKey(RetrieverId("later_retriever"))

    source, baselines = run(shop, make_batch(), make_batch(key=other))

    assert len(baselines) == 1
    assert "later_retriever" in source.retriever_errors[other]


@pytest.mark.slow
def test_each_parameter_of_the_base_answers(shop: Path) -> None:
    parametrized = CONFTEST.replace("fixture\n", "fixture(params=['bm25', 'dense'])\n")
    parametrized = parametrized.replace("def retriever()", "def retriever(request)")
    parametrized = parametrized.replace("return search", "return lambda query: [request.param]")
    change_main(shop, conftest_py=parametrized)

    _, baselines = run(shop)

    answers = {str(baseline.retriever): get_doc_ids(baseline.run)["desk"] for baseline in baselines}
    assert answers == {"retriever[bm25]": [["bm25"]], "retriever[dense]": [["dense"]]}


@pytest.mark.slow
def test_answers_travel_to_workers(shop: Path, tmp_path: Path) -> None:
    missing = RunKey(RetrieverId("later_retriever"))
    source, baselines = run(shop, make_batch(), make_batch(key=missing))
    folder = tmp_path / "shared"
    folder.mkdir()

    source.save(folder)
    other = WorktreeSource(source.git, source.invocation)
    other.saved_folder = folder

    assert other.read_baselines([make_suite()]) == baselines
    assert other.retriever_errors == source.retriever_errors


BROKEN = {
    "syntax error": ({"conftest_py": "def broken(:\n"}, "SyntaxError"),
    "exit": ({"conftest_py": "import os\nos._exit(0)\n"}, "gave no answers (exit status 0)"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BROKEN)
def test_a_base_that_cannot_be_run_is_an_error_with_its_last_lines(shop: Path, case: str) -> None:
    files, message = BROKEN[case]
    change_main(shop, **files)
    write_file(shop / "conftest.py", CONFTEST)

    error = get_error(shop)

    assert error.startswith("--ir-baseline=run:main: the base branch (")
    assert message in error


def test_a_command_that_cannot_run_the_base_is_an_error(shop: Path) -> None:
    assert "'ir_base_command': " in get_error(shop, command=("no-such-program", "run"))
    isolated = (sys.executable, "-I", "-m", "pytest")
    assert "did not check where its imports come from" in get_error(shop, command=isolated)


# Both sides


def test_files_of_code_that_differ_are_counted(shop: Path) -> None:
    write_file(shop / "README.md", "x")
    write_file(shop / "test_shop.py", "x")
    write_file(shop / "shop.ir.yaml", "x")
    write_file(shop / "settings.json", "{}")
    run_git(shop, "add", "-A")
    source = WorktreeSource(GitSource(shop, "main"), PytestInvocation())

    assert source.count_changed_files([shop / "shop.ir.yaml"]) == 2


# What is left


WAITING = """\
import os, time
import pytest


@pytest.fixture
def retriever():
    with open({path!r}, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(300)
"""
RUN_SCRIPT = """\
import shutil
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
from tests.baselines.test_worktree import run
run(Path(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals differ")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_of_an_interrupted_run(shop: Path, tmp_path: Path, number: int) -> None:
    started = tmp_path / "started"
    change_main(shop, conftest_py=WAITING.format(path=str(started)))
    repository = Path(__file__).parents[2]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": str(repository)}
    command = [sys.executable, "-c", RUN_SCRIPT, str(shop)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        while not started.exists() or not started.read_text():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        process.wait(timeout=60)
    pid = int(started.read_text())
    while Path("/proc", str(pid)).exists():
        time.sleep(0.02)
    # A killed process ends what it started, but cannot remove its folder.
    for folder in (tmp_path / "tmp").iterdir():
        assert number == signal.SIGKILL
        run_git(shop, "worktree", "remove", "--force", str(folder / "tree"))
        shutil.rmtree(folder)


@pytest.mark.slow
def test_processes_that_the_base_starts_are_ended(shop: Path, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    command = shlex.join([sys.executable, "-c", "import time; time.sleep(300)"])
    starting = (
        "import subprocess\n"
        f"process = subprocess.Popen({shlex.split(command)!r}, start_new_session=True)\n"
        f"open({str(pid_file)!r}, 'w').write(str(process.pid))\n"
    )
    change_main(shop, shop_py=starting + GOOD)

    run(shop)

    assert not Path("/proc", pid_file.read_text()).exists()
