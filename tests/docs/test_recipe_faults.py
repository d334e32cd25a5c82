"""The recipes where something goes wrong: an outage, a killed job, no network, a full disk, another locale."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.docs.clones import BASELINE, RECIPES, Team, commit, copied, workflow, write
from tests.docs.jobs import Job
from tests.repository import git

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32" or not shutil.which("bash"), reason="needs bash"),
]
PRODUCTION = """\
import os, signal
def search(query, k):
    answers = os.environ['SEARCH_URL']
    if answers == 'killed':
        os.kill(os.getpid(), signal.SIGKILL)
    if answers == 'down' and query != 'desk':
        raise ConnectionError('503')
    return [] if answers == 'empty' else answers.replace('down', 'd1+d2').split('+')
"""
"""What no commit changes."""
LATIN = {"LC_ALL": "C", "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # fmt: skip


# -- nights ----------------------------------------------------------------------------------------


class Nights:
    def __init__(self, team: Team, clone: Path) -> None:
        write(clone, "shop.py", PRODUCTION)
        git(clone, "rm", "-q", BASELINE)
        commit(clone, "Ask production")
        git(clone, "push", "-q", "origin", "main")
        self.team = team
        self.recipe = workflow("nightly.md", ".github/workflows/search-nightly.yml")

    def night(self, answers: str, by: str = "schedule", **surroundings: str) -> Job:
        variables = {"vars": {"PRODUCTION_SEARCH_URL": answers}}
        job = self.team.job(self.team.check_out_main, {"event_name": by}, **variables)
        job.surroundings = surroundings
        return job.run(self.recipe)

    def lines(self) -> set[tuple[str, str]]:
        """What has a line of the history: a commit, compared with one night."""
        return {(entry["commit"], entry["baseline"]) for entry in self.history()}

    def history(self) -> list[dict[str, Any]]:
        kept = sorted(self.team.folder.glob("caches/nights-*"), key=lambda one: one.stat().st_mtime)
        lines = (kept[-1] / "history.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def nights(guarded: Team) -> Nights:
    nights = Nights(guarded, guarded.folder / "first")
    nights.night("d1+d2", by="workflow_dispatch")
    assert not nights.night("d1+d2").failed
    return nights


@pytest.mark.parametrize("fault", ["down", "empty", "killed"])
def test_the_night_after_a_fault_is_held_to_the_last_good_one(nights: Nights, fault: str) -> None:
    before = nights.lines()
    bad = nights.night(fault)
    assert bad.failed
    assert nights.lines() >= before
    worse = nights.night("d2+d1")
    assert worse.failed
    assert "mrr@10 fell 1.000 → 0.500" in worse.output
    assert not nights.night("d1+d2").failed
    assert nights.lines() >= before


def test_nights_are_the_same_in_another_locale(nights: Nights) -> None:
    assert not nights.night("d1+d2", **LATIN).failed
    worse = nights.night("d2+d1", **LATIN)
    assert worse.failed
    assert "UnicodeEncodeError" not in worse.output
    assert "mrr@10 fell 1.000" in worse.output
    assert [entry["changes"].get("mrr@10") for entry in nights.history()] == [None, -0.5]


# -- Jenkins ---------------------------------------------------------------------------------------


class Jenkins:
    """The pipeline of the page: its shells in their order, then what it does always.

    A workspace outlasts a build, as it does there.
    """

    def __init__(self, team: Team) -> None:
        text = (RECIPES / "jenkins.md").read_text("utf-8")
        (pipeline,) = re.findall(r"```groovy\n// Jenkinsfile\n(.*?)```", text, re.S)
        steps, _, always = pipeline.partition("post {")
        self.shells = re.findall(r"^ +sh '(.*)'$", steps, re.M)
        assert len(self.shells) == steps.count("sh ")
        (self.junit,) = re.findall(r"^ +junit '(.*)'$", always, re.M)
        (self.kept,) = re.findall(r"artifacts: '(.*)', allowEmptyArchive: true", always)
        self.team = team
        self.work = team.clone("jenkins")

    def build(self, branch: str, **surroundings: str) -> tuple[str, str]:
        """Check out a branch and build it: SUCCESS, UNSTABLE or FAILURE, and what it printed."""
        git(self.work, "fetch", "-q", "origin")
        git(self.work, "checkout", "-q", "--detach", f"origin/{branch}")
        result, output = "SUCCESS", ""
        for shell in self.shells:
            done = subprocess.run(
                ["sh", "-xe", "-c", shell], cwd=self.work, check=False, text=True,
                env={**self.team.environment, **surroundings}, encoding="utf-8", errors="replace",
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            output += done.stdout
            if done.returncode:
                result = "FAILURE"
                break
        files = [*self.work.glob(self.junit)]
        cases = [case for file in files for case in ElementTree.parse(file).iter("testcase")]
        self.tests = {case.attrib["name"]: len(case) == 0 for case in cases}
        self.artifacts = {path.name for path in self.work.glob(self.kept)}
        if not files:
            result = "FAILURE"
        elif not all(self.tests.values()) and result == "SUCCESS":
            result = "UNSTABLE"
        return result, output


@pytest.fixture
def jenkins(guarded: Team) -> Jenkins:
    return Jenkins(guarded)


def changed(team: Team, branch: str, name: str, text: str) -> Path:
    clone = team.clone(branch, at=branch)
    write(clone, name, text)
    commit(clone, branch)
    git(clone, "push", "-q", "origin", branch)
    return clone


@pytest.mark.parametrize("surroundings", [{}, LATIN], ids=["", "latin-1"])
def test_jenkins_shows_each_query_and_keeps_the_reports(
    jenkins: Jenkins, surroundings: dict[str, str]
) -> None:
    changed(jenkins.team, "same", "README.md", "# Shop\n")
    result, output = jenkins.build("same", **surroundings)
    assert result == "SUCCESS", output
    assert jenkins.tests.keys() >= {"desk", "lamp", "sofa", "mrr-10"}
    changed(jenkins.team, "synonyms", "synonyms.txt", "lamp d2\n")
    result, output = jenkins.build("synonyms", **surroundings)
    assert (result, "mrr@10 fell 1.000" in output) == ("FAILURE", True), output
    assert "UnicodeEncodeError" not in output
    assert not jenkins.tests["mrr-10"]
    assert jenkins.artifacts == {"report.html", "report.json", "report.md"}
    assert "mrr@10 fell 1.000 → 0.833" in (jenkins.work / "report/report.md").read_text("utf-8")


FAULTS = {
    "killed": "import os\nos.kill(os.getpid(), 9)\n",
    "outage": "def search(query, k):\n    raise ConnectionError('503')\n",
    "no code": "raise ImportError('no engine')\n",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_a_failure_in_jenkins_and_shows_no_earlier_report(
    jenkins: Jenkins, fault: str
) -> None:
    changed(jenkins.team, "same", "README.md", "# Shop\n")
    assert jenkins.build("same")[0] == "SUCCESS"
    changed(jenkins.team, "fault", "shop.py", FAULTS[fault])
    result, output = jenkins.build("fault")
    assert result == "FAILURE", output
    report = jenkins.work / "report/report.json"
    assert not report.exists() or json.loads(report.read_text("utf-8"))["outcome"] != "passed"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_a_failure_in_gitlab(guarded: Team, fault: str) -> None:
    changed(guarded, "fault", "shop.py", FAULTS[fault])
    assert guarded.merge_request("fault").returncode != 0


def test_jenkins_without_a_network_judges_nothing(jenkins: Jenkins) -> None:
    changed(jenkins.team, "same", "README.md", "# Shop\n")
    git(jenkins.work, "fetch", "-q", "origin")
    jenkins.shells.insert(0, "git remote set-url origin /nowhere")
    result, output = jenkins.build("same")
    assert result == "FAILURE"
    assert "search quality" not in output


# -- comments --------------------------------------------------------------------------------------


def test_without_a_network_for_the_comment_the_verdict_and_the_report_are_kept(
    guarded: Team,
) -> None:
    recipe = workflow("github.md", ".github/workflows/search.yml")
    changed(guarded, "synonyms", "synonyms.txt", "lamp d2\n")
    guarded.service.comments = None
    job = guarded.pull_request("synonyms", recipe)
    assert job.failed
    assert "mrr@10 fell 1.000 → 0.833" in job.output
    assert job.artifact.joinpath("report.html").exists()


def test_a_long_comment_is_cut_whatever_the_locale(guarded: Team) -> None:
    changed(guarded, "fix", "synonyms.txt", "lamp d2\n")
    job = guarded.pull_request("fix", workflow("forks.md", ".github/workflows/search.yml"))
    (report,) = job.artifact.glob("*.md")
    report.write_text("☂ line\n" * 100_000, encoding="utf-8")
    second = guarded.commented(job, "stranger", **LATIN)
    assert not second.failed, second.output
    assert guarded.service.comments is not None
    (comment,) = guarded.service.comments.values()
    assert 60_000 < len(comment) < 65_536
    assert "☂ line" in comment


# -- shares ----------------------------------------------------------------------------------------


def shares(team: Team, branch: str) -> tuple[dict[str, Any], Job]:
    text = (RECIPES / "shards.md").read_text("utf-8")
    (found,) = re.findall(r"```yaml\n(jobs:\n.*?)```", text, re.S)

    def check_out(work: Path) -> None:
        git(team.folder, "clone", "-q", str(team.origin), str(work))
        git(work, "checkout", "-q", "--detach", f"origin/{branch}")

    return yaml.safe_load(found), team.job(check_out, {"event_name": "pull_request"})


def test_a_share_that_is_killed_is_missed_and_may_be_run_again(guarded: Team) -> None:
    clone = guarded.clone("ours", at="synonyms")
    write(clone, "synonyms.txt", "lamp d2\n")
    more = "".join(f"  - {{query: more {n}, relevant: [d1]}}\n" for n in range(20))
    suite = clone / "tests/search/shop.ir.yaml"
    suite.write_text(suite.read_text().replace("thresholds:", f"{more}thresholds:"))
    killed = "import os\nif 'KILLED' in os.environ: os.kill(os.getpid(), 9)\n"
    text = (clone / "tests/search/conftest.py").read_text()
    write(clone, "tests/search/conftest.py", f"{killed}{text}")
    commit(clone, "synonyms")
    git(clone, "push", "-q", "origin", "synonyms")
    recipe, job = shares(guarded, "synonyms")
    matrix = recipe["jobs"]["retrieve"]["strategy"]["matrix"]["share"]
    first = job.run(recipe, "retrieve", share=matrix[0]).id

    def retrieve(share: int, **surroundings: str) -> Job:
        _, one = shares(guarded, "synonyms")
        one.surroundings = surroundings
        return one.run(recipe, "retrieve", of=first, share=share)

    def judged() -> Job:
        return shares(guarded, "synonyms")[1].run(recipe, "judge", of=first)

    for share in matrix[1:]:
        retrieve(share, **({"KILLED": "1"} if share == 2 else {}))
    lacks = judged()
    assert lacks.failed
    assert "2/5" in lacks.output
    retrieve(2)
    whole = judged()
    assert whole.failed
    assert "mrr@10 fell 1.000 → 0.833" in whole.output
    assert "2/5" not in whole.output


# -- builds ----------------------------------------------------------------------------------------

GH = """\
#!/bin/sh
case "$2" in
list) echo 1 ;;
download) mkdir -p base && cp -R "{folder}/artifacts/$3/${{4#--name=}}/." base ;;
esac
"""


BUILDS = workflow("builds.md", ".github/workflows/search-builds.yml")
OF_MAIN = BUILDS["jobs"]["main"]["strategy"]["matrix"]["build"]


@pytest.fixture(scope="module")
def builds_once(guarded_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten builds of main are kept by a run of number 1."""
    team = copied(guarded_once, tmp_path_factory.mktemp("builds"))
    for number in OF_MAIN:
        job = team.job(team.check_out_main, {"event_name": "push"})
        assert not job.run(BUILDS, "main", of=1, build=number).failed
    return team.folder


