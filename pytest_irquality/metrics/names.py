"""Parse the names of metrics as this project, ir_measures and trec_eval write them.

The grammar is ``[weighted] [[stage] candidates] name [(parameter=value, ...)] [@cutoff]``. The
cutoff may also follow ``_`` or ``.``, as in trec_eval's ``ndcg_cut_10``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

from pytest_irquality.io.text import find_closest
from pytest_irquality.metrics.catalog import index_definitions
from pytest_irquality.metrics.judgments import MetricError
from pytest_irquality.metrics.metric import (
    BUDGETS,
    CANDIDATES,
    WEIGHTED,
    Definition,
    Metric,
    Parameter,
    Value,
)

MAX_NAME_LENGTH = 1_000
MAX_CUTOFF = 1_000_000
MAX_BUDGET = 1e30
# Names are short, so a lower similarity would suggest unrelated metrics.
MIN_SIMILARITY = 0.75

_SHAPE = re.compile(
    r"""(?P<words> (?: [\w.-]+ \s+ ){0,3} )
        (?P<name> [\w.-]+ ) \s*
        (?: \( (?P<settings> [^()]* ) \) )? \s*
        (?: @ \s* (?P<cutoff> .*) )?""",
    re.VERBOSE | re.IGNORECASE,
)
_TREC_NAME = re.compile(r"(?P<name>.+?)[._](?P<cutoff>[0-9]+)")
_NAME_WITH_CUTOFF = re.compile(r"(?P<name>.*?[^0-9._])[._]?(?P<cutoff>[0-9]+)")
_EXAMPLES = "'ndcg@10' or 'map(rel=2)@100'"
_BUILTIN = index_definitions()


def parse_metric(text: str, own: Iterable[Definition] = (), *, top_k: int = 10) -> Metric:
    """Parse the name of a metric, such as ``ndcg@10`` or ``weighted map(rel=2)@100``.

    Args:
        text: The name. Case and spaces do not matter.
        own: The project's own metrics (see ``make_own_metric``).
        top_k: The cutoff if the metric has one and the name gives none.

    Raises:
        MetricError: No metric has this name. The message suggests the closest one.
    """
    if len(text) > MAX_NAME_LENGTH:
        raise MetricError(f"The name of a metric has more than {MAX_NAME_LENGTH} characters")
    shape = _SHAPE.fullmatch(text.strip())
    if shape is None:
        raise _make_shape_error(text)
    own = tuple(own)
    definitions = index_definitions(own) if own else _BUILTIN
    name, cutoff_text = shape["name"].lower(), shape["cutoff"]
    # Names such as `latency_p95` contain digits, so a known name comes first.
    trec = _TREC_NAME.fullmatch(name)
    if trec and cutoff_text is None and name not in definitions:
        name, cutoff_text = trec["name"], trec["cutoff"]
    if name not in definitions:
        raise MetricError(f"Unknown metric '{text}'.{_suggest_metric(shape, definitions)}")
    definition = definitions[name]
    settings = _parse_settings(text, definition, shape["settings"] or "")
    weighted, stage = _parse_words(text, definition, shape["words"].split())
    cutoff = _parse_cutoff(text, definition, cutoff_text, top_k)
    if _check_budget(text, settings, cutoff_text, stage):
        cutoff = None
    return Metric(definition, cutoff, _order_settings(definition, settings), weighted, stage)


def _make_shape_error(text: str) -> MetricError:
    return MetricError(f"'{text}' is not a metric. Write, for example, {_EXAMPLES}.")


def _suggest_metric(shape: re.Match[str], definitions: Mapping[str, Definition]) -> str:
    """Suggest the closest metric, with the words, parameters and cutoff of the misspelled name."""
    name, cutoff = shape["name"].lower(), (shape["cutoff"] or "").strip()
    closest = find_closest(name, definitions, MIN_SIMILARITY) if cutoff else None
    with_cutoff = _NAME_WITH_CUTOFF.fullmatch(name)
    # "ndgc_cut_10" and "ndcg5" have their cutoff in the name.
    if closest is None and with_cutoff and not cutoff:
        closest = find_closest(with_cutoff["name"], definitions, MIN_SIMILARITY)
        cutoff = with_cutoff["cutoff"]
    if closest is None:
        closest = find_closest(name, definitions, MIN_SIMILARITY)
    if closest is None:
        known = sorted({definition.name for definition in definitions.values()})
        return f" Known metrics: {', '.join(known)}"
    suggestion = shape["words"] + closest
    if shape["settings"] is not None:
        suggestion += f"({shape['settings']})"
    if definitions[closest].has_cutoff and re.fullmatch("[0-9]+", cutoff):
        suggestion += f"@{cutoff}"
    return f" Did you mean '{suggestion}'?"


def _parse_cutoff(
    text: str, definition: Definition, cutoff_text: str | None, top_k: int
) -> int | None:
    if not definition.has_cutoff:
        if cutoff_text is not None:
            raise MetricError(
                f"'{text}': '{definition.name}' has no cutoff. Write '{definition.name}'."
            )
        return None
    if cutoff_text is None:
        return top_k
    digits = cutoff_text.strip()
    if not re.fullmatch("[0-9]{1,9}", digits) or not 1 <= int(digits) <= MAX_CUTOFF:
        raise MetricError(
            f"'{text}': the cutoff must be an integer from 1 to {MAX_CUTOFF:,}, not '{digits}'"
        )
    return int(digits)


def _check_budget(
    text: str, settings: Mapping[str, Value], cutoff_text: str | None, stage: str
) -> bool:
    """Return whether the name has a budget. Raise an error if the budget cannot be used."""
    budgets = [parameter.name for parameter in BUDGETS if parameter.name in settings]
    if not budgets:
        return False
    if stage:
        raise MetricError(f"'{text}': a stage cannot have a budget. Use a cutoff.")
    if cutoff_text is not None or len(budgets) > 1:
        raise MetricError(f"'{text}': use either a cutoff or one budget")
    size = float(settings[budgets[0]])
    if size % 1 or size > MAX_BUDGET:
        raise MetricError(f"'{text}': '{budgets[0]}' must be an integer")
    return True


def _parse_words(text: str, definition: Definition, words: Sequence[str]) -> tuple[bool, str]:
    """Return whether the metric is weighted, and the name of its stage."""
    keywords = [word.lower() for word in words]
    for keyword in (WEIGHTED, CANDIDATES):
        if keywords.count(keyword) > 1:
            raise MetricError(f"'{text}': '{keyword}' occurs twice")
    weighted = WEIGHTED in keywords
    if weighted and definition.aggregate != "mean":
        raise MetricError(
            f"'{text}': '{definition.name}' cannot be weighted, because it is not a mean"
        )
    stage_words = [word for word in words if word.lower() != WEIGHTED]
    if not stage_words:
        return weighted, ""
    if stage_words[-1].lower() != CANDIDATES or len(stage_words) > 2:
        raise _make_shape_error(text)
    return weighted, stage_words[0] if len(stage_words) == 2 else CANDIDATES


def _parse_settings(text: str, definition: Definition, written: str) -> dict[str, Value]:
    """Parse the parameters between the parentheses."""
    settings: dict[str, Value] = {}
    allowed = {parameter.name: parameter for parameter in definition.allowed_parameters}
    for part in written.split(",") if written.strip() else ():
        name, equals, value = map(str.strip, part.partition("="))
        if not equals:
            raise MetricError(f"'{text}': write a parameter as name=value, not '{part.strip()}'")
        name = name.lower()
        if name not in allowed:
            closest = find_closest(name, allowed)
            known = ", ".join(parameter.name for parameter in definition.parameters) or "none"
            hint = f"Did you mean '{closest}'?" if closest else f"Its parameters: {known}."
            raise MetricError(f"'{text}': '{definition.name}' has no parameter '{name}'. {hint}")
        if name in settings:
            raise MetricError(f"'{text}': '{name}' occurs twice")
        settings[name] = _parse_value(text, allowed[name], value.strip("'\""))
    return settings


def _parse_value(text: str, parameter: Parameter, written: str) -> Value:
    name = parameter.name
    if parameter.choices:
        word = written.lower()
        if word not in parameter.choices:
            choices = ", ".join(f"'{choice}'" for choice in parameter.choices)
            raise MetricError(f"'{text}': '{name}' must be one of {choices}, not '{written}'")
        return word
    try:
        number = float(written)
    except ValueError:
        number = -1.0
    if not isfinite(number) or number <= 0:
        raise MetricError(f"'{text}': '{name}' must be a number above 0, not '{written}'")
    return number


def _order_settings(
    definition: Definition, settings: Mapping[str, Value]
) -> tuple[tuple[str, Value], ...]:
    """Return the parameters that the canonical name shows, in the order of the definition."""
    shown = []
    for parameter in definition.allowed_parameters:
        value = settings.get(parameter.name, parameter.default)
        if value is not None and value != parameter.default:
            shown.append((parameter.name, value))
    return tuple(shown)
