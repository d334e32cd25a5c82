"""How items end: what fails, errors, is skipped or is a known issue, and what their reports have."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.project import Project

SUITE = """\
metrics: [mrr@10]
queries:
  - {query: red shoes, id: red, tags: [head], relevant: [a], must_find: [a]}
  - {query: blue shoes, id: blue, relevant: [b], must_find: [b]}
"""


@pytest.fixture
def shop(project: Project) -> Project:
    project.write_suite(SUITE)
    project.write_rankings({"red shoes": ["x", "a"], "blue shoes": ["b"]})
    return project


def get_outcomes(result: pytest.RunResult) -> dict[str, str]:
    """Return the outcome of each item of a verbose run."""
    outcomes = {}
    for line in result.outlines:
        words = line.split()
        if len(words) > 1 and words[0].startswith("shop.ir.yaml::"):
            outcomes[words[0].partition("::")[2]] = words[1]
    return outcomes


def test_broken_rule_fails_at_its_line(shop: Project) -> None:
    shop.write_rankings({"red shoes": ["x"], "blue shoes": ["b"]})

    result = shop.run("-v")

    outcomes = get_outcomes(result)
    assert (outcomes["red"], outcomes["blue"]) == ("FAILED", "PASSED")
    result.stdout.fnmatch_lines(['"red shoes"*a*', "*shop.ir.yaml:3*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*full-trace*")
    assert result.ret == 1


def test_query_without_an_answer_is_an_error_and_others_are_evaluated(shop: Project) -> None:
    shop.write_rankings({"red shoes": "the index is closed", "blue shoes": ["b"]})

    result = shop.run("-v")

    outcomes = get_outcomes(result)
    assert (outcomes["red"], outcomes["blue"], outcomes["answers"]) == ("ERROR", "PASSED", "ERROR")
    result.stdout.fnmatch_lines(["*RuntimeError: the index is closed"])
    assert result.ret == 1


def test_an_error_that_queries_share_is_shown_in_full_once(shop: Project) -> None:
    shop.write_rankings({"red shoes": "closed", "blue shoes": "closed"})

    result = shop.run()

    tracebacks = [line for line in result.outlines if "raise RuntimeError(result)" in line]
    assert len(tracebacks) == 1
    result.stdout.fnmatch_lines(["*(see red)*"])


def test_broken_fixture_is_set_up_once_and_is_an_error_of_the_build(shop: Project) -> None:
    shop.write_conftest(
        "@pytest.fixture\ndef retriever():\n    print('set up')\n    raise OSError('no engine')\n"
    )

    result = shop.run("-s")

    assert sum(line.endswith("set up") for line in result.outlines) == 1
    result.stdout.fnmatch_lines(["ERROR *no engine*"])
    assert result.ret == 2


def test_missing_fixture_is_explained_in_one_line(shop: Project) -> None:
    shop.write_conftest("@pytest.fixture\ndef retreiver(): return list\n")

    result = shop.run()

    result.stdout.fnmatch_lines(["*no fixture 'retriever'. Did you mean 'retreiver'?*"])
    assert result.ret == 2


def test_skipped_fixture_skips_all_items(shop: Project) -> None:
    shop.write_conftest("@pytest.fixture\ndef retriever(): pytest.skip('no engine here')\n")

    result = shop.run()

    assert set(result.parseoutcomes()) == {"skipped"}
    result.stdout.fnmatch_lines(["INCOMPLETE *"])
    assert result.ret == 0


def test_known_issue_is_expected_to_fail_and_must_go_once_it_is_fixed(shop: Project) -> None:
    shop.write_suite(SUITE.replace("tags: [head]", "known_issue: SEARCH-1"))
    shop.write_rankings({"red shoes": ["x"], "blue shoes": ["b"]})
    broken = shop.run("-v")
    shop.write_rankings({"red shoes": ["a"], "blue shoes": ["b"]})

    fixed = shop.run("-v")

    assert get_outcomes(broken)["red"] == "XFAIL"
    assert broken.ret == 0
    assert get_outcomes(fixed)["red"] == "FAILED"
    fixed.stdout.fnmatch_lines(["*SEARCH-1*"])
    assert fixed.ret == 1


def test_broken_warning_passes(shop: Project) -> None:
    shop.write_suite("thresholds:\n  mrr@10: {min: 0.9, warn: true}\n" + SUITE)

    result = shop.run("-v")

    assert get_outcomes(result)["mrr-10"] == "PASSED"
    assert result.ret == 0


def test_threshold_that_needs_a_baseline_is_skipped_without_one(shop: Project) -> None:
    shop.write_suite("thresholds:\n  mrr@10: {max_drop: 0.1}\n" + SUITE)

    result = shop.run("-v", "-rs")

    assert get_outcomes(result)["mrr-10"] == "SKIPPED"
    result.stdout.fnmatch_lines(["INCOMPLETE *", "SKIPPED *baseline*"])
    assert result.ret == 0


def test_mark_of_a_conftest_hides_no_failure(shop: Project) -> None:
    hook = """
