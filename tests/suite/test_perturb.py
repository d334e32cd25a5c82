"""Generated variants: realistic, few, and the same on every machine."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.suite.perturb import HANDFUL, NEIGHBOURS, PERTURBATIONS, perturbed

KEEPS_WORDS = ("typo", "transpose")


@pytest.mark.parametrize(
    ("kind", "text", "some"),
    [
        ("transpose", "office chair", {"ofifce chair", "office chiar"}),
        ("case", "office chair", {"OFFICE CHAIR", "Office Chair"}),
        ("case", "Straße", {"straße", "STRASSE"}),
        ("diacritics", "café crème", {"cafe creme"}),
        ("diacritics", "Müller Straße", {"Muller Strasse", "Mueller Strasse"}),
        ("diacritics", "ёлка и йод", {"елка и йод"}),  # й is a letter of its own
        ("hyphen", "e-mail", {"email", "e mail"}),
        ("hyphen", "office chair", {"office-chair"}),
        ("space", "office chair", {"officechair"}),
    ],
)
def test_each_kind_makes_what_its_name_says(kind: str, text: str, some: set[str]) -> None:
    assert some <= set(perturbed(kind, text))


@pytest.mark.parametrize("text", ["tv 4k", "sku-601", "USB-C", "12345", "日本語の本", "", "  "])
@pytest.mark.parametrize("kind", KEEPS_WORDS)
def test_short_words_numbers_and_ids_are_left_alone(kind: str, text: str) -> None:
    assert perturbed(kind, text) == ()


def test_a_query_in_capitals_is_mistyped_in_capitals() -> None:
    assert all(text == text.upper() for text in perturbed("typo", "OFFICE CHAIR"))


@pytest.mark.parametrize(
    "text", ["клавиатура", "υπολογιστής", "מקלדת", "لوحة المفاتيح", "crème brûlée"]
)
def test_other_scripts_have_keyboards_too(text: str) -> None:
    assert len(perturbed("typo", text)) == HANDFUL


@given(st.sampled_from(sorted(PERTURBATIONS)), st.text(max_size=60))
def test_a_handful_each_another_text(kind: str, text: str) -> None:
    made = perturbed(kind, text)
    assert len(made) <= HANDFUL
    assert len({*made, text}) == len(made) + 1


def test_neighbours_are_neighbours_both_ways() -> None:
    assert "o" in NEIGHBOURS["p"]
    assert "q" in NEIGHBOURS["a"]
    for letter, near in NEIGHBOURS.items():
        assert letter not in near
        assert all(letter in NEIGHBOURS[other] for other in near if letter.isalpha())


def test_the_same_in_every_process() -> None:
    script = (
        "from pytest_irquality.suite.perturb import *\n"
        "for kind in PERTURBATIONS: print(kind, *perturbed(kind, 'wireless headphones'), sep='|')\n"
    )
    ask = [sys.executable, "-X", "utf8", "-c", script]
    first, second = (subprocess.run(ask, capture_output=True, text=True, check=True) for _ in "12")
    assert first.stdout == second.stdout
    assert (
        first.stdout.splitlines()[1]
        == "transpose|wireless headphnoes|wireless headphoens|wireless headphonse"
    )


def test_an_acronym_is_left_alone_where_the_rest_is_typed_small() -> None:
    assert all(text.startswith("NASA ") for text in perturbed("typo", "NASA launches"))


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (
            "Crème brûlée für Anfänger",
            {
                "typo": ["Crème brûkée für Anfänger", "Crème brûlée für Anfäjger", "Crème brûlée für Anfänter"],
                "transpose": ["Cèrme brûlée für Anfänger", "Crème brûlée für Anfnäger", "Crème brûlée für Anfängre"],
                "case": ["crème brûlée für anfänger", "CRÈME BRÛLÉE FÜR ANFÄNGER", "Crème Brûlée Für Anfänger"],
                "diacritics": ["Creme brulee fur Anfanger", "Crème brûlée fuer Anfaenger"],
                "hyphen": ["Crème-brûlée für Anfänger", "Crème brûlée-für Anfänger", "Crème brûlée für-Anfänger"],
                "space": ["Crème  brûlée für Anfänger", "Crème brûlée  für Anfänger", "Crème brûlée für  Anfänger"],
            },
        ),
        (
            "купить ёлку",
            {
                "typo": ["кунить ёлку", "купитл ёлку", "купить ёлкв"],
                "transpose": ["кпуить ёлку", "куптиь ёлку", "купить ёлук"],
                "case": ["КУПИТЬ ЁЛКУ", "Купить Ёлку"],
                "diacritics": ["купить елку"],
                "hyphen": ["купить-ёлку"],
                "space": ["купитьёлку", "купить  ёлку"],
            },
        ),
        (
            "e-mail 2FA setup",
            {
                "typo": ["e-mail 2FA srtup", "e-mail 2FA setjp", "e-mail 2FA setuo"],
                "transpose": ["e-mail 2FA steup", "e-mail 2FA seutp", "e-mail 2FA setpu"],
                "case": ["e-mail 2fa setup", "E-MAIL 2FA SETUP", "E-mail 2fa Setup"],
                "diacritics": [],
                "hyphen": ["email 2FA setup", "e mail 2FA setup", "e-mail 2FA-setup"],
                "space": ["e-mail 2FAsetup", "e-mail 2FA  setup"],
            },
        ),
        (
            "İstanbul uçak bileti",
            {
                "typo": ["İstanbul uvak bileti", "İstanbul uçak bilsti", "İstanbul uçak biletu"],
                "diacritics": ["Istanbul ucak bileti"],
            },
        ),
    ],
)  # fmt: skip
def test_every_python_and_machine_makes_the_same(text: str, made: dict[str, list[str]]) -> None:
    """The texts themselves: a limit on them must not be another one after an upgrade."""
    assert {kind: list(perturbed(kind, text)) for kind in made} == made