@pytest.fixture
def builds(builds_once: Path, tmp_path: Path) -> Team:
    """A copy of it, and GitHub's own program, which finds that run."""
    team = copied(builds_once, tmp_path, runs=len(OF_MAIN))
    write(tmp_path / "bin", "gh", GH.format(folder=tmp_path))
    (tmp_path / "bin/gh").chmod(0o755)
    return team


ENDS = "import os\nasked = []\ndef search(query, k):\n    asked.append(query)\n    {then}\n    return ['d1', 'd2'][:k]\n"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (ENDS.format(then="pass"), ""),
        (ENDS.format(then="if query == 'lamp': return ['d2', 'd1']"), "mrr@10 fell 1.000 → 0.833"),
        (ENDS.format(then="if query == 'lamp' and BUILD == 2: os.kill(os.getpid(), 9)"), "no kept run"),
        (ENDS.format(then="if query == 'lamp' and BUILD == 2: raise OSError('503')"), "OSError: 503"),
    ],
    ids=["same", "worse", "killed", "outage"],
)  # fmt: skip
def test_builds_are_judged_together_and_one_that_was_killed_is_missed(
    builds: Team, code: str, said: str
) -> None:
    changed(builds, "change", "shop.py", f"{code.replace('BUILD', 'int(os.environ[chr(66)])')}")

    def check_out(work: Path) -> None:
        git(builds.folder, "clone", "-q", str(builds.origin), str(work))
        git(work, "checkout", "-q", "--detach", "origin/change")

    for number in BUILDS["jobs"]["change"]["strategy"]["matrix"]["build"]:
        job = builds.job(check_out, {"event_name": "pull_request"})
        job.surroundings = {"B": str(number)}
        job.run(BUILDS, "change", of=2, build=number)
    judged = builds.job(check_out, {"event_name": "pull_request"})
    judged.surroundings = {"B": "0"}
    judged.run(BUILDS, "judge", of=2)
    assert judged.failed == bool(said), judged.output
    assert said in judged.output
