"""Documents that were given other ids: the reports say so, and not that search lost everything."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.conftest import Project

SUITE = (
    "queries:\n"
    "  - {query: chair, relevant: [sku-1]}\n"
    "  - {query: desk, relevant: [sku-4]}\n"
    "  - {query: lamp, relevant: [sku-7]}\n"
)
NAMES = ("chair", "desk", "lamp")


def shop(prefix: str = "", titled: bool = True) -> Mapping[str, list[dict[str, str]]]:
    """Three results for each query."""
    found = {}
    for place, query in enumerate(NAMES):
        results = [{"id": f"{prefix}sku-{3 * place + n}"} for n in (1, 2, 3)]
        for n, result in enumerate(results, 1):
            result.update({"title": f"{query} no. {n}"} if titled else {})
        found[query] = results
    return found


def test_other_ids_of_the_same_titles_are_the_headline(project: Project) -> None:
    project.suite(SUITE)
    project.answers(shop())
    assert project.run("-v", "--ir-update-baseline").ret == 0
    project.answers(shop("p-"))
    result = project.run("-v")
    assert result.ret == 1
    said = "ocuments seem to have other ids now (sku-1 → p-sku-1, 9 of 9)"
    result.stdout.fnmatch_lines(
        [
            f"*d{said}: bring judgments and rules to *",
            f"✗ FAILED  shop (shop.ir.yaml): D{said}: *",
        ]
    )
    result.stdout.no_fnmatch_line("*accept today's rankings*")
    result.stdout.no_fnmatch_line("*not judged, and new*")  # as every document is
    result.stdout.fnmatch_lines([
        "  3 relevant documents of the baseline are in no ranking now: *",
        "*nothing is known to be relevant but what was returned",
    ])  # fmt: skip


@pytest.mark.parametrize("other", ["one id stays", "no titles", "other places"])
def test_what_may_as_well_be_other_documents_is_no_renumbering(
    project: Project, other: str
) -> None:
    before, now = shop(titled=other != "no titles"), dict(shop("p-", titled=other != "no titles"))
    if other == "one id stays":
        now["desk"][0]["id"] = "sku-4"
    if other == "other places":
        now = {query: now[another] for query, another in zip(NAMES, NAMES[1:] + NAMES[:1])}  # noqa: B905
    project.suite(SUITE)
    project.answers(before)
    project.run("--ir-update-baseline")
    project.answers(now)
    result = project.run()
    assert result.ret == 1
    result.stdout.no_fnmatch_line("*other ids now*")
