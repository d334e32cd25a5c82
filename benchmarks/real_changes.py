"""The gate on real history: commits of public search engines, each judged against the one before.

Run it with `python benchmarks/real_changes.py CRANFIELD ENGINE=CLONE…`, where the folder is that of
`wavering.py` and a clone is a git checkout of your own: `lunr=…/lunr.py`, `whoosh=…` of
whoosh-reloaded (Python) or `minisearch=…/minisearch` (Node.js; `--esbuild PATH` compiles it). It
prints the table of `docs/why/real-changes.md`.

For each commit a repository of two commits is made: the engine as it was before, and as it is then,
each with the same few lines that search with it. There `pytest --ir-suite
--ir-baseline=run:HEAD~1` judges Cranfield and the shop of `example_project`, held to the limits and
the guard that hold by default. The commits were chosen by their subjects, before any was run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_irquality.suite.reader import load_suite

SHOP = Path(__file__).parents[1] / "example_project"
COMMITS: Mapping[str, Sequence[str]] = {
    "lunr": [
        "b654089",
        "aa4745e",
        "5f7b563",
        "3c7aa69",
        "4ef72cb",
        "e14eedf",
        "3b66e6c",
        "c49eafa",
        "d424263",
        "aac6df3",
        "fa720d9",
        "edb4766",
    ],
    "whoosh": [
        "c8251549",
        "122f067c",
        "ce661647",
        "3664c9a1",
        "970ef8cb",
        "d755fb1b",
        "2a04eb93",
        "7c7ae6d8",
        "5e0a11d2",
        "daaaea4a",
    ],
    "minisearch": [
        "9208f91",
        "da5666a",
        "9d51782",
        "5e1a21f",
        "fe491b4",
        "b546066",
        "644302c",
        "532cb41",
        "474d782",
        "94f595e",
        "a8e6765",
        "ec9c0ff",
    ],
}
LUNR = """
    from lunr import lunr
    index = lunr(ref="id", fields=("title", "text"), documents=documents)
    def search(query, k):
        words = "".join(c if c.isalnum() else " " for c in query)
        return [found["ref"] for found in index.search(words)[:k]]
"""
WHOOSH = """
    import collections, collections.abc
    for name in ("Mapping", "MutableMapping", "Iterable", "Callable", "MutableSet"):
        setattr(collections, name, getattr(collections.abc, name))  # as old commits have them
    from whoosh.analysis import StemmingAnalyzer
    from whoosh.fields import ID, TEXT, Schema
    from whoosh.filedb.filestore import RamStorage
    from whoosh.qparser import MultifieldParser, OrGroup
    words = StemmingAnalyzer()
    schema = Schema(id=ID(stored=True), title=TEXT(words, field_boost=2.0), text=TEXT(words))
    index = RamStorage().create_index(schema)
    writer = index.writer()
    for document in documents:
        writer.add_document(**document)
    writer.commit()
    parser = MultifieldParser(["title", "text"], schema, group=OrGroup.factory(0.9))
    searcher = index.searcher()
    def search(query, k):
        words = "".join(c if c.isalnum() else " " for c in query)
        return [found["id"] for found in searcher.search(parser.parse(words), limit=k)]
"""
MINISEARCH = """
    import subprocess
    script = '''
    const made = require("./engine/index.cjs");
    const MiniSearch = made.default || made;
    const asked = JSON.parse(require("fs").readFileSync(0));
    const index = new MiniSearch({ fields: ["title", "text"] });
    index.addAll(asked.documents);
    const options = { boost: { title: 2 }, fuzzy: 0.2, prefix: true };
    const found = (query) => index.search(query, options).slice(0, 40).map((one) => one.id);
    console.log(JSON.stringify(Object.fromEntries(asked.queries.map((q) => [q, found(q)]))));
    '''
    asked = json.dumps({"documents": documents, "queries": queries})
    node = ["node", "-e", script]
    known = json.loads(subprocess.check_output(node, input=asked, text=True, cwd=root))
    def search(query, k):
        return known[query][:k]
"""
SEARCHES = {"lunr": (".", LUNR), "whoosh": ("src", WHOOSH), "minisearch": (".", MINISEARCH)}
CONFTEST = """
import json, sys
from pathlib import Path
import pytest

root = Path(__file__).parents[1]

@pytest.fixture(scope="module", params=["{suite}"])
def retriever(request):
    sys.path.insert(0, str(root / "engine" / "{source}"))
    data = json.loads(Path({data!r}).read_text())["{suite}"]
    documents, queries = data["documents"], data["queries"]
{search}
    return search
