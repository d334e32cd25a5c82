"""The search of a small web shop: SQLite's full-text index over a catalog of products."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

CATALOG = Path(__file__).with_name("catalog.jsonl")

WEIGHTS = {"title": 8.0, "brand": 2.0, "category": 3.0, "description": 1.0}


class ShopSearch:
    """Finds products by any of a query's words, best match first."""

    def __init__(self, catalog: Path = CATALOG) -> None:
        products = [json.loads(line) for line in catalog.read_text(encoding="utf-8").splitlines()]
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        fields = ", ".join(WEIGHTS)
        try:
            self._db.execute(
                f"CREATE VIRTUAL TABLE products USING fts5(id UNINDEXED, {fields}, tokenize='porter"
                " unicode61')"
            )
        except sqlite3.OperationalError as error:
            if "fts5" not in str(error):
                raise
            message = (
                f"This Python's SQLite ({sqlite3.sqlite_version}) was built without FTS5, which the"
                " shop needs."
            )
            raise RuntimeError(message) from error
        columns = ("id", *WEIGHTS)
        self._db.executemany(
            f"INSERT INTO products ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
            (
                [product[column] for column in columns]
                for product in products
                if not product.get("withdrawn")
            ),
        )

    def search(self, query: str, limit: int) -> list[dict[str, Any]]:
        # Quoted, a word is only a word: "AND", "NEAR" or a stray hyphen would otherwise be FTS5
        # syntax.
        words = [f'"{word}"' for word in re.findall(r"\w+", query)]
        if not words:
            return []
        weights = ", ".join(
            str(weight) for weight in (0.0, *WEIGHTS.values())
        )  # 0.0: the id's column
        # bm25() is negative, lower is better; ties go by id, so that every run gives the same
        # ranking.
        rows = self._db.execute(
            f"SELECT id, title, -bm25(products, {weights}) AS score FROM products"
            " WHERE products MATCH ? ORDER BY score DESC, id LIMIT ?",
            (" OR ".join(words), limit),
        )
        return [{"id": id_, "title": title, "score": score} for id_, title, score in rows]

    def close(self) -> None:
        self._db.close()
