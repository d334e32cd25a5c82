from __future__ import annotations

from pathlib import Path

from pytest_irquality.reports.pull_request import MAX_ANNOTATIONS, render_annotations
from tests.reports.builders import make_query, make_run, make_suite, make_threshold, make_view


def test_failed_check_is_annotated_at_its_line(tmp_path: Path) -> None:
    suite = make_suite(path="search/shop.ir.yaml", thresholds=[make_threshold("ndcg@10", min=0.9)])
    view = make_view(suite, make_run(suite, worse=10))

    lines = render_annotations(view, root=tmp_path).splitlines()

    assert lines[0].startswith("::error file=search/shop.ir.yaml,line=1,title=FAILED%3A shop::")
    assert lines[1] == (
        "::error file=shop.ir.yaml,line=3,title=shop%3A ndcg@10::ndcg@10 is 0.754, below the minimum 0.9"
    )


def test_paths_are_relative_to_the_repository(tmp_path: Path) -> None:
    suite = make_suite(thresholds=[make_threshold("ndcg@10", min=0.9)])
    view = make_view(suite, make_run(suite, worse=10))

    text = render_annotations(view, root=tmp_path / "app", repository=tmp_path)

    assert "file=app/shop.ir.yaml,line=3" in text


def test_data_cannot_write_a_command_of_its_own(tmp_path: Path) -> None:
    query = make_query("x\n::error ::forged", thresholds=(make_threshold("ndcg@10", min=0.9),))
    suite = make_suite("a,b::c", [query], path="shop.ir.yaml")

    lines = render_annotations(make_view(suite, make_run(suite, worse=1)), root=tmp_path)

    assert all(line.startswith("::error file=") for line in lines.splitlines())
    assert "title=a%2Cb%3A%3Ac" in lines


def test_no_more_annotations_than_github_shows(tmp_path: Path) -> None:
    threshold = make_threshold("ndcg@10", min=0.9)
    queries = [make_query(f"q{number}", thresholds=(threshold,)) for number in range(30)]
    suite = make_suite(queries=queries)

    text = render_annotations(make_view(suite, make_run(suite, worse=30)), root=tmp_path)

    assert len(text.splitlines()) == MAX_ANNOTATIONS


def test_passed_build_has_no_annotations(tmp_path: Path) -> None:
    suite = make_suite()

    view = make_view(suite, make_run(suite), make_run(suite))

    assert render_annotations(view, root=tmp_path) == ""
