"""What to grade: the documents that retrievers returned and nobody has graded.

``--ir-grade`` writes them as one HTML file to grade in, or as a CSV to fill in. Neither shows which
retriever returned a document, nor at which rank.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from pytest_irquality.evaluation.decide import Decision
from pytest_irquality.evaluation.evaluate import Evaluation
from pytest_irquality.evaluation.results import NoticeCode
from pytest_irquality.io import dataclass, field
from pytest_irquality.io.escaping import clip, escape_csv_cell, escape_page_text
from pytest_irquality.reports import templating
from pytest_irquality.retrieval.corpus import CorpusError, load_corpus
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.data_files import GRADED_COLUMNS, TO_GRADE_COLUMNS
from pytest_irquality.suite.model import Query, Suite

CSV_SUFFIX = ".csv"
MAX_CORPUS_DOCUMENTS = 20_000
MAX_TEXT_LENGTH = 4_000
MAX_CORPUS_TEXT_LENGTH = 300


@dataclass
class Pool:
    """The documents of one query that any answer has, or that several people graded.

    Attributes:
        suite_index: The suite file, by its number.
        decides: Whether grades of its documents could turn the outcome of the build.
        documents: What the page shows of each document: title, text, fields, who graded it
            (the empty name means a grade in the suite), and grades that differ.
    """

    query: Query
    suite_index: int
    decides: bool
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)


def render_grading(decision: Decision, path: str) -> str:
    """Render the grading page, or a CSV if the path ends with ``.csv``.

    Args:
        decision: The decision on the build, whose runs and baselines have the documents.
        path: The path of the file to write.
    """
    suites, pools = _collect_pools(decision)
    return _render_csv(pools) if path.endswith(CSV_SUFFIX) else _render_page(suites, pools)


def _collect_pools(decision: Decision) -> tuple[list[Suite], list[Pool]]:
    """Collect the suite files and what there is to grade, queries that matter most first.

    Passages are written by people, so suites with ``match: text`` have nothing to grade.
    """
    deciding: set[tuple[str, str]] = set()
    for notice in decision.current.notices:
        if notice.code == NoticeCode.UNJUDGED_RESULTS:
            deciding.update((notice.suite_path, query_id) for query_id in notice.query_ids)
    suites: dict[str, Suite] = {}
    pools: dict[tuple[str, str], Pool] = {}
    for evaluation in decision.current.evaluations:
        suite = evaluation.suite
        if suite.settings.match == "text" or suite.is_probe_suite:
            continue
        suites.setdefault(suite.path, suite)
        suite_index = list(suites).index(suite.path)
        for query in suite.queries:
            key = (suite.path, query.id)
            if not query.expects_no_results:
                pool = pools.setdefault(key, Pool(query, suite_index, key in deciding))
                _add_documents(pool, evaluation)
    return list(suites.values()), sorted(pools.values(), key=_get_importance)


def _get_importance(pool: Pool) -> tuple[int, bool, bool]:
    """Return a sort key: queries that decide, then those of which nothing relevant is known."""
    return pool.suite_index, not pool.decides, bool(pool.query.judgments.relevant)


def _add_documents(pool: Pool, evaluation: Evaluation) -> None:
    """Add the documents of the current and the baseline's answers, and those people graded."""
    query = pool.query
    for run in (evaluation.run, evaluation.baseline_run or Run()):
        for ranking in run.answers.get(query.request, ()):
            top = ranking.cut(evaluation.suite.settings.top_k)
            for index, doc_id in enumerate(top.doc_ids):
                doc = _describe_document(query, doc_id, run)
                _add_content(doc, top, index)
                known = pool.documents.setdefault(doc_id, doc)
                for key in ("title", "text", "fields"):
                    known[key] = known[key] or doc[key]
    for doc_id in query.assessor_grades:
        pool.documents.setdefault(doc_id, _describe_document(query, doc_id, evaluation.run))


