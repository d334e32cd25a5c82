"""Blocks of limits as they are written: ``thresholds``, ``tags``, ``each_tag`` and ``each_query``.

What the numbers mean depends on the measure, and the measure on keys that may stand further down:
see ``limit_reader.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, cast

from yaml.events import Event, MappingStartEvent

from pytest_irquality.metrics.catalogue import DEFINITIONS
from pytest_irquality.suite.demands import BOUNDS, GUARDS
from pytest_irquality.suite.key_tables import Key, Kind, Schema, closed, fields_read
from pytest_irquality.suite.rules import FOR_ALL, RULE_KEYS
from pytest_irquality.suite.values import CUTOFF, FROM_0, PERCENTAGE, SECONDS, ref
from pytest_irquality.suite.yaml import Document, Place, short

SWITCHES = ("true", "false", "yes", "no", "on", "off", "null", "none", "~")
Most = int | Literal["ignore"] | None
"""How many queries may do what a guard watches for; None: it only warns."""
LEVELS: Mapping[str, int | None] = {"fail": 0, "warn": None}


class WrittenBound(NamedTuple):
    """A number that a measure is held to, as text."""

    text: str
    place: Place
    quoted: bool


class LimitLine(NamedTuple):
    """The bounds on one measure by their keys.

    A number that stands alone has none, "": it is a floor or a ceiling. Of a trend, ``over`` is how
    many changes are taken together.
    """

    name: str
    place: Place
    bounds: Mapping[str, WrittenBound]
    known_issue: str | None = None
    issue_line: int = 0
    over: int = 0


class DemandLine(NamedTuple):
    """A rule or a guard over every query, and what is written of it."""

    name: str
    place: Place
    value: object


class TagBlock(NamedTuple):
    """The limits on one tag."""

    tag: str
    place: Place
    lines: tuple[LimitLine, ...]


Line = LimitLine | DemandLine

# -- known issues ----------------------------------------------------------------------------------


def _issue(document: Document, event: Event, what: str) -> str:
    """The id of an issue. A switch would otherwise pass for one, and turn what is broken green."""
    text = document.text(event, what)
    if not document.quoted(event) and text.lower() in SWITCHES:
        document.fail(
            event,
            f"{what} takes the id of the issue, such as SHOP-123, not {text};"
            " without one, leave it out",
        )
    return text


KNOWN_ISSUE: Kind[str] = Kind(_issue, {"type": ["string", "number"]}, "the id of an issue")
KNOWN_ISSUE_HELP = (
    "The issue that covers what is broken here: green while it is, loud when it no longer is."
)

# -- bounds ----------------------------------------------------------------------------------------


def _bound(document: Document, event: Event, what: str) -> WrittenBound:
    return WrittenBound(document.text(event, what), document.place(event), document.quoted(event))


LIMIT: Kind[WrittenBound] = Kind(
    _bound,
    {"anyOf": [{"type": "number"}, PERCENTAGE, SECONDS]},
    "a number, a percentage, or a duration for latency",
)
DROP: Kind[WrittenBound] = Kind(
    _bound,
    {"anyOf": [{"type": "number", "minimum": 0}, PERCENTAGE]},
    "points, or a percentage of the baseline's value",
)
BOUND_KEYS: Mapping[str, Key] = {
    name: Key(DROP if bound.on_change else LIMIT, bound.help, bound.default)
    for name, bound in BOUNDS.items()
}
LINE_KEYS: Mapping[str, Key] = {
    **BOUND_KEYS,
    "known_issue": Key(KNOWN_ISSUE, KNOWN_ISSUE_HELP, "none"),
}

LIMITS_SCHEMA: Schema = {
    "anyOf": [
        LIMIT.schema,
        closed({name: entry.schema for name, entry in LINE_KEYS.items()}, minProperties=1),
    ]
}

# -- guards ----------------------------------------------------------------------------------------


def _most(document: Document, event: Event, what: str) -> Most:
    if isinstance(event, MappingStartEvent):
        most = 0
        for _, _, value in document.fields(event, what, ("max",)):
            most = document.count(value, f"'{what[1:-1]}: max'", 0)
        return most
    level = document.choice(event, what, (*LEVELS, "ignore"))
    return "ignore" if level == "ignore" else LEVELS[level]


GUARD_SCHEMA: Schema = {"anyOf": [{"enum": [*LEVELS, "ignore"]}, closed({"max": FROM_0.schema})]}
GUARD: Kind[Most] = Kind(_most, ref("guard"), "`fail`, `warn`, `ignore`, or `{max: 2}` queries")
GUARD_KEYS: Mapping[str, Key] = {
    name: Key(GUARD, guard.help, guard.default) for name, guard in GUARDS.items()
}
DEMAND_KEYS: Mapping[str, Key] = {**{name: RULE_KEYS[name] for name in FOR_ALL}, **GUARD_KEYS}

# -- blocks ----------------------------------------------------------------------------------------


def _block(document: Document, event: Event, what: str) -> tuple[LimitLine, ...]:
    return tuple(
        _limit_line(document, name, document.place(key), value)
        for name, key, value in document.items(event, what)
    )


def _limit_line(document: Document, name: str, place: Place, event: Event) -> LimitLine:
    if not isinstance(event, MappingStartEvent):
        return LimitLine(name, place, {"": _bound(document, event, f"the limit of {name}")})
    bounds: dict[str, WrittenBound] = {}
    known_issue: str | None = None
    issue_line = 0
    for key, at, value in fields_read(LINE_KEYS, document, event, f"the limit of {name}"):
        if isinstance(value, WrittenBound):
            bounds[key] = value
        else:
            known_issue, issue_line = cast("str", value), at.line
    return LimitLine(name, place, bounds, known_issue, issue_line)


def _tag_blocks(document: Document, event: Event, what: str) -> tuple[TagBlock, ...]:
    return tuple(
        TagBlock(tag, document.place(key), _block(document, value, f"tag {short(tag)}"))
        for tag, key, value in document.items(event, what)
    )


def _each_query(document: Document, event: Event, what: str) -> tuple[Line, ...]:
    lines: list[Line] = []
    for name, key, value in document.items(event, what):
        place = document.place(key)
        if name in DEMAND_KEYS:
            written = DEMAND_KEYS[name].kind.read(document, value, f"'{name}'")
            lines.append(DemandLine(name, place, written))
        else:
            lines.append(_limit_line(document, name, place, value))
    return tuple(lines)


TREND_KEYS: Mapping[str, Key] = {
    **{name: BOUND_KEYS[name] for name in ("max_drop", "max_rise")},
    "over": Key(CUTOFF, "How many changes are taken together.", "20"),
}
CHANGES = 20


def _trend(document: Document, event: Event, what: str) -> tuple[LimitLine, ...]:
    lines = []
    for name, key, value in document.items(event, what):
        bounds: dict[str, WrittenBound] = {}
        over = CHANGES
        for word, _, read in fields_read(TREND_KEYS, document, value, f"the trend of {name}"):
            if isinstance(read, WrittenBound):
                bounds[word] = read
            else:
                over = cast("int", read)
        if len(bounds) != 1:
            document.fail(value, f"the trend of {name} needs one of max_drop and max_rise")
        lines.append(LimitLine(name, document.place(key), bounds, over=over))
    return tuple(lines)


RARE = ("dcg", "err", "rbp", "bpref")
"""Measures that a suite may name like any other, and so few need that no editor offers them."""


def offered() -> list[str]:
    """The names of measures that an editor offers, each as it is most often written."""
    return [one.usual_name for one in DEFINITIONS.values() if one.name not in RARE]


MEASURE_SHAPE = r"^\s*(([wW]eighted|[cC]andidates)\s+){0,2}[\w.-]+\s*(\([^()]*\))?\s*(@.*)?$"
BLOCK_SCHEMA: dict[str, Any] = {
    "type": "object",
    "propertyNames": {"pattern": MEASURE_SHAPE},
    "properties": {name: ref("limits") for name in offered()},
    "additionalProperties": ref("limits"),
}
EACH_QUERY_SCHEMA: Schema = {
    **BLOCK_SCHEMA,
    "properties": {
        **BLOCK_SCHEMA["properties"],
        **{name: entry.schema for name, entry in DEMAND_KEYS.items()},
    },
}
TREND: Kind[tuple[LimitLine, ...]] = Kind(
    _trend,
    {
        **BLOCK_SCHEMA,
        "properties": {},
        "additionalProperties": closed(
            {name: entry.schema for name, entry in TREND_KEYS.items()}, minProperties=1
        ),
    },
    "measures, each with `max_drop` (or `max_rise`) and `over`",
)
BLOCK: Kind[tuple[LimitLine, ...]] = Kind(_block, ref("block"), "limits")
TAG_BLOCKS: Kind[tuple[TagBlock, ...]] = Kind(
    _tag_blocks,
    {"type": "object", "additionalProperties": ref("block")},
    "tags, each with limits",
)
EACH_QUERY: Kind[tuple[Line, ...]] = Kind(
    _each_query,
    EACH_QUERY_SCHEMA,
    f"limits, guards, and {', '.join(f'`{name}`' for name in FOR_ALL)}",
)
