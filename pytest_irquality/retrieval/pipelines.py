"""Pipelines of components, as Haystack's, asked as a function.

A suite may say where a query goes in, and which component's output is the ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_irquality.suite.keys import Ends

QUERY_INPUTS = ("query", "text", "question")
CUTOFF_INPUT = "top_k"
Inputs = Mapping[str, Mapping[str, Any]]
"""What a pipeline tells of each open input, by component and name."""


class PipelineError(Exception):
    """The pipeline's inputs do not fit what the suite says of them."""


def is_pipeline(thing: object) -> bool:
    """Tell whether a thing is run with the inputs of its components, and names those."""
    return all(callable(getattr(thing, name, None)) for name in ("run", "inputs", "outputs"))


def asked_as_function(pipeline: Any, ends: Ends) -> Callable[..., Any]:
    """A function ``(query, k)`` that runs the pipeline. Raises ``PipelineError``.

    The cutoff goes to the components that give the ranking, if they take one: an earlier one hands
    on its candidates.
    """
    inputs: Inputs = pipeline.inputs()
    queries = _queries(inputs, ends)
    if ends.output and ends.output not in pipeline.to_dict()["components"]:
        raise PipelineError(
            f"it has no component {ends.output!r}, which 'pipeline' names as its output"
        )
    last = {ends.output} if ends.output else set(pipeline.outputs())
    cutoffs = [component for component in last if CUTOFF_INPUT in inputs.get(component, {})]

    def ask(query: str, k: int, **params: Any) -> Any:
        data: dict[str, dict[str, Any]] = {name: dict(given) for name, given in params.items()}
        for component, name in queries:
            data.setdefault(component, {})[name] = query
        for component in cutoffs:
            data.setdefault(component, {}).setdefault(CUTOFF_INPUT, k)
        if not ends.output:
            return pipeline.run(data)
        return pipeline.run(data, include_outputs_from={ends.output})[ends.output]

    return ask


def _queries(inputs: Inputs, ends: Ends) -> list[tuple[str, str]]:
    """The inputs that the query goes into: those that the suite names, or the clear ones."""
    queries = [_existing(place, inputs) for place in ends.input]
    if not queries:
        queries = [place for place in _mandatory(inputs) if place[1] in QUERY_INPUTS]
    lacking = [".".join(place) for place in _mandatory(inputs) if place not in queries]
    if queries and not lacking:
        return queries
    why = f"it needs {' and '.join(lacking)} too" if lacking else "none of its inputs is a query's"
    raise PipelineError(
        f"{why}; name where the query goes in, as in 'pipeline: {{input: {_example(inputs)}}}'"
    )


def _existing(place: str, inputs: Inputs) -> tuple[str, str]:
    component, _, name = place.partition(".")
    if name not in inputs.get(component, {}):
        known = ", ".join(f"{of}.{one}" for of, sockets in inputs.items() for one in sockets)
        raise PipelineError(f"it has no open input {place!r} (it has: {known})")
    return component, name


def _mandatory(inputs: Inputs) -> Iterator[tuple[str, str]]:
    """Every open input that must be given, with its component."""
    for component, sockets in inputs.items():
        for name, socket in sockets.items():
            if socket.get("is_mandatory"):
                yield component, name


def _example(inputs: Inputs) -> str:
    places = [f"{component}.{name}" for component, sockets in inputs.items() for name in sockets]
    return next((place for place in places if place.endswith(QUERY_INPUTS)), "component.query")
