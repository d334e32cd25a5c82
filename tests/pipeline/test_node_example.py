"""The example in Node.js: a real service, guarded by an ini file and a suite, green as it stands, red after the change that
its page describes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import Project

EXAMPLE = Path(__file__).parents[2] / "examples/node"
PAGE = (EXAMPLE / "README.md").read_text("utf-8")


@pytest.fixture
def shop(project: Project) -> Project:
    needed = {
        "Node.js": shutil.which("node") is not None,
        "MiniSearch ('npm ci' in examples/node)": (EXAMPLE / "node_modules/minisearch").exists(),
    }
    for what, is_there in needed.items():
        if not is_there and os.environ.get("IRQUALITY_NODE") == "required":
            pytest.fail(f"needs {what}", pytrace=False)
        if not is_there:
            pytest.skip(f"needs {what}")
    ignored = shutil.ignore_patterns("node_modules", ".pytest_cache", "ir-report.html")
    shutil.copytree(EXAMPLE, project.path, dirs_exist_ok=True, ignore=ignored)
    os.symlink(EXAMPLE / "node_modules", project.path / "node_modules")
    return project


@contextmanager
def started(project: Project) -> Iterator[None]:
    """The service, at a port of its own, which stands in the settings as long as it runs."""
    ini = project.path / "pytest.ini"
    before = ini.read_text()
    with subprocess.Popen(
        ["node", "server.mjs"], cwd=project.path, env={**os.environ, "PORT": "0"}, text=True, stdout=subprocess.PIPE
    ) as service:  # fmt: skip
        assert service.stdout is not None
        ini.write_text(before.replace("http://127.0.0.1:8080", service.stdout.readline().strip()))
        try:
            yield
        finally:
            service.kill()
            ini.write_text(before)


def change(project: Project, before: str, after: str) -> None:
    search = project.path / "search.mjs"
    text = search.read_text()
    assert text.count(before) == 1
    search.write_text(text.replace(before, after))


def test_its_page_shows_what_one_sees(shop: Project) -> None:
    with started(shop):
        shop.run().assert_outcomes(passed=21)
    (removed,) = re.findall(r"^-(  .*)$", PAGE, re.M)
    change(shop, f"{removed}\n", "")
    with started(shop):
        red = shop.run()
    assert red.ret == 1
    red.assert_outcomes(passed=17, failed=4)
    (shown,) = re.findall(r"^```text\n(.*?)```", PAGE, re.M | re.S)
    printed = " ".join(red.stdout.str().split())
    for line in shown.splitlines():
        assert " ".join(line.split()) in printed


def test_the_better_change_passes(shop: Project) -> None:
    (better,) = re.findall(r"`(fuzzy: \(term\).*?)`", PAGE)
    change(shop, "fuzzy: 0.2", better)
    with started(shop):
        result = shop.run()
    result.assert_outcomes(passed=21)
    result.stdout.fnmatch_lines(["*0 worse, 1 better, 17 unchanged*"])
