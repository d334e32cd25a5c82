"""Loading a suite: every key, and one line for each mistake."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from pytest_irquality.io.access import FileAccess
from pytest_irquality.suite.keys import QUERY_KEYS, SUITE_KEYS
from pytest_irquality.suite.mistakes import Location, SuiteError
from pytest_irquality.suite.model import (
    Bound,
    BoundUnit,
    ItemKind,
    KnownIssue,
    LostQueriesMode,
    LostQueriesSetting,
    RetrieverId,
    Retry,
    Suite,
)
from pytest_irquality.suite.parser import get_needed_depth, get_needed_fields, load_suite
from pytest_irquality.suite.rules import InOrder, MustFind, MustFindAny, MustNotFind
from tests.suite.helpers import SuiteFolder, get_grades

Q = "queries: [{query: a, relevant: [d]}]\n"

EVERYTHING = """\
suite: Shop
retriever: engine
baseline: {retriever: old_engine}
top_k: 5
depth: 50
params: {locale: NO, n: 3, flag: true, zip: 0123, list: [1, a]}
grades: {perfect: 3, bad: 0}
relevant_from: 0.5
undefined: zero
match: id
id_field: meta.id
text_field: meta.text
corpus: {files: chunks.jsonl}
show: [price, image]
metrics: [NDCG, P@3]
thresholds: {mrr: 80%, zero_results: {max: 2%, warn: true}}
tags: {head: {map@3: {min: 0.1}}}
each_tag: {recall: 0.5}
each_query: {must_not_find: [x], lost_all_relevant: {max: 2}}
concurrency: 4
timeout: 2min
retry: {times: 2, on: [429]}
rate: 600/min
repeat: 3
errors: {max: 2}
judgments: []
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
    params: {n: 4, ratio: 0.5, when: 2024-01-01, text: "3"}
    known_issue: {id: S-1, until: 2027-03-01}
    variants: [ofice chair]
    every_result: {status: live}
    max_per: {brand: 2}
    newest_first: {within: policy, by: version}
  - {query: nothing, expect_no_results: true}