def _describe_document(query: Query, doc_id: str, run: Run) -> dict[str, Any]:
    grades: Mapping[str, float] = query.assessor_grades.get(doc_id, {})
    assessors = list(grades)
    if not assessors and doc_id in query.judgments.grades:
        assessors = [""]
    return {
        "id": doc_id,
        "title": escape_page_text(run.titles.get(doc_id, "")),
        "text": "",
        "fields": [],
        "assessors": assessors,
        "opinions": sorted(grades.items()) if len(set(grades.values())) > 1 else [],
    }


def _add_content(doc: dict[str, Any], ranking: Ranking, index: int) -> None:
    """Add the text and the fields of a hit, if the ranking has them."""
    if index < len(ranking.texts):
        doc["text"] = escape_page_text(clip(ranking.texts[index], MAX_TEXT_LENGTH))
    if index < len(ranking.fields):
        for name, value in ranking.fields[index].items():
            doc["fields"].append([name, templating.format_field(value)])


# -- Rendering -------------------------------------------------------------------------------------


def _render_csv(pools: Sequence[Pool]) -> str:
    """Render one row for each query and ungraded document, with an empty grade."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(TO_GRADE_COLUMNS)
    for pool in pools:
        # In the order of ids, so the list does not tell the order of the ranking.
        for doc_id, doc in sorted(pool.documents.items()):
            if not doc["assessors"]:
                cells = (pool.query.text, doc_id, "", doc["title"])
                writer.writerow([escape_csv_cell(cell).replace("\0", "\u2400") for cell in cells])
    return text.getvalue()


def _render_page(suites: Sequence[Suite], pools: Sequence[Pool]) -> str:
    """Render the page with what a person may see: neither ranks nor retrievers."""
    suites = suites or [Suite("nothing to grade")]
    queries = []
    for pool in pools:
        query = pool.query
        queries.append(
            {
                "suite": pool.suite_index,
                "id": query.id,
                "text": query.text,
                "why": query.why,
                "tags": query.tags,
                "hasRelevant": bool(query.judgments.relevant),
                "decides": pool.decides,
                "documents": [doc for _, doc in sorted(pool.documents.items())],
            }
        )
    paths = " ".join(suite.path for suite in suites)
    data = {
        "columns": GRADED_COLUMNS,
        "suitePath": paths,
        "stem": PurePosixPath(suites[0].path).name.partition(".")[0] or "suite",
        "suites": [
            {"scale": _build_scale(suite), "corpus": _list_corpus(suite)} for suite in suites
        ],
        "queries": queries,
    }
    template = templating.create_html_environment().get_template("grading.html")
    return template.render(
        title=", ".join(dict.fromkeys(suite.name for suite in suites)),
        suite_path=paths,
        style=templating.load_asset("tokens.css", "grading.css"),
        script=templating.load_asset("shared.js", "grading.js"),
        data=templating.encode_script_json(data),
    )


def _list_corpus(suite: Suite) -> list[list[str]]:
    corpus = []
    try:
        for doc in islice(load_corpus(suite.settings), MAX_CORPUS_DOCUMENTS):
            text = clip(doc.text, MAX_CORPUS_TEXT_LENGTH)
            corpus.append([doc.doc_id, escape_page_text(doc.title), escape_page_text(text)])
    except CorpusError:
        return []  # The corpus only helps to find documents that search missed.
    return corpus


def _build_scale(suite: Suite) -> list[dict[str, Any]]:
    """Return the grades to choose from, lowest first: the words of the suite, or used grades."""
    words: dict[float, list[str]] = {}
    for word, grade in suite.grades.items():
        words.setdefault(grade, []).append(word)
    if not words:
        used = {0.0, max(1.0, suite.settings.relevant_from)}
        for query in suite.queries:
            used.update(grade for grade in query.judgments.grades.values() if grade == int(grade))
        words = {grade: [f"{grade:g}"] for grade in used if 0 <= grade <= 9}
        if len(words) == 2:
            words = dict(zip(sorted(words), (["not relevant"], ["relevant"]), strict=True))
    has_digits = all(grade in range(10) for grade in words)
    scale = []
    for index, grade in enumerate(sorted(words)):
        key = f"{grade:g}" if has_digits else str(index + 1)
        scale.append({"word": " / ".join(words[grade]), "grade": grade, "key": key})
    return scale
