"""A suite and one retriever, of which there is one run, and what files of that run are called."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pytest_irquality.edges.printable import file_name
from pytest_irquality.suite.model import Suite


def run_name(path: str, retriever: str) -> str:
    """Name the run of a suite and retriever as messages do: ``shop.ir.yaml [bm25]``."""
    return f"{path} [{retriever}]" if retriever else path


def run_file(suite_file: Path, retriever: str, suffix: str = ".jsonl") -> str:
    """Name the file of a run: ``shop.bm25.jsonl`` for ``shop.ir.yaml`` and the retriever ``bm25``.

    A list of queries keeps its suffix: a suite that was made of it has its stem. What no file may
    be called is percent-encoded.
    """
    is_yaml = suite_file.suffix.lower() in (".yaml", ".yml")
    own = suite_file.stem.removesuffix(".ir") if is_yaml else suite_file.name
    variant = f".{file_name(retriever)}" if retriever else ""
    return own + variant + suffix


class Target(NamedTuple):
    """A suite as it is asked, its file and one of its retrievers ("" where it has but one)."""

    suite: Suite
    file: Path
    retriever: str

    @property
    def name(self) -> str:
        """The name of its run in messages."""
        return run_name(self.suite.path, self.retriever)

    @property
    def other(self) -> str | None:
        """The retriever that it is compared with; None for that one itself, as where it is none."""
        name = self.suite.baseline_retriever
        return None if name == self.retriever else name

    def below(self, folder: Path, suffix: str = ".jsonl") -> Path:
        """Give its place in a folder of runs: as deep in it as the suite stands in the project."""
        path = Path(self.suite.path)
        parts = [part for part in path.parent.parts if part not in ("..", path.anchor)]
        return Path(folder, *parts, run_file(self.file, self.retriever, suffix))
