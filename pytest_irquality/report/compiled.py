"""Compiled templates, kept where Python keeps compiled modules: beside what they were made of."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from jinja2.bccache import Bucket, FileSystemBytecodeCache


class Compiled(FileSystemBytecodeCache):
    """A file a template, which Jinja takes for the same text, Python and format alone.

    Compiling them anew takes longer than drawing a page of a few queries. Nothing is kept where
    Python keeps nothing either, or where the folder cannot be written to.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder), f"%s.{sys.implementation.cache_tag}.pyc")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read what is kept of a template, if anything is."""
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template, whole or not at all: others may read it meanwhile."""
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                Path(self.directory).mkdir(exist_ok=True)
                super().dump_bytecode(bucket)
