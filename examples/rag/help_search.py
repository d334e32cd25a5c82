"""Retrieval for a help desk: a handbook is cut into chunks and searched with SQLite FTS5."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

HANDBOOK = Path(__file__).with_name("handbook.md")
WORDS = 32

Chunker = Callable[[str], list[str]]


def paragraphs(text: str) -> list[str]:
    """Return a chunk for each paragraph, with its heading."""
    chunks, heading = [], ""
    for block in text.split("\n\n"):
        if block.startswith("# "):
            heading = block.removeprefix("# ").strip()
        else:
            chunks.append(f"{heading}\n{block.strip()}")
    return chunks


def windows(text: str) -> list[str]:
    """Return a chunk for every ``WORDS`` words, wherever sentences and paragraphs end."""
    words = text.split()
    return [" ".join(words[start : start + WORDS]) for start in range(0, len(words), WORDS)]


class HelpSearch:
    """Finds the chunks that share words with a question, best match first."""

    def __init__(self, chunker: Chunker) -> None:
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute("CREATE VIRTUAL TABLE chunks USING fts5(text, tokenize='porter')")
        chunks = chunker(HANDBOOK.read_text(encoding="utf-8"))
        self._db.executemany("INSERT INTO chunks VALUES (?)", [(chunk,) for chunk in chunks])

    def search(self, question: str, limit: int) -> list[str]:
        """Return the texts of the best chunks, from which a model would answer."""
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        sql = "SELECT text FROM chunks WHERE chunks MATCH ? ORDER BY rank LIMIT ?"
        return [text for (text,) in self._db.execute(sql, (words, limit))]

    def close(self) -> None:
        """Close the index."""
        self._db.close()
