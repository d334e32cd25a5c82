"""The programs that the documentation shows, in four languages: built as a reader builds them, around a small search of
their own, and asked by a suite.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, outer_environment

pytestmark = pytest.mark.slow

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
	found := []Hit{}
	for _, hit := range titles {
		if strings.Contains(strings.ToLower(hit.Title), strings.ToLower(query)) && len(found) < k {
			found = append(found, hit)
		}
	}
	return found
}
"""
RUST = """
use serde_json::{json, Value};
const TITLES: [(&str, &str); 3] = [("d1", "Oak desk"), ("d2", "Stühle \\"größer\\""), ("d3", "Desk lamp")];
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
    static final List<Hit> HITS = List.of(
        new Hit("d1", "Oak desk"), new Hit("d2", "St\\u00fchle \\"gr\\u00f6\\u00dfer\\""), new Hit("d3", "Desk lamp"));
    public static List<Hit> search(String query, int k) {
        var found = new ArrayList<Hit>();
        for (var hit : HITS)
            if (found.size() < k && hit.title.toLowerCase().contains(query.toLowerCase())) found.add(hit);
        return found;
    }
}
"""
GSON = [os.environ.get("IRQUALITY_GSON", ""), "/usr/share/java/gson.jar"]


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name}")
    return found


def built(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def node(folder: Path) -> None:
    tool("node")
    (folder / "my-search.mjs").write_text(NODE, "utf-8")


def go(folder: Path) -> None:
    (folder / "search.go").write_text(GO, "utf-8")
    built(folder, tool("go"), "mod", "init", "shop")
    built(folder, tool("go"), "build", "-o", "search-lines", ".")


def rust(folder: Path) -> None:
    cargo = tool("cargo")
    (folder / "src/search.rs").write_text(RUST, "utf-8")
    (folder / "Cargo.toml").write_text(CARGO)
    fetched = subprocess.run([cargo, "fetch"], cwd=folder, capture_output=True, check=False)
    if fetched.returncode:
        pytest.skip("needs serde_json, which cargo cannot fetch here")
    built(folder, cargo, "build", "--release", "--quiet")


def java(folder: Path) -> None:
    javac = tool("javac")
    jar = next((jar for jar in GSON if jar and Path(jar).exists()), None)
    if jar is None:
        pytest.skip("needs Gson: IRQUALITY_GSON=PATH/OF/gson.jar")
    (folder / "lib").mkdir()
    shutil.copy(jar, folder / "lib/gson.jar")
    (folder / "Search.java").write_text(JAVA, "utf-8")
    built(folder, javac, "-cp", "lib/*", "-d", "classes", "SearchLines.java", "Search.java")


PROGRAMS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "js": ("guides/any-language.md", node),
    "go": ("recipes/programs.md", go),
    "rust": ("recipes/programs.md", rust),
    "java": ("recipes/programs.md", java),
}


@pytest.mark.skipif(sys.platform == "win32", reason="commands as POSIX writes them")
@pytest.mark.parametrize("language", PROGRAMS)
def test_a_program_of_the_page_is_asked(language: str, tmp_path: Path) -> None:
    page, build = PROGRAMS[language]
    text = (ROOT / "docs" / page).read_text("utf-8")
    ((file, source),) = re.findall(rf"^```{language}\n// (\S+)\n(.*?)^```$", text, re.M | re.S)
    before = text.partition(f"```{language}\n")[0]
    ini = re.findall(r"^```ini\n# pytest.ini\n(.*?)^```$", before, re.M | re.S)[-1]
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(source, "utf-8")
    build(tmp_path)
    (tmp_path / "pytest.ini").write_text(ini)
    (tmp_path / "shop.ir.yaml").write_text(SUITE, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--ir-suite", "--ir-report=none", "-p", "no:cacheprovider"],
        cwd=tmp_path, env=outer_environment(), capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
