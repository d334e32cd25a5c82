"""Bad input is one line with its place; good input is read as written."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_irquality import SuiteError, load_suite

Q = "queries: [{query: a, relevant: [d]}]\n"


def load(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "s.ir.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SuiteError) as error:
        load_suite(path, shown="s.ir.yaml")
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1:1: the suite is empty; it needs 'queries'"),
        ("a", "1:1: the suite must be a mapping, not a single value"),
        ("suite: x\n", "1:1: the suite has no 'queries'"),
        ("queries: []\n", "1:1: 'queries' is empty"),
        ("- query: a\n", "1:1: the suite must be a mapping, not a list; write 'queries:' above it"),
        ("queries: [{query: a, relevant: 1054}]\n", "1:32: 'relevant' must be a mapping, not a single value; write [1054]"),
        ("querys: []\n", "1:1: unknown key 'querys' in the suite; did you mean 'queries'?"),
        ("queries:\n  - {query: a, relevent: [d]}\n", "2:16: unknown key 'relevent' in a query; did you mean 'relevant'?"),
        ("queries:\n  - dark mode\n", "2:5: no such file: dark mode; did you mean `- query: dark mode`?"),
        ("queries:\n  - what is it?\n", "2:5: no file matches 'what is it?'; did you mean `- query: what is it?`?"),
        ("queries:\n  - {query: a, must_find: [d], known_issue: false}\n", "2:45: 'known_issue' takes the id of the issue, such as SHOP-123, not false; without one, leave it out"),
        ("queries:\n  - {query: a, must_find: [d], known_issue: {bm25: ~}}\n", "2:45: 'known_issue' must be text"),
        (Q + "thresholds: {ndcg@10: {min: 1, known_issue: No}}\n", "2:45: 'known_issue' takes the id of the issue"),
        ("queries:\n  - {id: a}\n", "2:5: a query has no 'query'"),
        ("queries:\n  - {query: a, query: b}\n", "2:16: 'query' is already given on line 2"),
        ("queries:\n  - query: a\n  - query: a\n", "3:5: the id 'a' is already used on line 2; give one of the two an 'id'"),
        ("queries:\n  - {query: a, relevant: {d: high}}\n", "2:30: a grade must be a number, not 'high'"),
        ("grades: {perfect: 3}\nqueries:\n  - {query: a, relevant: {d: perfct}}\n", "3:30: a grade must be a number or a word of grades (perfect), not 'perfct'; did you mean 'perfect'?"),
        ("queries:\n  - {query: a, relevant: {d: nan}}\n", "2:30: a grade must be a number, not 'nan'"),
        ("queries:\n  - {query: a, relevant: {d: 1, d: 2}}\n", "2:33: 'd' is already given on line 2"),
        ("queries:\n  - {query: a, relevant: {d: [1]}}\n", "2:30: the grade of 'd' must be a number or a word of 'grades'"),
        ("queries:\n  - {query: a, must_find: {d: 0}}\n", "2:31: the rank of 'd' must be a whole number of at least 1, not '0'"),
        ("queries:\n  - {query: a, in_order: [d]}\n", "2:26: 'in_order' needs at least two documents"),
        ("queries:\n  - {query: a, known_issue: X}\n", "2:16: 'known_issue' on a query with no rule and no threshold: nothing could fail"),
        ("queries:\n  - {query: a, expect_no_results: true, relevant: [d]}\n", "2:41: 'relevant' contradicts 'expect_no_results'"),
        ("queries:\n  - {query: a, thresholds: {ndcg: 1}}\n", "2:29: ndcg@10 is undefined for this query: it has no relevant document"),
        ("queries:\n  - {query: a, weight: -1}\n", "2:24: 'weight' must not be negative"),
        (Q + "thresholds: {ndgc@10: 0.5}\n", "2:14: unknown measure 'ndgc@10'; did you mean 'ndcg'?"),
        (Q + "thresholds: {ndcg@10: 85}\n", "2:23: ndcg@10 is always between 0 and 1, so 85 is no limit; did you mean 0.85?"),
        (Q + "thresholds: {ndcg@10: {min: 0%}}\n", "2:29: a min of 0 on ndcg@10 holds whatever happens; leave it out"),
        (Q + "thresholds: {ndcg@10: {max: 90%}}\n", "2:29: max on ndcg@10, which is better high; min is meant"),
        (Q + "thresholds: {ndcg: 0.5, ndcg@10: 0.6}\n", "2:25: ndcg@10 already has its limits on line 2"),
        (Q + "thresholds: {ndcg@10: {}}\n", "2:14: ndcg@10 has no limit: give min, max, max_drop or warn_below"),
        (Q + "thresholds: {ndcg@10: {warn_below: 1, known_issue: X}}\n", "2:14: 'known_issue' on a line whose limits only warn: nothing could fail"),
        (Q + "tags: {haed: {mrr: 0.5}}\n", "2:8: no query has the tag 'haed'"),
        (Q + "robustness: {typo: {mrr: {max_drop: 0.1}}}\n", "2:21: unknown key 'mrr' in the limit of typo"),
        (Q + "depth: 5\nmetrics: [ndcg@10]\n", "2:1: 'depth' is 5, but top_k reads 10 results"),
        (Q + "thresholds: {latency_p95: 200}\n", "2:27: a limit of latency_p95 is a duration with its unit"),
        (Q + "thresholds: {latency_p95: {max_rise: 5%}}\n", "2:38: max_rise of latency_p95: times are of a machine"),
        (Q + "thresholds: {rbo@10: {max_drop: 0.1}}\n", "2:33: rbo(p=0.9)@10 is a comparison with the baseline already"),
        (Q + "thresholds: {ndcg@10: {max_rise: 0.1}}\n", "2:34: max_rise on ndcg@10, which is better high; max_drop is"),
        (Q + "thresholds: {zero_results: {max: 150%}}\n", "2:34: a share is between 0% and 100%, not 150%"),
        (Q + "thresholds: {zero_results: {max_drop: 1}}\n", "2:39: max_drop on zero_results, which is better low; max_rise"),
        (Q + "thresholds: {ndcg@10: {max_drop: 5}}\n", "2:34: ndcg@10 can never change by 5, so max_drop would never fail; did you mean 5%?"),
        (Q + "thresholds: {ndcg@10: {max_drop: 500%}}\n", "2:34: ndcg@10 can never change by 500%"),
        (Q + "each_query: {ndcg@10: {max_significant_drop: 0.1}}\n", "2:14: max_significant_drop is a test over many"),
        (Q + "each_query: {ndcg@10: {max_drop: 0.1, known_issue: X}}\n", "2:14: 'known_issue' would hide the drop of any query"),
        ("queries: [{query: a, relevant: [d], thresholds: {mrr: {min: 1, known_issue: X}}}]\n", "1:50: 'known_issue' of one query stands on the query"),
        (Q + "each_query: {lost_all_relevant: maybe}\n", "2:33: 'lost_all_relevant' must be fail or warn or ignore"),
        (Q + "each_query: {new_zero_results: {max: -1}}\n", "2:38: 'new_zero_results: max' must be a whole number"),
        (Q + "concurrency: 0\n", "2:14: 'concurrency' must be a whole number of at least 1"),
        (Q + "timeout: 5\n", "2:10: 'timeout' is a duration with its unit"),
        (Q + "baseline: {}\n", "2:11: 'baseline' needs 'retriever'"),
        (Q + "match: words\n", "2:8: 'match' must be id or text"),
        (Q + "relevant_from: 0\n", "2:16: 'relevant_from' must be above 0: a grade of 0 means not relevant"),
        ("a: &x 1\nqueries: *x\n", "2:10: aliases (*name) are not allowed in a suite; write the value out"),
        (Q + "---\nb: 1\n", "2:1: a suite is one document; here begins another"),
        (Q + "nope: 1\nqueries: {a\n", "4:1: not YAML"),
        ("queries: [\x00]", "1:11: not YAML"),
        (b"queries: [{query: \xff}]", "1:19: not UTF-8 text"),
        ("x: " + "[" * 60 + "]" * 60, "1:43: nested deeper than 40 levels"),
    ],
)  # fmt: skip
def test_each_mistake_is_one_line_with_its_place(
    tmp_path: Path, text: str | bytes, said: str
) -> None:
    assert load(tmp_path, text).startswith(f"s.ir.yaml:{said}")


def test_a_file_that_is_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent", Path("/dev/null")):
        with pytest.raises(SuiteError, match=r":1:1: (is not a regular file|no such file)$"):
            load_suite(path)


def test_everything_a_suite_may_say(tmp_path: Path) -> None:
    path = tmp_path / "ir_x.yaml"
    path.write_text(
        """\
