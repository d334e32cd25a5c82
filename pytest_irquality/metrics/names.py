"""Names of measures as people write them: this house's, ir_measures' and trec_eval's.

The grammar is `[weighted] [[stage] candidates] name [(parameter=value, ...)] [@cutoff]`; trec_eval
writes `name_cutoff` or `name.cutoff`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

from pytest_irquality.edges import bounds
from pytest_irquality.edges.near import did_you_mean
from pytest_irquality.metrics.catalogue import DEFINITIONS
from pytest_irquality.metrics.definition import BUDGETS, Definition, Parameter, Value
from pytest_irquality.metrics.errors import MeasureError
from pytest_irquality.metrics.measure import CANDIDATES, WEIGHTED, Measure

SHAPE = re.compile(
    r"""(?P<before> (?: [\w.-]+ \s+ ){0,3} )
        (?P<name> [\w.-]+ ) \s*
        (?: \( (?P<inside> [^()]* ) \) )? \s*
        (?: @ \s* (?P<at> .*) )?""",
    re.VERBOSE | re.IGNORECASE,
)
LIKE = "'ndcg@10' or 'map(rel=2)@100'"
WORDS = (WEIGHTED, CANDIDATES)
TREC_CUTOFF = re.compile(r"(?P<name>.+?)[._](?P<at>\d+)")
ALIKE = 0.75  # the share of letters that a slip leaves alike


def parse_measure(
    text: str, top_k: int = 10, definitions: Mapping[str, Definition] = DEFINITIONS
) -> Measure:
    """Read a measure's name, like `ndcg@10` or `map(rel=2)@100`.

    A measure that takes a cutoff and names none is taken at ``top_k``. ``definitions`` are all
    there are, by name; ``own_measure`` makes further ones. Raises ``MeasureError``, which says what
    was probably meant.
    """
    if len(text) > bounds.NAME:
        raise MeasureError(f"a measure's name longer than {bounds.NAME} characters")
    shape = SHAPE.fullmatch(text.strip())
    if shape is None:
        raise MeasureError(f"cannot read the measure {text!r}: write it like {LIKE}")
    known = {name: found for found in definitions.values() for name in (found.name, *found.aliases)}
    name, at = split(shape["name"].lower(), shape["at"], known)
    if name not in known:
        raise MeasureError(f"unknown measure {text!r}{did_you_mean(name, known, ALIKE)}")
    definition = known[name]
    given = read_parameters(text, definition, shape["inside"])
    weighted, stage = words_before(text, definition, shape["before"])
    k = cutoff_of(text, definition, at, top_k)
    if has_budget(text, given, at, stage):
        k = None
    return Measure(definition, k, in_order(definition, given), weighted, stage)


def split(name: str, at: str | None, known: Iterable[str]) -> tuple[str, str | None]:
    """A name and its cutoff as written, in trec_eval's way too: `ndcg_cut_10` is `ndcg_cut@10`."""
    if name in known or at is not None:
        return name, at
    trec = TREC_CUTOFF.fullmatch(name)
    return (name, None) if trec is None else (trec["name"], trec["at"])


def cutoff_of(text: str, definition: Definition, at: str | None, top_k: int) -> int | None:
    """The cutoff of a measure of this definition; None where it takes none."""
    if definition.takes_cutoff:
        return top_k if at is None else read_cutoff(text, at)
    if at is not None:
        raise MeasureError(
            f"{text!r}: {definition.name} takes no cutoff; write {definition.name!r}"
        )
    return None


def has_budget(text: str, given: Mapping[str, Value], at: str | None, stage: str) -> bool:
    """Tell whether words or tokens stand in place of the cutoff."""
    budgets = [each.name for each in BUDGETS if each.name in given]
    if not budgets:
        return False
    if stage:
        raise MeasureError(f"{text!r}: a budget is of what is returned, not of candidates")
    if at is not None or len(budgets) > 1:
        raise MeasureError(f"{text!r}: write a cutoff or one budget")
    number = float(given[budgets[0]])
    if number % 1 or number > bounds.NUMBER:
        raise MeasureError(f"{text!r}: {budgets[0]} is a whole number")
    return True


