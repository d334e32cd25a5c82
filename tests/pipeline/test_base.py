"""``--ir-baseline=run:REF`` over real repositories: who answers for the base, what the base is, and what is left of it."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ALONE, QUIET, Project, await_end, installed
from tests.repository import git

pytestmark = pytest.mark.slow

SUITE = """\
queries:
  - {query: desk, relevant: [d1]}
  - {query: lamp, relevant: [d1]}
thresholds: {mrr: {min: 0.1, max_drop: 0.05}}
"""
CONFTEST = """\
@pytest.fixture
def retriever():
    from shop import search
    return search
"""
GOOD = "def search(query):\n    return ['d1', 'd2']\n"
WORSE = "def search(query):\n    return ['d2', 'd1']\n"
RUN = "--ir-baseline=run:main"


@pytest.fixture
def shop(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Project]:
    """A flat project whose code is on main, with a branch checked out."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))  # so that one sees what is left
    project.suite(SUITE)
    project.conftest(CONFTEST)
    write(project, "shop.py", GOOD)
    write(project, "pytest.ini", "[pytest]\npythonpath = .\n")
    write(project, ".gitignore", "ir-report.html\nout.json\n__pycache__\n.pytest_cache\n/index\n")
    git(project.path, "init", "-q", "-b", "main")
    commit(project, "main")
    git(project.path, "checkout", "-qb", "change")
    yield project
    assert os.listdir(tmp_path / "tmp") == []
    assert git(project.path, "worktree", "list").count("\n") == 1


def write(project: Project, name: str, text: str) -> None:
    path = project.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def commit(project: Project, message: str = "change") -> None:
    git(project.path, "add", "-A")
    git(project.path, "commit", "-qm", message)


def base_of(project: Project) -> str:
    return git(project.path, "rev-parse", "--short=7", "main").strip()


def fell(project: Project) -> bool:
    return project.outcomes()["mrr-10"] == "failed"


# -- whose code answers -------------------------------------------------------------------------------------------------


def test_s22_a_drop_is_red_without_any_stored_file(shop: Project) -> None:
    write(shop, "shop.py", WORSE)
    commit(shop)
    result = shop.run(RUN)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["mrr@10 fell 1.000 → 0.500, by 0.500: more than max_drop 0.050*"])
    baseline = shop.data["suites"][0]["baseline"]
    assert (baseline["source"], baseline["commit"]) == ("run:main", base_of(shop))
    assert not (shop.path / ".ir-baseline").exists()
    outcomes = shop.outcomes()
    # The same verdicts as with a stored one.
    git(shop.path, "checkout", "-q", "main")
    shop.run("--ir-update-baseline")
    git(shop.path, "checkout", "-q", "change")
    shop.run()
    assert shop.outcomes() == outcomes


