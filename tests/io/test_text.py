"""Texts that consist of parts."""

from __future__ import annotations

from pytest_irquality.io.text import (
    CodePart,
    DataPart,
    DocPart,
    Part,
    QueryPart,
    Text,
    find_closest,
    format_count,
    join,
    list_some,
    write,
)


def test_a_text_is_printed_with_its_parts() -> None:
    query, doc = QueryPart("q1", "red shoes"), DocPart("sku-12", "Sneaker")

    text = write(query, " lost ", doc, " and ", 2, " more, see ", CodePart("a.yaml:3"))

    assert str(text) == '"red shoes" lost Sneaker (sku-12) and 2 more, see `a.yaml:3`'
    assert text
    assert not Text()


def test_every_part_is_rendered_by_itself() -> None:
    def render(part: Part) -> str:
        return part if isinstance(part, str) else f"<{part}>"

    text = write("a ", DataPart("b")) + " c" + write(DocPart("d"))

    assert text.render(render) == "a <b> c<d>"


def test_lists_are_joined_and_shortened() -> None:
    parts = [DocPart(name) for name in "abcde"]

    assert str(join(parts[:2])) == "a, b"
    assert str(list_some(parts)) == "a, b, c and 2 more"
    assert str(list_some(parts[:3])) == "a, b, c"
    assert str(join([])) == ""


def test_counts_have_their_noun() -> None:
    assert format_count(1, "query", "queries") == "1 query"
    assert format_count(2, "query", "queries") == "2 queries"
    assert format_count(1200, "document") == "1,200 documents"


def test_the_closest_name_is_found() -> None:
    assert find_closest("qurey", ["query", "queries"]) == "query"
    assert find_closest("xyz", ["query", "queries"]) is None