suite: Shop
retriever: engine
top_k: 5
depth: 20
params: {locale: en, n: 3, on: yes}
grades: {perfect: 3, bad: 0}
relevant_from: 0.5
undefined: zero
errors: {max: 2}
metrics: [NDCG, P@3]
thresholds: {mrr: 80%, zero_results: {max: 2%, warn_above: 0}}
tags: {head: {map@3: {min: 0.1}}}
each_tag: {recall: 0.5}
each_query: {must_not_find: [x]}
queries:
  - query: office chair
    id: 0123
    tags: head
    why: 'because'
    relevant: {a: perfect, b: 0.5, c: bad, d: -1}
    must_find: {a: 3}
    must_find_any: [a, b]
    must_not_find: {z: 2}
    in_order: [a, b]
    thresholds: {recall: 1.0}
    weight: 2.5
    params: {n: 4, when: 2024-01-01, text: "3"}
    known_issue: S-1
  - {query: nothing, expect_no_results: true}
""",
        encoding="utf-8",
    )
    suite = load_suite(path)
    first, second = suite.queries
    assert (suite.name, suite.retriever, suite.top_k, suite.depth, suite.max_errors) == (
        "Shop",
        "engine",
        5,
        20,
        2,
    )
    assert suite.params == {"locale": "en", "n": 3, "on": True}
    assert [str(measure) for measure in suite.metrics] == ["ndcg@5", "precision@3"]
    assert (first.id, first.tags, first.why, first.weight) == ("0123", ("head",), "because", 2.5)
    assert first.judgments.grades == {"a": 3, "b": 0.5, "c": 0, "d": -1}
    assert first.judgments.relevant == {"a", "b"}
    assert [(rule.key, dict(rule.documents)) for rule in first.rules] == [
        ("must_find", {"a": 3}), ("must_find_any", {"a": 5, "b": 5}), ("must_not_find", {"z": 2}), ("in_order", {"a": 5, "b": 5}),
    ]  # fmt: skip
    assert first.params["n"] == 4
    assert first.params["text"] == "3"
    assert first.known_issue == "S-1"
    assert second.expects_nothing
    assert [check.name for check in suite.checks] == [
        "0123", "nothing", "mrr-5", "zero_results", "head-map-3", "each_tag-recall-5", "each_query-must_not_find",
    ]  # fmt: skip
    mrr = suite.checks[2].limits
    assert mrr is not None
    assert mrr.bounds[0].value == 0.8


def test_control_and_direction_characters_reach_neither_names_nor_error_lines(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.ir.yaml"
    path.write_text('queries: [{query: "red \\e[31m \\u202Etxt"}]\n', encoding="utf-8")
    (check,) = load_suite(path).checks
    assert (check.name, check.label) == ("red-31m-txt", "red \x1b[31m \u202etxt")
    path.write_text('"\\e[31m\\u202E": 1\n', encoding="utf-8")
    with pytest.raises(SuiteError) as error:
        load_suite(path, shown="\x1b.ir.yaml")
    assert str(error.value).isprintable()
    assert (error.value.line, error.value.column) == (1, 1)


@pytest.mark.parametrize(("depth", "wrong"), [(20, False), (19, True)])
def test_a_depth_may_be_that_of_the_deepest_reader(tmp_path: Path, depth: int, wrong: bool) -> None:
    path = tmp_path / "s.ir.yaml"
    path.write_text(f"{Q}metrics: [recall@20]\ndepth: {depth}\n", encoding="utf-8")
    if wrong:
        with pytest.raises(SuiteError, match="'depth' is 19, but recall@20 reads 20 results"):
            load_suite(path)
    else:
        assert load_suite(path).depth == 20


def test_each_tag_needs_a_tag(tmp_path: Path) -> None:
    path = tmp_path / "s.ir.yaml"
    path.write_text(f"{Q}each_tag: {{recall@10: {{min: 0.5}}}}\n", encoding="utf-8")
    with pytest.raises(SuiteError, match="2:1: 'each_tag' in a suite where no query has a tag"):
        load_suite(path)


def test_all_mistakes_of_a_file_are_told_up_to_ten(tmp_path: Path) -> None:
    file = tmp_path / "s.ir.yaml"

    def said(text: str) -> list[str]:
        file.write_text(text, "utf-8")
        with pytest.raises(SuiteError) as error:
            load_suite(file, shown="s.ir.yaml")
        return str(error.value).split("\n")

    text = """toppk: 3
