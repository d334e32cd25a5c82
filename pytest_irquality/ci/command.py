"""The jobs of CI: pytest with its reports kept, a run promoted, a comment written."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pytest_irquality.ci import comment
from pytest_irquality.ci.promotion import PromotionError, promoted, standing
from pytest_irquality.edges.write import append, write
from pytest_irquality.storage.history import HistoryError, merge

REPORTS = {"--ir-report": "report.html", "--ir-json": "report.json", "--ir-markdown": "report.md"}
HISTORY = "history.jsonl"
SERVICES = ("url", "serve")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do a job of the command line's, or of ``arguments``; the exit status."""
    parser = _parser()
    options, others = parser.parse_known_args(arguments)
    if others and options.verb != "judge":
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    try:
        if options.verb == "judge":
            return _judge(options, others)
        print(options.do(options))
    except (comment.CommentError, PromotionError, HistoryError, OSError) as error:
        return comment.refused(str(error))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("pytest-irquality", description=__doc__, allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True)

    judge = verbs.add_parser(
        "judge",
        allow_abbrev=False,
        help="run pytest --ir-suite, keep every report; other arguments are pytest's",
    )
    judge.add_argument("--folder", type=Path, required=True, help="where the reports go")
    judge.add_argument("--args", default="", help="more arguments for pytest, as in a shell")
    judge.add_argument("--against", default="", help="compare with this kept run, if there is one")
    judge.add_argument("--history", default="", help="a history to add to; the folder has a copy")
    for name in SERVICES:
        judge.add_argument(f"--{name}", default="", help=f"ir_{name}, and none of the repository's")
    judge.add_argument(
        "--output", type=Path, help="write the exit status there as exit-status=N, and end with 0"
    )

    promote = verbs.add_parser("promote", help="compare with this run from now on, if it was green")
    promote.add_argument("run", type=Path)
    promote.add_argument("last", type=Path, help="what it takes the place of")
    promote.add_argument("--report", type=Path, required=True, help="what --ir-json wrote of it")
    promote.add_argument("--by-hand", action="store_true", help="also where it was not green")
    promote.set_defaults(
        do=lambda given: promoted(given.run, given.last, given.report, by_hand=given.by_hand)
    )

    said = verbs.add_parser("comment", help="one comment on a pull request, written anew each time")
    comment.add_options(said)
    said.set_defaults(do=comment.commented)

    history = verbs.add_parser("history", help="add the lines of others that a history lacks")
    history.add_argument("file", type=Path)
    history.add_argument("others", type=Path, nargs="+")
    history.set_defaults(do=_history)
    return parser


def _judge(options: argparse.Namespace, others: Sequence[str]) -> int:
    """Run pytest as the options say; its exit status, or 0 where that is written down."""
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*REPORTS.values(), HISTORY):
        (folder / name).unlink(missing_ok=True)  # an earlier run's is not taken for this one's
    words = [*_words(options)]
    try:
        words += shlex.split(options.args)
    except ValueError:
        return comment.refused(
            "args cannot be split into words, as a shell would: is a quote left open?"
        )
    sys.argv = ["pytest", "--ir-suite", *words, *others]
    status = int(pytest.console_main())
    if options.history and Path(options.history).exists():
        write(folder / HISTORY, [Path(options.history).read_bytes()])
    if options.output is None:
        return status
    made = {"report": REPORTS["--ir-markdown"], "history": HISTORY}
    there = [f"{what}=true" for what, name in made.items() if (folder / name).exists()]
    append(options.output, "".join(f"{line}\n" for line in (f"exit-status={status}", *there)))
    return 0


def _words(options: argparse.Namespace) -> Iterator[str]:
    """The arguments for pytest that the options stand for."""
    for option, name in REPORTS.items():
        yield f"{option}={options.folder / name}"
    if any(getattr(options, name) for name in SERVICES):
        for name in SERVICES:
            yield from ("-o", f"ir_{name}={getattr(options, name)}")
    if options.history:
        yield f"--ir-history={options.history}"
    if options.against and standing(Path(options.against)):
        yield f"--ir-baseline={options.against}"
    elif options.against:
        print(f"nothing to compare with yet: {options.against}")


def _history(given: argparse.Namespace) -> str:
    return f"{given.file}: {merge(given.file, given.others)} added"
