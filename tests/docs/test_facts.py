"""Numbers, names, tables and commands in the prose of the documentation are those of the code."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

import pytest

from docs.tools import simulation
from docs.tools.pages import run_broken_example
from docs.tools.report_schema import create_schema
from pytest_irquality.baselines.run_files import FORMAT_VERSION, SCORE_DIGITS
from pytest_irquality.baselines.store import MAX_REPEAT_DROP
from pytest_irquality.evaluation import constants, statistics
from pytest_irquality.io.secrets import MIN_SECRET_LENGTH
from pytest_irquality.metrics import METRICS
from pytest_irquality.passages import matching
from pytest_irquality.passages.matching import has_passage
from pytest_irquality.plugin import console
from pytest_irquality.plugin.options import INI_KEYS, OPTIONS
from pytest_irquality.reports import json_report, pull_request
from pytest_irquality.retrieval import calling, collect, errors, service
from pytest_irquality.retrieval.wrappers import PARTIAL_SIGNS
from pytest_irquality.suite import data_files
from tests.docs.shown_pages import DOCS, ROOT, list_pages

MIB = 2**20
WORDS = {2: "two", 4: "four", 5: "five", 7: "seven", 8: "eight", 20: "twenty", 30: "thirty"}
PROSE = sorted({*list_pages(), "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"})

FACTS = [
    # Default checks
    ("why/decisions.md", f"sign test at {constants.SIGN_TEST_ALPHA * 100:.0f}%"),
    ("why/decisions.md", f"of a retriever, at {constants.POOLED_ALPHA * 100:.0f}%"),
    ("why/decisions.md", f"these tests share {constants.SUITE_ALPHA * 100:.0f}%"),
    ("why/decisions.md", f"it is tested, at {constants.ONLY_SUITE_ALPHA * 100:.0f}%"),
    ("why/decisions.md", f"at least {WORDS[constants.MIN_CHANGED_ALONE]} changed queries"),
    ("why/decisions.md", f"must exceed {constants.MIN_MEAN_DROP}"),
    ("why/decisions.md", f"changed by more than {constants.MIN_LARGE_CHANGE}"),
    ("why/decisions.md", f"is below −{-constants.MIN_SUM_OF_CHANGES}"),
    (
        "why/decisions.md",
        f"changed that much, a test at {constants.LARGE_CHANGES_ALPHA * 100:.0f}%",
    ),
    ("why/decisions.md", f"has at least {WORDS[constants.MIN_UNJUDGED_QUERIES]} of them"),
    ("why/decisions.md", f"with the baseline is below {constants.MIN_MEAN_OVERLAP}"),
    ("why/decisions.md", f"more than {constants.MAX_NEW_FIRST_HITS_FRACTION * 100:.0f}%, or"),
    ("why/decisions.md", f"more than {constants.MAX_NEWLY_EMPTY_FRACTION * 100:.0f}%, and"),
    ("why/decisions.md", f"fewer than {WORDS[round(5 * constants.MIN_COMPARED_FRACTION)]} in five"),
    ("why/significance.md", f"more than {statistics.MAX_EXACT_CHANGES} changed queries"),
    ("why/significance.md", f"{statistics.SAMPLE_COUNT:,} random combinations"),
    ("why/significance.md", f"{statistics.INTERVAL_CONFIDENCE * 100:.0f}% interval"),
    (
        "reference/options.md",
        f"fewer than {WORDS[round(5 * constants.MIN_COMPARED_FRACTION)]} in five",
    ),
    ("guides/flaky.md", f"more than {constants.MIN_PRESENT_FRACTION * 100:.0f}% of the baseline"),
    ("guides/flaky.md", f"fewer than {constants.MAX_ABSENT_FRACTION * 100:.0f}% of the current"),
    ("guides/without-grades.md", f"at least {WORDS[constants.MIN_UNJUDGED_QUERIES]} queries"),
    # Baselines and runs
    ("reference/baseline.md", f"more than {MAX_REPEAT_DROP} below the others"),
    ("reference/runs.md", f'"format_version":{FORMAT_VERSION}'),
    ("reference/runs.md", f"scores with {WORDS[SCORE_DIGITS]} digits"),
    # Retrieval
    ("reference/retrievers.md", f"up to {calling.DEFAULT_BATCH_SIZE} queries"),
    ("reference/retrievers.md", f"at most {collect.MAX_EXISTS_CALLS:,} times"),
    ("guides/any-language.md", f"up to {WORDS[int(service.START_TIMEOUT_S / 60)]} minutes"),
    ("guides/any-language.md", f"{service.MAX_ANSWER_BYTES // MIB} MB"),
    ("guides/any-language.md", f"at least {WORDS[MIN_SECRET_LENGTH]} characters"),
    ("guides/failing-engines.md", f"After {WORDS[collect.MIN_FAILURES_TO_GIVE_UP]} timeouts"),
    ("guides/failing-engines.md", f"at most {WORDS[int(errors.MAX_WAIT_S / 60)]} minutes"),
    # Passages
    ("reference/suite.md", f"at most {matching.MAX_PASSAGE_LENGTH:,} characters"),
    ("reference/suite.md", f"up to {WORDS[matching.MAX_GAP_WORDS]} words"),
    # Reports
    ("reference/json.md", f"`version`: {json_report.VERSION}."),
    ("start/reading.md", f"at most {pull_request.MAX_CHARACTERS:,} characters"),
]


@pytest.mark.parametrize(("page", "fact"), FACTS)
def test_number_in_prose_is_that_of_the_code(page: str, fact: str) -> None:
    text = " ".join((DOCS / page).read_text("utf-8").split())

    assert fact in text


def test_rates_in_prose_are_those_of_the_simulation() -> None:
    page = " ".join((DOCS / "why/simulation.md").read_text("utf-8").split())
    output = simulation.OUTPUT.read_text("utf-8")
    from_files = simulation.read_rows("False alarms of exchangeable retrievers")
    written = simulation.read_rows("Exchangeable retrievers, queries written in the suite")
    varying = dict(re.findall(r"^\| (\d+) in the suite \|(.*)$", output, re.MULTILINE))

    (most, mean) = re.findall(r"at most ([\d.]+)% in a cell, ([\d.]+)% on average", output)[0]
    lost = {
        size: [each.split("/")[1].strip() for each in row.split("|")[:3]]
        for size, row in varying.items()
    }

    assert f"fail in {mean}% of such builds on average, and in at most {most}%" in page
    assert f"fails in up to {max(_list_lost(from_files, 5)):.1f}% of builds if" in page
    assert f"in up to {max(_list_lost(written, 1, {5})):.0f}% with five queries" in page
    assert f"and in up to {max(_list_lost(written, 1)):.0f}% with more" in page
    assert f"one of them fails in up to {max(_list_lost(written, 5)):.0f}%" in page
    assert [lost[size][0] for size in ("20", "50", "225")] == ["12.0", "23.0", "42.0"]
    assert [lost[size][1] for size in ("20", "50", "225")] == ["0.0", "0.0", "3.0"]
    assert {row[2] for row in lost.values()} == {"0.0"}
    assert "in 12% of builds with 20 queries, in 23% with 50 and in 42% with 225" in page


def _list_lost(
    rows: dict[tuple[str, int], list[str]], suites: int, sizes: Collection[int] = simulation.SIZES
) -> list[float]:
    """Return the rates of the check of lost queries with the queries in up to so many suites."""
    rates: list[float] = []
    for (_, size), cells in rows.items():
        if size in sizes:
            rates += map(float, cells[-1].split("/")[: {1: 1, 5: 4}[suites]])
    return rates


# -- Names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PROSE)
def test_options_of_a_page_exist(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")

    mentioned = set(re.findall(r"(?<![\w-])--ir-[a-z][a-z-]*[a-z]", text))

    assert mentioned <= {option.flag for option in OPTIONS}


@pytest.mark.parametrize("page", PROSE)
def test_ini_keys_of_a_page_exist(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")

    mentioned = set(re.findall(r"(?<![\w/.@-])ir_[a-z_]+[a-z]", text)) - {"ir_measures", "ir_suite"}

    assert mentioned <= {key.name for key in INI_KEYS}


@pytest.mark.parametrize("page", PROSE)
def test_pytest_accepts_every_command_of_a_page(page: str, pytestconfig: pytest.Config) -> None:
    text = (ROOT / page).read_text("utf-8")
    # Commands in prose and in tables, and those of blocks.
    commands = re.findall(r"`(pytest(?: [^`\n]+)?)`", text)
    commands += re.findall(
        r"^(?:\$ |    )?(pytest [^\n#|]*?)(?:\s+(?:#|\|).*)?$", text, re.MULTILINE
    )

    for command in commands:
        words = shlex.split(command.replace("…", "").replace("--help", ""))
        try:
            unknown = pytestconfig._parser.parse_known_and_unknown_args(words[1:])[1]
        except pytest.UsageError as error:
            pytest.fail(f"{command}: {error}")
        # Options of other plugins, such as -n, may not be installed here.
        assert [word for word in unknown if word.startswith("--ir")] == [], command


def test_console_script_accepts_every_command_of_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    commands = set()
    for page in PROSE:
        text = (ROOT / page).read_text("utf-8")
        commands |= set(re.findall(r"\bpytest-irquality ((?:demo|add)\b[^`\n]*)", text))

    assert len(commands) > 2
    for command in commands:
        name, *words = shlex.split(command)
        with pytest.raises(SystemExit):
            console.main([name, "--help"])
        usage = capsys.readouterr().out
        for word in words:
            assert not word.startswith("-") or word in usage, command


def test_metrics_of_the_readme_and_of_guides_exist() -> None:
    names = set(METRICS)
    for definition in METRICS.values():
        names |= set(definition.aliases)
    for page in list_pages():
        text = re.sub(r"```.*?```", "", (ROOT / page).read_text("utf-8"), flags=re.DOTALL)
        for name in re.findall(r"`(?:weighted )?([a-z_]+\d?)@\d+[:`]", text):
            assert name in names | {"brands", "hits", "ndcg"}, f"{page}: {name}"


# -- Tables ----------------------------------------------------------------------------------------


def read_table(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading, without its header."""
    text = (ROOT / page).read_text("utf-8").partition(f"{heading}\n")[2]
    (table,) = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)[:1]
    rows = []
    for line in table.splitlines()[2:]:
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_passages_of_the_table_are_found_as_it_says() -> None:
    rows = read_table("docs/reference/suite.md", "## Passages")

    assert len(rows) >= 6
    for passage, text, outcome, reason in rows:
        is_found = has_passage(text.strip("`").replace("⏎", "\n"), passage.strip("`"))
        assert is_found == (outcome == "found"), reason


