"""What the plugin takes from pytest's inside is taken away: every verdict stays what it was."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from _pytest.config.findpaths import load_config_dict_from_file

from pytest_irquality.plugin import internals
from pytest_irquality.plugin.gate import NAMES
from tests.conftest import Project

INSIDE = (
    "_fixtureinfo", "name2fixturedefs", "_idlist", "stats", "reprcrash", "chain", "reprtraceback",
    "style", "errorstring",
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


MARKS = """
def pytest_collection_modifyitems(items):
    for item in items:
        if item.name.startswith('desk'): item.add_marker(pytest.mark.skip(reason='later'))
        if item.name.startswith('recall'): item.add_marker(pytest.mark.xfail(reason='SHOP-2', strict=True))
"""
OTHER_WORDS = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if isinstance(report.longrepr, tuple):
        report.longrepr = 'later'
    elif str(report.longrepr).startswith('[XPASS(strict)]'):
        report.longrepr = 'SHOP-2'
    return report
"""


def test_excuses_rest_on_no_words_of_pytest(shop: Project) -> None:
    text = (shop.path / "conftest.py").read_text() + MARKS
    shop.conftest(text)
    result = shop.run("shop.ir.yaml")
    told = result.ret, result.parseoutcomes(), shop.data
    outcomes = {verdict["outcome"] for one in shop.data["suites"] for verdict in one["verdicts"]}
    assert {"fixed", "known"} <= outcomes
    shop.conftest(text + OTHER_WORDS)
    result = shop.run("shop.ir.yaml")
    assert (result.ret, result.parseoutcomes()) == told[:2]
    for one, other in zip(shop.data["suites"], told[2]["suites"], strict=True):
        assert one["verdicts"] == other["verdicts"]
        assert one.get("skipped") == other.get("skipped")


BOM = b"\xef\xbb\xbf"
INI_FILES = [
    ("pytest.ini", b"[pytest]\naddopts = -q --ignore=x\nir_exam = fail\nir_retrievers =\n    a\n    # no\n    b: c\n"),
    ("pytest.ini", b""),
    ("pytest.ini", BOM + b"[pytest]\nir_exam = fail\n"),
    ("pytest.ini", b"[pytest]  # see [docs]\nir_exam = fail\n"),
    ("pytest.ini", b"# [x]\r\n[pytest] ; [y]\r\nir_exam = fail\r\nir_url =\r\n  a: b\r\n\r\n  ; no\r\n  c: d\r\n"),
    ("pytest.ini", b"[pytest]\nir_exam: fail\nir_base_command: a=b # c ; d\nir_retrievers = a  # b\n"),
    ("pytest.ini", b"[pytest]\nir_base_command = a\n[b]\n  [c]\n[pytest ]\nir_exam = fail\n"),
    ("pytest.ini", b"[pytest]\nir_exam = pass\nir_exam = fail\n"),
    ("pytest.ini", b"[pytest]\nir_exam = fail\n[pytest]\nir_exam = pass\n"),
    ("pytest.ini", b"[pytest]\nir_exam\n"),
    ("pytest.ini", b"[pytest\n="),
    ("pytest.ini", "[pytest]\nir_exam = fail\n".encode("utf-16")),
    ("pytest.ini", "[pytest]\nir_base_command = \u00e9\x85ir_exam = fail\n".encode()),
    ("pytest.ini", b"[pytest]\nir_base_command = \xe9\n"),
    (".pytest.ini", b"[other]\na = b\n"),
    ("tox.ini", b"[tox]\n[pytest]\nir_base_command = http://x:1/?a=%%b # c\n"),
    ("tox.ini", b"[tox]\nx=1\n"),
    ("setup.cfg", b"[tool:pytest]\nIR_x = 1\nir_exam = fail\n"),
    ("setup.cfg", BOM + b"[metadata]\nname = x\n\n[tool:pytest] # [x]\nir_exam: fail\n"),
    ("setup.cfg", b"[pytest]\nir_exam = fail\n"),
    ("setup.cfg", b"[metadata]\nname = x\n"),
    ("pyproject.toml", b"[tool.pytest.ini_options]\nir_retrievers = ['a', 'b']\nir_exam = 'fail'\nir_strict = true\n"),
    ("pyproject.toml", b"[tool.pytest]\nir_retrievers = ['a', 'b']\nir_exam = 'fail'\nir_strict = true\n"),
    ("pyproject.toml", b"[tool.pytest]\nir_exam = 'fail'\n[tool.pytest.ini_options]\nir_exam = 'pass'\n"),
    ("pyproject.toml", b"[tool.pytest]\nir_exam = 'fail'\n[tool.pytest.ini_options]\n"),
    ("pyproject.toml", b"[project]\nname = 'x'\n"),
    ("pyproject.toml", BOM + b"[tool.pytest.ini_options]\nir_exam = 'fail'\n"),
    ("pyproject.toml", b"[pytest\n="),
    ("pytest.toml", b"[pytest]\r\nir_exam = 'fail'\r\nir_strict = true\r\n"),
    ("pytest.toml", b""),
    ("pytest.toml", b"[tool.pytest.ini_options]\nir_exam = 'fail'\n"),
    (".pytest.toml", b"[pytest]\nir_retrievers = ['a']\n"),
    ("my.ini", b"[pytest]\nir_exam = fail\n"),
    ("my.toml", b"[tool.pytest.ini_options]\nir_exam = 'fail'\n"),
]  # fmt: skip
if pytest.version_tuple >= (9, 2):
    INI_FILES += [
        ("my.toml", b"[pytest]\nir_exam = 'fail'\n"),
        ("my.toml", b"[pytest]\nir_exam = 'fail'\n[tool.pytest.ini_options]\nir_strict = true\n"),
        ("my.toml", b"ir_exam = 'fail'\n"),
        ("pytest.toml", b"ir_exam = 'fail'\n"),
    ]
