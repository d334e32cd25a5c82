"""Names of items: unique, and safe in node ids, ``-k`` and xdist."""

from __future__ import annotations

from hypothesis import given, strategies as st

from pytest_irquality.suite.mistakes import Location
from pytest_irquality.suite.model import CheckItem, ItemKind, Query, Suite
from pytest_irquality.suite.parser import make_item_name, make_items


def name_items(*query_ids: str, thresholds: tuple[str, ...] = ()) -> list[str]:
    suite = Suite("shop", tuple(Query(query_id, query_id) for query_id in query_ids))
    checks = [CheckItem("", label, ItemKind.THRESHOLD, Location()) for label in thresholds]
    return [item.name for item in make_items(suite, checks)]


def test_names() -> None:
    assert make_item_name("office chair") == "office-chair"
    assert make_item_name("ndcg@10") == "ndcg-10"
    assert make_item_name("a[b]::c (d)\n") == "a-b-c-d"
    assert make_item_name("red \x1b[31m \u202etxt") == "red-31m-txt"
    assert make_item_name("@@") == "-"
    assert make_item_name("x" * 200) == "x" * 80
    assert make_item_name("caf\udce9").isascii()


def test_a_query_never_renames_a_threshold() -> None:
    names = name_items("ndcg 10", thresholds=("ndcg@10",))

    assert names == ["query-ndcg-10", "ndcg-10", "answers", "baseline"]


def test_names_that_pytest_gives_a_meaning_are_prefixed() -> None:
    assert name_items("pytestmark", "setup_module", "_id", "answers")[:4] == [
        "query-pytestmark",
        "query-setup_module",
        "query-_id",
        "query-answers",
    ]


def test_equal_names_are_numbered() -> None:
    assert name_items("a b", "a-b", "a  b")[:3] == ["a-b", "a-b-2", "a-b-3"]


def test_queries_from_files_are_items_only_if_they_require_something() -> None:
    suite = Suite("shop", (Query("a", "a", is_sampled=True), Query("b", "b")))

    items = make_items(suite, [])

    assert [item.query_id for item in items] == ["b", "", ""]


def test_probes_have_no_default_checks() -> None:
    items = make_items(Suite("shop", is_probe_suite=True), [])

    assert [item.kind for item in items] == [ItemKind.ANSWERS]


@given(st.lists(st.text(max_size=8), min_size=1, max_size=8, unique=True))
def test_names_are_unique_and_safe(texts: list[str]) -> None:
    names = name_items(*texts, thresholds=("ndcg@10", "head mrr@5"))

    assert len(set(names)) == len(names)
    for name in names:
        assert not set(name) & set("@[]: \n\t")
