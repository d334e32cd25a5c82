"""Probes: queries made of documents, stable and without labels."""

from __future__ import annotations

import json
import random

import pytest

from pytest_irquality.suite.model import ItemKind, Probe, Suite
from tests.suite.helpers import SuiteFolder

WORDS = [f"word{number}" for number in range(400)]


def make_documents(count: int, *, length: int = 60, seed: int = 1) -> list[dict[str, str]]:
    chance = random.Random(seed)
    documents = []
    for number in range(count):
        description = ". ".join(chance.choices(WORDS, k=length))
        title = f"Title {number}: of {chance.choice(WORDS)}"
        documents.append({"sku": f"sku-{number}", "title": title, "description": description})
    return documents


def write_catalog(folder: SuiteFolder, documents: list[dict[str, str]]) -> None:
    folder.write("catalog.jsonl", "".join(json.dumps(document) + "\n" for document in documents))


def load_probes(folder: SuiteFolder, by: str, *, sample: int = 5, more: str = "") -> Suite:
    return folder.load(
        f"probes: {{from: catalog.jsonl, by: {by}, sample: {sample}}}\n"
        f"thresholds: {{success@10: 0.98}}\n{more}"
    )


def test_each_sampled_document_is_searched_by_its_title(folder: SuiteFolder) -> None:
    documents = make_documents(20)
    write_catalog(folder, documents)

    suite = load_probes(folder, "{title: whole}")

    assert len(suite.queries) == 5
    titles = {document["sku"]: document["title"] for document in documents}
    for query in suite.queries:
        assert query.probe
        doc_id = query.probe.doc_id
        assert query.text == titles[doc_id]
        assert query.judgments.grades == {doc_id: 1}
        assert query.tags == ("probe", "title")
        assert query.is_sampled
    assert suite.notes == ("5 probes for 5 of 20 documents",)


def test_a_suite_of_probes_has_thresholds_only(folder: SuiteFolder) -> None:
    write_catalog(folder, make_documents(3))

    suite = load_probes(folder, "{title: whole}")

    assert suite.is_probe_suite
    assert [item.kind for item in suite.items] == [ItemKind.THRESHOLD, ItemKind.ANSWERS]
    assert [str(metric) for metric in suite.metrics] == ["success@10"]
    assert suite.files == ("catalog.jsonl",)


def test_a_quote_has_eight_to_twelve_words_of_the_document(folder: SuiteFolder) -> None:
    documents = make_documents(50)
    write_catalog(folder, documents)
    texts = {document["sku"]: document["description"] for document in documents}

    suite = load_probes(folder, "{description: quote}", sample=50)

    for query in suite.queries:
        assert query.probe
        text = texts[query.probe.doc_id]
        assert 8 <= len(query.text.split()) <= 12
        assert query.text in text.replace(".", "")
        assert text[query.probe.position :].startswith(query.text.split()[0])


def test_quotes_come_from_all_parts_of_long_texts(folder: SuiteFolder) -> None:
    documents = make_documents(60, length=200)
    write_catalog(folder, documents)
    lengths = {document["sku"]: len(document["description"]) for document in documents}

    suite = load_probes(folder, "{description: quote}", sample=60)

    probes = [query.probe for query in suite.queries if query.probe]
    places = [int(4 * probe.position / lengths[probe.doc_id]) for probe in probes]
    assert set(places) == {0, 1, 2, 3}


def test_a_quote_avoids_words_that_many_documents_share(folder: SuiteFolder) -> None:
    shared = "all of our products come with free shipping and a two year warranty for you"
    documents = make_documents(30, length=14)
    for document in documents:
        document["description"] = f"{shared} {document['description']} {shared}"
    write_catalog(folder, documents)

    suite = load_probes(folder, "{description: quote}", sample=30)

    assert all("word" in query.text for query in suite.queries)