def test_outcomes_are_the_same_everywhere() -> None:
    readme = read_table("README.md", "## In a pull request")
    reading = read_table("docs/start/reading.md", "## Outcomes")

    assert [row[0] for row in readme] == [row[0] for row in reading]
    for row, other in zip(readme, reading, strict=True):
        assert row[1][0] == other[1][0]


def test_page_names_every_engine_that_admits_partial_answers() -> None:
    page = (DOCS / "reference/retrievers.md").read_text("utf-8")
    section = page.partition("## Partial answers")[2].partition("## ")[0]
    paths = {path for signs in PARTIAL_SIGNS.values() for path in signs}

    for engines in PARTIAL_SIGNS:
        for engine in engines.split(", "):
            assert engine in section
    for name in re.findall(r"`([^`]+)`", section):
        assert any(name in path for path in paths), name


def test_names_of_columns_are_recognized() -> None:
    page = (DOCS / "reference/files.md").read_text("utf-8")
    section = page.partition("## Columns")[2].partition("Two columns")[0]
    spellings = {name for names in data_files.SPELLINGS.values() for name in names}

    names = re.findall(r"`([^`]+)`", section)

    assert len(names) > 20
    assert {data_files.simplify(name) for name in names} <= spellings


# -- The JSON report -------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_questions_to_the_json_report_have_answers(tmp_path: Path) -> None:
    page = (DOCS / "reference/json.md").read_text("utf-8")
    report = run_broken_example().json_report
    for name in ("report.json", "before.json", "after.json"):
        (tmp_path / name).write_text(report, encoding="utf-8")

    answers = []
    for command in re.findall(r"^(?:jq|diff) .*$", page, re.MULTILINE):
        completed = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        answers.append(completed.stdout)

    failures, values, losses, difference = answers
    assert "shop.ir.yaml:8: ndcg@10 is 0.821" in failures
    assert '"ndcg@10": 0.82' in values
    assert "mechanical keyboard" in losses
    assert difference == ""


def test_fields_that_the_page_names_are_in_the_schema() -> None:
    page = (DOCS / "reference/json.md").read_text("utf-8")
    fields = page.partition("- `version`")[2].partition("Numbers are")[0]
    schema = json.dumps(create_schema())

    for name in re.findall(r"`([a-z_]+)`", fields):
        assert f'"{name}"' in schema, name


# -- Files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PROSE)
def test_files_of_the_package_that_a_page_names_exist(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")

    packages = "io|metrics|passages|suite|retrieval|baselines|evaluation|reports|plugin"
    for name in re.findall(rf"`((?:{packages})/[a-z_]+\.py)`", text):
        assert (ROOT / "pytest_irquality" / name).exists(), name
    for name in re.findall(r"`((?:benchmarks|docs/tools|tests(?!/search))/[\w/.-]+\.\w+)`", text):
        assert (ROOT / name).exists(), name
