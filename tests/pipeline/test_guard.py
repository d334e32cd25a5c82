"""Whose module answers in a Python of the base's, however the head's code was installed. No pytest: the guard alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_irquality.pipeline.base import guard

FINDER = """\
import importlib.machinery, importlib.util, sys
class Exact:
    @staticmethod
    def find_spec(name, path=None, target=None):
        known = {known}
        if name in known:
            return importlib.util.spec_from_file_location(name, known[name])
sys.meta_path.append(Exact)
"""
NAMESPACE_FINDER = """\
import importlib.machinery, sys
class Spread:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "acme":
            spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [{folder!r}]
            return spec
sys.meta_path.append(Spread)
"""


class Sides:
    """Two checkouts, and a folder that the environment has its own code in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.head, self.tree = folder / "head", folder / "beside" / "tree"
        self.site, self.guard = folder / "site", folder / "guard"
        for path in (self.head, self.tree, self.site, self.guard):
            path.mkdir(parents=True)
        shutil.copyfile(guard.__file__, self.guard / "sitecustomize.py")

    def write(self, name: str, base: str | None = "base", head: str | None = "head") -> None:
        """A module that says whose it is, on either side or both."""
        for folder, whose in ((self.tree, base), (self.head, head)):
            if whose is not None:
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"WHOSE = {whose!r}\n")

    def ask(self, code: str, *paths: Path) -> tuple[str, list[str]]:
        """What a Python of the base's prints, and what its guard noted."""
        notes = self.folder / "notes"
        notes.unlink(missing_ok=True)
        settings = {
            "head": str(self.head), "tree": str(self.tree), "guard": str(self.guard),
            "notes": str(notes), "roots": [str(self.tree / "src"), str(self.tree)],
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=self.folder, text=True, capture_output=True, check=False,
            env={
                **os.environ, guard.VARIABLE: json.dumps(settings),
                "PYTHONPATH": os.pathsep.join(map(str, [self.guard, *paths])),
            },
        )  # fmt: skip
        said = done.stdout.strip() or done.stderr.strip().rpartition("\n")[2]
        return said, notes.read_text().splitlines() if notes.exists() else []


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    return Sides(Path(os.path.realpath(tmp_path)))


SHOP = "import shop; print(shop.WHOSE)"


@pytest.mark.parametrize("layout", ["flat", "src"])
@pytest.mark.parametrize("how", ["path", "exact finder", "folder of links", "package by another name"])  # fmt: skip
def test_an_editable_install_answers_with_the_bases_code(
    sides: Sides, layout: str, how: str
) -> None:
    folder = "src/" if layout == "src" else ""
    package = "source" if how == "package by another name" else "shop"
    sides.write(f"{folder}{package}/__init__.py")
    sides.write(f"{folder}{package}/rank.py")
    at = sides.head / folder
    if how == "folder of links":  # as setuptools does it for an install that is strict
        links = sides.head / "build" / "editable" / "shop"
        links.mkdir(parents=True)
        for name in ("__init__.py", "rank.py"):
            (links / name).symlink_to(at / "shop" / name)
        at = links.parent
    elif how != "path":
        known = {"shop": str(at / package / "__init__.py")}
        (sides.site / "sitecustomize.py").write_text(FINDER.format(known=known))
        at = sides.site
    code = "import shop, shop.rank; print(shop.WHOSE, shop.rank.WHOSE)"
    assert sides.ask(code, at) == ("base base", [])


def test_a_pth_file_is_no_other_road(sides: Sides) -> None:
    sides.write("src/shop.py")
    (sides.site / "shop.pth").write_text(f"{sides.head / 'src'}\n")
    code = f"import site; site.addsitedir({str(sides.site)!r}); {SHOP}"
    assert sides.ask(code) == ("base", [])


@pytest.mark.parametrize("how", ["path", "finder"])
def test_a_namespace_is_taken_from_the_worktree(sides: Sides, how: str) -> None:
    sides.write("src/acme/shop.py")
    sides.write("src/acme/later.py", base=None)
    at = sides.head / "src"
    if how == "finder":
        (sides.site / "sitecustomize.py").write_text(
            NAMESPACE_FINDER.format(folder=str(at / "acme"))
        )
        at = sides.site
    assert sides.ask("import acme.shop; print(acme.shop.WHOSE)", at) == ("base", [])
    said, _ = sides.ask("import acme.later", at)
    assert said == "ModuleNotFoundError: No module named 'acme.later'"


def test_a_layout_that_moved_is_found_where_the_base_has_it(sides: Sides) -> None:
    sides.write("shop.py", head=None)
    sides.write("src/shop.py", base=None)
    assert sides.ask(SHOP, sides.head / "src") == ("base", [])


def test_what_only_the_head_has_is_not_there(sides: Sides) -> None:
    sides.write("src/shop.py", base=None)
    (sides.tree / "src").mkdir()
    assert sides.ask(SHOP, sides.head / "src")[0] == "ModuleNotFoundError: No module named 'shop'"


def test_a_copy_from_elsewhere_is_noted_and_other_packages_are_not(sides: Sides) -> None:
    sides.write("src/shop.py")
    for name in ("shop", "other"):
        (sides.site / f"{name}.py").write_text("WHOSE = 'site'\n")
    said, notes = sides.ask(f"import other; {SHOP}", sides.site)
    assert (said, notes) == ("site", [f"module\tshop\t{sides.site / 'shop.py'}"])


def test_a_file_of_the_heads_is_noted_when_it_is_read_and_not_when_it_is_written(
    sides: Sides,
) -> None:
    (sides.head / "index").write_text("x")
    read = f"open({str(sides.head / 'index')!r}).close()"
    connect = f"import sqlite3; sqlite3.connect('file:{sides.head / 'index'}?mode=ro', uri=True)"
    written = f"open({str(sides.head / 'log')!r}, 'w').close()"
    noted = [f"file\t{sides.head / 'index'}"]
    assert sides.ask(read)[1] == noted
    assert sides.ask(connect)[1] == noted
    assert sides.ask(written)[1] == []


def test_a_python_that_is_started_is_guarded_and_the_environments_own_sitecustomize_runs(
    sides: Sides,
) -> None:
    sides.write("src/shop.py")
    (sides.site / "sitecustomize.py").write_text("import sys; sys.ours = 'kept'\n")
    inner = f"import sys; {SHOP}; print(sys.ours)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    assert sides.ask(code, sides.site, sides.head / "src") == ("base\nkept", [])
