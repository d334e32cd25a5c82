"""The gate on real history: commits of public search engines, each judged against the one before.

Run it with `python benchmarks/real_changes.py CRANFIELD ENGINE=CLONE…`, where the folder is that of
`wavering.py` and a clone is a git checkout of your own: `lunr=…/lunr.py`, `whoosh=…` of
whoosh-reloaded (Python) or `minisearch=…/minisearch` (Node.js; `--esbuild PATH` compiles it). It
prints the table of `docs/why/real-changes.md`.

For each commit a repository of two commits is made: the engine as it was before, and as it is then,
each with the same few lines that search with it. There `pytest --ir-suite
--ir-baseline=run:HEAD~1` judges Cranfield and the shop of `example_project`, held to the limits and
the guard that hold by default; the shop is judged by `git:HEAD~1`, too. A rule chooses the commits
(`RULES`). Old ones need `future`, `six`, `cached-property` and `loguru`.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pytest_irquality.suite.reader import load_suite
from pytest_irquality.verdict.statistics import EQUAL

DEPTH = 10
BY_GIT = "shop"  # is judged against a kept baseline, too
SHOP = Path(__file__).parents[1] / "example_project"
WORDS = (
    "scor|rank|boost|weight|bm25|idf|fuzz|prefix|stem|trim|"
    "token|match|vector|similar|relevan|combin"
)


class Rule(NamedTuple):
    """The commits that are replayed: the newest ``most`` that change code in ``paths``.

    None is a merge, each names one of ``WORDS`` in its subject, and tests are no code.
    """

    paths: Sequence[str]
    most: int


RULES: Mapping[str, Rule] = {
    "minisearch": Rule(("src/*.ts", "src/*.js"), 12),
    "lunr": Rule(("lunr", ":!lunr/languages"), 12),
    "whoosh": Rule(
        tuple(
            f"src/whoosh/{part}"
            for part in ("analysis", "matching", "qparser", "query", "scoring.py", "searching.py")
        ),
        12,
    ),
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


def chosen(clone: Path, rule: Rule) -> Sequence[str]:
    """The commits that a rule chooses, the newest first."""
    log = ["git", "-C", str(clone), "log", "--no-merges", "--format=%h %s", "--", *rule.paths]
    told = subprocess.check_output([*log, ":!*test*"], text=True)
    commits = (line.partition(" ") for line in told.splitlines())
    named = (commit for commit, _, subject in commits if re.search(WORDS, subject.lower()))
    return [*islice(named, rule.most)]


def replayed(
    engine: str, clone: Path, commit: str, data: Path, esbuild: str
) -> Iterator[Mapping[str, Any]]:
    """What the gate says of a commit: the result of each suite, or why there is none."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        git = ("git", "-C", temporary, "-c", "user.name=x", "-c", "user.email=x@example.com")
        subprocess.run([*git, "init", "-q"], check=True)
        source, search = SEARCHES[engine]
        names = json.loads(data.read_text(encoding="utf-8"))
        for name, of in names.items():
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
            if at != commit:
                _pytest(place, BY_GIT, "--ir-update-baseline")
            subprocess.run([*git, "add", "-A", "-f"], check=True)
            subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", at], check=True)
        for name in names:
            by_run = _pytest(place, name, "--ir-baseline=run:HEAD~1")
            if name == BY_GIT:
                by_git = _pytest(place, name, "--ir-baseline=git:HEAD~1")
                if by_git.get("outcome") != by_run.get("outcome"):
                    by_run = {**by_run, "git": by_git}
            yield by_run


def _pytest(place: Path, *options: str) -> Mapping[str, Any]:
    """The JSON of a run, with what it said."""
    out = place / "out.json"
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "--ir-suite", "--ir-json=out.json", *options]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    told = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    out.unlink(missing_ok=True)
    return {**told, "said": done.stdout + done.stderr}


def _checkout(clone: Path, commit: str, place: Path) -> None:
    place.mkdir()
    archive = subprocess.check_output(["git", "-C", str(clone), "archive", commit])
    subprocess.run(["tar", "x", "-C", str(place)], input=archive, check=True)


def _compile(place: Path, esbuild: str) -> None:
    source = next(one for one in ("src/index.ts", "src/index.js") if (place / one).exists())
    bundle = [esbuild, source, "--bundle", "--format=cjs", "--outfile=index.cjs"]
    subprocess.run([*bundle, "--log-level=error"], cwd=place, check=True)


def told(result: Mapping[str, Any]) -> str:
    """One cell: what the gate says, how far the mean moved, and how many rankings changed."""
    if not result.get("suites"):
        return next((line for line in result["said"].splitlines() if "ERROR" in line), "no result")
    (one,) = result["suites"]
    failed = [verdict["label"] for verdict in one["verdicts"] if verdict["outcome"] == "failed"]
    at = one["measures"].index("ndcg@10")
    sides = [(query.get("before"), query.get("compared")) for query in one["queries"]]
    changes = [now[at] - then[at] for then, now in sides if then is not None and now is not None]
    moved = sum(changes) / len(changes) if changes else 0.0
    worse, better = sum(each < -EQUAL for each in changes), sum(each > EQUAL for each in changes)
    other = sum(_changed(query) for query in one["queries"])
    state = " ".join(filter(None, [result["outcome"], ", ".join(failed)]))
    by_git = f" (git: {result['git'].get('outcome')})" if "git" in result else ""
    said = f"{moved:+.4f}, {worse} worse, {better} better, {other} rankings changed"
    return f"{state}{by_git}; {said} of {len(changes)}"


def _changed(query: Mapping[str, Any]) -> bool:
    """Tell whether the first ten results are others, or in another order."""
    ranking = query.get("ranking", ())[:DEPTH]
    if query.get("compared") is None or query.get("before") is None:
        return False
    return any(found.get("before") != found["rank"] for found in ranking) or any(
        (lost.get("before") or DEPTH) < DEPTH for lost in query.get("ranking_before", ())
    )


def main() -> None:
    """Print a line for each commit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("clones", nargs="+", metavar="ENGINE=CLONE")
    parser.add_argument("--esbuild", default="esbuild")
    parser.add_argument("--commit", nargs="*", help="only these, and what pytest says of them")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        data = Path(temporary) / "data.json"
        found = collections(arguments.folder)
        for of in found.values():
            of["queries"] = [*of["grades"]]
        data.write_text(json.dumps(found))
        print(f"| engine | commit | {' | '.join(found)} |\n|---|---{'|---' * len(found)}|")
        for clone in arguments.clones:
            engine, _, path = clone.partition("=")
            for commit in arguments.commit or chosen(Path(path), RULES[engine]):
                log = ["git", "-C", path, "log", "-1", "--format=%h %s", commit]
                subject = subprocess.check_output(log, text=True).strip()
                try:
                    results = [*replayed(engine, Path(path), commit, data, arguments.esbuild)]
                    cells = " | ".join(map(told, results))
                except (subprocess.CalledProcessError, StopIteration) as error:
                    results, cells = [], f"cannot be built: {error}"
                print(f"| {engine} | {subject[:70]} | {cells} |", flush=True)
                if arguments.commit:
                    print(*(one["said"] for one in results), sep="\n")


if __name__ == "__main__":
    main()
