"""Normalized texts: which forms of a text are equal, and which stay different."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.passages.matching import has_passage
from pytest_irquality.passages.normalization import extract_letters, normalize_text

# Two forms of one text, by what differs.
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


@pytest.mark.parametrize("difference", ALIKE)
def test_forms_of_one_text_have_equal_words(difference: str) -> None:
    one, other = ALIKE[difference]

    assert normalize_text(one).words == normalize_text(other).words
    assert normalize_text(one).words


# A passage, and a text that says something else.
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
def test_a_passage_is_not_found_in_a_text_that_says_something_else(passage: str, text: str) -> None:
    assert not has_passage(text, passage)
    assert not has_passage(f"so: {text}, and on", passage)
    assert has_passage(f"so: {passage}, and on", passage)


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
def test_words_of_a_text(text: str, expected: str) -> None:
    assert " ".join(normalize_text(text).words) == expected


PIECES = (
    "con-", "tain", "ing", "the", "manual", " ", " ", "\n", "\n\n", "\r\n", "- ", "- [x] ", "1. ", "> ", "```python\n", "~~~\n",
    "[", "](http://a.org/b)", "][ref]", "[^note]", "\n[ref]: http://c.org/d e", "{#id}", "{.class}", "<b>", "</b>", "<p class='a'>",
    "<sup>2</sup>", "<!-- no -->", "&eacute;", "&lt;", "List<String>", "\u00ad", "\u200b", "é", "e\u0301", "ﬁ", "²", "返金", "…", " ... ",
    "**", "_", "`", "|", "\\", "\\[", "C++", "don’t", "14", "—", "İ", "ß", "<http://x.org>", "![", "X", "[X]", "=>", "K", "㎪",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@given(TEXTS)
def test_letters_are_those_of_the_words(text: str) -> None:
    assert extract_letters(text) == normalize_text(text).letters


@pytest.mark.parametrize("separator", ["", "\u200b"], ids=["in a row", "joined by folding"])
def test_a_long_run_of_combining_marks_is_cut(separator: str) -> None:
    """Canonical order of n marks in a row would take n² steps."""
    text = "tea" + ("\u0301\u0327" * 14 + separator) * 10_000

    normalized = normalize_text(text)

    assert len(normalized.words) == 1
    assert len(normalized.line) < 40
    assert normalize_text("te\u0301\u0327a").words != normalize_text("tea").words
