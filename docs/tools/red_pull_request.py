"""The report and the comment of the example's red pull request.

``python -m docs.tools.red_pull_request FOLDER`` writes them. The change is the one that
``example_project/README.md`` shows.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "example_project"


def main(folder: Path) -> None:
    """Write ``red-pull-request.html`` and ``red-pull-request.md``."""
    page = (EXAMPLE / "README.md").read_text("utf-8")
    removed, added = (
        re.findall(rf"^{sign}(\w.*)$", page, re.M) for sign in (re.escape("-"), r"\+")
    )
    with tempfile.TemporaryDirectory() as name:
        project = Path(name, "shop")
        shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns("__pycache__"))
        search = project / "shop_search.py"
        text = search.read_text("utf-8")
        assert text.count(removed[0]) == 1, "the example's page shows another line than there is"
        search.write_text(text.replace(removed[0], added[0]), "utf-8")
        report = folder.resolve() / "red-pull-request"
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "--ir-suite", "-q"),
                *("-p", "no:cacheprovider", f"--rootdir={project}", "-c", "/dev/null"),
                *(f"--ir-report={report}.html", f"--ir-markdown={report}.md"),
            ],
            cwd=project,
            check=False,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 1, done.stdout + done.stderr


if __name__ == "__main__":
    main(Path(sys.argv[1]))
