"""What a failure names and the index no longer has is said so, wherever it is named, and counted whole (S11)."""

from __future__ import annotations

import glob
from collections.abc import Sequence

import pytest

from tests.conftest import Project

HOWS = {
    "exists": "def exists(self, id): return id not in GONE",
    "not_quite_bool": "def exists(self, id): return None if id in GONE else {'_id': id}",
}


def shop(project: Project, answers: object, gone: Sequence[str] = (), how: str = "exists") -> None:
    project.conftest(
        f"GONE = {set(gone) or set()!r}\nANSWERS = {answers!r}\nclass Shop:\n"
        f"    def search(self, query): return ANSWERS[query]\n    {HOWS[how]}\n"
        "@pytest.fixture\ndef retriever(): return Shop()\n"
    )


def suite(n: int, limits: str, *, more: str = "") -> str:
    lines = (f"  - {{query: q{i}, relevant: [d{i}{more}]}}\n" for i in range(n))
    return f"queries:\n{''.join(lines)}{limits}"


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(
    "limits",
    [
        "thresholds: {ndcg@10: 0.9}\n",
        "tags: {all: {ndcg@10: 0.9}}\n",
        "each_query: {ndcg@10: 0.9}\n",
    ],
)
def test_a_limit_names_all_that_left_not_only_what_the_baseline_had(
    project: Project, limits: str, how: str
) -> None:
    """Of two dead documents in a failing nDCG the baseline had returned one."""
    text = suite(2, limits, more=", never, fine").replace("relevant:", "tags: [all], relevant:")
    project.suite(text)
    shop(project, {"q0": ["d0", "fine"], "q1": ["d1", "fine"]})
    project.run("-v", "--ir-update-baseline")
    shop(project, {"q0": ["x"], "q1": ["d1", "fine"]}, ["d0", "never"], how)
    result = project.run("-v")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*2 documents have left the index, which no ranking can mend: d0, never*they decide 'q0', 'q1'"
        ]
    )
    missing = {d["id"]: d["gone"] for d in project.data["suites"][0]["queries"][0]["missing"]}
    assert missing == {"d0": True, "never": True, "fine": False}


def test_a_rule_and_a_query_of_its_own_say_so_too(project: Project) -> None:
    project.suite(
        "queries:\n  - {query: a, relevant: [d, e], must_find: {d: 1, f: 3}, thresholds: {recall: 1}}\n"
    )
    shop(project, {"a": ["f"]}, ["d", "e"])
    result = project.run("-v")
    result.stdout.fnmatch_lines(
        [
            "*d must be in the top 1: it left the index",
            "* d  *← left the index",
            "* e  *← left the index",
            "*2 documents have left the index, which no ranking can mend: d, e*",
        ]
    )


def test_a_floor_that_breaks_without_any_baseline_says_so(project: Project) -> None:
    project.suite(suite(3, "thresholds: {recall@10: 0.9}\n"))
    shop(project, {"q0": ["d0"], "q1": ["x"], "q2": ["x"]}, ["d1"])
    project.run("-v").stdout.fnmatch_lines(["*1 document has left the index*: d1; it decides 'q1'"])


def test_what_any_query_returns_is_there_whatever_is_said_of_it(project: Project) -> None:
    project.suite(suite(2, "thresholds: {recall@10: 1}\n", more=", both"))
    shop(project, {"q0": ["d0"], "q1": ["d1", "both"]}, ["both"])
    result = project.run()
    assert result.ret == 1
    result.stdout.no_fnmatch_line("*left the index*")


@pytest.mark.parametrize(("number", "said"), [(900, "900"), (1200, "at least 1\u202f000")])
def test_they_are_counted_to_a_thousand(project: Project, number: int, said: str) -> None:
    ids = [f"d{i}" for i in range(number)]
    project.suite(f"queries: [{{query: a, relevant: {ids}}}]\nthresholds: {{recall@10: 0.5}}\n")
    shop(project, {"a": ["x"]}, ids)
    project.run()
    notes = project.data["suites"][0]["notes"]
    assert any(note.startswith(f"{said} documents have left the index") for note in notes)


