"""What each rule requires, and what its violations say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pytest_irquality.io.text import DataPart, DocPart
from pytest_irquality.retrieval.run import Ranking
from pytest_irquality.suite.mistakes import Location, Mistake
from pytest_irquality.suite.rules import (
    RULES,
    ExpectNoResults,
    InOrder,
    MaxPer,
    MustFind,
    MustFindAny,
    MustNotFind,
    NewestFirst,
    Rule,
)
from pytest_irquality.suite.yaml_source import read_yaml

TITLES = {"a": "Blue shoe"}


def parse_rule(key: str, value: str) -> Rule:
    node = read_yaml(value)
    assert node is not None
    rule_class = RULES[key]
    value = rule_class.kind.read(node, f"'{key}'")
    rule = rule_class.make(value, Location("shop.ir.yaml", 3))
    assert rule is not None
    return rule


def find_violations(
    rule: Rule,
    doc_ids: str = "",
    *,
    fields: Sequence[Mapping[str, Any]] = (),
    params: Mapping[str, object] | None = None,
    passages: Mapping[int, tuple[str, ...]] | None = None,
) -> list[str]:
    ids = tuple(doc_ids.split()) or tuple("abcdefghij"[: len(fields)])
    ranking = Ranking(ids, fields=tuple(fields), passages=passages or {})
    violations = rule.find_violations(ranking, params or {}, 3, TITLES)
    return [str(violation) for violation in violations]


# -- Documents ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "doc_ids", "violations"),
    [
        (MustFind({"a": 2, "b": None}), "b a", []),
        (MustFind({"a": 2}), "b c a", ['Blue shoe (a) is at rank 3, but must be in the top 2']),
        (MustFind({"b": None}), "a", ['b was not retrieved, but must be in the top 3']),
        (MustFind({"a": 1, "b": 1}), "", [
            'Blue shoe (a) was not retrieved, but must be in the top 1',
            'b was not retrieved, but must be in the top 1',
        ]),
        (MustFindAny({"a": 1, "b": 2}), "c b", []),
        (MustFindAny({"a": 1, "b": 2}), "c a", ['needs Blue shoe (a) in the top 1 (it is at rank 2) or b in the top 2 (it was not retrieved)']),
        (MustNotFind({"a": 2}), "b c a", []),
        (MustNotFind({"a": 2}), "b a", ['Blue shoe (a) is at rank 2, but must not be in the top 2']),
        (InOrder(("a", "b", "c")), "a x b c", []),
        (InOrder(("a", "b")), "a", []),
        (InOrder(("a", "b", "c")), "b a c", ['Blue shoe (a) is at rank 2, but must be above b, which is at rank 1']),
        (InOrder(("a", "b")), "b", ['Blue shoe (a) was not retrieved, but must be above b, which is at rank 1']),
        (InOrder(("a", "b")), "x", ['none of Blue shoe (a), b was returned']),
        (ExpectNoResults(), "", []),
        (ExpectNoResults(), "a b", ['must return nothing, but returned 2 results, starting with Blue shoe (a)']),
    ],
    ids=range(15),
)  # fmt: skip
def test_rules_about_documents(rule: Rule, doc_ids: str, violations: list[str]) -> None:
    assert find_violations(rule, doc_ids) == violations


def test_a_document_that_is_returned_twice_takes_one_rank() -> None:
    assert find_violations(MustFind({"b": 2}), "a a b") == []


def test_several_passages_in_one_result_share_its_rank() -> None:
    rule = MustFind({"p1": 1, "p2": 1})

    assert find_violations(rule, "p1 chunk", passages={0: ("p1", "p2")}) == []


def test_data_in_a_violation_is_marked_for_escaping() -> None:
    rule = parse_rule("every_result", "{tenant: x}")
    ranking = Ranking(("a",), fields=({"tenant": "<b>"},))

    (violation,) = rule.find_violations(ranking, {}, 3, TITLES)

    assert DocPart("a", "Blue shoe") in violation.parts
    assert DataPart("'<b>'") in violation.parts


def test_documents_are_a_mapping_to_ranks_a_list_or_one_id() -> None:
    assert parse_rule("must_find", "{a: 3}") == MustFind({"a": 3})
    assert parse_rule("must_find", "[a, 0123]") == MustFind({"a": None, "0123": None})
    assert parse_rule("must_find", "NO") == MustFind({"NO": None})


def test_equal_rules_are_equal_wherever_they_are() -> None:
    rules = [MustFind({"a": 1}), MustFind({"a": 1}, location=Location("x", 9))]

    assert rules[0] == rules[1]
    assert len({*rules, MustFind({"a": 2}), MustFindAny({"a": 1})}) == 3
    assert InOrder(("a", "b")) != InOrder(("b", "a"))


@pytest.mark.parametrize("rule_class", [MustFind, MaxPer])
def test_rules_that_differ_only_in_the_order_of_a_mapping_have_equal_hashes(
    rule_class: type[MustFind | MaxPer],
) -> None:
    rule, reordered = rule_class({"a": 1, "b": 2}), rule_class({"b": 2, "a": 1})

    assert rule == reordered
    assert hash(rule) == hash(reordered)


def test_a_switched_off_rule_is_no_rule() -> None:
    assert ExpectNoResults.make(False, Location()) is None


def test_ranks_for_a_variant_are_those_of_top_k() -> None:
    assert MustFind({"a": 1, "b": None}).relax_for_variant() == MustFind({"a": None, "b": None})
    assert MustFind({"a": 7, "b": None}).get_depth(10) == 10


# -- Fields of every result -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "value", "problem"),
    [
        ("{f: live}", "live", ""),
        ("{f: live}", "draft", "must be 'live'"),
        ("{f: [live, new]}", "draft", "must be 'live' or 'new'"),
        ("{f: true}", True, ""),
        ("{f: true}", False, "must be 'True'"),
        ("{f: 3}", 3.0, ""),
        ("{f: 3}", "3", ""),
        ("{f: 0123}", "123", "must be '0123'"),
        ("{f: blue}", ["red", "blue"], ""),
        ("{f: {not: draft}}", "live", ""),
        ("{f: {not: [draft, gone]}}", "gone", "must not be 'draft' or 'gone'"),
        ("{f: {not: red}}", ["red", "blue"], "must not be 'red'"),
        ("{f: {min: 2}}", 2, ""),
        ("{f: {min: 2}}", "1.9", "must be at least '2'"),
        ("{f: {max: 10}}", 9.5, ""),
        ("{f: {max: 10}}", 10.5, "must be at most '10'"),
        ("{f: {max: 10}}", "cheap", "must be at most '10'"),
        ("{f: {max: 10}}", "EUR 500", "must be at most '10'"),
        ("{f: {max: $params.sizes}}", 3, "must be at most 's' or 'm'"),
        ("{f: {min: 2024-01-05}}", "2024-01-10T09:00:00Z", ""),
        ("{f: {min: 2024-01-05}}", "2023-12-31", "must be at least '2024-01-05'"),
        ("{f: {min: 1, max: 5}}", 7, "must be at most '5'"),
        ("{f: $params.tenant}", "acme", ""),
        ("{f: $params.tenant}", "other", "must be 'acme'"),
        ("{f: {max: $params.price}}", 31, "must be at most '30'"),
        ("{f: $params.sizes}", "m", ""),
        ("{f: {not: draft}}", [], ""),
        ("{f: {min: 2}}", [], "must be at least '2'"),
        ("{f: {max: 2}}", [], "must be at most '2'"),
        ("{f: {max: 2}}", [1, 3], "must be at most '2'"),
        ("{f: $params.none}", "m", "must be a value of an empty list"),
        ("{f: {min: $params.none}}", 2, "must be at least a value of an empty list"),
        ("{f: {not: $params.none}}", "m", ""),
    ],
)  # fmt: skip
def test_every_result_must_meet_the_condition(condition: str, value: object, problem: str) -> None:
    params = {"tenant": "acme", "price": 30, "sizes": ["s", "m"], "none": []}

    violations = find_violations(
        parse_rule("every_result", condition), fields=[{"f": value}], params=params
    )

    if problem:
        shown = f"'{value}'" if not isinstance(value, list) else f'"{value}"'
        expected = f"result 1, Blue shoe (a), has f {shown}, but {problem}"
        assert [violation.replace("'[", '"[').replace("]'", ']"') for violation in violations] == [
            expected
        ]
    else:
        assert violations == []


def test_a_result_without_the_field_breaks_the_rule() -> None:
    rule = parse_rule("every_result", "{status: {not: draft}}")

    violations = find_violations(rule, fields=[{"status": "live"}, {"status": None}])

    assert violations == ["result 2, b, has no field 'status'"]


def test_only_the_first_results_count() -> None:
    rule = parse_rule("every_result", "{status: live}")

    assert find_violations(rule, fields=[{"status": "live"}] * 3 + [{"status": "draft"}]) == []


def test_max_per_names_the_first_result_that_is_too_many() -> None:
    rule = parse_rule("max_per", "{source: 1}")

    violations = find_violations(rule, fields=[{"source": "x"}, {"source": "y"}, {"source": "x"}])

    assert violations == [
        "result 3, c, is number 2 of 2 with source 'x', but at most 1 may have it"
    ]
    assert find_violations(rule, fields=[{}]) == ["result 1, Blue shoe (a), has no field 'source'"]


NEWEST = NewestFirst("policy", "version")


@pytest.mark.parametrize(
    ("versions", "is_broken"),
    [
        ([3, 2, 1], False),
        ([2, 2], False),
        ([1, 2], True),
        ([3, 1, 2], True),
        (["1.10", "1.9"], False),
        (["1.9", "1.10"], True),
        (["v2", "v10"], True),
        (["2024-02-01", "2023-12-31"], False),
        (["2023-12-31", "2024-02-01"], True),
        (["old", "new"], True),
    ],
)
def test_newest_first(versions: list[object], is_broken: bool) -> None:
    fields = [{"policy": "p", "version": version} for version in versions]

    assert bool(find_violations(NEWEST, fields=fields)) is is_broken


def test_newest_first_compares_only_within_a_group() -> None:
    fields = [{"policy": "p", "version": 1}, {"policy": "q", "version": 2}]

    assert find_violations(NEWEST, fields=fields) == []


def test_newest_first_names_both_results_and_both_values() -> None:
    fields = [{"policy": "p", "version": 1}, {"policy": "p", "version": 2}]

    assert find_violations(NEWEST, fields=fields) == [
        "result 1, Blue shoe (a), has version '1', and is above result 2, b, with version '2'"
    ]


@pytest.mark.parametrize(
    ("key", "value", "mistake"),
    [
        ("every_result", "{}", "'every_result' is empty. Write {FIELD: VALUE}."),
        ("every_result", "{f: {nt: a}}", "'nt' is not a key of 'every_result: f'. Did you mean 'not'?"),
        ("every_result", "{f: {min: cheap}}", "'min' of 'every_result: f' must be a number or a date, not 'cheap'"),
        ("every_result", "{f: {min: [1, 2]}}", "'min' of 'every_result: f' must be a single value"),
        ("every_result", "{f: $tenant}", "'every_result: f' is '$tenant'. Write '$params.name' for a parameter of the query."),
        ("every_result", "{f: []}", "'every_result: f' lists no values"),
        ("every_result", "status", "'every_result' must have lines such as 'key: value', but is 'status'"),
        ("max_per", "{source: 0}", "'max_per: source' must be a whole number of 1 or more, not '0'"),
        ("newest_first", "{within: a}", "'newest_first' needs 'by'"),
        ("newest_first", "{withn: a, by: b}", "'withn' is not a key of 'newest_first'. Did you mean 'within'?"),
        ("must_find", "[]", "'must_find' lists no documents"),
    ],
)  # fmt: skip
def test_mistakes(key: str, value: str, mistake: str) -> None:
    with pytest.raises(Mistake) as info:
        parse_rule(key, value)

    assert str(info.value) == mistake


def test_conditions_name_their_parameters() -> None:
    rule = parse_rule("every_result", "{f: [$params.a, x], g: {max: $params.b}}")

    assert rule.param_names == ("a", "b")
