"""Compiled templates, kept where Python keeps compiled modules: beside what they were made of."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from jinja2.bccache import Bucket, BytecodeCache


class Compiled(BytecodeCache):
    """A file a template, which Jinja takes for the same text, Python and format alone.

    Compiling them anew takes longer than drawing a page of a few queries. Nothing is kept where
    Python keeps nothing either, or where the folder cannot be written to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read what is kept of a template, if anything is."""
        with suppress(OSError), self._file(bucket).open("rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template, whole or not at all: others may read it meanwhile."""
        if sys.dont_write_bytecode:
            return
        whole = self._file(bucket)
        part = whole.with_suffix(f".{os.getpid()}.pyc")
        with suppress(OSError):
            self.folder.mkdir(exist_ok=True)
            with part.open("wb") as file:
                bucket.write_bytecode(file)
            part.replace(whole)

    def _file(self, bucket: Bucket) -> Path:
        return self.folder / f"{bucket.key}.{sys.implementation.cache_tag}.pyc"