"""


def collections(folder: Path) -> Mapping[str, Any]:
    """The documents, queries and grades of Cranfield and of the shop."""
    grades: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels" / "test.qrels").read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split()
        grades.setdefault(query, {})[document] = float(grade)
    texts = {one["_id"]: one["text"] for one in _lines(folder / "queries.jsonl")}
    documents = [
        {"id": one["_id"], "title": one.get("title", ""), "text": one["text"]}
        for one in _lines(folder / "corpus.jsonl")
    ]
    shop = [
        {"id": one["id"], "title": one["title"], "text": " ".join(map(str, one.values()))}
        for one in _lines(SHOP / "catalog.jsonl")
    ]
    asked = {
        query.text: dict(query.judgments.grades)
        for query in load_suite(SHOP / "shop.ir.yaml").queries
        if query.judgments.relevant
    }
    return {
        "cranfield": {
            "documents": documents,
            "grades": {texts[id]: of for id, of in grades.items()},
        },
        "shop": {"documents": shop, "grades": asked},
    }


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


def suite(grades: Mapping[str, Mapping[str, float]]) -> str:
    """A suite of queries and grades, and nothing else. JSON is YAML."""
    queries = [{"query": text, "relevant": of} for text, of in grades.items()]
    return json.dumps({"metrics": ["ndcg@10", "recall@10"], "queries": queries})


def replayed(engine: str, clone: Path, commit: str, data: Path, esbuild: str) -> Mapping[str, Any]:
    """What the gate says of a commit: the results of both suites, or why there are none."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        git = ("git", "-C", temporary, "-c", "user.name=x", "-c", "user.email=x@example.com")
        subprocess.run([*git, "init", "-q"], check=True)
        source, search = SEARCHES[engine]
        for name, of in json.loads(data.read_text(encoding="utf-8")).items():
            (place / name).mkdir()
            conftest = CONFTEST.format(suite=name, source=source, data=str(data), search=search)
            (place / name / "conftest.py").write_text(conftest, encoding="utf-8")
            (place / name / f"{name}.ir.yaml").write_text(suite(of["grades"]), encoding="utf-8")
        (place / "pytest.ini").write_text("[pytest]\nnorecursedirs = engine\n")
        for at in (f"{commit}~1", commit):
            shutil.rmtree(place / "engine", ignore_errors=True)
            _checkout(clone, at, place / "engine")
            if engine == "minisearch":
                _compile(place / "engine", esbuild)
            subprocess.run([*git, "add", "-A", "-f"], check=True)
            subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", at], check=True)
        command = [sys.executable, "-m", "pytest", "-q", "--ir-suite", "--ir-baseline=run:HEAD~1"]
        command += ["--ir-json=out.json"]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        out = place / "out.json"
        if not out.exists():
            return {"error": done.stderr[-1500:].replace("\n", " ")}
        return {**json.loads(out.read_text(encoding="utf-8")), "said": done.stdout}


def _checkout(clone: Path, commit: str, place: Path) -> None:
    place.mkdir()
    archive = subprocess.check_output(["git", "-C", str(clone), "archive", commit])
    subprocess.run(["tar", "x", "-C", str(place)], input=archive, check=True)


def _compile(place: Path, esbuild: str) -> None:
    bundle = [esbuild, "src/index.ts", "--bundle", "--format=cjs", "--outfile=index.cjs"]
    subprocess.run([*bundle, "--log-level=error"], cwd=place, check=True)


def told(result: Mapping[str, Any]) -> str:
    """One cell: red or green, and what moved."""
    failed = [one["label"] for one in result["verdicts"] if one["outcome"] == "failed"]
    at = result["measures"].index("ndcg@10")
    sides = [(query["before"], query["compared"]) for query in result["queries"]]
    changes = [now[at] - then[at] for then, now in sides if then is not None and now is not None]
    moved = sum(changes) / len(changes) if changes else 0.0
    worse, better = sum(one < -1e-9 for one in changes), sum(one > 1e-9 for one in changes)
    state = f"red ({', '.join(failed)})" if failed else result["headline"].partition(":")[0]
    return f"{state}; {moved:+.4f}, {worse} worse, {better} better of {len(changes)}"


def main() -> None:
    """Print a line for each commit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("clones", nargs="+", metavar="ENGINE=CLONE")
    parser.add_argument("--esbuild", default="esbuild")
    parser.add_argument("--only", nargs="*", default=["cranfield", "shop"], help="of these")
    parser.add_argument("--show", action="store_true", help="what pytest said")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        data = Path(temporary) / "data.json"
        every = collections(arguments.folder)
        found = {name: every[name] for name in arguments.only}
        for of in found.values():
            of["queries"] = [*of["grades"]]
        data.write_text(json.dumps(found))
        columns = " | ".join(arguments.only)
        print(f"| engine | commit | {columns} |\n|---|---{'|---' * len(found)}|")
        for clone in arguments.clones:
            engine, _, path = clone.partition("=")
            for commit in COMMITS[engine]:
                result = replayed(engine, Path(path), commit, data, arguments.esbuild)
                log = ["git", "-C", path, "log", "-1", "--format=%h %s", commit]
                subject = subprocess.check_output(log, text=True).strip()
                results = result.get("suites", ())
                cells = [result["error"]] if "error" in result else map(told, results)
                print(f"| {engine} | {subject[:70]} | {' | '.join(cells)} |", flush=True)
                if arguments.show:
                    print(result.get("said", ""))


if __name__ == "__main__":
    main()
