"""Options and ini keys that are wrong, and what comes from 'addopts'."""

from __future__ import annotations

import json

import pytest

from tests.project import Project

SUITE = "queries:\n  - {query: red shoes, relevant: [a], must_find: [a]}\n"


@pytest.fixture
def shop(project: Project) -> Project:
    project.write_suite(SUITE)
    project.write_rankings({"red shoes": ["a"]})
    return project


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ir-repeat=0"], "*--ir-repeat: must be an integer of at least 1, not '0'"),
        (["-o", "ir_gate=loose"], "ERROR: 'ir_gate' must be 'normal' or 'strict', not 'loose'."),
        (["-o", "ir_strict=true"], "ERROR: *'ir_strict' was removed. Use `ir_gate = strict`."),
        (["-o", "ir_max_calls=5"], "ERROR: *'ir_max_calls' was removed. Limit calls with 'rate'*"),
        (["--ir-update-baseline", "--ir-baseline=git:main"], "ERROR: *cannot be used with*"),
        (["--ir-save-runs=runs,shard=3/2"], "ERROR: *shard*"),
        (["--ir-save-runs=runs,half"], "ERROR: --ir-save-runs: 'half' is unknown*"),
        (["--ir-save-runs=,shard=1/2"], "ERROR: --ir-save-runs: the folder is missing."),
        (
            ["--ir-save-runs=shop.run"],
            "ERROR: --ir-save-runs: 'shop.run' is named like a TREC run*",
        ),
        (["--ir-save-runs=runs,shard=1/2", "--ir-runs=runs"], "ERROR: A shard runs only some*"),
        (["--ir-grade=page.txt"], "ERROR: --ir-grade: 'page.txt' must end with .html or .csv."),
        (["--ir-json=a.txt", "--ir-markdown=a.txt"], "ERROR: --ir-json and --ir-markdown both*"),
        (["--ir-runs=nowhere"], "ERROR: *nowhere*"),
        (["--ir-baseline=nowhere"], "ERROR: *nowhere*"),
        (["--ir-report", "shop.ir.yaml"], "ERROR: --ir-report: shop.ir.yaml*"),
        (["--ir-json=conftest.py"], "ERROR: --ir-json: conftest.py*"),
        (["--junitxml=shop.ir.yaml"], "ERROR: --junitxml: 'shop.ir.yaml'*"),
        (["--debug=shop.ir.yaml"], "ERROR: --debug: 'shop.ir.yaml'*"),
        (["-o", "log_file=shop.ir.yaml"], "ERROR: Ini key log_file: 'shop.ir.yaml'*"),
        (["--ir-json=.ir-baseline/shop.jsonl"], "ERROR: --ir-json: .ir-baseline/shop.jsonl*"),
        (["--ir-save-runs=shop.ir.yaml"], "ERROR: --ir-save-runs: 'shop.ir.yaml'*"),
        (["--ir-update-baseline=nobody"], "ERROR: *nobody*"),
    ],
    ids=str,
)
def test_wrong_option_is_refused_before_anything_runs(
    shop: Project, arguments: list[str], message: str
) -> None:
    before = shop.read("shop.ir.yaml"), shop.read("conftest.py")

    result = shop.run(*arguments)

    result.stderr.fnmatch_lines([message])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert not shop.list_calls()
    assert (shop.read("shop.ir.yaml"), shop.read("conftest.py")) == before


