"""What every query did since the baseline, drawn: a histogram of the changes and a plot of before
against after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil, floor, log2

from pytest_irquality.report.query_view import QueryViews, side
from pytest_irquality.report.views import Bin, ChangeBar, Changes, Dot, Mover, Tick
from pytest_irquality.verdict.result import QueryResult
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.numbers import counted, figure, signed
from pytest_irquality.wording.words import cut

BINS = 10
"""On each side of no change."""
HALF, TALL = 280.0, 130.0
"""The histogram: the width of a side and the height of its highest bar."""
PLOT, GRID = 300.0, 200
"""The plot: its width and height, and how many places a dot can have in each."""
NAMED = 3
MOVERS = 5
STEPS, ROW, FALL = 120, 560.0, 70.0
"""The row of all changes: its bars, its width, and how far the largest reaches up or down."""
SPANS = (0.1, 0.2, 0.5, 1.0)

Pair = tuple[int, QueryResult, float, float]


def changes(views: QueryViews) -> Changes | None:
    """None where nothing is compared."""
    if views.main is None:
        return None
    column, measure = views.main, views.result.measures[views.main]
    pairs = [
        (row, query, query.before[column], query.compared[column])
        for row, query in enumerate(views.ordered)
        if query.before is not None and query.compared is not None
    ]
    both = [
        (row, query, then, now)
        for row, query, then, now in pairs
        if then is not None and now is not None
    ]
    if not both:
        return None
    gains = [views.sign * (now - then) for _, _, then, now in both]
    worse, better = sum(gain < -EQUAL for gain in gains), sum(gain > EQUAL for gain in gains)
    same = len(both) - worse - better
    span = _span(max(abs(now - then) for _, _, then, now in both))
    top = max(1.0, *(max(then, now) for _, _, then, now in both))
    unit = views.unit(measure)
    return Changes(
        measure=measure,
        tally=(
            ("bad", str(worse), "worse"),
            ("quiet", str(same), "unchanged"),
            ("good", str(better), "better"),
        ),
        said=f"{f'all {same}' if same == len(both) else f'{same} of {len(both)}'} compared "
        f"{'query is' if len(both) == 1 else 'queries are'} unchanged in {measure}"
        f"{'' if same == len(both) else f', {worse} worse, {better} better'}",
        steps=tuple(_steps(both, views, measure)),
        bins=tuple(_bins(both, span, views, measure)),
        bin_ticks=tuple(
            Tick(HALF * (1 + at), TALL + 20, signed(at * span, unit) if at else "0")
            for at in (-1, -0.5, 0, 0.5, 1)
        ),
        dots=tuple(_dots(both, top, views, measure)),
        ticks=tuple(Tick(PLOT * at, PLOT + 18, figure(at * top, unit, 2)) for at in (0, 0.5, 1)),
        rises=tuple(
            Tick(-8, PLOT - PLOT * at + 4, figure(at * top, unit, 2)) for at in (0, 0.5, 1)
        ),
        movers=tuple(
            filter(None, (_movers(both, worst, views, measure) for worst in (True, False)))
        ),
    )


def _span(largest: float) -> float:
    return next((span for span in SPANS if largest <= span + EQUAL), largest)


def _steps(both: Sequence[Pair], views: QueryViews, measure: str) -> Iterable[ChangeBar]:
    """Every query's change from the worst to the best, neighbours together where there are more
    than there is room.
    """
    changes = sorted(both, key=lambda pair: views.sign * (pair[3] - pair[2]))
    unit, each = views.unit(measure), ceil(len(changes) / STEPS)
    groups = [changes[at : at + each] for at in range(0, len(changes), each)]
    most = max(abs(now - then) for *_, then, now in changes) or 1.0
    width = ROW / len(groups)
    for at, group in enumerate(groups):
        mean = sum(now - then for *_, then, now in group) / len(group)
        tall = round(FALL * abs(mean) / most, 1)
        low, high = (changed(pair) for pair in (group[0], group[-1]))
        low, high = min(low, high), max(low, high)
        named = ", ".join(cut(query.text, 40) for _, query, *_ in group[:NAMED])
        yield ChangeBar(
            css=side(mean, views, measure) or "quiet",
            x=round(at * width, 1),
            y=round(FALL if views.sign * mean < 0 else FALL - tall, 1),
            width=round(max(width - 1, width * 0.8), 1),
            height=max(tall, 1.0),
            title=f"{named}: {signed(mean, unit)}",
            find=f"change:{low:.6g}..{high:.6g}",
        )


def changed(pair: Pair) -> float:
    """By how much a query's value rose."""
    return pair[3] - pair[2]


