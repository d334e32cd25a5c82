"""Report known vulnerabilities in what pip-audit lists, or that no advisory service answered.

Usage: ``pip-audit -f json … | python -m docs.tools.advisories NAME``. A machine that cannot reach
an advisory service says so and passes.
"""

from __future__ import annotations

import json
import sys


def report_advisories(name: str, report: str) -> int:
    """Print the known vulnerabilities of each version and return the exit status."""
    try:
        packages = json.loads(report)["dependencies"]
    except ValueError:
        packages = []
    audited = [package for package in packages if "vulns" in package]
    for package in audited:
        for advisory in package["vulns"]:
            fixed = ", ".join(advisory["fix_versions"]) or "no version yet"
            version = f"{package['name']} {package['version']}"
            print(f"{name}: {version}: {advisory['id']}, fixed in {fixed}")
    if audited:
        print(f"{name}: {len(audited)} of {len(packages)} packages audited")
    else:
        print(f"{name}: not audited, because no advisory service answers here")
    return int(any(package["vulns"] for package in audited))


if __name__ == "__main__":
    sys.exit(report_advisories(sys.argv[1], sys.stdin.read()))
