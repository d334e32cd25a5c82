"""``--ir-json=-``: one short document on standard output, whatever happens, and everything else elsewhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Project, first

EXAMPLE = Path(__file__).parents[2] / "example_project"
SUITE = """
    thresholds: {recall@10: 0.9}
    queries:
      - query: office chair
        relevant: [a]
        must_find: a
      - query: desk
        relevant: [b]
"""
NOISY = """
    import os, sys
    os.system("echo from a child")
    print("from the conftest")
    @pytest.fixture
    def retriever():
        print("from the fixture")
        return lambda query: {"office chair": %r, "desk": ["b"]}[query]
"""


def document(project: Project, *args: str) -> dict[str, Any]:
    """All of standard output, read as JSON, which has at most 60 lines."""
    workers = ("-p", "xdist") if any(arg.startswith("-n") for arg in args) else ()
    result = project.pytester.runpytest_subprocess("--ir-json=-", *workers, *args)
    text = result.stdout.str()
    assert len(text.splitlines()) <= 60
    read: dict[str, Any] = json.loads(text)
    assert read["exit_status"] == result.ret
    return read


@pytest.fixture
def noisy(project: Project) -> Project:
    project.suite(SUITE)
    lines = (NOISY % (["a"],)).splitlines()
    project.conftest("\n".join(line[4:] for line in lines))
    return project


def broken(project: Project) -> None:
    conftest = project.path / "conftest.py"
    conftest.write_text(conftest.read_text("utf-8").replace("['a']", "['x']"), "utf-8")


@pytest.mark.parametrize(
    "args", first(1, [("-v", "-s"), (), ("-s",), ("-q", "--capture=no"), ("-n2",)])
)
def test_a_red_run_says_what_broke_and_what_no_change_may_touch(
    noisy: Project, args: tuple[str, ...]
) -> None:
    broken(noisy)
    said = document(noisy, *args)
    assert (said["outcome"], said["exit_status"]) == ("failed", 1)
    assert {failure["node_id"] for failure in said["failures"]} == {
        "shop.ir.yaml::recall-10",
        "shop.ir.yaml::office-chair",
    }
    assert "shop.ir.yaml" in said["do_not_edit"]
    assert ".ir-baseline/" in said["do_not_edit"]
    assert [step["words"] for step in said["next"]] == ["run what failed again"]
    # What would change the exam is no step of a program.
    assert "mend search, or edit shop.ir.yaml:" in str(said["a_person_decides"])


def test_a_green_run(noisy: Project) -> None:
    said = document(noisy)
    assert (said["outcome"], said["exit_status"], said["failures"]) == ("passed", 0, [])
    assert said["suites"][0]["means"] == {"recall@10": 1.0}


@pytest.mark.parametrize(
    ("args", "status", "error"),
    [
        (("--no-such-option",), 4, "unrecognized arguments: --no-such-option"),
        (("no-such-file",), 4, "file or directory not found: no-such-file"),
        (("--ir-baseline=nothing-here",), 4, "nothing-here"),
        (("empty",), 5, "no suite was collected"),
        (("bad.ir.yaml",), 2, "bad.ir.yaml:1:12: unknown key 'quary' in a query"),
    ],
)
def test_a_run_that_judges_nothing_says_why(
    noisy: Project, args: tuple[str, ...], status: int, error: str
) -> None:
    (noisy.path / "empty").mkdir()
    noisy.suite("queries: [{quary: x}]", "bad.ir.yaml")
    said = document(noisy, *args)
    assert (said["outcome"], said["exit_status"]) == ("not judged", status)
    assert error in said["errors"][0]


@pytest.mark.slow
def test_a_conftest_that_cannot_be_imported(project: Project) -> None:
    project.suite(SUITE)
    project.conftest("print('before')\nraise RuntimeError('no index here')")
    said = document(project)
    assert said["exit_status"] == 4
    assert "no index here" in said["errors"][0]


@pytest.mark.slow
def test_a_retriever_that_raises_is_an_error_with_its_words(project: Project) -> None:
    project.suite(SUITE)
    project.conftest("@pytest.fixture\ndef retriever():\n    raise RuntimeError('no index here')")
    said = document(project)
    assert said["exit_status"] == 2
    assert any("no index here" in error for error in said["errors"])


@pytest.mark.slow
def test_what_a_stranger_wrote_does_nothing_in_it(project: Project) -> None:
    project.suite('queries:\n  - query: "a\\e[31m\\n::error::b"\n    must_find: x\n')
    project.conftest("@pytest.fixture\ndef retriever():\n    return lambda query: ['y']")
    said = document(project)
    assert "\x1b" not in json.dumps(said, ensure_ascii=False)
    assert said["outcome"] == "failed"


@pytest.mark.slow
def test_the_red_example_fits_and_names_its_worst_queries(project: Project) -> None:
    shutil.copytree(EXAMPLE, project.path, dirs_exist_ok=True)
    search = project.path / "shop_search.py"
    search.write_text(search.read_text("utf-8").replace('"title": 8.0', '"title": 1.0'), "utf-8")
    said = document(project)
    assert len(said["worst"]) == 5
    assert said["worst"][0]["node_id"] == "shop.ir.yaml::mechanical-keyboard"
    assert said["worst"][0]["measure"] == "ndcg@10"
    assert said["worst"][0]["moved"] == "Tactile Mechanical Keyboard (sku-701) 1 → 3"
    assert said["beyond_these"]["failures"] == 16
    project.pytester.runpytest_subprocess("--ir-suite", "--ir-json=out.json")
    assert (project.path / "out.json").stat().st_size < 150_000


def test_what_all_suites_lost_together_is_run_again_by_what_it_names(project: Project) -> None:
    queries = "".join(f"  - {{query: q{n}, relevant: [d]}}\n" for n in range(20))
    project.suite("queries:\n" + queries)
    project.conftest("@pytest.fixture\ndef retriever():\n    return lambda query: ['d', 'x']\n")
    project.run("--ir-update-baseline")
    conftest = project.path / "conftest.py"
    conftest.write_text(conftest.read_text("utf-8").replace("['d', 'x']", "['x', 'd']"), "utf-8")
    (failure,) = document(project)["failures"]
    assert "fell" in failure["why"]
    assert document(project, failure["node_id"])["outcome"] == "failed"
