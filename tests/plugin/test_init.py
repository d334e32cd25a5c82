"""``--ir-init``: from a list of queries and the project's retriever to a suite that passes as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pytest_irquality import load_suite
from pytest_irquality.plugin import internals
from pytest_irquality.suite.first_suite import Asked, first_suite
from pytest_irquality.suite.lint import lint
from tests.conftest import QUIET, Project

HOSTILE = ["NO", "0123", "a: b", "# no", "- x", "[x]", "'", '"', "\\", "*a", "&a", "%", "@x", "!t", "|", "x:", "é\u202e\x1b", "😀", "a  b", "{}", "x #y", "null", "x\x85y"]  # fmt: skip


def init(project: Project, queries: str, *args: str) -> pytest.RunResult:
    return project.pytester.runpytest("--ir-init", queries, *QUIET, *args)


def test_any_text_and_id_and_title_makes_a_suite_that_reads_back(tmp_path: Path) -> None:
    asked = [Asked(text, None, [text], dict.fromkeys(HOSTILE, "x\n# y: [")) for text in HOSTILE]
    asked += [Asked("nothing", "q1", (), {}), Asked("broken", None, (), None, "OSError: no\nway")]
    path = tmp_path / "s.ir.yaml"
    path.write_text(first_suite("NO", "list\n.txt", asked), encoding="utf-8")
    suite = load_suite(path)
    assert [query.text for query in suite.queries] == [*HOSTILE, "nothing", "broken"]
    assert (suite.name, suite.queries[-2].id, suite.queries[0].tags) == ("NO", "q1", ("NO",))
    assert list(lint(suite)) == []
    assert "{{" not in path.read_text("utf-8")
    graded = (
        path.read_text("utf-8")
        .replace("    # relevant:", "    relevant:")
        .replace("    #   ", "      ")
    )
    path.write_text(graded, encoding="utf-8")
    assert list(load_suite(path).queries[0].judgments.grades) == HOSTILE
    assert yaml.safe_load(graded)["queries"][0]["query"] is False, (
        "plain for our reader, whatever YAML's types"
    )


@pytest.mark.usefixtures("pages")
def test_a_list_of_queries_becomes_a_suite_beside_it(project: Project) -> None:
    project.suite("office chair\n\n# later\nlamp\noffice chair\nbroken\n", "search/my.queries.txt")
    project.conftest("@pytest.fixture\ndef retriever(): raise AssertionError('not this one')\n")
    project.conftest(
        "@pytest.fixture(params=['bm25', 'hybrid'])\ndef retriever(request):\n"
        "    def search(query, k):\n        if query == 'broken': raise OSError('no index')\n"
        "        return [{'id': f'{request.param}-{n}', 'title': f'T {n}'} for n in range(k)] if 'c' in query else []\n"
        "    return search\n",
        "search",
    )
    project.suite("def test_other(): assert False\n", "search/test_other.py")
    result = init(project, "search/my.queries.txt")
    assert result.ret == 0
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["wrote search/my.ir.yaml: 3 queries, 1 of them could not be answered (OSError: no index), each with up to 10 candidates to grade.", "Now: *pytest --ir-suite search/my.ir.yaml"]
    )  # fmt: skip
    text = (project.path / "search/my.ir.yaml").read_text("utf-8")
    for line in (
        "    #   bm25-0: ok     # T 0",
        "    #   hybrid-9: ok   # T 9",
        "    # nothing was returned; if",
        "    # it could not be answered: OSError: no index",
    ):
        assert line in text
    assert not (project.path / "ir-report.html").exists()
    result = project.run("--collect-only", "-q", "search/my.ir.yaml")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*arning*")
    result = init(project, "search/my.queries.txt")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: --ir-init: my.ir.yaml exists already, and is never written over"]
    )
    assert (project.path / "search/my.ir.yaml").read_text("utf-8") == text


def test_a_table_of_queries_keeps_ids_and_tags(project: Project) -> None:
    project.suite('id;query;tags\n7;"chair; office";head, b2b\n', "q.csv")
    project.answers({"chair; office": ["d1"]})
    assert init(project, "q.csv").ret == 0
    (query,) = load_suite(project.path / "q.ir.yaml").queries
    assert (query.id, query.text, query.tags) == ("7", "chair; office", ("head", "b2b"))


def test_what_can_go_wrong_is_one_line_and_writes_nothing(project: Project) -> None:
    result = init(project, "absent.txt")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*absent.txt*"])
    project.suite("a\n", "q.txt")
    result = init(project, "q.txt")
    result.stdout.fnmatch_lines(
        ["no fixture 'retriever' is found from here; write it in a conftest.py*"]
    )
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: 1 / 0\n")
    result = init(project, "q.txt")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*no query could be answered, so nothing was written: ZeroDivisionError: division by zero*"
        ]
    )
    project.suite("\n", "empty.txt")
    result = init(project, "empty.txt")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["empty.txt:1:1: no query in it"])
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: []\n")
    assert init(project, "q.txt", "--collect-only").ret == 0
    assert not list(project.path.glob("*.ir.yaml"))


@pytest.mark.parametrize("params", ["", "(params=['a', 'b'])"])
def test_the_baseline_of_a_list_is_none_of_the_suite_made_of_it(
    project: Project, params: str
) -> None:
    project.conftest(f"@pytest.fixture{params}\ndef retriever(): return lambda query: [query]\n")
    (project.path / "queries.txt").write_text("desk\nchair\n")
    assert project.run("queries.txt", "--ir-update-baseline").ret == 0
    init(project, "queries.txt")
    result = project.run("queries.ir.yaml")
    assert result.ret == 0
    assert "nothing was compared" in str(result.stdout)


@pytest.mark.slow
def test_it_works_in_a_worker_of_xdist(project: Project) -> None:
    project.suite("a\n", "q.txt")
    project.answers({"a": ["d1"]})
    result = init(project, "q.txt", "-p", "xdist", "-n1")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["wrote q.ir.yaml: 1 query,*"])


ANSWERS = (
    "@pytest.fixture\ndef retriever():\n"
    "    return lambda query, k: [{'id': f'{query} {n}', 'title': f'T {n}', 'text': 'words'} for n in range(k)]\n"
)  # fmt: skip


def test_a_list_and_a_page_are_ten_minutes_from_a_gate(project: Project) -> None:
    project.suite("query 0\nquery 1\n", "tests/my.txt")
    project.conftest(ANSWERS)
    result = init(project, "tests/my.txt", "--ir-judge=judge.html")
    result.stdout.fnmatch_lines(
        [
            "wrote tests/my.ir.yaml: 2 queries.",
            "to grade: judge.html: 20 documents of 2 queries that nobody has graded*",
            "Now: open it, grade, save its file beside tests/my.ir.yaml, and run pytest --ir-suite *",
        ]
    )
    page = (project.path / "judge.html").read_text("utf-8")
    assert '"stem":"my"' in page
    assert '{"word":"perfect","grade":3,"key":"3"}' in page
    assert project.run("tests/my.ir.yaml").ret == 0, "it passes before anything is graded"
    (project.path / "tests/my.judgments-anna.csv").write_text(
        "query_id,query,doc_id,rating,judge,date,note\n"
        "query 0,query 0,query 0 0,3,Anna,2026-01-02T03:04:05Z,\n"
        "query 1,query 1,query 1 1,2,Anna,2026-01-02T03:04:06Z,\n",
        encoding="utf-8",
    )
    assert project.run("tests/my.ir.yaml", "--ir-update-baseline").ret == 0
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query, k: ['other']\n")
    result = project.run("tests/my.ir.yaml")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*'query 0' lost *"])


def test_every_retriever_and_every_kept_run_has_its_candidates_in_one_pool(
    project: Project,
) -> None:
    project.suite("a\nb\n", "q.txt")
    (project.path / "old.run").write_text("a Q0 from-a-run 1 2 x\n")
    project.conftest(
        "@pytest.fixture(params=['one', 'two', 'broken'])\ndef retriever(request):\n"
        "    def search(query):\n        if request.param == 'broken': raise OSError('down')\n"
        "        return [request.param, 'both'] if query == 'a' else []\n    return search\n"
        "@pytest.fixture\ndef texts(): ...\n"
    )
    result = init(project, "q.txt", "--ir-runs=old.run", "--ir-judge=judge.html")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(
        [
            "to grade: judge.html: 4 documents of 1 query that nobody has graded; nothing good is known for 1 query*"
        ]
    )
    page = (project.path / "judge.html").read_text("utf-8")
    for document in ("one", "two", "both", "from-a-run"):
        assert page.count(f'"id":"{document}"') == 1
    (project.path / "q.ir.yaml").unlink()
    result = init(project, "q.txt", "--ir-baseline=old.run")
    text = (project.path / "q.ir.yaml").read_text("utf-8")
    for document in ("one", "two", "both", "from-a-run"):
        assert f"    #   {document}: ok\n" in text
    (project.path / "q.ir.yaml").unlink()
    result = init(project, "q.txt", "--ir-baseline=git:main")
    result.stdout.fnmatch_lines(["*--ir-baseline git:main: there is no such file or folder*"])
    assert not (project.path / "q.ir.yaml").exists()


@pytest.mark.slow
def test_several_retrievers_in_several_workers_are_one_line(project: Project) -> None:
    project.suite("a\n", "q.txt")
    project.conftest(
        "@pytest.fixture(params=[1, 2])\ndef retriever(request): return lambda q: ['d']\n"
    )
    result = init(project, "q.txt", "-p", "xdist", "-n2")
    assert result.ret != 0
    assert (
        "--ir-init asks 2 retrievers in one process: add -n0"
        in result.stdout.str() + result.stderr.str()
    )
    assert not (project.path / "q.ir.yaml").exists()


def test_candidates_can_be_a_list_to_fill_in(project: Project) -> None:
    project.suite("a\n", "tests/q.txt")
    project.answers({"a": ["d1", "d2"]})
    result = init(project, "tests/q.txt", "--ir-judge=todo.csv")
    result.stdout.fnmatch_lines(["Now: fill it in, and run pytest --ir-suite tests/q.ir.yaml"])
    assert project.run("tests/q.ir.yaml").ret == 0
    todo = project.path / "todo.csv"
    todo.write_text(todo.read_text("utf-8").replace("a,d2,,", "a,d2,3,"), encoding="utf-8")
    (query,) = load_suite(project.path / "tests/q.ir.yaml").queries
    assert query.judgments.grades == {"d2": 3}
    assert not list(project.path.glob("tests/*.csv"))


def test_the_conftest_of_its_folder_declares_options(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.suite("lamp\n", "sub/q.txt")
    project.conftest(
        "def pytest_addoption(parser): parser.addoption('--engine', default='x')\n"
        "@pytest.fixture\ndef retriever(request): return lambda q: [request.config.getoption('--engine')]\n",
        "sub",
    )
    result = project.pytester.runpytest("--ir-init=sub/q.txt", "--engine=y", *QUIET)
    assert result.ret == 0
    assert "#   y: ok" in (project.path / "sub/q.ir.yaml").read_text("utf-8")
    (project.path / "sub/q.ir.yaml").unlink()
    inside = internals.inside
    monkeypatch.setattr(
        internals,
        "inside",
        lambda holder, name, otherwise=None: (
            otherwise if name == "known_args_namespace" else inside(holder, name, otherwise)
        ),
    )
    assert init(project, "sub/q.txt").ret == 0
    assert "#   x: ok" in (project.path / "sub/q.ir.yaml").read_text("utf-8")
