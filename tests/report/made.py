"""Results made by hand, and the texts that must stay texts."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from typing import Any

from pytest_irquality.storage.provenance import Again, Baseline
from pytest_irquality.verdict.findings import Change, Finding, RankedDocument
from pytest_irquality.verdict.result import (
    Mean,
    Outcome,
    QueryResult,
    ShownDocument,
    SuiteResult,
    Verdict,
)

HOSTILE = '<script>alert(1)</script></style></title>" onload="alert(1)\' javascript:alert(1) {{ 7*7 }} & \u202eevil \x1b[31m'


def data_of(page: str) -> dict[str, Any]:
    """What the page's script is given."""
    block = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert block
    data: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(block[1], validate=True)))
    return data


def query(id: str, value: float | None = 1.0, **more: object) -> QueryResult:
    made = QueryResult(
        id, id, 10, (value,), (ShownDocument(1, f"{id}-doc", "A title", 1.0, True),), returned=1
    )
    return replace(made, **more)  # type: ignore[arg-type]


def check(id: str, outcome: Outcome = "passed", **more: object) -> Verdict:
    ok = outcome in ("passed", "fixed")
    found = RankedDocument(f"{id}-doc", 1 if ok else 4, limit=1)
    finding = Finding(id, "must_find", ok, ranked=(found,))
    made = Verdict(id.replace(" ", "-"), id, 10, outcome, (finding,), "query", id)
    return replace(made, **more)  # type: ignore[arg-type]


def floor(
    value: float, limit: float, outcome: Outcome, subject: str = "", **more: object
) -> Verdict:
    finding = Finding(subject, "min", value >= limit, True, "ndcg@10", value, limit, 20)
    made = Verdict("ndcg-10", "ndcg@10", 4, outcome, (finding,), "suite")
    return replace(made, **more)  # type: ignore[arg-type]


def suite(*queries: QueryResult, verdicts: tuple[Verdict, ...] = (), **more: object) -> SuiteResult:
    made = SuiteResult(
        suite="Shop search",
        path="shop.ir.yaml",
        retriever="",
        top_k=10,
        measures=("ndcg@10",),
        formulas=("DCG over ideal DCG",),
        shown=("ndcg@10",),
        means=(Mean("ndcg@10", None, 0.9, len(queries), 0),),
        queries=queries,
        verdicts=verdicts,
        judged=3,
        returned=8,
        seconds=1.4,
        again=Again(),
    )
    return replace(made, **more)  # type: ignore[arg-type]


def moved(id: str, before: float, now: float, **more: object) -> QueryResult:
    """A query on both sides: its best document fell from 1 to 2, one left the ranking, one came."""
    shared: dict[str, object] = {
        "before": (before,),
        "compared": (now,),
        "ranking": (
            ShownDocument(1, "came", "A newcomer", None, before=None, score=2.5),
            ShownDocument(2, "best", "The best one", 3.0, True, before=1, score=1.25),
            ShownDocument(3, "banned", "Not this one", 0.0, before=3, score=0.5),
        ),
        "missing": (ShownDocument(None, "lost", "Lost one", 2.0, True, before=2, gone=True),),
        "ranking_before": (
            ShownDocument(2, "best", "The best one", 3.0, True, before=1),
            ShownDocument(None, "lost", "Lost one", 2.0, True, before=2, gone=True),
            ShownDocument(3, "banned", "Not this one", 0.0, before=3),
        ),
        "returned": 3,
    }
    return query(id, now, **{**shared, **more})


def compared(
    *queries: QueryResult, verdicts: tuple[Verdict, ...] = (), **more: object
) -> SuiteResult:
    """Queries against a baseline; where none are given four: one worse, one better and failed, one the same, one new."""
    four = (
        moved("office chair", 0.9, 0.4, tags=("head",)),
        moved("desk", 0.5, 0.75, tags=("tail",)),
        query("sofa", 0.8, before=(0.8,), compared=(0.8,), tags=("tail",)),
        query("lamp", 0.3, new=True),
    )
    change = Change(0.733, 0.65, 3, 1, 1, 1, p=0.25, low=-0.2, high=0.05)
    banned = Finding("desk", "must_not_find", False, ranked=(RankedDocument("banned", 3, limit=3),))
    drop = Finding("", "max_drop", False, True, "ndcg@10", 0.083, 0.02, 3, change=change)
    made = suite(
        *(queries or four),
        verdicts=(
            *verdicts,
            *(() if queries else (check("desk", "failed", findings=(banned,)),)),
            Verdict("ndcg-10", "ndcg@10", 4, "failed", (drop,), "suite"),
        ),
        means=(
            Mean("ndcg@10", None, 0.5625, 4, 0, change=change),
            Mean("ndcg@10", "head", 0.4, 1, 0, change=Change(0.9, 0.4, 1, 1, 0, 0)),
            Mean("ndcg@10", "tail", 0.775, 2, 0, change=Change(0.65, 0.775, 2, 0, 1, 1)),
        ),
        baseline=Baseline(
            ".ir-baseline/shop.jsonl",
            4,
            "9e01b77aa01b2c3d",
            "2026-01-01T10:00:00+00:00",
            "v1",
            ("rug",),
        ),
        commit="3f2a91c0ffee",
        version="v2",
    )
    return replace(made, **more)  # type: ignore[arg-type]
