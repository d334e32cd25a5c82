"""A disk that is full, for real, and the locales of other people: what is kept stays, and verdicts are the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ALONE, Project
from tests.github import github
from tests.repository import git

pytestmark = pytest.mark.slow
SIZE = 1_000_000
JOB = "import sys; from pytest_irquality.ci.command import main; sys.exit(main())"


def run(
    project: Project,
    *words: str,
    at: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *words], cwd=at or project.path, capture_output=True, check=False,
        env={**os.environ, **ALONE, **(environment or {})},
    )  # fmt: skip


# -- a full disk -----------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small one of its own, which only who may mount has."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    if (
        sys.platform != "linux"
        or subprocess.run(mount, capture_output=True, check=False).returncode
    ):
        pytest.skip("nobody else may mount a disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def filled(disk: Path) -> None:
    """Leave no room for a byte."""
    with (disk / "ballast").open("wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(bytes(4096))
        except OSError:
            pass


@pytest.fixture
def shop(project: Project) -> Project:
    project.suite(
        "queries:\n" + "".join(f"  - {{query: q{n}, relevant: [d1]}}\n" for n in range(40))
    )
    project.conftest("@pytest.fixture\ndef retriever(): return lambda query: ['d1', 'x', 'y']\n")
    return project


@pytest.fixture
def on_disk(shop: Project, disk: Path) -> Path:
    """The project on the disk, with its baseline and a history."""
    for file in ("shop.ir.yaml", "conftest.py"):
        shutil.copy(shop.path / file, disk)
    done = run(shop, "-m", "pytest", "--ir-suite", "--ir-update-baseline", "--ir-history=h.jsonl", "--ir-report=none", "-p", "no:cacheprovider", at=disk)  # fmt: skip
    assert done.returncode == 0, done.stdout
    text = (disk / "conftest.py").read_text().replace("['d1', ", "['d1', 'another', ")
    (disk / "conftest.py").write_text(text)
    return disk


def kept(disk: Path) -> dict[str, bytes]:
    return {str(path.relative_to(disk)): path.read_bytes() for path in disk.rglob("*.jsonl")}


@pytest.mark.parametrize(
    "words",
    [
        ("-m", "pytest", "--ir-suite", "--ir-update-baseline", "--ir-report=none"),
        ("-m", "pytest", "--ir-suite", "--ir-history=h.jsonl", "--ir-save-runs=now", "--ir-report=none"),
        ("-c", JOB, "judge", "--folder=report", "--history=h.jsonl", "--ir-save-runs=now"),
    ],
    ids=lambda words: words[-2],
)  # fmt: skip
def test_what_was_kept_stays_as_it_was_on_a_full_disk(
    shop: Project, on_disk: Path, words: tuple[str, ...]
) -> None:
    filled(on_disk)
    before = kept(on_disk)
    done = run(
        shop, *words, "-p", "no:cacheprovider", at=on_disk, environment={"TMPDIR": str(shop.path)}
    )
    said = (done.stdout + done.stderr).decode()
    assert done.returncode not in (0, 3), said
    assert "No space left on device" in said
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said
    assert kept(on_disk) == before
    assert not [*on_disk.rglob("*.tmp")]


def test_a_night_that_does_not_fit_leaves_the_last_one(shop: Project, disk: Path) -> None:
    last, now = disk / "nights/last", shop.path / "now"
    last.mkdir(parents=True)
    now.mkdir()
    (last / "shop.jsonl").write_text("old")
    (now / "a.jsonl").write_text("new")
    (now / "shop.jsonl").write_bytes(bytes(2 * SIZE))
    (shop.path / "report.json").write_text('{"outcome": "passed"}')
    for _ in range(2):
        done = run(shop, "-c", JOB, "promote", str(now), str(last), "--report=report.json")
        assert (done.returncode, done.stderr.count(b"\n")) == (1, 1), done.stderr
        assert b"No space left on device" in done.stderr
        assert [path.name for path in disk.rglob("*.jsonl")] == ["shop.jsonl"]
        assert (last / "shop.jsonl").read_text() == "old"
    assert (now / "shop.jsonl").stat().st_size == 2 * SIZE, "it is not lost either"


def test_histories_that_do_not_fit_together_lose_no_line(shop: Project, on_disk: Path) -> None:
    other = shop.path / "other.jsonl"
    line = json.loads((on_disk / "h.jsonl").read_text())
    times = (f"2030-01-01T00:{n // 60:02}:{n % 60:02}Z" for n in range(3000))
    other.write_text(
        "".join(json.dumps({**line, "time": time, "commit": time}) + "\n" for time in times)
    )
    filled(on_disk)
    before = kept(on_disk)
    done = run(shop, "-c", JOB, "history", str(on_disk / "h.jsonl"), str(other))
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1), done.stderr
    assert b"No space left on device" in done.stderr
    assert kept(on_disk) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_comment_of_which_nobody_can_be_told_is_written_and_an_error(shop: Project) -> None:
    (shop.path / "report.md").write_text("red")
    with github() as hub, open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", JOB, "comment", "--markdown=report.md", "--number=7"], cwd=shop.path,
            env={**os.environ, "GITHUB_API_URL": hub.server.origin, "GITHUB_REPOSITORY": "o/r", "GH_TOKEN": "token"},
            stdout=full, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert done.returncode != 0
    assert b"No space left on device" in done.stderr
    assert [one["body"].endswith("red") for one in hub.comments] == [True]


# -- locales ---------------------------------------------------------------------------------------

PLAIN = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
LOCALES: Mapping[str, Mapping[str, str]] = {
    "C": {"LC_ALL": "C", **PLAIN},
    "POSIX": {"LC_ALL": "POSIX", **PLAIN},
    "ASCII": {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "ascii"},
    "tr_TR.UTF-8": {"LC_ALL": "tr_TR.UTF-8", **PLAIN},
    "tr_TR.ISO-8859-9": {"LC_ALL": "tr_TR.ISO-8859-9", **PLAIN},
    "de_DE.UTF-8": {"LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de", **PLAIN},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of locales, for a machine that has none."""
    folder = tmp_path_factory.mktemp("locales")
    for name in LOCALES:
        place, _, encoding = name.partition(".")
        if encoding and shutil.which("localedef"):
            command = ["localedef", "-i", place, "-f", encoding, str(folder / name)]
            subprocess.run(command, capture_output=True, check=False)
    return folder


