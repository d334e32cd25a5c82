"""The console script ``pytest-irquality``: ``demo`` and ``add``."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from pytest_irquality.io.escaping import quote_command
from pytest_irquality.plugin.options import SUITE_PATTERNS

_PACKAGE = Path(__file__).parents[1]
# In the wheel, the example is part of the package.
_EXAMPLE_FOLDERS = (_PACKAGE / "example", _PACKAGE.parent / "example_project")
_EXAMPLE_FILES = (
    *("catalog.jsonl", "conftest.py", "shop.ir.yaml", "shop_search.py"),
    ".ir-baseline/shop.jsonl",
)
_GOOD_LINE = 'WEIGHTS = {"title": 8.0,'
_BAD_LINE = 'WEIGHTS = {"title": 1.0,'
_NEXT_STEPS = """
Open {folder}/ir-report.html in a browser. Then:

  {command}
  pytest --ir-suite                        # after you have edited shop_search.py
  pytest --ir-suite --ir-update-baseline   # accepts what the search returns now

In your own project, `pytest --ir-init=queries.txt` writes a first suite. Delete the folder when you
are done, or pytest will find its suite.\
"""
_SKIPPED_FOLDERS = ("venv", "env", "node_modules", "site-packages", "build", "dist")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the console script and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="pytest-irquality", description="Search-quality regression tests for pytest."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser(
        "demo", help="Write an example shop, test its search, break one line, and test it again."
    )
    demo.add_argument("folder", nargs="?", default="irquality-demo", type=Path, help="A new folder")
    add = commands.add_parser("add", help="Add a query to a suite, such as a user's complaint.")
    add.add_argument("query", help="The text to search for.")
    add.add_argument(
        "--must-find",
        action="append",
        default=[],
        metavar="ID[:RANK]",
        help="A document that must be found, within the first RANK results.",
    )
    add.add_argument("--why", default="", help="Why the query matters, such as a ticket.")
    add.add_argument("--suite", type=Path, metavar="FILE", help="The suite, if there are several.")
    args = parser.parse_args(arguments)
    if args.command == "demo":
        return _run_demo(args.folder)
    return _add_query(args)


def _run_demo(folder: Path) -> int:
    """Write the example, and run it before and after breaking one line."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        print(f"'{folder}' already exists. Name another folder.", file=sys.stderr)
        return 1
    source = next(path for path in _EXAMPLE_FOLDERS if path.is_dir())
    for name in _EXAMPLE_FILES:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target)
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    print(f"Wrote an example shop to '{folder}'. Its search passes:\n", flush=True)
    # Without bytecode (-B): an edit of the same size in the same second would not be noticed.
    command = [sys.executable, "-B", "-m", "pytest", "--ir-suite", "-q"]
    status = subprocess.run(command, cwd=folder, check=False).returncode
    if status:
        return status
    code = folder / "shop_search.py"
    text = code.read_text(encoding="utf-8")
    code.write_text(text.replace(_GOOD_LINE, _BAD_LINE), encoding="utf-8")
    print("\nNow one line changes, which makes titles less important, and the search fails:\n")
    print(f"- {_GOOD_LINE} …\n+ {_BAD_LINE} …\n", flush=True)
    subprocess.run([*command[:-1], "--tb=no", "-rN"], cwd=folder, check=False)
    print(_NEXT_STEPS.format(folder=folder, command=quote_command(["cd"], [str(folder)])))
    return 0


def _add_query(args: argparse.Namespace) -> int:
    """Add a query to the only suite, or to the one that is named."""
    from pytest_irquality.io.files import FileError
    from pytest_irquality.io.git import find_checkout
    from pytest_irquality.suite.suite_writer import EditError, add_query

    suite = args.suite
    if suite is None:
        suites = _find_suites()
        if len(suites) != 1:
            problem = "There is no suite here."
            if suites:
                problem = f"There are several suites here ({', '.join(map(str, suites))})."
            print(f"{problem} Name one with --suite FILE.", file=sys.stderr)
            return 1
        suite = suites[0]
    root = find_checkout(suite.absolute().parent) or Path.cwd()
    try:
        line = add_query(
            suite.absolute(), args.query, must_find=args.must_find, why=args.why, root=root
        )
    except (OSError, FileError, EditError) as error:
        print(error, file=sys.stderr)
        return 1
    command = quote_command(["pytest", "--ir-suite"], [str(suite)])
    print(f"{suite}:{line}: Added the query. Run `{command}`.")
    return 0


def _find_suites() -> list[Path]:
    """Find the suites below the current folder, except in installed packages."""
    suites = []
    for folder, folders, files in os.walk("."):
        folders[:] = [n for n in folders if not n.startswith(".") and n not in _SKIPPED_FOLDERS]
        for file in files:
            if any(fnmatch(file, pattern) for pattern in SUITE_PATTERNS):
                suites.append(Path(folder, file))
    return sorted(suites)


if __name__ == "__main__":
    sys.exit(main())
