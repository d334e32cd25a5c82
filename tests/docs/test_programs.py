"""The server and the program of the recipe for other languages, around a small search of their own, asked by a suite."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, outer_environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node"),
]

SUITE = """
queries:
  - {query: desk, relevant: [d1]}
  - {query: 'Stühle "größer"', relevant: [d2]}
  - {query: --lamp, relevant: [d3]}
concurrency: 2
thresholds: {recall@10: 1.0, mrr@10: 1.0}
"""
SEARCH = """
const titles = { d1: 'Oak desk', d2: 'Stühle "größer"', d3: 'Desk --lamp' }
export const search = async (query, k) =>
  Object.entries(titles).filter(([, title]) => title.toLowerCase().includes(query.toLowerCase()))
    .map(([id, title]) => ({ id, title })).slice(0, k)
"""
PROGRAM = """
import { readFileSync } from 'node:fs'
import { search } from './my-search.mjs'
console.log(JSON.stringify(await search(readFileSync(0, 'utf8'), Number(process.argv[2]))))
"""


@pytest.mark.parametrize("files", [("server.mjs", "pytest.ini"), ("conftest.py",)])
def test_what_the_recipe_shows_is_asked(files: tuple[str, ...], tmp_path: Path) -> None:
    text = (ROOT / "docs/recipes/programs.md").read_text("utf-8")
    shown = re.findall(r"^```\w+\n(?://|#) (\S+)\n(.*?)^```$", text, re.M | re.S)
    for file in files:
        (tmp_path / file).write_text(dict(shown)[file], "utf-8")
    (tmp_path / "my-search.mjs").write_text(SEARCH, "utf-8")
    (tmp_path / "search.mjs").write_text(PROGRAM, "utf-8")
    (tmp_path / "shop.ir.yaml").write_text(SUITE, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--ir-suite", "--ir-report=none", "-p", "no:cacheprovider"],
        cwd=tmp_path, env=outer_environment(), capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
