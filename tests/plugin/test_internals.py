"""What the plugin takes from pytest's inside is taken away: every verdict stays what it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from _pytest.config.findpaths import load_config_dict_from_file

from pytest_irquality.plugin import internals
from tests.conftest import Project

INSIDE = (
    "_fixtureinfo", "name2fixturedefs", "_idlist", "stats", "reprcrash", "chain", "reprtraceback",
    "style", "errorstring", "rewrite_hook", "_must_rewrite", "_marked_for_rewrite_cache",
)  # fmt: skip
BEFORE = """\
thresholds: {mrr@10: {min: 0.4, max_drop: 0.1}, recall@10: 0.1}
queries:
  - {query: desk, relevant: [d1], must_find: [d1]}
  - {query: lamp, relevant: [d2], must_find: [d2], known_issue: SHOP-1}
  - {query: chair, relevant: [d1]}
"""
CONFTEST = """\
SEEN = {NAMES}
@pytest.fixture(params=['bm25', 'hybrid'])
def retriever(request):
    def ask(query):
        if query == 'chair' and request.param == 'hybrid': raise OSError('it is \\x1b[31mdown')
        if query == 'gone': pytest.skip('no index')
        return ANSWERS[query]
    return ask
"""


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> set[str]:
    """Take names away; those that were asked for are in the set."""
    asked = set()
    inside = internals.inside

    def without_them(holder: object, name: str, otherwise: Any = None) -> Any:
        asked.add(name)
        return otherwise if name in names else inside(holder, name, otherwise)

    monkeypatch.setattr(internals, "inside", without_them)
    return asked


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(BEFORE)
    project.suite("queries: [{query: gone, relevant: [d1]}]\n", "skips/s.ir.yaml")
    project.suite("retriever: another_retriever\nqueries: [{query: a, relevant: [d1]}]\n", "none.ir.yaml")  # fmt: skip
    text = CONFTEST.replace("SEEN = {NAMES}", "ANSWERS = {'desk': ['d1'], 'lamp': ['d1'], 'chair': ['d1']}")  # fmt: skip
    project.conftest(text)
    project.run("--ir-update-baseline", "-q")
    project.conftest(text.replace("'desk': ['d1']", "'desk': ['x', 'y', 'd1']"))
    return project


def ended(shop: Project, *args: str) -> tuple[Any, ...]:
    result = shop.run(*args)
    said = result.stdout.str()
    assert "\x1b[31m" not in said
    assert "INTERNALERROR" not in said
    suites = [(one["path"], one["retriever"], one["outcome"]) for one in shop.data["suites"]]
    verdicts = [[(v["check"], v["outcome"]) for v in one["verdicts"]] for one in shop.data["suites"]]  # fmt: skip
    last = [line for line in result.outlines if line.startswith(("✓", "✗", "!"))][-1]
    return result.ret, result.parseoutcomes(), suites, verdicts, last


@pytest.mark.parametrize("args", [(), ("-v",)], ids=str)
def test_verdicts_rest_on_nothing_inside_pytest(
    shop: Project, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]
) -> None:
    with monkeypatch.context() as patch:
        asked = without(patch)
        whole = ended(shop, *args)
        shop.run("--ir-report=none", "none.ir.yaml")
    assert whole[0] == 1
    assert asked == {*INSIDE}
    for names in ([name] for name in INSIDE) if not args else [INSIDE]:
        with monkeypatch.context() as patch:
            without(patch, *names)
            assert ended(shop, *args) == whole, names


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\naddopts = -q --ignore=x\nir_strict = fail\nir_retrievers =\n    a\n    # no\n    b: c\n"),
        ("pytest.ini", ""),
        (".pytest.ini", "[other]\na = b\n"),
        ("tox.ini", "[tox]\n[pytest]\nir_url = http://x:1/?a=%%b # c\n"),
        ("tox.ini", "[tox]\nx=1\n"),
        ("setup.cfg", "[tool:pytest]\nIR_x = 1\nir_x = 2\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\nir_retrievers = ['a', 'b']\nir_strict = 'fail'\n"),
        ("pyproject.toml", "[project]\nname = 'x'\n"),
    ],
)  # fmt: skip
def test_an_ini_file_is_read_as_pytest_reads_it(tmp_path: Path, name: str, text: str) -> None:
    """The base's lies in git, where pytest does not look."""
    file = tmp_path / name
    file.write_text(text)
    theirs = load_config_dict_from_file(file)
    if theirs is not None:
        theirs = {key: getattr(value, "value", value) for key, value in theirs.items()}
    assert internals.ini_of(file) == theirs


def test_a_broken_ini_file_has_no_settings(tmp_path: Path) -> None:
    for name in ("pytest.ini", "pyproject.toml"):
        (tmp_path / name).write_text("[pytest\n=")
        assert internals.ini_of(tmp_path / name) is None