"""


@pytest.fixture
def everything(folder: SuiteFolder) -> Suite:
    folder.write("chunks.jsonl", "{}\n")
    return folder.load(EVERYTHING)


def test_settings(everything: Suite, folder: SuiteFolder) -> None:
    settings = everything.settings

    assert (everything.name, everything.path) == ("Shop", "shop.ir.yaml")
    assert everything.retriever == RetrieverId("engine")
    assert everything.baseline_retriever == "old_engine"
    assert everything.grades == {"perfect": 3, "bad": 0}
    assert everything.lost_queries == LostQueriesSetting(LostQueriesMode.MAX, 2)
    assert [str(metric) for metric in everything.metrics] == ["ndcg@5", "precision@3"]
    assert (settings.top_k, settings.depth, settings.relevant_from) == (5, 50, 0.5)
    assert (settings.undefined, settings.match) == ("zero", "id")
    assert (settings.id_field, settings.text_field) == ("meta.id", "meta.text")
    assert settings.corpus_files == (str(folder.path / "chunks.jsonl"),)
    assert settings.show == ("price", "image")
    assert (settings.concurrency, settings.timeout, settings.rate) == (4, 120, 10)
    assert settings.retry == Retry(2, ("429",))
    assert (settings.repeat, settings.max_errors) == (3, 2)
    assert everything.files == ("chunks.jsonl",)


def test_keys_of_a_query(everything: Suite) -> None:
    query = everything.queries[0]

    assert (query.id, query.text, query.tags) == ("0123", "office chair", ("head",))
    assert (query.why, query.weight) == ("because", 2.5)
    assert query.judgments.grades == {"a": 3, "b": 0.5, "c": 0, "d": -1}
    assert query.judgments.relevant == {"a", "b"}
    assert query.rules[:4] == (
        MustFind({"a": 3}),
        MustFindAny({"a": None, "b": None}),
        MustNotFind({"z": 2}),
        InOrder(("a", "b")),
    )
    assert query.known_issue == KnownIssue("S-1", date(2027, 3, 1))
    assert query.location == Location("shop.ir.yaml", 28)
    assert not query.is_sampled
    assert everything.queries[-1].expects_no_results


def test_every_key_has_a_test() -> None:
    for name in (*SUITE_KEYS, *QUERY_KEYS):
        assert re.search(rf"\b{name}\b", EVERYTHING) or name == "probes"


def test_params_have_types_but_keep_what_yaml_1_1_would_turn(everything: Suite) -> None:
    assert everything.queries[0].params == {
        "locale": "NO",
        "n": 4,
        "ratio": 0.5,
        "flag": True,
        "zip": "0123",
        "list": [1, "a"],
        "when": "2024-01-01",
        "text": "3",
    }


def test_thresholds(everything: Suite) -> None:
    checks = {item.label: item.threshold for item in everything.items if item.threshold}

    mrr, zero_results = checks["mrr@5"], checks["zero_results"]
    assert mrr
    assert mrr.min == Bound(0.8, text="80%")
    assert zero_results
    assert zero_results.max == Bound(0.02, BoundUnit.QUERY_FRACTION, "2%")
    assert zero_results.is_warning
    head = checks["head map@3"]
    assert head
    assert list(checks) == ["mrr@5", "zero_results", "head map@3", "each_tag recall@5"]


def test_items(everything: Suite) -> None:
    assert [(item.name, item.kind) for item in everything.items] == [
        ("0123", ItemKind.QUERY),
        ("0123-~-ofice-chair", ItemKind.QUERY),
        ("nothing", ItemKind.QUERY),
        ("mrr-5", ItemKind.THRESHOLD),
        ("zero_results", ItemKind.THRESHOLD),
        ("head-map-3", ItemKind.THRESHOLD),
        ("each_tag-recall-5", ItemKind.THRESHOLD),
        ("each_query-must_not_find", ItemKind.EACH_QUERY),
        ("answers", ItemKind.ANSWERS),
    ]


# -- Defaults -------------------------------------------------------------------------------------


def test_a_suite_needs_only_queries(folder: SuiteFolder) -> None:
    suite = folder.load("queries:\n  - query: tea\n    relevant: [d]\n")

    assert (suite.name, suite.retriever.fixture) == ("shop", "retriever")
    assert [str(metric) for metric in suite.metrics] == ["ndcg@10", "mrr@10", "recall@10"]
    assert [item.kind for item in suite.items] == [
        ItemKind.QUERY,
        ItemKind.ANSWERS,
        ItemKind.DEFAULT_CHECKS,
    ]


def test_without_judgments_the_overlap_is_shown(folder: SuiteFolder) -> None:
    suite = folder.load("queries: [{query: tea}]\n")

    assert [str(metric) for metric in suite.metrics] == ["overlap@10"]


def test_a_retriever_as_baseline_has_no_default_checks(folder: SuiteFolder) -> None:
    suite = folder.load(f"{Q}baseline: {{retriever: bm25_retriever}}\n")

    assert ItemKind.DEFAULT_CHECKS not in [item.kind for item in suite.items]


def test_the_ini_gives_the_id_field_unless_the_suite_does(folder: SuiteFolder) -> None:
    assert folder.load(Q, id_field_default="slug").settings.id_field == "slug"
    assert folder.load(f"{Q}id_field: sku\n", id_field_default="slug").settings.id_field == "sku"


def test_a_list_of_queries_is_a_suite(folder: SuiteFolder) -> None:
    folder.write("queries.txt", "red shoes\nc# manual\n#teatime\n# a comment\n")

    suite = load_suite("queries.txt", root=folder.path)

    assert [query.text for query in suite.queries] == ["red shoes", "c# manual", "#teatime"]
    assert all(query.is_sampled for query in suite.queries)
    assert (suite.name, suite.path) == ("queries", "queries.txt")
    assert suite.notes == ("queries.txt: 1 comment line ignored",)


# -- Variants and known issues --------------------------------------------------------------------


def test_a_variant_is_a_query_of_its_own(folder: SuiteFolder) -> None:
    suite = folder.load(
        "queries:\n"
        "  - query: office chair\n"
        "    tags: [head]\n"
        "    relevant: {a: 3}\n"
        "    must_find: {a: 3}\n"
        "    known_issue: S-1\n"
        "    params: {lang: en}\n"
        "    variants: [ofice chair, chair for the office]\n"
    )

    query, variant, other = suite.queries
    assert (variant.id, variant.text) == ("office chair ~ ofice chair", "ofice chair")
    assert [variant.variant_of, other.variant_of] == [query.id, query.id]
    assert variant.tags == ("head", "variant")
    assert variant.judgments.grades == {"a": 3}
    assert variant.rules == (MustFind({"a": None}),)
    assert variant.known_issue == query.known_issue
    assert variant.params == {"lang": "en"}
    assert suite.queries_by_tag["variant"] == [variant, other]


def test_variants_can_have_a_threshold(folder: SuiteFolder) -> None:
    suite = folder.load(
        "queries: [{query: tea, relevant: [d], variants: [te]}]\ntags: {variant: {ndcg@10: 0.7}}\n"
    )

    assert suite.items[2].tag == "variant"


def test_a_variant_is_not_the_query_itself(folder: SuiteFolder) -> None:
    mistakes = folder.find_mistakes("queries:\n  - {query: tea, variants: [tea]}\n")

    assert mistakes == ["shop.ir.yaml:2: A variant of 'tea' is the query itself"]


@pytest.mark.parametrize(
    "value", ["false", "No", "~", "{until: 2027-01-01}", "{id: X, until: May}"]
)
def test_a_known_issue_needs_an_id(folder: SuiteFolder, value: str) -> None:
    (mistake,) = folder.find_mistakes(
        f"queries:\n  - {{query: a, must_find: [d], known_issue: {value}}}\n"
    )

    assert mistake.startswith("shop.ir.yaml:2: ")


# -- Mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("", "1: The file is empty. A suite needs 'queries'."),
        ("a", "1: The suite must have lines such as 'key: value', but is 'a'"),
        ("suite: x\n", "1: A suite needs 'queries' or 'probes'"),
        ("queries: []\n", "1: There is no query under 'queries'"),
        ("- query: a\n", "1: A suite begins with a key. Write 'queries:' above the list."),
        ("queries: [{query: a, relevant: 1054}]\n", "1: 'relevant' must be a list or a mapping to grades. Write [1054]."),
        ("querys: []\nqueries: [{query: a}]\n", "1: 'querys' is not a key of the suite. Did you mean 'queries'?"),
        ("queries:\n  - {query: a, relevent: [d]}\n", "2: 'relevent' is not a key of a query. Did you mean 'relevant'?"),
        ("queries:\n  - {query: a, foo: [d]}\n", "2: 'foo' is not a key of a query. Its keys are 'query', 'id', 'tags', 'why', 'weight', 'params', 'relevant', 'must_find', 'must_find_any', 'must_not_find', 'in_order', 'expect_no_results', 'every_result', 'max_per', 'newest_first', 'thresholds', 'variants' and 'known_issue'."),
        ("queries:\n  - query: a\nmust_find: [d]\n", "3: 'must_find' is not a key of the suite, but of a query. Indent it below its query."),
        ("queries:\n  - query: a\n    metrics: [mrr@5]\n", "3: 'metrics' is not a key of a query, but of the suite. Write it without indentation."),
        ("queries:\n  red shoes:\n    relevant: [d]\n", "2: Queries are a list. Write '- query: red shoes'."),
        ("queries:\n  -query: a\n    relevant: [d]\n", "2: Write a space after the dash: '- query: a'"),
        ("queries:\n  - query = a\n", "2: Write a colon and a space after 'query'"),
        ("queries:\n  - query: a\n\u00a0   relevant: [d]\n", "3: This line begins with a non-ASCII space. Type it again."),
        ("queries:\n  - query: “red shoes”\n", "2: “ is not a quote in YAML. Write \" instead, or put all of it between ' and '."),
        ("queries:\n<<<<<<< HEAD\n  - query: a\n=======\n  - query: b\n", "2: A merge conflict begins here. Resolve it."),
        ("queries:\n  - {query: a, must_find: [sku-609: 3]}\n", "2: An entry of 'must_find' must be text, not a mapping. Remove the dash or the brackets around 'sku-609: 3'."),
        ("queries:\n  - {query: a, relevant: {d: yes}}\n", "2: A grade must be a number, not 'yes'. Write a number, or say what the word is worth: 'grades: {yes: 2}'."),
        ("queries:\n  - {query: a, every_result: {price: <100}}\n", "2: 'every_result: price' must be written as {max: 100}, not '<100'"),
        ("queries:\n  - {query: a, newest_first: version}\n", "2: 'newest_first' must be written like {within: FIELD, by: FIELD}, not 'version'"),
        ("retry: 3\nqueries: [{query: a}]\n", "1: 'retry' must be written like {times: 2, on: [429, 5xx, timeout]}, not '3'"),
        ("queries: [{query: a, relevant: [d]}]\nthresholds: {ndcg@10: 80 %}\n", "2: Write '80 %' without the space"),
        ("queries: [{query: a, relevant: [d]}]\nthresholds: {ndcg@10: 0,8}\n", "2: Write 0.8 with a point, not 0,8"),
        ("queries: [{query: a}]\nmetrics: [precison@5]\n", "2: Unknown metric 'precison@5'. Did you mean 'precision@5'?"),
        ("queries:\n  - {query: a, ndcg@10: 1}\n", "2: 'ndcg@10' is not a key of a query. Write thresholds of metrics under 'thresholds'."),
        ("queries:\n  - dark mode\n", "2: There is no file 'dark mode'. For a query, write '- query: dark mode'."),
        ("queries:\n  - query:dark mode\n", "2: Write a space after the colon of 'query:'"),
        ("queries:\n  -query: a\n", "2: Write a dash and a space: '- query'"),
        ("queries:\n  - {id: a}\n", "2: A query needs 'query'"),
        ("queries:\n  - query:\n", "2: 'query' is empty"),
        ("queries:\n  - query: #tea\n", "2: 'query' is empty, because '#' begins a comment. Put '#tea' in quotes."),
        ("queries:\n  - {query: [a]}\n", "2: 'query' must be text, not a list"),
        ("queries:\n  - {query: a, query: b}\n", "2: 'query' is already on line 2"),
        ("queries:\n  - query: a\n  - query: a\n", "3: The id 'a' is already used on line 2. Give one of the two queries an 'id'."),
        ("queries:\n  - {query: a, relevant: {d: high}}\n", "2: A grade must be a number, not 'high'"),
        ("grades: {perfect: 3}\nqueries:\n  - {query: a, relevant: {d: perfct}}\n", "3: A grade must be a number or a word of 'grades' ('perfect'), not 'perfct'. Did you mean 'perfect'?"),
        ("queries:\n  - {query: a, relevant: {d: nan}}\n", "2: A grade must be a number, not 'nan'"),
        ("queries:\n  - {query: a, relevant: {d: 1, d: 2}}\n", "2: 'd' is already on line 2"),
        ("queries:\n  - {query: a, relevant: {d: [1]}}\n", "2: The grade of 'd' must be a number, not a list"),
        ("queries:\n  - {query: a, relevant: {sku-609:3}}\n", "2: 'sku-609:3' has no grade. Write a space after the colon: 'sku-609: 3'."),
        ("queries:\n  - {query: a, must_find: {sku-609:3}}\n", "2: 'sku-609:3' has no rank. Write a space after the colon: 'sku-609: 3'."),
        ("queries:\n  - {query: a, must_find: {d: }}\n", "2: The rank of 'd' is empty. Write a number, or a list such as must_find: [d]."),
        ("queries:\n  - {query: a, must_find: {d: 0}}\n", "2: The rank of 'd' must be a whole number from 1 to 10,000, not '0'"),
        ("queries:\n  - {query: a, must_find: [d, d]}\n", "2: 'd' appears twice in 'must_find'"),
        ("queries:\n  - {query: a, in_order: [d]}\n", "2: 'in_order' needs at least 2 entries"),
        ("queries:\n  - {query: a, expect_no_results: true, relevant: [d]}\n", "2: 'relevant' contradicts 'expect_no_results'"),
        ("queries:\n  - {query: a, expect_no_results: true, must_find: [d]}\n", "2: 'must_find' contradicts 'expect_no_results'"),
        ("queries:\n  - {query: a, weight: -1}\n", "2: 'weight' must be a number of 0 or more, not '-1'"),
        ("queries:\n  - {query: a, weight: '1'}\n", "2: 'weight' must be a number. Remove the quotes of '1'."),
        (Q + "tags: {haed: {mrr: 0.5}}\n", "2: No query has the tag 'haed'"),
        (Q + "each_tag: {recall@10: 0.5}\n", "2: 'each_tag' needs queries with tags"),
        (Q + "each_query: {lost_all_relevant: maybe}\n", "2: 'lost_all_relevant' must be 'net', 'fail', 'warn' or 'ignore', not 'maybe'"),
        (Q + "each_query: {lost_all_relevant: {max: -1}}\n", "2: 'max' of 'lost_all_relevant' must be a whole number of 0 or more, not '-1'"),
        (Q + "each_query: {must_find: [d]}\n", "2: 'must_find' is a rule of one query. Write it below its query."),
        (Q + "concurrency: 0\n", "2: 'concurrency' must be a whole number of 1 or more, not '0'"),
        (Q + "repeat: 9999\n", "2: 'repeat' must be a whole number from 1 to 1,000, not '9999'"),
        (Q + "timeout: 5\n", "2: 'timeout' must be a duration with a unit, such as 500ms, 5s or 1min, not '5'"),
        (Q + "rate: fast\n", "2: 'rate' must be a number of calls per unit of time, such as 20/s or 600/min, not 'fast'"),
        (Q + "retry: {times: 1, on: [300]}\n", "2: An entry of 'on' of 'retry' must be a status such as 429 or 5xx, or timeout, not '300'"),
        (Q + "retry: {time: 1}\n", "2: 'time' is not a key of 'retry'. Did you mean 'times'?"),
        (Q + "retriever: my-engine\n", "2: 'retriever' must be the name of a fixture, not 'my-engine'"),
        (Q + "baseline: {}\n", "2: 'baseline' needs 'retriever'"),
        (Q + "match: words\n", "2: 'match' must be 'id' or 'text', not 'words'"),
        (Q + "relevant_from: 0\n", "2: 'relevant_from' must be a number above 0, because grade 0 means not relevant"),
        (Q + "grades: {1: 2}\n", "2: 'grades' maps words to grades, but '1' is a number"),
        (Q + "params: [a]\n", "2: 'params' must have lines such as 'key: value', but is a list."),
        (Q + "metrics: [ndgc@10]\n", "2: Unknown metric 'ndgc@10'. Did you mean 'ndcg@10'?"),
        (Q + "depth: 5\nmetrics: [ndcg@10]\n", "2: 'depth' is 5, and 'top_k' needs 10 results"),
        ("queries:\n  – query: a\n", "2: Write a dash and a space: '- query'"),
        ("queries:\n  - query： a\n", "2: Write a colon and a space after 'query'"),
        ("queries: {red: [a]}\n", "1: Queries are a list. Write '- query: red'."),
        ("queries: {}\n", "1: A query needs 'query'"),
        ("queries:\n  - [a]\n", "2: A query must have lines such as 'key: value', but is a list."),
        ("queries:\n  - c # developer\n", "2: There is no file 'c'. For a query, write '- query: \"c # developer\"'."),
        ("queries:\n  - query: a\n    relevant:\n    d: 1\n", "4: 'd' is not a key of a query. Indent it if it belongs to 'relevant'."),
        ("queries:\n  - query: a\n    relevant:\n      d:1\n", "4: 'relevant' must be a list or a mapping to grades. Write 'd: 1' with a space, or [d:1]."),
        ("queries:\n  - {query: a, relevant: {d: 1,5}}\n", "2: Write 1.5 with a point, not 1,5"),
        ("queries:\n  - {query: a, must find: [d]}\n", "2: 'must find' is not a key of a query. Did you mean 'must_find'?"),
        ("QUERIES:\n  - query: a\n", "1: 'QUERIES' is not a key of the suite. Did you mean 'queries'?"),
        ("thresholds:\n  ndcg@10:0.5\nqueries: [{query: a}]\n", "2: Write a space after the colon: 'ndcg@10: 0.5'"),
        ("top_k: [5]\nqueries: [{query: a}]\n", "1: 'top_k' must be a whole number from 1 to 10,000, not a list"),
        ("top_k: ٣\nqueries: [{query: a}]\n", "1: 'top_k' must be a whole number from 1 to 10,000, not '٣'"),
        ("corpus: [c.jsonl]\nqueries: [{query: a}]\n", "1: 'corpus' must be written like {files: FILE}, not a list"),
        (Q + "depth: 20000\n", "2: 'depth' must be a whole number from 1 to 10,000, not '20000'"),
        (Q + "metrics: [ndcg@20000]\n", "2: ndcg@20000 needs 20,000 results, and at most 10,000 are kept"),
        ("queries:\n  - query: c # developer\n", "2: 'query' is only 'c', because '#' begins a comment. Write 'c # developer' in quotes, or two spaces before the '#'."),
        ("queries:\n  - {query: a, variants: [b # c\n, d]}\n", "2: An entry of 'variants' is only 'b', because '#' begins a comment."),
        (Q + "metrics: [recall(tokens=100)]\n", "2: recall(tokens=100) needs 'depth', the number of results to fill the budget with"),
        ("match: text\nqueries:\n  - {query: a, relevant: ['...']}\n", "3: '...': a passage needs at least one word"),
    ],
)  # fmt: skip
def test_each_mistake_is_one_line_that_says_what_to_write(
    folder: SuiteFolder, text: str, mistake: str
) -> None:
    (found,) = folder.find_mistakes(text)

    assert found.startswith(f"shop.ir.yaml:{mistake}")


def test_a_comment_after_two_spaces_or_quotes_is_a_comment(folder: SuiteFolder) -> None:
    suite = folder.load(
        "queries: # ours\n"
        "  - query: c  # developer\n"
        "    relevant: # documents\n"
        "      d1: 1 # the first\n"
        "  - query: 'c#' # sharp\n"
        "    must_find: [d1] # always\n"
    )

    assert [query.text for query in suite.queries] == ["c", "c#"]


def test_all_mistakes_of_a_file_are_reported_together(folder: SuiteFolder) -> None:
    text = (
        "toppk: 3\n"
        "depth: none\n"
        "queries:\n"
        "  - {query: a, relevant: [d1], foo: [1, {b: 2}]}\n"
        "  - {querry: [b, {c: [d]}]}\n"
        "  - must_find: {d: 1}\n"
        "  - {query: c, must_find: d1}\n"
    )

    mistakes = folder.find_mistakes(text)

    assert [mistake.split(": ")[0] for mistake in mistakes] == [
        "shop.ir.yaml:1",
        "shop.ir.yaml:2",
        "shop.ir.yaml:4",
        "shop.ir.yaml:5",
        "shop.ir.yaml:6",
    ]


def test_at_most_ten_mistakes_are_listed(folder: SuiteFolder) -> None:
    mistakes = folder.find_mistakes("queries:\n" + "  - {query: a, foo: 1}\n" * 30)

    assert len(mistakes) == 11
    assert mistakes[-1] == "shop.ir.yaml: and 20 more mistakes"
    assert len(folder.find_mistakes("queries:\n" + "  - {query: a, foo: 1}\n" * 5_000)) == 11


def test_a_syntax_error_is_reported_alone(folder: SuiteFolder) -> None:
    mistakes = folder.find_mistakes("queries:\n  - {query: a, foo: 1}\n  - {query: b\n")

    assert mistakes == ["shop.ir.yaml:3: The '{' on this line is never closed with '}'"]


def test_messages_have_no_control_characters(folder: SuiteFolder) -> None:
    (mistake,) = folder.find_mistakes('"\\e[31m\\u202E": 1\nqueries: [{query: a}]\n')

    assert mistake.isprintable()


def test_a_suite_needs_a_name(folder: SuiteFolder) -> None:
    folder.write(".ir.yaml", Q)

    with pytest.raises(SuiteError, match=r"A suite needs a name before '\.ir\.yaml'"):
        load_suite(".ir.yaml", root=folder.path)


@pytest.mark.parametrize(
    ("path", "message"),
    [("absent.ir.yaml", "No such file"), ("sub.ir.yaml", "This is not a regular file")],
)
def test_a_file_that_cannot_be_read(folder: SuiteFolder, path: str, message: str) -> None:
    (folder.path / "sub.ir.yaml").mkdir()

    with pytest.raises(SuiteError) as info:
        load_suite(path, root=folder.path)

    assert str(info.value) == f"{path}:1: {message}"


def test_a_suite_that_is_not_utf_8(folder: SuiteFolder) -> None:
    folder.write("shop.ir.yaml", b"queries:\n  - query: caf\xe9\n")

    with pytest.raises(SuiteError, match=r"shop\.ir\.yaml:2: The byte 0xe9 is not valid UTF-8"):
        load_suite("shop.ir.yaml", root=folder.path)


def test_the_text_may_come_from_elsewhere(folder: SuiteFolder) -> None:
    suite = load_suite("gone/shop.ir.yaml", root=folder.path, text=Q)

    assert (suite.path, suite.name) == ("gone/shop.ir.yaml", "shop")


# -- Rules over fields ----------------------------------------------------------------------------


def test_parameters_that_a_rule_names_must_exist(folder: SuiteFolder) -> None:
    text = "{query: a, params: {tenant: x}, every_result: {tenant: $params.tenant}}"
    assert folder.load_query(text).rules[0].param_names == ("tenant",)

    (mistake,) = folder.find_mistakes(
        "queries: [{query: a, params: {tenant: x}}, {query: b}, {query: c}]\n"
        "each_query: {every_result: {tenant: $params.tenant}}\n"
    )

    assert mistake == (
        "shop.ir.yaml:2: '$params.tenant' is not a parameter of 'b' and 1 other query."
        " Write it under 'params' of the query or the suite."
    )


def test_needed_fields_are_those_shown_and_those_of_rules(folder: SuiteFolder) -> None:
    suite = folder.load(
        "show: [image]\n"
        "queries: [{query: a, max_per: {brand: 2}, newest_first: {within: policy, by: version}}]\n"
        "each_query: {every_result: {status: live, image: {not: none.png}}}\n"
    )

    assert get_needed_fields(suite) == ("image", "status", "brand", "policy", "version")


# -- Depth ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "depth", "with_baseline"),
    [
        (Q, 10, 10),
        (f"{Q}top_k: 3\nmetrics: [mrr@2]\n", 3, 10),
        (f"{Q}top_k: 3\nmetrics: [latency_p95]\n", 10, 10),
        (f"{Q}metrics: [recall@20]\n", 20, 20),
        (f"{Q}metrics: [recall@20]\ndepth: 200\n", 200, 200),
        (f"{Q}metrics: [ndcg@10, candidates recall@200]\n", 10, 10),
        (f"{Q}thresholds: {{recall@30: 0.1}}\n", 30, 30),
        ("queries: [{query: a, must_find: {d: 40}}]\n", 40, 40),
        ("queries: [{query: a}]\neach_query: {must_not_find: {d: 15}}\n", 15, 15),
        ("queries: [{query: a, relevant: [b, c, d, e]}]\ntop_k: 2\nmetrics: [rprec]\n", 4, 10),
    ],
)
def test_needed_depth(folder: SuiteFolder, text: str, depth: int, with_baseline: int) -> None:
    suite = folder.load(text)

    assert get_needed_depth(suite) == depth
    assert get_needed_depth(suite, has_baseline=True) == with_baseline


# -- Passages -------------------------------------------------------------------------------------


def test_match_text_collects_the_passages_of_judgments_and_rules(folder: SuiteFolder) -> None:
    suite = folder.load(
        "match: text\n"
        "queries: [{query: refunds, relevant: [paid within 14 days], must_find: [keep the receipt]}]\n"
    )

    assert suite.queries[0].passages == ("paid within 14 days", "keep the receipt")


# -- Size -----------------------------------------------------------------------------------------


def test_many_queries_load_with_unique_items(folder: SuiteFolder) -> None:
    text = "queries:\n" + "".join(
        f"  - {{query: '{'same ' * 30}', id: q{n}}}\n" for n in range(3_000)
    )

    suite = folder.load(text)

    assert len({item.name for item in suite.items}) == len(suite.items) == 3_002
    assert get_grades(suite)["q7"] == {}


def test_files_outside_the_project_are_refused(folder: SuiteFolder) -> None:
    folder.write("outside.csv", "query\ntea\n")
    project = folder.path / "project"
    project.mkdir()
    (project / "shop.ir.yaml").write_text("queries: ../outside.csv\n", encoding="utf-8")

    with pytest.raises(SuiteError, match="leads out of the project"):
        load_suite("shop.ir.yaml", root=project)
    allowed = FileAccess(project, allowed_files=("..",))
    assert load_suite("shop.ir.yaml", root=project, access=allowed).files == ("../outside.csv",)


def test_hidden_files_are_refused(folder: SuiteFolder) -> None:
    folder.write(".env", "SECRET=1\n")

    (mistake,) = folder.find_mistakes("queries:\n  - file: .env\n")

    assert mistake.startswith("shop.ir.yaml:2: '.env': ")
    assert not Path(".env").exists()
