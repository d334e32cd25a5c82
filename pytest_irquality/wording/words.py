"""Numbers, texts and commands as a person reads them, whatever the report."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from datetime import datetime, timezone

from pytest_irquality.verdict.result import Finding
from pytest_irquality.wording.numbers import told_apart

LONGEST = 300
SIGNS: Mapping[str, str] = {
    "min": "≥", "max": "≤", "warn_below": "warn <", "warn_above": "warn >",
    "max_drop": "drop ≤", "max_rise": "rise ≤", "max_significant_drop": "significant drop ≤",
}  # fmt: skip
BOUNDS: Mapping[str, str] = {
    "min": "floor", "max": "ceiling", "warn_below": "warning below", "warn_above": "warning above",
    "max_drop": "drop", "max_rise": "rise", "max_significant_drop": "significant drop",
}  # fmt: skip


def cut(text: str, longest: int = LONGEST) -> str:
    """A text of at most ``longest`` characters, its end an ellipsis where something is missing."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def counted(count: int, one: str, many: str = "") -> str:
    """``1 query``, ``7 000 queries``."""
    return f"{grouped(count)} {one if count == 1 else many or one + 's'}"


def grouped(count: int) -> str:
    """``7 000``, with a space that no line breaks at."""
    return f"{count:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def age(then: str, now: datetime) -> str:
    """How long ago an ISO 8601 time was: ``2 days old``; "" where that cannot be told."""
    try:
        time = datetime.fromisoformat(then.replace("Z", "+00:00"))
    except ValueError:
        return ""
    seconds = (now - (time if time.tzinfo else time.replace(tzinfo=timezone.utc))).total_seconds()
    for length, unit in ((86400 * 365.25, "year"), (86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= length:
            return f"{counted(int(seconds / length), unit)} old"
    return "just made" if seconds > -60 else ""


def revision(commit: str) -> str:
    """A commit with its hash cut short and whole what git says after it: ``-dirty``."""
    digest, *said = commit.split("-", 1)
    return "-".join((digest[:12], *said))


def rerun(path: str, check: str | None, retriever: str) -> str:
    """The command that runs one check again, or the whole suite, quoted for a shell."""
    variant = f"[{retriever}]" if retriever else ""
    return f"pytest --ir-suite {quoted(f'{path}::{check}{variant}' if check else path)}"


def quoted(word: str) -> str:
    """A word as a shell takes it, also where it holds characters that would not survive being copied."""
    if word.isprintable():
        return shlex.quote(word) if re.search(r"[^\w./-]", word) else word
    codes = (c if c.isprintable() and c not in "\\'" else f"\\U{ord(c):08x}" for c in word)
    return f"$'{''.join(codes)}'"


def demanded(finding: Finding) -> tuple[str, str]:
    """Value and limit of a bound as numbers that never read alike where they differ."""
    limit = finding.limit or 0.0
    if finding.value is None:
        return "undefined", told_apart(limit, limit, finding.unit)[1]
    return told_apart(finding.value, limit, finding.unit)
