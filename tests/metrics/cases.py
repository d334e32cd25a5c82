"""Random judgments and rankings, a batch at a time."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

DOCUMENTS = 14
BATCH = 25
EXAMPLES = 84  # times BATCH: 2,100 cases


@dataclass(frozen=True)
class Case:
    """One query: integer grades, negative ones too, and different documents, best first."""

    grades: dict[str, int]
    ranking: list[str]


def name(number: int) -> str:
    return f"d{number}"


documents = st.integers(0, DOCUMENTS - 1).map(name)
cases = st.builds(
    Case,
    st.dictionaries(documents, st.sampled_from([-2, -1, 0, 0, 1, 1, 2, 3, 4]), max_size=DOCUMENTS),
    st.lists(documents, max_size=DOCUMENTS, unique=True),
)


def together(cases: st.SearchStrategy[Case]) -> st.SearchStrategy[dict[str, Case]]:
    """A batch of queries, numbered from 1."""
    batch = st.lists(cases, min_size=BATCH, max_size=BATCH)
    return batch.map(lambda drawn: {str(number): case for number, case in enumerate(drawn, 1)})


batches = together(cases)
# trec_eval leaves out a query without results or judgments, and pytrec_eval crashes where all grades are negative.
answerable = together(
    cases.filter(lambda case: bool(case.ranking) and max(case.grades.values(), default=-1) >= 0)
)


def scored(ranking: list[str]) -> dict[str, float]:
    """The ranking as a tool wants it that sorts by score."""
    return {document: float(len(ranking) - place) for place, document in enumerate(ranking)}
