"""The programs in four languages, built around a small search as a reader builds them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("sybil", reason="needs `pip install -e . --group test`")

from tests.docs.shown_pages import DOCS, ROOT, find_file_block, run_command

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of POSIX"),
]
EXAMPLES = ROOT / "examples/programs"
GSON_JARS = (os.environ.get("IRQUALITY_GSON", ""), "/usr/share/java/gson.jar")
SUITE = """
queries:
  - {query: desk, relevant: [d1]}
  - {query: 'Stühle "größer"', relevant: [d2]}
  - {query: lamp, relevant: [d3]}
concurrency: 2
thresholds: {recall@10: 1.0, mrr@10: 1.0}
"""
NODE = """
const titles = { d1: 'Oak desk', d2: 'Stühle "größer"', d3: 'Desk lamp' }
export const search = async (query, k) =>
  Object.entries(titles).filter(([, title]) => title.toLowerCase().includes(query.toLowerCase()))
    .map(([id, title]) => ({ id, title })).slice(0, k)
"""
GO = """
package main
import "strings"
type Hit struct { ID string `json:"id"`; Title string `json:"title"` }
var titles = []Hit{{"d1", "Oak desk"}, {"d2", "Stühle \\"größer\\""}, {"d3", "Desk lamp"}}
func Search(query string, k int) []Hit {
	hits := []Hit{}
	for _, hit := range titles {
		if strings.Contains(strings.ToLower(hit.Title), strings.ToLower(query)) && len(hits) < k {
			hits = append(hits, hit)
		}
	}
	return hits
}
"""
RUST = """
use serde_json::{json, Value};
const TITLES: [(&str, &str); 3] =
    [("d1", "Oak desk"), ("d2", "Stühle \\"größer\\""), ("d3", "Desk lamp")];
pub fn search(query: &str, k: usize) -> Vec<Value> {
    TITLES.iter().filter(|hit| hit.1.to_lowercase().contains(&query.to_lowercase()))
        .map(|hit| json!({"id": hit.0, "title": hit.1})).take(k).collect()
}
"""
CARGO = """
[package]
name = "search-lines"
version = "0.1.0"
edition = "2021"
[dependencies]
serde_json = "1"
"""
JAVA = """
import java.util.ArrayList;
import java.util.List;
public class Search {
    public static class Hit {
        String id, title;
        Hit(String id, String title) { this.id = id; this.title = title; }
    }
    static final List<Hit> HITS = List.of(new Hit("d1", "Oak desk"),
        new Hit("d2", "St\\u00fchle \\"gr\\u00f6\\u00dfer\\""), new Hit("d3", "Desk lamp"));
    public static List<Hit> search(String query, int k) {
        var hits = new ArrayList<Hit>();
        for (var hit : HITS)
            if (hits.size() < k && hit.title.toLowerCase().contains(query.toLowerCase()))
                hits.add(hit);
        return hits;
    }
}
"""


def find_tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"needs {name}")
    return path


def build(folder: Path, *command: str) -> None:
    completed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr


def write_node(folder: Path) -> None:
    find_tool("node")
    page = DOCS / "guides/any-language.md"
    (folder / "search.mjs").write_text(find_file_block(page, "js", "search.mjs"), "utf-8")
    (folder / "my-search.mjs").write_text(NODE, "utf-8")


def build_go(folder: Path) -> None:
    go = find_tool("go")
    shutil.copy(EXAMPLES / "main.go", folder)
    (folder / "search.go").write_text(GO, "utf-8")
    build(folder, go, "mod", "init", "shop")
    build(folder, go, "build", "-o", "search-lines", ".")


def build_rust(folder: Path) -> None:
    cargo = find_tool("cargo")
    (folder / "src").mkdir()
    shutil.copy(EXAMPLES / "main.rs", folder / "src")
    (folder / "src/search.rs").write_text(RUST, "utf-8")
    (folder / "Cargo.toml").write_text(CARGO)
    if subprocess.run([cargo, "fetch"], cwd=folder, capture_output=True, check=False).returncode:
        pytest.skip("cargo cannot fetch serde_json here")
    build(folder, cargo, "build", "--release", "--quiet")


def build_java(folder: Path) -> None:
    javac = find_tool("javac")
    jar = next((jar for jar in GSON_JARS if jar and Path(jar).exists()), None)
    if jar is None:
        pytest.skip("needs Gson: IRQUALITY_GSON=PATH/OF/gson.jar")
    (folder / "lib").mkdir()
    shutil.copy(jar, folder / "lib/gson.jar")
    shutil.copy(EXAMPLES / "SearchLines.java", folder)
    (folder / "Search.java").write_text(JAVA, "utf-8")
    build(folder, javac, "-cp", "lib/*", "-d", "classes", "SearchLines.java", "Search.java")


class Program(NamedTuple):
    file: str
    build: Callable[[Path], None]


PROGRAMS: Mapping[str, Program] = {
    "go": Program("main.go", build_go),
    "java": Program("SearchLines.java", build_java),
    "rust": Program("main.rs", build_rust),
}


def find_command(file: str) -> str:
    """Return the value of ``ir_command`` in the README's table."""
    for line in (EXAMPLES / "README.md").read_text("utf-8").splitlines():
        if line.startswith(f"| `{file}`"):
            return str(re.findall(r"`([^`]+)`", line)[-1])
    raise AssertionError(file)


def run_suite(folder: Path, command: str) -> None:
    (folder / "pytest.ini").write_text(f"[pytest]\nir_command = {command}\n")
    (folder / "shop.ir.yaml").write_text(SUITE, "utf-8")

    completed = run_command("pytest --ir-suite", folder)

    assert completed.returncode == 0, completed.stdout
    assert "PASSED" in completed.stdout


def test_node_program_of_the_page(tmp_path: Path) -> None:
    write_node(tmp_path)

    run_suite(tmp_path, "node search.mjs")


@pytest.mark.parametrize("language", PROGRAMS)
def test_program_of_the_examples(language: str, tmp_path: Path) -> None:
    program = PROGRAMS[language]
    program.build(tmp_path)

    run_suite(tmp_path, find_command(program.file))