def without_time(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {"latency", "seconds", "timing"}
        return {key: without_time(one) for key, one in value.items() if key not in kept}
    return [*map(without_time, value)] if isinstance(value, list) else value


@pytest.mark.parametrize("name", LOCALES)
@pytest.mark.usefixtures("pages")
def test_a_verdict_is_the_same_in_every_locale(project: Project, made: Path, name: str) -> None:
    if "." in name and not (made / name).exists():
        pytest.skip(f"there is no locale {name} here, and nothing that makes it")
    project.suite(
        "thresholds: {mrr@10: {max_drop: 0.1}}\n"
        "queries: [{query: İstanbul çayı ☕, relevant: [d1], must_find: [d1]}, {query: IIII, relevant: [ı]}]\n"
    )
    source = "@pytest.fixture\ndef retriever(): return lambda query: [{'id': 'd1', 'title': 'Çay'}, {'id': 'ı'}]\n"
    project.conftest(source)
    git(project.path, "init", "-q", "-b", "main")
    assert run(project, "-m", "pytest", "--ir-suite", "--ir-update-baseline", "--ir-report=none").returncode == 0  # fmt: skip
    git(project.path, "add", ".ir-baseline", "conftest.py", "shop.ir.yaml")
    git(project.path, "commit", "-qm", "Größe")
    project.conftest(source.replace("{'id': 'd1', 'title': 'Çay'}, ", ""))
    words = ("-m", "pytest", "--ir-suite", "--ir-baseline=git:main", "--ir-json=out.json")
    found = []
    for environment in ({"LC_ALL": "C.UTF-8"}, {**LOCALES[name], "LOCPATH": str(made)}):
        done = run(project, *words, environment=environment)
        assert done.returncode == 1, done.stdout + done.stderr
        assert b"Traceback" not in done.stdout + done.stderr
        found.append(json.loads((project.path / "out.json").read_bytes())["suites"])
        assert "İstanbul çayı ☕" in (project.path / "ir-report.html").read_text("utf-8")
        gone = run(project, *words[:-2], "--ir-baseline=git:nowhere", environment=environment)
        assert gone.returncode == 4
        assert b"git knows no revision 'nowhere' here" in gone.stderr
    # Where the terminal has no such letters a node id is written with escapes, to be typed again.
    escaped = json.dumps(without_time(found)).replace("\\\\u", "\\u").replace("\\\\x", "\\u00")
    assert [*json.loads(escaped)] == [json.loads(escaped)[0]] * 2


def test_git_speaks_german_there(made: Path, tmp_path: Path) -> None:
    """Else the test above shows nothing of it."""
    environment = {**os.environ, **LOCALES["de_DE.UTF-8"], "LOCPATH": str(made)}
    done = subprocess.run(["git", "log"], cwd=tmp_path, env=environment, capture_output=True, check=False)  # fmt: skip
    if b"not a git repository" in done.stderr:
        pytest.skip("git has no German here")
    assert b"Kein Git-Repository" in done.stderr
