"""A file that holds a stored run: where it is, how messages name it, and what may be read of it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pytest_irquality.edges.open import Allowed
from pytest_irquality.edges.project import Project
from pytest_irquality.storage.jsonl import read_run
from pytest_irquality.storage.stored import StoredRun, StoredRunError
from pytest_irquality.storage.trec import is_trec


class RunFile(NamedTuple):
    """A file. It may lead to what is ``allowed``: to anything (None) where the user named it."""

    path: Path
    shown: str
    allowed: Allowed | None = None

    @classmethod
    def of(cls, project: Project, path: Path, allowed: Allowed | None = None) -> RunFile:
        """Give a file of a project."""
        return cls(path, project.shown(path), allowed)

    @property
    def is_trec(self) -> bool:
        """Tell whether it is named as a run in TREC's format."""
        return is_trec(self.path)

    def read(self) -> StoredRun | None:
        """Give its run; None where there is no such file. Raises ``StoredRunError``."""
        try:
            return read_run(*self)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            why = error.strerror or error
            raise StoredRunError(f"{self.shown}: cannot be read: {why}") from None
