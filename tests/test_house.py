"""The house: which rooms there are, and which knows which."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pytest_irquality"


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """Every node of a module: several tests look through all of them."""
    return tuple(ast.walk(ast.parse(text)))


def test_the_root_holds_nothing_but_rooms() -> None:
    files = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert files == {"__init__.py", "py.typed"}


def test_no_arrow_points_upward_and_none_goes_round(monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = pytest.importorskip("importlinter.cli")
    monkeypatch.chdir(ROOT)
    assert configuration.lint_imports(no_cache=True) == 0, "run lint-imports to see which"


def test_pytest_is_known_at_the_edge_alone() -> None:
    knows = set()
    for path in PACKAGE.rglob("*.py"):
        for node in nodes(path.read_text("utf-8")):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            if any(module.split(".")[0] in ("pytest", "_pytest", "pluggy") for module in modules):
                knows.add(path.relative_to(PACKAGE).parts[0])
    assert knows == {"plugin"}


def test_every_file_that_a_page_or_a_docstring_names_is_there() -> None:
    tests = {path.name for path in ROOT.glob("tests/**/*.py")}
    internals = (PACKAGE / "plugin/internals.py").read_text("utf-8")
    assert set(re.findall(r"\btest_\w+\.py\b", internals)) <= tests
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rooms = [ROOT, PACKAGE, ROOT / "benchmarks", *(path.parent for path in PACKAGE.rglob("*.py"))]
    for name in re.findall(r"`([\w./-]+(?:\.(?:py|toml)|/))`", contributing):
        assert any((room / name).exists() for room in rooms), f"CONTRIBUTING.md: no {name}"


# -- what a newcomer reads -------------------------------------------------------------------------

# Exceptions, each by its name. Every one is allowed and no allowance is left over, so the lists only shrink.
LONGEST, MOST_IMPORTS, MOST_COMPLEX = 450, 14, 10
LONG = set[str]()
"""Files that are longer: tables."""
IMPORTING = set[str]()
"""Modules that import more of ours."""
COMPLEX = {
    "pipeline/base/guard.py: on_event", "plugin/init.py: _ir_first",
    "report/html.py: _page",
    "retrieval/results.py: _fields", "retrieval/results.py: _rows",
    "retrieval/retrieve.py: retrieve", "retrieval/wrappers.py: _mapping", "storage/kept.py: _read",
    "storage/trec.py: _add_lines", "storage/trec.py: _ranking", "suite/files/formats.py: recognise",
    "suite/files/judgment_files.py: _read_regular", "suite/files/judgment_files.py: _take", "suite/first_suite.py: _query",
    "suite/limit_reader.py: _bound_on_change", "suite/lint.py: _out_of_reach",
    "verdict/checks.py: _outcome", "verdict/checks.py: findings",
    "verdict/comparison.py: nothing_compared", "verdict/joined.py: joined", "verdict/named.py: not_returned", "verdict/noticed.py: _in_no_ranking",
    "verdict/noticed.py: noticed", "verdict/opinions.py: with_other_judges",
    "verdict/passages.py: _in_answer",
    "verdict/pool.py: scale", "verdict/query_result.py: __init__", "verdict/robustness.py: pairs",
}  # fmt: skip
"""Functions over the complexity: at most 60."""
NO_BEGINNING = re.compile(
    r"(What|Whether|Where|How|Who|Whom|Which|Why|When|The same|As|Its|Their)\b"
)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def modules() -> Iterator[tuple[str, str]]:
    """The path within the package, and the text of each file."""
    for path in sorted(PACKAGE.glob("*/**/*.py")):
        inside = path.relative_to(PACKAGE)
        yield inside.as_posix(), path.read_text("utf-8")


def test_no_file_is_long_that_is_no_table() -> None:
    assert {path for path, text in modules() if text.count("\n") > LONGEST} == LONG


def test_no_file_knows_many_others() -> None:
    def known(text: str) -> int:
        imports = (node for node in nodes(text) if isinstance(node, ast.ImportFrom))
        return len(
            {node.module for node in imports if (node.module or "").startswith("pytest_irquality.")}
        )

    files = {path for path, text in modules() if known(text) > MOST_IMPORTS}
    assert {path for path in files if not path.endswith("__init__.py")} == IMPORTING


def test_a_files_name_stands_once() -> None:
    names = [path.rpartition("/")[2] for path, _ in modules()]
    assert {name for name in names if names.count(name) > 1} == {"__init__.py"}


def test_complex_functions_are_few_and_known() -> None:
    radon = pytest.importorskip("radon.complexity")
    over = {
        f"{path}: {block.name}"
        for path, text in modules()
        for block in radon.cc_visit(text)
        if block.complexity > MOST_COMPLEX and hasattr(block, "is_method")
    }
    assert over == COMPLEX
    assert len(COMPLEX) <= 60


def test_docstrings_begin_with_what_they_are_about() -> None:
    """A noun or an imperative, not a question or a reference to something above."""
    bad = [
        f"{path}: {getattr(node, 'name', 'module')}"
        for path, text in modules()
        for node in nodes(text)
        if isinstance(node, DOCUMENTED) and NO_BEGINNING.match(ast.get_docstring(node) or "")
    ]
    assert not bad


def test_nothing_is_told_by_the_name_of_its_kind() -> None:
    """A rule, guard, bound, finding or scope says itself what a stage asks of it."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in nodes(path.read_text("utf-8")):
            if _tells_by_name(node):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}")  # type: ignore[attr-defined]
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        "rule.kind == 'must_not_find'",
        "'trend' != verdict.scope",
        "finding.kind in ('min', 'max')",
        "check.scope not in ON_EACH",
        "self.kind in get_args(GuardKind)",
        "bound.key.startswith('max_')",
        "match finding.kind:\n  case 'min': pass",
    ],
)
def test_that_would_be_noticed(line: str) -> None:
    assert any(map(_tells_by_name, ast.walk(ast.parse(line))))
    assert not any(map(_tells_by_name, ast.walk(ast.parse("finding.kind == bound.key"))))


def _tells_by_name(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return any(map(_is_kind, sides)) and any(map(_is_name, sides))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _is_kind(node.func.value) and node.func.attr in ("startswith", "endswith")
    return isinstance(node, ast.Match) and _is_kind(node.subject)


def _is_kind(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("kind", "key", "scope")


def _is_name(node: ast.AST) -> bool:
    """Whether something is a text, texts, or a constant, which holds either."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "get_args"
    if isinstance(node, ast.Name):
        return node.id.isupper()
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node)
    )
