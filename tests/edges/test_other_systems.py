"""What is otherwise on Windows and macOS, by the branches that are taken there, forced here."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import BinaryIO

import pytest

from pytest_irquality.edges import shell, write
from pytest_irquality.edges.git import Repository
from pytest_irquality.edges.printable import file_name
from pytest_irquality.pipeline.base import worktree
from pytest_irquality.plugin import base
from pytest_irquality.plugin.services import Written
from tests.conftest import Project
from tests.repository import git


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "WINDOWS", True)


def typed_into_cmd(line: str) -> list[str]:
    """The words that a program gets of a line: cmd replaces variables, takes its ``^`` away, and acts on what no quote keeps."""
    line = re.sub("%(PATH)%", r"C:\\Windows", line)
    kept, quote = "", False
    characters = iter(line)
    for character in characters:
        if character == "^" and not quote:
            kept += next(characters)
            continue
        quote ^= character == '"'
        assert quote or character not in "&|<>", f"cmd acts on {character} in {line}"
        kept += character
    words: list[str] = []
    word, quote, slashes = "", False, 0
    for character in [*kept, " "]:
        if character == "\\":
            slashes += 1
        elif character == '"':
            word += "\\" * (slashes // 2)
            word, quote = (word + '"', quote) if slashes % 2 else (word, not quote)
            slashes = 0
        elif character == " " and not quote:
            words, word, slashes = [*words, word + "\\" * slashes], "", 0
        else:
            word, slashes = word + "\\" * slashes + character, 0
    return words


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("search/shop.ir.yaml::ndcg-10", "search/shop.ir.yaml::ndcg-10"),
        (r"C:\search\shop.ir.yaml", r"C:\search\shop.ir.yaml"),
        ("shop.ir.yaml::ndcg-10[bm25]", '"shop.ir.yaml::ndcg-10[bm25]"'),
        ("it's & so on", '"it\'s & so on"'),
        ("50% off", '"50% off"'),
        ("C:\\my search\\", '"C:\\my search\\\\"'),
        ('say "desk"', r'^"say \^"desk\^"^"'),
        ("%PATH% & 100%", '^"^%PATH^% ^& 100^%^"'),
        ('a" & calc', None),
        ('\\"^%PATH%|\\', None),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("windows")
def test_advised_commands_are_quoted_for_cmd(word: str, said: str | None) -> None:
    assert said in (None, shell.shell_word(word))
    assert typed_into_cmd(shell.shell_word(word)) == [word]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (r"C:\tools\node.exe search.mjs", [r"C:\tools\node.exe", "search.mjs"]),
        (r'"C:\Program Files\node.exe" "it\'s"', [r"C:\Program Files\node.exe", r"it\'s"]),
        (r"C:\new\table\ 'a b' --at=#1", ["C:\\new\\table\\", "a b", "--at=#1"]),
        ("", []),
    ],
)
@pytest.mark.usefixtures("windows")
def test_commands_of_the_ini_file_hold_paths_of_windows(line: str, words: list[str]) -> None:
    assert shell.split(line) == words


def test_a_command_is_found_by_the_suffixes_of_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, windows: None
) -> None:
    program = tmp_path / "npx.cmd"
    monkeypatch.setattr(shutil, "which", {"npx": str(program)}.get)
    assert shell.split("npx tsx search.ts") == [str(program), "tsx", "search.ts"]


def test_the_base_has_its_own_checkout_however_a_path_is_written(windows: None) -> None:
    lines = [r"node c:\Code\Shop\search.mjs C:/code/shop/index", r"C:\code\shop-2\x"]
    written = Written([], lines, [], "", [], r"C:\code\shop")
    moved = written.moved(r"C:\code\shop", r"D:\base")
    assert moved.command == [r"node D:\base\search.mjs D:\base/index", r"C:\code\shop-2\x"]
    assert moved.folder == r"D:\base"


@pytest.mark.parametrize(
    "name", ["con", "NUL", "com1", "COM¹", "lpt9", "aux.bm25", "a:b", "a.", "a "]
)
def test_no_file_has_a_name_that_windows_keeps_for_itself(name: str) -> None:
    made = file_name(name)
    assert made.partition(".")[0].casefold() not in {"con", "nul", "com1", "com¹", "lpt9", "aux"}
    assert not set(made) & set('<>:"/\\|?*')
    assert not made.endswith((".", " "))


def test_files_are_replaced_where_nothing_can_be_locked(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "fcntl", None)
    project.suite("queries: [{query: desk, relevant: [d1]}]\n")
    project.conftest("@pytest.fixture\ndef retriever():\n    return lambda query: ['d1']\n")
    for _ in range(2):
        assert project.run("--ir-update-baseline", "--ir-history=history.jsonl").ret == 0
    assert len((project.path / "history.jsonl").read_text().splitlines()) == 2
    assert not [*project.path.rglob("*.tmp")]


@pytest.mark.slow
def test_the_lock_of_the_bases_folder_is_closed_before_that_goes(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows removes no file that is open."""
    locks = []

    def new_folder() -> tuple[Path, BinaryIO]:
        folder, lock = worktree.new_folder()
        locks.append(lock)
        return folder, lock

    def remove(repository: Repository, folder: Path) -> None:
        assert [lock.closed for lock in locks] == [True]
        worktree.remove(repository, folder)

    monkeypatch.setattr(write, "fcntl", None)
    monkeypatch.setattr(base, "new_folder", new_folder)
    monkeypatch.setattr(base, "remove", remove)
    project.suite("queries: [{query: desk, relevant: [d1]}]\n")
    project.conftest("@pytest.fixture\ndef retriever():\n    return lambda query: ['d1']\n")
    git(project.path, "init", "-q")
    git(project.path, "add", ".")
    git(project.path, "commit", "-qm", "main")
    assert project.run("--ir-baseline=run:HEAD").ret == 0
    assert locks
