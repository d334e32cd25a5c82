"""Known holes in what pip-audit's JSON lists, or that it could not be asked.

``pip-audit -f json … | python -m docs.tools.audited NAME``. A machine that reaches no advisory
service is told so, and passes.
"""

from __future__ import annotations

import json
import sys


def audited(name: str, report: str) -> int:
    """Print what is known of each version, and give the status to end with."""
    try:
        listed = json.loads(report)["dependencies"]
    except ValueError:
        listed = []
    seen = [one for one in listed if "vulns" in one]
    for one in seen:
        for hole in one["vulns"]:
            fixed = ", ".join(hole["fix_versions"]) or "no version yet"
            print(f"{name}: {one['name']} {one['version']}: {hole['id']}, fixed in {fixed}")
    looked_up = f"{len(seen)} of {len(listed)} looked up"
    print(f"{name}: {looked_up if seen else 'not audited, no advisory service answers here'}")
    return int(any(one["vulns"] for one in seen))


if __name__ == "__main__":
    sys.exit(audited(sys.argv[1], sys.stdin.read()))