def words_before(text: str, definition: Definition, written: str) -> tuple[bool, str]:
    """Tell whether it is weighted, and the name of the stage that it is of."""
    before = [word.lower() if word.lower() in WORDS else word for word in written.split()]
    twice = next((word for word in WORDS if before.count(word) > 1), None)
    if twice:
        raise MeasureError(f"{text!r}: {twice} is written twice")
    if WEIGHTED in before and definition.aggregate != "mean":
        raise MeasureError(f"{text!r}: only means can be weighted, and {definition.name} is none")
    return WEIGHTED in before, stage_in(text, [word for word in before if word != WEIGHTED])


def stage_in(text: str, before: Sequence[str]) -> str:
    """The name of the stage in the words before a measure."""
    if before and (before[-1] != CANDIDATES or len(before) > 2):
        raise MeasureError(f"cannot read the measure {text!r}: write it like {LIKE}")
    return before[0] if before else ""


def read_cutoff(text: str, at: str) -> int:
    """A whole number of 1 or more."""
    if not re.fullmatch(r"[0-9]{1,9}", at.strip()) or int(at) < 1:
        raise MeasureError(f"{text!r}: a cutoff is a whole number of 1 or more, not {at.strip()!r}")
    if int(at) > bounds.CUTOFF:
        raise MeasureError(f"{text!r}: a cutoff is at most {bounds.CUTOFF}")
    return int(at)


def read_parameters(text: str, definition: Definition, inside: str | None) -> dict[str, Value]:
    """The parameters in the parentheses of a name."""
    given: dict[str, Value] = {}
    if not inside or not inside.strip():
        return given
    for part in inside.split(","):
        name, value = read_parameter(text, definition, part)
        if name in given:
            raise MeasureError(f"{text!r}: {name} is written twice")
        given[name] = value
    return given


def read_parameter(text: str, definition: Definition, part: str) -> tuple[str, Value]:
    """One parameter, written `name=value`."""
    name, equals, written = (side.strip() for side in part.partition("="))
    if not equals:
        raise MeasureError(f"{text!r}: a parameter is written name=value, not {part.strip()!r}")
    takes = {parameter.name: parameter for parameter in taken_by(definition)}
    name = name.lower()
    if name not in takes:
        known = ", ".join(each.name for each in definition.parameters) or "none"
        near = did_you_mean(name, takes) or f" (it has: {known})"
        raise MeasureError(f"{text!r}: {definition.name} has no parameter {name!r}{near}")
    return name, read_value(text, takes[name], written.strip("'\""))


def read_value(text: str, parameter: Parameter, written: str) -> Value:
    """A word of the parameter's choice, or a number within its bounds."""
    if parameter.choices:
        word = written.lower()
        if word not in parameter.choices:
            known = f" (one of: {', '.join(parameter.choices)})"
            near = did_you_mean(word, parameter.choices) or known
            raise MeasureError(f"{text!r}: {parameter.name} cannot be {written!r}{near}")
        return word
    try:
        number = float(written)
    except ValueError:
        raise MeasureError(f"{text!r}: {parameter.name} is a number, not {written!r}") from None
    high = parameter.high
    if not isfinite(number) or not 0 < number < high:
        bounds = "above 0" + (f" and below {high:g}" if isfinite(high) else "")
        raise MeasureError(f"{text!r}: {parameter.name} is a number {bounds}, not {written}")
    return number


def taken_by(definition: Definition) -> Sequence[Parameter]:
    """The parameters that a name may give."""
    return (*definition.parameters, *(BUDGETS if definition.takes_budget else ()))


def in_order(definition: Definition, given: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    """The parameters that a name must say, in the order of the definition.

    So one measure has one name.
    """
    named = []
    for parameter in taken_by(definition):
        value = given.get(parameter.name, parameter.default)
        if value is not None and (value != parameter.default or parameter.always_shown):
            named.append((parameter.name, value))
    return tuple(named)
