"""The normal form of a text: what is alike in it, what stays apart, and where its words stand."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.passages import find, normal, placed, sought, words

GUIDE = Path(__file__).parents[2] / "docs/guides/passages.md"

ALIKE = {
    "case and white space": ("Paid within 14 days", "paid  WITHIN\n\t14\u00a0days"),
    "Unicode's composed and decomposed letters": ("café", "cafe\u0301"),
    "ligatures": ("first office", "ﬁrst oﬃce"),
    "full width": ("ABC 123", "ＡＢＣ　１２３"),
    "half width": ("データ", "ﾃﾞｰﾀ"),
    "digits of other scripts": ("14", "१४"),
    "a word cut at a line's end": ("containing", "con-\ntaining"),
    "a soft hyphen": ("containing", "con\u00adtaining"),
    "a soft hyphen at a line's end": ("containing", "con\u00ad\ntaining"),
    "zero width": ("containing", "con\u200btain\u2060ing\ufeff"),
    "hyphens of any kind": ("state-of-the-art", "state‑of–the\u2010art"),
    "ranges": ("14-30 days", "14 – 30 days"),
    "a dash": ("open — closed", "open - closed"),
    "minus": ("-5 degrees", "−5 degrees"),
    "quotes": ("\"don't\" and 'no'", "“don’t” and ‘no’"),
    "operators": ("x <= 5 != 6", "x ≤ 5 ≠ 6"),
    "operators without spaces": ("if (x<5)", "if (x < 5)"),
    "powers": ("10² m", "10^2 m"),
    "powers in HTML": ("10² m", "10<sup>2</sup> m"),
    "powers of several digits": ("10⁻³", "10^-3"),
    "indices": ("H2O", "H₂O"),
    "indices in HTML": ("H2O", "H<sub>2</sub>O"),
    "square metres": ("5 m²", "5 ㎡"),
    "fractions": ("1 1/2 cups", "1½ cups"),
    "per cent": ("5% off", "5 % off"),
    "trade marks": ("Foo is", "Foo™ is"),
    "Turkish": ("istanbul", "İstanbul"),
    "German": ("straße", "STRASSE"),
    "a line break inside Japanese": ("返金は14日以内", "返金は\n14日 以内"),
    "emphasis": ("keep the receipt", "**keep** _the_ ***receipt***"),
    "emphasis inside a word": ("unbelievable", "un**believ**able"),
    "code": ("run make test now", "run `make test` now"),
    "a block of code": ("make test", "```sh\nmake test\n```"),
    "struck out": ("old price", "~~old~~ price"),
    "headings": ("Refunds. Paid", "## Refunds ##\n\nPaid"),
    "underlined headings": ("Refunds paid", "Refunds\n=======\npaid"),
    "quoted": ("paid within 14 days", "> paid within\n> 14 days"),
    "lists": ("milk bread", "- milk\n- bread"),
    "numbered lists": ("milk bread", "1. milk\n2) bread"),
    "tasks": ("milk bread", "- [ ] milk\n- [x] bread"),
    "tables": ("a b c d", "| a | b |\n|---|:-:|\n| c | d |"),
    "tables without spaces": ("| a | b |", "|a|b|"),
    "links": ("see the manual here", "see [the manual](http://x.org/a_(b)) here"),
    "links of other kinds": ("see the manual", "see [the manual][1]"),
    "pictures": ("a chair", "![a chair](chair.png)"),
    "a linked picture": ("a chair", "[![a chair](chair.png)](http://x.org)"),
    "footnotes": ("paid later", "paid[^1] later"),
    "escapes": ("snake_case 1.", "snake\\_case 1\\."),
    "tags": ("paid within 14 days", "<p>paid <b>within</b> 14&nbsp;days</p>"),
    "tags with attributes": ("the manual", '<a href="x" class=\'y\'>the</a> manual<br/>'),
    "tags that part words": ("one two", "one<br>two"),
    "comments": ("one two", "one <!-- nothing --> two"),
    "entities": ("x < 5 & y", "x &lt; 5 &amp; y"),
    "entities by number": ("don't", "don&#8217;t"),
    "generic types": ("List<String>", "List&lt;String&gt;"),
}  # fmt: skip


@pytest.mark.parametrize("what", ALIKE)
def test_forms_of_one_text_are_alike(what: str) -> None:
    one, other = ALIKE[what]
    assert words(one) == words(other)
    assert words(one)


APART = [
    ("port 80", "port 8080"),
    ("port 80", "port 80.5"),
    ("port 80", "port 80:8080"),
    ("default: 5", "default: 5000"),
    ("default: 5", "default: 5,000"),
    ("default: 5", "default: -5"),
    ("default: 5", "default: −5"),
    ("default: 5", "default: .5"),
    ("default: 5", "default: 5%"),
    ("default: 5", "default: 5 %"),
    ("default: 5", "default: $5"),
    ("default: 5", "default: 5+"),
    ("version 1.2", "version 1.2.3"),
    ("version 1.2", "version 1.20"),
    ("3.1", "3.14"),
    ("102", "10²"),
    ("102", "10<sup>2</sup>"),
    ("102", "10₂"),
    ("112", "1½"),
    ("m2", "m²"),
    ("cat", "concatenate"),
    ("cat", "cat's"),
    ("refundable", "non-refundable"),
    ("use C", "use C++"),
    ("use C", "use C#"),
    ("C++", "C"),
    ("x < 5", "x <= 5"),
    ("x < 5", "x > 5"),
    ("x < 5", "x 5"),
    ("x = 5", "x == 5"),
    ("a - b", "a + b"),
    ("2 * 3", "2 + 3"),
    ("List<String>", "List"),
    ("List", "List<String>"),
    ("Array<object>", "Array"),
    ("if x", "if !x"),
    ("case", "snake_case"),
    ("can", "can't"),
    ("feature ✅", "feature ❌"),
    ("resume", "résumé"),
    ("14日", "4日"),
    ("4日", "14日"),
    ("utf-8", "utf-16"),
    ("कम", "काम"),
    ("काम", "कीम"),
    ("node", "node.js"),
]


@pytest.mark.parametrize(("passage", "text"), APART)
def test_what_says_something_else_is_not_found(passage: str, text: str) -> None:
    assert find(normal(passage), normal(text)) is None
    assert find(normal(passage), normal(f"so: {text}, and on")) is None
    assert find(normal(passage), normal(f"so: {passage}, and on"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C++11 i++ C# -5 1.2.3 3,5", "c++11 i++ c# -5 1.2.3 3,5"),
        ("if a<b && c>d", "if a < b && c > d"),
        ("the <b>bold</b> List<String> and <custom>", "the bold list<string> and < custom >"),
        ("within\n14. After that", "within 14 after that"),
        ("AT&T user@example.com 24/7 12:30 and/or", "at&t user@example.com 24/7 12:30 and or"),
        ("--verbose –verbose", "-verbose -verbose"),
        ("__init__ snake_case", "init snake_case"),
        ("2*3, x**2 and SELECT * FROM", "2 * 3 x ** 2 and select from"),
        ("日本語 ภาษา 환불은", "日 本 語 ภ า ษ า 환불은"),
        ("--- *** ###", ""),
    ],
)
def test_the_words_of_a_text(text: str, expected: str) -> None:
    assert " ".join(words(text)) == expected


TEXT = "… **Paid** with&shy;in 14&nbsp;days,\ncon-\ntaining [a link](http://x.org) ½ ﬁn e\u0301 and <b>at</b> 10²."


@pytest.mark.parametrize(
    ("passage", "there"),
    [
        ("paid within 14 days", "Paid** with&shy;in 14&nbsp;days"),
        ("14 days containing a link", "14&nbsp;days,\ncon-\ntaining [a link"),
        ("a link 1/2", "a link](http://x.org) ½"),
        ("fin é", "ﬁn e"),
        ("and at 10²", "and <b>at</b> 10²"),
        ("**…**", None),
    ],
)
def test_a_passage_is_told_where_it_stands(passage: str, there: str | None) -> None:
    words = normal(passage).words
    place = placed(words, 0, len(words), TEXT)
    assert (place and TEXT[slice(*place)]) == there


def test_of_several_places_it_is_the_one_that_was_found() -> None:
    assert placed(["it", "is", "it"], 2, 3, "it is it") == (6, 8)
    assert placed(["it", "is", "it"], 0, 1, "it is it") == (0, 2)


PIECES = [
    *"ab1.-–—_*`~<>&;#|[](){}/\\\"'’ \n\t^+=!%$€日ガー½²₂e\u0301ß\u00ad\u200b:",
    "**", "```", "<b>", "</b>", "<br>", "&lt;", "&#178;", "](http://x.y)", "![", "1. ", "2) ", "- ", "> ", "C++", "10",
    "<sup>2</sup>", "<sub>", "--", "ﾃﾞ", "各", "\u1112\u1161\u11ab", "İ", "㎡", "①", "not", "<!--", "-->", "|---|",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=40))
@pytest.mark.slow
def test_a_place_is_within_the_text(text: str) -> None:
    own = words(text)
    for at in range(len(own)):
        start, end = placed(own, at, len(own), text) or (0, len(text) or 1)
        assert 0 <= start < end <= max(len(text), 1)


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_text_holds_itself(before: str, text: str) -> None:
    own = normal(text)
    assert (find(own, own) is not None) == bool(own.words)


HOSTILE = (
    "[](", "![[](", "<!--", "<a x='", "<a x=\"\" y='", "<b ", "<a x=1 ", "a<b<", "<sup>", "_", "a_", "*", "* ", "\n",
    "1. ", "1.\n", "[", "[a]: ", "[^", "&", "&#", "-", "- ", "5 - ", "a-", "5^", "a.", "日", "e\u0301", "\u0301", "`",
    "|", "|\n", " ", "{#", "\\", "½", "\u00ad", "> ", "~", "=", "(http://", "[x](", "[x](a/",
)  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE, ids=ascii)
def test_hostile_texts_take_time_by_their_length_alone(piece: str) -> None:
    def took(length: int) -> float:
        text = piece * (length // len(piece))
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            words(text)
            best = min(best, time.process_time() - start)
        return best

    # Quadratic work would be sixteen times as much; a wide margin, because machines differ.
    assert took(20_000) < 10 * took(5_000) + 0.05


def test_the_guides_table_is_true() -> None:
    """Each row of the guide: a passage, a text, and whether it is found."""
    rows = re.findall(
        r"^\| `(.+?)` \| `(.+?)` \| (found|not found) ", GUIDE.read_text("utf-8"), re.M
    )
    assert len(rows) >= 7
    for passage, shown, said in rows:
        text = shown.replace("\\|", "|").replace("⏎", "\n")
        assert bool(find(sought(passage), normal(text))) == (said == "found"), (passage, text)