def test_a_document_of_which_nobody_can_say_is_not_said_to_be_gone(project: Project) -> None:
    project.suite(suite(3, "thresholds: {recall@10: 1}\n"))
    shop(project, {"q0": ["x"], "q1": ["x"], "q2": ["d2"]}, ["d1"])
    text = (project.path / "conftest.py").read_text(encoding="utf-8")
    project.conftest(text.replace("return id not in GONE", "return {'d1': False}[id]"))
    project.run("-v").stdout.fnmatch_lines(["*1 document has left the index*: d1;*"])


NO_TRUTH = """
class NoTruth:
    def __bool__(self): raise ValueError
    def __repr__(self): return "no truth"
"""
EXPLAINS = {
    "def explain(self, query, id): return f'{id} of {query} is\\nfiltered'": "d0 of q0 is filtered",
    "def explain(self, query, id): return {'stock': 0}": "{'stock': 0}",
    "def explain(self, query, id): raise OSError('down')": "explain raised OSError: down",
    "def explain(self, query, id): pytest.importorskip('no_such')": "explain raised Skipped: could not import 'no_such': No module named 'no_such'",
    "def explain(self, query, id): pytest.xfail('soon')": "explain raised XFailed: soon",
    "def explain(self, query, id): return {(1, 2): 3}": "{(1, 2): 3}",
    "def explain(self, query, id): return 'x' * 5000": f"{'x' * 299}…",
    "def explain(self, query, id): a = []; a.append(a); return a": "[[...]]",
    "def explain(self, query, id): return NoTruth()": "no truth",
    "async def explain(self, query, id): pass": "explain is async, and cannot be asked here",
}


@pytest.mark.parametrize(("method", "said"), EXPLAINS.items())
@pytest.mark.usefixtures("pages")
def test_a_retriever_explains_why_a_document_is_where_it_is(
    project: Project, method: str, said: str
) -> None:
    text = suite(2, "each_query: {recall@10: 0.5}\n")
    project.suite(text.replace("relevant: [d0]", "relevant: [d0], must_find: {d0: 1}"))
    shop(project, {"q0": ["x", "d0"], "q1": ["d1"]})
    conftest = (project.path / "conftest.py").read_text(encoding="utf-8")
    project.conftest(NO_TRUTH + conftest.replace("    def exists", f"    {method}\n    def exists"))
    result = project.run("--ir-markdown=out.md")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"  explain: d0: {glob.escape(said)}"])
    first, second = project.data["suites"][0]["queries"]
    assert first["remarks"] == {"explain": f"d0: {said}"}
    assert "remarks" not in second or not second["remarks"]
    assert "Explain" in (project.path / "ir-report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("takes", ["self, *, index, id", "self, index, id, body", "self"])
def test_a_method_of_that_name_that_means_something_else_is_not_asked(
    project: Project, takes: str
) -> None:
    project.suite("queries: [{query: q0, must_find: [d0]}]\n")
    shop(project, {"q0": ["x"]})
    conftest = (project.path / "conftest.py").read_text(encoding="utf-8")
    project.conftest(
        conftest.replace("    def exists", f"    def explain({takes}): 1 / 0\n    def exists")
    )
    result = project.run()
    assert result.ret == 1
    result.stdout.no_fnmatch_line("*explain*")


@pytest.mark.parametrize("does", ["pytest.skip('no')", "pytest.xfail('no')", "return NoTruth()"])
def test_a_lookup_that_cannot_answer_hides_no_failure(project: Project, does: str) -> None:
    project.suite("queries: [{query: q0, must_find: [d0]}]\n")
    shop(project, {"q0": ["x"]})
    conftest = (project.path / "conftest.py").read_text(encoding="utf-8")
    project.conftest(NO_TRUTH + conftest.replace("return id not in GONE", does))
    result = project.run()
    assert result.ret == 1
    result.assert_outcomes(failed=1)
