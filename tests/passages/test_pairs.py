"""Pairs of a passage and a text, made by hand in many scripts and forms: no false pass, no false alarm."""

from __future__ import annotations

import pytest

from pytest_irquality.passages import find, normal

# The words are there, whatever the form: a passage, and texts that hold it.
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

# Other words: a passage, and texts that look like it and do not hold it.
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


def pairs(of: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(passage, text) for passage, texts in of.items() for text in texts]


def test_there_are_enough_of_them() -> None:
    assert len(pairs(SAME)) >= 90
    assert len(pairs(OTHER)) >= 90


@pytest.mark.parametrize(("passage", "text"), pairs(SAME))
def test_the_same_words_are_found_whatever_their_form(passage: str, text: str) -> None:
    assert find(normal(passage), normal(text)), (normal(passage).words, normal(text).words)


@pytest.mark.parametrize(("passage", "text"), pairs(OTHER))
def test_other_words_are_not_found(passage: str, text: str) -> None:
    assert not find(normal(passage), normal(text)), (normal(passage).words, normal(text).words)
