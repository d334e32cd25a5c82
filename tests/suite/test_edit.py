"""Adding a query to a suite keeps the rest of the file as it is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.suite.rules import MustFind, MustNotFind
from pytest_irquality.suite.yaml_source import MappingNode, ScalarNode, read_yaml
from pytest_irquality.suite.yaml_writer import EditError, add_query, format_scalar, parse_document
from tests.suite.helpers import SuiteFolder

SHOP = """\
# Our shop.
suite: Shop   # the name

queries:
    # chairs
    -   query: office chair
        relevant:
            sku-1: 3    # the best

    # lamps

thresholds: {ndcg@10: 0.5}
"""


def add(
    folder: SuiteFolder, text: str, query: str, must_find: Sequence[str] = (), why: str = ""
) -> str:
    path = folder.write("shop.ir.yaml", text)
    add_query(path, query, must_find=must_find, why=why, root=folder.path)
    return path.read_text(encoding="utf-8")


def test_comments_and_layout_stay(folder: SuiteFolder) -> None:
    text = add(folder, SHOP, "red shoes", ["sku-12:3"], "SUP-881")

    added = "    - query: red shoes\n      why: SUP-881\n      must_find: {sku-12: 3}\n"
    assert text == SHOP.replace("# the best\n", f"# the best\n{added}")


def test_the_line_of_the_query_is_returned(folder: SuiteFolder) -> None:
    path = folder.write("shop.ir.yaml", SHOP)

    line = add_query(path, "tea", root=folder.path)

    assert path.read_text(encoding="utf-8").splitlines()[line - 1] == "    - query: tea"
    assert folder.load(path.read_text(encoding="utf-8")).queries[-1].location.line == line


@pytest.mark.parametrize(
    "text",
    [
        "queries:\n- query: a\n",
        "queries:\n- query: a",
        "queries:   # all\n  - {query: a}\n  # the end",
        "queries:\n  - q.txt\n",
        "queries:\n  - query: |\n      a\n",
        "top_k: 3\nqueries:\n  - query: a\n    must_find:\n    - d\n\n\n",
        "",
    ],
)
def test_every_layout_of_queries(folder: SuiteFolder, text: str) -> None:
    folder.write("q.txt", "b\n")

    edited = add(folder, text, "red shoes", ["d"])

    query = folder.load(edited).queries[-1]
    assert (query.text, query.rules) == ("red shoes", (MustFind({"d": None}),))
    assert edited.startswith(text.rstrip("\n").removesuffix("# the end"))


def test_all_parts_of_a_query(folder: SuiteFolder) -> None:
    path = folder.write("shop.ir.yaml", "queries:\n  - query: a\n")

    add_query(
        path,
        "red: shoes #1",
        must_find=["id:shop:tea::t1", "b:2"],
        must_not_find=["c"],
        tags=["head", "on"],
        query_id="0123",
        root=folder.path,
    )

    query = folder.load(path.read_text(encoding="utf-8")).queries[-1]
    assert (query.id, query.text, query.tags) == ("0123", "red: shoes #1", ("head", "on"))
    assert query.rules == (MustFind({"id:shop:tea::t1": 10, "b": 2}), MustNotFind({"c": None}))


@pytest.mark.parametrize(
    ("text", "query", "message"),
    [
        ("queries:\n  - query: tea\n", "tea", "shop.ir.yaml:3: The id 'tea' is already used in line 2"),
        ("queries:\n  - query: a\n    foo: 1\n", "tea", "shop.ir.yaml:3: 'foo' is not a key of a query"),
        ("queries: [{query: a}]\n", "tea", "shop.ir.yaml:1: There is no list to add the query to."),
        ("queries: q.txt\n", "tea", "shop.ir.yaml:1: There is no list to add the query to."),
        ("queries:\n  - query: a\n", " ", "shop.ir.yaml:3: 'query' is empty"),
    ],
)  # fmt: skip
def test_what_would_not_load_is_refused(
    folder: SuiteFolder, text: str, query: str, message: str
) -> None:
    folder.write("q.txt", "b\n")

    with pytest.raises(EditError) as info:
        add(folder, text, query)

    assert message in str(info.value)
    assert (folder.path / "shop.ir.yaml").read_text(encoding="utf-8") == text


def test_documents_of_the_command_line() -> None:
    assert parse_document("sku-12:3") == ("sku-12", 3)
    assert parse_document("sku-12") == ("sku-12", None)
    assert parse_document("id:shop:t1") == ("id:shop:t1", None)
    assert parse_document(":3") == (":3", None)
    assert parse_document("a:0") == ("a:0", None)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_text_is_read_back(text: str) -> None:
    node = read_yaml(f"- key: {format_scalar(text)}\n- {{a: {format_scalar(text)}, b: 1}}\n")

    assert node is not None
    for item in node.items if not isinstance(node, MappingNode | ScalarNode) else []:
        assert isinstance(item, MappingNode)
        value = item.entries[0][1]
        assert isinstance(value, ScalarNode)
        assert value.text == text
