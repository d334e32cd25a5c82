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
from tests.repository import git

pytestmark = pytest.mark.slow
SIZE = 1_000_000


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
