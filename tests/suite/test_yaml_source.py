"""YAML as written, and its mistakes in the words of somebody who writes it twice a year."""

from __future__ import annotations

import pytest

from pytest_irquality.suite.mistakes import Mistake
from pytest_irquality.suite.yaml_source import (
    ListNode,
    MappingNode,
    ScalarNode,
    make_node,
    read_yaml,
)


def find_mistake(text: str) -> str:
    with pytest.raises(Mistake) as info:
        read_yaml(text)
    return f"{info.value.line}: {info.value}"


def test_scalars_keep_their_text_and_line() -> None:
    root = read_yaml("a: 0123\nb: [NO, '1e3']\n")

    assert root == MappingNode(
        [
            (ScalarNode("a", 1), ScalarNode("0123", 1)),
            (
                ScalarNode("b", 2),
                ListNode([ScalarNode("NO", 2), ScalarNode("1e3", 2, is_quoted=True)], 2),
            ),
        ],
        1,
    )


def test_repeated_keys_stay_visible() -> None:
    root = read_yaml("a: 1\na: 2\n")

    assert isinstance(root, MappingNode)
    assert len(root.entries) == 2


def test_empty_value_has_the_comment_that_may_be_meant_as_a_value() -> None:
    root = read_yaml("query: #teatime\nid:\n")

    assert isinstance(root, MappingNode)
    assert root.entries[0][1] == ScalarNode("", 1, comment="#teatime")
    assert root.entries[1][1] == ScalarNode("", 2)


@pytest.mark.parametrize("line_break", ["\u2028", "\x85", "\r", "\n"])
def test_text_of_several_lines_may_have_a_dash(line_break: str) -> None:
    root = read_yaml(f"note: x - y{line_break}      z")

    assert isinstance(root, MappingNode)


def test_nothing_has_no_node() -> None:
    assert read_yaml("# only a comment\n") is None


