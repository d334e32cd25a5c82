"""What to grade: the documents that retrievers returned and nobody has graded.

``--ir-grade`` writes them as one HTML file to grade in, or as a CSV to fill in. Neither shows which
retriever returned a document, nor at which rank.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from pytest_irquality.evaluation.decide import Decision
from pytest_irquality.evaluation.evaluate import Evaluation
from pytest_irquality.io.escaping import clip, escape_csv_cell, make_visible
from pytest_irquality.io.files import OUTPUT_MARKER
from pytest_irquality.reports.templating import (
    create_html_environment,
    encode_script_json,
    load_asset,
)
from pytest_irquality.retrieval.corpus import CorpusError, load_corpus
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.suite.records import GRADED_COLUMNS, TO_GRADE_COLUMNS

CSV_SUFFIX = ".csv"
MAX_CORPUS_DOCUMENTS = 20_000
MAX_TEXT_LENGTH = 4_000
MAX_CORPUS_TEXT_LENGTH = 300


@dataclass(frozen=True)
class PooledDocument:
    """A document that a current or earlier answer has, or that several people graded.

    Attributes:
        assessors: Who graded it. The empty name means a grade in the suite.
        opinions: The grades of assessors who disagree and on which nobody decided.
    """

    doc_id: str
    title: str = ""
    text: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    assessors: tuple[str, ...] = ()
    opinions: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class PooledQuery:
    """A query with its documents.

    Attributes:
        decides: Whether grades of its documents could turn the outcome of the build.
    """

    query: Query
    decides: bool = False
    documents: Mapping[str, PooledDocument] = field(default_factory=dict)

    @property
    def to_grade(self) -> list[PooledDocument]:
        """Return the documents that nobody has graded."""
        return [doc for doc in self.documents.values() if not doc.assessors]


@dataclass(frozen=True)
class Pool:
    """The queries of one suite file, over all retrievers that it runs on."""

    suite: Suite
    queries: Mapping[str, PooledQuery] = field(default_factory=dict)


def render_grading(decision: Decision, path: str) -> str:
    """Render the grading page, or a CSV if the path ends with ``.csv``.

    Args:
        decision: The decision on the build, whose runs and baselines have the documents.
        path: The path of the file to write.
    """
    pools = _collect_pools(decision)
    return _render_csv(pools) if path.endswith(CSV_SUFFIX) else _render_page(pools)


def _collect_pools(decision: Decision) -> list[Pool]:
    """Collect what there is to grade, the queries whose grades matter most first.

    Passages are written by people, so suites with ``match: text`` have nothing to grade.
    """
    deciding: set[tuple[str, str]] = set()
    for notice in decision.current.notices:
        if notice.code == "unjudged-results":
            deciding.update((notice.suite_path, query_id) for query_id in notice.query_ids)
    pools: dict[str, Pool] = {}
    for evaluation in decision.current.evaluations:
        suite = evaluation.suite
        if suite.settings.match == "text" or suite.is_probe_suite:
            continue
        queries = dict(pools[suite.path].queries) if suite.path in pools else {}
        for query in suite.queries:
            if not query.expects_no_results:
                decides = (suite.path, query.id) in deciding
                pooled = queries.get(query.id, PooledQuery(query, decides))
                queries[query.id] = _add_documents(pooled, evaluation)
        pools[suite.path] = Pool(suite, dict(sorted(queries.items(), key=_get_importance)))
    return list(pools.values())


def _get_importance(item: tuple[str, PooledQuery]) -> tuple[bool, bool]:
    """Return a sort key: queries that decide, then those of which nothing relevant is known."""
    query = item[1]
    return not query.decides, bool(query.query.judgments.relevant)


def _add_documents(pooled: PooledQuery, evaluation: Evaluation) -> PooledQuery:
    query = pooled.query
    documents = dict(pooled.documents)
    for run in (evaluation.run, evaluation.baseline_run or Run()):
        for ranking in run.answers.get(query.request, ()):
            top = ranking.cut(evaluation.suite.settings.top_k)
            for index, doc_id in enumerate(top.doc_ids):
                title = run.titles.get(doc_id, "")
                doc = _create_document(query, doc_id, title, top, index)
                documents[doc_id] = _merge(documents.get(doc_id), doc)
    for doc_id in query.assessor_grades:
        title = evaluation.run.titles.get(doc_id, "")
        documents.setdefault(doc_id, _create_document(query, doc_id, title))
    return replace(pooled, documents=documents)


def _create_document(
    query: Query, doc_id: str, title: str, ranking: Ranking | None = None, index: int = 0
) -> PooledDocument:
    grades = query.assessor_grades.get(doc_id, {})
    assessors = tuple(grades)
    if not assessors and doc_id in query.judgments.grades:
        assessors = ("",)
    differ = len(set(grades.values())) > 1
    fields = []
    if ranking is not None and index < len(ranking.fields):
        for name, value in ranking.fields[index].items():
            fields.append((name, clip(str(value), MAX_TEXT_LENGTH)))
    has_text = ranking is not None and index < len(ranking.texts)
    return PooledDocument(
        doc_id=doc_id,
        title=title,
        text=clip(ranking.texts[index], MAX_TEXT_LENGTH) if ranking and has_text else "",
        fields=tuple(fields),
        assessors=assessors,
        opinions=tuple(sorted(grades.items())) if differ else (),
    )


def _merge(known: PooledDocument | None, doc: PooledDocument) -> PooledDocument:
    if known is None:
        return doc
    return replace(
        known,
        title=known.title or doc.title,
        text=known.text or doc.text,
        fields=known.fields or doc.fields,
    )


# -- Rendering -----------------------------------------------------------------------------------


def _render_csv(pools: Sequence[Pool]) -> str:
    """Render one row for each query and ungraded document, with an empty grade."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(TO_GRADE_COLUMNS)
    for pool in pools:
        for pooled in pool.queries.values():
            # In the order of ids, so the list does not tell the order of the ranking.
            for doc in sorted(pooled.to_grade, key=lambda doc: doc.doc_id):
                cells = (pooled.query.text, doc.doc_id, "", doc.title)
                writer.writerow([escape_csv_cell(cell).replace("\0", "\u2400") for cell in cells])
    return text.getvalue()


