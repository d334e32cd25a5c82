"""The pieces of a Markdown report: lists, tables, folds, and means in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_irquality.edges.printable import html, markdown, markdown_sentence
from pytest_irquality.verdict.result import Mean
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.caveats import whole
from pytest_irquality.wording.numbers import figure, signed
from pytest_irquality.wording.words import cut

NOTES = 20
CELL = 200


def bullets(items: Iterable[str]) -> str:
    """A list, and nothing where it would be empty."""
    lines = [f"- {item}" for item in items]
    return "\n".join([*lines, ""]) if lines else ""


def sentences(texts: Sequence[str]) -> str:
    """A list of the first sentences, each cut where it is long."""
    return bullets(markdown_sentence(cut(text, 2 * CELL)) for text in texts[:NOTES])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; columns that are empty below their head are left out."""
    made = [[markdown_sentence(cell) for cell in row] for row in rows]
    if not made:
        return ""
    kept = [at for at in range(len(head)) if any(row[at] for row in made)]
    ruled = (list(map(markdown, head)), ["---"] * len(head), *made)
    lines = [[row[at] for at in kept] for row in ruled]
    return "\n".join([*("| " + " | ".join(line) + " |" for line in lines), ""])


def folded(title: str, body: str) -> str:
    """GitHub reads Markdown inside only after an empty line."""
    return f"<details><summary>{html(title)}</summary>\n\n{body}\n</details>\n"


def mean_value(mean: Mean | None, *, named: bool = False) -> str:
    """A mean and its change; with its measure where it is ``named``."""
    if mean is None:
        return ""
    change, measure = mean.change, f"{mean.measure} " if named else ""
    if change is None or abs(change.difference) <= EQUAL:
        return f"{measure}{value_now(mean)}"
    return f"{measure}{value_now(mean, f' ({signed(change.difference, mean.unit)})')}"


def value_now(mean: Mean, moved: str = "") -> str:
    """Today's value over what is compared, and by how much it ``moved``.

    The value over all stands apart, where that is another.
    """
    return "; ".join(filter(None, (f"{figure(mean.now, mean.unit)}{moved}", whole(mean))))