def test_the_base_has_the_heads_environment_but_what_is_gits(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INDEX_OF", "d1 d2")
    monkeypatch.setenv("GIT_EDITOR", "true")
    git(shop.path, "checkout", "-q", "main")
    reads = "os.environ['INDEX_OF'].split() if 'GIT_EDITOR' not in os.environ else []"
    write(shop, "shop.py", f"import os\ndef search(query):\n    return {reads}\n")
    commit(shop, "reads its environment")
    git(shop.path, "checkout", "-q", "-B", "change")
    write(shop, "shop.py", WORSE)
    commit(shop)
    shop.run(RUN).stdout.fnmatch_lines(["mrr@10 fell 1.000 → 0.500, by 0.500: *"])


def test_a_module_of_the_base_goes_before_none_of_pythons_own(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["pytest"])  # as the script starts it, whoever runs these
    git(shop.path, "checkout", "-q", "main")
    write(shop, "shlex.py", "raise SystemExit('the base imported it')\n")
    commit(shop)
    git(shop.path, "checkout", "-q", "change")
    git(shop.path, "merge", "-q", "main")
    write(shop, "shop.py", WORSE)
    commit(shop)
    shop.run(RUN)
    assert fell(shop)


def test_mains_own_progress_is_not_the_changes_loss(shop: Project) -> None:
    write(shop, "other.txt", "x")
    commit(shop)
    git(shop.path, "checkout", "-q", "main")
    write(shop, "shop.py", GOOD.replace("['d1', 'd2']", "['d1']"))
    commit(shop, "main gets better")
    git(shop.path, "checkout", "-q", "change")
    result = shop.run(RUN)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*none of 2 rankings changed"])


@pytest.mark.usefixtures("pages")
def test_where_no_ranking_differs_the_headline_asks_who_answered(shop: Project) -> None:
    """A server of its own answers for both sides, and nothing here can see it."""
    asks = "did both sides speak to one service?"
    speak = "    with socket.socket() as one:\n        one.connect_ex(('127.0.0.1', 9))\n"
    asked = f"import socket\n{GOOD}".replace("    return", f"{speak}    return")
    git(shop.path, "checkout", "-q", "main")
    write(shop, "shop.py", asked)
    commit(shop, "speaks to a server")
    git(shop.path, "checkout", "-qB", "change")
    for name in ("README.md", "tests/test_shop.py", "test_more.py", ".ir-baseline/old.jsonl", "docs/a.txt"):  # fmt: skip
        write(shop, name, "")
    commit(shop, "tests and words")
    assert "no ranking differs" not in shop.run(RUN).stdout.str()
    write(shop, "shop.py", (shop.path / "shop.py").read_text() + "# other code\n")
    write(shop, "settings.json", "{}")
    commit(shop, "code")
    result = shop.run(RUN, "--ir-markdown=out.md")
    assert result.ret == 0
    said = f"no ranking differs although 2 files changed: {asks}"
    result.stdout.fnmatch_lines([f"✓ passed  shop (shop.ir.yaml): *, but {said}"])
    assert said in (shop.path / "out.md").read_text()
    assert said in (shop.path / "ir-report.html").read_text()
    write(shop, "shop.py", GOOD.replace("'d2'", "'d3'"))
    assert asks not in shop.run(RUN).stdout.str()


def test_where_neither_side_spoke_to_another_process_it_is_a_note(shop: Project) -> None:
    write(shop, "shop.py", GOOD + "# other code\n")
    commit(shop, "code")
    run = shop.pytester.runpytest_subprocess  # here other tests may have left a connection open
    result = run("--ir-suite", RUN, *QUIET)
    assert "did both sides" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*no ranking differs, although 1 file of code or data changed*"])
    assert "but no ranking" not in result.stdout.str()
    # What no hook of Python sees: a connection that stands open.
    opens = """
@pytest.fixture(autouse=True, scope="session")
def connected():
    import os, socket
    with socket.create_server(("127.0.0.1", 0)) as server:
        if os.environ["IRQUALITY_SIDE"] == "base":
            yield
            return
        with socket.create_connection(server.getsockname()):
            yield
"""
    shop.conftest(CONFTEST + opens)
    git(shop.path, "checkout", "-q", "main")
    commit(shop, "opens")
    git(shop.path, "checkout", "-qB", "change")
    write(shop, "shop.py", GOOD + "# other code\n")
    commit(shop, "code")
    run("--ir-suite", RUN, *QUIET).stdout.fnmatch_lines(["*did both sides speak to one service?*"])


FINDER = """\
import importlib.machinery, sys
class Exact:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "shop":
            return importlib.machinery.PathFinder.find_spec(name, [%r])
sys.meta_path.insert(0, Exact)
"""
ASKED_ELSEWHERE = """\
@pytest.fixture
def retriever():
    import ast, subprocess, sys
    code = "import shop; print(shop.search('x'))"
    return lambda query: ast.literal_eval(subprocess.check_output([sys.executable, "-c", code], text=True))
"""


@pytest.mark.parametrize("installed", ["path", "finder", "finder in a child"])
def test_an_editable_install_never_lets_the_heads_code_answer(
    shop: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: str
) -> None:
    git(shop.path, "checkout", "-q", "main")
    (shop.path / "shop.py").unlink()
    write(shop, "src/shop.py", GOOD)
    write(shop, "pyproject.toml", "[project]\nname = 'shop'\n")
    write(shop, "pytest.ini", "[pytest]\n")
    if installed == "finder in a child":
        shop.conftest(ASKED_ELSEWHERE)
    commit(shop, "src layout")
    git(shop.path, "checkout", "-q", "-B", "change")
    write(shop, "src/shop.py", WORSE)
    site = tmp_path / "site"
    site.mkdir()
    if installed != "path":  # as setuptools does it for an editable install that is strict
        (site / "sitecustomize.py").write_text(FINDER % str(shop.path / "src"))
    places = [str(site), *([str(shop.path / "src")] if installed == "path" else ())]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*places, os.environ.get("PYTHONPATH", "")]))
    result = shop.pytester.runpytest_subprocess("--ir-suite", "--ir-json=out.json", RUN, *QUIET)
    assert result.ret == 1, result.stdout.str() + result.stderr.str()
    assert fell(shop)


