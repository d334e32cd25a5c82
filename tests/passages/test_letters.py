"""The letters of a text's normal form, without its words: what may be passed over unread."""

from __future__ import annotations

from hypothesis import given, strategies as st

from pytest_irquality.passages import find, find_in, letters, normal, sought

PIECES = (
    "con-", "tain", "ing", "the", "manual", " ", " ", "\n", "\n\n", "\r\n", "- ", "- [x] ", "1. ", "> ", "```python\n", "~~~\n",
    "[", "](http://a.org/b)", "][ref]", "[^note]", "\n[ref]: http://c.org/d e", "{#id}", "{.class}", "<b>", "</b>", "<p class='a'>",
    "<sup>2</sup>", "<!-- no -->", "&eacute;", "&lt;", "List<String>", "\u00ad", "\u200b", "é", "e\u0301", "ﬁ", "²", "返金", "…", " ... ",
    "**", "_", "`", "|", "\\", "\\[", "C++", "don’t", "14", "—", "İ", "ß", "<http://x.org>", "![", "X", "[X]", "=>", "K", "㎪",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@given(TEXTS)
def test_they_are_those_of_its_words(text: str) -> None:
    assert letters(text) == "".join(one for one in normal(text).line if one.isalpha())


@given(TEXTS, TEXTS, TEXTS)
def test_a_passage_is_found_where_its_words_are(before: str, passage: str, behind: str) -> None:
    for text in (before + passage + behind, f"{before} {passage} {behind}", behind):
        assert find_in(sought(passage), text) == find(sought(passage), normal(text))
