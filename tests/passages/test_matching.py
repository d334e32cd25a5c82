"""Finding a passage in a text."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.passages.matching import check_passage, has_passage
from pytest_irquality.passages.normalization import normalize_text

# A passage, and texts that contain it in another form.
SAME: dict[str, list[str]] = {
    "the pump stops after 3 minutes": [
        "When idle, THE PUMP STOPS after 3 minutes.", "the pump\nstops after\n3 minutes", "The *pump* stops after **3** minutes",
        "> the pump stops\n> after 3 minutes", "<p>The pump&nbsp;stops after <b>3</b> minutes</p>", "the pump stops after 3\u00a0minutes",
        "the\u200b pump sto\u00adps after 3 minutes", "| the pump stops | after 3 minutes |", "1. The pump\n2. stops after 3 minutes",
        "# The pump\n\nstops after 3 minutes", "the “pump” stops, after 3 minutes!", "[the pump](http://a.b/c) stops after 3 minutes",
    ],
    "don't open the valve": [
        "don’t open the valve", "Don't open the `valve`.", "DON'T OPEN THE VALVE", "don&#39;t open the valve",
        "“Don’t open the valve”",
    ],
    "state-of-the-art cooling": ["state‑of‑the‑art cooling", "state-of-the-\nart cooling", "State–of–the–art cooling", "state of-the-art".replace(" ", "-") + " cooling"],
    "set max_retries to 5": ["Set `max_retries` to 5", "set max_retries to `5`.", "* set max_retries to 5", "set **max_retries** to 5"],
    "call list.append(x)": ["call `list.append(x)`", "Call list.append(x) twice", "call <code>list.append(x)</code>"],
    "use git commit --amend": ["use `git commit --amend`", "Use git commit --amend, then push", "use git commit —amend".replace("—", "--")],
    "x >= 10 and y < 3": ["if `x >= 10 and y < 3`", "x &gt;= 10 and y &lt; 3", "(x >= 10 and y < 3)"],
    "version 2.4.1 or later": ["Version 2.4.1 or later", "version **2.4.1** or later", "needs version 2.4.1 or later."],
    "between 10 and 20 °C": ["between 10 and 20 °C", "between 10 and 20°C", "Between 10 and 20\u202f°C"],
    "costs 1,250.50 euros": ["It costs 1,250.50 euros.", "costs **1,250.50** euros"],
    "at -40 degrees": ["stored at −40 degrees", "at -40 degrees", "at –40 degrees"],
    "10² metres": ["10² metres", "10<sup>2</sup> metres", "10^2 metres"],
    "H2SO4 is an acid": ["H₂SO₄ is an acid", "H<sub>2</sub>SO<sub>4</sub> is an acid", "H2SO4 is an acid"],
    "email support@example.org": ["Email <support@example.org>", "email support@example.org.", "e-mail support@example.org"],
    "see the release notes": ["see the [release notes](notes.md#v2)", 'see the <a href="/r">release notes</a>', "see the release\n   notes", "See the __release notes__"],
    "Die Größe beträgt 20 cm": ["die Größe beträgt 20 cm", "Die Gro\u0308ße beträgt 20 cm", "DIE GRÖSSE BETRÄGT 20 CM", "Die Grö\u00adße be-\nträgt 20 cm"],
    "l'état de la pompe": ["L’état de la pompe", "l'e\u0301tat de la pompe", "L'ÉTAT de la pompe"],
    "el depósito está vacío": ["El depósito ESTÁ vacío.", "«el depósito está vacío»", "el depo\u0301sito está vacío"],
    "насос останавливается через 3 минуты": ["Насос останавливается через 3 минуты.", "**насос** останав-\nливается через 3 минуты", "НАСОС ОСТАНАВЛИВАЕТСЯ ЧЕРЕЗ 3 МИНУТЫ"],
    "η αντλία σταματά": ["Η αντλία σταματά.", "<i>η αντλία</i> σταματά", "η αντλία\nσταματά"],
    "المضخة تتوقف": ["المضخة تتوقف بعد ثلاث دقائق", "**المضخة** تتوقف", "المضخة\u200f تتوقف"],
    "המשאבה נעצרת": ["המשאבה נעצרת לאחר", "> המשאבה נעצרת", "המשאבה\u200f נעצרת"],
    "पंप रुक जाता है": ["पंप रुक जाता है।", "**पंप** रुक जाता है", "यदि पंप रुक\nजाता है"],
    "ポンプは3分後に停止": ["ポンプは3分後に停止します。", "ポンプは\n3分後に停止", "ﾎﾟﾝﾌﾟは3分後に停止", "ポンプは３分後に停止", "**ポンプ**は3分後に停止"],
    "水泵三分钟后停止": ["水泵三分钟后停止。", "水泵三分钟\n后停止", "<p>水泵<b>三分钟</b>后停止</p>", "　水泵三分钟后停止"],
    "펌프는 3분 후 정지": ["펌프는 3분 후 정지합니다".replace("정지합니다", "정지 합니다"), "**펌프는** 3분 후 정지", "펌프는\n3분 후 정지"],
    "ปั๊มหยุดหลังสามนาที": ["ปั๊มหยุดหลังสามนาที", "เมื่อว่าง ปั๊มหยุดหลังสามนาที", "ปั๊มหยุด\nหลังสามนาที"],
    "máy bơm dừng sau 3 phút": ["Máy bơm dừng sau 3 phút.", "ma\u0301y bơm dừng sau 3 phút", "MÁY BƠM dừng sau 3 phút"],
    "pompa 3 dakika sonra durur": ["Pompa 3 dakika sonra durur.", "`pompa` 3 dakika sonra durur"],
    "the first office": ["the ﬁrst oﬃce", "The first\toffice"],
    "H₂ gas": ["H₂ gas is lighter", "H<sub>2</sub> gas"],
    "log10 of it": ["log₁₀ of it", "log<sub>10</sub> of it"],
    "CO2 of it": ["CO₂ of it", "CO<sub>2</sub> of it"],
    "you read—only then": ["you read—only then", "you read—\nonly then", "you read&mdash;only then"],
    "you read — only then": ["you read - only then", "you read – only then", "you read, only then"],
    "A & B are not equal": ["A &amp; B are not equal", "**A & B** are *not* equal"],
    "must never be mixed": ["must *never* be mixed", "must <em>never</em> be mixed", "Must never\nbe mixed!"],
}  # fmt: skip

# A passage, and texts that look like it and say something else.
OTHER: dict[str, list[str]] = {
    "the pump stops after 3 minutes": ["the pump stops after 30 minutes", "the pump stops after 3.5 minutes", "the pumps stop after 3 minutes",
        "the pump stops before 3 minutes", "the pump never stops after 3 minutes", "after 3 minutes the pump stops", "the pump stops after\n13 minutes",
        "the pump stops after -3 minutes", "the pump stops after 3 hours", "the pump stops. It waits. After 3 minutes"],
    "port 22": ["port 2222", "port 22.5", "port 22a", "port -22", "support 22", "port 2", "ports 22"],
    "don't open the valve": ["open the valve", "do open the valve", "don't open the valves", "don't close the valve"],
    "use C": ["use C++", "use C#", "use Clojure", "use c-like"],
    "x >= 10": ["x > 10", "x <= 10", "x >= 100", "x = 10", "x >= 1.10"],
    "version 2.4": ["version 2.4.1", "version 12.4", "version 2.40", "version 2-4"],
    "max_retries": ["max retries of 5".replace(" of 5", ""), "max_retries_total", "maxretries2", "my_max_retries"],
    "list.append": ["list.appendleft", "mylist.append", "list append"],
    "costs 1,250 euros": ["costs 1,2500 euros", "costs 11,250 euros", "costs 250 euros", "costs 1,250.50 euros"],
    "at 40 degrees": ["at -40 degrees", "at 40.5 degrees", "at 140 degrees", "at −40 degrees"],
    "102 metres": ["10² metres", "10 2 metres", "1.02 metres", "102.5 metres"],
    "are refundable": ["are non-refundable", "are not refundable", "are nonrefundable", "are un-refundable"],
    "List of items": ["List<Item> of items".replace("<Item> of", "<Item>"), "Lists of items", "List of item"],
    "paid in 14 days": ["paid in 14-30 days", "paid in 14 working days", "unpaid in 14 days"],
    "10 %": ["10.5 %", "110 %", "-10 %"],
    "Die Grösse": ["Die Grössen", "Der Grösse", "Die Größenordnung"],
    "насос": ["насосы", "насосная станция"],
    "ポンプは3分後": ["ポンプは30分後", "ポンプは3秒後", "ポンプが3分後", "ポンプは13分後"],
    "水泵三分钟": ["水泵三十分钟", "水泵二分钟", "泵水三分钟"],
    "المضخة تتوقف": ["المضخات تتوقف", "المضخة لا تتوقف"],
    "펌프는 3분": ["펌프는 30분", "펌프가 3분"],
    "resume": ["résumé", "resumes", "re sume"],
    "e.g. 5": ["e.g. 50", "e.g. 0.5"],
    "10.0.0.1": ["10.0.0.10", "10.0.0.1.5", "110.0.0.1"],
    "2024-01-02": ["2024-01-20", "2024-1-02", "12024-01-02"],
    "true": ["untrue", "false", "TrueType"],
    "SHA-256": ["SHA-2560", "SHA-25", "SHA 512"],
    "--no-cache": ["--no-cache-dir", "no-cachefile"],
    "a and b": ["a or b", "a and bc", "ba and b2"],
    "H2": ["H₂ gas is lighter than air", "H<sub>2</sub> gas", "the H₂ of a cell"],
    "x10": ["x₁₀", "x<sub>10</sub>"],
    "read only": ["what you read—only not now", "what you read—\nonly not now", "what you read\n—only not now", "read&mdash;only"],
    "O(n)": ["O(n²)", "O(m)", "O(2n)"],
}  # fmt: skip


def make_pairs(texts_by_passage: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(passage, text) for passage, texts in texts_by_passage.items() for text in texts]


@pytest.mark.parametrize(("passage", "text"), make_pairs(SAME))
def test_equal_words_are_found_in_any_form(passage: str, text: str) -> None:
    assert has_passage(text, passage)


@pytest.mark.parametrize(("passage", "text"), make_pairs(OTHER))
def test_other_words_are_not_found(passage: str, text: str) -> None:
    assert not has_passage(text, passage)


def test_nothing_is_found_without_words() -> None:
    assert not has_passage("Paid", "")
    assert not has_passage("Paid …", "…")


# A passage with gaps, a text, and whether it contains the passage.
GAPS = {
    "a gap": ("the default limit ... can be raised later", "The default limit of a page can be raised later.", True),
    "in brackets": ("the default limit [...] can be raised later", "The default limit of a page can be raised later.", True),
    "in brackets, one sign": ("the default limit […] can be raised later", "The default limit (of 4 kB). It can be raised later.", False),
    "nothing": ("the default limit … can be raised later", "The default limit can be raised later.", True),
    "the sign itself": ("the default limit … 4 megabytes", "The default limit … 4 megabytes", True),
    "two words behind it": ("the default limit … 4 megabytes", "The default limit of a page is 4 megabytes", False),
    "two words before it": ("default limit … can be raised later", "default limit of a page can be raised later", False),
    "two gaps": ("the default limit … can be raised … by each team", "The default limit of it can be raised, if need be, by each team.", True),
    "a number within": ("the default limit … can be raised later", "The default limit of 4 megabytes can be raised later.", False),
    "a number in words": ("the default limit … can be raised later", "The default limit of four megabytes can be raised later.", False),
    "a negation": ("the default limit … can be raised later", "The default limit is not what can be raised later.", False),
    "thirty words": ("the default limit … can be raised later", f"The default limit {'of a ' * 15} can be raised later.", True),
    "thirty-one words": ("the default limit … can be raised later", f"The default limit {'of a ' * 15} page can be raised later.", False),
    "the other order": ("the default limit … can be raised later", "It can be raised later: the default limit.", False),
    "a later beginning": ("the default limit … can be raised later", "The default limit is not low. The default limit of all can be raised later.", True),
    "a negation at the first end": (
        "the default limit … can be raised later", "The default limit of it can be raised later, never: can be raised later.", True),
    "no white space": ("the default limit... can be raised later", "The default limit of a page can be raised later.", False),
}  # fmt: skip


@pytest.mark.parametrize("case", GAPS)
def test_an_ellipsis_is_a_gap_of_a_few_words(case: str) -> None:
    passage, text, is_found = GAPS[case]

    assert has_passage(text, passage) is is_found


WORDS = st.sampled_from(["a", "b", "not"])


@given(
    st.lists(st.lists(WORDS, min_size=3, max_size=4), min_size=2, max_size=3),
    st.lists(WORDS, max_size=50),
)
def test_gaps_match_like_a_search_that_tries_every_place(
    parts: list[list[str]], words: list[str]
) -> None:
    passage = " [...] ".join(map(" ".join, parts))

    def continues(remaining: list[list[str]], end: int) -> bool:
        if not remaining:
            return True
        part = remaining[0]
        for start in range(end, min(end + 30, len(words) - len(part)) + 1):
            is_allowed = "not" not in words[end:start]
            is_here = words[start : start + len(part)] == part
            if is_allowed and is_here and continues(remaining[1:], start + len(part)):
                return True
        return False

    starts = [at for at in range(len(words)) if words[at : at + len(parts[0])] == parts[0]]
    expected = any(continues(parts[1:], start + len(parts[0])) for start in starts)

    assert has_passage(" ".join(words), passage) == expected


def test_many_gaps_in_a_text_that_repeats_itself_are_no_problem() -> None:
    """A search that tries every place for every part would not end."""
    passage = " [...] ".join(["a a a"] * 20 + ["b b b"])

    assert not has_passage("b b b " + "a " * 20_000, passage)
    assert has_passage("a " * 20_000 + "b b b", passage)


@pytest.mark.parametrize(
    ("passage", "reason"),
    [
        ("paid within 14 days", ""),
        (" [...] ".join(["a b c"] * 22), "a passage has at most 20 gaps, not 21"),
        ("a" * 20_001, "a passage has at most 20,000 characters, not 20,001"),
        ("…!", "a passage needs at least one word"),
    ],
    ids=["fine", "gaps", "length", "no word"],
)
def test_a_passage_beyond_a_bound_is_refused(passage: str, reason: str) -> None:
    assert check_passage(passage) == reason


PIECES = [
    *"ab1.-–—_*`~<>&;#|[](){}/\\\"'’ \n\t^+=!%$€日ガー½²₂e\u0301ß\u00ad\u200b:",
    "**", "```", "<b>", "</b>", "<br>", "&lt;", "&#178;", "](http://x.y)", "![", "1. ", "2) ", "- ", "> ", "C++", "10",
    "<sup>2</sup>", "<sub>", "--", "ﾃﾞ", "各", "\u1112\u1161\u11ab", "İ", "㎡", "①", "not", "<!--", "-->", "|---|",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=40))
def test_a_text_with_words_contains_itself(text: str) -> None:
    has_words = bool(normalize_text(text).words)

    assert has_passage(text, text) == has_words
