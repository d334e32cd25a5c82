"""A folder with a suite and its files, for tests of loading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.suite.mistakes import SuiteError
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.suite.parser import load_suite


class SuiteFolder:
    """Writes files and loads ``shop.ir.yaml``, whose text may be given at the same time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def load(self, text: str, **options: Any) -> Suite:
        self.write("shop.ir.yaml", text)
        return load_suite("shop.ir.yaml", root=self.path, **options)

    def load_query(self, text: str) -> Query:
        """Load a suite of one query, given by the keys of the query in braces."""
        return self.load(f"queries:\n  - {text}\n").queries[0]

    def find_mistakes(self, text: str) -> list[str]:
        with pytest.raises(SuiteError) as info:
            self.load(text)
        return str(info.value).split("\n")


def get_grades(suite: Suite) -> dict[str, dict[str, float]]:
    return {query.id: dict(query.judgments.grades) for query in suite.queries}
