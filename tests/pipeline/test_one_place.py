"""One place for each passage: what every medium says of it, in random projects, against their JSON and offsets."""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from typing import Any, NamedTuple

import pytest

from tests.conftest import Project

PHRASES = {
    "cut: ": "cut",
    "changed: ": "changed",
    "further down": "further down",
    "not in the corpus": "not in the corpus",
    "in no stage": "in no stage",
    "cause unknown": "not returned",
    ", not returned": "in stage",
}
COUNTED = {
    "found": "found", "further down": "further down", "cut": "cut", "changed": "changed",
    "in a stage only": "in stage", "not in the corpus": "not in the corpus",
    "in no stage": "in no stage", "not returned, cause unknown": "not returned", "unanswered": "unanswered", "elsewhere": "unknown",
}  # fmt: skip


class World(NamedTuple):
    """Chunks, the passages of each query, and what a search gives for it."""

    passages: dict[str, list[str]]
    chunks: list[dict[str, str]]
    results: dict[str, list[list[dict[str, str]]]]
    stages: dict[str, dict[str, Any]]


def worlds(draw: random.Random) -> Iterator[World]:
    """One world through two chunkers, the second of which may break things."""
    words = ["".join(draw.choices("bcdfghjklmnprstvw", k=6)) for _ in range(300)]
    documents = [[draw.choice(words) for _ in range(120)] for _ in range(6)]
    passages: dict[str, list[str]] = {}
    places = [(document, at) for document in documents for at in range(0, 106, 14)]
    draw.shuffle(places)  # none within another
    for number in range(6):
        some = []
        for _ in range(draw.randint(1, 3)):
            document, at = places.pop()
            some.append(" ".join(document[at : at + draw.randint(6, 12)]))
        if draw.random() < 0.4:
            first = some[0].split()
            some.append(" ".join([*first[:3], "the", *first[3:]]))
        if draw.random() < 0.3:
            some.append(" ".join(f"{word}x" for word in some[0].split()))
        passages[f"q{number}"] = [*dict.fromkeys(some)]
    for _ in range(2):
        size = draw.choice([12, 30, 60, 120])
        step = draw.choice([size, max(size // 2, 1)])
        chunks = []
        for n, document in enumerate(documents):
            shown = [word if draw.random() > 0.01 else "other" for word in document]
            if draw.random() < 0.1:
                continue
            for at in range(0, 120, step):
                chunks.append({"id": f"k{n}-{at}-{size}", "text": " ".join(shown[at : at + size])})
        wavering, stages, results = draw.random() < 0.2, {}, {}
        for query, wanted in passages.items():
            by_words = sorted(
                chunks,
                key=lambda chunk: -max(len({*w.split()} & {*chunk["text"].split()}) for w in wanted)
                + draw.random() * 8,
            )  # fmt: skip
            dense, fused = (
                draw.sample(chunks, min(12, len(chunks))),
                by_words[: draw.randint(8, 14)],
            )
            results[query] = [
                by_words[draw.randint(0, 6) :][:8] for _ in range(2 if wavering else 1)
            ]
            stages[query] = {"dense": dense, "fused": [fused, draw.randint(3, 12)]}
        yield World(passages, chunks, results, stages)


CONFTEST = """
import json, itertools
with open("world.json") as file:
    WORLD = json.load(file)
CALLS = {{}}
class Engine:
    def search(self, query, k):
        answers = WORLD["results"][query]
        CALLS[query] = CALLS.get(query, -1) + 1
        if query in WORLD["failing"]:
            raise ValueError("no")
        return answers[CALLS[query] % len(answers)][:k]
    {stages}
    {texts}
@pytest.fixture
def retriever(): return Engine()
"""
STAGES = [
    "",
    "def candidates(self, query, k): return WORLD['stages'][query]['dense'][:k]",
    "def stages(self, query, k):\n        given = WORLD['stages'][query]\n"
    "        return {'dense': given['dense'], 'fused': (given['fused'][0], given['fused'][1])}",
]
TEXTS = ["", "def texts(self): return WORLD['chunks']"]


def said_in(text: str, passage: str) -> dict[str, str]:
    """The fates that a text names behind a passage, before it names any other, and where."""
    found = {}
    for match in re.finditer(re.escape(passage), text):
        behind = re.split(r"\n|; '|, '|\. | → .*?\)", text[match.end() : match.end() + 200])[0]
        found.update(
            {fate: passage + behind for phrase, fate in PHRASES.items() if phrase in behind}
        )
    return found


@pytest.mark.parametrize("seed", range(int(os.environ.get("IRQUALITY_PLACES", "4"))))
def test_no_screen_names_two_places(seed: int, project: Project) -> None:
    draw = random.Random(seed)
    then, now = worlds(draw)
    has_stages, has_texts = draw.choice(STAGES), draw.choice(TEXTS)
    project.conftest(CONFTEST.format(stages=has_stages, texts=has_texts))
    measure = (
        "fused candidates recall@100"
        if "stages(" in has_stages and draw.random() < 0.5
        else "recall@8"
    )
    repeat = 2 if len(now.results["q0"]) == 2 else 1
    queries = [
        {"query": query, "relevant": some, "must_find": draw.choice([some, some[:1]]),
         **({"known_issue": "SHOP-1"} if draw.random() < 0.2 else {})}
        for query, some in now.passages.items()
    ]  # fmt: skip
    suite = {"match": "text", "top_k": 3, "depth": 8, "repeat": repeat,
             "metrics": ["recall@3", measure], "each_query": {"lost_all_relevant": "fail"},
             "queries": queries}  # fmt: skip
    project.suite(json.dumps(suite))
    world = project.path / "world.json"
    if draw.random() < 0.8:
        world.write_text(json.dumps({**then._asdict(), "failing": []}))
        project.run("--ir-update-baseline", "-q")
    failing = ["q5"] if draw.random() < 0.3 else []
    world.write_text(json.dumps({**now._asdict(), "failing": failing}))
    texts = {"terminal": project.run("--ir-markdown=out.md", "--ir-report=out.html").stdout.str()}
    data = project.data
    texts["quiet"] = project.run("-q").stdout.str()
    texts["markdown"] = (project.path / "out.md").read_text("utf-8")
    page = re.sub(
        r"(?s)<(script|style).*?</\1>", "", (project.path / "out.html").read_text("utf-8")
    )
    texts["page"] = unescape(
        re.sub(r"<[^>]+>", "\n", re.sub(r"</?(b|em|strong|span|code|mark|a|i)\b[^>]*>", "", page))
    )
    (result,) = data["suites"]
    places = {
        (query["id"], id): fate for query in result["queries"] for id, fate, _ in query["fates"]
    }
    assert {
        query: sorted(id for q, id in places if q == query)
        for query in now.passages
        if query not in failing
    } == {query: sorted(some) for query, some in now.passages.items() if query not in failing}
    counts = {one["fate"]: one for one in result["fates"]["counts"]}
    counted = [one for query in result["queries"] for one in query["fates"]
               if not result["fates"]["compared"] or one[2] is not None]  # fmt: skip
    assert {fate: one["now"] for fate, one in counts.items() if one["now"]} == {
        fate: many for fate, many in Counter(one[1] for one in counted).items() if fate != "unknown"
    }
    for medium, text in texts.items():
        named = re.search(r".*\bdocuments?\b.*", text)
        assert not named, (medium, named and named[0])
        for query, some in now.passages.items():
            for passage in some:
                others = {
                    places.get((q, passage)) for q, own in now.passages.items() if passage in own
                }
                said = said_in(text, passage)
                assert said.keys() <= others, (medium, query, others, said)