BROKEN = (pytest.UsageError, pytest.fail.Exception, UnicodeDecodeError)


def as_text(value: object) -> object:
    return value if isinstance(value, list) else str(value)


@pytest.mark.parametrize(("name", "content"), INI_FILES)
def test_an_ini_file_is_read_as_pytest_reads_it(
    project: Project, name: str, content: bytes
) -> None:
    """The base's lies in git, where pytest does not look. What pytest refuses, we refuse."""
    file = project.path / name
    file.write_bytes(content)
    given = ("-c", name) if name.startswith("my.") else ()
    try:
        theirs: Any = load_config_dict_from_file(file)
        config = project.pytester.parseconfig(*given)
    except BROKEN:
        with pytest.raises(pytest.UsageError, match=f"^{name}: ."):
            internals.ini_of(file)
        return
    ours = internals.ini_of(file)
    if theirs is not None:
        theirs = {key: as_text(getattr(value, "value", value)) for key, value in theirs.items()}
    assert ours == theirs
    read: Any = ours if name in NAMES or given else {}  # a pytest of before 9 has no pytest.toml
    read = read or {}
    assert read.get("ir_exam", "pass") == config.getini("ir_exam")
    assert read.get("ir_base_command", "") == config.getini("ir_base_command")
    assert (str(read.get("ir_strict")) == "True") is config.getini("ir_strict")
    words, lines = read.get("ir_retrievers", []), read.get("ir_url", "")
    assert (words if isinstance(words, list) else shlex.split(words, comments=False)) == config.getini("ir_retrievers")  # fmt: skip
    assert [line.strip() for line in lines.splitlines() if line.strip()] == config.getini("ir_url")


@pytest.mark.parametrize("content", ["[pytest\n=", "tool = 3", "[tool]\npytest = 3"])
def test_a_table_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    """With such a file pytest itself ends in a traceback."""
    file = tmp_path / "pyproject.toml"
    file.write_text(content)
    with pytest.raises(pytest.UsageError):
        internals.ini_of(file)


def test_where_nobody_can_read_an_ini_file_the_strictest_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nir_exam = pass\n")
    without(monkeypatch, "load_config_dict_from_file")
    assert internals.ini_of(tmp_path / "pytest.ini") == internals.STRICTEST
