"""Every promise of SECURITY.md names a test that exists, and every bound is that of the code."""

from __future__ import annotations

import ast
import re

import pytest

from pytest_irquality.io import decoding, files, git
from pytest_irquality.passages import diagnosis, matching
from pytest_irquality.retrieval import hit_reader, service
from pytest_irquality.suite import kinds, yaml_source
from tests.docs.shown_pages import ROOT

TEXT = (ROOT / "SECURITY.md").read_text("utf-8")
MIB = 2**20
NODE_ID = re.compile(r"`(tests/[\w/]+\.py)((?:::\w+)+)`")
BOUNDS = {
    "a file that is read at once": f"{files.MAX_FILE_BYTES // MIB} MB",
    "a line": f"{decoding.MAX_LINE_LENGTH // MIB} million characters",
    "nesting of YAML and JSON": f"{yaml_source.MAX_NESTING} levels",
    "digits of a number": f"{kinds.MAX_DIGITS}",
    "a cutoff": f"{kinds.MAX_CUTOFF:,}",
    "files that a pattern matches": f"{files.MAX_MATCHING_FILES:,}",
    "growth of a gzip file that unpacks to more than 64 MB": f"{decoding.MAX_GZIP_GROWTH} times",
    "a passage": f"{matching.MAX_PASSAGE_LENGTH:,} characters",
    "the text of a result (the rest is cut)": f"{hit_reader.MAX_TEXT_CHARS:,} characters",
    "chunks that are joined to find a passage": f"{diagnosis.MAX_SPLIT_CHUNKS}",
    "silence of a server that accepts connections": f"{service.SILENCE_TIMEOUT_S:.0f} seconds",
    "an answer of a URL or a program": f"{service.MAX_ANSWER_BYTES // MIB} MB",
    "a call of git": f"{git.GIT_TIMEOUT_S:.0f} seconds",
}


def read_rows(header: str) -> list[list[str]]:
    """Return the cells of the table with a header."""
    table = TEXT.partition(f"| {header} |")[2].partition("\n\n")[0]
    rows = []
    for line in table.splitlines()[2:]:
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def list_tests(path: str) -> set[str]:
    """Return the tests of a file, as node ids without the path."""
    tests = set()
    for node in ast.parse((ROOT / path).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            tests.add(f"::{node.name}")
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    tests.add(f"::{node.name}::{inner.name}")
    return tests


def test_every_promise_has_a_reason_and_a_test() -> None:
    rows = read_rows("do this")

    assert len(rows) >= 15
    for promise, reason, tests in rows:
        assert promise
        assert reason
        assert NODE_ID.sub("", tests).strip(", ") == "", promise
        assert NODE_ID.search(tests), promise


@pytest.mark.parametrize(("path", "name"), NODE_ID.findall(TEXT))
def test_named_test_exists(path: str, name: str) -> None:
    assert name in list_tests(path)


def test_no_test_is_named_twice() -> None:
    names = NODE_ID.findall(TEXT)

    assert len(names) == len(set(names))


def test_bounds_are_those_of_the_code() -> None:
    rows = read_rows("what")

    assert {row[0]: row[1] for row in rows} == BOUNDS
    assert yaml_source.MAX_NESTING == decoding.MAX_NESTING
    assert files.MAX_FILE_BYTES == decoding.MIN_BOUNDED_GZIP_BYTES


def test_named_files_exist() -> None:
    for path in re.findall(r"`((?:tests|\.github)/[\w./-]+?)[`:]", TEXT):
        assert (ROOT / path).exists(), path