def _render_page(pools: Sequence[Pool]) -> str:
    pools = pools or [Pool(Suite("nothing to grade"))]
    paths = " ".join(pool.suite.path for pool in pools)
    queries = []
    for index, pool in enumerate(pools):
        queries += [_encode_query(query, index) for query in pool.queries.values()]
    data = {
        "columns": GRADED_COLUMNS,
        "suitePath": paths,
        "stem": PurePosixPath(pools[0].suite.path).name.partition(".")[0] or "suite",
        "suites": [_encode_suite(pool.suite) for pool in pools],
        "queries": queries,
    }
    template = create_html_environment().get_template("grading.html")
    return template.render(
        marker=OUTPUT_MARKER,
        title=", ".join(dict.fromkeys(pool.suite.name for pool in pools)),
        suite_path=paths,
        style=load_asset("tokens.css", "grading.css"),
        script=load_asset("shared.js", "grading.js"),
        data=encode_script_json(data),
    )


def _encode_suite(suite: Suite) -> dict[str, Any]:
    corpus = []
    try:
        for doc in islice(load_corpus(suite.settings), MAX_CORPUS_DOCUMENTS):
            text = clip(doc.text, MAX_CORPUS_TEXT_LENGTH)
            corpus.append([doc.doc_id, make_visible(doc.title), make_visible(text)])
    except CorpusError:
        # The corpus only helps to find documents that search missed.
        corpus = []
    return {"scale": _build_scale(suite), "corpus": corpus}


def _build_scale(suite: Suite) -> list[dict[str, Any]]:
    """Return the grades to choose from, lowest first: the words of the suite, or used grades."""
    words: dict[float, list[str]] = {}
    for word, grade in suite.grades.items():
        words.setdefault(grade, []).append(word)
    if not words:
        used = {0.0, max(1.0, suite.settings.relevant_from)}
        for query in suite.queries:
            used.update(grade for grade in query.judgments.grades.values() if grade == int(grade))
        grades = sorted(grade for grade in used if 0 <= grade <= 9)
        names = [f"{grade:g}" for grade in grades]
        if len(grades) == 2:
            names = ["not relevant", "relevant"]
        words = {grade: [name] for grade, name in zip(grades, names, strict=True)}
    has_digits = all(grade in range(10) for grade in words)
    scale = []
    for index, grade in enumerate(sorted(words)):
        key = f"{grade:g}" if has_digits else str(index + 1)
        scale.append({"word": " / ".join(words[grade]), "grade": grade, "key": key})
    return scale


def _encode_query(pooled: PooledQuery, suite_index: int) -> dict[str, Any]:
    """Encode what a person may see: neither ranks nor retrievers."""
    query = pooled.query
    documents = []
    for doc in sorted(pooled.documents.values(), key=lambda doc: doc.doc_id):
        documents.append(
            {
                "id": doc.doc_id,
                "title": make_visible(doc.title),
                "text": make_visible(doc.text),
                "fields": [[name, make_visible(value)] for name, value in doc.fields],
                "assessors": doc.assessors,
                "opinions": doc.opinions,
            }
        )
    return {
        "suite": suite_index,
        "id": query.id,
        "text": query.text,
        "why": query.why,
        "tags": query.tags,
        "hasRelevant": bool(query.judgments.relevant),
        "decides": pooled.decides,
        "documents": documents,
    }
