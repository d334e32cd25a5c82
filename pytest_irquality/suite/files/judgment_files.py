"""Files of judgments: who judged what, by query, whatever the format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from itertools import chain

from pytest_irquality.edges.open import blocks
from pytest_irquality.suite.files.formats import BEIR_HEADER, Record
from pytest_irquality.suite.files.source import FORMATS, JUDGMENTS, Source
from pytest_irquality.suite.judges import DECISION, THE_QUERY, UNNAMED, NamedVotes, Said, Vote
from pytest_irquality.suite.yaml import SuiteError, as_number, no_grade, short

Grades = dict[str, dict[str, float]]
A_DAY = timedelta(days=1)


@dataclass(frozen=True)
class JudgmentFile:
    """A file of judgments as read: grades by document by query.

    The query stands by its id or, in a file without ids, by its text.

    ``votes`` are the grades of judges whom it names, the latest of each; ``grades`` are all others.
    ``texts`` are the queries' texts by id, where the file has both.
    """

    source: Source
    format: str
    grades: Grades
    by_text: bool
    texts: Mapping[str, str] = field(default_factory=dict)
    votes: Mapping[str, NamedVotes] = field(default_factory=dict)

    def line_of(self, query: str, document: str, judge: str = UNNAMED) -> int:
        """The line where it judges a pair first; the file is read again up to there."""
        return _first_line(self.source, self.format, query, document, judge)

    def has(self, query: str) -> bool:
        """Tell whether it judges anything of a query."""
        return query in self.grades or query in self.votes

    @property
    def queries(self) -> Iterable[str]:
        """The queries that it judges, by id or text."""
        return dict.fromkeys([*self.grades, *self.votes])


USUAL_GRADES = {str(grade): float(grade) for grade in range(-10, 101)}


def read_judgments(source: Source, words: Mapping[str, float]) -> JudgmentFile:
    """Read a file of judgments. ``words`` may stand for grades where the format has any."""
    name = source.recognised(JUDGMENTS, "judgments")
    if name in ("trec", "beir") and (grades := _read_regular(source, name)) is not None:
        return JudgmentFile(source, name, grades, by_text=False)
    return _Reading(source, name, words if FORMATS[name].words else {}).file()


def _read_regular(source: Source, name: str) -> Grades | None:
    """Read a file without a surprise, fast; None for any other.

    Its lines are alike, its grades whole numbers, no pair stands twice.

    Most files are so, and some have a million lines: these loops do little more than split them.
    """
    grades: Grades = {}
    number, current, read = USUAL_GRADES, None, 0
    with source.open(head=True) as lines:
        many = blocks(lines)
        try:
            if name == "trec":
                for block in many:
                    read += len(block)
                    for query, _, document, written in map(str.split, block):
                        if query != current:
                            current, judged = query, grades.setdefault(query, {})
                        judged[document] = number[written]
            else:
                first = next(many, [""])
                if first.pop(0).split() != BEIR_HEADER:
                    return None
                for block in chain([first], many):
                    read += len(block)
                    for query, document, written in map(str.split, block):
                        if query != current:
                            current, judged = query, grades.setdefault(query, {})
                        judged[document] = number[written]
        except (ValueError, KeyError, IndexError):
            return None
    regular = sum(map(len, grades.values())) == read and not any(
        query.startswith(("#", '"')) for query in grades
    )
    return grades if regular else None


class _Reading:
    """Any file, read a line at a time, with an error for whatever is wrong with one."""

    def __init__(self, source: Source, name: str, words: Mapping[str, float]) -> None:
        self.source, self.name, self.words = source, name, words
        self.grades: Grades = {}
        self.votes: dict[str, NamedVotes] = {}
        self.texts: dict[str, str] = {}
        self.dates: dict[str, datetime | None] = {"": None}
        # A row of a spreadsheet that nobody has graded yet has no grade.
        self.known: dict[str, float | None] = {"": None}
        self.by_text: bool | None = None

    def file(self) -> JudgmentFile:
        """The file as read."""
        with self.source.open() as lines:
            for record in FORMATS[self.name].records(lines):
                self._take(record)
        by_text = bool(self.by_text)
        return JudgmentFile(self.source, self.name, self.grades, by_text, self.texts, self.votes)

    def _take(self, record: Record) -> None:
        query, document = _pair(record)
        by_text = "id" not in record.cells
        if self.by_text not in (None, by_text):
            record.fail("query", "some lines name their query by id, others by text only")
        self.by_text = by_text
        text = record.cells.get("query", "").strip()
        if text and not by_text and self.texts.setdefault(query, text) != text:
            first = short(self.texts[query])
            record.fail("query", f"{short(query)} is {short(text)} here, but {first} above")
        if "grade" not in record.cells:
            record.fail(
                "grade",
                "no grade on this line: no column or key for it (rating, grade, score, relevance)",
            )
        day = record.cells.get("date", "").strip()
        if day not in self.dates:
            self.dates[day] = _date(record, day)
        for judge, written in _given(record, document):
            if written not in self.known:
                self.known[written] = _grade(record, written, self.words)
            grade = self.known[written]
            if grade is None:
                continue
            if judge == UNNAMED and document != THE_QUERY:
                self._grade(record, query, document, grade)
            else:
                vote = Vote(grade, self.dates[day], record.cells.get("note", ""))
                self._vote(record, query, document, judge, vote)

    def _grade(self, record: Record, query: str, document: str, grade: float) -> None:
        before = self.grades.setdefault(query, {}).setdefault(document, grade)
        if before != grade:
            first = self._first(query, document, UNNAMED)
            record.fail("grade", _contradicts(document, query, grade, before, first))

    def _vote(self, record: Record, query: str, document: str, judge: str, vote: Vote) -> None:
        given = self.votes.setdefault(query, {}).setdefault(document, {})
        latest = vote.after(given.get(judge, vote))
        if latest is None:
            first = self._first(query, document, judge)
            record.fail("grade", _twice(judge, document, query, (vote, given[judge]), first))
        given[judge] = latest

    def _first(self, query: str, document: str, judge: str) -> str:
        line = _first_line(self.source, self.name, query, document, judge)
        return f"{self.source.name}:{line}"


def _given(record: Record, document: str) -> Sequence[tuple[str, str]]:
    """The judges whose grades a line holds, each with the grade as written.

    They are the line's judge, and a decision. The grade of a query that was skipped stands for
    none.
    """
    cells = record.cells
    judge, decision = cells.get("judge", UNNAMED).strip(), cells.get("decision", "")
    if document != THE_QUERY:
        grade = judge, cells["grade"]
        return (grade, (DECISION, decision)) if decision else (grade,)
    if cells["grade"] or decision or not cells.get("note", "").strip():
        record.fail(
            "grade",
            "a row without a document: only a query that was skipped has none, and why it was under"
            " 'note'",
        )
    return ((judge, "0"),)


def _contradicts(document: str, query: str, grade: float, before: float, where: str) -> str:
    return (
        f"{short(document)} is graded {grade:g} here for {short(query)}, but {before:g} at {where}"
    )


def _twice(judge: str, document: str, query: str, votes: tuple[Vote, Vote], where: str) -> str:
    here, there = votes
    who = "the decision" if judge == DECISION else short(judge)
    return (
        f"{who} grades {short(document)} {here.grade:g} here for {short(query)}, but"
        f" {there.grade:g} at {where}; of one judge the later grade counts, and no 'date' tells"
        " which that is (2026-11-30)"
    )


def _date(record: Record, text: str) -> datetime | None:
    """A date or time of ISO 8601, in UTC unless it says otherwise; None where it is none.

    One of the future is refused: it would win over every grade to come.
    """
    try:
        date = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    if date > datetime.now(timezone.utc) + A_DAY:
        record.fail("date", f"the date {short(text)} is more than a day ahead")
    return date


def _pair(record: Record) -> tuple[str, str]:
    """The query, by its id where the file has ids, and the document."""
    query = record.cells.get("id", record.cells.get("query"))
    for name, value in (("query", query), ("document", record.cells.get("document"))):
        if value is None:
            record.fail(
                name,
                f"no {name} on this line: no column or key for it (query_id, query; docid, doc_id)",
            )
    if not query or not query.strip():
        record.fail("query", "the query is empty")
    document = record.cells["document"]
    return query.strip(), document if document.strip() else THE_QUERY


def _grade(record: Record, written: str, words: Mapping[str, float]) -> float:
    number = words.get(written, as_number(written))
    if number is None:
        record.fail("grade", no_grade(written, words))
    return number


def _first_line(source: Source, name: str, query: str, document: str, judge: str = UNNAMED) -> int:
    with source.open() as lines:
        for record in FORMATS[name].records(lines):
            given = _given(record, document) if _pair(record) == (query, document) else ()
            if any(by == judge and written for by, written in given):
                return record.line
    return 1


class InFiles:
    """All the judgment files of a suite, by its queries."""

    def __init__(self, files: Iterable[JudgmentFile], queries: Mapping[str, str]) -> None:
        """``queries``: the text of every query of the suite by its id."""
        self.ids = queries
        self.texts = {text.strip() for text in queries.values()}
        self.files = [
            (file, {text: id for id, text in file.texts.items()}, set[str]()) for file in files
        ]

    def joined(self, id: str, inline: dict[str, float], place: Callable[[str], str]) -> Said:
        """All that the files say of a query, joined to what the suite says.

        ``place`` tells where the suite says so. Raises ``SuiteError``, in the file, where a pair
        has two grades of nobody in particular, or of one judge.
        """
        named: NamedVotes = {}
        grades, own = inline, not self.files
        before: list[tuple[JudgmentFile, str]] = []
        for file, id_of, used in self.files:
            key = self._key(file, id_of, id)
            if key is None:
                continue
            used.add(key)
            _add(named, file, key, id, before)
            more = file.grades.get(key, {})
            if not grades:
                grades = more
            else:
                if not own:
                    grades, own = dict(grades), True
                for document, grade in more.items():
                    if grades.setdefault(document, grade) != grade:
                        other = next(
                            ((f, k) for f, k in before if document in f.grades.get(k, {})), None
                        )
                        first = (
                            f"{other[0].source.name}:{other[0].line_of(other[1], document)}"
                            if other
                            else place(document)
                        )
                        raise SuiteError(
                            file.source.name,
                            file.line_of(key, document),
                            1,
                            _contradicts(document, id, grade, grades[document], first),
                        )
            before.append((file, key))
        return Said(grades, named)

    def _key(self, file: JudgmentFile, id_of: Mapping[str, str], id: str) -> str | None:
        """The name by which a file calls a query: its id; in a file without ids, its text."""
        text = self.ids[id].strip()
        if file.by_text:
            key = text if file.has(text) or id in self.texts else id
        else:
            key = id
            if not file.has(id) and (other := id_of.get(text)) not in self.ids:
                key = other or id
        return key if file.has(key) else None

    def notes(self) -> Iterator[str]:
        """Remarks on what the files judge that nobody asks.

        That is usual, as they are often made for more queries than are run.
        """
        for file, _, used in self.files:
            if unused := [key for key in file.queries if key not in used]:
                named = ", ".join(map(short, unused[:3]))
                more = f" and {len(unused) - 3} more" if len(unused) > 3 else ""
                yield f"{file.source.name} judges what the suite does not ask: {named}{more}"


def _add(
    named: NamedVotes,
    file: JudgmentFile,
    key: str,
    id: str,
    before: Iterable[tuple[JudgmentFile, str]],
) -> None:
    """Join what the named judges of one more file say of a query.

    ``named`` is what those of the files ``before`` said.
    """
    for document, given in file.votes.get(key, {}).items():
        known = named.setdefault(document, {})
        for judge, vote in given.items():
            latest = vote.after(known.get(judge, vote))
            if latest is None:
                other, name = next(
                    (f, k) for f, k in before if judge in f.votes.get(k, {}).get(document, {})
                )
                first = f"{other.source.name}:{other.line_of(name, document, judge)}"
                line = file.line_of(key, document, judge)
                message = _twice(judge, document, id, (vote, known[judge]), first)
                raise SuiteError(file.source.name, line, 1, message)
            known[judge] = latest
