"""Generated files are up to date, and generated pages are complete."""

from __future__ import annotations

import re

import pytest

from docs.tools import ROOT, keys, metrics, options, pages
from docs.tools.constants import MODULE, list_constants
from docs.tools.renew import GENERATORS, list_outdated
from pytest_irquality.metrics import METRICS
from pytest_irquality.plugin.options import INI_KEYS, OPTIONS
from pytest_irquality.suite.keys import FILE_KEYS, QUERY_KEYS, SUITE_KEYS, THRESHOLD_KEYS

RENEW = "run `python -m docs.tools.renew`"


def list_headings(page: str) -> list[str]:
    """Return the names in code that are headings of a page, so that they have anchors."""
    return re.findall(r"^### `([^`]+)`", page, re.MULTILINE)


@pytest.mark.parametrize("generator", GENERATORS)
def test_generated_files_are_up_to_date(generator: str) -> None:
    outdated = [path.relative_to(ROOT).as_posix() for path, _ in list_outdated(generator)]

    assert outdated == [], RENEW


@pytest.mark.parametrize("name", pages.PICTURES)
def test_picture_shows_the_current_report(name: str) -> None:
    digest = pages.compute_digest(pages.run_broken_example().report)

    assert pages.read_stamp(ROOT / name) == digest, f"{RENEW} with Chromium and playwright"


def test_stamp_does_not_change_a_picture_otherwise() -> None:
    png = (ROOT / pages.PICTURES[0]).read_bytes()

    stamped = pages.add_stamp(png, "abc")

    assert len(stamped) == len(png) + 12 + len("Shows\0abc")
    assert stamped.replace(stamped[33 : 33 + 12 + 9], b"") == png


def test_every_key_has_an_anchor() -> None:
    headings = set(list_headings(keys.render_page()))

    assert headings == {*SUITE_KEYS, *QUERY_KEYS, *THRESHOLD_KEYS, *FILE_KEYS}


def test_anchors_of_keys_are_unique() -> None:
    headings = re.findall(r"^### .*$", keys.render_page(), re.MULTILINE)

    assert len(headings) == len(set(headings))


def test_every_option_has_an_anchor() -> None:
    known = [*(option.flag for option in OPTIONS), *(key.name for key in INI_KEYS)]

    assert sorted(list_headings(options.render_page())) == sorted(known)


def test_every_exit_status_has_an_anchor() -> None:
    statuses = re.findall(r"^### Exit status (\d)$", options.render_page(), re.MULTILINE)

    assert statuses == ["0", "1", "2", "4", "5"]


def test_every_metric_has_an_anchor() -> None:
    assert sorted(list_headings(metrics.render_page())) == sorted(METRICS)


def test_first_part_of_the_reference_is_small() -> None:
    essential_keys = {*keys.ESSENTIAL_SUITE_KEYS, *keys.ESSENTIAL_QUERY_KEYS}

    assert len(essential_keys) + len(["tags of a query"]) == 12
    assert len(options.ESSENTIAL_OPTIONS) == 6
    assert len(options.ESSENTIAL_INI_KEYS) == 5
    assert len(metrics.ESSENTIAL_METRICS) == 8


def test_suite_page_shows_the_essential_keys() -> None:
    page = (ROOT / "docs/reference/suite.md").read_text("utf-8")

    example = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0]
    shown = set(re.findall(r"^[ -]*(\w+):", example, re.MULTILINE))

    assert {*keys.ESSENTIAL_SUITE_KEYS, *keys.ESSENTIAL_QUERY_KEYS} <= shown


def test_table_has_every_constant_of_the_decision() -> None:
    names = [constant.name for constant in list_constants()]

    # What only notices use does not decide.
    text = re.sub(r"# -- Notices -.*?(?=# -- |\Z)", "", MODULE.read_text("utf-8"), flags=re.DOTALL)
    defined = re.findall(r"^([A-Z][A-Z_0-9]+) = -?[\d.]", text, re.MULTILINE)
    assert set(defined) <= set(names)
    assert len(names) == len(set(names)) > 25


def test_metric_page_has_what_an_entry_declares() -> None:
    page = metrics.render_page()

    for definition in METRICS.values():
        assert definition.formula in page
        for alias in definition.aliases:
            assert f"`{alias}`" in page


def test_help_texts_are_set_as_code() -> None:
    text = options.mark_code("Headers for ir_url, such as Key: $API_KEY, or 'none' (--ir-json).")

    assert text == "Headers for `ir_url`, such as Key: `$API_KEY`, or `none` (`--ir-json`)."
