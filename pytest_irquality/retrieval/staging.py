"""The stages before the ranking: a retriever's ``candidates``, or its several ``stages``."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_irquality.metrics.measure import CANDIDATES
from pytest_irquality.retrieval.jobs import Reply
from pytest_irquality.retrieval.results import Returned
from pytest_irquality.retrieval.wrappers import UnreadableResult, in_brief, is_mapping

NAMES = "a stage's name is one word, of letters, digits, '_', '-' and '.'"


class FirstStages(NamedTuple):
    """The method that is asked for what stands before the ranking, which has several ``names``."""

    ask: Callable[..., Any]
    named: bool


def first_stages(retriever: object) -> FirstStages | None:
    """The stages of a retriever, as far as it tells; None where it tells nothing."""
    for name in ("stages", CANDIDATES):
        method = getattr(retriever, name, None)
        if callable(method):
            return FirstStages(method, name == "stages")
    return None


def read_stages(
    result: object, read: Callable[[object], Returned], measured: Collection[str], *, named: bool
) -> Mapping[str, Returned | Exception]:
    """The results of each stage by its name, in order. One that cannot be read spoils no other.

    A stage that is ``measured`` and is not there is an error of that stage. Raises
    ``UnreadableResult`` for what is no mapping.
    """
    given: Mapping[str, Any] = {CANDIDATES: result}
    if named:
        if not is_mapping(result):
            raise UnreadableResult("stages(query, k) gives a mapping of stages", in_brief(result))
        given = {str(name): result[name] for name in result}  # type: ignore[index,attr-defined]
    found: dict[str, Returned | Exception] = {}
    for name, results in given.items():
        try:
            found[name] = _read(name, results, read)
        except Exception as error:
            found[name] = error
    for name in sorted(set(measured) - found.keys()):
        known = ", ".join(found) or "none"
        found[name] = UnreadableResult(
            f"no stage {name!r}: the retriever's are {known}, and measures are written"
            f" '{next(iter(found), 'dense')} candidates recall@100'"
        )
    return found


def names_in(replies: Iterable[Reply | None], measured: Collection[str]) -> Sequence[str]:
    """The names of the stages in all replies; where none came, of those that are measured."""
    given = dict.fromkeys(name for reply in replies if reply for name in reply.value or ())
    return [*given] or sorted(measured) or [CANDIDATES]


def part_of(reply: Reply | None, stage: str) -> Reply | None:
    """The part of a reply that is of a stage; the whole reply, where that is "" or an error."""
    if reply is None or reply.error or not stage:
        return reply
    found = reply.value.get(stage) or UnreadableResult(f"no stage {stage!r} came for this query")
    if isinstance(found, Exception):
        return reply._replace(value=None, error=found)
    return reply._replace(value=found)


def _read(name: str, results: Any, read: Callable[[object], Returned]) -> Returned:
    if not re.fullmatch(r"[\w.-]+", name):
        raise UnreadableResult(f"{NAMES}, not {name!r}")
    return read(results)