@pytest.mark.parametrize("option", ["--junitxml", "--log-file", "--debug", "--ir-history"])
def test_output_named_like_a_suite_is_refused_without_suites_either(
    shop: Project, option: str
) -> None:
    """A file can be named like an option, for `pytest *`."""
    result = shop.run_pytest(f"{option}=shop.ir.yaml")

    result.stderr.fnmatch_lines([f"ERROR: {option}: 'shop.ir.yaml' is named like a suite*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert shop.read("shop.ir.yaml") == SUITE


def test_tracked_file_is_not_replaced_by_a_report(shop: Project) -> None:
    """S75."""
    shop.run("--ir-json=report.json")
    report = shop.read("report.json")
    shop.commit()
    shop.write_rankings({"red shoes": ["x"]})

    result = shop.run("--ir-json=report.json")

    result.stderr.fnmatch_lines(["ERROR: --ir-json: report.json*Git tracks*"])
    assert shop.read("report.json") == report


def test_file_that_no_report_wrote_is_not_replaced(shop: Project) -> None:
    """S75: notes of somebody."""
    shop.write("notes.html", "<p>My notes")

    result = shop.run("--ir-report=notes.html")

    result.stderr.fnmatch_lines(["ERROR: --ir-report: notes.html*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert shop.read("notes.html") == "<p>My notes"


@pytest.mark.parametrize(
    "option", ["--ir-report=out.html", "--ir-json=out.json", "--ir-markdown=out.md"]
)
def test_own_report_is_replaced(shop: Project, option: str) -> None:
    first = shop.run(option)
    second = shop.run(option)

    assert (first.ret, second.ret) == (0, 0)


def test_report_that_cannot_be_written_fails_the_session(shop: Project) -> None:
    result = shop.run("--ir-json=conftest.py/out.json")

    result.stdout.fnmatch_lines(["*conftest.py/out.json could not be written*"])
    assert result.ret == 1


@pytest.mark.parametrize("option", ["--ir-update-baseline", "--collect-only"])
def test_option_that_would_accept_or_skip_everything_is_refused_in_addopts(
    shop: Project, option: str
) -> None:
    """S61."""
    shop.write_ini(f"addopts = {option}")

    result = shop.run()

    result.stderr.fnmatch_lines([f"ERROR: {option} *addopts*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert not (shop.path / ".ir-baseline").exists()


def test_selection_in_addopts_is_held_against_the_run_and_a_typed_one_is_not(
    project: Project,
) -> None:
    """S38: most checks are deselected."""
    names = [f"q{number}" for number in range(10)]
    queries = "".join(f"  - {{query: {name}, id: {name}, must_find: [a]}}\n" for name in names)
    project.write_suite(f"queries:\n{queries}")
    project.write_rankings({key: ["a"] for key in names})
    project.run("--ir-update-baseline")
    typed = project.run("-k", "q1")
    project.write_ini("addopts = -k q1")

    in_addopts = project.run()

    typed.stdout.fnmatch_lines(["PASSED *"])
    assert typed.ret == 0
    in_addopts.stdout.fnmatch_lines(["INCOMPLETE *"])
    in_addopts.stdout.fnmatch_lines(["*-k q1*"])
    assert in_addopts.ret == 1


def test_selection_in_addopts_that_leaves_nothing_is_an_error(shop: Project) -> None:
    shop.write_ini("addopts = -m 'not ir_suite'")

    result = shop.run()

    result.stdout.fnmatch_lines(["ERROR *addopts*"])
    assert result.ret == 2


def test_saved_runs_in_addopts_make_a_run_incomplete(shop: Project) -> None:
    """S62."""
    shop.run("--ir-save-runs=runs")
    typed = shop.run("--ir-runs=runs")
    shop.write_ini("addopts = --ir-runs=runs")

    in_addopts = shop.run()

    assert (typed.ret, in_addopts.ret) == (0, 0)
    typed.stdout.no_fnmatch_line("INCOMPLETE *")
    in_addopts.stdout.fnmatch_lines(["INCOMPLETE *--ir-runs*"])


def test_shards_are_saved_and_evaluated_together(project: Project) -> None:
    names = [f"q{number}" for number in range(8)]
    queries = "".join(f"  - {{query: {name}, must_find: [a]}}\n" for name in names)
    project.write_suite(f"thresholds:\n  zero_results: {{max: 0}}\nqueries:\n{queries}")
    project.write_rankings({key: ["a"] for key in names})

    shards = [project.run(f"--ir-save-runs=runs,shard={index}/2") for index in (1, 2)]
    calls = project.list_calls()
    joined = project.run("--ir-runs=runs")

    assert [shard.ret for shard in shards] == [0, 0]
    assert sorted(calls) == names
    assert not project.list_calls()
    joined.stdout.fnmatch_lines(["PASSED *"])
    assert joined.ret == 0


def test_update_of_one_query_keeps_the_others(shop: Project) -> None:
    queries = "".join(f"  - {{query: q{number}}}\n" for number in range(3))
    shop.write_suite(f"queries:\n{queries}")
    shop.write_rankings({"q0": ["a"], "q1": ["a"], "q2": ["a"]})
    shop.run("--ir-update-baseline")
    before = shop.read(".ir-baseline/shop.jsonl")
    shop.write_rankings({"q0": ["b"], "q1": ["b"], "q2": ["b"]})

    shop.run("--ir-update-baseline=q1")

    changed = set(shop.read(".ir-baseline/shop.jsonl").splitlines()) - set(before.splitlines())
    assert len(changed) == 1
    assert "q1" in changed.pop()


def test_short_json_is_all_that_is_on_standard_output(shop: Project) -> None:
    result = shop.run("--ir-json=-", in_subprocess=True)

    document = json.loads("\n".join(result.outlines))
    assert document["outcome"] in ("PASSED", "INCOMPLETE")
    assert any("search quality" in line for line in result.errlines)


def test_short_json_says_what_is_wrong_with_an_option(shop: Project) -> None:
    result = shop.run("--ir-json=-", "-o", "ir_gate=loose", in_subprocess=True)

    document = json.loads("\n".join(result.outlines))
    assert document["outcome"] == "ERROR"
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_option_implies_suites_if_it_is_typed(shop: Project) -> None:
    result = shop.run_pytest("--ir-repeat=2")

    assert shop.list_calls() == ["red shoes", "red shoes"]
    assert result.ret == 0


def test_history_is_appended_to(shop: Project) -> None:
    shop.run("--ir-history=history.jsonl")

    shop.run("--ir-history=history.jsonl")

    assert len(shop.read("history.jsonl").splitlines()) >= 1


def test_wrong_gate_is_refused_if_only_addopts_asks_for_suites(shop: Project) -> None:
    shop.write_ini("addopts = --ir-suite\nir_gate = loose")

    result = shop.run_pytest()

    result.stderr.fnmatch_lines(["ERROR: 'ir_gate' must be *"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_removed_ini_key_is_refused_in_every_session_and_not_listed(project: Project) -> None:
    project.write("test_unit.py", "def test_unit(): pass\n")
    assert "ir_strict" not in project.run_pytest("--help").stdout.str()
    project.write_ini("ir_strict = true")

    result = project.run_pytest()

    result.stderr.fnmatch_lines(["ERROR: *'ir_strict' was removed. Use `ir_gate = strict`."])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["-o", "ir_headers=Authorization: Basic czNjcjN0=="], "-o 'ir_headers=…'"),
        (["--override-ini=ir_headers=X: czNjcjN0="], "'--override-ini=ir_headers=…'"),
        (["--api-key", "czNjcjN0"], "--api-key '…'"),
        (["--api-key=czNjcjN0=="], "'--api-key=…'"),
        (["--rootdir", ".", "."], "--rootdir ."),
        (["--strict-markers", "."], "--strict-markers"),
        (["-p", "no:logging", "-vv", "--color", "no", "--ir-repeat", "1"], "--ir-repeat 1"),
    ],
    ids=str,
)
def test_command_to_run_again_has_no_secret_and_no_path(
    shop: Project, arguments: list[str], command: str
) -> None:
    option = "def pytest_addoption(parser):\n    parser.addoption('--api-key')\n"
    shop.write("conftest.py", shop.read("conftest.py") + option)
    shop.write_rankings({"red shoes": ["b"]})

    result = shop.run("-p", "no:doctest", *arguments)

    command = f"pytest --ir-suite -p irquality {command} shop.ir.yaml::red-shoes"
    result.stdout.fnmatch_lines([f"> Rerun what failed: {command}"])
    assert "czNjcjN0" not in result.stdout.str()
    assert "czNjcjN0" not in shop.read("ir-report.html")
