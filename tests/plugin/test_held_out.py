"""A held-out suite: no query and no document of it stands in anything that a run writes or prints."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

from tests.conftest import Project, first

SECRETS = ("xyzzy", "plugh", "frotz")
"""Words of its queries, its documents' ids, and their titles; no file of the project has them."""
HELD_OUT = """
show_only: totals
thresholds: {recall@10: 0.9, zero_results: {max: 0}}
tags: {head: {mrr@10: 0.9}}
queries:
  - {query: xyzzy chair, relevant: [plugh-1], tags: [head]}
  - {query: xyzzy desk, relevant: [plugh-2]}
  - {query: xyzzy lamp, relevant: [plugh-3]}
"""
OPEN = "queries: [{query: chair, relevant: [a], must_find: a}]\n"
ENGINE = """
import json, logging, os, sys, warnings
with open(os.environ["CORPUS"]) as file:
    CORPUS = json.load(file)
@pytest.fixture
def retriever():
    def search(query):
        print("asked for", query)
        print("asked for", query, file=sys.stderr)
        logging.warning("asked for %s", query)
        warnings.warn(f"slow: {query}")
        if "lamp" in query and os.environ.get("FAULT"):
            raise KeyError(query)
        return CORPUS.get(query, [])
    return search
"""


@pytest.fixture
def held(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the suite, which lies outside of the project."""
    outside = project.path / "outside"
    outside.mkdir()
    suite = outside / "held.ir.yaml"
    suite.write_text(HELD_OUT)
    found = {
        "chair": ["a"],
        "xyzzy chair": [{"id": "plugh-1", "title": "frotz"}],
        "xyzzy desk": [{"id": "plugh-9", "title": "frotz"}],
        "xyzzy lamp": [{"id": "plugh-3", "title": "frotz"}],
    }
    (outside / "corpus.json").write_text(json.dumps(found))
    monkeypatch.setenv("CORPUS", str(outside / "corpus.json"))
    checkout = project.path / "checkout"
    checkout.mkdir()
    (checkout / "pytest.ini").write_text("[pytest]\n")
    project.suite(OPEN, "checkout/shop.ir.yaml")
    project.conftest(ENGINE, "checkout")
    monkeypatch.chdir(checkout)
    return suite


def leaks(project: Project, result: pytest.RunResult) -> list[str]:
    """Everything with one of the words in it: names and bytes of files, both streams."""
    texts = {"stdout": result.stdout.str().encode(), "stderr": result.stderr.str().encode()}
    for path in (project.path / "checkout").rglob("*"):
        texts[f"the name of {path}"] = str(path).encode()
        if path.is_file():
            texts[str(path)] = path.read_bytes()
    words = [word.encode() for word in SECRETS]
    words += [base64.b64encode(word)[:6] for word in words]
    return [name for name, text in texts.items() if any(word in text for word in words)]


EVERYTHING = (
    "--ir-json=all.json", "--ir-markdown=all.md", "--ir-report=all.html", "--ir-judge=judge.html",
    "--ir-save-runs=runs", "--ir-history=history.jsonl", "--ir-audit", "--junitxml=junit.xml",
    "-o", "junit_logging=all", "-ra",
)  # fmt: skip
WAYS = {
    "in full": ("-vv", "--showlocals", "--tb=long", "--full-trace", "-rA"),
    "workers": ("-p", "xdist", "-n2", "-v"),
}
MORE = {
    "plain": (),
    "quiet": ("-q",),
    "updating": ("--ir-update-baseline",),
    "several answers": ("--ir-repeat=2",),
    "setup": ("--setup-show",),
    "collected": ("--collect-only", "-vv"),
    "debug": ("--debug=debug.txt", "--trace-config"),
    "as json": ("--ir-json=-",),
}


@pytest.mark.parametrize("fault", [False, True])
@pytest.mark.parametrize("way", first(1, [*WAYS, *MORE]))
def test_nothing_of_it_stands_anywhere(
    project: Project, held: Path, monkeypatch: pytest.MonkeyPatch, way: str, fault: bool
) -> None:
    if fault:
        monkeypatch.setenv("FAULT", "1")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(Path.cwd() / "summary.md"))
    result = project.pytester.runpytest_subprocess(
        "--ir-suite", *EVERYTHING, *{**WAYS, **MORE}[way], ".", os.path.relpath(held)
    )
    assert leaks(project, result) == []
    if way not in ("collected", "as json"):
        assert "recall-10" in result.stdout.str() or way == "quiet"
        assert result.ret == 1


def test_it_is_judged_and_says_its_totals(project: Project, held: Path) -> None:
    result = project.pytester.runpytest(
        "--ir-suite", "--ir-json=all.json", ".", os.path.relpath(held)
    )
    result.stdout.fnmatch_lines(
        ["recall@10 is 0.667, below its floor 0.900", "*this suite shows totals only*"]
    )
    suite, shop = json.loads(Path("all.json").read_text())["suites"]
    assert (suite["path"], suite["queries"]) == ("../outside/held.ir.yaml", [])
    assert suite["ledger"]["queries"] == {"other": 3}
    assert len(shop["queries"]) == 1


def test_queries_without_an_answer_are_counted(
    project: Project, held: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULT", "1")
    result = project.pytester.runpytest("--ir-suite", ".", os.path.relpath(held))
    assert "undecided: 1 query had no answer" in result.stdout.str()
    assert leaks(project, result) == []


@pytest.mark.parametrize(
    "mistake",
    first(
        1,
        [
            "  - [xyzzy\n",
            "    must_find: plugh-1\n",
            "    mustfind: plugh-1\n",
            "    weight: xyzzy\n",
        ],
    ),
)
def test_a_mistake_in_it_is_not_quoted(project: Project, held: Path, mistake: str) -> None:
    text = HELD_OUT.replace(
        "{query: xyzzy chair, relevant: [plugh-1], tags: [head]}", "query: xyzzy chair"
    )
    held.write_text(text + "  - query: xyzzy shelf\n" + mistake)
    result = project.pytester.runpytest("--ir-suite", "-vv", os.path.relpath(held))
    assert result.ret == 2
    assert leaks(project, result) == []
    assert "held.ir.yaml:" in result.stdout.str()


@pytest.mark.parametrize(
    "limits",
    [
        "each_query: {lost_all_relevant: fail}\n",
        "each_query: {must_not_find: [plugh-7]}\n",
        "thresholds: {mrr@10: {max_drop: 0.1}}\n",
    ],
)
def test_limits_that_would_name_a_query_are_refused(
    project: Project, held: Path, limits: str
) -> None:
    held.write_text(
        HELD_OUT.replace("thresholds: {recall@10: 0.9, zero_results: {max: 0}}\n", limits)
    )
    result = project.pytester.runpytest("--ir-suite", ".", os.path.relpath(held))
    assert result.ret == 2
    assert leaks(project, result) == []


def test_no_suite_of_the_checkout_is_one(project: Project, held: Path) -> None:
    """A change could else write the key into a suite that it breaks."""
    project.suite(
        f"show_only: totals\n{OPEN.replace(', must_find: a', '')}", "checkout/shop.ir.yaml"
    )
    result = project.pytester.runpytest("--ir-suite")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["shop.ir.yaml:1:1: 'show_only' is for a suite outside of the*"])
    Path("link.ir.yaml").symlink_to(held)
    assert project.pytester.runpytest("--ir-suite", "link.ir.yaml").ret == 2
    Path("test_it.py").write_text(
        "def test_it(ir_check): ir_check('shop.ir.yaml', lambda query: ['a'])\n"
    )
    result = project.pytester.runpytest("test_it.py")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*'show_only' is for a suite outside of the*"])


@pytest.mark.parametrize("mark", first(1, ["skip", "xfail"]))
def test_a_mark_of_the_retrievers_is_not_quoted(project: Project, held: Path, mark: str) -> None:
    conftest = Path("conftest.py")
    marked = f"        if 'desk' in query: pytest.{mark}(query)\n        return CORPUS"
    conftest.write_text(conftest.read_text().replace("        return CORPUS", marked))
    result = project.pytester.runpytest_subprocess(
        "--ir-suite", "-rA", "--ir-json=all.json", "--junitxml=all.xml", ".", os.path.relpath(held)
    )
    assert leaks(project, result) == []


def test_nor_is_a_mistake_in_flow_style_or_in_an_ordinary_test(
    project: Project, held: Path
) -> None:
    held.write_text(
        "{suite: x, show_only: totals, queries: [{query: a, id: xyzzy}, {query: b, id: xyzzy}]}\n"
    )
    Path("test_it.py").write_text(
        f"def test_it(ir_check): ir_check({os.path.relpath(held)!r}, lambda query: ['a'])\n"
    )
    result = project.pytester.runpytest("--ir-suite", "test_it.py", os.path.relpath(held))
    assert result.ret == 2
    assert leaks(project, result) == []
    assert leaks(project, project.pytester.runpytest("test_it.py")) == []