def test_documents_with_the_same_text_are_relevant(folder: SuiteFolder) -> None:
    documents = make_documents(4)
    documents[1]["title"] = documents[0]["title"].upper()
    documents[3]["description"] = f"Preface: {documents[2]['description']} and more"
    write_catalog(folder, documents)

    suite = load_probes(folder, "{title: whole, description: quote}", sample=4)

    by_title = suite.queries_by_id["sku-0 title"]
    assert set(by_title.judgments.grades) == {"sku-0", "sku-1"}
    by_quote = suite.queries_by_id["sku-2 description"]
    assert set(by_quote.judgments.grades) == {"sku-2", "sku-3"}


def test_a_short_text_is_searched_as_it_is(folder: SuiteFolder) -> None:
    write_catalog(folder, [{"sku": "a", "title": "x", "description": "Only  three words!"}])

    (query,) = load_probes(folder, "{description: quote}").queries

    assert query.text == "Only three words!"
    assert query.probe == Probe("a", "x", "description", "whole", 0, "catalog.jsonl")


def test_scripts_without_spaces_are_quoted_by_letters(folder: SuiteFolder) -> None:
    text = "検索品質を自動的にテストするためのプラグインです。毎回の変更を確認します。"
    write_catalog(folder, [{"sku": "a", "title": "x", "description": text}])

    (query,) = load_probes(folder, "{description: quote}").queries

    assert len(query.text.split()) == 12


def test_the_sample_is_stable_if_documents_are_added(folder: SuiteFolder) -> None:
    documents = make_documents(100)
    write_catalog(folder, documents)
    before = [query.text for query in load_probes(folder, "{title: whole}", sample=50).queries]

    again = [query.text for query in load_probes(folder, "{title: whole}", sample=50).queries]
    random.Random(3).shuffle(documents)
    write_catalog(folder, documents + make_documents(105, seed=2)[100:])
    after = [query.text for query in load_probes(folder, "{title: whole}", sample=50).queries]

    assert again == before
    assert len(set(after) & set(before)) >= 45


def test_a_catalog_may_be_a_table(folder: SuiteFolder) -> None:
    folder.write("catalog.csv", 'id;name;source\n0123;"Chair; red";shop\n7;Desk;mail\n')

    suite = folder.load("probes: {from: catalog.csv, by: {name: whole}}\n")

    assert {query.text for query in suite.queries} == {"Chair; red", "Desk"}
    probes = {query.probe.doc_id: query.probe for query in suite.queries if query.probe}
    assert (probes["0123"].source, probes["0123"].title) == ("shop", "Chair; red")


def test_the_corpus_may_be_the_catalog(folder: SuiteFolder) -> None:
    folder.write(
        "a.jsonl", '{"_id": 1, "meta": {"title": "one"}}\n{"_id": 1.10, "meta": {"title": "two"}}\n'
    )

    suite = folder.load(
        "corpus: {files: '*.jsonl'}\nprobes: {from: corpus, by: {meta.title: whole}}\n"
    )

    assert {query.id for query in suite.queries} == {"1 meta.title", "1.10 meta.title"}


def test_chunks_of_one_document_are_sampled_once(folder: SuiteFolder) -> None:
    rows = [{"id": "a", "text": "first chunk"}, {"id": "a", "text": "second chunk"}]
    write_catalog(folder, rows)

    assert len(load_probes(folder, "{text: whole}").queries) == 1


