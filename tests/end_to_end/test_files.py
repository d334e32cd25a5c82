"""Scenarios: files of a change that name, hold or overwrite what they should not."""

from __future__ import annotations

import os

import pytest

from tests.end_to_end.shop import AGAINST_MAIN, QUERIES, Shop, find, list_docs, make_suite


def test_workflow_commands_and_escape_sequences_are_inert(shop: Shop) -> None:
    """S31: workflow commands in tags, escape sequences in titles."""
    tags = '["a\\n::error ::spoken", "##[error]spoken"]'
    shop.write_suite(make_suite(QUERIES[:3], extra=lambda query: f"tags: {tags}"))
    hits = [{"id": "x", "title": "\x1b[2J\n::error ::title"}]
    shop.write_rankings(dict.fromkeys(QUERIES[:3], hits))

    result = shop.run("--ir-report=none", "-v")

    for line in result.outlines:
        assert not line.lstrip().startswith(("::", "##["))
        assert "\x1b[2J" not in line


def test_repository_in_the_folder_of_a_suite_runs_nothing(shop: Shop) -> None:
    """S31: a repository planted in the suite's folder."""
    shop.write_suite(make_suite(), "tests/search/shop.ir.yaml")
    shop.start_change()
    marker = shop.path / "marker"
    shop.git("init", "-q", "tests/search")
    config = shop.path / "tests/search/.git/config"
    config.write_text(f"[core]\n\tfsmonitor = touch {marker}\n\tpager = touch {marker}\n")

    shop.build(AGAINST_MAIN)

    assert not marker.exists()


@pytest.mark.skipif(os.name == "nt", reason="needs a device")
def test_device_as_a_baseline_is_an_error(shop: Shop) -> None:
    """S31: /dev/zero as a baseline."""
    shop.write_suite(make_suite())
    (shop.path / ".ir-baseline").mkdir()
    (shop.path / ".ir-baseline/shop.jsonl").symlink_to("/dev/zero")

    build = shop.build()

    assert build.verdict == ("ERROR", 2)
    assert ".ir-baseline/shop.jsonl" in build.text


def test_fixture_that_is_no_retriever_is_not_set_up(shop: Shop) -> None:
    """S44: a suite names a fixture that is no retriever."""
    shop.write("conftest.py", shop.read("conftest.py") + DANGEROUS)
    shop.write_suite(f"retriever: drop_database\n{make_suite()}")

    build = shop.build()

    assert build.verdict == ("ERROR", 2)
    assert "'drop_database' is not declared as a retriever" in build.text
    assert not (shop.path / "dropped").exists()


DANGEROUS = """
@pytest.fixture
def drop_database():
    RANKINGS.with_name("dropped").touch()
"""


@pytest.mark.parametrize(
    ("name", "key"), [(".git/config", "queries"), (".env", "judgments"), ("secret.txt", "queries")]
)
def test_private_files_are_not_read(shop: Shop, name: str, key: str) -> None:
    """S44: '.git/config', '.env' or an ignored file as queries or judgments."""
    shop.write_suite(make_suite())
    shop.commit()
    shop.write(".gitignore", "secret.txt\n.env\n")
    for private in (".env", "secret.txt"):
        shop.write(private, "query,doc,grade\npassword,hunter2,1\n")
    queries = "" if key == "queries" else "queries: [{query: a}]\n"
    shop.write_suite(f"{key}: {name}\n{queries}")

    build = shop.build()

    assert build.verdict == ("ERROR", 2)
    assert "hunter2" not in build.text
    assert "password" not in shop.list_calls()


def test_field_path_stops_at_code(shop: Shop) -> None:
    """S44: a field path with '__globals__'."""
    shop.write_conftest(
        "SECRET = 'hunter2'\n"
        "class Hit:\n"
        "    id = 'red-kettle-1'\n"
        "    def method(self): pass\n"
        "@pytest.fixture\n"
        "def retriever(): return lambda query, k: [Hit()]\n"
    )
    path = "method.__func__.__globals__.SECRET"
    shop.write_suite(f"show: [{path}]\n{make_suite(QUERIES[:1])}")

    build = shop.build("--ir-markdown=out.md", "-v")

    assert "hunter2" not in build.text
    assert "hunter2" not in shop.read("out.md")


