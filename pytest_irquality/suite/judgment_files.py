"""Read files of judgments, and join their grades with those in the suite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from math import fsum

from pytest_irquality.io import dataclass, field
from pytest_irquality.io.text import format_count
from pytest_irquality.suite import data_files
from pytest_irquality.suite.kinds import list_words, parse_number, suggest
from pytest_irquality.suite.mistakes import Location, Mistake, quote

# Gains of Amazon's ESCI data set (Reddy et al., 2022): exact, substitute, complement, irrelevant.
ESCI_GRADES = {"e": 1.0, "s": 0.1, "c": 0.01, "i": 0.0}
ESCI_GRADES.update(exact=1.0, substitute=0.1, complement=0.01, irrelevant=0.0)
MAX_NAMED_QUERIES = 3

_DECISION = "\0decision"  # in place of the name of an assessor
_NO_ASSESSORS: Mapping[str, Mapping[str, float]] = {}  # shared by all queries without files
# All bytes but white space that is ASCII.
_NO_SEPARATORS = bytes(range(256)).translate(None, b" \t\n\v\f\r\x1c\x1d\x1e\x1f")
_COMMON_GRADES = {str(grade): float(grade) for grade in range(-10, 101)}


@dataclass
class JudgmentFile:
    """The judgments of one file.

    Attributes:
        has_ids: Whether the file identifies queries by their ids, and not by their texts.
        grades: The grade of each document by query. With several assessors, the mean.
        assessor_grades: The grade of each assessor by query and document.
        texts: The text of each query by its id, if the file has both.
        used_keys: The queries that the suite has as well, after joining.
    """

    file: data_files.DataFile
    format: str
    has_ids: bool = True
    grades: dict[str, dict[str, float]] = field(default_factory=dict)
    assessor_grades: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    used_keys: set[str] = field(default_factory=set)

    @cached_property
    def ids_by_text(self) -> Mapping[str, str]:
        """Return the id of each query by its text."""
        return {text: query_id for query_id, text in self.texts.items()}

    def find_line(self, query_key: str, doc_id: str, assessor: str | None = None) -> int:
        """Return the first line with a grade of a document, or with one from an assessor."""
        # Only mistakes need lines, so they are not kept while reading.
        reader = data_files.RecordReader(self.file, self.format, holds_judgments=True)
        for record in reader.read():
            has_grade = assessor in (None, _DECISION, _get_assessor(record))
            if has_grade and _get_pair(reader, record) == (query_key, doc_id):
                return record.line
        return 1


def read_judgment_file(file: data_files.DataFile, grade_words: Mapping[str, float]) -> JudgmentFile:
    """Read a file of judgments.

    Args:
        file: The file.
        grade_words: Words that may be written for grades, in formats other than qrels.

    Raises:
        Mistake: The file cannot be read, or contradicts itself.
    """
    format = data_files.recognize_format(file, data_files.JUDGMENT_FORMATS, "judgments")
    if format in ("trec", "beir"):
        grades = _read_regular_qrels(file, format)
        if grades is not None:
            return JudgmentFile(file, format, grades=grades)
        grade_words = {}
    return _FileParser(file, format, grade_words).parse()


def _read_regular_qrels(
    file: data_files.DataFile, format: str
) -> dict[str, dict[str, float]] | None:
    """Read regular qrels fast. Return ``None`` for all others.

    Most files are regular, and some have millions of lines. Therefore the fields of many lines are
    split at once, which saves a seventh of the time of a loop that splits each line.
    """
    grades: dict[str, dict[str, float]] = {}
    width = 4 if format == "trec" else 3
    blocks = file.read_blocks()
    if format == "beir":
        header, _, text = next(blocks, "").partition("\n")
        if tuple(header.split()) != data_files.BEIR_COLUMNS:
            return None
        blocks = chain([text], blocks)
    line_count, last_query_id, values = 0, None, _COMMON_GRADES
    for text in filter(None, blocks):
        fields = _split_regular_lines(text, width)
        if fields is None or '"' in text:  # Spreadsheets put quotes around cells.
            return None
        columns = fields[::width], fields[width - 2 :: width], fields[width - 1 :: width]
        line_count += len(columns[0])
        try:
            for query_id, doc_id, grade in zip(*columns, strict=True):
                if query_id != last_query_id:
                    last_query_id, judgments = query_id, grades.setdefault(query_id, {})
                judgments[doc_id] = values[grade]
        except KeyError:  # not one of the common grades
            return None
    has_comments = any(query_id.startswith("#") for query_id in grades)
    has_repetitions = sum(map(len, grades.values())) != line_count
    return None if has_comments or has_repetitions else grades


def _split_regular_lines(text: str, width: int) -> list[str] | None:
    """Return the fields of all lines, or ``None`` if a line has more or fewer than ``width``."""
    text = text if text.endswith("\n") else f"{text}\n"
    fields = text.split()
    line_count = len(fields) // width
    # Mostly all lines have the same separators, which one pass shows. White space that is not ASCII
    # separates fields as well.
    separators = text.encode().translate(None, _NO_SEPARATORS)
    shape = separators[:width]
    has_others = not text.isascii() and len("".join(fields)) + len(separators) < len(text)
    if has_others or shape.find(b"\n") != width - 1 or separators != shape * line_count:
        lines = text[:-1].split("\n")
        return fields if all(len(line.split()) == width for line in lines) else None
    return fields if len(fields) == width * line_count else None


class _FileParser:
    """Reads any file of judgments line by line."""

    def __init__(
        self, file: data_files.DataFile, format: str, grade_words: Mapping[str, float]
    ) -> None:
        self.result = JudgmentFile(file, format)
        self.reader = data_files.RecordReader(file, format, holds_judgments=True)
        self.grade_words = grade_words
        self.known_grades: dict[str, float | None] = {"": None}
        # The grades by assessor (or ``_DECISION``), query and document.
        self.grades_by_assessor: dict[str, dict[str, dict[str, float]]] = {}

    def parse(self) -> JudgmentFile:
        is_first = True
        for record in self.reader.read():
            if is_first:
                self.result.has_ids = "id" in record.cells
                is_first = False
            self._add_record(record)
        self._combine_assessors()
        self.result.notes = tuple(self.reader.list_notes())
        return self.result

    def _add_record(self, record: data_files.Record) -> None:
        cells = record.cells
        query_key, doc_id = _get_pair(self.reader, record)
        if ("id" in cells) != self.result.has_ids:
            message = "Only some lines have a query id. Give every line one"
            self.reader.fail(record.line, message)
        text = cells.get("query", "").strip()
        if text and self.result.has_ids:
            first = self.result.texts.setdefault(query_key, text)
            if first != text:
                message = f"The query {quote(query_key)} is {quote(text)} here"
                self.reader.fail(record.line, f"{message}, and {quote(first)} above")
        if "grade" not in cells:
            message = "This line has no grade (rating, grade, relevance, label)"
            self.reader.fail(record.line, message)
        grades = [(_get_assessor(record), cells["grade"]), (_DECISION, cells.get("decision", ""))]
        for assessor, written in grades:
            grade = self._parse_grade(record, written)
            if grade is None:
                continue  # Nobody has graded this row of a list to grade.
            if not doc_id.strip():
                self.reader.fail(record.line, "This line has a grade, but no document")
            all_grades = self.result.grades
            if assessor is not None:
                all_grades = self.grades_by_assessor.setdefault(assessor, {})
            first_grade = all_grades.setdefault(query_key, {}).setdefault(doc_id, grade)
            if first_grade != grade:
                line = self.result.find_line(query_key, doc_id, assessor)
                message = _explain_conflict(query_key, doc_id, grade, first_grade)
                who = f", from the same assessor {quote(assessor)}" if assessor else ""
                self.reader.fail(record.line, f"{message} on line {line}{who}")

    def _parse_grade(self, record: data_files.Record, text: str) -> float | None:
        if text not in self.known_grades:
            words = dict(self.grade_words)
            number = words.get(text, parse_number(text))
            columns = self.reader.columns
            if columns and data_files.simplify(columns.names.get("grade", "")) == "escilabel":
                words = {**ESCI_GRADES, **words}
                number = ESCI_GRADES.get(text.lower()) if number is None else number
            if number is None:
                self.reader.fail(record.line, explain_grade(text, words))
            self.known_grades[text] = number
        return self.known_grades[text]

    def _combine_assessors(self) -> None:
        """Combine the grades of several assessors: a decision, or the mean."""
        decisions = self.grades_by_assessor.pop(_DECISION, {})
        for assessor, all_grades in self.grades_by_assessor.items():
            for query_key, grades in all_grades.items():
                documents = self.result.assessor_grades.setdefault(query_key, {})
                for doc_id, grade in grades.items():
                    documents.setdefault(doc_id, {})[assessor] = grade
        for query_key, documents in self.result.assessor_grades.items():
            grades = self.result.grades.setdefault(query_key, {})
            for doc_id, by_assessor in documents.items():
                if doc_id in grades:  # from a line without an assessor
                    by_assessor[""] = grades[doc_id]
                values = list(by_assessor.values())
                # The mean of equal grades may have a rounding error.
                is_agreed = len(set(values)) == 1
                grades[doc_id] = values[0] if is_agreed else fsum(values) / len(values)
        for query_key, final_grades in decisions.items():
            self.result.grades.setdefault(query_key, {}).update(final_grades)
            for doc_id in final_grades:
                self.result.assessor_grades.get(query_key, {}).pop(doc_id, None)


def explain_grade(text: str, words: Mapping[str, float]) -> str:
    """Say that a grade is neither a number nor a word of the suite."""
    allowed = f" or a word of 'grades' ({list_words(list(words))})" if words else ""
    example = quote(f"grades: {{{text}: 2}}")
    hint = f"Write a number, or say what the word is worth: {example}."
    hint = suggest(text, words, "" if words or not text.isalpha() else hint)
    return f"A grade must be a number{allowed}, not {quote(text)}{hint}"


def _get_assessor(record: data_files.Record) -> str | None:
    """Return the assessor of a grade, or ``None`` if the file has no assessors."""
    assessor = record.cells.get("assessor")
    return None if assessor is None else assessor.strip()


def _explain_conflict(query_key: str, doc_id: str, grade: float, first: float) -> str:
    document = f"{quote(doc_id)} has grade {grade:g} for {quote(query_key)} here"
    return f"{document}, and {first:g}"


def _get_pair(reader: data_files.RecordReader, record: data_files.Record) -> tuple[str, str]:
    """Return the id of the query (or its text in a file without ids), and the document."""
    query_key = record.cells.get("id", record.cells.get("query"))
    doc_id = record.cells.get("document")
    if query_key is None or doc_id is None:
        missing = "query (query_id or query)" if query_key is None else "document (doc_id)"
        reader.fail(record.line, f"This line has no {missing}")
    if not query_key.strip():
        reader.fail(record.line, "The query is empty")
    return query_key.strip(), doc_id


# -- Joining ---------------------------------------------------------------------------------------


class JudgmentFiles:
    """All files of judgments of a suite.

    Attributes:
        override_count: How many judgments in the suite differ from those in files so far.
    """

    def __init__(self, files: Iterable[JudgmentFile], texts: Mapping[str, str]) -> None:
        """Create it.

        Args:
            files: The files.
            texts: The text of every query of the suite by its id.
        """
        self.override_count = 0
        self._files = list(files)
        self._texts = texts
        self._known_texts = {text.strip() for text in texts.values()}

    def join(
        self, query_id: str, inline: Mapping[str, float]
    ) -> tuple[Mapping[str, float], Mapping[str, Mapping[str, float]]]:
        """Join the judgments of a query. Those in the suite override those in files.

        Returns:
            The grade of each document, and the grade of each assessor by document.

        Raises:
            Mistake: Two files disagree.
        """
        grades: Mapping[str, float] = {}
        assessor_grades: Mapping[str, Mapping[str, float]] = _NO_ASSESSORS
        for file in self._files:
            key = self._find_key(file, query_id)
            if key is None:
                continue
            file.used_keys.add(key)
            if grades:
                self._check_agreement(file, key, grades, query_id)
            grades = {**grades, **file.grades[key]} if grades else file.grades[key]
            if key in file.assessor_grades:
                assessor_grades = {**assessor_grades, **file.assessor_grades[key]}
        for doc_id, grade in inline.items():
            self.override_count += grades.get(doc_id, grade) != grade
        if inline and grades:
            assessor_grades = {
                doc_id: given for doc_id, given in assessor_grades.items() if doc_id not in inline
            }
        return ({**grades, **inline} if grades else inline), assessor_grades

    def _check_agreement(
        self, file: JudgmentFile, key: str, grades: Mapping[str, float], query_id: str
    ) -> None:
        for doc_id, grade in file.grades[key].items():
            first_grade = grades.get(doc_id, grade)
            if first_grade == grade:
                continue
            for other in self._files:
                other_key = self._find_key(other, query_id)
                if other_key and other.grades[other_key].get(doc_id) == first_grade:
                    break
            place = Location(other.file.name, other.find_line(other_key or "", doc_id))
            message = _explain_conflict(query_id, doc_id, grade, first_grade)
            hint = "Correct one, or decide under 'relevant' in the suite."
            line = file.find_line(key, doc_id)
            raise Mistake(line, f"{message} at {place}. {hint}", file.file.name)

    def _find_key(self, file: JudgmentFile, query_id: str) -> str | None:
        """Return the key of a query in a file: its id or, in a file without ids, its text."""
        text = self._texts[query_id].strip()
        key = query_id
        if not file.has_ids:
            if text in file.grades or query_id in self._known_texts:
                key = text
        elif query_id not in file.grades:
            # The file may have the same query under an id that the suite does not use.
            other = file.ids_by_text.get(text, query_id)
            if other not in self._texts:
                key = other
        return key if key in file.grades else None

    def list_notes(self) -> Iterator[str]:
        """Yield remarks for the report, once all queries are joined."""
        for file in self._files:
            yield from file.notes
            unused = [key for key in file.grades if key not in file.used_keys]
            if unused:
                count = format_count(len(unused), "query", "queries")
                named = list_words(unused[:MAX_NAMED_QUERIES], "and")
                yield f"{file.file.name}: ignored judgments of {count} not in the suite ({named})"
        if self.override_count:
            verb = "overrides" if self.override_count == 1 else "override"
            count = format_count(self.override_count, "judgment")
            yield f"{count} in the suite {verb} judgments from files"