def test_the_suite_may_name_the_id_field(folder: SuiteFolder) -> None:
    write_catalog(folder, [{"sku": "a", "docid": "b", "title": "x"}])

    (mistake,) = folder.find_mistakes("probes: {from: catalog.jsonl, by: {title: whole}}\n")
    suite = load_probes(folder, "{title: whole}", more="id_field: sku\n")

    assert mistake == (
        "catalog.jsonl:1: 'sku' and 'docid' could both be the id of the document."
        " Choose one with 'id_field: sku'."
    )
    assert suite.queries[0].id == "a title"


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("probes: {by: {title: whole}}", "'probes' needs 'from'"),
        ("probes: {from: catalog.jsonl, by: {title: all}}", "'title' of 'by' of 'probes' must be 'whole' or 'quote', not 'all'"),
        ("probes: {from: corpus, by: {title: whole}}", "'from: corpus' needs 'corpus: {files: …}'. The retriever's texts() lacks unindexed documents."),
        ("probes: {from: absent.csv, by: {title: whole}}", "There is no file 'absent.csv'"),
        ("probes: {from: catalog.jsonl, by: {name: whole}}", "No document has text in 'name'. Its fields are 'sku', 'title' and 'description'."),
        ("probes: {from: catalog.jsonl, by: {title: whole}}\nqueries: [{query: a}]", "'queries' cannot be used with 'probes'. Use a suite for each."),
        ("probes: {from: catalog.jsonl, by: {title: whole}}\nmatch: text", "'match: text' cannot be used with 'probes', which are about documents"),
        ("probes: {from: catalog.jsonl, by: {title: whole}}\nbaseline: {retriever: bm25}", "'baseline' cannot be used with 'probes'"),
        ("probes: {from: catalog.jsonl, by: {title: whole}}\nthresholds: {success@10: {max_drop: 0.1}}", "Probes have no baseline to compare success@10 with. Use 'min'."),
        ("probes: {from: list.txt, by: {title: whole}}", "This file has no documents: it is neither JSON lines nor CSV with a header"),
        ("probes: {from: broken.jsonl, by: {title: whole}}", "This is not JSON: Expecting value (column 8)"),
        ("probes: {from: bare.jsonl, by: {title: whole}}", "No field is the id of the document. Fields are 'title'. Name it under 'id_field'."),
        ("probes: {from: empty.jsonl, by: {title: whole}}", "No document has text in 'title'. Its fields are 'id' and 'title'."),
        ("probes: {from: common.jsonl, by: {title: whole}, sample: 1}", "No text can be a probe, because ten other documents contain all of its words. Name a field with longer texts"),
        ("probes: {from: nothing.jsonl, by: {title: whole}}", "'probes' has no document to make a query from"),
    ],
)  # fmt: skip
def test_mistakes(folder: SuiteFolder, text: str, mistake: str) -> None:
    write_catalog(folder, make_documents(2))
    folder.write("list.txt", "red shoes\n")
    folder.write("broken.jsonl", '{"id": 1}\n{"id": \n')
    folder.write("bare.jsonl", '{"title": "x"}\n')
    folder.write("nothing.jsonl", "\n")
    folder.write("common.jsonl", '{"id": "a", "title": "?"}\n{"id": "b", "title": "!"}\n')
    folder.write("empty.jsonl", '{"id": "a", "title": ""}\n')

    (found,) = folder.find_mistakes(f"{text}\n")

    assert found.split(": ", 1)[1] == mistake


def test_a_title_that_many_documents_contain_is_left_out(folder: SuiteFolder) -> None:
    documents = make_documents(12)
    documents.append({"sku": "guide", "title": "Of", "description": "A guide to all of them"})
    documents.append({"sku": "sign", "title": "--", "description": "A sign"})
    write_catalog(folder, documents)

    suite = load_probes(folder, "{title: whole}", sample=14)

    assert len(suite.queries) == 12
    assert not {"guide title", "sign title"} & set(suite.queries_by_id)
    assert suite.notes == (
        "12 probes for 14 of 14 documents; 2 texts are left out, because 10 other documents"
        " contain all of their words",
    )


def test_a_title_of_many_documents_is_kept_since_each_of_them_is_relevant(
    folder: SuiteFolder,
) -> None:
    documents = [{"sku": f"sku-{number}", "title": "Office chair"} for number in range(15)]
    write_catalog(folder, documents)

    suite = load_probes(folder, "{title: whole}", sample=1)

    (query,) = suite.queries
    assert len(query.judgments.grades) == 15