def test_tracked_file_that_a_job_overwrote_is_an_error_in_ci(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S44: a tracked file that the job overwrote."""
    shop.write("grades.csv", "query,doc,grade\na,d,1\n")
    shop.write_suite("judgments: grades.csv\nqueries: [{query: a}]\nthresholds: {mrr@10: 0.5}\n")
    shop.write_rankings({"a": ["d"]})
    shop.commit()
    assert shop.build().verdict == ("PASSED", 0)
    shop.write("grades.csv", "query,doc,grade\na,x,1\na,d,1\n")
    monkeypatch.setenv("CI", "true")

    build = shop.build()

    assert build.verdict == ("ERROR", 2)
    assert "grades.csv" in build.text


@pytest.mark.parametrize(
    ("option", "name"),
    [("--ir-report", "shop.ir.yaml"), ("--ir-json", "conftest.py"), ("--ir-markdown", "notes.md")],
)
def test_report_never_overwrites_other_files(shop: Shop, option: str, name: str) -> None:
    """S75: a report option names a suite, 'conftest.py' or notes."""
    shop.write_suite(make_suite())
    shop.write("notes.md", "Notes\n")
    before = shop.read(name)

    result = shop.run(f"{option}={name}")

    assert result.ret == 4
    assert name in "".join(result.errlines)
    assert option in "".join(result.errlines)
    assert shop.read(name) == before


def test_own_report_is_overwritten_unless_git_tracks_it(shop: Shop) -> None:
    """S75: a report of ours that git does not track is overwritten without a word."""
    shop.write_suite(make_suite())
    options = ("--ir-report=a.html", "--ir-json=a.json", "--ir-markdown=a.md")
    assert shop.run(*options).ret == 0
    assert shop.run(*options).ret == 0
    shop.commit()

    for option in options:
        assert shop.run(option).ret == 4


def test_broken_suite_does_not_hide_the_others(shop: Shop) -> None:
    """S31: one clear line for a file that cannot be read, and the others are evaluated."""
    shop.write_suite(make_suite(head="thresholds: {ndcg@10: 0.9}\n"), "good.ir.yaml")
    shop.write_suite("queries:\n  - {query: a, relevent: [b]}\n", "bad.ir.yaml")

    build = shop.build()

    assert build.verdict == ("ERROR", 2)
    assert "bad.ir.yaml:2: " in build.text
    assert "'relevent'" in build.text
    assert [suite["name"] for suite in build.data["suites"]] == ["good"]


def test_base_suite_that_cannot_be_read_needs_a_review(shop: Shop) -> None:
    """S31: main's own suite is broken."""
    shop.write_suite(f"nonsense: 1\n{make_suite()}")
    shop.commit()
    shop.start_branch()
    shop.write_suite(make_suite(head="thresholds: {ndcg@10: 0.9}\n"))
    shop.record()

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("REVIEW", 0)
    assert "nonsense" in build.text


def test_files_of_the_base_suite_come_from_git(shop: Shop) -> None:
    """S45: judgments of the base suite are read from its commit."""
    rows = "".join(f"{query},{list_docs(query)[0]},1\n" for query in QUERIES)
    shop.write("grades.csv", f"query,doc,grade\n{rows}")
    queries = "".join(f"  - {{query: {query}}}\n" for query in QUERIES)
    shop.write_suite(f"judgments: grades.csv\nqueries:\n{queries}")
    shop.start_change()
    shop.break_search(QUERIES[:6], lambda docs: ["x", *docs[1:]])
    easy = "".join(
        f"{query},{'x' if query in QUERIES[:6] else list_docs(query)[0]},1\n" for query in QUERIES
    )
    shop.write("grades.csv", f"query,doc,grade\n{easy}")
    shop.commit()

    build = shop.build(AGAINST_MAIN)

    assert build.verdict == ("REVIEW", 0)
    assert find(QUERIES[:1])
    assert "6 queries lost all relevant documents" in build.text


def test_suite_with_a_mistake_in_its_judgments_is_to_be_corrected(shop: Shop) -> None:
    shop.write("grades.qrels", "q 0 d 1\nq 0 d 2\n")
    shop.write_suite(make_suite(head="judgments: grades.qrels\n"))

    build = shop.build()

    assert build.verdict == ("ERROR", 2)
    assert "Correct this file" in build.text
