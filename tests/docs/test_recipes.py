"""The recipes in real repositories, as a team uses them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.github_jobs import Job
from tests.docs.shown_pages import find_blocks
from tests.docs.team import (
    BASELINE,
    RECIPES,
    TESTS,
    Team,
    commit,
    create_team,
    find_commands,
    git,
    load_workflow,
    write,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32" or not shutil.which("bash"), reason="needs bash"),
]
SEARCH = load_workflow("github-actions.md", ".github/workflows/search.yml")
GITHUB = RECIPES / "github-actions.md"
DROP = "mrr@10 dropped from 1.000 to 0.667"


def find_snippet(words: str) -> Any:
    """Return the YAML block of the GitHub page that has some words."""
    (snippet,) = [block for block in find_blocks(GITHUB, "yaml") if words in block]
    return yaml.safe_load(snippet)


def make_strict_workflow() -> dict[str, Any]:
    """Return the main workflow with the lines that let a label accept a drop."""
    workflow = json.loads(json.dumps(SEARCH))
    workflow["env"] = find_snippet("GATE:")["env"]
    step = workflow["jobs"]["search"]["steps"][-1]
    step["with"]["args"] += " -o ir_gate=${{ env.GATE }}"
    return dict(workflow)


def test_first_baseline_passes_and_main_has_a_history(tmp_path: Path) -> None:
    team = create_team(tmp_path)
    clone = team.clone("ours")
    for name, text in TESTS.items():
        write(clone, name, text)
    team.run(clone, find_commands("The first baseline"))

    job = team.run_pull_request("test-search", SEARCH)

    assert not job.has_failed, job.output
    assert list(team.service.folder.glob("caches/*")) == []  # a pull request only reads it
    before = team.merge("test-search")
    pushed = team.run_push(SEARCH, before)
    assert not pushed.has_failed, pushed.output
    assert pushed.artifact.joinpath("history.jsonl").read_text().count("\n") == 1


def test_drop_fails_and_an_update_makes_it_a_review(team: Team) -> None:
    clone = team.push("synonyms", {"synonyms.txt": "lamp d2\ndesk d2\n"})

    job = team.run_pull_request("synonyms", SEARCH)

    assert job.has_failed
    assert job.artifact.joinpath("report.html").exists()
    assert "::error" in job.output
    assert "FAILED" in job.summary

    output = team.run(clone, find_commands("A drop on purpose"))
    accepted = team.run_pull_request("synonyms", SEARCH)

    assert DROP in output
    assert not accepted.has_failed, accepted.output
    assert "REVIEW" in accepted.output
    comment = team.service.comments["7", "search quality"]
    assert "REVIEW" in comment
    assert team.run_merge_request("synonyms").returncode == 0


def test_label_accepts_what_a_strict_gate_refuses(team: Team) -> None:
    clone = team.push("synonyms", {"synonyms.txt": "lamp d2\ndesk d2\n"})
    team.run(clone, find_commands("A drop on purpose"))
    workflow = make_strict_workflow()

    assert team.run_pull_request("synonyms", workflow).has_failed
    assert team.run_pull_request("synonyms", workflow, "search").has_failed
    labeled = team.run_pull_request("synonyms", workflow, "search drop accepted")
    assert not labeled.has_failed, labeled.output


def test_drop_fails_without_a_stored_file(team: Team) -> None:
    main = team.folder / "first"
    git(main, "rm", "-q", BASELINE)
    commit(main, "Remove the baseline")
    git(main, "push", "-q", "origin", "main")
    team.push("synonyms", {"synonyms.txt": "lamp d2\ndesk d2\n"})
    workflow = json.loads(json.dumps(SEARCH).replace("=git:", "=run:"))

    job = team.run_pull_request("synonyms", workflow)
    merge_request = team.run_merge_request("synonyms", "run:")

    assert job.has_failed
    assert DROP in job.output
    assert merge_request.returncode == 1
    assert DROP in merge_request.stdout


def test_conflict_in_the_baseline_is_settled_by_an_update(team: Team) -> None:
    theirs = team.push("boosts", {"boosts.txt": "lamp d2\n"})
    ours = team.push("synonyms", {"synonyms.txt": "lamp d3\n"})
    for clone in (theirs, ours):
        team.run(clone, find_commands("A drop on purpose"))
    team.merge("boosts")

    output = team.run(ours, find_commands("A merge conflict"))

    assert f"CONFLICT (content): Merge conflict in {BASELINE}" in output
    assert git(ours, "status", "--porcelain") == ""
    assert "<<<<" not in (ours / BASELINE).read_text()
    job = team.run_pull_request("synonyms", SEARCH)
    assert not job.has_failed, job.output


def test_renamed_suite_is_still_compared(team: Team) -> None:
    clone = team.clone("ours", branch="rename")

    team.run(clone, find_commands("A rename"))

    assert [path.name for path in (clone / BASELINE).parent.iterdir()] == ["furniture.jsonl"]
    job = team.run_pull_request("rename", SEARCH)
    assert not job.has_failed, job.output
    assert "3 compared" in " ".join(job.output.split())


def test_fork_gets_a_comment_from_a_job_that_never_runs_its_code(team: Team) -> None:
    team.push("fix", {"synonyms.txt": "lamp d2\ndesk d2\n"})
    workflow = json.loads(json.dumps(SEARCH))
    workflow["permissions"] = {"contents": "read"}
    del workflow["jobs"]["search"]["steps"][-1]["with"]["comment"]

    job = team.run_pull_request("fix", workflow)
    assert job.has_failed
    assert not team.run_comment(job, "another").has_failed  # whose pull request is closed
    assert team.service.comments == {}
    second = team.run_comment(job, "stranger")

    assert not second.has_failed, second.output
    assert "FAILED" in team.service.comments["7", "search quality"]


def test_night_is_compared_with_the_last_good_night(team: Team) -> None:
    clone = team.folder / "first"
    # Production, which no commit changes.
    code = "import os\ndef search(query, k):\n    return os.environ['SEARCH_URL'].split('+')\n"
    write(clone, "shop.py", code)
    git(clone, "rm", "-q", BASELINE)
    commit(clone, "Search production")
    git(clone, "push", "-q", "origin", "main")
    workflow = load_workflow("nightly.md", ".github/workflows/search-nightly.yml")

    def run_night(answer: str, event: str = "schedule") -> Job:
        variables = {"PRODUCTION_SEARCH_URL": answer}
        return team.make_job({"event_name": event}, vars=variables).run(workflow)

    run_night("d1+d2", "workflow_dispatch")  # there is nothing to compare with yet
    same = run_night("d1+d2")
    assert not same.has_failed, same.output
    assert "3 compared" in " ".join(same.output.split())
    for _ in range(2):  # a failed night is not compared with
        assert run_night("d2+d1").has_failed
    assert run_night("d2+d1", "workflow_dispatch").has_failed
    assert not run_night("d2+d1").has_failed
    caches = sorted(team.folder.glob("caches/nights-*"), key=lambda path: path.stat().st_mtime)
    history = (caches[-1] / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["outcome"] for line in history][-1] == "PASSED"


def test_shards_are_evaluated_together(team: Team) -> None:
    team.push("synonyms", {"synonyms.txt": "lamp d2\ndesk d2\n"})
    workflow = load_workflow("distributed.md", ".github/workflows/search-shards.yml")
    event = {"event_name": "pull_request", "event": {"pull_request": {"number": 7}}}

    for shard in workflow["jobs"]["retrieve"]["strategy"]["matrix"]["shard"]:
        team.make_job(event, "synonyms").run_within(1, workflow, "retrieve", shard=shard)
    job = team.make_job(event, "synonyms").run_within(1, workflow, "evaluate")

    assert job.has_failed
    assert DROP in job.output


NODE_SERVER = """
import { createServer } from 'node:http'
const titles = { d1: 'Oak desk', d2: 'Standing desk', d3: 'Desk lamp' }
createServer((request, response) => {
  const { searchParams } = new URL(request.url, 'http://localhost')
  const hits = Object.entries(titles)
    .filter(([, title]) => title.toLowerCase().includes(searchParams.get('q')))
    .map(([id, title]) => ({ id, title }))
  response.end(JSON.stringify({ results: hits.slice(0, searchParams.get('size')) }))
}).listen(process.env.PORT, '127.0.0.1')
"""


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
@pytest.mark.parametrize("baseline", ["git:", "run:"])
def test_service_is_tested_without_python_code(tmp_path: Path, baseline: str) -> None:
    team = create_team(tmp_path)
    write(team.programs, "npm", "#!/bin/sh\n")
    (team.programs / "npm").chmod(0o755)
    clone = team.folder / "first"
    git(clone, "rm", "-q", "shop.py", "pyproject.toml")
    write(clone, "server.mjs", NODE_SERVER)
    suite = "queries: [{query: desk, relevant: [d1]}]\nthresholds: {mrr@10: {max_drop: 0.1}}\n"
    write(clone, "shop.ir.yaml", suite)
    steps = find_snippet("serve: env PORT")
    inputs = steps[-1]["with"]
    ini = f"-o 'ir_serve={inputs['serve']}' -o 'ir_url={inputs['url']}'"
    team.run(clone, f"pytest -q --ir-suite --ir-update-baseline {ini}")
    commit(clone, "Test search")
    git(clone, "push", "-q", "origin", "main")
    inputs["args"] = inputs["args"].replace("git:", baseline)
    checkout = {"uses": "actions/checkout@v6", "with": {"persist-credentials": False}}
    workflow = {"jobs": {"search": {"steps": [checkout, *steps]}}}

    team.push("same", {"server.mjs": NODE_SERVER + "// as before\n"})
    same = team.run_pull_request("same", workflow)
    reversed_order = NODE_SERVER.replace(
        "Object.entries(titles)", "Object.entries(titles).reverse()"
    )
    team.push("worse", {"server.mjs": reversed_order})
    worse = team.run_pull_request("worse", workflow)

    assert not same.has_failed, same.output
    assert worse.has_failed
    assert "mrr@10 dropped from 1.000 to 0.333" in worse.output
    assert worse.artifact.joinpath("report.html").exists()
