"""Texts and commands as a person reads them, whatever the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from unicodedata import category, combining, east_asian_width

from pytest_irquality.edges.printable import as_read
from pytest_irquality.edges.shell import shell_word
from pytest_irquality.storage.provenance import Again, Baseline
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.numbers import apart, counted, few, figure

LONGEST = 300
QUOTED = 100


def cut(text: str, longest: int = LONGEST) -> str:
    """A text of at most ``longest`` characters, its end an ellipsis where something is missing."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def cells(text: str) -> int:
    """The columns of a terminal that a text takes: two for a wide character, none for a mark."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


@lru_cache(1024)
def _cells(character: str) -> int:
    if combining(character) or category(character) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def fit(text: str, width: int) -> str:
    """A text on one line of so many columns, its end an ellipsis where something is missing."""
    text = " ".join(text.split())
    if cells(text) <= width:
        return text
    kept, room = [], width - 1
    for character in text:
        room -= _cells(character)
        if room < 0:
            break
        kept.append(character)
    return f"{''.join(kept).rstrip()}…"


def fitted(line: str, width: int) -> str:
    """A line in so many columns, with the space it begins with and between its columns."""
    if cells(line) <= width:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    columns = line.strip().split("  ")
    last = fit(columns[-1], max(12, width - cells(line) + cells(columns[-1])))
    kept = indent + "  ".join([*columns[:-1], last])
    return kept if cells(kept) <= width else indent + fit(line, width - len(indent))


def hanging(line: str, width: int) -> Iterator[str]:
    """A line on as many as it takes, the others below where its last column begins."""
    if cells(line) <= width:
        yield line
        return
    indent = len(line) - len(line.lstrip())
    start = line.rfind("  ") + 2 if "  " in line else indent
    if cells(line[:start]) > width // 2:
        start = indent
    first = next(wrapped(line[start:], width - cells(line[:start])))
    yield line[:start] + first
    rest = line[start + len(first) :].removeprefix(" ")
    below = " " * (cells(line[:start]) if start > indent else indent + 2)
    yield from (below + other for other in wrapped(rest, width - len(below)))


def wrapped(text: str, width: int) -> Iterator[str]:
    """Lines of so many columns that hold a text, broken between words or within a longer one."""
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and cells(longer) > width:
            yield line
            longer = word
        while cells(longer) > width:
            many = next((n for n in range(width, 1, -1) if cells(longer[:n]) <= width), 1)
            yield longer[:many]
            longer = longer[many:]
        line = longer
    yield line


def quoted(text: str) -> str:
    """A query's text as sentences quote it, never longer than a line."""
    return repr(cut(as_read(text), QUOTED))


def query(result: SuiteResult, id: str | None) -> str:
    """A query's text in quotes."""
    known = result.by_id.get(id or "")
    return quoted(known.text if known else id or "")


def queries(result: SuiteResult, ids: Sequence[str]) -> str:
    """The texts of a few of many queries."""
    return few([query(result, id) for id in ids[:3]], len(ids))


def age(then: str, now: datetime) -> str:
    """The age of an ISO 8601 time: ``2 days old``; "" where that cannot be told."""
    try:
        time = datetime.fromisoformat(then.replace("Z", "+00:00"))
    except ValueError:
        return ""
    seconds = (now - (time if time.tzinfo else time.replace(tzinfo=timezone.utc))).total_seconds()
    for length, unit in ((86400 * 365.25, "year"), (86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= length:
            return f"{counted(int(seconds / length), unit)} old"
    return "just made" if seconds > -60 else ""


def revision(commit: str) -> str:
    """A commit with its hash cut short and whole what git says after it: ``-dirty``."""
    digest, *rest = commit.split("-", 1)
    return "-".join((digest[:12], *rest))


def provenance(baseline: Baseline, today: str | None = None) -> str:
    """A baseline with its day: ``.ir-baseline/shop.jsonl (commit 9e01b77, 2026-01-31)``.

    Where it has the version of the retriever, that of ``today`` is said, too, if it is another.
    """
    when = (baseline.time or "")[:10]
    commit = f"commit {revision(baseline.commit)}" if baseline.commit else ""
    version = f"version {baseline.version}" if baseline.version else ""
    if version and today not in (None, baseline.version):
        version = f"{version}, now {today}"
    known = ", ".join(filter(None, (commit, when, version)))
    return f"{baseline.source} ({known})" if known else baseline.source


def rerun(result: SuiteResult, check: str | None) -> str:
    """The command that runs one check again, or the whole suite; "" where pytest did not run it."""
    return command(result.again, [node(result, check)]) if result.again else ""


def node(result: SuiteResult, check: str | None) -> str:
    """The name by which pytest runs one check, or the whole suite."""
    variant = result.variant or (f"[{result.retriever}]" if result.retriever else "")
    return f"{result.path}::{check}{variant}" if check else result.path


def command(again: Again, named: Sequence[str], *more: str) -> str:
    """A command for a shell: pytest as it was called, with other names and ``more`` options."""
    words = (*again.program, "--ir-suite", *again.options, *more, *named)
    return " ".join(map(shell_word, words))


def value_and_limit(finding: Finding) -> tuple[str, str]:
    """Both as numbers that never read alike where they differ."""
    limit = finding.limit or 0.0
    if finding.value is None:
        return "undefined", figure(limit, finding.unit)
    return apart(finding.value, limit, finding.unit)


def relevant(result: SuiteResult, number: int = 2) -> str:
    """The name of what queries want: ``relevant documents``, or passages, or both."""
    return f"relevant {wanted(result, number)}"


def wanted(result: SuiteResult, number: int = 2) -> str:
    """The name of what is judged: ``documents``, or passages, or both."""
    what = result.fates.what if result.fates else "documents"
    return what if number != 1 else what.replace("s and ", " or ")[:-1]
