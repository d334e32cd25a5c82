"""Adding a query to a suite keeps the rest of the file as it is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.suite.rules import MustFind
from pytest_irquality.suite.suite_writer import EditError, add_query, format_scalar, parse_document
from pytest_irquality.suite.yaml_source import MappingNode, ScalarNode, read_yaml
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
        "suite: Shop\nqueries:   # none yet\n\n\n",
        "",
    ],
)
def test_every_layout_of_queries(folder: SuiteFolder, text: str) -> None:
    folder.write("q.txt", "b\n")

    edited = add(folder, text, "red shoes", ["d"])

    query = folder.load(edited).queries[-1]
    assert (query.text, query.rules) == ("red shoes", (MustFind({"d": None}),))
    assert edited.startswith(text.rstrip("\n").removesuffix("# the end"))


ADDED = "  - query: red shoes\n    must_find: [d]\n"


@pytest.mark.parametrize(
    "text",
    [
        "queries:\n  - query: a\n    # relevant:\n    #   d1: ok   # Chair\n<>  # the end\n",
        "queries:\n  - query: a\n    why: |\n      see\n      # 42\n<>\n\ntop_k: 3\n",
        "\ufeffqueries:\r\n  - query: a\r\n<>top_k: 3\r\n",
        "queries:\r\n  - query: Stühle – 椅子\r\n<>",
        "queries:\n  - query: a\t# a\ttab\n    relevant: {d: 3,  e:   1}   \n<>   \n\n",
        "---\nqueries:\n  -\n    query: a\n  -   {query: b}\n<>...\n",
        "suite: |\n  queries:\n    - query: x\nqueries:   # all\n\n  # one\n  - query: >-\n      a\n      b\n<>",
    ],
    ids=["candidates", "block", "CRLF", "CRLF at the end", "tabs", "dashes", "folded"],
)  # fmt: skip
def test_every_byte_around_the_query_stays(folder: SuiteFolder, text: str) -> None:
    before, after = text.split("<>")
    path = folder.path / "shop.ir.yaml"
    path.write_bytes(f"{before}{after}".encode())

    add_query(path, "red shoes", must_find=["d"], root=folder.path)

    added = ADDED.replace("\n", "\r\n") if "\r" in text else ADDED
    assert path.read_bytes() == f"{before}{added}{after}".encode()


def test_a_file_without_a_last_line_end_gets_its_own_line_ends(folder: SuiteFolder) -> None:
    path = folder.path / "shop.ir.yaml"
    path.write_bytes(b"queries:\r\n  - query: a")

    add_query(path, "red shoes", root=folder.path)

    assert path.read_bytes() == b"queries:\r\n  - query: a\r\n  - query: red shoes"


def test_another_encoding_is_refused(folder: SuiteFolder) -> None:
    path = folder.path / "shop.ir.yaml"
    data = "queries:\n  - query: a\n".encode("utf-16")
    path.write_bytes(data)

    with pytest.raises(EditError, match="not in UTF-8"):
        add_query(path, "tea", root=folder.path)

    assert path.read_bytes() == data


def test_all_parts_of_a_query(folder: SuiteFolder) -> None:
    path = folder.write("shop.ir.yaml", "queries:\n  - query: a\n")

    add_query(
        path, "red: shoes #1", must_find=["id:shop:tea::t1", "b:2"], why="#7", root=folder.path
    )

    query = folder.load(path.read_text(encoding="utf-8")).queries[-1]
    assert (query.text, query.why) == ("red: shoes #1", "#7")
    assert query.rules == (MustFind({"id:shop:tea::t1": 10, "b": 2}),)


@pytest.mark.parametrize(
    ("text", "query", "message"),
    [
        ("queries:\n  - query: tea\n", "tea", "shop.ir.yaml:2: This query is already in the suite. Edit that query instead."),
        ("queries:\n  - query: 'tea\ncake'\ntop_k: 3\n", "a", "shop.ir.yaml:3: A query cannot be added here."),
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
