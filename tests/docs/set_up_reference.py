"""What pages of the reference need and do not show."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "beir/nfcorpus/queries.jsonl": '{"_id": "1", "text": "office chair"}\n',
    "beir/nfcorpus/qrels/test.tsv": "query-id\tcorpus-id\tscore\n1\tsku-601\t1\n",
    "qrels/a.trec": "1 0 sku-602 1\n",
    "quepid.csv": "query,docid,rating\noffice chair,sku-603,0\n",
    "graded.csv": "query,doc_id,stars\noffice chair,sku-604,2\n",
}
RANKINGS = {"chair": ["d1"], "desk": ["d2"]}
SUITE = """\
queries: [{query: chair, relevant: [d1]}, {query: desk, relevant: [d2]}]
thresholds: {recall@10: 1.0}
"""


def write_data_files(folder: Path) -> None:
    """Write the files of queries and judgments that the suite of a page names."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_suite(folder: Path) -> None:
    """Write a suite that the search below passes."""
    (folder / "shop.ir.yaml").write_text(SUITE, encoding="utf-8")


def search(query: str, k: int, boost: int = 1) -> list[str]:
    """Search a shop with two products."""
    return RANKINGS[query][:k]