def test_a_module_that_only_the_head_has_is_not_there_for_the_base(shop: Project) -> None:
    write(
        shop,
        "shop.py",
        "try:\n    from faster import search\nexcept ImportError:\n    "
        + GOOD.replace("\n", "\n    "),
    )
    git(shop.path, "checkout", "-q", "main")
    commit(shop, "looks for more")
    git(shop.path, "checkout", "-q", "-B", "change")
    write(shop, "faster.py", WORSE)
    shop.run(RUN)
    assert fell(shop)


def test_a_copy_from_elsewhere_is_an_error_that_names_it_and_the_remedy(
    shop: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop.path / "shop.py").unlink()
    write(shop, "src/shop.py", GOOD)
    git(shop.path, "checkout", "-q", "main")
    commit(shop, "src layout, and shop is installed")
    git(shop.path, "checkout", "-q", "-B", "change")
    other = tmp_path / "other"
    other.mkdir()
    (other / "shop.py").write_text(GOOD)
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(other), os.environ.get("PYTHONPATH", "")])
    )
    result = shop.run(RUN)
    assert result.ret == 4
    result.stderr.fnmatch_lines([
        f"ERROR: --ir-baseline run:main: the base {base_of(shop)} imported shop from {other}/shop.py, not from its own"
        " checkout; set ir_base_command to what runs pytest on its own code (such as `uv run pytest`)",
    ])  # fmt: skip
    # The remedy: an environment in which the base's own code comes first.
    code = "import sys, pytest; sys.path.insert(0, 'src'); sys.exit(pytest.main())"
    command = shlex.join([sys.executable, "-c", code])
    write(shop, "pytest.ini", f"[pytest]\nir_base_command = {command}\n")
    monkeypatch.syspath_prepend(other)
    assert shop.run(RUN).ret == 0


READS = "import os\nINDEX = os.path.join({folder}, 'index')\ndef search(query):\n    with open(INDEX) as file:\n        return file.read().split()\n"


def test_files_of_the_head_that_the_base_reads(shop: Project) -> None:
    write(shop, "shop.py", READS.format(folder=repr(str(shop.path))))
    write(shop, "index", "d1 d2")
    git(shop.path, "checkout", "-q", "main")
    git(shop.path, "add", "-f", "index")
    commit(shop, "a path that is absolute")
    git(shop.path, "checkout", "-q", "-B", "change")
    assert shop.run(RUN).ret == 0  # the same file on both sides
    write(shop, "index", "d2 d1")
    result = shop.run(RUN)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [f"*the base {base_of(shop)} read {shop.path}/index, which this change alters: *"]
    )


def test_what_git_does_not_track_is_linked_where_it_is_named(shop: Project) -> None:
    write(shop, "shop.py", READS.format(folder="os.path.dirname(__file__)"))
    git(shop.path, "checkout", "-q", "main")
    commit(shop, "an index that is built")
    git(shop.path, "checkout", "-q", "-B", "change")
    write(shop, "index", "d1 d2")
    result = shop.run(RUN)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            "*answered no query of shop.ir.yaml: FileNotFoundError: *index*; name files that git does not track in ir_base_link"
        ]
    )
    write(shop, "pytest.ini", "[pytest]\npythonpath = .\nir_base_link = index\n")
    result = shop.run(RUN)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*of today's on both sides (ir_base_link): index"])
    write(shop, "pytest.ini", "[pytest]\npythonpath = .\nir_base_link = inedx\n")
    shop.run(RUN).stderr.fnmatch_lines(
        ["*: ir_base_link: inedx: there is no such file or folder in the checkout"]
    )


# -- what the base is ---------------------------------------------------------------------------------------------------


