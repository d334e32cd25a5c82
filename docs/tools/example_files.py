"""Write the YAML files that the documentation shows, so their services' schemas can check them.

Usage: ``python -m docs.tools.example_files FOLDER``. Each page gets a folder of its own.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```yaml\n# ([\w./-]+)\n(.*?)^```$", re.M | re.S)


def write_example_files(folder: Path) -> None:
    """Write every YAML block that begins with the name of a file."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for name, text in BLOCK.findall(page.read_text("utf-8")):
            path = folder / page.stem / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_example_files(Path(sys.argv[1]))