def _bins(both: Sequence[Pair], span: float, views: QueryViews, measure: str) -> Iterable[Bin]:
    """Bars left and right of no change. What did not change is in the tally, where it cannot dwarf
    the rest.
    """
    width = span / BINS
    counts: Counter[int] = Counter()
    for _, _, then, now in both:
        difference = now - then
        if abs(difference) > EQUAL:
            away = min(ceil(abs(difference) / width - EQUAL), BINS) - 1
            counts[away if difference > 0 else -away - 1] += 1
    most = max(counts.values(), default=1)
    unit = views.unit(measure)
    for at, count in sorted(counts.items()):
        low, high = at * width, (at + 1) * width
        tall = round(TALL * count / most, 1)
        ends = f"{signed(low, unit)} to {signed(high, unit)}"
        yield Bin(
            css=side(low + high, views, measure) or "quiet",
            x=round(HALF + HALF * at / BINS + 1, 1),
            y=round(TALL - tall, 1),
            width=HALF / BINS - 2,
            height=tall,
            middle=round(HALF + HALF * (at + 0.5) / BINS, 1),
            above=round(TALL - tall - 4, 1),
            label=str(count),
            title=f"{counted(count, 'query', 'queries')} changed by {ends}",
            find=f"change:{low:.6g}..{high:.6g}",
        )


def _movers(
    both: Sequence[Pair], worst: bool, views: QueryViews, measure: str
) -> tuple[Mover, ...]:
    """The queries that lost or won most."""
    sign = views.sign if worst else -views.sign
    moved = sorted(
        (sign * (now - then), row, query)
        for row, query, then, now in both
        if sign * (now - then) < -EQUAL
    )[:MOVERS]
    return tuple(
        Mover(
            css=side(sign * by, views, measure),
            text=cut(query.text, 60),
            change=signed(sign * by, views.unit(measure)),
            anchor=views.anchor(query.id),
            query=row,
        )
        for by, row, query in moved
    )


def _dots(both: Sequence[Pair], top: float, views: QueryViews, measure: str) -> Iterable[Dot]:
    places: dict[tuple[int, int], list[Pair]] = {}
    for pair in both:
        place = tuple(floor(GRID * min(max(value / top, 0.0), 1.0) + 0.5) for value in pair[2:])
        places.setdefault(place, []).append(pair)  # type: ignore[arg-type]
    unit = views.unit(measure)
    for (before, now), pairs in sorted(places.items(), key=lambda place: -len(place[1])):
        named = ", ".join(cut(query.text, 40) for _, query, *_ in pairs[:NAMED])
        more = f" and {len(pairs) - NAMED} more" if len(pairs) > NAMED else ""
        _, _, then, today = pairs[0]
        yield Dot(
            css=side(today - then, views, measure) or "quiet",
            x=round(PLOT * before / GRID, 1),
            y=round(PLOT - PLOT * now / GRID, 1),
            radius=round(4 + log2(len(pairs)), 1),
            title=f"{named}{more}: {figure(then, unit)} → {figure(today, unit)}",
            queries=" ".join(str(row) for row, *_ in pairs[:NAMED]),
        )