def test_a_suite_that_the_base_lacks_is_run_and_new_only_without_its_fixture(shop: Project) -> None:
    shop.suite(SUITE, "more.ir.yaml")
    shop.suite(
        SUITE.replace("queries:", "retriever: later_retriever\nqueries:", 1), "later.ir.yaml"
    )
    shop.conftest(
        CONFTEST + "@pytest.fixture\ndef later_retriever():\n    return lambda query: ['d9']\n"
    )
    write(shop, "shop.py", WORSE)
    result = shop.run(RUN, "-v")
    assert result.ret == 1
    outcomes = {suite["path"]: suite["verdicts"] for suite in shop.data["suites"]}
    failed = {
        path: [v["check"] for v in some if v["outcome"] == "failed"]
        for path, some in outcomes.items()
    }
    assert failed == {
        "shop.ir.yaml": ["mrr-10"],
        "more.ir.yaml": ["mrr-10"],
        "later.ir.yaml": ["mrr-10"],
    }
    result.stdout.fnmatch_lines(
        [f"*the base {base_of(shop)} has neither the suite nor its fixture"]
    )
    text = result.stdout.str()
    assert text.count("mrr@10 fell 1.000 → 0.500") >= 2  # of later.ir.yaml the floor alone


def test_a_retriever_that_the_base_does_not_declare_is_new_and_never_asked(shop: Project) -> None:
    asked = (
        "@pytest.fixture\ndef engine():\n    open('asked', 'w')\n    return lambda query: ['d1']\n"
    )
    shop.conftest(CONFTEST + asked)
    git(shop.path, "checkout", "-q", "main")
    commit(shop, "an engine that no suite may ask")
    git(shop.path, "checkout", "-q", "-B", "change")
    shop.suite(SUITE.replace("queries:", "retriever: engine\nqueries:", 1))
    write(shop, "pytest.ini", "[pytest]\npythonpath = .\nir_retrievers = engine\n")
    result = shop.run(RUN)
    result.stdout.fnmatch_lines(
        [f"*the base {base_of(shop)} declares no retriever 'engine' (ir_retrievers)"]
    )


