"""The recipes for MCP and CTRF, with the real packages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sybil", reason="needs `pip install -e . --group test`")

from tests.docs.shown_pages import DOCS, PLUGIN, find_file_block, make_environment

pytestmark = pytest.mark.slow

SERVER = """
from mcp.server.mcpserver import MCPServer

TITLES = {"d1": "Oak desk", "d2": "Desk lamp", "d3": "Chair"}
server = MCPServer("shop")


@server.tool()
def search(query: str, limit: int = 10) -> list[dict[str, str]]:
    if query == "broken":
        raise ValueError("the index is down")
    hits = [{"id": id, "title": title} for id, title in TITLES.items()]
    return [hit for hit in hits if query in hit["title"].lower()][:limit]


server.run()
"""
SUITE = """
queries:
  - {query: desk, relevant: [d1, d2], tags: [furniture]}
  - {query: lamp, relevant: [d2]}
"""


def run_pytest(
    folder: Path, *arguments: str, plugins: str = PLUGIN
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--ir-suite", *arguments],
        cwd=folder,
        env={**make_environment(), "PYTEST_PLUGINS": plugins},
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def test_mcp_tool_is_searched(tmp_path: Path) -> None:
    pytest.importorskip("mcp.server.mcpserver", reason="needs mcp 2", exc_type=ImportError)
    conftest = find_file_block(DOCS / "recipes/mcp.md", "python", "conftest.py")
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "shop.ir.yaml").write_text(SUITE)

    passed = run_pytest(tmp_path)
    (tmp_path / "shop.ir.yaml").write_text(SUITE + "  - {query: broken, relevant: [d1]}\n")
    failed = run_pytest(tmp_path)

    assert "2 queries: 2 new" in " ".join(passed.stdout.split()), passed.stdout
    assert failed.returncode == 1
    assert "1 no answer" in " ".join(failed.stdout.split())


def test_ctrf_has_the_values_of_queries(tmp_path: Path) -> None:
    pytest.importorskip("ctrf", reason="needs pytest-json-ctrf")
    conftest = find_file_block(DOCS / "recipes/ctrf.md", "python", "conftest.py")
    fixture = (
        "\nimport pytest\n\n@pytest.fixture\ndef retriever():\n    return lambda query: ['d2']\n"
    )
    (tmp_path / "conftest.py").write_text(conftest + fixture)
    (tmp_path / "shop.ir.yaml").write_text(SUITE)

    run_pytest(tmp_path, "--ctrf=ctrf.json", plugins=f"{PLUGIN},ctrf.main")

    tests = json.loads((tmp_path / "ctrf.json").read_text())["results"]["tests"]
    (lamp,) = [test for test in tests if test["name"].endswith("::lamp")]
    assert lamp["parameters"]["ndcg@10"] == 1