def test_json_has_the_nodes_that_it_would_have_in_yaml() -> None:
    value = {"query": "a", "relevant": {"d": "2"}, "tags": ["x"], "why": None, "flag": True}

    node = make_node(value, 7)

    assert isinstance(node, MappingNode)
    assert [value for _, value in node.entries][-2:] == [ScalarNode("", 7), ScalarNode("true", 7)]
    assert node.entries[0] == (ScalarNode("query", 7, True), ScalarNode("a", 7, True))


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("queries:\n  - query: a\n   relevant: [b]\n", "3: This line is indented by 3 spaces. Use 4, to match line 2."),
        ("queries:\n  - query: a\n      relevant: [b]\n", "3: This line is indented by 6 spaces. Use 4, to match line 2."),
        ("queries:\n  - query: a\n  relevant: [b]\n", "3: This line is indented by 2 spaces. Use 4, to match line 2."),
        ("queries:\n  - query: a\n   - query: b\n", "3: This line is indented by 3 spaces. Use 2, to match line 2."),
        ("queries:\n  - query: a\n - query: b\n", "3: This line is indented by 1 space. Use 2, to match line 2."),
        ("queries:\n  - query:red shoes\n    relevant: [b]\n", "2: Write a space after the colon of 'query:'"),
        ("queries:\n  - query: red\n    relevant:[b]\n", "3: Write a space after the colon of 'relevant:'"),
        ("suite:x\nqueries: []\n", "1: Write a space after the colon of 'suite:'"),
        ("queries:\n\t- query: a\n", "2: This line is indented with a tab. Use spaces."),
        ("queries:\n  - query: a\n  \trelevant: [b]\n", "3: This line is indented with a tab. Use spaces."),
        ('queries:\n  - query: "red shoes\n    id: b\n', "2: The quote that opens on this line is never closed"),
        ("queries:\n  - query: 'men's shoes'\n", "2: 's shoes'' follows the closing quote. If the text contains ', put \" around it."),
        ('queries:\n  - query: "red" shoes\n', "2: 'shoes' follows the closing quote. If the text contains \", put ' around it."),
        ("queries:\n  - query: c: drive\n", "2: Text that contains ': ' must be in quotes"),
        ("queries:\n  - {query: c: drive}\n", "2: A comma is missing, or text that contains ': ' needs quotes"),
        ("queries:\n  - query: @home\n", "2: Text that begins with @ must be in quotes"),
        ("queries:\n  - query: , b\n", "2: Text that begins with a comma must be in quotes"),
        ("queries:\n  - query: - b\n", "2: Text that begins with '- ' must be in quotes"),
        ("queries:\n  - query: | b\n", "2: Text that begins with | must be in quotes"),
        ("queries:\n  - query: a\n    relevant: [a, b\n  - query: b\n", "3: The '[' on this line is never closed with ']'"),
        ("queries:\n  - {query: a, relevant: [b]\n  - query: b\n", "2: The '{' on this line is never closed with '}'"),
        ("relevant: {\n  a: 1\n  b: 2\n}\n", "3: A comma is missing, or text that contains ': ' needs quotes"),
        ("queries:\n  - query: a\n    must_find: [d1, d2", "3: The '[' on this line is never closed with ']'"),
        ("queries:\n  - {query: a, relevant: ['b' 'c']}\n", "2: A comma is missing before ''c']}'"),
        ("queries:\n  - query: a\n    relevant: [a]]\n", "3: The ']' closes nothing"),
        ("queries:\n  - query: a\nfoo\n", "3: 'foo' is not 'key: value'. Write a colon after a key, and quotes around text of several lines."),
        ('queries:\n  - query: "a\\d"\n', "2: '\\d' is not a valid escape within double quotes. Use single quotes, or write the backslash twice."),
        ("queries: [\x07]\n", "1: This line has a control character, which YAML does not allow"),
        ("queries:\n- query: a\n  relevant:\n  - b\n   - c\n", "5: This line is indented by 3 spaces. Use 2, to match line 4."),
        ("queries:\n  -\tquery: a\n", "2: This line is indented with a tab. Use spaces."),
        ("queries：\n  - query: a\n", "1: Write a colon and a space after 'queries'"),
        ("queries =\n  - query: a\n", "1: Write a colon and a space after 'queries'"),
        ("queries:\n  * query: a\n", "2: Begin the line with '- query'"),
        ("queries:\n  - {query: a,relevant:[b]}\n", "2: Write a space after each colon and each comma on this line"),
        ("queries: []\n...\nfoo: 1\n", "3: The line '...' above ends the YAML document. Remove it."),
        ("a: b\n---\nc: d\n", "2: A second document begins here. Remove the line '---', or use two files."),
        ("b: c\nnote: x\u2028  - y\u2028  z - d", "3: This line is indented differently from the lines above it"),
        ("b: c\nnote: x\r  - y\r  z - d", "3: This line is indented differently from the lines above it"),
    ],
    ids=range(38),
)  # fmt: skip
def test_syntax_errors_are_plain_and_at_the_line_to_look_at(text: str, mistake: str) -> None:
    assert find_mistake(text) == mistake


@pytest.mark.parametrize("value", ["*foo", "&foo", "!foo bar"])
def test_what_yaml_reads_as_an_instruction_is_refused(value: str) -> None:
    mistake = find_mistake(f"query: {value}\n")

    assert mistake.startswith(
        f"1: '{value.split(maxsplit=1)[0]}' is YAML syntax that suites do not support"
    )


@pytest.mark.parametrize("opening", ["[", "{a: "])
def test_nesting_is_bounded(opening: str) -> None:
    closing = {"[": "]", "{a: ": "}"}[opening]

    read_yaml(opening * 40 + "1" + closing * 40)

    assert "deeper than 40 levels" in find_mistake(opening * 41 + "1" + closing * 41)


def test_deep_nesting_is_no_recursion_error() -> None:
    assert find_mistake("[" * 100_000).startswith("1: ")