BROKEN = {
    "renamed": (CONFTEST.replace("def retriever", "def searcher"), GOOD, "no fixture 'retriever'"),
    "syntax": (CONFTEST, "def search(query:\n", "SyntaxError"),
    "dependency": (CONFTEST, "import gone_for_good\n" + GOOD, "No module named 'gone_for_good'"),
    "skip": (CONFTEST.replace("    from", "    pytest.skip('no engine')\n    from"), GOOD, "2 skipped|skipped"),
    "abort": (CONFTEST, "import os\nos._exit(0)\n", "exit status 0"),
    "silent": (CONFTEST, "import os\ndef search(query):\n    raise OSError('index is down')\n", "OSError: index is down"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_base_that_gives_no_answers_is_an_error_with_its_last_lines(
    shop: Project, case: str
) -> None:
    conftest, code, said = BROKEN[case]
    git(shop.path, "checkout", "-q", "main")
    shop.conftest(conftest)
    write(shop, "shop.py", code)
    commit(shop, case)
    git(shop.path, "checkout", "-q", "-B", "change")
    shop.conftest(CONFTEST)
    write(shop, "shop.py", GOOD)
    result = shop.run(RUN)
    assert result.ret == 4
    assert any(word in result.stderr.str() for word in said.split("|")), result.stderr.str()
    assert f"the base {base_of(shop)}" in result.stderr.str()


def test_one_retriever_is_the_same_whatever_its_name_and_another_is_new(shop: Project) -> None:
    named = CONFTEST.replace("fixture\n", "fixture(params=%r)\n")
    shop.conftest(named % (["bm25"],))
    write(shop, "shop.py", WORSE)
    shop.run(RUN)
    assert fell(shop)
    git(shop.path, "stash", "-q")
    git(shop.path, "checkout", "-q", "main")
    shop.conftest(named % (["bm25"],))
    commit(shop, "named")
    git(shop.path, "checkout", "-q", "-B", "change")
    shop.conftest(named % (["bm25", "hybrid"],))
    write(shop, "shop.py", WORSE)
    result = shop.run(RUN, "-v")
    by_name = {
        suite["retriever"]: {v["check"]: v["outcome"] for v in suite["verdicts"]}["mrr-10"]
        for suite in shop.data["suites"]
    }
    assert by_name == {"bm25": "failed", "hybrid": "passed"}
    result.stdout.fnmatch_lines(["*has no such retriever, but 'bm25'"])


def test_a_base_that_answers_some_says_how_many(shop: Project) -> None:
    git(shop.path, "checkout", "-q", "main")
    write(shop, "shop.py", GOOD.replace("return", "assert query != 'lamp', 'no lamps'\n    return"))
    commit(shop, "no lamps")
    git(shop.path, "checkout", "-q", "-B", "change")
    write(shop, "shop.py", GOOD)
    result = shop.run(RUN)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*answered 1 of 2 queries; the first that it did not: AssertionError: no lamps*"]
    )


def test_a_module_that_a_build_writes_is_missing_until_it_is_linked(shop: Project) -> None:
    write(shop, "shop.py", "from _version import NUMBER\n" + GOOD)
    write(shop, ".gitignore", (shop.path / ".gitignore").read_text() + "_version.py\n")
    git(shop.path, "checkout", "-q", "main")
    commit(shop, "a version that a build writes")
    git(shop.path, "checkout", "-q", "-B", "change")
    write(shop, "_version.py", "NUMBER = 1\n")
    write(shop, "shop.py", "from _version import NUMBER\n" + WORSE)
    result = shop.run(RUN)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*No module named '_version'*", "*ir_base_link"])
    write(shop, "pytest.ini", "[pytest]\npythonpath = .\nir_base_link = _version.py\n")
    assert shop.run(RUN).ret == 1
    assert fell(shop)


@pytest.mark.parametrize("case", ["importlib", "an option that only the head has", "no plugin"])
def test_pytest_is_set_up_otherwise_on_one_side(
    shop: Project, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(shop, "shop.py", WORSE)
    if case == "importlib":
        result = shop.run(RUN, "--import-mode=importlib")
        assert result.ret == 1
        assert fell(shop)
        return
    options, said = ["--faster"], "unrecognized arguments: --faster"
    if case == "no plugin":
        installed(monkeypatch)
        program = f"{sys.executable} -m pytest -p no:irquality"
        write(shop, "pytest.ini", f"[pytest]\npythonpath = .\nir_base_command = {program}\n")
        options, said = [], "unrecognized arguments: --ir-suite"
    adds = "def pytest_addoption(parser):\n    parser.addoption('--faster', action='store_true')\n"
    shop.conftest(CONFTEST + adds)
    command = [sys.executable, "-m", "pytest", "--ir-suite", RUN, *options, *QUIET]
    done = subprocess.run(command, cwd=shop.path, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert said in done.stderr
    assert f"the base {base_of(shop)} gave no answers" in done.stderr


def test_without_a_cache_where_every_setting_must_be_known(shop: Project) -> None:
    write(shop, "shop.py", WORSE)
    assert shop.run(RUN, "-p", "no:cacheprovider", "--strict-config").ret == 1
    assert fell(shop)


def test_temporary_files_may_lie_in_the_checkout(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(shop, "shop.py", WORSE)
    (shop.path / "index").mkdir()
    with monkeypatch.context() as here:
        here.setattr(tempfile, "tempdir", str(shop.path / "index"))
        assert shop.run(RUN).ret == 1
    assert fell(shop)
    assert os.listdir(shop.path / "index") == []


@pytest.mark.skipif(not shutil.which("uv"), reason="uv is not installed")
def test_an_environment_of_the_bases_own(shop: Project) -> None:
    """As `uv run` makes one: the head's environment stays as it is, the base's is made of its own lock file."""
    git(shop.path, "checkout", "-q", "main")
    write(shop, "pytest.ini", "[pytest]\npythonpath = .\nir_base_command = uv run pytest\n")
    root = Path(__file__).parents[2]
    write(
        shop,
        "pyproject.toml",
        "[project]\nname = 'shop'\nversion = '1'\nrequires-python = '>=3.10'\n"
        "dependencies = ['pytest-irquality']\n"
        f"[tool.uv]\npackage = false\nsources = {{pytest-irquality = {{path = '{root}'}}}}\n",
    )
    write(shop, ".gitignore", (shop.path / ".gitignore").read_text() + ".venv\n")
    uv = ["uv", "run", "--quiet", "--python", sys.executable]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    synced = subprocess.run(
        [*uv, "true"], cwd=shop.path, env=kept, capture_output=True, check=False
    )
    if synced.returncode:
        pytest.skip(f"uv could not make an environment: {synced.stderr.decode()[-300:]}")
    commit(shop, "uv")
    git(shop.path, "checkout", "-q", "-B", "change")
    write(shop, "shop.py", WORSE)
    done = subprocess.run(
        [*uv, "pytest", "--ir-suite", RUN], cwd=shop.path, env=kept, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "mrr@10 fell 1.000 → 0.500" in done.stdout


def test_where_the_merge_base_is_head_only_uncommitted_changes_are_compared(shop: Project) -> None:
    write(shop, "shop.py", WORSE)
    result = shop.run(RUN, "-v")
    assert fell(shop)
    result.stdout.fnmatch_lines(["*the merge base is HEAD: only uncommitted changes are compared"])


def test_what_a_suite_names_is_asked_and_never_laid_over_the_base(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of queries may be the retriever's own synonyms: the base must find its own."""
    monkeypatch.delenv("CI", raising=False)  # where a file that was edited would be refused
    code = "import pathlib\ndef search(query):\n    return pathlib.Path(__file__).with_name('synonyms.txt').read_text().split()\n"
    write(shop, "shop.py", code)
    write(shop, "synonyms.txt", "d1 d2\n")
    commit(shop, "synonyms")
    git(shop.path, "checkout", "-q", "-B", "main")
    git(shop.path, "checkout", "-q", "-B", "change")
    shop.suite(SUITE + "judgments: more.jsonl\n")
    suite = SUITE.replace("queries:\n", "queries:\n  - {file: synonyms.txt, format: text}\n")
    shop.suite(suite)
    write(shop, "synonyms.txt", "d2 d1\n")
    shop.run(RUN)
    assert fell(shop)
    write(shop, "shop.py", code.replace("'synonyms.txt'", "'shop.py'"))
    shop.suite(suite.replace("synonyms.txt", "shop.py"))
    shop.run(RUN)  # code is as good a list of queries as any
    assert fell(shop)


def test_a_suite_in_a_folder_that_the_base_lacks_is_asked_with_the_fixtures_above(
    shop: Project,
) -> None:
    shop.suite(SUITE, "new/deep/more.ir.yaml")
    write(shop, "shop.py", WORSE)
    result = shop.run(RUN, "new")
    assert result.ret == 1
    assert fell(shop)


def test_measures_and_variants_that_the_base_does_not_know_are_no_matter_of_its(
    shop: Project,
) -> None:
    """It is asked the queries alone."""
    shop.suite(
        SUITE.replace("{mrr:", "{mine: {min: 0.5}, mrr:").replace(
            "query: desk,", "query: desk, variants: [DESK],"
        )
        + "params: {boost: [1.5, -2]}\nrobustness: {mrr: {max_drop: 0.5}}\n"
    )
    shop.conftest(
        CONFTEST
        + """\
from pytest_irquality import own_measure
def pytest_ir_measures(config):
    return [own_measure("mine", lambda ranking, grades, k: 1.0)]
"""
    )
    write(shop, "shop.py", "def search(query, boost):\n    return ['d1', 'd2']\n")
    git(shop.path, "checkout", "-q", "main")
    write(shop, "shop.py", "def search(query, boost):\n    return ['d1', 'd2']\n")
    git(shop.path, "commit", "-qm", "boost", "shop.py")
    git(shop.path, "checkout", "-q", "-B", "change")
    write(
        shop,
        "shop.py",
        "def search(query, boost):\n    return ['d2', 'd1'] if query == 'DESK' else ['d1', 'd2']\n",
    )
    result = shop.run(RUN, "-v")
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["*1 variant of 1 query*"])


def test_a_link_of_the_base_that_leads_back_into_the_checkout_is_refused(shop: Project) -> None:
    """As those of workspaces do: today's code would answer for the base."""
    write(shop, "shop.py", READS.format(folder="os.path.dirname(__file__)"))
    git(shop.path, "checkout", "-q", "main")
    commit(shop, "an index that is built")
    git(shop.path, "checkout", "-q", "-B", "change")
    write(shop, "pytest.ini", "[pytest]\npythonpath = .\nir_base_link = index kept\n")
    write(shop, "index/mine/file", "d1 d2")
    write(shop, "kept/one", "x")
    (shop.path / "index" / "fine").symlink_to("../kept/one")
    (outside := shop.path.parent / "outside").mkdir(
        exist_ok=True
    )  # not /usr: pytest would collect it
    (shop.path / "index" / "mine" / "out").symlink_to(outside)
    (shop.path / "index" / "mine" / "shop").symlink_to("../../lib")
    write(shop, "lib/code.py", "")
    result = shop.run(RUN)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*: ir_base_link: index: index/mine/shop leads back into the checkout, so that today's*"]
    )


# -- how it is run ------------------------------------------------------------------------------------------------------


def test_the_bases_addopts_select_and_distribute_nothing(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_PLUGINS", ALONE["PYTEST_PLUGINS"] + ",xdist.plugin")
    git(shop.path, "checkout", "-q", "main")
    ini = "[pytest]\npythonpath = .\naddopts = -n2 -x --lf -k nothing --junitxml=j.xml --ir-json=b.json\n"
    write(shop, "pytest.ini", ini)
    commit(shop, "options")
    git(shop.path, "checkout", "-q", "-B", "change")
    write(shop, "pytest.ini", "[pytest]\npythonpath = .\n")
    write(shop, "shop.py", WORSE)
    result = shop.run(RUN, "-k", "mrr")
    result.assert_outcomes(failed=1, deselected=3)
    assert fell(shop)


def test_under_xdist_the_controller_runs_it_once(shop: Project) -> None:
    git(shop.path, "checkout", "-q", "main")
    write(shop, "shop.py", f"{GOOD}open({str(shop.path.parent / 'counted')!r}, 'a').write('.')\n")
    commit(shop, "counts")
    git(shop.path, "checkout", "-q", "-B", "change")
    write(shop, "shop.py", WORSE)
    result = shop.pytester.runpytest_subprocess(
        "--ir-suite", "--ir-json=out.json", "-p", "xdist", "-n2", RUN, *QUIET
    )
    assert result.ret == 1
    assert fell(shop)
    assert (shop.path.parent / "counted").read_text() == "."
    write(shop, "shop.py", "broken(\n")
    git(shop.path, "checkout", "-q", "main")
    commit(shop, "broken")
    result = shop.pytester.runpytest_subprocess(
        "--ir-suite", "-p", "xdist", "-n2", "--dist=loadfile", RUN, *QUIET
    )
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: --ir-baseline run:main: the base * gave no answers*", "  | *SyntaxError*"]
    )


def test_from_a_subfolder_with_an_item_named_and_as_a_share(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(shop, "deep/note", "x")
    write(shop, "shop.py", WORSE)
    commit(shop)
    monkeypatch.chdir(shop.path / "deep")
    result = shop.pytester.inline_run("--ir-suite", "../shop.ir.yaml::mrr-10", RUN, *QUIET)
    assert result.ret == 1
    monkeypatch.chdir(shop.path)
    for share in ("1/2", "2/2"):
        assert shop.run(RUN, f"--ir-save-runs=kept,shard={share}").ret in (0, 5)
    assert shop.run(RUN, "--ir-runs=kept").ret == 1
    assert fell(shop)


def test_a_clone_that_is_shallow_says_what_to_do(shop: Project) -> None:
    commit_count = 2
    for number in range(commit_count):
        git(shop.path, "commit", "--allow-empty", "-qm", f"{number}")
    git(shop.path, "clone", "-q", "--depth=1", "--no-single-branch", shop.path.as_uri(), "shallow")
    git(shop.path / "shallow", "branch", "main", "origin/main")
    result = shop.run(RUN, "--rootdir=shallow", "shallow")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*shallow*fetch-depth: 0*"])


@pytest.mark.parametrize("case", ["detached", "linked worktree", "through a link", "submodule", "partial clone"])  # fmt: skip
def test_from_whatever_checkout(
    shop: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    at = tmp_path / "elsewhere"
    if case == "detached":
        at = shop.path
        git(at, "checkout", "-q", "--detach")
    elif case == "linked worktree":
        git(shop.path, "worktree", "add", "-q", "-b", "other", str(at))
    elif case == "through a link":
        at.symlink_to(shop.path)
    elif case == "submodule":
        at.mkdir()
        git(at, "init", "-q")
        git(at, "submodule", "add", "-q", "-b", "main", shop.path.as_uri(), "inner")
        at = at / "inner"
    else:  # the files of the merge base are fetched when they are checked out
        git(shop.path, "config", "uploadpack.allowFilter", "true")
        write(shop, "shop.py", WORSE)
        commit(shop)
        git(tmp_path, "clone", "-q", "--filter=blob:none", "-b", "change", shop.path.as_uri(), str(at))  # fmt: skip
        git(at, "branch", "-q", "main", "origin/main")
    (at / "shop.py").write_text(WORSE)
    monkeypatch.chdir(at)
    result = shop.pytester.runpytest_subprocess("--ir-suite", RUN, str(at / "shop.ir.yaml"), *QUIET)
    assert result.ret == 1, result.stderr.str()
    result.stdout.fnmatch_lines(["mrr@10 fell 1.000 → 0.500, by 0.500: more than max_drop 0.050*"])
    if case == "linked worktree":
        git(shop.path, "worktree", "remove", "--force", str(at))


def test_submodules_are_at_the_commits_of_the_base(shop: Project, tmp_path: Path) -> None:
    engine = tmp_path / "engine"
    engine.mkdir()
    git(engine, "init", "-q", "-b", "main")
    (engine / "engine.py").write_text(GOOD)
    git(engine, "add", ".")
    git(engine, "commit", "-qm", "good")
    git(shop.path, "checkout", "-q", "main")
    git(shop.path, "submodule", "add", "-q", engine.as_uri(), "lib")
    write(shop, "shop.py", "from lib.engine import search\n")
    commit(shop, "an engine of its own")
    git(shop.path, "checkout", "-q", "-B", "change")
    (shop.path / "lib/engine.py").write_text(WORSE)
    git(shop.path / "lib", "commit", "-qam", "worse")
    commit(shop)
    assert shop.run(RUN).ret == 1
    assert fell(shop)
    assert git(shop.path / "lib", "worktree", "list").count("\n") == 1


@pytest.mark.parametrize(
    ("number", "times"),
    [(signal.SIGINT, 1), (signal.SIGINT, 3), (signal.SIGTERM, 1), (signal.SIGKILL, 1)],
)
def test_whatever_ends_it_nothing_is_left_for_long(
    shop: Project, tmp_path: Path, number: int, times: int
) -> None:
    write(
        shop, "waits.ir.yaml", SUITE.replace("queries:", "retriever: waits_retriever\nqueries:", 1)
    )
    shop.conftest(CONFTEST + WAITS % str(tmp_path / "started"))
    git(shop.path, "checkout", "-q", "main")
    commit(shop, "waits")
    git(shop.path, "checkout", "-q", "-B", "change")
    # As a shell starts it in the foreground: where SIGINT is ignored, so it is in what is started.
    code = "import signal, sys, pytest; signal.signal(2, signal.default_int_handler); sys.exit(pytest.main())"
    command = [sys.executable, "-c", code, "--ir-suite", RUN, "waits.ir.yaml", *QUIET]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    with subprocess.Popen(
        command, cwd=shop.path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        started = tmp_path / "started"
        while not started.exists() or not started.read_text():
            assert process.poll() is None, process.communicate()[0].decode()
            time.sleep(0.02)
        for _ in range(times):
            process.send_signal(number)
        output = process.communicate(timeout=300)[0].decode()
    await_end(int(started.read_text()))
    if (number, times) == (signal.SIGINT, 1):
        assert process.returncode == 2, output
        return  # and the fixture looks at what is left
    if number == signal.SIGKILL:
        assert os.listdir(tmp_path / "tmp") != []
    assert shop.run(RUN, "shop.ir.yaml").ret == 0  # the next run removes it


WAITS = """\
@pytest.fixture
def waits_retriever():
    import os, time
    from pathlib import Path
    Path(%r).write_text(str(os.getpid()))
    time.sleep(300)
"""


def test_what_cannot_be_started_is_one_line(shop: Project) -> None:
    write(shop, "pytest.ini", "[pytest]\npythonpath = .\nir_base_command = no-such-program run\n")
    result = shop.run(RUN)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            "ERROR: --ir-baseline run:main: ir_base_command: no-such-program cannot be started: No such file*"
        ]
    )
    write(shop, "pytest.ini", "[pytest]\npythonpath = .\n")
    result = shop.run("--ir-baseline=run:nowhere")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: --ir-baseline run:nowhere: git knows no revision 'nowhere' here: *"]
    )
    # A base that no guard watched is never believed.
    write(
        shop,
        "pytest.ini",
        f"[pytest]\npythonpath = .\nir_base_command = {sys.executable} -I -m pytest\n",
    )
    result = shop.run(RUN)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*gave no answers for shop.ir.yaml*"])