depth: none
queries:
  - {query: a, relevant: [d1], ndcg@10: 0.5, foo: [1, {b: 2}]}
  - {querry: [b, {c: [d]}]}
  - must_find: {d: 1}
  - {query: c, relevant: [d1], must_find: d1}
"""
    assert said(text) == [
        "s.ir.yaml:1:1: unknown key 'toppk' in the suite; did you mean 'top_k'?",
        "s.ir.yaml:2:8: 'depth' must be a number, not 'none'",
        "s.ir.yaml:4:32: unknown key 'ndcg@10' in a query; limits on measures stand under 'thresholds'",
        "s.ir.yaml:4:46: unknown key 'foo' in a query",
        "s.ir.yaml:5:6: unknown key 'querry' in a query; did you mean 'query'?",
        "s.ir.yaml:6:5: a query has no 'query'",
    ]
    many = said("queries:\n" + "  - {query: a, foo: 1}\n" * 30)
    assert len(many) == 11
    assert many[9].startswith("s.ir.yaml:11:")
    assert many[10] == "s.ir.yaml: and 20 more"
    assert len(said("queries:\n" + "  - {query: a, foo: 1}\n" * 5_000)) == 11
    (syntax,) = said("queries:\n  - {query: a, foo: 1}\n  - {query: b\n")
    assert "not YAML" in syntax
    two = said("queries: [{query: a, thresholds: {nope@3: 1}}, {query: b, thresholds: {nix: 1}}]\n")
    assert [line.split(":")[2] for line in two] == ["35", "72"]


def test_one_document_needs_no_list(tmp_path: Path) -> None:
    file = tmp_path / "s.ir.yaml"
    file.write_text("queries: [{query: a, must_find: d1}]\n", "utf-8")
    (rule,) = load_suite(file).queries[0].rules
    assert rule.documents == {"d1": 10}
