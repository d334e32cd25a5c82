"""The recipes in real repositories, as a team goes by them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tests.docs.clones import (
    ACCEPTS,
    BASELINE,
    FILES,
    RECIPES,
    Team,
    commit,
    made,
    typed,
    workflow,
    write,
)
from tests.docs.jobs import Job
from tests.repository import git

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32" or not shutil.which("bash"), reason="needs bash"),
]
BY_HAND = workflow("github.md", ".github/workflows/search-by-hand.yml")
SEARCH = workflow("github.md", ".github/workflows/search.yml")


def test_the_first_baseline_and_the_history_of_main(tmp_path: Path) -> None:
    team = made(tmp_path)
    clone = team.clone("ours")
    for name, text in FILES.items():
        write(clone, name, text)
    team.types(clone, typed("The first baseline"))
    job = team.pull_request("guard-search", SEARCH)
    assert not job.failed, job.output
    assert "this change brings the first baseline of tests/search/shop.ir.yaml" in job.output or (
        "tests/search/shop.ir.yaml is new: " in job.output
    )
    assert job.artifact.joinpath("history.jsonl").read_text().count("\n") == 1
    assert not [*team.service.folder.glob("caches/*")]  # a pull request leaves it as it is
    before = team.merged("guard-search")
    assert not team.pushed(SEARCH, before).failed
    git(clone, "checkout", "-q", "-b", "worse")
    write(clone, "boosts.txt", "lamp d2\n")
    team.types(clone, typed("A drop that is wanted").replace("HEAD", "worse"))
    job = team.pushed(SEARCH, team.merged("worse"))
    assert not job.failed, job.output
    entries = job.artifact.joinpath("history.jsonl").read_text().splitlines()
    first, second = map(json.loads, entries)
    assert (first["accepted"], second["accepted"]) == (False, True)
    assert second["changes"]["mrr@10"] == pytest.approx(-1 / 6)
    assert team.service.comments is not None
    assert "tests/search/shop.ir.yaml" in team.service.comments["7", "search quality"]


def test_a_drop_is_red_and_accepted_in_the_open_it_is_green_and_loud(guarded: Team) -> None:
    clone = guarded.clone("ours", at="synonyms")
    write(clone, "synonyms.txt", "lamp d2\n")
    commit(clone, "Shorter synonyms")
    git(clone, "push", "-q", "origin", "synonyms")
    job = guarded.pull_request("synonyms", BY_HAND)
    assert job.failed
    assert job.artifact.joinpath("ir-report.html").exists()
    assert "::error file=tests/search/shop.ir.yaml" in job.output
    assert "mrr@10 fell 1.000 → 0.833" in (job.folder / "summary").read_text()
    script = typed("A drop that is wanted")
    assert "mrr@10 fell 1.000 → 0.833" in guarded.types(clone, script)
    job = guarded.pull_request("synonyms", BY_HAND)
    assert not job.failed, job.output
    assert (job.folder / "summary").read_text().startswith(f"- ⚠ {ACCEPTS}")
    assert "::error" not in job.output
    done = guarded.merge_request("synonyms")
    assert (done.returncode, ACCEPTS in done.stdout) == (0, True), done.stdout


def test_a_label_accepts_what_no_change_accepts_for_itself(guarded: Team) -> None:
    text = (RECIPES / "github.md").read_text("utf-8")
    (ini,) = re.findall(r"```ini\n(# pytest.ini\n.*?)```", text, re.S)
    main = guarded.folder / "first"
    write(main, "pytest.ini", f"{ini}pythonpath = .\n")
    commit(main, "No change accepts its own drop")
    git(main, "push", "-q", "origin", "main")
    clone = guarded.clone("ours", at="synonyms")
    write(clone, "synonyms.txt", "lamp d2\n")
    write(clone, "pytest.ini", "[pytest]\npythonpath = .\n")
    guarded.types(clone, "pytest -q --ir-suite --ir-update-baseline; git add .")
    git(clone, "commit", "-qm", "Shorter synonyms, accepted by myself")
    git(clone, "push", "-q", "origin", "synonyms")
    by_label = workflow("github.md", ".github/workflows/search-accepted.yml")
    for labels, failed in ((), True), (("search",), True), (("search drop accepted",), False):
        assert guarded.pull_request("synonyms", by_label, *labels).failed == failed


def test_without_any_stored_file_the_same_drop_is_red(guarded: Team) -> None:
    main = guarded.folder / "first"
    git(main, "rm", "-q", BASELINE)
    commit(main, "No stored baseline")
    git(main, "push", "-q", "origin", "main")
    clone = guarded.clone("ours", at="synonyms")
    write(clone, "synonyms.txt", "lamp d2\n")
    commit(clone, "Shorter synonyms")
    git(clone, "push", "-q", "origin", "synonyms")
    text = json.dumps(BY_HAND).replace("=git:", "=run:")
    job = guarded.pull_request("synonyms", json.loads(text))
    assert job.failed
    assert "mrr@10 fell 1.000 → 0.833" in job.output
    done = guarded.merge_request("synonyms", "run:")
    assert (done.returncode, "mrr@10 fell 1.000 → 0.833" in done.stdout) == (1, True), done.stdout


def test_a_conflict_in_the_baseline_is_settled_by_an_update(guarded: Team) -> None:
    theirs, ours = guarded.clone("theirs", at="boosts"), guarded.clone("ours", at="synonyms")
    for clone, line in ((theirs, "lamp d2\n"), (ours, "lamp d3\n")):
        branch = git(clone, "branch", "--show-current").strip()
        write(clone, f"{branch}.txt", line)
        guarded.types(clone, typed("A drop that is wanted"))
    guarded.merged("boosts")
    output = guarded.types(ours, typed("A conflict"))
    assert f"CONFLICT (content): Merge conflict in {BASELINE}" in output
    assert "baseline written" in output
    # Lamps sink to rank 3, which neither branch had: what is committed now is what both return.
    assert git(ours, "status", "--porcelain") == ""
    assert "<<<<" not in (ours / BASELINE).read_text()
    job = guarded.pull_request("synonyms", BY_HAND)
    assert not job.failed, job.output


def test_a_renamed_suite_keeps_its_baseline(guarded: Team) -> None:
    clone = guarded.clone("ours", at="rename")
    output = guarded.types(clone, typed("A rename"))
    assert "nothing to compare" not in output
    assert [path.name for path in (clone / BASELINE).parent.iterdir()] == ["furniture.jsonl"]
    job = guarded.pull_request("rename", BY_HAND)
    assert not job.failed, job.output
    assert "none of 3 rankings changed" in job.output


def test_a_fork_gets_its_comment_from_a_job_that_never_runs_its_code(guarded: Team) -> None:
    clone = guarded.clone("stranger", at="fix")
    write(clone, "synonyms.txt", "lamp d2\n")
    commit(clone, "A fix")
    git(clone, "push", "-q", "origin", "fix")
    judges = workflow("forks.md", ".github/workflows/search.yml")
    assert judges["permissions"] == {"contents": "read"}
    job = guarded.pull_request("fix", judges)
    assert job.failed
    assert not guarded.commented(job, "another").failed  # whose pull request is closed meanwhile
    assert guarded.service.comments == {}
    second = guarded.commented(job, "stranger")
    assert not second.failed, second.output
    assert guarded.service.comments is not None
    assert "mrr@10 fell 1.000 → 0.833" in guarded.service.comments["7", "search quality"]


NODE_SERVER = """
import { createServer } from 'node:http'
const titles = { d1: 'Oak desk', d2: 'Standing desk', d3: 'Desk lamp' }
createServer((request, response) => {
  const { searchParams } = new URL(request.url, 'http://localhost')
  const found = Object.entries(titles).filter(([, title]) => title.toLowerCase().includes(searchParams.get('q')))
  response.end(JSON.stringify({ results: found.map(([id, title]) => ({ id, title })).slice(0, searchParams.get('size')) }))
}).listen(process.env.PORT, '127.0.0.1')
"""


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
@pytest.mark.parametrize("baseline", ["git:", "run:"])
def test_a_service_is_judged_without_a_line_of_python(tmp_path: Path, baseline: str) -> None:
    team = made(tmp_path)
    write(tmp_path / "bin", "npm", "#!/bin/sh\n")
    (tmp_path / "bin/npm").chmod(0o755)
    clone = team.clone("ours")
    git(clone, "rm", "-q", "shop.py", "pyproject.toml")
    write(clone, "server.mjs", NODE_SERVER)
    write(
        clone,
        "shop.ir.yaml",
        "queries: [{query: desk, relevant: [d1]}]\nthresholds: {mrr@10: {max_drop: 0.1}}\n",
    )
    text = (RECIPES / "github.md").read_text("utf-8")
    (serve,) = re.findall(r"^ +serve: (.*)$", text, re.M)
    (url,) = re.findall(r"^ +url: (.*)$", text, re.M)
    settings = " ".join(map(shlex.quote, (f"ir_serve={serve}", "-o", f"ir_url={url}")))
    team.types(clone, f"pytest -q --ir-suite --ir-update-baseline -o {settings}")
    commit(clone, "Guard search")
    git(clone, "push", "-q", "origin", "main")
    job = json.loads(
        json.dumps(workflow("github.md", ".github/workflows/search-service.yml")).replace(
            "git:", baseline
        )
    )
    git(clone, "checkout", "-q", "-b", "same")
    write(clone, "server.mjs", NODE_SERVER + "// as before\n")
    commit(clone, "A remark")
    git(clone, "push", "-q", "origin", "same")
    done = team.pull_request("same", job)
    assert not done.failed, done.output
    git(clone, "checkout", "-q", "-b", "worse")
    write(clone, "server.mjs", NODE_SERVER.replace("(titles)", "(titles).reverse()"))
    commit(clone, "Newest first")
    git(clone, "push", "-q", "origin", "worse")
    done = team.pull_request("worse", job)
    assert done.failed
    assert "mrr@10 fell 1.000 → 0.333" in done.output
    assert done.artifact.joinpath("report.html").exists()


def test_nights_are_compared_with_the_one_before_and_have_a_history(guarded: Team) -> None:
    clone = guarded.folder / "first"
    code = "import os\ndef search(query, k):\n    return os.environ['SEARCH_URL'].split('+')\n"
    write(clone, "shop.py", code)  # production, which no commit changes
    git(clone, "rm", "-q", BASELINE)
    commit(clone, "Ask production")
    git(clone, "push", "-q", "origin", "main")
    nightly = workflow("nightly.md", ".github/workflows/search-nightly.yml")

    def night(answers: str, by: str = "schedule") -> Job:
        variables = {"vars": {"PRODUCTION_SEARCH_URL": answers}}
        return guarded.job(guarded.check_out_main, {"event_name": by}, **variables).run(nightly)

    assert "there is no baseline" in night("d1+d2").output
    first = night("d1+d2", "workflow_dispatch")  # there is nothing to compare with yet
    assert first.failed
    assert not night("d1+d2").failed
    for _ in range(2):  # a red night is none to compare with
        red = night("d2+d1")
        assert red.failed
        assert "mrr@10 fell 1.000 → 0.500" in red.output
    assert night("d2+d1", "workflow_dispatch").failed
    assert not night("d2+d1").failed
    (kept,) = [*guarded.folder.glob("caches/nights-7")]
    entries = [json.loads(line) for line in (kept / "history.jsonl").read_text().splitlines()]
    assert [entry["changes"].get("mrr@10") for entry in entries] == [None, -0.5, 0.0]
