"""Options, collection, selection, fixtures and manners, through pytest itself."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from tests.conftest import QUIET, Project, installed

SUITE = "queries:\n  - {query: office chair, id: q14, tags: [head], relevant: [d1], must_find: [d1]}\n  - {query: desk, relevant: [d1]}\nthresholds:\n  ndcg@10: 0.5\ntags:\n  head:\n    mrr: {min: 0.5}\n"
NAMES = ["q14", "desk", "ndcg-10", "head-mrr-10"]


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(SUITE)
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n")
    return project


@pytest.mark.parametrize(
    ("args", "passed"),
    [
        ([], 1),
        (["--ir-suite"], 3),
        (["--ir-suite", "tests"], 2),
        (["--ir-suite", "tests/"], 2),
        (["tests", "--ir-suite"], 2),
        (["--ir-suite", "other/ir_b.yaml"], 1),
        (["--ir-suite", "other/ir_b.yaml::a"], 1),
        (["--ir-suite", "tests", "--ir-suite", "other"], 3),
        (["--ir-suite", "tests", "other"], 3),
        (["--ir-suite", "-q"], 3),
        (["-q", "--ir-suite", "--", "other"], 1),
        (["--ir-suite", "tests", "-k", "a"], 1),
        (["--ir-suite", "other/any.yml"], 1),
        (["other/ir_b.yaml"], 1),
        (["other/any.yml"], 0),
        (["--ir-suite", "other", "--from-other"], 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_every_form_of_the_option_means_what_a_person_expects(
    project: Project, args: list[str], passed: int
) -> None:
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n")
    suite = "queries: [{query: a, must_find: [d1]}]\n"
    project.suite(suite, "tests/ir_a.yaml")
    project.suite("def test_py(): pass\n", "tests/test_py.py")
    project.suite(suite, "other/ir_b.yaml")
    project.suite(suite, "other/any.yml")
    project.conftest(
        "def pytest_addoption(parser): parser.addoption('--from-other', action='store_true')\n",
        "other",
    )
    # in front, for older pytesters put it behind a "--", where it is a path
    basetemp = f"--basetemp={project.path.parent / 'basetemp'}"
    result = project.pytester.runpytest(basetemp, *QUIET, *args)
    result.assert_outcomes(passed=passed, deselected=1 if "-k" in args else 0) if passed else None
    assert result.ret == (0 if passed else 4 if "any.yml" in str(args) else 5), result.stdout.str()


def test_a_folder_without_a_suite_gets_one_line(project: Project) -> None:
    project.path.joinpath("empty").mkdir()
    result = project.run("empty")
    result.stdout.fnmatch_lines(
        [
            "irquality: no suite was found: no file there matches '*.ir.yaml *.ir.yml ir_*.yaml ir_*.yml'"
        ]
    )
    assert result.ret == 5


@pytest.mark.usefixtures("pages")
def test_items_stand_in_file_order_at_their_lines(shop: Project) -> None:
    result = shop.run("--collect-only", "-q")
    assert [line.partition("::")[2] for line in result.outlines if "::" in line] == NAMES
    assert not (shop.path / "out.json").exists()
    assert not (shop.path / "ir-report.html").exists()
    shop.conftest("@pytest.fixture\ndef retriever(): return lambda query: []\n")
    result = shop.run("--junitxml=j.xml", "--durations=3", "-v", "-o", "junit_family=xunit1")
    cases = ET.parse(shop.path / "j.xml").getroot().iter("testcase")
    assert {case.get("name"): (case.get("file"), case.get("line")) for case in cases} == {
        "q14": ("shop.ir.yaml", "1"),
        "desk": ("shop.ir.yaml", "2"),
        "ndcg-10": ("shop.ir.yaml", "4"),
        "head-mrr-10": ("shop.ir.yaml", "7"),
    }


@pytest.mark.parametrize(
    ("args", "ran"),
    [
        (["-k", "chair"], ["q14"]),
        (["-k", "office-chair"], ["q14"]),
        (["-k", "head"], ["q14", "head-mrr-10"]),
        (["-k", "ndcg-10"], ["ndcg-10"]),
        (["-m", "ir_suite"], NAMES),
        (["shop.ir.yaml::desk"], ["desk"]),
        (["-m", "not ir_suite"], []),
    ],
    ids=str,
)
def test_selection(shop: Project, args: list[str], ran: list[str]) -> None:
    result = shop.run(*args)
    assert result.ret == (0 if ran else 5)
    assert list(shop.outcomes()) == ran if ran else not (shop.path / "out.json").exists()


def test_a_selection_says_that_it_is_one(shop: Project) -> None:
    shop.run("shop.ir.yaml::desk").stdout.fnmatch_lines(
        ["*only 1 of 2 (50 %) queries were selected*"]
    )


@pytest.mark.slow
def test_it_loads_itself_as_pytest_loads_what_is_installed(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch)
    result = shop.pytester.runpytest_subprocess("--ir-suite", "-p", "no:hypothesispytest")
    result.assert_outcomes(passed=4)


@pytest.mark.slow
def test_it_can_be_named_where_plugins_do_not_load_themselves(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_PLUGINS")
    shop.pytester.runpytest_subprocess("-p", "irquality", "--ir-suite").assert_outcomes(passed=4)
    shop.pytester.runpytest_subprocess(
        "-p", "irquality", "--ir-suite", "shop.ir.yaml"
    ).assert_outcomes(passed=4)


def test_only_the_queries_that_the_selected_items_need_are_asked_each_once(shop: Project) -> None:
    shop.conftest(
        "asked = []\n@pytest.fixture\ndef retriever():\n    asked.append('built')\n"
        "    return lambda query: asked.append(query) or ['d1']\n"
        "def pytest_terminal_summary(terminalreporter): terminalreporter.write_line(f'ASKED {asked}')\n"
    )
    shop.run().stdout.fnmatch_lines(["ASKED ['built', 'office chair', 'desk']"])
    shop.run("shop.ir.yaml::head-mrr-10").stdout.fnmatch_lines(["ASKED ['built', 'office chair']"])
    shop.run("shop.ir.yaml::desk").stdout.fnmatch_lines(["ASKED ['built', 'desk']"])


def test_lf_and_x(shop: Project) -> None:
    shop.conftest(
        "@pytest.fixture\ndef retriever(): return lambda query: ['d1'] if query == 'desk' else []\n"
    )
    shop.run("-x").assert_outcomes(failed=1)
    shop.run().assert_outcomes(failed=2, passed=2)
    shop.run("--lf").assert_outcomes(failed=2)
    assert list(shop.outcomes()) == ["q14", "head-mrr-10"]


@pytest.mark.parametrize("scope", ["function", "module", "session"])
def test_fixtures_of_every_scope_params_and_nested_conftests(shop: Project, scope: str) -> None:
    shop.conftest(
        "@pytest.fixture(scope='session')\ndef index(): return ['d1']\n"
        f"@pytest.fixture(scope={scope!r}, params=['bm25', 'hybrid'])\ndef retriever(request, index):\n"
        "    return lambda query, k: index if request.param == 'bm25' else []\n"
    )
    shop.suite(SUITE, "deep/ir_deep.yaml")
    shop.conftest(
        "@pytest.fixture\ndef retriever(retriever): return lambda q: retriever(q, 1)\n", "deep"
    )
    result = shop.run()
    result.assert_outcomes(passed=10, failed=6)  # "desk" has no rule and passes in any case
    assert [(s["path"], s["retriever"]) for s in shop.data["suites"]] == [
        ("deep/ir_deep.yaml", "bm25"), ("deep/ir_deep.yaml", "hybrid"), ("shop.ir.yaml", "bm25"), ("shop.ir.yaml", "hybrid"),
    ]  # fmt: skip


def test_a_broken_fixture_is_tried_once_and_what_was_not_evaluated_is_said(shop: Project) -> None:
    shop.conftest(
        "@pytest.fixture\ndef retriever():\n    print('TRIED')\n    raise OSError('no index')\n"
    )
    result = shop.run("-s")
    result.assert_outcomes(errors=4)
    assert result.stdout.str().count("TRIED\n") == 1
    result.stdout.fnmatch_lines(["shop.ir.yaml: NOT EVALUATED"])
    assert result.stdout.str().count("not evaluated: OSError: no index (shown at q14)") >= 3


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("42", "*the retriever fixture gave 42 (int)*"),
        ("lambda: []", "*takes no query*"),
        ("lambda query, k, locale: []", "*needs 'locale' too*"),
    ],
)
def test_a_retriever_that_cannot_be_called_is_one_clear_error(
    shop: Project, value: str, said: str
) -> None:
    shop.conftest(f"@pytest.fixture\ndef retriever(): return {value}\n")
    result = shop.run()
    result.assert_outcomes(errors=4)
    result.stdout.fnmatch_lines([said])
    assert "traceback entries are hidden" not in result.stdout.str().lower()
    assert "During handling" not in result.stdout.str()


def test_ctrl_c_keeps_what_was_judged_and_says_it_is_partial(shop: Project) -> None:
    shop.conftest(
        "def ask(query):\n    if query == 'desk': raise KeyboardInterrupt\n    return ['d1']\n"
        "@pytest.fixture\ndef retriever(): return ask\n"
    )
    result = shop.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*PARTIAL*"])
    assert shop.outcomes()["q14"] == "passed"
    assert shop.outcomes()["ndcg-10"] == "not evaluated"


def test_names_are_unique_and_never_special_to_pytest(project: Project) -> None:
    odd = [
        "pytestmark",
        "setup_module",
        "_id",
        "ndcg-10",
        "a b",
        "a@b",
        "a[b]",
        "é::ü",
        "x" * 200,
        "pytest_generate_tests",
    ]
    project.suite(
        "queries:\n"
        + "".join(f"  - {{query: '{text}', must_find: [d1]}}\n" for text in odd)
        + "thresholds: {ndcg: {min: 0.01}, judged: {warn_below: 0.1}}\n"
    )
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1']\n")
    result = project.run("--collect-only", "-q")
    assert [line.partition("::")[2] for line in result.outlines if "::" in line] == [
        "query-pytestmark", "query-setup_module", "query-_id", "query-ndcg-10", "a-b", "a-b-2", "a-b-3", "é-ü", "x" * 80,
        "query-pytest_generate_tests", "ndcg-10", "judged-10",
    ]  # fmt: skip


def test_without_the_option_nothing_is_seen_or_felt(project: Project) -> None:
    project.suite(SUITE)
    project.suite(
        "import sys\ndef test_it():\n    assert not {'yaml', 'jinja2', 'pytest_irquality.plugin.collect'} & set(sys.modules)\n",
        "test_it.py",
    )
    result = project.pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    assert "search quality" not in result.stdout.str()
    assert {
        path.name for path in project.path.iterdir() if not path.name.startswith("runpytest")
    } <= {
        "shop.ir.yaml",
        "test_it.py",
        "__pycache__",
        ".pytest_cache",
        "stdout",
        "stderr",
    }


@pytest.mark.parametrize(
    "args",
    [
        ["-p", "no:terminal"],
        ["-p", "no:cacheprovider"],
        ["-s"],
        ["-W", "error", "-W", "default::pytest_irquality.IRQualityWarning"],
        ["--import-mode=importlib"],
        ["-q"],
        ["--setup-plan"],
    ],
    ids=str,
)
@pytest.mark.usefixtures("pages")
def test_manners(shop: Project, args: list[str]) -> None:
    # Warnings of the start are seen by a process of its own alone.
    run = shop.pytester.runpytest_subprocess if "-W" in args else shop.pytester.runpytest
    result = run("--ir-suite", *QUIET, *args)
    assert result.ret == 0, result.stdout.str()
    assert (shop.path / "ir-report.html").exists() == ("--setup-plan" not in args)


@pytest.mark.usefixtures("pages")
def test_reports_go_where_they_are_sent_and_a_bad_place_is_one_line(shop: Project) -> None:
    result = shop.run("--ir-report=deep/er/page.html")
    assert "<html" in (shop.path / "deep/er/page.html").read_text("utf-8")
    result.stdout.fnmatch_lines(["report: deep/er/page.html"])
    result = shop.run("--ir-report=none")
    assert not (shop.path / "ir-report.html").exists()
    shop.run("--ir-report=shop.ir.yaml/x.html").stdout.fnmatch_lines(
        ["NOT WRITTEN: shop.ir.yaml/x.html: *"]
    )


@pytest.mark.parametrize("ci", ["true", ""])
def test_the_failure_text_says_everything_once(
    project: Project, monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    monkeypatch.setenv("CI", ci)  # there pytest's short summary does not cut messages
    project.suite(
        "queries:\n  - query: office chair\n    why: 3 % of revenue\n    relevant: {d1: 3, d2: 1}\n    must_find: {d1: 1}\n"
        "    must_not_find: {d9: 1}\n"
    )
    project.answers(
        {"office chair": [{"id": "d9", "title": "Desk lamp"}, {"id": "d1", "title": "Chair"}]}
    )
    result = project.run()
    result.stdout.fnmatch_lines(
        [
            "'office chair'; 2 rules or limits broken",
            "  ✗ Chair (d1) must be in the top 1: it is at rank 2",
            "  ✗ Desk lamp (d9) must not be in the top 1: it is at rank 1",
            "  rank     grade  result",
            "     1  unjudged  Desk lamp  d9",
            "     2       3 ✓  Chair      d1",
            "  expected, but not above:",
            "     –       1 ✓  d2",
            "  why: 3 % of revenue",
            "  at shop.ir.yaml:2",
        ],
        consecutive=False,
    )
    assert result.stdout.str().count("3 % of revenue") == 1


def test_the_package_is_importable_lazily() -> None:
    code = "import pytest_irquality, sys; assert 'yaml' not in sys.modules; pytest_irquality.load_suite; assert 'yaml' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_query_with_an_id_has_its_text_in_the_short_summary(project: Project) -> None:
    project.suite(
        "queries:\n  - {query: hubble telescope, id: 303, must_find: [d1]}\n"
        "  - {query: lamp, must_find: [d1]}\n"
    )
    project.answers({"hubble telescope": ["x"], "lamp": ["x"]})
    project.run().stdout.fnmatch_lines(
        [
            "FAILED shop.ir.yaml::303 - 'hubble telescope': d1 must be in the top 10: *",
            "FAILED shop.ir.yaml::lamp - d1 must be in the top 10: *",
        ]
    )