def pytest_collection_modifyitems(items):
    for item in items:
        mark = pytest.mark.xfail if item.name == "red" else pytest.mark.skip
        item.add_marker(mark(reason="later"))
"""
    shop.write("conftest.py", shop.read("conftest.py") + hook)
    shop.write_rankings({"red shoes": ["x"], "blue shoes": ["b"]})

    result = shop.run("-v")

    outcomes = get_outcomes(result)
    assert (outcomes["red"], outcomes["blue"]) == ("XFAIL", "SKIPPED")
    result.stdout.fnmatch_lines(["FAILED shop *"])
    assert result.ret == 1


def test_junit_has_values_changes_tags_and_ranks(shop: Project) -> None:
    shop.run("--ir-update-baseline")
    shop.write_rankings({"red shoes": ["x", "y", "a"], "blue shoes": ["b"]})

    shop.run("--junitxml=junit.xml", "-o", "junit_family=xunit1")

    cases = ElementTree.parse(shop.path / "junit.xml").getroot().iter("testcase")
    (case,) = (case for case in cases if case.get("name") == "red")
    properties = {entry.get("name"): entry.get("value") for entry in case.iter("property")}
    assert (case.get("file"), case.get("line")) == ("shop.ir.yaml", "2")
    assert float(properties["mrr@10"] or 0) == pytest.approx(1 / 3)
    assert float(properties["mrr@10 change"] or 0) == pytest.approx(1 / 3 - 1 / 2)
    assert properties["tags"] == "head"
    assert properties["rank of the first relevant document"] == "3"


def test_first_rank_is_that_of_a_passage_if_judgments_are_texts(project: Project) -> None:
    passage = "You can return shoes within thirty days."
    project.write_suite(f"match: text\nqueries: [{{query: returns, relevant: ['{passage}']}}]\n")
    project.write_conftest(
        "@pytest.fixture\ndef retriever():\n"
        "    chunks = [{'id': 'chunk-1', 'text': 'Hello.'},"
        f" {{'id': 'chunk-2', 'text': '{passage}'}}]\n"
        "    return lambda query: chunks\n"
    )

    project.run("--junitxml=junit.xml", "-o", "junit_family=xunit1")

    root = ElementTree.parse(project.path / "junit.xml").getroot()
    properties = [entry.attrib for entry in root.iter("property")]
    assert {"name": "rank of the first relevant document", "value": "2"} in properties


def test_refused_update_is_printed_once_with_its_path(project: Project) -> None:
    project.write_suite(SUITE)
    project.write_conftest(
        "@pytest.fixture\ndef retriever():\n"
        "    calls = []\n"
        "    def search(query):\n"
        "        calls.append(query)\n"
        "        return [] if calls.count(query) == 3 else ['a', 'b']\n"
        "    return search\n"
    )

    result = project.run("--ir-update-baseline", "--ir-repeat=3")

    lines = [line for line in result.outlines if "Repeat 3 has a mean of" in line]
    assert len([line for line in lines if not line.startswith(("E ", "FAILED"))]) == 1, lines
    assert any(line.startswith(".ir-baseline/shop.jsonl") for line in lines), lines
    assert result.ret == 1


@pytest.mark.parametrize("scope", ["function", "module", "session"])
def test_parametrized_fixture_runs_all_queries_for_each_parameter(
    project: Project, scope: str
) -> None:
    project.write_suite(SUITE)
    project.write_conftest(
        f"@pytest.fixture(params=['bm25', 'hybrid'], scope={scope!r})\n"
        "def retriever(request):\n"
        "    with open('setups.txt', 'a') as file: file.write(request.param + '\\n')\n"
        "    return lambda query: ['a', 'b'] if request.param == 'bm25' else ['b']\n"
    )

    outcomes = get_outcomes(project.run("-v"))

    assert outcomes["red[bm25]"] == "PASSED"
    assert outcomes["red[hybrid]"] == "FAILED"
    assert project.read("setups.txt").splitlines() == ["bm25", "hybrid"]


def test_retrievers_of_two_folders_have_answers_of_their_own(project: Project) -> None:
    suite = "queries: [{query: a, must_find: [DOC]}]\n"
    for name in ("one", "two"):
        project.write_suite(suite.replace("DOC", name), f"{name}/shop.ir.yaml")
        fixture = f"@pytest.fixture\ndef retriever(): return lambda query: [{name!r}]\n"
        project.write_conftest(fixture, folder=name)

    assert project.run().ret == 0


def test_two_suites_of_one_retriever_run_a_request_once(project: Project) -> None:
    suite = "queries: [{query: a, must_find: [d]}]\n"
    project.write_suite(suite, "one.ir.yaml")
    project.write_suite(suite, "two.ir.yaml")
    project.write_rankings({"a": ["d"]})

    assert project.run().ret == 0
    assert project.list_calls() == ["a"]


def test_interrupt_keeps_the_answers_and_makes_reports(shop: Project) -> None:
    shop.write_conftest(
        "@pytest.fixture\ndef retriever():\n"
        "    def search(query):\n"
        "        if query == 'blue shoes': raise KeyboardInterrupt\n"
        "        return ['a']\n"
        "    return search\n"
    )

    result = shop.run("--ir-json=out.json")

    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert '"not_run":1' in shop.read("out.json").replace(" ", "")


def test_first_failure_ends_the_session_with_reports(shop: Project) -> None:
    shop.write_rankings({"red shoes": ["x"], "blue shoes": ["x"]})

    result = shop.run("-x", "--ir-json=out.json")

    assert result.parseoutcomes() == {"failed": 1}
    assert (shop.path / "out.json").exists()
    assert result.ret == 1


def test_failed_check_over_all_suites_is_a_report_of_its_own(project: Project) -> None:
    queries = [f"query {number}" for number in range(10)]
    project.write_suite(
        "queries:\n" + "".join(f"  - {{query: {query}, relevant: [a, b]}}\n" for query in queries)
    )
    project.write_rankings({key: ["a", "b", "x"] for key in queries})
    project.run("--ir-update-baseline")
    project.write_rankings({key: ["x", "a", "b"] for key in queries})

    result = project.run("--junitxml=junit.xml")

    assert result.parseoutcomes()["failed"] == 1
    cases = ElementTree.parse(project.path / "junit.xml").getroot().iter("testcase")
    failed = [case for case in cases if case.find("failure") is not None]
    assert len(failed) == 1
    assert result.ret == 1


def test_update_accepts_a_drop_and_shows_it(project: Project) -> None:
    queries = [f"query {number}" for number in range(10)]
    project.write_suite(
        "queries:\n" + "".join(f"  - {{query: {query}, relevant: [a, b]}}\n" for query in queries)
    )
    project.write_rankings({key: ["a", "b", "x"] for key in queries})
    project.run("--ir-update-baseline")
    project.write_rankings({key: ["x", "a", "b"] for key in queries})

    update = project.run("--ir-update-baseline")
    after = project.run()

    update.stdout.fnmatch_lines(["*.ir-baseline/shop.jsonl: 10 rankings changed*"])
    assert (update.ret, after.ret) == (0, 0)


@pytest.mark.parametrize("arguments", [[], pytest.param(["-n2"], marks=pytest.mark.slow)], ids=str)
def test_own_metric_that_fails_is_an_error_of_its_suites(
    project: Project, arguments: list[str]
) -> None:
    project.write_conftest(
        "from pytest_irquality import make_own_metric\n"
        "def divide(ids, grades, k): return 1 / 0\n"
        "def pytest_ir_metrics(config): return [make_own_metric('odd', divide)]\n"
        "@pytest.fixture\ndef retriever(): return lambda query: ['a']\n"
    )
    project.write_suite("metrics: [odd@3]\nqueries: [{query: q, relevant: [a]}]\n", "odd.ir.yaml")
    project.write_suite("queries: [{query: q, must_find: [a]}]\n")

    result = project.run(*arguments, in_subprocess=bool(arguments))

    result.stdout.fnmatch_lines(["ERROR *odd*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    assert result.parseoutcomes()["passed"] == 3
    assert result.ret == 2
